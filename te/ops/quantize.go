package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// The types of quantised tensors: few bits of which several may share a byte.
var (
	quantised = class{func(t tir.Type) bool {
		_, known := tir.FormatOf(t)
		return narrowInt(t) || known && t.Bits <= 8
	}, "integers of 2 to 16 bits, or floats of 8 bits or less"}
	dequantisable = class{func(t tir.Type) bool { return quantised.has(t) || t == tir.Int32 },
		quantised.want + ", or int32"}
	real32 = class{func(t tir.Type) bool { return floats.has(t) || t == tir.Int32 }, floats.want + ", or to int32"}
)

func narrowInt(t tir.Type) bool {
	return tir.IsInt(t) && t.Lanes == 1 && (t.Bits == 2 || t.Bits == 4 || t.Bits == 8 || t.Bits == 16)
}

// scaling returns the indices of the scale, and of the zero point, for an element of x.
type scaling func(i []tir.Expr) []tir.Expr

// zero returns the element of a zero point, which may be a single one in another number of dimensions than the scale.
func (at scaling) zero(z *te.Tensor, i []tir.Expr) tir.Expr {
	if shape := z.ProducerShape(); isSingle(shape) {
		return z.At(first(shape)...)
	}
	return z.At(at(i)...)
}

// isSingle reports whether a shape is that of one element, in at most one dimension.
func isSingle(shape []tir.Expr) bool { return len(shape) == 0 || len(shape) == 1 && isOne(shape[0]) }

// scalingOf checks the shapes of a scale and of a zero point, which may be nil, for a tensor: one element for all, one
// for each index of an axis, or, if block is not 0, one for that many adjacent elements along the axis.
func scalingOf(name string, x, scale, zero *te.Tensor, axis, block int) (scaling, *te.Tensor) {
	s, n := x.ProducerShape(), scale.ProducerShape()
	if zero != nil {
		z := zero.ProducerShape()
		same := len(z) == len(n) || isSingle(z) && isSingle(n)
		for d := 0; same && d < min(len(n), len(z)); d++ {
			same = arith.ProveEqual(z[d], n[d])
		}
		if !same {
			return nil, failed(name, "the zero point, tensor %s, has shape %s, and the scale, tensor %s, has %s: want equal "+
				"shapes", zero.ProducerName(), shapeText(z), scale.ProducerName(), shapeText(n))
		}
	}
	if len(n) == 0 || len(n) == 1 && isOne(n[0]) && block == 0 {
		return func([]tir.Expr) []tir.Expr { return first(n) }, nil
	}
	at, bad := axisOf(name, x, axis, len(s))
	if bad != nil {
		return nil, bad
	}
	if block == 0 {
		if len(n) != 1 || !arith.ProveEqual(n[0], s[at]) {
			return nil, failed(name, "the scale, tensor %s, has shape %s: want one element, or %s for axis %d of tensor %s",
				scale.ProducerName(), shapeText(n), text.Print(s[at]), at, x.ProducerName())
		}
		return func(i []tir.Expr) []tir.Expr { return []tir.Expr{i[at]} }, nil
	}
	want := append([]tir.Expr{}, s...)
	if block > 0 {
		want[at] = simplified(tir.FloorDiv(plus(s[at], block-1), like(s[at], block)))
	}
	same := len(n) == len(want) && block > 0
	for d := 0; same && d < len(n); d++ {
		same = arith.ProveEqual(n[d], want[d])
	}
	if !same {
		return nil, failed(name, "the scale, tensor %s, has shape %s, for blocks of %d elements along axis %d of tensor %s: "+
			"want %s", scale.ProducerName(), shapeText(n), block, at, x.ProducerName(), shapeText(want))
	}
	return func(i []tir.Expr) []tir.Expr {
		to := append([]tir.Expr{}, i...)
		to[at] = tir.FloorDiv(i[at], like(i[at], block))
		return to
	}, nil
}

// first returns the indices of the first element of a shape.
func first(shape []tir.Expr) []tir.Expr {
	at := make([]tir.Expr, len(shape))
	for d, n := range shape {
		at[d] = like(n, 0)
	}
	return at
}

