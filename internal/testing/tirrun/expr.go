package tirrun

import "tvmgo/tir"

// value is a compiled expression. For scalars, one of i, x and h computes it: integers and bools, floats, or values of
// type Handle. For vectors, v computes all lanes and leaves them in the frame from off on, among its integers or its
// floats.
type value struct {
	t   tir.Type
	i   func(*frame) int64
	x   func(*frame) float64
	h   func(*frame) any
	v   func(*frame)
	off int

	isConst bool // for integers: n is the value
	n       int64
	isVar   bool // for scalars: off is its slot
}

func (v value) vector() bool { return v.t.Lanes > 1 }

func intValue(t tir.Type, i func(*frame) int64) value     { return value{t: t, i: i} }
func floatValue(t tir.Type, x func(*frame) float64) value { return value{t: t, x: x} }

func intConst(t tir.Type, n int64) value {
	return value{t: t, i: func(*frame) int64 { return n }, isConst: true, n: n}
}

// expr compiles an expression.
func (c *compiler) expr(e tir.Expr) value {
	switch e := e.(type) {
	case *tir.Var:
		return c.variable(e)
	case *tir.IntImm:
		c.valid("constant", e.Type)
		if tir.IsFloat(e.Type) || tir.IsHandle(e.Type) || e.Type.Lanes != 1 {
			c.fail("constant %d has type %s: want an integer type with one lane", e.Value, e.Type)
		}
		return intConst(e.Type, wrap(e.Type, e.Value))
	case *tir.FloatImm:
		c.valid("constant", e.Type)
		if !tir.IsFloat(e.Type) || e.Type.Lanes != 1 {
			c.fail("constant %v has type %s: want a float type with one lane", e.Value, e.Type)
		}
		x := roundTo(e.Type, e.Value)
		return floatValue(e.Type, func(*frame) float64 { return x })
	case *tir.StringImm:
		return value{t: tir.Handle, h: func(*frame) any { return e.Value }}
	case *tir.Binary:
		return c.binary(e)
	case *tir.Not:
		a := c.truth(e.A, "not")
		if a.vector() {
			return c.mapInts(a.t, func(v int64) int64 { return 1 - v }, a)
		}
		i := a.i
		return intValue(a.t, func(f *frame) int64 { return 1 - i(f) })
	case *tir.Select:
		return c.selection(e)
	case *tir.Cast:
		return c.cast(e.Type, c.expr(e.Value))
	case *tir.BufferLoad:
		return c.load(e)
	case *tir.Ramp:
		return c.ramp(e)
	case *tir.Broadcast:
		return c.broadcast(c.expr(e.Value), e.Lanes)
	case *tir.Shuffle:
		return c.shuffle(e)
	case *tir.Let:
		set := c.let(e.Var, e.Value)
		body := c.expr(e.Body)
		c.leave(e.Var)
		return body.after(set)
	case *tir.Call:
		return c.call(e)
	case *tir.ProducerLoad:
		c.fail("tensor %s is read as an expression: lower the schedule first", e.Producer.ProducerName())
	case *tir.Reduce:
		c.fail("there is a reduction: lower the schedule first")
	case *tir.Bad:
		c.fail("an expression is invalid: %v", e.Err)
	}
	c.fail("an expression is nil, or of a type that the interpreter does not know: %s", tir.NodeName(e))
	return value{}
}

// after compiles a value that is computed after do.
func (v value) after(do func(*frame)) value {
	v.isConst, v.isVar = false, false
	switch {
	case v.vector():
		in := v.v
		v.v = func(f *frame) { do(f); in(f) }
	case v.i != nil:
		in := v.i
		v.i = func(f *frame) int64 { do(f); return in(f) }
	case v.x != nil:
		in := v.x
		v.x = func(f *frame) float64 { do(f); return in(f) }
	case v.h != nil:
		in := v.h
		v.h = func(f *frame) any { do(f); return in(f) }
	}
	return v
}

func (c *compiler) variable(v *tir.Var) value {
	slot := c.slot(v)
	r := value{t: v.Type, off: slot, isVar: true}
	switch {
	case r.vector():
		r.v = func(*frame) {}
	case tir.IsFloat(v.Type):
		r.x = func(f *frame) float64 { return f.f[slot] }
	case tir.IsHandle(v.Type):
		r.h = func(f *frame) any { return f.h[slot] }
	default:
		r.i = func(f *frame) int64 { return f.i[slot] }
	}
	return r
}

// let begins the scope of a variable, and returns a function that sets it.
func (c *compiler) let(v *tir.Var, e tir.Expr) func(*frame) {
	x := c.expr(e)
	slot := c.define(v)
	if x.t != v.Type {
		c.fail("variable %s of type %s gets a value of type %s", v.Name, v.Type, x.t)
	}
	return x.store(slot)
}

