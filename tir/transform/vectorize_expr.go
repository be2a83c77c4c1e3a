package transform

import "tvmgo/tir"

// differs reports whether the value of an expression may differ between lanes.
func (z *lockstep) differs(e tir.Expr) bool {
	if d, ok := z.differ[e]; ok {
		return d
	}
	d := false
	if v, ok := e.(*tir.Var); ok {
		d = v == z.v || z.vars[v] != nil
	} else {
		for _, p := range tir.ExprParts(e) {
			d = d || z.differs(p)
		}
		if l, ok := e.(*tir.Let); ok && z.differs(l.Value) {
			d = true
		}
		z.differ[e] = d
	}
	return d
}

// wide converts a scalar to a vector.
func (z *lockstep) wide(e tir.Expr) tir.Expr {
	if e.DType().Lanes == 1 {
		return &tir.Broadcast{Value: e, Lanes: z.lanes}
	}
	return e
}

func (z *lockstep) fail(e tir.Expr) tir.Expr {
	z.failed = true
	return e
}

// expr returns an expression for all lanes: a scalar if they are equal.
func (z *lockstep) expr(e tir.Expr) tir.Expr {
	switch {
	case z.failed || e == nil || e.DType().Lanes != 1 || tir.IsHandle(e.DType()):
		return z.fail(e)
	case !z.differs(e):
		return e
	}
	switch e := e.(type) {
	case *tir.Var:
		if v := z.vars[e]; v != nil {
			return v
		}
		return &tir.Ramp{Base: z.base, Stride: sized(e.Type, 1), Lanes: z.lanes}
	case *tir.Binary:
		return z.binary(e)
	case *tir.Not:
		return &tir.Not{A: z.expr(e.A)}
	case *tir.Select:
		c, a, b := z.expr(e.Cond), z.expr(e.Then), z.expr(e.Else)
		return &tir.Select{Cond: z.wide(c), Then: z.wide(a), Else: z.wide(b)}
	case *tir.Cast:
		return z.cast(e.Type, z.expr(e.Value))
	case *tir.BufferLoad:
		return z.load(e)
	case *tir.Let:
		if !z.differs(e.Value) {
			return &tir.Let{Var: e.Var, Value: e.Value, Body: z.expr(e.Body)}
		}
		value := z.expr(e.Value)
		if _, line := value.(*tir.Ramp); line {
			return z.expr(tir.Substitute(e.Body, map[*tir.Var]tir.Expr{e.Var: e.Value}))
		}
		v := z.bind(e.Var)
		body := z.wide(z.expr(e.Body))
		delete(z.vars, e.Var)
		return &tir.Let{Var: v, Value: value, Body: body}
	case *tir.Call:
		return z.call(e)
	}
	return z.fail(e)
}

// cast converts a vector. A wider index of consecutive elements is a ramp, too: index arithmetic does not overflow.
func (z *lockstep) cast(t tir.Type, v tir.Expr) tir.Expr {
	if r, ok := v.(*tir.Ramp); ok && t == tir.Int64 && r.Base.DType() == tir.Int32 {
		stride := tir.NewCast(t, r.Stride)
		if n, known := tir.IntValue(r.Stride); known {
			stride = tir.I64(n)
		}
		return &tir.Ramp{Base: tir.NewCast(t, r.Base), Stride: stride, Lanes: r.Lanes}
	}
	return &tir.Cast{Type: tir.Vector(t, z.lanes), Value: v}
}

func (z *lockstep) binary(e *tir.Binary) tir.Expr {
	if e.Op.IsLogical() && mayFail(e.B) { // the second operand is evaluated only in lanes that the first does not decide
		never := tir.BoolConst(e.Op == tir.OpOr)
		if e.Op == tir.OpOr {
			return z.choose(e.A, never, e.B, tir.Bool)
		}
		return z.choose(e.A, e.B, never, tir.Bool)
	}
	a, b := z.expr(e.A), z.expr(e.B)
	if z.failed {
		return e
	}
	if tir.IsInt(a.DType()) {
		if r := line(e.Op, a, b, z.lanes); r != nil {
			return r
		}
	}
	return &tir.Binary{Op: e.Op, A: z.wide(a), B: z.wide(b)}
}

// line returns a sum, a difference, or a product of ramps and scalars as a ramp; nil if it is not one.
func line(op tir.BinaryOp, a, b tir.Expr, lanes int) tir.Expr {
	parts := func(e tir.Expr) (base, stride tir.Expr, ok bool) {
		if r, isRamp := e.(*tir.Ramp); isRamp {
			return r.Base, r.Stride, true
		}
		return e, sized(tir.Element(e.DType()), 0), e.DType().Lanes == 1
	}
	p, s, ok := parts(a)
	q, t, okToo := parts(b)
	if !ok || !okToo {
		return nil
	}
	switch {
	case op == tir.OpAdd || op == tir.OpSub:
		return &tir.Ramp{Base: folded(op, p, q), Stride: folded(op, s, t), Lanes: lanes}
	case op == tir.OpMul && a.DType().Lanes == 1:
		return &tir.Ramp{Base: folded(op, p, q), Stride: folded(op, p, t), Lanes: lanes}
	case op == tir.OpMul && b.DType().Lanes == 1:
		return &tir.Ramp{Base: folded(op, p, q), Stride: folded(op, s, q), Lanes: lanes}
	}
	return nil
}

