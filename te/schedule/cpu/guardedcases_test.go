//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tvmgo/internal/testing/errbound"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

var f32 = errbound.Float32

// upTo is the greatest size of each dimension of which every size is tested.
const upTo = 40

// guardedCases returns operators whose dimensions have every size up to 40 in some case, beside larger ones; with all,
// products have every combination of sizes, and more combinations are compiled with fixed sizes.
func guardedCases(r *rand.Rand, all bool) []guarded {
	cases := matmulCases(r, all)
	n, m := te.Var("n"), te.Var("m")
	anySize := te.Placeholder([]tir.Expr{n, m}, tir.Float32, "X")
	var open [][]int
	for d := 1; d <= upTo; d++ {
		open = append(open, []int{1 + r.IntN(9), d}, []int{d, 1 + r.IntN(9)})
	}
	for _, op := range rowOperators {
		cases = append(cases, op(anySize, open))
		fixed := [][]int{{3, 64}, {2, 127}, {5, 129}, {1, 300}, {70, 33}, {33, 70}, {1, 20000}, {520, 1024}}
		for range 4 {
			fixed = append(fixed, []int{1 + r.IntN(upTo), 1 + r.IntN(upTo)})
		}
		for _, s := range fixed {
			cases = append(cases, op(holder(tir.Float32, "X", s...), [][]int{s}))
		}
	}
	return slices.Concat(cases, windowCases(r, all), blockedCases(r, all), attentionCases(r, all))
}

// matmulCases returns products, transposed and with bias and ReLU in turn.
func matmulCases(r *rand.Rand, all bool) (cases []guarded) {
	n, m, k := te.Var("n"), te.Var("m"), te.Var("k")
	var open [][3]int
	sizes := []int{1, 2, 3, 7, 8, 15, 16, 17, 31, 33, upTo}
	for a := 1; a <= upTo; a++ {
		for b := 1; b <= upTo; b++ {
			if c := 1 + r.IntN(upTo); all {
				for c := 1; c <= upTo; c++ {
					open = append(open, [3]int{a, b, c})
				}
			} else if (a+b)%5 == 0 {
				open = append(open, [3]int{a, b, c}, [3]int{c, a, b})
			}
		}
	}
	open = append(open, [3]int{70, 65, 129}, [3]int{1, 300, 200}, [3]int{200, 1, 300})
	x, y := te.Placeholder([]tir.Expr{n, k}, tir.Float32, "X"), te.Placeholder([]tir.Expr{k, m}, tir.Float32, "Y")
	cases = append(cases, product("product of any size", x, y, nil, 0, open))

	fixed := [][3]int{{65, 63, 130}, {1, 256, 200}, {8, 128, 100}, {130, 47, 64}, {49, 100, 49}}
	p, q := r.Perm(upTo), r.Perm(upTo)
	for i := range upTo {
		fixed = append(fixed, [3]int{i + 1, p[i] + 1, q[i] + 1})
	}
	for _, d := range sizes {
		fixed = append(fixed, [3]int{d, d, d})
	}
	if all {
		for _, a := range sizes {
			for _, b := range sizes {
				for _, c := range sizes {
					fixed = append(fixed, [3]int{a, b, c})
				}
			}
		}
	}
	for i, s := range fixed {
		kind := i % 8
		a, b := []int{s[0], s[2]}, []int{s[2], s[1]}
		if kind&1 != 0 {
			a[0], a[1] = a[1], a[0]
		}
		if kind&2 != 0 {
			b[0], b[1] = b[1], b[0]
		}
		var bias *te.Tensor
		if kind&4 != 0 {
			bias = holder(tir.Float32, "bias", s[1])
		}
		cases = append(cases, product(fmt.Sprintf("product %d", kind), holder(tir.Float32, "X", a...),
			holder(tir.Float32, "Y", b...), bias, kind, [][3]int{s}))
	}
	return cases
}

