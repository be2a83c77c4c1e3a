package codegen_test

import (
	"fmt"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// A program is made, built for the CPU, and called.
func ExampleBuild() {
	n, i := tir.NewVar("n", tir.Int64), tir.NewVar("i", tir.Int64)
	a, b := tir.NewBuffer("A", tir.Float32, n), tir.NewBuffer("B", tir.Float32, n)
	x, y := tir.NewVar("a", tir.Handle), tir.NewVar("b", tir.Handle)
	program, err := tir.NewModule(&tir.PrimFunc{
		Name: "double", Params: []*tir.Var{x, y}, Buffers: map[*tir.Var]*tir.Buffer{x: a, y: b}, Result: tir.Void,
		Body: &tir.For{Var: i, Min: tir.I64(0), Extent: n, Body: &tir.BufferStore{
			Buffer: b, Indices: []tir.Expr{i}, Value: tir.Mul(tir.BufferAt(a, i), tir.F32(2))}},
	})
	if err != nil {
		panic(err)
	}
	cpu, err := target.New("c")
	if err != nil {
		panic(err)
	}
	m, err := codegen.Build(program, cpu)
	if err != nil {
		panic(err)
	}
	defer m.Close()
	f, err := m.Function("double")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	in, _ := runtime.FromSlice([]float32{1, 2, 3})
	defer in.Close()
	out, _ := runtime.NewTensor(dlpack.Float32, []int64{3}, runtime.CPU)
	defer out.Close()
	if _, err := f.Call(in, out); err != nil {
		panic(err)
	}
	fmt.Println(runtime.ToSlice[float32](out))

	short, _ := runtime.NewTensor(dlpack.Float32, []int64{2}, runtime.CPU)
	defer short.Close()
	_, err = f.Call(in, short)
	fmt.Println(err)
	// Output:
	// [2 4 6] <nil>
	// call function: double: argument 1 (B): shape[0] is 2, expected n = 3 (argument 0 (A): shape[0])
}