// folded returns an operation on integers. It computes constants and drops the operands 0 of a sum and 1 of a product.
func folded(op tir.BinaryOp, a, b tir.Expr) tir.Expr {
	x, isX := a.(*tir.IntImm)
	y, isY := b.(*tir.IntImm)
	if isX && isY {
		n := x.Value
		switch op {
		case tir.OpAdd:
			n += y.Value
		case tir.OpSub:
			n -= y.Value
		case tir.OpMul:
			n *= y.Value
		}
		if c, ok := tir.IntConst(x.Type, n).(*tir.IntImm); ok && max(x.Value, -x.Value, y.Value, -y.Value) < 1<<31 {
			return c
		}
	}
	switch {
	case isY && y.Value == 0 && op != tir.OpMul, isY && y.Value == 1 && op == tir.OpMul:
		return a
	case isX && x.Value == 0 && op == tir.OpAdd, isX && x.Value == 1 && op == tir.OpMul:
		return b
	}
	return &tir.Binary{Op: op, A: a, B: b}
}

// maxGathered limits the number of lanes that are loaded one by one.
const maxGathered = 16

// load reads contiguous elements of the last dimension, otherwise lane by lane.
func (z *lockstep) load(e *tir.BufferLoad) tir.Expr {
	d := len(e.Indices) - 1
	if e.Buffer.DType.Lanes != 1 {
		return z.fail(e)
	}
	if z.same(e.Indices[:d]...) {
		last := z.expr(e.Indices[d])
		if !z.device || z.failed || z.lanes > maxGathered || isContiguous(last) {
			return &tir.BufferLoad{Buffer: e.Buffer, Indices: append(append([]tir.Expr{}, e.Indices[:d]...), last)}
		}
		// In kernels, constant indices let compilers keep memory of one thread in registers.
	}
	if z.lanes > maxGathered {
		return z.fail(e)
	}
	all, order := make([]tir.Expr, z.lanes), make([]int, z.lanes)
	for l := range all {
		to := map[*tir.Var]tir.Expr{z.v: plus(z.base, int64(l))}
		for v, w := range z.vars {
			to[v] = &tir.Shuffle{Vectors: []tir.Expr{w}, Indices: []int{l}}
		}
		all[l], order[l] = tir.NewCopier(to).Expr(e), l
	}
	return &tir.Shuffle{Vectors: all, Indices: order}
}

// isContiguous reports whether the lanes of an index are adjacent.
func isContiguous(e tir.Expr) bool {
	r, ok := e.(*tir.Ramp)
	if !ok {
		return false
	}
	step, ok := tir.IntValue(r.Stride)
	return ok && step == 1
}

func (z *lockstep) call(e *tir.Call) tir.Expr {
	if e.Name == "if_then_else" {
		return z.choose(e.Args[0], e.Args[1], e.Args[2], e.Type)
	}
	args := make([]tir.Expr, len(e.Args))
	for i, a := range e.Args {
		args[i] = z.wide(z.expr(a))
	}
	return &tir.Call{Kind: e.Kind, Name: e.Name, Type: tir.Vector(e.Type, z.lanes), Args: args}
}

// choose selects one of two values in each lane. Both are computed in all lanes if neither can fail.
func (z *lockstep) choose(cond, then, other tir.Expr, t tir.Type) tir.Expr {
	c := z.expr(cond)
	if z.failed {
		return cond
	}
	if c.DType().Lanes > 1 && !mayFail(then) && !mayFail(other) {
		return &tir.Select{Cond: c, Then: z.wide(z.expr(then)), Else: z.wide(z.expr(other))}
	}
	return &tir.Call{Kind: tir.CallIntrinsic, Name: "if_then_else", Type: tir.Vector(t, z.lanes),
		Args: []tir.Expr{c, z.lazy(then), z.lazy(other)}}
}

// lazy returns an operand that may be computed only in the lanes that select it.
func (z *lockstep) lazy(e tir.Expr) tir.Expr {
	r := z.wide(z.expr(e))
	// vectors assembled lane by lane, and scalars that can fail, would be computed for all lanes
	if contains(r, func(node any) bool {
		switch n := node.(type) {
		case *tir.Shuffle:
			return true
		case *tir.Broadcast:
			return mayFail(n.Value)
		}
		return false
	}) {
		return z.fail(r)
	}
	return r
}

// mayFail reports whether an expression may fail where the program does not compute it.
func mayFail(e tir.Expr) bool {
	return contains(e, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferLoad:
			return true
		case *tir.Binary:
			if n.Op >= tir.OpDiv && n.Op <= tir.OpFloorMod && tir.IsInt(n.A.DType()) {
				c, ok := n.B.(*tir.IntImm)
				return !ok || c.Value == 0
			}
		}
		return isImpure(node)
	})
}
