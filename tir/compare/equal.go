package compare

import (
	"fmt"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/internal/path"
	"tvmgo/tir/internal/scopes"
)

// Equal reports whether two nodes are the same program: expressions, statements, buffers, functions or modules.
// Whatever a node binds (parameters, loop variables, lets, allocations, axes) is compared by its position and not by
// its name. Free variables, buffers and producers, which are not bound within the nodes, are the same only if they are
// the same pointers. Floats are compared bit by bit, so that a NaN equals a NaN with the same bits, and 0 does not
// equal -0. Attributes are compared by value.
//
// The running time is proportional to the number of nodes, with shared nodes counted once, provided that every variable
// is bound once. Nodes that are nested more than 200000 deep are never equal.
func Equal(a, b any) bool {
	c := newComparer(false)
	return c.any(a, b)
}

// EqualFree is like Equal, but compares free variables, buffers and producers by position, too: each of a corresponds
// to one of b.
func EqualFree(a, b any) bool {
	c := newComparer(true)
	return c.any(a, b)
}

// Difference describes the first difference of two nodes, as in "main.body[0].for(i).body.value.a: constant 1 is not
// 2"; it returns "" if they are [Equal].
func Difference(a, b any) string {
	c := newComparer(false)
	if c.any(a, b) {
		return ""
	}
	slices.Reverse(c.path)
	if len(c.path) == 0 {
		return c.why
	}
	return path.Short(c.path) + ": " + c.why
}

// comparer compares two programs. Its methods return true, or record the difference and return false. The path to it is
// recorded in reverse, while they return.
type comparer struct {
	scopes.Scopes
	free        bool
	right, left map[any]*link // map variables, buffers and producers of one side to those of the other
	undo        []undo
	memo        map[[2]any]compared // nodes that were found equal
	depth       int
	path        []path.Step
	why         string
}

type link struct {
	other any
	level int
}

type undo struct {
	l, r              any
	wasRight, wasLeft *link
}

type compared struct {
	scopes.Stamp
	open bool // is being compared: reached again only if the graph has a cycle
}

func newComparer(free bool) *comparer {
	return &comparer{free: free, right: map[any]*link{}, left: map[any]*link{}, memo: map[[2]any]compared{}}
}

func (c *comparer) differ(format string, args ...any) bool {
	c.why = fmt.Sprintf(format, args...)
	return false
}

// step adds a step to the path of the difference.
func (c *comparer) step(s path.Step) bool {
	c.path = append(c.path, s)
	return false
}

func (c *comparer) any(a, b any) bool {
	switch a := a.(type) {
	case tir.Expr:
		if b, ok := b.(tir.Expr); ok {
			return c.expr(a, b)
		}
	case tir.Stmt:
		if b, ok := b.(tir.Stmt); ok {
			return c.node(a, b)
		}
	case *tir.Buffer:
		if b, ok := b.(*tir.Buffer); ok {
			return c.buffer(a, b)
		}
	case *tir.IterVar:
		if b, ok := b.(*tir.IterVar); ok {
			return c.iter(a, b)
		}
	case *tir.PrimFunc:
		if b, ok := b.(*tir.PrimFunc); ok {
			return c.function(a, b)
		}
	case *tir.IRModule:
		if b, ok := b.(*tir.IRModule); ok {
			return c.module(a, b)
		}
	case nil:
		if b == nil {
			return true
		}
	default:
		return c.differ("%T is not a node of a program", a)
	}
	return c.differ("%s is not %s", tir.NodeName(a), tir.NodeName(b))
}

// close closes the innermost scope and removes the bindings made in it: all those after the first undone ones.
func (c *comparer) close(undone int) {
	for len(c.undo) > undone {
		u := c.undo[len(c.undo)-1]
		c.undo = c.undo[:len(c.undo)-1]
		putBack(c.right, u.l, u.wasRight)
		putBack(c.left, u.r, u.wasLeft)
	}
	c.Leave()
}

func putBack[T any](m map[any]*T, key any, was *T) {
	if was == nil {
		delete(m, key)
	} else {
		m[key] = was
	}
}

// bind records that two things correspond in the innermost scope.
func (c *comparer) bind(l, r any) {
	wasR, wasL := c.right[l], c.left[r]
	if wasR != nil || wasL != nil {
		c.Era++
	}
	c.undo = append(c.undo, undo{l, r, wasR, wasL})
	level := len(c.Open) - 1
	c.right[l], c.left[r] = &link{r, level}, &link{l, level}
}