// product is a product of sizes rows, columns and length. Bits 0 and 1 of kind transpose an operand; a bias comes with
// a ReLU.
func product(name string, x, y, bias *te.Tensor, kind int, sizes [][3]int) guarded {
	var options []ops.MatmulOption
	if kind&1 != 0 {
		options = append(options, ops.TransposeX())
	}
	if kind&2 != 0 {
		options = append(options, ops.TransposeY())
	}
	c := guarded{name: name, ins: []*te.Tensor{x, y}, out: ops.Matmul(x, y, "M", options...)}
	if bias != nil {
		c.ins, c.out = append(c.ins, bias), ops.Relu(ops.Add(c.out, bias, "A"), "R")
	}
	for _, s := range sizes {
		a, b := []int{s[0], s[2]}, []int{s[2], s[1]}
		if kind&1 != 0 {
			a = []int{s[2], s[0]}
		}
		if kind&2 != 0 {
			b = []int{s[1], s[2]}
		}
		shapes := [][]int{a, b}
		if bias != nil {
			shapes = append(shapes, []int{s[1]})
		}
		c.calls = append(c.calls, append(shapes, []int{s[0], s[1]}))
	}
	c.want = func(shapes [][]int, in [][]errbound.Number) []errbound.Number {
		size := shapes[len(shapes)-1]
		length := elements(shapes[0]) / size[0]
		// rows of x and columns of y
		rows, columns := in[0], in[1]
		if kind&1 != 0 {
			rows = transposed(rows, length, size[0])
		}
		if kind&2 == 0 {
			columns = transposed(columns, length, size[1])
		}
		var all []errbound.Number
		for i := range size[0] {
			for j := range size[1] {
				v := f32.Dot(rows[i*length:(i+1)*length], columns[j*length:(j+1)*length])
				if bias != nil {
					v = relu(f32.Add(v, in[2][j]))
				}
				all = append(all, v)
			}
		}
		return all
	}
	return c
}

func transposed[T any](x []T, rows, columns int) []T {
	all := make([]T, 0, len(x))
	for j := range columns {
		for i := range rows {
			all = append(all, x[i*columns+j])
		}
	}
	return all
}

// relu changes no distance; NaN stays NaN.
func relu(n errbound.Number) errbound.Number {
	n.Value = math.Max(n.Value, 0)
	return n
}

// rowOperators are operators of matrices; each gets the input and the shapes with which it is called.
var rowOperators = []func(x *te.Tensor, shapes [][]int) guarded{
	func(x *te.Tensor, shapes [][]int) guarded {
		return ofRows("softmax", []*te.Tensor{x}, ops.Softmax(x, "S"), shapes, true, softmaxRow)
	},
	func(x *te.Tensor, shapes [][]int) guarded {
		columns := x.ProducerShape()[1]
		g := te.Placeholder([]tir.Expr{columns}, tir.Float32, "G")
		b := te.Placeholder([]tir.Expr{columns}, tir.Float32, "B")
		return ofRows("layernorm", []*te.Tensor{x, g, b}, ops.LayerNorm(x, g, b, "N", 1, 1e-5), shapes, true, normRow)
	},
	func(x *te.Tensor, shapes [][]int) guarded {
		return ofRows("sum", []*te.Tensor{x}, ops.Sum(x, "S", []int{1}, false), shapes, false,
			func(in ...[]errbound.Number) []errbound.Number { return []errbound.Number{f32.Sum(in[0])} })
	},
	func(x *te.Tensor, shapes [][]int) guarded {
		return ofRows("argmax", []*te.Tensor{x}, ops.ArgMax(x, "S", []int{1}, false), shapes, false, greatestAt)
	},
	func(x *te.Tensor, shapes [][]int) guarded {
		c := ofColumns("sum of columns", x, ops.Sum(x, "S", []int{0}, false), shapes,
			func(in []errbound.Number) errbound.Number { return f32.Sum(in) })
		return c
	},
	func(x *te.Tensor, shapes [][]int) guarded {
		return ofColumns("argmax of columns", x, ops.ArgMax(x, "S", []int{0}, false), shapes,
			func(in []errbound.Number) errbound.Number { return greatestAt(in)[0] })
	},
	func(x *te.Tensor, shapes [][]int) guarded {
		return ofAll("sum of all", x, ops.Sum(x, "S", nil, true), shapes, f32.Sum)
	},
	func(x *te.Tensor, shapes [][]int) guarded {
		return ofAll("greatest of all", x, ops.Max(x, "S", nil, true), shapes, greatestOf)
	},
	func(x *te.Tensor, shapes [][]int) guarded {
		c := guarded{name: "transpose", ins: []*te.Tensor{x}, out: ops.Transpose(x, "T")}
		for _, s := range shapes {
			c.calls = append(c.calls, [][]int{s, {s[1], s[0]}})
		}
		c.want = func(shapes [][]int, in [][]errbound.Number) []errbound.Number {
			return transposed(in[0], shapes[0][0], shapes[0][1])
		}
		return c
	},
}

