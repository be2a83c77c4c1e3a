package main_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// An exported static library registers its functions and imports in the C program that it is linked into.
func TestExported_SystemLibrary(t *testing.T) {
	l := newLab(t)
	code := "#include <tvm/ffi/c_api.h>\nvoid* __tvm_ffi__library_ctx = 0;\n" +
		"int __tvm_ffi_five(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {\n" +
		"  result->type_index = kTVMFFIInt;\n  result->v_int64 = __tvm_ffi__library_ctx ? 5 : 0;\n  return 0;\n}\n"
	m := must.Open(runtime.NewCSource(code, "c", []string{"five"}, nil))(t)
	constants := must.Open(runtime.NewConstants(&blob.Constants{}))(t)
	require.NoError(t, m.Import(constants))
	archive := l.path("bin", "app.a")
	require.NoError(t, export.Library(context.Background(), m, archive, export.SystemLibrary("app_")))
	flags := append([]string{"-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"}, l.linked()...)
	l.runOK(t, nil, l.compile(t, "exported_test", "exported_test.c", flags...))
}
