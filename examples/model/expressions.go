package main

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

const (
	inner   = 32 // the length of an input row
	classes = 10
)

// denseLayer is relu(A·B + bias) for any number of rows. It is computed in tiles of 4 rows and 8 columns, which do not
// have to divide the sizes. The columns of a tile are computed in vectors, and rows of tiles in parallel.
func denseLayer() (*tir.IRModule, error) {
	n := te.Var("n")
	a := te.Placeholder([]tir.Expr{n, tir.I32(inner)}, tir.Float32, "A")
	b := te.Placeholder(te.Dims(inner, classes), tir.Float32, "B")
	bias := te.Placeholder(te.Dims(classes), tir.Float32, "bias")
	k := te.ReduceAxis(tir.I32(0), tir.I32(inner), "k")
	shape := []tir.Expr{n, tir.I32(classes)}
	product := te.Compute(shape, "product", func(i ...tir.Expr) tir.Expr {
		return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k)
	})
	out := te.Compute(shape, "out", func(i ...tir.Expr) tir.Expr {
		return tir.Max(tir.Add(product.At(i...), bias.At(i[1])), tir.F32(0))
	})

	s, err := te.NewSchedule(out)
	if err != nil {
		return nil, err
	}
	stage := s.Stage(out)
	rows, columns, _, lane := stage.Tile(out.Axes()[0], out.Axes()[1], 4, 8)
	stage.Parallel(rows)
	stage.Vectorize(lane)
	sums := s.Stage(product) // the sums of a tile are in separate memory
	sums.ComputeAt(stage, columns)
	sums.Reorder(k, product.Axes()[0], product.Axes()[1])
	sums.Vectorize(product.Axes()[1])
	return te.Lower(s, []any{a, b, bias, out}, "dense")
}

// softmaxLayer converts each row to probabilities.
func softmaxLayer() (*tir.IRModule, error) {
	n := te.Var("n")
	row, shape := []tir.Expr{n}, []tir.Expr{n, tir.I32(classes)}
	x := te.Placeholder(shape, tir.Float32, "X")
	k, l := te.ReduceAxis(tir.I32(0), tir.I32(classes), "k"), te.ReduceAxis(tir.I32(0), tir.I32(classes), "l")
	greatest := te.Compute(row, "greatest", func(i ...tir.Expr) tir.Expr { return te.Max(x.At(i[0], k.Var), k) })
	e := te.Compute(shape, "e", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("exp", tir.Sub(x.At(i...), greatest.At(i[0])))
	})
	sum := te.Compute(row, "sum", func(i ...tir.Expr) tir.Expr { return te.Sum(e.At(i[0], l.Var), l) })
	out := te.Compute(shape, "out", func(i ...tir.Expr) tir.Expr { return tir.Div(e.At(i...), sum.At(i[0])) })

	s, err := te.NewSchedule(out)
	if err != nil {
		return nil, err
	}
	rows := out.Axes()[0]
	stage := s.Stage(out)
	stage.Parallel(rows)
	for _, t := range []*te.Tensor{greatest, e, sum} {
		s.Stage(t).ComputeAt(stage, rows)
	}
	return te.Lower(s, []any{x, out}, "softmax")
}

// program returns both layers as one module.
func program() (*tir.IRModule, error) {
	var all []*tir.PrimFunc
	for _, layer := range []func() (*tir.IRModule, error){denseLayer, softmaxLayer} {
		m, err := layer()
		if err != nil {
			return nil, fmt.Errorf("write the model: %w", err)
		}
		all = append(all, m.Funcs...)
	}
	return tir.NewModule(all...)
}