// ofRows is an operator that computes each row apart; further inputs have the size of a row.
func ofRows(name string, ins []*te.Tensor, out *te.Tensor, shapes [][]int, whole bool,
	row func(in ...[]errbound.Number) []errbound.Number) guarded {
	c := guarded{name: name, ins: ins, out: out}
	for _, s := range shapes {
		call := [][]int{s}
		for range ins[1:] {
			call = append(call, []int{s[1]})
		}
		if result := []int{s[0]}; whole {
			call = append(call, s)
		} else {
			call = append(call, result)
		}
		c.calls = append(c.calls, call)
	}
	c.want = func(shapes [][]int, in [][]errbound.Number) (all []errbound.Number) {
		n := shapes[0][1]
		for i := range shapes[0][0] {
			all = append(all, row(append([][]errbound.Number{in[0][i*n : (i+1)*n]}, in[1:]...)...)...)
		}
		return all
	}
	return c
}

// ofColumns is a reduction of each column.
func ofColumns(name string, x, out *te.Tensor, shapes [][]int,
	column func(in []errbound.Number) errbound.Number) guarded {
	c := guarded{name: name, ins: []*te.Tensor{x}, out: out}
	for _, s := range shapes {
		c.calls = append(c.calls, [][]int{s, {s[1]}})
	}
	c.want = func(shapes [][]int, in [][]errbound.Number) (all []errbound.Number) {
		rows, columns := shapes[0][0], shapes[0][1]
		x := transposed(in[0], rows, columns)
		for j := range columns {
			all = append(all, column(x[j*rows:(j+1)*rows]))
		}
		return all
	}
	return c
}

// ofAll is a reduction of all elements.
func ofAll(name string, x, out *te.Tensor, shapes [][]int, all func(in []errbound.Number) errbound.Number) guarded {
	c := guarded{name: name, ins: []*te.Tensor{x}, out: out}
	for _, s := range shapes {
		c.calls = append(c.calls, [][]int{s, {1, 1}})
	}
	c.want = func(_ [][]int, in [][]errbound.Number) []errbound.Number { return []errbound.Number{all(in[0])} }
	return c
}

// greatestOf follows ops.Max: NaN if an element is.
func greatestOf(in []errbound.Number) errbound.Number {
	top := math.Inf(-1)
	for _, x := range in {
		top = math.Max(top, x.Value)
	}
	return errbound.Number{Value: top}
}

// softmaxRow follows ops.Softmax: NaN and infinity make the whole row NaN.
func softmaxRow(in ...[]errbound.Number) []errbound.Number {
	top := math.Inf(-1)
	for _, x := range in[0] {
		top = math.Max(top, x.Value) // NaN if one is
	}
	var e []errbound.Number
	for _, x := range in[0] {
		e = append(e, f32.Exp(f32.Sub(x, errbound.Number{Value: top})))
	}
	sum := f32.Sum(e)
	for i := range e {
		e[i] = f32.Div(e[i], sum)
	}
	return e
}

// normRow follows ops.LayerNorm with its gamma, beta and eps.
func normRow(in ...[]errbound.Number) []errbound.Number {
	count := errbound.Number{Value: float64(len(in[0]))}
	mean := f32.Div(f32.Sum(in[0]), count)
	var less []errbound.Number
	for _, x := range in[0] {
		less = append(less, f32.Sub(x, mean))
	}
	variance := f32.Div(f32.Dot(less, less), count)
	const eps = 1e-5
	root := f32.Sqrt(f32.Add(variance, errbound.Number{Value: eps, Error: eps * 0x1p-24}))
	for i := range less {
		scaled := f32.Div(less[i], root)
		less[i] = f32.Add(f32.Mul(scaled, in[1][i]), in[2][i])
	}
	return less
}

// greatestAt follows ops.ArgMax: the first of equal elements; NaN is greater than every number.
func greatestAt(in ...[]errbound.Number) []errbound.Number {
	at := 0
	for i, x := range in[0] {
		best := in[0][at].Value
		if !math.IsNaN(best) && (math.IsNaN(x.Value) || x.Value > best) {
			at = i
		}
	}
	return errbound.Exact(float64(at))
}
