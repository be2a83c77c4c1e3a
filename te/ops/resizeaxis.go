package ops

import (
	"fmt"
	"math"
	"math/big"

	"tvmgo/te"
	"tvmgo/tir"
)

// resizeAxis is an axis that Resize changes. Element i of the result is at position (a·i + b)/c of x, where a, b and c
// are integers.
type resizeAxis struct {
	axis      int
	size, out int64
	scale     float64 // 0: out/size
	a, b, c   int64
	t         tir.Type // the type of a·i + b

	taps   int     // the elements of x for one of the result
	wide   bool    // the kernel is stretched by 1/shrink
	shrink float64 // the scale, if it is less than 1
}

// place computes where elements are.
func (v *resizeAxis) place(coordinates string, region [2]float64) error {
	rat, half := func(n int64) *big.Rat { return big.NewRat(n, 1) }, big.NewRat(1, 2)
	size, one := rat(v.size), rat(1)
	scale := new(big.Rat)
	if v.scale > 0 {
		scale = fractionOf(v.scale)
	} else if scale.Quo(rat(v.out), size); v.out == 0 {
		scale.Set(one)
	}
	mul := func(p, q *big.Rat) *big.Rat { return new(big.Rat).Mul(p, q) }
	sub := func(p, q *big.Rat) *big.Rat { return new(big.Rat).Sub(p, q) }
	quo := func(p, q *big.Rat) *big.Rat { return new(big.Rat).Quo(p, q) }
	length := mul(scale, size) // of the result, before it was rounded
	single := length.Cmp(one) == 0
	a, b := quo(one, scale), new(big.Rat)
	switch coordinates {
	case "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel":
		b = sub(mul(half, a), half)
		switch {
		case coordinates == "half_pixel_symmetric":
			b.Add(b, mul(mul(half, size), sub(one, quo(rat(v.out), length))))
		case coordinates == "pytorch_half_pixel" && single:
			a, b = rat(0), new(big.Rat).Neg(half)
		}
	case "align_corners":
		if a = rat(0); !single {
			a = quo(sub(size, one), sub(length, one))
		}
	case "tf_crop_and_resize":
		for _, r := range region {
			if !(math.Abs(r) <= 1e6) {
				return fmt.Errorf("the region is %v to %v: want small numbers", region[0], region[1])
			}
		}
		begin, extent := fractionOf(region[0]), sub(size, one)
		width := sub(fractionOf(region[1]), begin)
		b = mul(begin, extent)
		if single {
			a = rat(0)
			b.Add(b, mul(mul(width, extent), half))
		} else {
			a = quo(mul(width, extent), sub(length, one))
		}
	}
	v.shrink = 1
	if f, _ := scale.Float64(); f < 1 {
		v.shrink = f
	}
	return v.integers(a, b)
}

// integers sets a, b and c such that numbers stay far from the limits of int64, and in int32 if they are small.
func (v *resizeAxis) integers(a, b *big.Rat) error {
	gcd := new(big.Int).GCD(nil, nil, a.Denom(), b.Denom())
	c := new(big.Int).Mul(new(big.Int).Quo(a.Denom(), gcd), b.Denom())
	largest := func(c *big.Int) *big.Int { // beyond all numbers of the computation
		top := new(big.Rat).Mul(a, big.NewRat(v.out+1, 1))
		top.Add(top.Abs(top), new(big.Rat).Abs(b))
		top.Add(top, big.NewRat(v.size+4, 1))
		top.Mul(top, new(big.Rat).SetInt(c))
		n := new(big.Int).Quo(top.Num(), top.Denom())
		return n.Mul(n, big.NewInt(4))
	}
	if largest(c).BitLen() > 62 { // rounded to a power of two
		c.SetInt64(1 << 40)
		for c.Sign() > 0 && largest(c).BitLen() > 62 {
			c.Rsh(c, 1)
		}
	}
	if c.Sign() == 0 {
		return fmt.Errorf("positions do not fit into 64 bits")
	}
	whole := func(r *big.Rat) int64 {
		n := new(big.Rat).Mul(r, new(big.Rat).SetInt(c))
		n.Add(n, big.NewRat(1, 2)) // to nearest
		q, _ := new(big.Int).DivMod(n.Num(), n.Denom(), new(big.Int))
		return q.Int64()
	}
	v.a, v.b, v.c, v.t = whole(a), whole(b), c.Int64(), tir.Int64
	if largest(c).BitLen() < 31 {
		v.t = tir.Int32
	}
	return nil
}

// fractionOf returns the simplest fraction that a float64 may have been rounded from.
func fractionOf(f float64) *big.Rat {
	exact := new(big.Rat)
	if exact.SetFloat64(f) == nil {
		return exact
	}
	// continued fraction: p/q, and the convergent before it
	p0, q0, p1, q1 := big.NewInt(0), big.NewInt(1), big.NewInt(1), big.NewInt(0)
	rest := new(big.Rat).Set(exact)
	for range 64 {
		whole := new(big.Int).Div(rest.Num(), rest.Denom())
		p0, p1 = p1, new(big.Int).Add(new(big.Int).Mul(whole, p1), p0)
		q0, q1 = q1, new(big.Int).Add(new(big.Int).Mul(whole, q1), q0)
		found := new(big.Rat).SetFrac(p1, q1)
		if v, _ := found.Float64(); v == f {
			return found
		}
		rest.Sub(rest, new(big.Rat).SetInt(whole))
		rest.Inv(rest)
	}
	return exact
}

