//go:build cgo

package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("transpose", transposeCases)

// transposeCases are changes of the order of elements, with sizes around those of tiles, also inside other operators.
func transposeCases() []opCase {
	var cases []opCase
	add := func(name string, make func(x []*te.Tensor) *te.Tensor, want *nd, ins ...*nd) {
		cases = append(cases, opCase{name: fmt.Sprintf("%s of %s%v", name, ins[0].t, ins[0].shape), ins: ins, make: make,
			want: want})
	}
	permuted := func(x *nd, order ...int) *nd {
		shape := make([]int, len(order))
		for d, from := range order {
			shape[d] = x.shape[from]
		}
		return each(x.t, shape, func(i []int) float64 {
			at := make([]int, len(i))
			for d, from := range order {
				at[from] = i[d]
			}
			return x.at(at...)
		})
	}
	transpose := func(order ...int) func(x []*te.Tensor) *te.Tensor {
		return func(x []*te.Tensor) *te.Tensor { return Transpose(x[0], "Y", order...) }
	}
	for n, dt := range everyType {
		shapes := [][]int{{64, 96}, {33, 65}, {72, 40}, {1, 70}, {70, 2}}
		x := sample(dt, shapes[n%len(shapes)]...)
		add("matrix", transpose(1, 0), permuted(x, 1, 0), x)
		orders := [][]int{{0, 2, 3, 1}, {0, 3, 1, 2}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 0, 3, 2}, {0, 2, 1, 3}}
		sizes := [][]int{{2, 3, 9, 11}, {2, 8, 6, 3}, {3, 5, 7, 9}, {2, 40, 3, 36}, {1, 24, 12, 12}, {1, 33, 1, 70}}
		for k := range 2 {
			order := orders[(2*n+k)%len(orders)]
			x := sample(dt, sizes[(n+3*k)%len(sizes)]...)
			add(fmt.Sprintf("order %v", order), transpose(order...), permuted(x, order...), x)
		}
	}
	x := sample(tir.Float32, 2, 12, 6, 10)
	for _, c := range []int{2, 4, 12} {
		blocked := permuted(&nd{x.t, []int{2, 12 / c, c, 6, 10}, x.v}, 0, 1, 3, 4, 2)
		shape := func(d ...int) []tir.Expr { return dims(d) }
		add(fmt.Sprintf("NCHW to blocks of %d", c), func(x []*te.Tensor) *te.Tensor {
			return Transpose(Reshape(x[0], "R", shape(2, 12/c, c, 6, 10)...), "Y", 0, 1, 3, 4, 2)
		}, blocked, x)
		add(fmt.Sprintf("blocks of %d to NCHW", c), func(x []*te.Tensor) *te.Tensor {
			return Reshape(Transpose(x[0], "T", 0, 1, 4, 2, 3), "Y", shape(2, 12, 6, 10)...)
		}, x, blocked)
	}
	a, b := sample(tir.Float32, 40, 36), sample(tir.Float32, 36, 40)
	at, sum := permuted(a, 1, 0), each(tir.Float32, []int{36, 40}, func(i []int) float64 {
		return max(0, 2*a.at(i[1], i[0])+b.at(i...))
	})
	double := func(e tir.Expr) tir.Expr { return tir.Mul(e, tir.F32(2)) }
	add("inside others", func(x []*te.Tensor) *te.Tensor {
		return Relu(Add(Transpose(Map(x[0], "D", double), "T"), x[1], "S"), "Y")
	}, sum, a, b)
	add("cast", func(x []*te.Tensor) *te.Tensor { return Cast(Transpose(x[0], "T"), tir.Float64, "Y") },
		&nd{tir.Float64, at.shape, at.v}, a)
	add("of both operands", func(x []*te.Tensor) *te.Tensor {
		return Subtract(Transpose(x[0], "T"), Transpose(x[1], "U"), "Y")
	}, each(tir.Float32, []int{36, 40}, func(i []int) float64 { return a.at(i[1], i[0]) - b.at(i[0], i[1]) }), a,
		permuted(b, 1, 0))
	square := sample(tir.Float32, 37, 37)
	add("with itself", func(x []*te.Tensor) *te.Tensor { return Subtract(Transpose(x[0], "T"), x[0], "Y") },
		each(tir.Float32, []int{37, 37}, func(i []int) float64 { return square.at(i[1], i[0]) - square.at(i...) }), square)
	add("twice", func(x []*te.Tensor) *te.Tensor { return Transpose(Relu(Transpose(x[0], "T"), "R"), "Y") },
		each(tir.Float32, []int{37, 37}, func(i []int) float64 { return max(0, square.at(i...)) }), square)
	add("slice", func(x []*te.Tensor) *te.Tensor {
		return Slice(Transpose(x[0], "T"), "Y", Range{0, 1, ToEnd, 0}, Range{1, 3, 35, 0})
	}, each(tir.Float32, []int{36, 32}, func(i []int) float64 { return square.at(i[1]+3, i[0]+1) }), square)
	add("with padding", func(x []*te.Tensor) *te.Tensor {
		return Pad(Transpose(x[0], "T"), "Y", []int{1, 2}, []int{0, 3})
	}, each(tir.Float32, []int{38, 42}, func(i []int) float64 {
		if r, c := i[0]-1, i[1]-2; r >= 0 && c >= 0 && c < 37 {
			return square.at(c, r)
		}
		return 0
	}), square)
	add("repeated", func(x []*te.Tensor) *te.Tensor { return Add(Transpose(x[0], "T"), x[1], "Y") },
		each(tir.Float32, []int{3, 37, 37}, func(i []int) float64 { return square.at(i[2], i[1]) + 1 }), square,
		filled(tir.Float32, []int{3, 1, 1}, func(int) float64 { return 1 }))
	return cases
}