// store compiles the assignment of a value to a slot.
func (v value) store(slot int) func(*frame) {
	lanes, off := int(v.t.Lanes), v.off
	switch {
	case v.vector() && tir.IsFloat(v.t):
		return func(f *frame) { v.v(f); copy(f.f[slot:slot+lanes], f.f[off:]) }
	case v.vector():
		return func(f *frame) { v.v(f); copy(f.i[slot:slot+lanes], f.i[off:]) }
	case v.x != nil:
		return func(f *frame) { f.f[slot] = v.x(f) }
	case v.h != nil:
		return func(f *frame) { f.h[slot] = v.h(f) }
	}
	return func(f *frame) { f.i[slot] = v.i(f) }
}

// truth compiles a bool expression.
func (c *compiler) truth(e tir.Expr, what string) value {
	v := c.expr(e)
	if !tir.IsBool(v.t) {
		c.fail("%s of type %s: want bool", what, v.t)
	}
	return v
}

// condition compiles a bool expression with one lane.
func (c *compiler) condition(e tir.Expr, what string) func(*frame) int64 {
	v := c.truth(e, what)
	if v.vector() {
		c.fail("%s has type %s: want one lane", what, v.t)
	}
	return v.i
}

func (c *compiler) binary(e *tir.Binary) value {
	if e.Op.IsLogical() {
		return c.logical(e)
	}
	a, b := c.expr(e.A), c.expr(e.B)
	if a.t != b.t || tir.IsHandle(a.t) || a.t.Lanes == 0 {
		c.fail("%s of types %s and %s: want numbers of the same type", e.Op, a.t, b.t)
	}
	if tir.IsBool(a.t) && e.Op != tir.OpEQ && e.Op != tir.OpNE {
		c.fail("%s of bool values", e.Op)
	}
	at := c.at
	one := tir.Element(a.t)
	switch {
	case e.Op.IsComparison() && tir.IsFloat(a.t):
		op := compareFloats(e.Op)
		if a.vector() {
			return c.zip(tir.Vector(tir.Bool, int(a.t.Lanes)), []value{a, b}, func(f *frame, out int, in []int) {
				f.i[out] = b2i(op(f.f[in[0]], f.f[in[1]]))
			})
		}
		p, q := a.x, b.x
		return intValue(tir.Bool, func(f *frame) int64 { return b2i(op(p(f), q(f))) })
	case tir.IsFloat(a.t):
		op := floatOp(e.Op, one)
		if a.vector() {
			return c.zip(a.t, []value{a, b}, func(f *frame, out int, in []int) { f.f[out] = op(f.f[in[0]], f.f[in[1]]) })
		}
		return floatValue(a.t, fastFloat(e.Op, one, op, a.x, b.x))
	}
	t := a.t
	if e.Op.IsComparison() {
		t = tir.Vector(tir.Bool, int(a.t.Lanes))
	}
	op := intOp(e.Op, one)
	divides := e.Op >= tir.OpDiv && e.Op <= tir.OpFloorMod
	if a.vector() {
		return c.zip(t, []value{a, b}, func(f *frame, out int, in []int) {
			p, q := f.i[in[0]], f.i[in[1]]
			if divides && q == 0 {
				f.divisionByZero(at, e.Op)
			}
			f.i[out] = op(p, q)
		})
	}
	if divides {
		p, q := a.i, b.i
		return intValue(t, func(f *frame) int64 {
			x, y := p(f), q(f)
			if y == 0 {
				f.divisionByZero(at, e.Op)
			}
			return op(x, y)
		})
	}
	return intValue(t, fastInt(e.Op, one, op, a, b))
}

func (f *frame) divisionByZero(at *position, op tir.BinaryOp) {
	f.fail(at, ErrArithmetic, "%s by 0", op)
}

// zip computes vectors of equal length lane by lane.
func (c *compiler) zip(t tir.Type, in []value, do func(f *frame, out int, in []int)) value {
	out := c.reserve(t)
	lanes := int(t.Lanes)
	return value{t: t, off: out, v: func(f *frame) {
		for _, x := range in {
			x.v(f)
		}
		var buf [4]int
		at := buf[:len(in)]
		for l := range lanes {
			for i, x := range in {
				at[i] = x.off + l
			}
			do(f, out+l, at)
		}
	}}
}

func (c *compiler) mapInts(t tir.Type, op func(int64) int64, a value) value {
	return c.zip(t, []value{a}, func(f *frame, out int, in []int) { f.i[out] = op(f.i[in[0]]) })
}

