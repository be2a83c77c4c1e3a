package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

func init() {
	quantised := []graph.Attr{integer("axis", 1), integer("block_size", 0), typed("output_dtype"), integer("saturate", 1),
		typed("precision")}
	register(
		with("quantize_linear", 2, 3, quantizeLinear, quantised...),
		with("dequantize_linear", 2, 3, dequantizeLinear, quantised...),
		&graph.Op{Name: "dynamic_quantize_linear", In: count(1), Out: count(3), Compute: func(c *graph.Call) []*te.Tensor {
			return ops.DynamicQuantizeLinear(c.In(0), c.Name)
		}},
		with("matmul_integer", 2, 4, func(c *graph.Call) *te.Tensor {
			return ops.MatMulInteger(c.In(0), c.In(1), c.In(2), c.In(3), c.Name)
		}),
		with("qlinear_matmul", 8, 8, func(c *graph.Call) *te.Tensor {
			x := ops.Quantised{Values: c.In(0), Scale: c.In(1), Zero: c.In(2)}
			y := ops.Quantised{Values: c.In(3), Scale: c.In(4), Zero: c.In(5)}
			return ops.QLinearMatMul(x, y, c.In(6), c.In(7), c.Name, c.DType(7))
		}),
		with("conv_integer", 2, 4, func(c *graph.Call) *te.Tensor {
			return convInteger(c, c.In(0), c.In(1), c.In(2), c.In(3), nil)
		}, windowAttrs(integer("group", 1))...),
		with("qlinear_conv", 8, 9, qlinearConv, windowAttrs(integer("group", 1))...),
	)
}

// axisFor returns the axis that scales are along; it does not matter for a single scale.
func axisFor(c *graph.Call) int {
	axis := c.Int("axis")
	if c.Rank(1) == 0 || c.Rank(0) == 0 {
		return 0
	}
	if c.Rank(1) == 1 && isOne(c.Shape(1)[0]) && (axis >= c.Rank(0) || axis < -c.Rank(0)) {
		return 0
	}
	return axisOf(c, axis, c.Rank(0))
}

// quantizeLinear has the operands data, scale and zero point.
func quantizeLinear(c *graph.Call) *te.Tensor {
	t := c.Type("output_dtype")
	if c.Has(2) {
		t = c.DType(2)
	} else if t == (tir.Type{}) {
		t = tir.UInt8
	}
	x := c.In(0)
	if !tir.IsFloat(c.DType(0)) {
		x = ops.Cast(x, tir.Float32, c.Name)
	}
	if tir.IsFloat(t) && !c.Flag("saturate") { // the zero point of floats is 0
		return ops.QuantizeOpen(x, c.In(1), c.Name, axisFor(c), c.Int("block_size"), t)
	}
	return ops.QuantizeLinear(x, c.In(1), c.In(2), c.Name, axisFor(c), c.Int("block_size"), t)
}

// dequantizeLinear has the operands data, scale and zero point.
func dequantizeLinear(c *graph.Call) *te.Tensor {
	out := ops.DequantizeLinear(c.In(0), c.In(1), c.In(2), c.Name, axisFor(c), c.Int("block_size"))
	if t := c.Type("output_dtype"); t != (tir.Type{}) {
		return cast(out, t, c.Name)
	}
	return out
}

// shifted returns elements less their zero point, which is one number, or one for each index of dimension 0, as int32.
func shifted(x, zero *te.Tensor, name string) *te.Tensor {
	return te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		e := tir.NewCast(tir.Int32, x.At(i...))
		if zero == nil {
			return e
		}
		var at []tir.Expr
		for _, n := range zero.ProducerShape() {
			if isOne(n) {
				at = append(at, tir.I32(0))
			} else {
				at = append(at, i[0])
			}
		}
		return tir.Sub(e, tir.NewCast(tir.Int32, zero.At(at...)))
	})
}

// convInteger convolves integers of 8 bits in int32. Padding has the value of the zero point.
func convInteger(c *graph.Call, x, w, xZero, wZero, bias *te.Tensor) *te.Tensor {
	spatial(c)
	if n := len(w.ProducerShape()); n != c.Rank(0) {
		c.Fail("the filters have %d dimensions, and the data %d: want equal numbers", n, c.Rank(0))
	}
	kernel := []int{}
	for _, n := range w.ProducerShape()[2:] {
		v, ok := tir.IntValue(n)
		if !ok {
			c.Fail("the size of the filters is not known when the model is compiled")
		}
		kernel = append(kernel, int(v))
	}
	g := windowOf(c, kernel)
	options := []ops.ConvOption{ops.Strides(g.strides...), ops.Dilations(g.dilations...), ops.Pads(g.pads...),
		ops.Groups(c.Int("group"))}
	if bias != nil {
		options = append(options, ops.Bias(bias))
	}
	return ops.Conv(g.padded(shifted(x, xZero, c.Name), tir.I32(0)), shifted(w, wZero, c.Name), c.Name, options...)
}

// qlinearConv has the operands x, its scale and zero point, w, its scale and zero point, scale and zero point of the
// result, and bias.
func qlinearConv(c *graph.Call) *te.Tensor {
	sums := convInteger(c, c.In(0), c.In(3), c.In(2), c.In(5), c.In(8))
	at := func(t *te.Tensor, channel tir.Expr) tir.Expr {
		var index []tir.Expr
		for _, n := range t.ProducerShape() {
			if isOne(n) {
				channel = tir.I32(0)
			}
			index = append(index, channel)
		}
		return t.At(index...)
	}
	real := te.Compute(sums.ProducerShape(), c.Name, func(i ...tir.Expr) tir.Expr {
		scale := tir.Mul(at(c.In(1), tir.I32(0)), at(c.In(4), i[1]))
		return tir.Mul(tir.NewCast(tir.Float32, sums.At(i...)), scale)
	})
	return ops.QuantizeLinear(real, c.In(6), c.In(7), c.Name, 0, 0, c.DType(7))
}
