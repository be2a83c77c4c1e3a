package export_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tvmgo/export"
	"tvmgo/runtime"
)

// Source code becomes a shared library, which tvmgo and Apache TVM load.
func ExampleLibrary() {
	const code = `#include <tvm/ffi/c_api.h>
TVM_FFI_DLL_EXPORT int __tvm_ffi_answer(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = 42;
  return 0;
}
`
	source, err := runtime.NewCSource(code, "c", []string{"answer"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	ctx, path := context.Background(), filepath.Join(os.TempDir(), fmt.Sprintf("answer-%d.so", os.Getpid()))
	defer os.Remove(path)
	if err := export.Library(ctx, source, path, export.Flags("-O3")); err != nil {
		log.Fatal(err)
	}
	m, err := runtime.Load(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	answer, err := m.Function("answer")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Close()
	fmt.Println(answer.Call())
	// Output: 42 <nil>
}

// A compiler that fails is a CompileError, with the command and what it printed. No file appears.
func ExampleCompileError() {
	source, err := runtime.NewCSource("this is not C\n", "c", []string{"f"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("broken-%d.so", os.Getpid()))
	err = export.Library(context.Background(), source, path)
	var failed *export.CompileError
	fmt.Println(errors.As(err, &failed), failed != nil && failed.Output != "")
	_, err = os.Stat(path)
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// true true
	// true
}
