//go:build cgo

package ops

import (
	"fmt"
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// perRow applies a function to all elements along an axis.
func perRow(x *nd, axis int, f func(row []float64) []float64) *nd {
	out := &nd{x.t, x.shape, make([]float64, len(x.v))}
	inner := count(x.shape[axis+1:])
	n := x.shape[axis]
	for i := range x.v {
		if i/inner%max(n, 1) != 0 {
			continue
		}
		row := make([]float64, n)
		for k := range row {
			row[k] = x.v[i+k*inner]
		}
		for k, v := range f(row) {
			out.v[i+k*inner] = rounded16(x.t, v)
		}
	}
	return out
}

func softmaxOf(logarithm bool) func(row []float64) []float64 {
	return func(row []float64) []float64 {
		top, sum := math.Inf(-1), 0.0
		for _, v := range row {
			top = math.Max(top, v)
		}
		for _, v := range row {
			sum += math.Exp(v - top)
		}
		out := make([]float64, len(row))
		for k, v := range row {
			if out[k] = math.Exp(v-top) / sum; logarithm {
				out[k] = v - top - math.Log(sum)
			}
		}
		return out
	}
}

var _ = valueCases("softmax", softmaxCases)

func softmaxCases() []opCase {
	var cases []opCase
	add := func(dt tir.Type, x *nd, axis int) {
		at := (axis + len(x.shape)) % len(x.shape)
		for name, make := range map[string]func(*te.Tensor, string, ...int) *te.Tensor{
			"softmax": Softmax, "logsoftmax": LogSoftmax,
		} {
			cases = append(cases, opCase{name: fmt.Sprintf("%s of %s%v along %d", name, dt, x.shape, axis), ins: []*nd{x},
				tol:  2 * tolerance(dt),
				make: func(x []*te.Tensor) *te.Tensor { return make(x[0], "Y", axis) }, want: perRow(x, at,
					softmaxOf(name == "logsoftmax"))})
		}
	}
	for _, dt := range floatTypes {
		add(dt, sample(dt, 3, 5), -1)
		add(dt, sample(dt, 3, 5), 0)
		add(dt, sample(dt, 2, 3, 4), 1)
		add(dt, sample(dt, 7), 0)
		add(dt, sample(dt, 1, 1), 1)
		add(dt, sample(dt, 0, 3), 1)
		add(dt, sample(dt, 3, 0), 1)
		// exp of these overflows every type
		add(dt, filled(dt, []int{2, 4}, func(i int) float64 { return float64(i*1000 - 3000) }), 1)
	}
	add(tir.Float32, sample(tir.Float32, 130, 150), -1)
	// lengths around those of vectors, warps and blocks
	for _, n := range []int{1, 31, 32, 33, 127, 1023, 1024, 1025, 4097, 20000} {
		add(tir.Float32, sample(tir.Float32, 2, n), -1)
	}
	add(tir.Float16, sample(tir.Float16, 3, 1032), -1)
	add(tir.Float64, sample(tir.Float64, 3, 1025), -1)
	add(tir.Float32, sample(tir.Float32, 1025, 3), 0)
	add(tir.Float32, sample(tir.Float32, 5000, 33), 0)
	return cases
}

var _ = valueCases("norm", normCases)

func normCases() []opCase {
	const eps = 1e-3
	var cases []opCase
	for n, dt := range floatTypes {
		for k, c := range []struct {
			shape []int
			dims  int
		}{{[]int{3, 5}, 1}, {[]int{2, 3, 4}, 2}, {[]int{7}, 1}, {[]int{4, 1}, 1}, {[]int{0, 3}, 1}, {[]int{5, 33},
			1}, {[]int{130, 140}, 1}, {[]int{2, 1023}, 1}, {[]int{2, 1024}, 1}, {[]int{2, 1025}, 1}, {[]int{3, 17, 241},
			2}, {[]int{2, 20000}, 1}} {
			if count(c.shape) > 1000 && dt != tir.Float32 {
				continue
			}
			lead := len(c.shape) - c.dims
			width := count(c.shape[lead:])
			x := sample(dt, c.shape...)
			for i := range x.v { // far from 0, where the mean of the squares would cancel
				x.v[i] = rounded16(dt, x.v[i]+100)
			}
			gamma, beta := sample(dt, c.shape[lead:]...), filled(dt, c.shape[lead:], func(i int) float64 {
				return float64(i) / 4
			})
			flat := &nd{dt, []int{count(c.shape[:lead]), width}, x.v}
			normal := func(mean bool, g, b *nd) *nd {
				r := perRow(flat, 1, func(row []float64) []float64 {
					m, s, out := 0.0, 0.0, make([]float64, len(row))
					for _, v := range row {
						m += v / float64(len(row))
					}
					if !mean {
						m = 0
					}
					for _, v := range row {
						s += (v - m) * (v - m) / float64(len(row))
					}
					for k, v := range row {
						if out[k] = (v - m) / math.Sqrt(s+eps); g != nil {
							out[k] *= g.v[k]
						}
						if b != nil {
							out[k] += b.v[k]
						}
					}
					return out
				})
				return &nd{dt, c.shape, r.v}
			}
			tol := 20 * tolerance(dt)
			cases = append(cases, opCase{name: fmt.Sprintf("layernorm of %s%v", dt, c.shape), ins: []*nd{x, gamma, beta},
				tol: tol, want: normal(true, gamma, beta),
				make: func(x []*te.Tensor) *te.Tensor { return LayerNorm(x[0], x[1], x[2], "Y", c.dims, eps) }})
			if (n+k)%2 == 0 {
				cases = append(cases, opCase{name: fmt.Sprintf("bare layernorm of %s%v", dt, c.shape), ins: []*nd{x},
					tol: tol, want: normal(true, nil, nil),
					make: func(x []*te.Tensor) *te.Tensor { return LayerNorm(x[0], nil, nil, "Y", c.dims, eps) }},
					opCase{name: fmt.Sprintf("rmsnorm of %s%v", dt, c.shape), ins: []*nd{x, gamma}, tol: tol,
						want: normal(false, gamma, nil),
						make: func(x []*te.Tensor) *te.Tensor { return RMSNorm(x[0], x[1], "Y", c.dims, eps) }})
			}
		}
	}
	return cases
}
