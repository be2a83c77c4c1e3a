package tir_test

import (
	"fmt"

	"tvmgo/tir"
)

func ExampleDifference() {
	double := func(name string, factor float32) *tir.PrimFunc {
		p, i := tir.NewVar(name, tir.Handle), tir.NewVar("i", tir.Int32)
		b := tir.NewBuffer(name, tir.Float32, tir.I32(16))
		return &tir.PrimFunc{Name: "main", Params: []*tir.Var{p}, Buffers: map[*tir.Var]*tir.Buffer{p: b}, Result: tir.Void,
			Body: &tir.For{Var: i, Min: tir.I32(0), Extent: tir.I32(16),
				Body: &tir.BufferStore{Buffer: b, Indices: []tir.Expr{i}, Value: tir.Mul(tir.BufferAt(b, i), tir.F32(factor))}}}
	}
	fmt.Println(tir.Equal(double("A", 2), double("B", 2)), tir.Hash(double("A", 2)) == tir.Hash(double("B", 2)))
	fmt.Println(tir.Difference(double("A", 2), double("A", 3)))
	// Output:
	// true true
	// main.body.for(i).body.value.b: constant 2 of type float32 is not 3 of type float32
}

func ExampleCheck() {
	x := tir.NewVar("x", tir.Int32)
	m, err := tir.NewModule(&tir.PrimFunc{Name: "main", Params: []*tir.Var{x}, Result: tir.Void, Body: tir.Sequence(
		&tir.Evaluate{Value: tir.Add(x, tir.F32(0.5))},
		&tir.Evaluate{Value: tir.NewVar("y", tir.Int32)},
	)})
	if err != nil {
		panic(err)
	}
	for _, e := range tir.CheckAll(m) {
		fmt.Println(e)
	}
	// Output:
	// tir: check main.body[0].value: tir: +: operands of types int32 and float32: cast one
	// tir: check main.body[1].value: variable y is not defined
}
