package pack_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tvmgo/export/pack"
	"tvmgo/runtime"
)

// A kernel in C becomes a library with a function that checks its arguments.
func ExampleLibrary() {
	dir, err := os.MkdirTemp("", "pack")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	source, library := filepath.Join(dir, "k.c"), filepath.Join(dir, "k.so")
	code := "void add(const float* a, const float* b, float* c, long n) { for (long i = 0; i < n; i++) c[i] = a[i] + " +
		"b[i]; }\n"
	if err := os.WriteFile(source, []byte(code), 0o666); err != nil {
		panic(err)
	}
	ctx := context.Background()
	err = pack.Library(ctx, pack.Kernels{
		Inputs:    []pack.Input{{Path: source}},
		Functions: []pack.Function{{Signature: "add(a: const float32[n], b: const float32[n], c: out float32[n], n: int64)"}},
	}, library)
	if err != nil {
		panic(err)
	}

	m, err := runtime.Load(ctx, library)
	if err != nil {
		panic(err)
	}
	defer m.Close()
	add, err := m.Function("add")
	if err != nil {
		panic(err)
	}
	defer add.Close()
	a, _ := runtime.FromSlice([]float32{1, 2})
	b, _ := runtime.FromSlice([]float32{10, 20})
	c, _ := runtime.FromSlice([]float32{0, 0})
	if _, err := add.Call(a, b, c, 2); err != nil {
		panic(err)
	}
	sum, _ := runtime.ToSlice[float32](c)
	fmt.Println(sum)
	_, err = add.Call(a, b, c, 3)
	fmt.Println(err)
	// Output:
	// [11 22]
	// call function: add: argument 0 (a): shape[0] is 2, expected n = 3 (argument 3 (n))
}