// logical evaluates the second operand only if the first does not decide, separately for each lane.
func (c *compiler) logical(e *tir.Binary) value {
	a := c.truth(e.A, e.Op.String())
	decides := b2i(e.Op == tir.OpOr)
	if a.vector() {
		lanes := int(a.t.Lanes)
		if t := e.B.DType(); t != a.t {
			c.fail("%s of types %s and %s", e.Op, a.t, t)
		}
		var second []func(*frame) int64
		for l := range lanes {
			second = append(second, c.truth(lane(e.B, l), e.Op.String()).i)
		}
		out := c.reserve(a.t)
		return value{t: a.t, off: out, v: func(f *frame) {
			a.v(f)
			for l := range lanes {
				r := f.i[a.off+l]
				if r != decides {
					r = second[l](f)
				}
				f.i[out+l] = r
			}
		}}
	}
	b := c.truth(e.B, e.Op.String())
	if b.t != a.t {
		c.fail("%s of types %s and %s", e.Op, a.t, b.t)
	}
	p, q := a.i, b.i
	if e.Op == tir.OpAnd {
		return intValue(tir.Bool, func(f *frame) int64 {
			if p(f) == 0 {
				return 0
			}
			return q(f)
		})
	}
	return intValue(tir.Bool, func(f *frame) int64 {
		if p(f) != 0 {
			return 1
		}
		return q(f)
	})
}

// selection evaluates both operands.
func (c *compiler) selection(e *tir.Select) value {
	cond, a, b := c.truth(e.Cond, "select"), c.expr(e.Then), c.expr(e.Else)
	if a.t != b.t || cond.t.Lanes != a.t.Lanes {
		c.fail("select by %s of types %s and %s: want operands of the same type, and a bool for each lane", cond.t, a.t, b.t)
	}
	switch {
	case a.vector():
		float := tir.IsFloat(a.t)
		return c.zip(a.t, []value{a, b, cond}, func(f *frame, out int, in []int) {
			from := in[1]
			if f.i[in[2]] != 0 {
				from = in[0]
			}
			if float {
				f.f[out] = f.f[from]
			} else {
				f.i[out] = f.i[from]
			}
		})
	case a.x != nil:
		return floatValue(a.t, func(f *frame) float64 {
			r, other := a.x(f), b.x(f)
			if cond.i(f) == 0 {
				r = other
			}
			return r
		})
	case a.h != nil:
		return value{t: a.t, h: func(f *frame) any {
			r, other := a.h(f), b.h(f)
			if cond.i(f) == 0 {
				r = other
			}
			return r
		}}
	}
	return intValue(a.t, func(f *frame) int64 {
		r, other := a.i(f), b.i(f)
		if cond.i(f) == 0 {
			r = other
		}
		return r
	})
}

func (c *compiler) cast(t tir.Type, v value) value {
	c.valid("cast", t)
	switch {
	case t == v.t:
		return v
	case t.Lanes != v.t.Lanes:
		c.fail("cast of %s to %s: the lanes differ", v.t, t)
	case tir.IsHandle(t) || tir.IsHandle(v.t):
		c.fail("cast of %s to %s: addresses have no numbers here", v.t, t)
	}
	from, to := tir.Element(v.t), tir.Element(t)
	a, b := tir.IsFloat(from), tir.IsFloat(to)
	ii, fi, xf, ff := castInt(to), castFloatToInt(to), func(n int64) float64 { return intToFloat(from, to, n) }, rounder(
		to)
	if ff == nil {
		ff = func(x float64) float64 { return x }
	}
	if v.vector() {
		return c.zip(t, []value{v}, func(f *frame, out int, in []int) {
			switch {
			case a && b:
				f.f[out] = ff(f.f[in[0]])
			case a:
				f.i[out] = fi(f.f[in[0]])
			case b:
				f.f[out] = xf(f.i[in[0]])
			default:
				f.i[out] = ii(f.i[in[0]])
			}
		})
	}
	i, x := v.i, v.x
	switch {
	case a && b:
		return floatValue(t, func(f *frame) float64 { return ff(x(f)) })
	case a:
		return intValue(t, func(f *frame) int64 { return fi(x(f)) })
	case b:
		return floatValue(t, func(f *frame) float64 { return xf(i(f)) })
	}
	return intValue(t, func(f *frame) int64 { return ii(i(f)) })
}

func castInt(t tir.Type) func(int64) int64 { return wrapper(t) }

func castFloatToInt(t tir.Type) func(float64) int64 {
	if tir.IsBool(t) {
		return func(x float64) int64 { return b2i(x != 0) }
	}
	return func(x float64) int64 { return floatToInt(t, x) }
}
