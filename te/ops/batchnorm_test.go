//go:build cgo

package ops

import (
	"fmt"
	"math"
	"testing"

	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("batchnorm", batchnormCases)

func batchnormCases() (cases []opCase) {
	add := func(t, stats tir.Type, weights bool, shape ...int) {
		c := shape[1]
		x, mean := sample(t, shape...), sample(stats, c)
		variance := filled(stats, []int{c}, func(i int) float64 { return float64(i) / 4 })
		gamma, beta := sample(t, c), filled(t, []int{c}, func(i int) float64 { return float64(2 - i) })
		ins := []*nd{x, mean, variance}
		if weights {
			ins = append(ins, gamma, beta)
		}
		cases = append(cases, opCase{name: fmt.Sprintf("%v of %s and %s, weights %v", shape, t, stats, weights), ins: ins,
			tol: 4 * tolerance(t), want: each(t, shape, func(i []int) float64 {
				v := (x.at(i...) - mean.v[i[1]]) / math.Sqrt(variance.v[i[1]]+0.25)
				if weights {
					v = v*gamma.v[i[1]] + beta.v[i[1]]
				}
				return rounded16(t, v)
			}), make: func(x []*te.Tensor) *te.Tensor {
				if weights {
					return BatchNorm(x[0], x[3], x[4], x[1], x[2], "Y", 0.25)
				}
				return BatchNorm(x[0], nil, nil, x[1], x[2], "Y", 0.25)
			}})
	}
	for _, t := range floatTypes {
		add(t, t, true, 2, 3, 4, 5)
		add(t, tir.Float32, t == tir.Float32, 3, 5)
	}
	add(tir.Float32, tir.Float64, true, 1, 4, 2, 3, 2)
	add(tir.Float32, tir.Float32, true, 0, 4, 3)
	return cases
}

var _ = valueCases("instancenorm", instancenormCases)

func instancenormCases() (cases []opCase) {
	for _, c := range []struct {
		t     tir.Type
		shape []int
	}{{tir.Float32, []int{2, 3, 4, 5}}, {tir.Float16, []int{1, 4, 9}}, {tir.Float64, []int{2, 2, 3, 2, 2}}} {
		x, gamma, beta := sample(c.t, c.shape...), sample(c.t, c.shape[1]), sample(c.t, c.shape[1])
		cases = append(cases, opCase{name: fmt.Sprintf("%v of %s", c.shape, c.t), ins: []*nd{x, gamma, beta},
			tol: 8 * tolerance(c.t), want: groupNormOf(x, gamma, beta, c.shape[1], 0.01),
			make: func(x []*te.Tensor) *te.Tensor { return InstanceNorm(x[0], x[1], x[2], "Y", 0.01) }})
	}
	return cases
}

var _ = valueCases("meanvariancenorm", meanvariancenormCases)

func meanvariancenormCases() (cases []opCase) {
	for _, c := range []struct {
		t     tir.Type
		shape []int
		axes  []int
	}{{tir.Float32, []int{2, 3, 4, 5}, []int{0, 2, 3}}, {tir.Float16, []int{3, 7}, []int{-1}},
		{tir.Float64, []int{3, 4}, nil}, {tir.Float32, []int{2, 40}, []int{1}}} {
		x := sample(c.t, c.shape...)
		mean := folded(x, c.t, c.axes, true, func(v []float64) float64 { return total(v) / float64(len(v)) })
		deviation := folded(x, c.t, c.axes, true, func(v []float64) (sum float64) {
			for _, e := range v {
				sum += (e - total(v)/float64(len(v))) * (e - total(v)/float64(len(v)))
			}
			return math.Sqrt(sum / float64(len(v)))
		})
		cases = append(cases, opCase{name: fmt.Sprintf("%v of %s over %v", c.shape, c.t, c.axes), ins: []*nd{x},
			tol: 8 * tolerance(c.t), want: each(c.t, c.shape, func(i []int) float64 {
				return rounded16(c.t, (x.at(i...)-mean.stretched(i))/(deviation.stretched(i)+0.01))
			}), make: func(x []*te.Tensor) *te.Tensor { return MeanVarianceNorm(x[0], "Y", c.axes, 0.01) }})
	}
	return cases
}

var _ = valueCases("lpnormalization", lpnormalizationCases)

func lpnormalizationCases() (cases []opCase) {
	add := func(t tir.Type, axis int, p float64, shape ...int) {
		x := sample(t, shape...)
		for i := range x.v { // a row and a column of zeros
			if i/shape[len(shape)-1]%3 == 1 || i%shape[len(shape)-1] == 2 {
				x.v[i] = 0
			}
		}
		in := (axis + len(shape)) % len(shape)
		cases = append(cases, opCase{name: fmt.Sprintf("%v-norm of %v of %s, axis %d", p, shape, t, axis), ins: []*nd{x},
			tol: 4 * tolerance(t), want: perRow(x, in, func(row []float64) []float64 {
				out, norm := make([]float64, len(row)), pNormBy(row, p)
				for i, v := range row {
					if norm > 0 {
						out[i] = rounded16(t, v/norm)
					}
				}
				return out
			}), make: func(x []*te.Tensor) *te.Tensor { return LpNormalization(x[0], "Y", axis, p) }})
	}
	for _, t := range floatTypes {
		add(t, -1, 2, 4, 6)
		add(t, 0, 1, 4, 6)
	}
	add(tir.Float32, 1, 2, 2, 5, 3)
	add(tir.Float32, -1, 3, 3, 4)
	add(tir.Float32, -1, 1, 5, 100)
	return cases
}

var _ = valueCases("lrn", lrnCases)

func lrnCases() (cases []opCase) {
	for _, c := range []struct {
		t     tir.Type
		size  int
		shape []int
	}{{tir.Float32, 3, []int{2, 5, 3, 4}}, {tir.Float32, 4, []int{1, 6, 9}}, {tir.Float16, 5, []int{1, 7, 2, 2, 2}},
		{tir.Float64, 1, []int{2, 3}}, {tir.BFloat16, 2, []int{2, 3, 17}}, {tir.Float32, 3, []int{2, 0, 4}}} {
		x := sample(c.t, c.shape...)
		cases = append(cases, opCase{name: fmt.Sprintf("%d channels of %v of %s", c.size, c.shape, c.t), ins: []*nd{x},
			tol: 4 * tolerance(c.t), want: each(c.t, c.shape, func(i []int) float64 {
				sum, at := 0.0, append([]int{}, i...)
				for k := range c.size {
					at[1] = i[1] + k - (c.size-1)/2
					v, _ := x.inside(at)
					sum += v * v
				}
				return rounded16(c.t, x.at(i...)/math.Pow(2+0.5/float64(c.size)*sum, 0.75))
			}), make: func(x []*te.Tensor) *te.Tensor { return LRN(x[0], "Y", c.size, 0.5, 0.75, 2) }})
	}
	return cases
}

var _ = anySizeCase("batchnorm", func() openCase {
	o := openCase{sizes: []string{"n _ s"}}
	for _, size := range [][2]int{{2, 3}, {0, 4}, {5, 33}} {
		x, w := sample(tir.Float32, size[0], 3, size[1]), filled(tir.Float32, []int{3}, func(i int) float64 {
			return float64(i)
		})
		o.calls = append(o.calls, opCase{name: "batchnorm", ins: []*nd{x, w}, tol: 1e-6, want: each(x.t, x.shape,
			func(i []int) float64 { return (x.at(i...)-w.v[i[1]])/math.Sqrt(w.v[i[1]]+1)*w.v[i[1]] + w.v[i[1]] }),
			make: func(x []*te.Tensor) *te.Tensor { return BatchNorm(x[0], x[1], x[1], x[1], x[1], "Y", 1) }})
	}
	return o
})

func TestBatchNorm_Errors(t *testing.T) {
	x, c, v := placeholder("x", 2, 3, 4), placeholder("c", 3), placeholder("v", 4)
	ints := te.Placeholder(te.Dims(2, 3), tir.Int32, "i")
	open := te.Placeholder([]tir.Expr{tir.I32(2), te.Var("k")}, tir.Float32, "open")
	refused(t, []refusal{
		{BatchNorm(v, c, c, c, c, "y", 0), "tensor v has 1 dimensions: want 2 or more, the second for channels"},
		{BatchNorm(x, v, c, c, c, "y", 0), "tensor v has 4 elements, and tensor x has 3 channels: want equal numbers"},
		{BatchNorm(x, nil, nil, nil, c, "y", 0), "operand 0: te: the tensor is nil"},
		{BatchNorm(x, c, c, c, c, "y", -1), "eps is -1: want a number of 0 or more"},
		{BatchNorm(ints, c, c, c, c, "y", 0), "tensor i has type int32: want floats"},
		{InstanceNorm(open, nil, nil, "y", 0), "tensor open has k channels: want a constant number"},
		{MeanVarianceNorm(x, "y", []int{3}, 0), "axis 3 of tensor x does not exist"},
		{MeanVarianceNorm(x, "y", nil, -1), "eps is -1"},
		{LpNormalization(x, "y", 3, 2), "axis 3 of tensor x does not exist"},
		{LpNormalization(x, "y", 1, 0), "the 0-norm of tensor x: want a finite number of 1 or more"},
		{LRN(x, "y", 0, 1, 1, 1), "the squares of 0 channels of tensor x: want 1 or more, and at most 1048576"},
		{LRN(ints, "y", 1, 1, 1, 1), "tensor i has type int32: want floats"},
		{LRN(x, "y", 1, 1e300, 1, 1), "value 1e+300"},
	})
}