// quantisedBy returns a number, divided by its scale, as a quantised type: rounded to nearest, ties to even, plus the
// zero point, and limited to the range of the type. zero may be nil.
func quantisedBy(t tir.Type, v, zero tir.Expr) tir.Expr {
	c := func(v float64) tir.Expr { return tir.Const(tir.Float32, v) }
	if !tir.IsFloat(t) {
		v = tir.Intrin("nearbyint", v)
	}
	if zero != nil {
		v = tir.Add(v, tir.NewCast(tir.Float32, zero))
	}
	if tir.IsFloat(t) {
		return saturated(t, v)
	}
	low, high := limit(t, false).(*tir.IntImm).Value, limit(t, true).(*tir.IntImm).Value
	return castTo(t, tir.Min(c(float64(high)), tir.Max(c(float64(low)), v)))
}

// checkScale checks the operands of a quantisation.
func checkScale(name string, scale, zero *te.Tensor, t tir.Type) *te.Tensor {
	if bad := check(name, -1, scale); bad != nil {
		return bad
	}
	if bad := floats.of(name, scale); bad != nil {
		return bad
	}
	if zero == nil {
		return nil
	}
	if bad := check(name, -1, zero); bad != nil {
		return bad
	}
	if zero.ProducerDType() != t {
		return failed(name, "the zero point, tensor %s, has type %s: want %s", zero.ProducerName(), zero.ProducerDType(), t)
	}
	return nil
}

// QuantizeLinear is x / scale, rounded to the nearest integer, ties to even, plus a zero point, and limited to the
// range of type t. Types of floats have no zero point but 0, and x / scale is rounded to them; NaN remains NaN. scale,
// of floats, and zero, of type t or nil, have one element; or one for each index of an axis; or, if block is not 0, the
// shape of x with one element for every block along the axis. 16-bit floats are computed in float32.
func QuantizeLinear(x, scale, zero *te.Tensor, name string, axis, block int, t tir.Type) *te.Tensor {
	return quantize(x, scale, zero, name, axis, block, t, func(v, z tir.Expr) tir.Expr { return quantisedBy(t, v, z) })
}

// QuantizeOpen is QuantizeLinear to a type t of floats without a zero point and without saturation: a quotient that is
// too large becomes what Cast makes of it.
func QuantizeOpen(x, scale *te.Tensor, name string, axis, block int, t tir.Type) *te.Tensor {
	if !tir.IsFloat(t) {
		return failed(name, "tensor %s is to be quantised to type %s without saturation: want floats", x.ProducerName(), t)
	}
	return quantize(x, scale, nil, name, axis, block, t, func(v, _ tir.Expr) tir.Expr { return castTo(t, v) })
}

// quantize converts the quotients of x and scale, with their zero points or nil.
func quantize(x, scale, zero *te.Tensor, name string, axis, block int, t tir.Type,
	convert func(v, zero tir.Expr) tir.Expr) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := real32.of(name, x); bad != nil {
		return bad
	}
	if !quantised.has(t) {
		return failed(name, "tensor %s is to be quantised to type %s: want %s", x.ProducerName(), t, quantised.want)
	}
	if bad := checkScale(name, scale, zero, t); bad != nil {
		return bad
	}
	at, bad := scalingOf(name, x, scale, zero, axis, block)
	if bad != nil {
		return bad
	}
	out := te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		if empty(x.ProducerShape()) {
			return tir.Const(t, 0)
		}
		v := tir.Div(tir.NewCast(tir.Float32, x.At(i...)), tir.NewCast(tir.Float32, scale.At(at(i)...)))
		var z tir.Expr
		if zero != nil {
			z = at.zero(zero, i)
		}
		return convert(v, z)
	})
	return by(out, &Operator{Kind: "quantizelinear", Inputs: given(x, scale, zero)})
}

// given returns the tensors that are not nil.
func given(all ...*te.Tensor) (some []*te.Tensor) {
	for _, t := range all {
		if t != nil {
			some = append(some, t)
		}
	}
	return some
}

