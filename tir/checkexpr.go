package tir

import (
	"fmt"

	"tvmgo/tir/internal/path"
	"tvmgo/tir/internal/scopes"
)

// value checks an expression whose value is used.
func (c *checker) value(e Expr) (Type, bool) {
	t, ok := c.expr(e)
	if ok && t == Void {
		c.fail("%s has no value", NodeName(e))
		return t, false
	}
	return t, ok
}

// expr checks an expression and returns its type; ok is false if it has an error.
func (c *checker) expr(e Expr) (t Type, ok bool) {
	if IsNil(e) {
		c.fail("the expression is nil")
		return Void, false
	}
	if !IsNode(e) {
		c.fail("%T is no expression", e)
		return Void, false
	}
	switch e := e.(type) {
	case *Var:
		return e.Type, c.variable(e)
	case *IntImm:
		return e.Type, c.failed(constantError(e.Type, e.Value))
	case *FloatImm:
		return e.Type, c.failed(floatConstantError(e.Type, e.Value))
	case *StringImm:
		c.fail("text %q can only be an argument of a call", e.Value)
		return Handle, false
	case *Bad:
		c.bad(e)
		return Void, false
	}
	f, known := c.memo[e]
	switch {
	case known && f.open:
		c.fail("%s contains itself", NodeName(e))
		return Void, false
	case known && f.failed:
		return Void, false
	case known && (!f.guarded || c.guarded > 0) && c.Holds(f.Stamp):
		return f.t, true
	case c.depth == scopes.MaxDepth:
		c.fail("nested more than %d deep", scopes.MaxDepth)
		return Void, false
	case c.stopped():
		return Void, false
	}
	outer := c.Used
	c.Used = 0
	c.depth++
	c.memo[e] = checked{open: true}
	t, ok = c.exprParts(e)
	c.depth--
	c.memo[e] = checked{Stamp: c.Stamp(), t: t, failed: !ok, guarded: c.guarded > 0}
	c.Used |= outer
	return t, ok
}

// failed records an error unless it is nil; it reports whether it was nil.
func (c *checker) failed(err error) bool {
	if err != nil {
		c.fail("%v", err)
	}
	return err == nil
}

func (c *checker) bad(e *Bad) {
	if e.Err == nil {
		c.fail("an expression that could not be made, for an unknown reason")
		return
	}
	before := len(c.errs)
	c.fail("%s", e.Text())
	if len(c.errs) > before {
		c.errs[before].Err = e.Err
	}
}

// part checks a part of an expression, of a statement, or of a buffer.
func (c *checker) part(s path.Step, e Expr) (Type, bool) {
	c.push(s)
	defer c.pop()
	return c.value(e)
}

// parts checks all parts of an expression in order; ok is false if one has an error.
func (c *checker) parts(e Expr) (types []Type, ok bool) {
	ok = true
	for i, p := range ExprParts(e) {
		t, fine := c.part(partStep(e, i), p)
		types, ok = append(types, t), ok && fine
	}
	return types, ok
}

// exprParts checks an expression by type of node, and its parts.
func (c *checker) exprParts(e Expr) (Type, bool) {
	switch e := e.(type) {
	case *Let:
		return c.let(e)
	case *Call:
		return c.call(e)
	case *Binary:
		return c.binary(e)
	case *BufferLoad:
		if !c.fragments[e] && !c.outsideFragments(e.Buffer) {
			return Void, false
		}
		return c.element(e.Buffer, e.Indices)
	case *ProducerLoad:
		c.fail("a load from a tensor that lowering replaces: lower the program first")
		return Void, false
	case *Reduce:
		c.fail("a reduction that lowering replaces: lower the program first")
		return Void, false
	case *Not, *Select, *Cast, *Ramp, *Broadcast, *Shuffle:
		types, ok := c.parts(e)
		if !ok {
			return Void, false
		}
		t, err := typeOfParts(e, types)
		return t, c.failed(err)
	}
	ok := c.described(e)
	return e.DType(), ok
}

// typeOfParts returns the type of an expression whose parts have the given types.
func typeOfParts(e Expr, types []Type) (Type, error) {
	switch e := e.(type) {
	case *Not:
		return types[0], notError(types[0])
	case *Select:
		cond, then, other := types[0], types[1], types[2]
		switch {
		case !IsBool(cond):
			return then, fmt.Errorf("select by type %s: want bool", cond)
		case then != other:
			return then, fmt.Errorf("select of types %s and %s: cast one", then, other)
		case cond.Lanes != then.Lanes:
			return then, fmt.Errorf("select: %d truth values for %d lanes", cond.Lanes, then.Lanes)
		}
		return then, nil
	case *Cast:
		return e.Type, castError(e.Type, types[0])
	case *Ramp:
		base, stride := types[0], types[1]
		if !IsInt(base) || base.Lanes != 1 || base != stride {
			return base, fmt.Errorf("ramp of types %s and %s: want two scalar integers of one type", base, stride)
		}
		return vectorOf(base, e.Lanes)
	case *Broadcast:
		if types[0].Lanes != 1 {
			return types[0], fmt.Errorf("broadcast of type %s: want a scalar", types[0])
		}
		return vectorOf(types[0], e.Lanes)
	case *Shuffle:
		return shuffleType(e, types)
	}
	return Void, fmt.Errorf("%T is no expression", e)
}

