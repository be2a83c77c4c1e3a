package export_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/runtime"
)

var ctx = context.Background()

const addOne = `
#include <tvm/ffi/c_api.h>
void* __tvm_ffi__library_ctx = 0;
int __tvm_ffi_add_one(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + 1;
  return 0;
}
`

func TestX(t *testing.T) {
	m, err := runtime.NewCSource(addOne, "c", []string{"add_one"}, nil)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.so")
	require.NoError(t, export.Library(ctx, m, path))
	l, err := runtime.Load(ctx, path)
	require.NoError(t, err)
	f, err := l.Function("add_one")
	require.NoError(t, err)
	v, err := f.Call(41)
	require.NoError(t, err)
	require.EqualValues(t, 42, v)
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, files, 1)
}