// DequantizeLinear is (x - zero)·scale with the type of scale. The shapes are those of QuantizeLinear; zero may be nil.
func DequantizeLinear(x, scale, zero *te.Tensor, name string, axis, block int) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	t := x.ProducerDType()
	if bad := dequantisable.of(name, x); bad != nil {
		return bad
	}
	if bad := checkScale(name, scale, zero, t); bad != nil {
		return bad
	}
	at, bad := scalingOf(name, x, scale, zero, axis, block)
	if bad != nil {
		return bad
	}
	result := scale.ProducerDType()
	work := workType(result)
	out := te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		if empty(x.ProducerShape()) {
			return tir.Const(result, 0)
		}
		v := x.At(i...)
		if zero != nil {
			common := tir.Int32
			if tir.IsFloat(t) {
				common = work
			}
			v = tir.Sub(tir.NewCast(common, v), tir.NewCast(common, at.zero(zero, i)))
		}
		return tir.NewCast(result, tir.Mul(tir.NewCast(work, v), tir.NewCast(work, scale.At(at(i)...))))
	})
	return by(out, &Operator{Kind: "dequantizelinear", Inputs: given(x, scale, zero)})
}

// DynamicQuantizeLinear quantises a tensor of floats to uint8, with a scale and a zero point for which the range of its
// elements and 0 has the values 0 to 255. It returns the tensor, the scale, a float32, and the zero point, a uint8,
// both without dimensions. The scale of zeros is 1.
func DynamicQuantizeLinear(x *te.Tensor, name string) []*te.Tensor {
	bad := check(name, -1, x)
	if bad == nil {
		bad = floats.of(name, x)
	}
	if bad != nil {
		return []*te.Tensor{bad, bad, bad}
	}
	x = Cast(x, tir.Float32, name+".x")
	zero := tir.F32(0)
	low := Map(Min(x, name+".min", nil, false), name+".low", func(e tir.Expr) tir.Expr { return tir.Min(zero, e) })
	high := Map(Max(x, name+".max", nil, false), name+".high", func(e tir.Expr) tir.Expr { return tir.Max(zero, e) })
	scale := Zip(high, low, name+".scale", func(h, l tir.Expr) tir.Expr {
		s := tir.Div(tir.Sub(h, l), tir.F32(255))
		return tir.NewSelect(tir.EQ(s, zero), tir.F32(1), s)
	})
	point := Zip(low, scale, name+".zero", func(l, s tir.Expr) tir.Expr {
		return quantisedBy(tir.UInt8, tir.Sub(zero, tir.Div(l, s)), nil)
	})
	out := te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		return quantisedBy(tir.UInt8, tir.Div(x.At(i...), scale.At()), point.At())
	})
	return []*te.Tensor{out, scale, point}
}

// along2 returns the element of a zero point or a scale of a matrix product for an element of an operand: it has one
// element; or is a vector with one for each index of dimension at; or has the dimensions of the operand, and size 1 in
// the other one of the last two.
func along2(t *te.Tensor, i []tir.Expr, at int) tir.Expr {
	switch n := t.ProducerShape(); {
	case len(n) == 0 || len(n) == 1 && isOne(n[0]):
		return t.At(first(n)...)
	case len(n) == 1:
		return t.At(i[at])
	default:
		return pick(t, i)
	}
}

// checkAlong2 checks the shape of a tensor for along2.
func checkAlong2(name string, t, x *te.Tensor, at int) *te.Tensor {
	s, n := x.ProducerShape(), t.ProducerShape()
	same := len(n) <= 1 || len(n) == len(s)
	for d := range n {
		axis := len(s) - len(n) + d
		if len(n) == 1 {
			axis = at
		}
		same = same && (isOne(n[d]) || (axis == at || axis < len(s)-2) && arith.ProveEqual(n[d], s[axis]))
	}
	if !same {
		return failed(name, "tensor %s has shape %s: want one element, or one for each of %s in dimension %d of tensor %s",
			t.ProducerName(), shapeText(n), text.Print(s[at]), at, x.ProducerName())
	}
	return nil
}

