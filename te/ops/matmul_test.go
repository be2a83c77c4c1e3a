//go:build cgo

package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("matmul", matmulCases)

func matmulCases() []opCase {
	type layout struct {
		x, y, out []int
		tx, ty    bool
	}
	layouts := []layout{{[]int{3, 4}, []int{4, 5}, []int{3, 5}, false, false}, {[]int{4, 3}, []int{4, 5}, []int{3, 5},
		true, false},
		{[]int{3, 4}, []int{5, 4}, []int{3, 5}, false, true}, {[]int{4, 3}, []int{5, 4}, []int{3, 5}, true, true},
		{[]int{2, 1, 3, 4}, []int{3, 4, 5}, []int{2, 3, 3, 5}, false, false}, {[]int{1, 4, 3}, []int{2, 5, 4}, []int{2, 3, 5},
			true, true},
		{[]int{3, 0}, []int{0, 2}, []int{3, 2}, false, false}, {[]int{0, 3}, []int{3, 2}, []int{0, 2}, false,
			false}, {[]int{1, 1}, []int{1, 1}, []int{1, 1}, false, false},
		{[]int{17, 33}, []int{33, 19}, []int{17, 19}, false, false}, {[]int{2, 3}, []int{0, 3, 2}, []int{0, 2, 2},
			false, false}}
	product := func(l layout, x, y *nd, result tir.Type) *nd {
		return each(result, l.out, func(i []int) float64 {
			n := len(i)
			pick := func(a *nd, row, col int, turned bool) float64 {
				if turned {
					row, col = col, row
				}
				at := make([]int, len(a.shape)-2)
				for d := range at {
					if at[d] = i[n-2-len(at)+d]; a.shape[d] == 1 {
						at[d] = 0
					}
				}
				return a.at(append(at, row, col)...)
			}
			depth := l.x[len(l.x)-1]
			if l.tx {
				depth = l.x[len(l.x)-2]
			}
			sum := 0.0
			for k := range depth {
				sum += pick(x, i[n-2], k, l.tx) * pick(y, k, i[n-1], l.ty)
			}
			return rounded16(result, sum)
		})
	}
	var cases []opCase
	add := func(l layout, xt, yt, acc tir.Type, result tir.Type) {
		x, y := sample(xt, l.x...), sample(yt, l.y...)
		cases = append(cases, opCase{name: fmt.Sprintf("%s%v by %s%v in %s", xt, l.x, yt, l.y, acc), ins: []*nd{x, y},
			want: product(l, x, y, result),
			make: func(x []*te.Tensor) *te.Tensor {
				var options []MatmulOption
				if l.tx {
					options = append(options, TransposeX())
				}
				if l.ty {
					options = append(options, TransposeY())
				}
				if acc != tir.Void {
					options = append(options, AccumulateIn(acc))
				}
				return Matmul(x[0], x[1], "Z", options...)
			}})
	}
	for n, dt := range allNumbers {
		for k, l := range layouts {
			if (n+k)%4 == 0 || dt == tir.Float32 {
				add(l, dt, dt, tir.Void, dt)
			}
		}
	}
	for _, m := range [][3]tir.Type{{tir.Int8, tir.Int8, tir.Int32}, {tir.UInt8, tir.Int8, tir.Int32},
		{tir.Float16, tir.Float16, tir.Float32}, {tir.BFloat16, tir.Float32, tir.Float32},
		{tir.Float16, tir.Int8, tir.Float64}, {tir.Int32, tir.Int32, tir.Int64}} {
		add(layouts[1], m[0], m[1], m[2], m[2])
		add(layouts[9], m[0], m[1], m[2], m[2])
	}
	// sums that a narrow type would wrap, and one that float16 would round
	big := filled(tir.Int8, []int{1, 300}, func(int) float64 { return 100 })
	turned := &nd{tir.Int8, []int{300, 1}, big.v}
	cases = append(cases, opCase{name: "wide sum", ins: []*nd{big, turned},
		want: &nd{tir.Int32, []int{1, 1}, []float64{3e6}},
		make: func(x []*te.Tensor) *te.Tensor { return Matmul(x[0], x[1], "Z", AccumulateIn(tir.Int32)) }})
	ones := filled(tir.Float16, []int{1, 3000}, func(int) float64 { return 1 })
	cases = append(cases, opCase{name: "long sum", ins: []*nd{ones, {tir.Float16, []int{3000, 1}, ones.v}},
		want: &nd{tir.Float16, []int{1, 1}, []float64{3000}},
		make: func(x []*te.Tensor) *te.Tensor { return Matmul(x[0], x[1], "Z") }})
	// with elementwise operators before and after, in one schedule
	x, y, b := sample(tir.Float32, 130, 40), sample(tir.Float32, 40, 150), sample(tir.Float32, 150)
	cases = append(cases, opCase{name: "dense", ins: []*nd{x, y, b}, make: func(x []*te.Tensor) *te.Tensor {
		return Relu(Add(Matmul(Neg(x[0], "N"), x[1], "M"), x[2], "A"), "R")
	}, want: each(tir.Float32, []int{130, 150}, func(i []int) float64 {
		sum := 0.0
		for k := range 40 {
			sum -= x.at(i[0], k) * y.at(k, i[1])
		}
		return max(0, sum+b.v[i[1]])
	})})
	return cases
}
