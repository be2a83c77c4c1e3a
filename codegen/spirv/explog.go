package spirv

import (
	"math"

	spv "tvmgo/internal/spirv"
)

// lnHigh and lnLow are log 2: the first has so few bits that its products with exponents are exact.
func (c *calc) ln2() (high, low id) {
	bits := c.fraction + 1 - 12
	h := math.Ldexp(math.Trunc(math.Ldexp(math.Ln2, bits)), -bits)
	low64 := math.Ln2 - h + 2.319046813846299558417771e-17 // what float64 lacks of log 2
	return c.k(h), c.k(low64)
}

// clamped limits a value; NaN stays.
func (c *calc) clamped(x id, least, most float64) id {
	x = c.pick(c.lt(x, c.k(least)), c.k(least), x)
	return c.pick(c.lt(c.k(most), x), c.k(most), x)
}

// widths returns the first value for float32, the second for float64.
func (c *calc) widths(narrow, wide float64) float64 {
	if c.s.bits == 64 {
		return wide
	}
	return narrow
}

// reduced returns n and r for which x = n · log 2 + r, with |r| at most half of log 2.
func (c *calc) reduced(x id) (n, r id) {
	n, high, low := c.reducedParts(x)
	return n, c.sub(high, low)
}

// reducedParts is reduced, with r = high - low; low is small.
func (c *calc) reducedParts(x id) (n, high, low id) {
	n = c.near(c.mul(x, c.k(math.Log2E)))
	high, low = c.ln2()
	return n, c.sub(x, c.mul(n, high)), c.mul(n, low)
}

// smallExpm1 is exp(r) - 1 for |r| at most half of log 2.
func (c *calc) smallExpm1(r id) id { return c.add(r, c.expTail(r)) }

// expTail is exp(r) - 1 - r for |r| at most half of log 2.
func (c *calc) expTail(r id) id {
	factorial := func(n int) float64 { // 1/(n+2)!
		f := 1.0
		for i := 2; i <= n+2; i++ {
			f *= float64(i)
		}
		return 1 / f
	}
	return c.mul(c.mul(r, r), c.poly(r, c.series(6, 12, factorial)...))
}

// exp is e^x · 2^extra.
func (c *calc) exp(x id, extra int64) id {
	x = c.clamped(x, c.widths(-105, -746), c.widths(90, 711))
	n, r := c.reduced(x)
	whole := c.toInt(n)
	if extra != 0 {
		whole = c.int(spv.OpIAdd, whole, c.n(extra))
	}
	return c.scale(c.add(c.k(1), c.smallExpm1(r)), whole)
}

// expOf is e^(x+more) for a small part more, rounded almost exactly: a result that is a float is exact.
func (c *calc) expOf(x, more id) id {
	x = c.clamped(x, c.widths(-105, -746), c.widths(90, 711))
	n, high, low := c.reducedParts(x)
	r, lost := c.twoSum(high, c.sub(more, low))
	sum, err := c.twoSum(c.k(1), r)
	return c.scale(c.add(sum, c.add(err, c.add(lost, c.expTail(r)))), c.toInt(n))
}

// exp2 and exp10 are the exponentials of these bases.
func (c *calc) exp2(x id) id {
	x = c.clamped(x, c.widths(-152, -1076), c.widths(129, 1025))
	n := c.near(x)
	return c.scale(c.add(c.k(1), c.smallExpm1(c.mul(c.sub(x, n), c.k(math.Ln2)))), c.toInt(n))
}

func (c *calc) exp10(x id) id {
	x = c.clamped(x, c.widths(-46, -324), c.widths(39, 309))
	n := c.near(c.mul(x, c.k(math.Ln10/math.Ln2)))
	bits := c.fraction + 1 - 12
	log := math.Ln2 / math.Ln10
	high := math.Ldexp(math.Trunc(math.Ldexp(log, bits)), -bits)
	const low64 = -2.8037281277851704e-18 // what float64 lacks of the logarithm of 2 to base 10
	r := c.sub(c.sub(x, c.mul(n, c.k(high))), c.mul(n, c.k(log-high+low64)))
	return c.scale(c.add(c.k(1), c.smallExpm1(c.mul(r, c.k(math.Ln10)))), c.toInt(n))
}

// expm1 is e^x - 1, without loss for small x.
func (c *calc) expm1(x id) id {
	x = c.clamped(x, c.widths(-40, -80), c.widths(88, 709))
	n, r := c.reduced(x)
	p := c.smallExpm1(r)
	power := c.power(c.toInt(n))
	return c.add(c.mul(power, p), c.sub(power, c.k(1)))
}

// split returns the exponent n of a positive number, and m - 1 for its significand m between the root of 1/2 and that
// of 2.
func (c *calc) split(x id) (n, f id) {
	least := math.Ldexp(1, -int(1<<(c.word.bits-2-c.fraction)-2))
	tiny := c.lt(x, c.k(least))
	x = c.pick(tiny, c.mul(x, c.k(math.Ldexp(1, c.fraction+1))), x)
	bits := c.bits(c.format, x)
	// Adding the distance from the root of 1/2 to 1 carries into the exponent.
	one, root := c.k(1), c.k(math.Sqrt2/2)
	distance := c.int(spv.OpISub, c.bits(c.format, one), c.bits(c.format, root))
	bits = c.int(spv.OpIAdd, bits, distance)
	bias := int64(1)<<(c.word.bits-2-c.fraction) - 1
	e := c.int(spv.OpISub, c.int(spv.OpShiftRightLogical, bits, c.n(int64(c.fraction))), c.n(bias))
	e = c.op(spv.OpSelect, c.u, tiny, c.int(spv.OpISub, e, c.n(int64(c.fraction+1))), e)
	m := c.int(spv.OpIAdd, c.int(spv.OpBitwiseAnd, bits, c.n(1<<c.fraction-1)), c.bits(c.format, root))
	return c.toFloat(e), c.sub(c.float(c.format, m), one)
}

