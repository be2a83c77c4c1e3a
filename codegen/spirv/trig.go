package spirv

import (
	"math"

	spv "tvmgo/internal/spirv"
)

// lowPi is what float64 lacks of half of pi.
const lowPi = 6.123233995736766036e-17

// quadrant returns r and q for which x = q · pi/2 + r, with |r| at most pi/4; q is an integer, of which the lowest two
// bits count.
func (c *calc) quadrant(x id) (r, q id) {
	size := c.abs(x)
	bits := int(c.widths(11, 22)) // of each part of pi/2; n has as many as remain
	n := c.near(c.mul(x, c.k(2/math.Pi)))
	r = x
	for _, part := range c.parts(math.Pi/2, lowPi, bits, 3) {
		r = c.sub(r, c.mul(n, part))
	}
	q = c.toInt(c.clamped(n, -1<<30, 1<<30))
	if c.s.bits == 64 {
		return r, q
	}
	large := c.lt(c.k(math.Ldexp(1, 24-bits)), size)
	out := c.selection(large, []id{c.t, c.u}, func() values {
		r, q := c.quadrantOfLarge(x)
		return values{r, q}
	}, func() values { return values{r, q} })
	return out[0], out[1]
}

// turns are the bits of 1/(2 pi), in words: the first before the point, the others after it.
var turns = [...]int64{0, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410}

// quadrantOfLarge is quadrant for any float32 from 1 on: it multiplies the significand by those bits of 1/(2 pi) that
// decide about the quadrant and the digits after it.
func (c *calc) quadrantOfLarge(x id) (r, q id) {
	u := c.u
	op := func(op uint16, a, b id) id { return c.op(op, u, a, b) }
	bits := c.bits(c.format, x)
	// x = m · 2^(e-32), with m in [2^31, 2^32)
	m := op(spv.OpBitwiseOr, op(spv.OpShiftLeftLogical, bits, c.n(8)), c.n(math.MinInt32))
	e := op(spv.OpISub, op(spv.OpBitwiseAnd, op(spv.OpShiftRightLogical, bits, c.n(23)), c.n(0xff)), c.n(126))
	first, by := op(spv.OpShiftRightLogical, e, c.n(5)), op(spv.OpBitwiseAnd, e, c.n(31))
	word := func(k int) id { // word first+k of the table
		w := c.n(0)
		for i := len(turns) - 1; i >= k; i-- {
			w = c.op(spv.OpSelect, u, c.compare(spv.OpIEqual, first, c.n(int64(i-k))), c.n(int64(int32(turns[i]))), w)
		}
		return w
	}
	some := c.compare(spv.OpINotEqual, by, c.n(0))
	joined := func(high, low id) id {
		carried := op(spv.OpShiftRightLogical, low, op(spv.OpBitwiseAnd, op(spv.OpISub, c.n(32), by), c.n(31)))
		return op(spv.OpBitwiseOr, op(spv.OpShiftLeftLogical, high, by), c.op(spv.OpSelect, u, some, carried, c.n(0)))
	}
	w0, w1, w2, w3 := word(0), word(1), word(2), word(3)
	high, middle, low := joined(w0, w1), joined(w1, w2), joined(w2, w3)
	// the product modulo 2^64, in units of 2^-62 quadrants
	product := func(a, b id) (lower, upper id) {
		pair := c.m.declare(spv.OpTypeStruct, u, u)
		p := c.op(spv.OpUMulExtended, pair, a, b)
		return c.op(spv.OpCompositeExtract, u, p, 0), c.op(spv.OpCompositeExtract, u, p, 1)
	}
	_, carry := product(m, low)
	pl, ph := product(m, middle)
	pl2 := op(spv.OpIAdd, pl, carry)
	over := c.op(spv.OpSelect, u, c.compare(spv.OpULessThan, pl2, pl), c.n(1), c.n(0))
	ph = op(spv.OpIAdd, op(spv.OpIAdd, ph, over), op(spv.OpIMul, m, high))
	q = op(spv.OpShiftRightLogical, op(spv.OpIAdd, ph, c.n(1<<29)), c.n(30))
	ph = op(spv.OpISub, ph, op(spv.OpShiftLeftLogical, q, c.n(30)))
	negative := c.compare(spv.OpSLessThan, ph, c.n(0))
	// its magnitude
	flippedLow := op(spv.OpISub, c.n(0), pl2)
	borrow := c.op(spv.OpSelect, u, c.compare(spv.OpIEqual, pl2, c.n(0)), c.n(0), c.n(1))
	flippedHigh := op(spv.OpISub, op(spv.OpISub, c.n(0), ph), borrow)
	pl2, ph = c.op(spv.OpSelect, u, negative, flippedLow, pl2), c.op(spv.OpSelect, u, negative, flippedHigh, ph)
	f := func(x id) id { return c.op(spv.OpConvertUToF, c.t, x) }
	part := c.add(c.mul(f(ph), c.k(math.Ldexp(1, -30))), c.mul(f(pl2), c.k(math.Ldexp(1, -62))))
	r = c.mul(part, c.k(math.Pi/2))
	minus := c.compare(spv.OpSLessThan, bits, c.n(0))
	flip := c.op(spv.OpLogicalNotEqual, c.m.boolean(), negative, minus)
	r = c.pick(flip, c.neg(r), r)
	q = c.op(spv.OpSelect, u, minus, op(spv.OpISub, c.n(0), q), q)
	return r, q
}