// bindVars records that two variables correspond in the innermost scope.
func (c *comparer) bindVars(l, r *tir.Var) bool {
	if l == nil || r == nil {
		return l == r || c.differ("variable %s is not variable %s", tir.NameOf(l), tir.NameOf(r))
	}
	if l.Type != r.Type {
		return c.differ("variable %s of type %s is not of type %s", l.Name, l.Type, r.Type)
	}
	c.bind(l, r)
	return true
}

// bound reports whether one of two things is bound or was used before.
func (c *comparer) bound(l, r any) bool { return c.right[l] != nil || c.left[r] != nil }

// same reports whether two used things correspond. If both are free and new, they correspond from now on.
func (c *comparer) same(l, r any) bool {
	a, b := c.right[l], c.left[r]
	if a == nil && b == nil {
		if !c.free && l != r {
			return false
		}
		c.right[l], c.left[r] = &link{r, -1}, &link{l, -1}
		return true
	}
	if a == nil || b == nil || a.other != r || b.other != l {
		return false
	}
	c.Use(a.level)
	return true
}

func (c *comparer) variable(l, r *tir.Var) bool {
	switch {
	case l == nil || r == nil:
		return l == r || c.differ("variable %s is not variable %s", tir.NameOf(l), tir.NameOf(r))
	case l.Type != r.Type:
		return c.differ("variable %s of type %s is not %s of type %s", l.Name, l.Type, r.Name, r.Type)
	case !c.same(l, r):
		return c.differ("variable %s is not variable %s", l.Name, r.Name)
	}
	return true
}

// buffer compares uses of buffers.
func (c *comparer) buffer(l, r *tir.Buffer) bool {
	switch {
	case l == nil || r == nil:
		return l == r || c.differ("buffer %s is not buffer %s", tir.NameOf(l), tir.NameOf(r))
	case c.free && !c.bound(l, r):
		if !c.bufferParts(l, r) || !c.in(path.At("data"), c.variable(l.Data, r.Data)) {
			return c.step(path.At("buffer(" + l.Name + ")"))
		}
	}
	if !c.same(l, r) {
		return c.differ("buffer %s is not buffer %s", l.Name, r.Name)
	}
	return true
}

// bindBuffer compares definitions of buffers, which define their addresses, too.
func (c *comparer) bindBuffer(l, r *tir.Buffer) bool {
	if l == nil || r == nil {
		return l == r || c.differ("buffer %s is not buffer %s", tir.NameOf(l), tir.NameOf(r))
	}
	if !c.bufferParts(l, r) {
		return false
	}
	if l.Data == nil || r.Data == nil || c.bound(l.Data, r.Data) {
		if !c.variable(l.Data, r.Data) {
			return c.step(path.At("data"))
		}
	} else if !c.bindVars(l.Data, r.Data) {
		return c.step(path.At("data"))
	}
	c.bind(l, r)
	return true
}

func (c *comparer) bufferParts(l, r *tir.Buffer) bool {
	switch {
	case l.DType != r.DType:
		return c.differ("buffer %s of type %s is not of type %s", l.Name, l.DType, r.DType)
	case l.StorageScope() != r.StorageScope():
		return c.differ("buffer %s of scope %q is not of scope %q", l.Name, l.StorageScope(), r.StorageScope())
	case l.Alignment != r.Alignment:
		return c.differ("buffer %s of alignment %d is not of alignment %d", l.Name, l.Alignment, r.Alignment)
	}
	return c.exprs("shape", l.Shape, r.Shape) && c.exprs("strides", l.Strides, r.Strides) && c.in(path.At("offset"),
		c.expr(l.Offset, r.Offset))
}

// in adds a step to the path of the difference if equal is false; it returns equal.
func (c *comparer) in(s path.Step, equal bool) bool { return equal || c.step(s) }

func (c *comparer) producer(l, r tir.Producer) bool {
	if !tir.UsableProducer(l) || !tir.UsableProducer(r) {
		return !tir.UsableProducer(l) && !tir.UsableProducer(r) || c.differ("a producer is nil, the other is not")
	}
	if c.free && !c.bound(l, r) {
		a, b := l.ProducerShape(), r.ProducerShape()
		if x, y := l.ProducerDType(), r.ProducerDType(); x != y || len(a) != len(b) {
			return c.differ("tensor %s is not tensor %s", l.ProducerName(), r.ProducerName())
		}
		if !c.exprs("shape", a, b) {
			return c.step(path.At("tensor(" + l.ProducerName() + ")"))
		}
	}
	return c.same(l, r) || c.differ("tensor %s is not tensor %s", l.ProducerName(), r.ProducerName())
}
