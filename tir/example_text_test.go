package tir_test

import (
	"fmt"

	"tvmgo/tir"
	_ "tvmgo/tir/text" // for String
)

// The text of a function that a program has made.
func ExampleIRModule_String() {
	i := tir.NewVar("i", tir.Int32)
	out := tir.NewVar("out", tir.Handle)
	b := tir.NewBuffer("out", tir.Int32, tir.I32(10))
	square := &tir.BufferStore{Buffer: b, Value: tir.Mul(i, i), Indices: []tir.Expr{i}}
	m, err := tir.NewModule(&tir.PrimFunc{
		Name: "squares", Params: []*tir.Var{out}, Buffers: map[*tir.Var]*tir.Buffer{out: b}, Result: tir.Void,
		Attrs: map[string]any{"tir.noalias": true},
		Body: &tir.For{Kind: tir.ThreadBind, Var: i, Min: tir.I32(0), Extent: tir.I32(10), Thread: "threadIdx.x",
			Body: square},
	})
	fmt.Print(m, err, "\n")
	// Output:
	// func squares(out: handle) {
	//   attrs {"tir.noalias": true}
	//   buffer out: int32[10], param out
	//   thread i in range(10), thread "threadIdx.x" {
	//     out[i] = i * i
	//   }
	// }
	//  <nil>
}