// sinCos returns the sine and the cosine of |r| at most pi/4.
func (c *calc) sinCos(r id) (sin, cos id) {
	z := c.mul(r, r)
	inverse := func(first, n int) float64 { // ±1/(first + 2n)!
		f := 1.0
		for i := 2; i <= first+2*n; i++ {
			f *= float64(i)
		}
		if n%2 == 0 {
			f = -f
		}
		return 1 / f
	}
	sin = c.add(r, c.mul(c.mul(r, z), c.poly(z, c.series(4, 8, func(n int) float64 { return inverse(3, n) })...)))
	tail := c.mul(c.mul(z, z), c.poly(z, c.series(4, 8, func(n int) float64 { return -inverse(4, n) })...))
	// 1 - z/2 with its rounding error
	half := c.mul(c.k(0.5), z)
	w := c.sub(c.k(1), half)
	lost := c.sub(c.sub(c.k(1), w), half)
	return sin, c.add(w, c.add(lost, tail))
}

// bit reports whether a bit is set.
func (c *calc) bit(q id, bit int64) id {
	return c.compare(spv.OpINotEqual, c.int(spv.OpBitwiseAnd, q, c.n(bit)), c.n(0))
}

func (c *calc) sin(x id) id {
	r, q := c.quadrant(x)
	s, co := c.sinCos(r)
	v := c.pick(c.bit(q, 1), co, s)
	v = c.pick(c.bit(q, 2), c.neg(v), v)
	return c.pick(c.classify("isfinite", c.s, x), v, c.nan())
}

func (c *calc) cos(x id) id {
	r, q := c.quadrant(x)
	s, co := c.sinCos(r)
	v := c.pick(c.bit(q, 1), s, co)
	v = c.pick(c.bit(c.int(spv.OpIAdd, q, c.n(1)), 2), c.neg(v), v)
	return c.pick(c.classify("isfinite", c.s, x), v, c.nan())
}

func (c *calc) tan(x id) id {
	r, q := c.quadrant(x)
	s, co := c.sinCos(r)
	v := c.pick(c.bit(q, 1), c.neg(c.div(co, s)), c.div(s, co))
	return c.pick(c.classify("isfinite", c.s, x), v, c.nan())
}

// smallAtan is the arc tangent of a number from 0 to 1.
func (c *calc) smallAtan(x id) id {
	middle := c.lt(c.k(math.Sqrt2-1), x)
	x = c.pick(middle, c.div(c.sub(x, c.k(1)), c.add(x, c.k(1))), x)
	z := c.mul(x, x)
	odd := func(n int) float64 {
		if n%2 == 0 {
			return -1 / float64(2*n+3)
		}
		return 1 / float64(2*n+3)
	}
	r := c.add(x, c.mul(c.mul(x, z), c.poly(z, c.series(9, 21, odd)...)))
	return c.pick(middle, c.add(c.k(math.Pi/4), c.add(r, c.k(lowPi/2))), r)
}

func (c *calc) atan(x id) id {
	size := c.abs(x)
	large := c.lt(c.k(1), size)
	r := c.smallAtan(c.pick(large, c.div(c.k(1), size), size))
	r = c.pick(large, c.sub(c.k(math.Pi/2), c.sub(r, c.k(lowPi))), r)
	return c.pick(c.isNaN(x), x, c.copysign(c.s, r, x))
}

func (c *calc) atan2(y, x id) id {
	a, b := c.abs(y), c.abs(x)
	steep := c.lt(b, a)
	least, most := c.pick(steep, b, a), c.pick(steep, a, b)
	ratio := c.div(least, most)
	ratio = c.pick(c.eq(most, c.k(0)), c.k(0), ratio)
	ratio = c.pick(c.and(c.isInf(a), c.isInf(b)), c.k(1), ratio)
	r := c.smallAtan(ratio)
	r = c.pick(steep, c.sub(c.k(math.Pi/2), c.sub(r, c.k(lowPi))), r)
	left := c.compare(spv.OpSLessThan, c.bits(c.format, x), c.n(0))
	r = c.pick(left, c.sub(c.k(math.Pi), c.sub(r, c.k(2*lowPi))), r)
	r = c.copysign(c.s, r, y)
	return c.pick(c.or(c.isNaN(x), c.isNaN(y)), c.nan(), r)
}

// leg is the other side of a right triangle whose longest side is 1.
func (c *calc) leg(x id) id { return c.sqrt(c.mul(c.sub(c.k(1), x), c.add(c.k(1), x))) }

func (c *calc) asin(x id) id {
	r := c.atan2(x, c.leg(x))
	return c.pick(c.lt(c.k(1), c.abs(x)), c.nan(), r)
}

func (c *calc) acos(x id) id {
	r := c.atan2(c.leg(x), x)
	// near 1 the leg has more digits than x
	half := c.mul(c.k(2), c.atan2(c.sqrt(c.sub(c.k(1), x)), c.sqrt(c.add(c.k(1), x))))
	r = c.pick(c.lt(c.k(0.5), x), half, r)
	return c.pick(c.lt(c.k(1), c.abs(x)), c.nan(), r)
}
