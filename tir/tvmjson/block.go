package tvmjson

import (
	"slices"

	"tvmgo/tir"
)

// Kinds of a block's variables; the others are treated like an axis whose iterations depend on each other.
const (
	axisData   = 0
	axisReduce = 2
)

// block reads a block with the bindings of its variables.
func (r *reader) block(n node) tir.Stmt {
	b := n.At("block")
	axes, values := b.At("iter_vars").List(), n.At("iter_values").List()
	if len(axes) != len(values) {
		n.Fail("%d values for the %d variables of the block", len(values), len(axes))
	}
	bound := make([]tir.Expr, len(values))
	for i, v := range values {
		bound[i] = r.expr(v)
	}
	predicate := r.condition(n.At("predicate"))
	var first tir.Expr
	var carriers []*tir.Var
	restore := make([]func(), 0, len(axes))
	for i, a := range axes {
		v := a.At("var")
		value := good(a, tir.NewCast(r.typeOf(v), bound[i]))
		restore = append(restore, r.set(v, value))
		kind := a.Int("iter_type")
		if kind == axisData {
			continue
		}
		carriers = append(carriers, loopVars(value)...)
		if kind == axisReduce {
			first = both(first, r.atMinimum(a, value))
		}
	}
	s := r.blockBody(b, first)
	for _, undo := range slices.Backward(restore) {
		undo()
	}
	if s == nil {
		return nil
	}
	if len(carriers) > 0 {
		r.carry(s, carriers)
	}
	if c, ok := tir.IntValue(predicate); !ok || c == 0 {
		s = &tir.If{Cond: predicate, Then: s}
	}
	return s
}

// set defines what a variable stands for, and returns the function that undoes it.
func (r *reader) set(n node, value tir.Expr) (undo func()) {
	i := n.Index()
	outer, had := r.vars[i]
	r.vars[i] = value
	return func() {
		if had {
			r.vars[i] = outer
		} else {
			delete(r.vars, i)
		}
	}
}

// atMinimum returns the condition that an axis is at its first value; nil if it is at no other.
func (r *reader) atMinimum(axis node, value tir.Expr) tir.Expr {
	low := r.expr(axis.At("dom").At("min"))
	a, isA := tir.IntValue(low)
	b, isB := tir.IntValue(value)
	if isA && isB && a == b {
		return nil
	}
	return good(axis, tir.EQ(value, low))
}

// both returns the conjunction of conditions, of which nil is true.
func both(a, b tir.Expr) tir.Expr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return tir.And(a, b)
}

// blockBody reads a block whose variables are bound. first is the condition of the first iteration of its reduction;
// nil: there is no other.
func (r *reader) blockBody(b node, first tir.Expr) tir.Stmt {
	var own []*tir.Buffer
	for _, x := range b.At("alloc_buffers").List() {
		own = append(own, r.newBuffer(describe(x), nil))
	}
	for _, m := range b.At("match_buffers").List() {
		r.match(m)
	}
	var parts []tir.Stmt
	if init, ok := b.Maybe("init"); ok {
		s := r.statement(init)
		if s != nil && first != nil {
			s = &tir.If{Cond: first, Then: s}
		}
		if s != nil {
			parts = append(parts, s)
		}
	}
	if s := r.statement(b.At("body")); s != nil {
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return nil
	}
	s := tir.Sequence(parts...)
	var viewed []*memory // views are where the memory is
	own = slices.DeleteFunc(own, func(x *tir.Buffer) bool {
		m := r.memoryAt(x.Data)
		if m == nil || len(m.views) == 0 {
			return false
		}
		viewed = append(viewed, m)
		return true
	})
	s = r.place(s, own)
	for _, m := range viewed {
		s = &tir.Alloc{Buffer: m.base, Body: m.around(s)}
	}
	return s
}

// loopVars returns the variables in an expression.
func loopVars(e tir.Expr) []*tir.Var {
	var vars []*tir.Var
	tir.Walk(e, func(x any) bool {
		if v, ok := x.(*tir.Var); ok && !slices.Contains(vars, v) {
			vars = append(vars, v)
		}
		return true
	})
	return vars
}

// carry notes that the buffers which a statement accesses keep values from one iteration of loops to the next.
func (r *reader) carry(s tir.Stmt, loops []*tir.Var) {
	note := func(b *tir.Buffer) {
		if r.carried[b] == nil {
			r.carried[b] = map[*tir.Var]bool{}
		}
		for _, v := range loops {
			r.carried[b][v] = true
		}
	}
	tir.Walk(s, func(x any) bool {
		if st, ok := x.(*tir.BufferStore); ok { // what is only read is not kept by this block
			note(st.Buffer)
		}
		return true
	})
}
