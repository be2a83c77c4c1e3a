package hello_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/codegen/hello"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// copied is the tutorial's program: it copies A to B.
func copied() (*tir.IRModule, error) {
	a := te.Placeholder(te.Dims(10, 10), tir.Float32, "A")
	b := te.Compute(te.Dims(10, 10), "B", func(i ...tir.Expr) tir.Expr { return a.At(i...) })
	s, err := te.NewSchedule(b)
	if err != nil {
		return nil, err
	}
	return te.Lower(s, []any{a, b}, "default_function")
}

func build() (*runtime.Module, error) {
	program, err := copied()
	if err != nil {
		return nil, err
	}
	t, err := target.New("hello")
	if err != nil {
		return nil, err
	}
	return codegen.Build(program, t)
}

// A placeholder, a computation that copies it, a schedule, and a module of kind "hello", whose functions print their
// code.
func Example() {
	m, err := build()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	code, err := m.GetSource("")
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _, _ := strings.Cut(code, "\n")
	fmt.Println(m.Kind() + ": " + first)
	_, loops, _ := strings.Cut(code, "default_function_body(")
	loops, _, _ = strings.Cut(loops, "\n}")
	fmt.Println("default_function_body(" + loops)

	var printed strings.Builder
	hello.Output = &printed
	defer func() { hello.Output = os.Stdout }()
	f, err := m.Function("default_function")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	if _, err := f.Call(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(printed.String() == code)
	// Output:
	// hello: // hello tvm backend!
	// default_function_body(float* A, float* B) {
	//   for (int32_t i0 = 0; i0 < 10; ++i0) {
	//     for (int32_t i1 = 0; i1 < 10; ++i1) {
	//       B[i0 * 10 + i1] = A[i0 * 10 + i1];
	//     }
	//   }
	//   return 0;
	// true
}

// TestGolden compares the tutorial's function with a file; the code before and after it is that of kind c.
func TestGolden(t *testing.T) {
	m := must.Open(build())(t)
	code := must.Get(m.GetSource(""))(t)
	require.True(t, strings.HasPrefix(code, "// hello tvm backend!\n"))
	_, code, found := strings.Cut(code, "\n/* default_function(")
	require.True(t, found)
	// these functions contain the version of the builder
	code, _, found = strings.Cut("/* default_function("+code, "\nTVMGO_EXPORT int __tvm_ffi__metadata_")
	require.True(t, found)
	golden.Text(t, "testdata/default_function.golden.c", code)
}