// measure sets the number of elements that a result depends on.
func (v *resizeAxis) measure(a *ResizeAttrs) {
	radius := map[string]float64{"linear": 1, "cubic": 2}[a.Mode]
	v.taps = max(1, 2*int(radius))
	if v.wide = a.Antialias && radius > 0 && v.shrink < 1; v.wide {
		v.taps = 2 - 2*int(math.Floor(-radius/v.shrink)+1)
	}
}

// same reports whether the axis stays as it is.
func (v *resizeAxis) same() bool { return v.a == v.c && v.b == 0 && v.out == v.size }

// position returns a·i + b.
func (v *resizeAxis) position(i tir.Expr) tir.Expr {
	i = tir.NewCast(v.t, i)
	return simplified(tir.Add(tir.Mul(i, tir.IntConst(v.t, v.a)), tir.IntConst(v.t, v.b)))
}

// nearest returns the index of the nearest element, which may be outside of x.
func (v *resizeAxis) nearest(how string, i tir.Expr) tir.Expr {
	p, c := v.position(i), func(n int64) tir.Expr { return tir.IntConst(v.t, n) }
	switch how {
	case "floor":
		return simplified(tir.FloorDiv(p, c(v.c)))
	case "ceil":
		return simplified(tir.FloorDiv(tir.Add(p, c(v.c-1)), c(v.c)))
	case "round_prefer_ceil":
		return simplified(tir.FloorDiv(tir.Add(tir.Mul(p, c(2)), c(v.c)), c(2*v.c)))
	}
	return simplified(tir.FloorDiv(tir.Add(tir.Mul(p, c(2)), c(v.c-1)), c(2*v.c)))
}

// split returns the index of the element at or before the position, which may be outside of x, and the distance from
// it, of 0 to 1.
func (v *resizeAxis) split(i tir.Expr, t tir.Type) (first, distance tir.Expr) {
	p := v.position(i)
	c := tir.IntConst(v.t, v.c)
	rest := tir.NewCast(t, simplified(tir.FloorMod(p, c)))
	return simplified(tir.FloorDiv(p, c)), tir.Mul(rest, tir.Const(t, 1/float64(v.c)))
}

// index limits an index to x, and converts it to the type of the shape's indices.
func (v *resizeAxis) index(shape []tir.Expr, at tir.Expr) tir.Expr {
	return castIndex(shape[v.axis], simplified(clampIndex(at, tir.IntConst(v.t, v.size))))
}

// convolved resizes the axis by weights whose sum is not 1: they are computed, and added up, before.
func (v *resizeAxis) convolved(a *ResizeAttrs, x *te.Tensor, name string, shape []tir.Expr, work tir.Type) *te.Tensor {
	n := shape[v.axis]
	first := func(i, k tir.Expr) (at, f tir.Expr) {
		at, f = v.split(i, work)
		return plus(tir.Add(at, tir.NewCast(v.t, k)), 1-v.taps/2), f
	}
	weights := te.Compute([]tir.Expr{n, like(n, v.taps)}, name+".weights", func(i ...tir.Expr) tir.Expr {
		at, f := first(i[0], i[1])
		distance := tir.Sub(tir.NewCast(work, plus(i[1], 1-v.taps/2)), f)
		distance = tir.Intrin("fabs", tir.Mul(distance, tir.Const(work, v.stretch())))
		one, none := tir.Const(work, 1), tir.Const(work, 0)
		w := tir.Max(none, tir.Sub(one, distance))
		if a.Mode == "cubic" {
			w = tir.NewSelect(tir.LE(distance, one), cubicNear(distance, a.Cubic), tir.NewSelect(tir.LT(distance,
				tir.Const(work, 2)), cubicFar(distance, a.Cubic), none))
		}
		if a.ExcludeOutside {
			inside := tir.And(tir.GE(at, like(at, 0)), tir.LT(at, tir.IntConst(v.t, v.size)))
			w = tir.NewSelect(inside, w, none)
		}
		return w
	})
	all := reduceAxis(like(n, v.taps), "tap")
	total := te.Compute([]tir.Expr{n}, name+".total", func(i ...tir.Expr) tir.Expr {
		return te.Sum(weights.At(i[0], all.Var), all)
	})
	k := reduceAxis(like(n, v.taps), "tap")
	sum := te.Compute(shape, name+".sum", func(i ...tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		position, _ := first(i[v.axis], k.Var)
		at[v.axis] = v.index(shape, position)
		return te.Sum(tir.Mul(weights.At(i[v.axis], k.Var), tir.NewCast(work, x.At(at...))), k)
	})
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		t := total.At(i[v.axis])
		return tir.NewSelect(tir.EQ(t, tir.Const(work, 0)), t, tir.Div(sum.At(i...), t))
	})
}

// stretch is the factor of distances in the kernel.
func (v *resizeAxis) stretch() float64 {
	if v.wide {
		return v.shrink
	}
	return 1
}
