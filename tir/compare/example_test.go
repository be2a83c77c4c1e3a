package compare_test

import (
	"fmt"

	"tvmgo/tir"
	"tvmgo/tir/compare"
)

func ExampleDifference() {
	double := func(name string, factor float32) *tir.PrimFunc {
		p, i := tir.NewVar(name, tir.Handle), tir.NewVar("i", tir.Int32)
		b := tir.NewBuffer(name, tir.Float32, tir.I32(16))
		return &tir.PrimFunc{Name: "main", Params: []*tir.Var{p}, Buffers: map[*tir.Var]*tir.Buffer{p: b}, Result: tir.Void,
			Body: &tir.For{Var: i, Min: tir.I32(0), Extent: tir.I32(16),
				Body: &tir.BufferStore{Buffer: b, Indices: []tir.Expr{i}, Value: tir.Mul(tir.BufferAt(b, i), tir.F32(factor))}}}
	}
	fmt.Println(compare.Equal(double("A", 2), double("B", 2)), compare.Hash(double("A", 2)) == compare.Hash(double("B",
		2)))
	fmt.Println(compare.Difference(double("A", 2), double("A", 3)))
	// Output:
	// true true
	// main.body.for(i).body.value.b: value 2 is not 3
}