// vectorOf returns the vector of the given number of lanes, and an error if that is less than two or too large.
func vectorOf(t Type, lanes int) (Type, error) {
	if lanes < 2 || lanes > MaxLanes {
		return t, fmt.Errorf("%d lanes: want 2 to %d", lanes, MaxLanes)
	}
	t = Vector(t, lanes)
	return t, CheckType(t)
}

func shuffleType(e *Shuffle, types []Type) (Type, error) {
	if len(types) == 0 || len(e.Indices) == 0 {
		return Void, fmt.Errorf("shuffle of %d vectors by %d indices", len(types), len(e.Indices))
	}
	lanes := 0
	for _, t := range types {
		if Element(t) != Element(types[0]) {
			return t, fmt.Errorf("shuffle of types %s and %s: cast one", types[0], t)
		}
		lanes += int(t.Lanes)
	}
	for i, x := range e.Indices {
		if x < 0 || x >= lanes {
			return Void, fmt.Errorf("shuffle: index %d is %d: there are %d lanes", i, x, lanes)
		}
	}
	if len(e.Indices) > MaxLanes {
		return Void, fmt.Errorf("shuffle has %d lanes: want 1 to %d", len(e.Indices), MaxLanes)
	}
	t := Vector(types[0], len(e.Indices))
	return t, CheckType(t)
}

// binary checks an operation. The second operand of And and Or is evaluated on a condition.
func (c *checker) binary(e *Binary) (Type, bool) {
	a, okA := c.part(path.At("a"), e.A)
	if e.Op.IsLogical() {
		c.guarded++
	}
	b, okB := c.part(path.At("b"), e.B)
	if e.Op.IsLogical() {
		c.guarded--
	}
	if !okA || !okB {
		return Void, false
	}
	if e.Op >= numBinaryOps {
		c.fail("operation %d does not exist", e.Op)
		return Void, false
	}
	if a != b {
		c.fail("%s of types %s and %s: cast one", e.Op, a, b)
		return Void, false
	}
	if !c.failed(operandError(e.Op, a)) {
		return Void, false
	}
	if e.Op.IsComparison() {
		a = Vector(Bool, int(a.Lanes))
	}
	return a, true
}

func (c *checker) let(e *Let) (Type, bool) {
	t, ok := c.part(path.At("value"), e.Value)
	c.inside()
	c.bindLet(e.Var, t, ok, e)
	body, fine := c.part(path.At("body"), e.Body)
	c.exit()
	return body, ok && fine && e.Var != nil && e.Var.Type == t
}

// bindLet defines the variable of a Let or a LetStmt.
func (c *checker) bindLet(v *Var, value Type, ok bool, binder any) {
	c.bindVar(v, binder)
	if ok && v != nil && v.Type != value {
		c.fail("variable %s of type %s has a value of type %s: cast it", v.Name, v.Type, value)
	}
}

// element checks the indices of a load or a store, and returns the type of the accessed element.
func (c *checker) element(b *Buffer, indices []Expr) (Type, bool) {
	ok := c.buffer(b)
	types := make([]Type, len(indices))
	for i, x := range indices {
		c.push(path.AtIndex("indices", i))
		t, fine := c.value(x)
		if fine && !IsInt(t) {
			c.fail("index of type %s: want an integer", t)
			fine = false
		} else if fine && t.Lanes > 1 && i < len(indices)-1 {
			c.fail("index of type %s: only the last one may be a vector", t)
			fine = false
		} else if fine && ok && len(indices) == len(b.Shape) && c.guarded == 0 {
			c.within(x, b, i)
		}
		c.pop()
		types[i], ok = t, ok && fine
	}
	if b == nil {
		return Void, false
	}
	if len(indices) != len(b.Shape) {
		c.fail("buffer %s has %d dimensions, and %d indices", b.Name, len(b.Shape), len(indices))
		return Void, false
	}
	if !ok {
		return Void, false
	}
	t := b.DType
	if n := len(types); n > 0 && types[n-1].Lanes > 1 {
		lanes := int(t.Lanes) * int(types[n-1].Lanes)
		if lanes > MaxLanes {
			c.fail("%d lanes of type %s: want at most %d in all", types[n-1].Lanes, t, MaxLanes)
			return Void, false
		}
		t = Vector(t, lanes)
	}
	return t, true
}

// within checks a constant index against the dimension.
func (c *checker) within(x Expr, b *Buffer, dim int) {
	least, greatest, ok := constantRange(x)
	if !ok {
		return
	}
	size, known := b.Shape[dim].(*IntImm)
	if size != nil && known && greatest >= float64(size.Value) {
		c.fail("index %.0f is outside of dimension %d of buffer %s, which has %d", greatest, dim, b.Name, size.Value)
	} else if least < 0 {
		c.fail("index %.0f of buffer %s is negative", least, b.Name)
	}
}

// constantRange returns the least and the greatest lane of a constant of integers. float64 represents all values
// exactly that matter here.
func constantRange(x Expr) (least, greatest float64, ok bool) {
	switch x := x.(type) {
	case *IntImm:
		v := float64(x.Value)
		if x.Type.Code == UInt64.Code && x.Value < 0 {
			v = float64(uint64(x.Value))
		}
		return v, v, true
	case *Broadcast:
		return constantRange(x.Value)
	case *Ramp:
		base, ok1 := x.Base.(*IntImm)
		stride, ok2 := x.Stride.(*IntImm)
		if !ok1 || !ok2 {
			return 0, 0, false
		}
		first := float64(base.Value)
		last := first + float64(stride.Value)*float64(x.Lanes-1)
		return min(first, last), max(first, last), true
	}
	return 0, 0, false
}
