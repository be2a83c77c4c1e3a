// The libraries in testdata/artifacts are for this architecture.

//go:build amd64

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// A module exported by TVM, one of its functions, and tensors to call it with.
func Example() {
	ctx := context.Background()
	m, err := runtime.Load(ctx, "../testdata/artifacts/modern/multi_c.so")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	add, err := m.Function("vadd")
	if err != nil {
		log.Fatal(err)
	}
	defer add.Close()

	a, err := runtime.FromSlice([]float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := runtime.FromSlice([]float32{10, 20, 30})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	c, err := runtime.NewTensor(dlpack.Float32, []int64{3}, runtime.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	if _, err := add.Call(a, b, c); err != nil { // outputs come last
		log.Fatal(err)
	}
	sum, err := runtime.ToSlice[float32](c)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: [11 22 33]
}

// Bind a call that is made often: each call is then one cgo call and allocates nothing.
func ExampleFunction_Bind() {
	m, err := runtime.Load(context.Background(), "../testdata/artifacts/modern/addone_llvm.so")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, err := m.Function("addone")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	x, err := runtime.FromSlice([]float32{1})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	step, err := f.Bind(x, x)
	if err != nil {
		log.Fatal(err)
	}
	defer step.Close()
	for range 10 {
		if err := step.Call(); err != nil {
			log.Fatal(err)
		}
	}
	v, err := runtime.ToSlice[float32](x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v)
	// Output: [11]
}

// Source code as a module, as files hold it until it is exported into a library.
func ExampleNewCSource() {
	m, err := runtime.NewCSource("int one(void) { return 1; }\n", "c", []string{"one"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	_, err = m.Function("one")
	fmt.Println(m.Kind(), m.Functions(), errors.Is(err, runtime.ErrNotSupported))
	// Output: c [one] true
}

// Work on a stream is done in its order; Sync waits for it. The same code works on the CPU, where a call is done when
// it returns.
func ExampleNewStream() {
	ctx := context.Background()
	m, err := runtime.Load(ctx, "../testdata/artifacts/modern/addone_llvm.so")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, err := m.Function("addone")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	x, err := runtime.FromSlice([]float32{1, 2})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	s, err := runtime.NewStream(runtime.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := f.CallOn(s, x, x); err != nil {
		log.Fatal(err)
	}
	if err := s.Sync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(runtime.ToSlice[float32](x))
	// Output: [2 3] <nil>
}

// A module from an fs.FS: a directory, an archive, or files that go:embed put into the program.
func ExampleLoadFS() {
	m, err := runtime.LoadFS(context.Background(), os.DirFS("../testdata/artifacts"), "modern/addone_llvm.so")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Kind())
	_, err = runtime.LoadFS(context.Background(), os.DirFS("../testdata/artifacts"), "absent.so")
	fmt.Println(err)
	// Output:
	// library
	// load absent.so: open absent.so: no such file or directory
}
