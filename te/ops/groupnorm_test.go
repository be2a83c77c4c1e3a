//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/tir"
)

// groupNormOf normalizes by the definition.
func groupNormOf(x, gamma, beta *nd, groups int, eps float64) *nd {
	out := &nd{x.t, x.shape, make([]float64, len(x.v))}
	c := x.shape[1]
	inner := count(x.shape[2:])
	size := c / groups * inner
	for g := 0; size > 0 && g < len(x.v)/size; g++ {
		row := x.v[g*size : (g+1)*size]
		mean, squares := 0.0, 0.0
		for _, v := range row {
			mean += v / float64(size)
		}
		for _, v := range row {
			squares += (v - mean) * (v - mean) / float64(size)
		}
		for i, v := range row {
			at := g*size + i
			v = (v - mean) / math.Sqrt(squares+eps)
			channel := at / inner % c
			if gamma != nil {
				v = v*gamma.v[channel] + beta.v[channel]
			}
			out.v[at] = rounded16(x.t, v)
		}
	}
	return out
}

var _ = valueCases("groupnorm", groupnormCases)

func groupnormCases() []opCase {
	var cases []opCase
	add := func(x *nd, groups int, weights bool) {
		c := opCase{name: fmt.Sprintf("groupnorm of %s%v in %d groups, weights %v", x.t, x.shape, groups, weights),
			ins: []*nd{x}, tol: 8 * tolerance(x.t)}
		var gamma, beta *nd
		if weights {
			gamma, beta = sample(x.t, x.shape[1]), sample(x.t, x.shape[1])
			c.ins = append(c.ins, gamma, beta)
		}
		c.want = groupNormOf(x, gamma, beta, groups, 1e-3)
		c.make = func(x []*te.Tensor) *te.Tensor {
			if weights {
				return GroupNorm(x[0], x[1], x[2], "Y", groups, 1e-3)
			}
			return GroupNorm(x[0], nil, nil, "Y", groups, 1e-3)
		}
		cases = append(cases, c)
	}
	for _, dt := range floatTypes {
		add(sample(dt, 2, 6, 3, 5), 3, true)
		add(sample(dt, 2, 4, 7), 1, false)
		add(sample(dt, 3, 8), 2, true)
	}
	add(sample(tir.Float32, 2, 6, 17, 9), 2, true)
	add(sample(tir.Float32, 0, 4, 3), 2, false)
	add(sample(tir.Float32, 2, 4, 16, 17), 4, true) // of each channel alone
	add(sample(tir.Float32, 1, 6, 40, 41), 2, true)
	add(sample(tir.Float32, 2, 6, 3, 2, 5), 3, true)
	return cases
}

var _ = valueCases("variance", varianceCases)

func varianceCases() []opCase {
	var cases []opCase
	add := func(x *nd, keep bool, axes ...int) {
		in := make([]bool, len(x.shape))
		for _, a := range axes {
			in[a] = true
		}
		var shape []int
		n := 1
		for d, size := range x.shape {
			switch {
			case in[d]:
				n *= size
				if keep {
					shape = append(shape, 1)
				}
			default:
				shape = append(shape, size)
			}
		}
		want := each(x.t, shape, func(i []int) float64 {
			var row []float64
			for at := range x.v {
				rest, same, next := at, true, len(i)-1
				for d := len(x.shape) - 1; d >= 0; d-- {
					index := rest % x.shape[d]
					rest /= x.shape[d]
					if !in[d] {
						same = same && index == i[next]
						next--
					} else if keep {
						next--
					}
				}
				if same {
					row = append(row, x.v[at])
				}
			}
			mean, squares := 0.0, 0.0
			for _, v := range row {
				mean += v
			}
			mean /= float64(n)
			for _, v := range row {
				squares += (v - mean) * (v - mean)
			}
			return rounded16(x.t, squares/float64(n))
		})
		cases = append(cases, opCase{name: fmt.Sprintf("variance of %s%v over %v, kept %v", x.t, x.shape, axes, keep),
			ins: []*nd{x}, tol: 4 * tolerance(x.t), want: want,
			make: func(x []*te.Tensor) *te.Tensor { return Variance(x[0], "Y", slices.Clone(axes), keep) }})
	}
	for _, dt := range floatTypes {
		add(sample(dt, 3, 7), false, 1)
		add(sample(dt, 3, 7), true, 0)
		add(sample(dt, 2, 3, 4), false, 0, 2)
		add(sample(dt, 5), false, 0)
	}
	add(sample(tir.Float32, 4, 100), true, 1)
	for _, n := range []int{31, 33, 1024, 1025, 20000} {
		add(sample(tir.Float32, 2, n), false, 1)
	}
	add(sample(tir.Float32, 3, 40, 5), false, 1)
	return cases
}

// TestGroupNorm_Errors names the tensor and the number.
func TestGroupNorm_Errors(t *testing.T) {
	x := placeholder("x", 2, 6, 3)
	n := te.Placeholder([]tir.Expr{tir.I32(2), te.Var("c"), tir.I32(3)}, tir.Float32, "n")
	for want, y := range map[string]*te.Tensor{
		"4 groups of the 6 channels of tensor x: want a number that divides them": GroupNorm(x, nil, nil, "Y", 4, 0),
		"0 groups of the 6 channels":                           GroupNorm(x, nil, nil, "Y", 0, 0),
		"2 groups of the c channels of tensor n, which may":    GroupNorm(n, nil, nil, "Y", 2, 0),
		"tensor v has 1 dimensions: want 2 or more":            GroupNorm(placeholder("v", 4), nil, nil, "Y", 2, 0),
		"tensor g has 5 elements, and tensor x has 6 channels": GroupNorm(x, placeholder("g", 5), nil, "Y", 2, 0),
		"eps is -1":             GroupNorm(x, nil, nil, "Y", 2, -1),
		"has type int32: want":  GroupNorm(te.Placeholder(te.Dims(2, 4), tir.Int32, "i"), nil, nil, "Y", 2, 0),
		"tensor i has type int": Variance(te.Placeholder(te.Dims(2, 4), tir.Int32, "i"), "Y", nil, false),
	} {
		require.ErrorContains(t, y.Err(), want)
	}
}
