//go:build cgo

package ops

import (
	"fmt"
	"math"

	"tvmgo/dlpack"
	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("quantize", quantizeCases)

// quantizedTo is the reference of a quantisation to integers, with the rounding of float32.
func quantizedTo(t tir.Type, v, zero float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return math.Min(math.Max(math.RoundToEven(float64(float32(v)))+zero, limitOf(t, false)), limitOf(t, true))
}

func quantizeCases() (cases []opCase) {
	types := []tir.Type{tir.Int8, tir.UInt8, tir.Int16, tir.UInt16}
	for n, real := range []tir.Type{tir.Float32, tir.Float16, tir.BFloat16, tir.Float64} {
		for m, c := range []struct {
			x, scale    []int
			axis, block int
			at          func(i []int) []int
		}{
			{[]int{3, 40}, []int{}, 1, 0, func(i []int) []int { return nil }},
			{[]int{3, 40}, []int{1}, 1, 0, func(i []int) []int { return []int{0} }},
			{[]int{2, 5, 3}, []int{5}, -2, 0, func(i []int) []int { return []int{i[1]} }},
			{[]int{2, 7}, []int{2, 3}, 1, 3, func(i []int) []int { return []int{i[0], i[1] / 3} }},
			{[]int{0, 4}, []int{4}, 1, 0, nil},
		} {
			t := types[(n+m)%4]
			x := filled(real, c.x, func(i int) float64 { return float64(i*13%97-40) / 8 * math.Ldexp(1, i%3*3) })
			if len(x.v) > 4 {
				x.v[3], x.v[4] = math.Inf(1), math.NaN()
			}
			scale := filled(real, c.scale, func(i int) float64 { return math.Ldexp(1, -i%3-1) })
			zero := filled(t, c.scale, func(i int) float64 { return float64(i%5 + 1) })
			for _, with := range []bool{true, false} {
				ins := []*nd{x, scale}
				offset := func([]int) float64 { return 0 }
				if with {
					ins = append(ins, zero)
					offset = func(i []int) float64 { return zero.at(c.at(i)...) }
				}
				third := func(x []*te.Tensor) *te.Tensor {
					if with {
						return x[2]
					}
					return nil
				}
				want := each(t, c.x, func(i []int) float64 {
					return quantizedTo(t, x.at(i...)/scale.at(c.at(i)...), offset(i))
				})
				cases = append(cases, opCase{name: fmt.Sprintf("quantize %s%v to %s, %v", real, c.x, t, with), ins: ins, want: want,
					make: func(x []*te.Tensor) *te.Tensor {
						return QuantizeLinear(x[0], x[1], third(x), "Y", c.axis, c.block, t)
					}})
				ins = append([]*nd{want}, ins[1:]...)
				cases = append(cases, opCase{name: fmt.Sprintf("dequantize %s%v to %s, %v", t, c.x, real, with), ins: ins,
					want: each(real, c.x, func(i []int) float64 {
						return rounded16(real, float64(float32((want.at(i...)-offset(i))*scale.at(c.at(i)...))))
					}), tol: tolerance(real),
					make: func(x []*te.Tensor) *te.Tensor { return DequantizeLinear(x[0], x[1], third(x), "Y", c.axis, c.block) }})
			}
		}
	}
	// there and back, by types that are not stored
	back := func(name string, t tir.Type, in, out []float64) {
		x := &nd{tir.Float32, []int{len(in)}, in}
		cases = append(cases, opCase{name: "by " + name, ins: []*nd{x, {tir.Float32, []int{}, []float64{0.5}}},
			want: &nd{tir.Float32, x.shape, out}, make: func(x []*te.Tensor) *te.Tensor {
				return DequantizeLinear(QuantizeLinear(x[0], x[1], nil, "Q", 0, 0, t), x[1], nil, "Y", 0, 0)
			}})
	}
	back("int4", tir.Type{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}, []float64{0, 1.25, 1.75, 100, -100, -3},
		[]float64{0, 1, 2, 3.5, -4, -3})
	back("uint4", tir.Type{Code: dlpack.CodeUInt, Bits: 4, Lanes: 1}, []float64{0, 1.25, 1.75, 100, -100, -3},
		[]float64{0, 1, 2, 7.5, 0, 0})
	back("float8", tir.Type{Code: dlpack.CodeFloat8E4M3FN, Bits: 8, Lanes: 1}, []float64{0, 1.25, 1.03125, 1000, -1000},
		[]float64{0, 1.25, 1, 224, -224})
	back("int2", tir.Type{Code: dlpack.CodeInt, Bits: 2, Lanes: 1}, []float64{0, 0.3, 1.75, -0.5, -100},
		[]float64{0, 0.5, 0.5, -0.5, -1})
	// a zero point with a dimension, whose sum with -0 is 0; NaN
	float4 := tir.Type{Code: dlpack.CodeFloat4E2M1FN, Bits: 4, Lanes: 1}
	cases = append(cases, opCase{name: "zero point", ins: []*nd{{tir.Float32, []int{3}, []float64{math.Copysign(0, -1),
		100,
		-0.25}}, {tir.Float32, []int{}, []float64{0.5}}, {float4, []int{1}, []float64{0}}},
		want: &nd{float4, []int{3}, []float64{0, 6, -0.5}},
		make: func(x []*te.Tensor) *te.Tensor { return QuantizeLinear(x[0], x[1], x[2], "Y", 0, 0, float4) }})
	back("NaN", tir.Type{Code: dlpack.CodeFloat8E5M2, Bits: 8, Lanes: 1}, []float64{math.NaN(), math.Inf(1)},
		[]float64{math.NaN(), 28672})
	x := &nd{tir.Float32, []int{2, 2}, []float64{1.25, 1000, -1000, math.NaN()}}
	cases = append(cases, opCase{name: "without saturation", ins: []*nd{x, {tir.Float32, []int{2}, []float64{0.5, 4}}},
		want: &nd{tir.Float32, x.shape, []float64{1.25, math.NaN(), -1024, math.NaN()}},
		make: func(x []*te.Tensor) *te.Tensor {
			float8 := tir.Type{Code: dlpack.CodeFloat8E4M3FN, Bits: 8, Lanes: 1}
			return DequantizeLinear(QuantizeOpen(x[0], x[1], "Q", 0, 0, float8), x[1], nil, "Y", 0, 0)
		}})
	cases = append(cases, opCase{name: "dequantize int32", ins: []*nd{{tir.Int32, []int{2}, []float64{1<<30 + 3, -5}},
		{tir.Float32, []int{}, []float64{0.5}}, {tir.Int32, []int{}, []float64{1 << 30}}},
		want: &nd{tir.Float32, []int{2}, []float64{1.5, -(1 << 29)}},
		make: func(x []*te.Tensor) *te.Tensor { return DequantizeLinear(x[0], x[1], x[2], "Y", 0, 0) }})
	// uint8 with a range that is found
	for _, v := range [][]float64{{0, 2, -3, -2.5, 1.34, 0.5}, {-1, -2.1, -1.3, -2.5, -3.34, -4},
		{1, 2.1, 1.3, 2.5, 3.34, 4}, {0, 0}} {
		x := filled(tir.Float32, []int{len(v)}, func(i int) float64 { return v[i] })
		low, high := 0.0, 0.0
		for _, e := range x.v {
			low, high = math.Min(low, e), math.Max(high, e)
		}
		scale := float64(float32(float64(float32(high-low)) / 255))
		if scale == 0 {
			scale = 1
		}
		zero := quantizedTo(tir.UInt8, -low/scale, 0)
		want := []*nd{filled(tir.UInt8, x.shape, func(i int) float64 { return quantizedTo(tir.UInt8, x.v[i]/scale, zero) }),
			{tir.Float32, []int{}, []float64{scale}}, {tir.UInt8, []int{}, []float64{zero}}}
		for k, want := range want {
			cases = append(cases, opCase{name: fmt.Sprintf("dynamic %d of %v", k, v), ins: []*nd{x}, want: want,
				tol: tolerance(want.t), make: func(x []*te.Tensor) *te.Tensor { return DynamicQuantizeLinear(x[0], "Y")[k] }})
		}
	}
	return cases
}

var _ = valueCases("integerProducts", integerProductsCases)

func integerProductsCases() (cases []opCase) {
	vector := func(t tir.Type, n int) *nd {
		return filled(t, []int{n}, func(i int) float64 { return float64(i%3 + 1) })
	}
	for n, t := range [][2]tir.Type{{tir.Int8, tir.Int8}, {tir.UInt8, tir.Int8}, {tir.UInt8, tir.UInt8}} {
		x := filled(t[0], []int{2, 3, 5}, func(i int) float64 { return float64(i*37%120) - 10*float64(1-n) })
		y := filled(t[1], []int{5, 4}, func(i int) float64 { return float64(i*29%101) - 10*float64(1-n) })
		for mode := range 4 {
			xz, yz := &nd{t[0], []int{}, []float64{3}}, &nd{t[1], []int{1}, []float64{2}}
			if mode == 1 {
				xz, yz = vector(t[0], 3), vector(t[1], 4)
			} else if mode == 2 {
				xz, yz = &nd{t[0], []int{2, 3, 1}, []float64{1, 2, 3, 4, 5, 6}}, &nd{t[1], []int{1, 4}, []float64{1, 2, 3, 4}}
			}
			at := func(z *nd, i []int, column bool) float64 {
				switch {
				case mode == 3:
					return 0
				case len(z.v) == 1:
					return z.v[0]
				case column:
					return z.v[i[2]]
				case len(z.shape) == 1:
					return z.v[i[1]]
				}
				return z.v[i[0]*3+i[1]]
			}
			sum := func(i []int) (r float64) {
				for k := range 5 {
					r += (x.at(i[0], i[1], k) - at(xz, i, false)) * (y.at(k, i[2]) - at(yz, i, true))
				}
				return r
			}
			ins := []*nd{x, y, xz, yz}
			if mode == 3 {
				ins = ins[:2]
			}
			zeros := func(x []*te.Tensor) (a, b *te.Tensor) {
				if mode == 3 {
					return nil, nil
				}
				return x[2], x[3]
			}
			cases = append(cases, opCase{name: fmt.Sprintf("integers %v, %d", t, mode), ins: ins,
				want: each(tir.Int32, []int{2, 3, 4}, sum), make: func(x []*te.Tensor) *te.Tensor {
					a, b := zeros(x)
					return MatMulInteger(x[0], x[1], a, b, "Y")
				}})
			scales := []*nd{{tir.Float32, []int{}, []float64{0.25}}, {tir.Float32, []int{4}, []float64{0.5, 1, 0.25, 2}},
				{tir.Float32, []int{1}, []float64{128}}, {t[0], []int{}, []float64{7}}}
			all := append(ins, scales...)
			cases = append(cases, opCase{name: fmt.Sprintf("quantized product %v, %d", t, mode), ins: all,
				want: each(t[0], []int{2, 3, 4}, func(i []int) float64 {
					return quantizedTo(t[0], sum(i)*0.25*scales[1].v[i[2]]/128, 7)
				}), make: func(x []*te.Tensor) *te.Tensor {
					a, b := zeros(x)
					s := x[len(x)-4:]
					return QLinearMatMul(Quantised{x[0], s[0], a}, Quantised{x[1], s[1], b}, s[2], s[3], "Y", t[0])
				}})
		}
	}
	return cases
}
