package tir

import "tvmgo/tir/internal/path"

// defined reports whether a variable or a buffer is in scope.
func (c *checker) defined(what any) bool {
	_, ok := c.levels[what]
	return ok
}

// define records a variable or a buffer, bound by a node, in the innermost scope.
func (c *checker) define(sort, name string, what, binder any) {
	if by, ok := c.binders[what]; c.defined(what) || ok && by != binder {
		c.fail("%s %s is defined twice: make a new one", sort, name)
	}
	if name == "" {
		c.fail("a %s has no name", sort)
	}
	if !c.defined(what) {
		c.levels[what] = len(c.Open) - 1
		c.here[len(c.here)-1] = append(c.here[len(c.here)-1], what)
	}
	c.binders[what] = binder
}

// bindVar defines a variable.
func (c *checker) bindVar(v *Var, binder any) {
	if v == nil {
		c.fail("a variable is nil")
		return
	}
	c.define("variable", v.Name, v, binder)
	if err := CheckType(v.Type); err != nil {
		c.fail("variable %s: %v", v.Name, err)
	} else if v.Type == Void {
		c.fail("variable %s of type void has no value", v.Name)
	}
}

// inside opens a scope.
func (c *checker) inside() {
	c.Enter()
	c.here = append(c.here, nil)
}

// exit closes the innermost scope.
func (c *checker) exit() {
	for _, what := range c.here[len(c.here)-1] {
		delete(c.levels, what)
	}
	c.here = c.here[:len(c.here)-1]
	c.Leave()
}

// bindBuffer defines a buffer, and its address unless that is own, the parameter to which the buffer belongs.
func (c *checker) bindBuffer(b *Buffer, own *Var, binder any) {
	if b == nil {
		c.fail("the buffer is nil")
		return
	}
	c.layout(b)
	c.data(b, func() {
		if b.Data != own {
			c.define("variable", b.Data.Name, b.Data, b)
		}
	})
	c.define("buffer", b.Name, b, binder)
}

// layout checks everything of a buffer but its address.
func (c *checker) layout(b *Buffer) {
	if err := CheckType(b.DType); err != nil || b.DType == Void {
		c.fail("buffer %s: elements of type %s", b.Name, TypeName(b.DType))
	}
	c.sizes("shape", b.Shape, true)
	if b.Strides != nil && len(b.Strides) != len(b.Shape) {
		c.push(path.At("strides"))
		c.fail("buffer %s has %d dimensions, and %d strides", b.Name, len(b.Shape), len(b.Strides))
		c.pop()
	}
	c.sizes("strides", b.Strides, false)
	if b.Offset != nil {
		c.push(path.At("offset"))
		c.size(b.Offset, true)
		c.pop()
	}
	if b.Alignment < 0 || b.Alignment&(b.Alignment-1) != 0 {
		c.fail("buffer %s: alignment %d is no power of two", b.Name, b.Alignment)
	}
}

// data checks a buffer's address, which the function there then defines or looks up.
func (c *checker) data(b *Buffer, there func()) {
	if b.Data == nil {
		c.fail("buffer %s has no address: Data is nil", b.Name)
		return
	}
	c.push(path.At("data"))
	if b.Data.Type != Handle {
		c.fail("the address of buffer %s is of type %s: want handle", b.Name, TypeName(b.Data.Type))
	}
	there()
	c.pop()
}

// bindView defines a buffer over memory whose address is in scope.
func (c *checker) bindView(b *Buffer, binder any) {
	c.layout(b)
	c.data(b, func() { c.variable(b.Data) })
	c.define("buffer", b.Name, b, binder)
}

func (c *checker) sizes(name string, all []Expr, positive bool) {
	for i, e := range all {
		c.push(path.AtIndex(name, i))
		c.size(e, positive)
		c.pop()
	}
}

// size checks a dimension, a stride or an offset.
func (c *checker) size(e Expr, positive bool) {
	t, ok := c.value(e)
	if !ok {
		return
	}
	if !IsInt(t) || t.Lanes != 1 {
		c.fail("of type %s: want an integer", t)
	} else if k, isConst := e.(*IntImm); isConst && positive && k.Value < 0 {
		c.fail("%d is negative", k.Value)
	}
}

// variable checks the use of a variable.
func (c *checker) variable(v *Var) bool {
	if v == nil {
		c.fail("the variable is nil")
		return false
	}
	level, ok := c.levels[v]
	if !ok {
		c.outOfScope("variable", v.Name, v)
		return false
	}
	c.Use(level)
	if CheckType(v.Type) != nil || v.Type == Void {
		return false // reported at its definition
	}
	return true
}

// buffer checks the use of a buffer.
func (c *checker) buffer(b *Buffer) bool {
	if b == nil {
		c.fail("the buffer is nil")
		return false
	}
	level, ok := c.levels[b]
	if !ok {
		c.outOfScope("buffer", b.Name, b)
		return false
	}
	c.Use(level)
	return CheckType(b.DType) == nil && b.DType != Void
}

// outsideFragments rejects an access to a single element of a fragment.
func (c *checker) outsideFragments(b *Buffer) bool {
	if b == nil || !IsFragment(b.StorageScope()) {
		return true
	}
	c.fail("buffer %s is in scope %q, whose elements threads hold together: only fragment_fill, fragment_load, "+
		"fragment_mma and fragment_store access it", b.Name, b.StorageScope())
	return false
}

func (c *checker) outOfScope(sort, name string, what any) {
	if _, ok := c.binders[what]; ok {
		c.fail("%s %s is used outside of its scope", sort, name)
	} else if sort == "buffer" {
		c.fail("buffer %s is not defined: no parameter has it, and no Alloc defines it", name)
	} else {
		c.fail("variable %s is not defined", name)
	}
}
