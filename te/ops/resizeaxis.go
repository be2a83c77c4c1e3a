package ops

import (
	"errors"
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
	size, out int64    // 0 of an open axis
	from, to  tir.Expr // size and out
	scale     float64  // 0: out/size
	a, b, c   tir.Expr
	t         tir.Type // of a·i + b
	kept      bool     // the axis stays as it is

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
	v.t = tir.Int64
	if largest(c).BitLen() < 31 {
		v.t = tir.Int32
	}
	of := func(n int64) tir.Expr { return tir.IntConst(v.t, n) }
	v.a, v.b, v.c, v.from, v.to = of(whole(a)), of(whole(b)), of(c.Int64()), of(v.size), of(v.out)
	v.kept = whole(a) == c.Int64() && whole(b) == 0 && v.out == v.size
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

// placeOpen computes where elements are, if a size is no constant.
func (v *resizeAxis) placeOpen(a *ResizeAttrs, from, to tir.Expr) error {
	wide := func(e tir.Expr) tir.Expr { return tir.NewCast(tir.Int64, e) }
	of := func(n int64) tir.Expr { return tir.I64(n) }
	v.size, v.out, v.t, v.from, v.to, v.shrink = 0, 0, tir.Int64, wide(from), wide(to), 1
	p, q := v.to, v.from // the scale, p/q
	if v.scale != 0 {
		f := fractionOf(v.scale)
		if !f.Num().IsInt64() || !f.Denom().IsInt64() || f.Num().Int64() < 1 ||
			max(f.Num().Int64(), f.Denom().Int64()) > 1024 {
			return fmt.Errorf("scale %v: want a fraction of numbers from 1 to 1024, or constant sizes", v.scale)
		}
		p, q, v.shrink = of(f.Num().Int64()), of(f.Denom().Int64()), min(v.scale, 1)
	} else if a.Antialias && a.Mode != "nearest" {
		return errors.New("antialiasing needs a constant scale, or constant sizes")
	}
	length := tir.Mul(v.from, p) // of the result before it was rounded, in parts of 1/q
	single := tir.EQ(length, q)
	switch a.Coordinates {
	case "asymmetric":
		v.a, v.b, v.c = q, of(0), p
	case "align_corners": // (size - 1)/(length/q - 1)
		v.a = tir.NewSelect(single, of(0), tir.Mul(plus(v.from, -1), q))
		v.b, v.c = of(0), tir.Max(tir.Sub(length, q), of(1))
		v.a = tir.NewSelect(tir.LT(length, q), of(0), v.a)
	case "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric":
		v.a, v.b, v.c = tir.Mul(q, of(2)), tir.Sub(q, p), tir.Mul(p, of(2))
		if a.Coordinates == "pytorch_half_pixel" {
			v.a, v.b = tir.NewSelect(single, of(0), v.a), tir.NewSelect(single, tir.Sub(of(0), p), v.b)
		}
		if a.Coordinates == "half_pixel_symmetric" && v.scale != 0 {
			return errors.New("half_pixel_symmetric with a scale needs constant sizes")
		}
	default:
		return fmt.Errorf("%s needs constant sizes", a.Coordinates)
	}
	v.a, v.b, v.c = simplified(v.a), simplified(v.b), simplified(tir.Max(v.c, of(1)))
	return nil
}

// same reports whether the axis stays as it is.
func (v *resizeAxis) same() bool { return v.kept }

// position returns a·i + b.
func (v *resizeAxis) position(i tir.Expr) tir.Expr {
	i = tir.NewCast(v.t, i)
	return simplified(tir.Add(tir.Mul(i, v.a), v.b))
}

// nearest returns the index of the nearest element, which may be outside of x.
func (v *resizeAxis) nearest(how string, i tir.Expr) tir.Expr {
	p, two := v.position(i), tir.IntConst(v.t, 2)
	switch how {
	case "floor":
		return simplified(tir.FloorDiv(p, v.c))
	case "ceil":
		return simplified(tir.FloorDiv(tir.Add(p, plus(v.c, -1)), v.c))
	case "round_prefer_ceil":
		return simplified(tir.FloorDiv(tir.Add(tir.Mul(p, two), v.c), tir.Mul(v.c, two)))
	}
	return simplified(tir.FloorDiv(tir.Add(tir.Mul(p, two), plus(v.c, -1)), tir.Mul(v.c, two)))
}

// split returns the index of the element at or before the position, which may be outside of x, and the distance from
// it, of 0 to 1.
func (v *resizeAxis) split(i tir.Expr, t tir.Type) (first, distance tir.Expr) {
	p := v.position(i)
	rest := tir.NewCast(t, simplified(tir.FloorMod(p, v.c)))
	if c, ok := tir.IntValue(v.c); ok {
		return simplified(tir.FloorDiv(p, v.c)), tir.Mul(rest, tir.Const(t, 1/float64(c)))
	}
	return simplified(tir.FloorDiv(p, v.c)), tir.Div(rest, tir.NewCast(t, v.c))
}

// index limits an index to x, and converts it to the type of the shape's indices.
func (v *resizeAxis) index(shape []tir.Expr, at tir.Expr) tir.Expr {
	return castIndex(shape[v.axis], simplified(clampIndex(at, v.from)))
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
			inside := tir.And(tir.GE(at, like(at, 0)), tir.LT(at, v.from))
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
