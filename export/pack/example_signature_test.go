package pack_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/runtime"
)

// A signature describes the parameters of the function and the launch of its device kernels. An error names the column.
func ExampleParseSignature() {
	s, err := pack.ParseSignature("add=add_f32(a: const float32[n], c: out float32[n], n: int32) launch " +
		"blockIdx.x=ceildiv(n,64), threadIdx.x=64")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Name, s.Symbol, s.NumArgs())
	for _, p := range s.Params {
		fmt.Println(p.Name, p.TypeText(), p.Tensor)
	}
	fmt.Println(s.Launch[0].Tag, s.Launch[0].Expr)

	_, err = pack.ParseSignature("add(a: float33[n])")
	var wrong *pack.SignatureError
	fmt.Println(errors.As(err, &wrong), wrong.Column)
	// Output:
	// add add_f32 3
	// a float32[n] true
	// c float32[n] true
	// n int32 false
	// blockIdx.x ceildiv(n, 64)
	// true 8
}

// A library may contain test vectors: arguments, and the results that a device must return.
func ExampleVerify() {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("twice-%d", os.Getpid()))
	defer os.Remove(path + ".c")
	defer os.Remove(path + ".so")
	err := os.WriteFile(path+".c", []byte("void twice(const signed char* x, signed char* y) { *y = *x + *x; }\n"), 0o666)
	if err != nil {
		log.Fatal(err)
	}
	array := func(v byte) *pack.Array { return &pack.Array{DType: dlpack.Int8, Shape: []int64{1}, Data: []byte{v}} }
	err = pack.Library(context.Background(), pack.Kernels{
		Inputs: []pack.Input{{Path: path + ".c"}},
		Functions: []pack.Function{{
			Signature: "twice(x: const int8[1], y: out int8[1])",
			Vectors:   []pack.Vector{{In: []any{array(4)}, Out: []*pack.Array{array(8)}}},
		}}}, path+".so")
	if err != nil {
		log.Fatal(err)
	}
	m, err := runtime.Load(context.Background(), path+".so")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	report, err := pack.Verify(context.Background(), m, runtime.CPU, pack.DefaultTolerance)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Device, len(report.Vectors), report.Failed())
	// Output: cpu:0 1 0
}
