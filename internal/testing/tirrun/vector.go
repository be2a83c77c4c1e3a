package tirrun

import "tvmgo/tir"

func (c *compiler) ramp(e *tir.Ramp) value {
	base, stride := c.expr(e.Base), c.expr(e.Stride)
	if base.t != stride.t || !tir.IsInt(base.t) || base.vector() || e.Lanes < 1 || e.Lanes > tir.MaxLanes {
		c.fail("ramp of %d lanes from %s by %s: want integers of the same type, and 1 to %d lanes", e.Lanes, base.t,
			stride.t, tir.MaxLanes)
	}
	if e.Lanes == 1 {
		return base
	}
	t := tir.Vector(base.t, e.Lanes)
	out, w := c.reserve(t), wrapper(base.t)
	return value{t: t, off: out, v: func(f *frame) {
		x, s := base.i(f), stride.i(f)
		for l := range e.Lanes {
			f.i[out+l] = w(x + int64(l)*s)
		}
	}}
}

func (c *compiler) broadcast(v value, lanes int) value {
	if v.vector() || tir.IsHandle(v.t) || v.t.Lanes == 0 || lanes < 1 || lanes > tir.MaxLanes {
		c.fail("broadcast of %s to %d lanes: want a scalar, and 1 to %d lanes", v.t, lanes, tir.MaxLanes)
	}
	if lanes == 1 {
		return v
	}
	t := tir.Vector(v.t, lanes)
	out := c.reserve(t)
	if v.x != nil {
		return value{t: t, off: out, v: func(f *frame) {
			x := v.x(f)
			for l := range lanes {
				f.f[out+l] = x
			}
		}}
	}
	return value{t: t, off: out, v: func(f *frame) {
		x := v.i(f)
		for l := range lanes {
			f.i[out+l] = x
		}
	}}
}

func (c *compiler) shuffle(e *tir.Shuffle) value {
	if len(e.Vectors) == 0 || len(e.Indices) == 0 || len(e.Indices) > tir.MaxLanes {
		c.fail("shuffle of %d vectors to %d lanes: want at least one, and 1 to %d lanes", len(e.Vectors), len(e.Indices),
			tir.MaxLanes)
	}
	var before []func(*frame)
	var from []int // the slot of each lane of the vectors
	var one tir.Type
	for n, x := range e.Vectors {
		v := c.expr(x)
		if n == 0 {
			one = tir.Element(v.t)
		}
		if tir.Element(v.t) != one || v.t.Lanes == 0 || tir.IsHandle(v.t) {
			c.fail("shuffle of %s and %s: want numbers of the same type", one, v.t)
		}
		if !v.vector() {
			off := c.reserve(v.t)
			before = append(before, v.store(off))
			v.off = off
		} else {
			before = append(before, v.v)
		}
		for l := range int(v.t.Lanes) {
			from = append(from, v.off+l)
		}
	}
	var pick []int
	for _, i := range e.Indices {
		if i < 0 || i >= len(from) {
			c.fail("shuffle selects lane %d of %d", i, len(from))
		}
		pick = append(pick, from[i])
	}
	do := func(f *frame) {
		for _, b := range before {
			b(f)
		}
	}
	float := tir.IsFloat(one)
	if len(pick) == 1 {
		if float {
			return floatValue(one, func(f *frame) float64 { do(f); return f.f[pick[0]] })
		}
		return intValue(one, func(f *frame) int64 { do(f); return f.i[pick[0]] })
	}
	t := tir.Vector(one, len(pick))
	out := c.reserve(t)
	return value{t: t, off: out, v: func(f *frame) {
		do(f)
		for l, p := range pick {
			if float {
				f.f[out+l] = f.f[p]
			} else {
				f.i[out+l] = f.i[p]
			}
		}
	}}
}

// lane returns one lane of an expression, for operands that must not be evaluated in all lanes.
func lane(e tir.Expr, l int) tir.Expr {
	if e.DType().Lanes <= 1 {
		return e
	}
	switch e := e.(type) {
	case *tir.Binary:
		return &tir.Binary{Op: e.Op, A: lane(e.A, l), B: lane(e.B, l)}
	case *tir.Not:
		return &tir.Not{A: lane(e.A, l)}
	case *tir.Select:
		return &tir.Select{Cond: lane(e.Cond, l), Then: lane(e.Then, l), Else: lane(e.Else, l)}
	case *tir.Cast:
		return &tir.Cast{Type: tir.Element(e.Type), Value: lane(e.Value, l)}
	case *tir.Broadcast:
		return e.Value
	case *tir.Ramp:
		return &tir.Binary{Op: tir.OpAdd, A: e.Base, B: &tir.Binary{Op: tir.OpMul, A: tir.IntConst(e.Base.DType(), int64(l)),
			B: e.Stride}}
	case *tir.Let:
		if e.Value.DType().Lanes <= 1 {
			return &tir.Let{Var: e.Var, Value: e.Value, Body: lane(e.Body, l)}
		}
	case *tir.BufferLoad:
		if e.Buffer != nil && e.Buffer.DType.Lanes == 1 {
			n := len(e.Indices) - 1
			return &tir.BufferLoad{Buffer: e.Buffer, Indices: append(append([]tir.Expr{}, e.Indices[:n]...),
				lane(e.Indices[n], l))}
		}
	case *tir.Call:
		if i, ok := tir.LookupIntrinsic(e.Name); ok && e.Kind == tir.CallIntrinsic && i.Pure && e.Name != "reinterpret" {
			args := make([]tir.Expr, len(e.Args))
			for n, a := range e.Args {
				args[n] = lane(a, l)
			}
			return &tir.Call{Kind: e.Kind, Name: e.Name, Type: tir.Element(e.Type), Args: args}
		}
	}
	return &tir.Shuffle{Vectors: []tir.Expr{e}, Indices: []int{l}}
}
