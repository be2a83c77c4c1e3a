//go:build cgo

package cpu_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/te/ops/winograd"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// The errors of ConvWinograd are within the bound that its documentation states, and at the mean a few times those of
// the direct convolution of the same images and filters.
func TestWinograd_StatedErrors(t *testing.T) {
	r := testseed.Rand(t)
	const size, in, out = 23, 3 * block, 2 * block
	for name, number := range map[string]func() float64{
		"normal":          r.NormFloat64,
		"greatest":        func() float64 { return float64(1 - 2*r.IntN(2)) },
		"different sizes": func() float64 { return math.Ldexp(r.NormFloat64(), -r.IntN(20)) },
	} {
		image, filters := numbersOf(size*size*in, number), numbersOf(out*in*9, number)
		direct := make([]float64, size*size*out) // of the filters [out][channel][3][3]
		for i := range direct {
			o, y, x := i/(size*size), i/size%size, i%size
			for k := range in * 9 {
				c, p, q := k/9, y+k%9/3-1, x+k%3-1
				if p >= 0 && p < size && q >= 0 && q < size {
					direct[i] += image[((c/block*size+p)*size+q)*block+c%block] * filters[o*in*9+k]
				}
			}
		}
		g := winograd.Filters()
		plain := make([]float32, len(filters))
		turned := make([]float32, out*in*36)
		for o := range out {
			for c := range in {
				of := filters[(o*in+c)*9:][:9]
				for at := range 9 {
					plain[((o/block*in/block+c/block)*9+at)*block*block+c%block*block+o%block] = float32(of[at])
				}
				for at := range 36 {
					sum := 0.0
					for k := range 9 {
						sum += g[at/6][k/3] * of[k] * g[at%6][k%3]
					}
					turned[((o/block*36+at)*in+c)*block+o%block] = float32(sum)
				}
			}
		}
		x := holder(tir.Float32, "X", 1, in/block, size, size, block)
		mean := map[bool]float64{}
		for _, fast := range []bool{false, true} {
			w, data := holder(tir.Float32, "W", out/block, in/block, 3, 3, block, block), plain
			y := ops.ConvBlocked(x, w, "Y", ops.Pads(1, 1, 1, 1))
			if fast {
				w, data = holder(tir.Float32, "W", out/block, 6, 6, in/block, block, block), turned
				y = ops.ConvWinograd(x, w, "Y", ops.Pads(1, 1, 1, 1))
			}
			got := resultOf(t, y, []*te.Tensor{x, w}, narrowed(image), data)
			largest := func(values []float64) float64 {
				most := 0.0
				for _, v := range values {
					most = max(most, math.Abs(v))
				}
				return most
			}
			bound := 820 * in * (in + 30) * 0x1p-24 * largest(image) * largest(filters)
			for i, want := range direct {
				o, at := i/(size*size), i%(size*size)
				e := math.Abs(float64(got[(o/block*size*size+at)*block+o%block]) - want)
				require.LessOrEqual(t, e, bound, "%s, Winograd: %t", name, fast)
				mean[fast] += e / float64(len(direct))
			}
		}
		require.Positive(t, mean[true], name)
		if name != "greatest" { // their direct sums are exact
			require.Less(t, mean[true], 5*mean[false], name)
		}
	}
}

// numbersOf returns numbers that float32 has.
func numbersOf(n int, number func() float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = float64(float32(number()))
	}
	return all
}

func narrowed(values []float64) []float32 {
	all := make([]float32, len(values))
	for i, v := range values {
		all[i] = float32(v)
	}
	return all
}

// resultOf compiles a tensor and computes it from the data of its inputs.
func resultOf(t *testing.T, y *te.Tensor, ins []*te.Tensor, data ...[]float32) []float32 {
	t.Helper()
	require.NoError(t, y.Err())
	to := newTarget(t, "c -march=native")
	lowered := must.Get(te.Lower(must.Get(schedule.For(to, y))(t), []any{ins[0], ins[1], y}, "f"))(t)
	f := must.Open(must.Open(codegen.Build(lowered, to))(t).Function("f"))(t)
	var args []any
	for i, in := range append(append([]*te.Tensor{}, ins...), y) {
		shape := sizes(in)
		if i == len(ins) {
			data = append(data, make([]float32, elements(shape)))
		}
		args = append(args, must.Open(runtime.FromSlice(data[i], shape...))(t))
	}
	must.Get(f.Call(args...))(t)
	return must.Get(runtime.ToSlice[float32](args[len(ins)].(*runtime.Tensor)))(t)
}