// centered returns a matrix of 8-bit integers less a zero point, as int32.
func centered(x, zero *te.Tensor, name string, at int) *te.Tensor {
	if zero == nil {
		return x
	}
	return te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		return tir.Sub(tir.NewCast(tir.Int32, x.At(i...)), tir.NewCast(tir.Int32, along2(zero, i, at)))
	})
}

// MatMulInteger is the matrix product of x - xZero and y - yZero in int32; see Matmul for shapes. x and y are int8 or
// uint8, and need not have the same type. xZero, nil or of the type of x, has one element or one for each row of x;
// yZero has one element or one for each column of y.
func MatMulInteger(x, y, xZero, yZero *te.Tensor, name string) *te.Tensor {
	if bad := check(name, -1, x, y); bad != nil {
		return bad
	}
	for k, t := range []*te.Tensor{x, y} {
		if d := t.ProducerDType(); d != tir.Int8 && d != tir.UInt8 {
			return failed(name, "tensor %s has type %s: want int8 or uint8", t.ProducerName(), d)
		}
		r := len(t.ProducerShape())
		if r < 2 {
			return failed(name, "tensor %s has %d dimensions: want 2 or more", t.ProducerName(), r)
		}
		zero := []*te.Tensor{xZero, yZero}[k]
		if zero == nil {
			continue
		}
		if bad := check(name, -1, zero); bad != nil {
			return bad
		}
		if bad := sameType(name, t, zero); bad != nil {
			return bad
		}
		if bad := checkAlong2(name, zero, t, r-2+k); bad != nil {
			return bad
		}
	}
	a := centered(x, xZero, name+".x", len(x.ProducerShape())-2)
	b := centered(y, yZero, name+".y", len(y.ProducerShape())-1)
	return Matmul(a, b, name, AccumulateIn(tir.Int32))
}

// Quantised is a quantised tensor: its elements stand for (Values - Zero)·Scale. Zero may be nil.
type Quantised struct {
	Values, Scale, Zero *te.Tensor
}

// QLinearMatMul is the matrix product of two quantised tensors, quantised by a scale and a zero point, which may be
// nil, of one element each; it has type t, int8 or uint8. The scale and the zero point of x have one element or one for
// each row, those of y one or one for each column.
func QLinearMatMul(x, y Quantised, scale, zero *te.Tensor, name string, t tir.Type) *te.Tensor {
	sums := MatMulInteger(x.Values, y.Values, x.Zero, y.Zero, name+".sums")
	if err := sums.Err(); err != nil {
		return failed(name, "%w", err)
	}
	if !narrowInt(t) {
		return failed(name, "the product is to have type %s: want int8 or uint8", t)
	}
	for k, q := range []Quantised{x, y, {nil, scale, zero}} {
		if bad := checkScale(name, q.Scale, nil, t); bad != nil {
			return bad
		}
		if q.Values != nil {
			if bad := checkAlong2(name, q.Scale, q.Values, len(q.Values.ProducerShape())-2+k); bad != nil {
				return bad
			}
		}
	}
	if bad := checkScale(name, scale, zero, t); bad != nil {
		return bad
	}
	for _, one := range given(scale, zero) {
		if !isConst(product(one.ProducerShape()), 1) {
			return failed(name, "tensor %s has shape %s: want one element", one.ProducerName(), shapeText(one.ProducerShape()))
		}
	}
	return te.Compute(sums.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		real := func(e tir.Expr) tir.Expr { return tir.NewCast(tir.Float32, e) }
		factor := tir.Mul(real(along2(x.Scale, i, len(i)-2)), real(along2(y.Scale, i, len(i)-1)))
		v := tir.Div(tir.Mul(real(sums.At(i...)), factor), real(scale.At(first(scale.ProducerShape())...)))
		var z tir.Expr
		if zero != nil {
			z = zero.At(first(zero.ProducerShape())...)
		}
		return quantisedBy(t, v, z)
	})
}
