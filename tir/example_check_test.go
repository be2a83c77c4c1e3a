package tir_test

import (
	"fmt"

	"tvmgo/tir"
)

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
