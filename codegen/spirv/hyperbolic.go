package spirv

import "math"

func (c *calc) sinh(x id) id {
	size := c.abs(x)
	large := c.lt(c.k(c.widths(20, 40)), size)
	r := c.either(large, func() id { return c.exp(size, -1) }, func() id {
		t := c.expm1(size)
		return c.mul(c.k(0.5), c.add(t, c.div(t, c.add(t, c.k(1)))))
	})
	return c.pick(c.isNaN(x), x, c.copysign(c.s, r, x))
}

func (c *calc) cosh(x id) id {
	half := c.exp(c.abs(x), -1)
	return c.add(half, c.div(c.k(0.25), half))
}

func (c *calc) tanh(x id) id {
	size := c.clamped(c.abs(x), 0, c.widths(20, 40))
	t := c.expm1(c.add(size, size))
	r := c.copysign(c.s, c.div(t, c.add(t, c.k(2))), x)
	return c.pick(c.isNaN(x), x, r)
}

func (c *calc) asinh(x id) id {
	size := c.abs(x)
	large := c.lt(c.k(c.widths(1<<14, 1<<28)), size)
	square := c.mul(size, size)
	near := c.add(size, c.div(square, c.add(c.k(1), c.sqrt(c.add(square, c.k(1))))))
	r := c.either(large, func() id { return c.add(c.log(size), c.k(math.Ln2)) }, func() id { return c.log1p(near) })
	return c.pick(c.isNaN(x), x, c.copysign(c.s, r, x))
}

func (c *calc) acosh(x id) id {
	large := c.lt(c.k(c.widths(1<<14, 1<<28)), x)
	t := c.sub(x, c.k(1))
	near := c.add(t, c.sqrt(c.add(c.add(t, t), c.mul(t, t))))
	r := c.either(large, func() id { return c.add(c.log(x), c.k(math.Ln2)) }, func() id { return c.log1p(near) })
	return c.pick(c.lt(x, c.k(1)), c.nan(), r)
}

func (c *calc) atanh(x id) id {
	size := c.abs(x)
	r := c.mul(c.k(0.5), c.log1p(c.div(c.add(size, size), c.sub(c.k(1), size))))
	r = c.pick(c.eq(size, c.k(1)), c.inf(), r)
	r = c.pick(c.lt(c.k(1), size), c.nan(), c.copysign(c.s, r, x))
	return c.pick(c.isNaN(x), x, r)
}

// erf is its power series up to 2, and 1 less a continued fraction from there on.
func (c *calc) erf(x id) id {
	size := c.abs(x)
	z := c.mul(size, size)
	r := c.either(c.lt(size, c.k(2)), func() id {
		coefficient := func(n int) float64 {
			f := 2 / math.Sqrt(math.Pi) / float64(2*n+1)
			for i := 1; i <= n; i++ {
				f /= -float64(i)
			}
			return f
		}
		return c.mul(size, c.poly(z, c.series(19, 32, coefficient)...))
	}, func() id {
		levels := int(c.widths(14, 60))
		fraction := size
		for k := levels; k > 0; k-- {
			fraction = c.add(size, c.div(c.k(float64(k)/2), fraction))
		}
		tail := c.div(c.exp(c.neg(z), 0), c.mul(fraction, c.k(math.Sqrt(math.Pi))))
		return c.sub(c.k(1), tail)
	})
	r = c.pick(c.lt(c.k(7), size), c.k(1), r)
	return c.pick(c.isNaN(x), x, c.copysign(c.s, r, x))
}

// hypot is the root of a sum of squares that may be beyond the range of floats.
func (c *calc) hypot(x, y id) id {
	a, b := c.abs(x), c.abs(y)
	least, most := c.pick(c.lt(a, b), a, b), c.pick(c.lt(a, b), b, a)
	ratio := c.div(least, most)
	r := c.mul(most, c.sqrt(c.add(c.k(1), c.mul(ratio, ratio))))
	r = c.pick(c.eq(most, c.k(0)), c.k(0), r)
	r = c.pick(c.or(c.isNaN(x), c.isNaN(y)), c.nan(), r)
	return c.pick(c.or(c.isInf(x), c.isInf(y)), c.inf(), r)
}

// functions are the intrinsics of one or two floats that this package computes itself: the precision of those of
// GLSL.std.450 is that of graphics.
var functions = map[string]func(c *calc, x values) id{
	"exp":     func(c *calc, x values) id { return c.exp(x[0], 0) },
	"exp2":    func(c *calc, x values) id { return c.exp2(x[0]) },
	"exp10":   func(c *calc, x values) id { return c.exp10(x[0]) },
	"log":     func(c *calc, x values) id { return c.log(x[0]) },
	"log2":    func(c *calc, x values) id { return c.log2(x[0]) },
	"log10":   func(c *calc, x values) id { return c.log10(x[0]) },
	"log1p":   func(c *calc, x values) id { return c.log1p(x[0]) },
	"sin":     func(c *calc, x values) id { return c.sin(x[0]) },
	"cos":     func(c *calc, x values) id { return c.cos(x[0]) },
	"tan":     func(c *calc, x values) id { return c.tan(x[0]) },
	"asin":    func(c *calc, x values) id { return c.asin(x[0]) },
	"acos":    func(c *calc, x values) id { return c.acos(x[0]) },
	"atan":    func(c *calc, x values) id { return c.atan(x[0]) },
	"sinh":    func(c *calc, x values) id { return c.sinh(x[0]) },
	"cosh":    func(c *calc, x values) id { return c.cosh(x[0]) },
	"tanh":    func(c *calc, x values) id { return c.tanh(x[0]) },
	"asinh":   func(c *calc, x values) id { return c.asinh(x[0]) },
	"acosh":   func(c *calc, x values) id { return c.acosh(x[0]) },
	"atanh":   func(c *calc, x values) id { return c.atanh(x[0]) },
	"erf":     func(c *calc, x values) id { return c.erf(x[0]) },
	"pow":     func(c *calc, x values) id { return c.pow(x[0], x[1]) },
	"atan2":   func(c *calc, x values) id { return c.atan2(x[0], x[1]) },
	"hypot":   func(c *calc, x values) id { return c.hypot(x[0], x[1]) },
	"sigmoid": func(c *calc, x values) id { return c.div(c.k(1), c.add(c.k(1), c.exp(c.neg(x[0]), 0))) },
}
