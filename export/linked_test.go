package export_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// TestLibrary_ObjectsLoad loads modules that were exported as objects, which are linked when they are loaded.
func TestLibrary_ObjectsLoad(t *testing.T) {
	root, err := runtime.NewCSource("#include <tvm/ffi/c_api.h>\nint __tvm_ffi_seven(void* self, const TVMFFIAny* args, "+
		"int32_t n, TVMFFIAny* result) {\n"+
		"  (void)self, (void)args, (void)n;\n  result->type_index = kTVMFFIInt;\n  result->v_int64 = 7;\n  return 0;\n}\n",
		"c", []string{"seven"}, nil)
	require.NoError(t, err)
	defer root.Close()
	for _, suffix := range []string{".tar", ".o"} {
		path := filepath.Join(t.TempDir(), "m"+suffix)
		require.NoError(t, export.Library(ctx, root, path))
		m := must.Get(runtime.Load(ctx, path))(t)
		f := must.Get(m.Function("seven"))(t)
		require.EqualValues(t, 7, must.Get(f.Call())(t))
		require.NoError(t, f.Close())
		require.NoError(t, m.Close())
	}
}
