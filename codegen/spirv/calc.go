package spirv

import (
	"math"

	spv "tvmgo/internal/spirv"
)

// calc writes the arithmetic of a function of floats, which the driver may neither contract nor reorder: the algorithms
// depend on the rounding of each operation. The methods return the results of instructions.
type calc struct {
	*writer
	format
	s    scalar
	t, u id // the types of floats and of integers of as many bits
}

func (w *writer) calcOf(s scalar) *calc {
	c := &calc{writer: w, format: w.formatOf(s), s: s}
	c.t, c.u = w.typeOf(c.s), w.typeOf(c.word)
	return c
}

// exact computes without contraction.
func (c *calc) exact(op uint16, a, b id) id {
	x := c.op(op, c.t, a, b)
	if !c.named[x|exactBit] {
		c.named[x|exactBit] = true
		c.m.decorate(x, spv.DecorationNoContraction)
	}
	return x
}

// exactBit marks ids in writer.named that have the decoration NoContraction. A module has fewer ids.
const exactBit = 1 << 31

func (c *calc) k(v float64) id {
	if c.s.bits == 64 {
		return c.m.f64(v)
	}
	return c.m.f32(float32(v))
}
func (c *calc) n(v int64) id       { return c.m.int(c.word.bits, v) }
func (c *calc) add(a, b id) id     { return c.exact(spv.OpFAdd, a, b) }
func (c *calc) sub(a, b id) id     { return c.exact(spv.OpFSub, a, b) }
func (c *calc) mul(a, b id) id     { return c.exact(spv.OpFMul, a, b) }
func (c *calc) div(a, b id) id     { return c.exact(spv.OpFDiv, a, b) }
func (c *calc) neg(a id) id        { return c.op(spv.OpFNegate, c.t, a) }
func (c *calc) abs(a id) id        { return c.extended(c.t, spv.GLSLFAbs, a) }
func (c *calc) sqrt(a id) id       { return c.extended(c.t, spv.GLSLSqrt, a) }
func (c *calc) floor(a id) id      { return c.extended(c.t, spv.GLSLFloor, a) }
func (c *calc) near(a id) id       { return c.extended(c.t, spv.GLSLRoundEven, a) }
func (c *calc) lt(a, b id) id      { return c.compare(spv.OpFOrdLessThan, a, b) }
func (c *calc) ge(a, b id) id      { return c.compare(spv.OpFOrdGreaterThanEqual, a, b) }
func (c *calc) eq(a, b id) id      { return c.compare(spv.OpFOrdEqual, a, b) }
func (c *calc) and(a, b id) id     { return c.op(spv.OpLogicalAnd, c.m.boolean(), a, b) }
func (c *calc) or(a, b id) id      { return c.op(spv.OpLogicalOr, c.m.boolean(), a, b) }
func (c *calc) not(a id) id        { return c.op(spv.OpLogicalNot, c.m.boolean(), a) }
func (c *calc) same(a, b id) id    { return c.op(spv.OpLogicalEqual, c.m.boolean(), a, b) }
func (c *calc) pick(q, a, b id) id { return c.op(spv.OpSelect, c.t, q, a, b) }
func (c *calc) isNaN(a id) id      { return c.classify("isnan", c.s, a) }
func (c *calc) isInf(a id) id      { return c.classify("isinf", c.s, a) }
func (c *calc) inf() id            { return c.float(c.format, c.n(exponentMask(c.format))) }
func (c *calc) nan() id {
	return c.float(c.format, c.n(exponentMask(c.format)|1<<(c.fraction-1)))
}

// int is an operation on integers of as many bits as floats have.
func (c *calc) int(op uint16, a, b id) id { return c.op(op, c.u, a, b) }

// either evaluates one of two values.
func (c *calc) either(cond id, then, other func() id) id {
	return c.selection(cond, []id{c.t}, func() values { return values{then()} },
		func() values { return values{other()} })[0]
}

// poly is a polynomial with its coefficients, the constant one first.
func (c *calc) poly(x id, coefficients ...float64) id {
	sum := c.k(coefficients[len(coefficients)-1])
	for i := len(coefficients) - 2; i >= 0; i-- {
		sum = c.add(c.mul(sum, x), c.k(coefficients[i]))
	}
	return sum
}

// series returns a number of coefficients of a power series, fewer for float32.
func (c *calc) series(terms32, terms64 int, of func(n int) float64) []float64 {
	terms := terms32
	if c.s.bits == 64 {
		terms = terms64
	}
	list := make([]float64, terms)
	for n := range list {
		list[n] = of(n)
	}
	return list
}

// parts splits a constant into numbers of a few bits, whose products with small integers are exact, and a rest.
func (c *calc) parts(v float64, rest float64, bits int, n int) []id {
	var list []id
	for range n {
		e := math.Ilogb(v)
		head := math.Ldexp(math.Trunc(math.Ldexp(v, bits-1-e)), e-bits+1)
		list = append(list, c.k(head))
		if v -= head; math.Abs(v) < math.Abs(rest)*1e6 {
			v, rest = v+rest, 0
		}
	}
	return append(list, c.k(v+rest))
}

// twoSum returns a sum and its rounding error.
func (c *calc) twoSum(a, b id) (sum, err id) {
	sum = c.add(a, b)
	other := c.sub(sum, a)
	return sum, c.add(c.sub(a, c.sub(sum, other)), c.sub(b, other))
}

// halved splits a float into two of half as many bits.
func (c *calc) halved(a id) (high, low id) {
	bits := (c.fraction + 2) / 2
	t := c.mul(a, c.k(math.Ldexp(1, bits)+1))
	high = c.sub(t, c.sub(t, a))
	return high, c.sub(a, high)
}

// twoProduct returns a product and its rounding error.
func (c *calc) twoProduct(a, b id) (product, err id) {
	product = c.mul(a, b)
	ah, al := c.halved(a)
	bh, bl := c.halved(b)
	err = c.sub(c.mul(ah, bh), product)
	err = c.add(err, c.mul(ah, bl))
	err = c.add(err, c.mul(al, bh))
	return product, c.add(err, c.mul(al, bl))
}

// toInt converts a float that is an integer of few bits.
func (c *calc) toInt(a id) id { return c.op(spv.OpConvertFToS, c.u, a) }

// toFloat converts a small integer.
func (c *calc) toFloat(a id) id { return c.op(spv.OpConvertSToF, c.t, a) }

// power is 2^n for an integer within the exponents of floats that are not subnormal.
func (c *calc) power(n id) id {
	bias := int64(1)<<(c.word.bits-2-c.fraction) - 1
	return c.float(c.format, c.int(spv.OpShiftLeftLogical, c.int(spv.OpIAdd, n, c.n(bias)), c.n(int64(c.fraction))))
}

// scale is x · 2^n, by two factors, so that each is in the range of floats.
func (c *calc) scale(x, n id) id {
	half := c.int(spv.OpShiftRightArithmetic, n, c.n(1))
	return c.mul(c.mul(x, c.power(half)), c.power(c.int(spv.OpISub, n, half)))
}