// tail is the series of log(1+f) = f - f²/2 + s · (f²/2 + tail), where s = f / (2 + f).
func (c *calc) tail(s id) id {
	z := c.mul(s, s)
	return c.mul(z, c.poly(z, c.series(5, 11, func(n int) float64 { return 2 / float64(2*n+3) })...))
}

// logarithms of positive finite numbers as n · log 2 + log(1+f); the second is returned.
func (c *calc) logParts(x id) (n, log id) {
	n, f := c.split(x)
	s := c.div(f, c.add(c.k(2), f))
	half := c.mul(c.k(0.5), c.mul(f, f))
	return n, c.sub(f, c.sub(half, c.mul(s, c.add(half, c.tail(s)))))
}

// logSpecial returns the logarithm of any number, given that of positive finite ones.
func (c *calc) logSpecial(x, r id) id {
	r = c.pick(c.eq(x, c.inf()), c.inf(), r)
	r = c.pick(c.eq(x, c.k(0)), c.neg(c.inf()), r)
	return c.pick(c.or(c.lt(x, c.k(0)), c.isNaN(x)), c.nan(), r)
}

func (c *calc) log(x id) id {
	n, l := c.logParts(x)
	high, low := c.ln2()
	return c.logSpecial(x, c.add(c.mul(n, high), c.add(l, c.mul(n, low))))
}

func (c *calc) log2(x id) id {
	n, l := c.logParts(x)
	return c.logSpecial(x, c.add(n, c.mul(l, c.k(math.Log2E))))
}

func (c *calc) log10(x id) id {
	n, l := c.logParts(x)
	return c.logSpecial(x, c.add(c.mul(n, c.k(math.Ln2/math.Ln10)), c.mul(l, c.k(math.Log10E))))
}

// log1p is log(1 + x): the rounding of 1 + x is made up for.
func (c *calc) log1p(x id) id {
	one := c.k(1)
	u := c.add(one, x)
	lost := c.div(c.sub(x, c.sub(u, one)), u)
	r := c.add(c.log(u), c.pick(c.lt(c.abs(lost), one), lost, c.k(0)))
	return c.pick(c.eq(x, c.k(0)), x, r) // with its sign
}

// pow is x^y, from a logarithm of twice as many bits. A result that is a float is exact, such as 3^6, because integers
// are converted from it.
func (c *calc) pow(x, y id) id {
	one, zero := c.k(1), c.k(0)
	size := c.abs(x)
	n, f := c.split(size)
	// s = f / (2 + f), with its error
	d := c.add(c.k(2), f)
	lost := c.sub(f, c.sub(d, c.k(2))) // of d
	s := c.div(f, d)
	p, e := c.twoProduct(s, d)
	rest := c.div(c.sub(c.sub(c.sub(f, p), e), c.mul(s, lost)), d)
	// log(1+f) = 2 s + s · tail
	high, low := c.ln2()
	sum, err := c.twoSum(c.mul(n, high), c.add(s, s))
	err = c.add(err, c.add(c.add(rest, rest), c.add(c.mul(s, c.tail(s)), c.mul(n, low))))
	sum, err = c.twoSum(sum, err)
	limit := c.widths(math.Ldexp(1, 34), math.Ldexp(1, 66))
	by := c.clamped(y, -limit, limit)
	product, more := c.twoProduct(by, sum)
	more = c.add(more, c.mul(by, err))
	r := c.expOf(product, c.pick(c.lt(c.abs(product), c.k(c.widths(105, 746))), more, zero))
	// the special cases
	up := c.lt(zero, y)
	extreme := c.pick(up, zero, c.inf())
	r = c.pick(c.eq(size, zero), extreme, r)
	extreme = c.pick(up, c.inf(), zero)
	r = c.pick(c.eq(size, c.inf()), extreme, r)
	grows := c.same(c.lt(one, size), up)
	r = c.pick(c.isInf(y), c.pick(grows, c.inf(), zero), r)
	r = c.pick(c.and(c.isInf(y), c.eq(size, one)), one, r)
	whole := c.eq(c.floor(y), y)
	half := c.mul(y, c.k(0.5))
	odd := c.and(whole, c.not(c.eq(c.floor(half), half)))
	negative := c.compare(spv.OpSLessThan, c.bits(c.format, x), c.n(0))
	r = c.pick(c.and(negative, odd), c.neg(r), r)
	bad := c.and(c.lt(x, zero), c.not(c.or(whole, c.isInf(x))))
	bad = c.or(c.and(bad, c.not(c.isInf(y))), c.or(c.isNaN(x), c.isNaN(y)))
	r = c.pick(bad, c.nan(), r)
	return c.pick(c.or(c.eq(x, one), c.eq(y, zero)), one, r)
}
