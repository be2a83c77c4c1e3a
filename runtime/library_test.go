package runtime_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestModule_MissingFunction(t *testing.T) {
	noLeaks(t)
	for _, a := range cpuArtifacts {
		m := modules.Load(t, artifacts+a.file)
		for _, name := range []string{"addon", "expf", "malloc", "printf", "dlopen", "__tvm_ffi_addone", "_init",
			"addone\x00", "", " ",
			"__tvm_module_ctx", "_ctx", "__tvm_ffi_", strings.Repeat("x", 10000)} {
			f, err := m.Function(name)
			require.Nil(t, f)
			requireError(t, err, runtime.ErrNotFound)
		}
		requireError(t, must.Fail(m.Function("addon")), runtime.ErrNotFound, `did you mean "addone"?`, "it has: addone")
	}
}

func TestModule_Entry(t *testing.T) {
	noLeaks(t)
	require.Equal(t, int64(0), call(t, function(t, modules.Load(t, buildC(t, classicSource)), "__tvm_main__")))
	m := modules.Load(t, artifacts+"modern/addone_llvm.so")
	in, out := tensor(t, []float32{1}), tensor(t, []float32{0})
	call(t, function(t, m, "main"), in, out)
	require.Equal(t, []float32{2}, slice[float32](t, out))
}

func TestModule_UsedAfterClose(t *testing.T) {
	noLeaks(t)
	other := modules.Load(t, multiC)
	m := must.Get(runtime.Load(ctx, multiC))(t)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	for _, m := range []*runtime.Module{m, nil} {
		for range 3 { // failed uses must not make the module look open
			requireError(t, must.Fail(m.Function("addone")), runtime.ErrClosed)
		}
		requireError(t, must.Fail(m.Imports()), runtime.ErrClosed)
		requireError(t, must.Fail(m.GetSource("")), runtime.ErrClosed)
		requireError(t, must.Fail(m.SaveToBinary()), runtime.ErrClosed)
		requireError(t, must.Fail(m.Metadata("addone")), runtime.ErrClosed)
		requireError(t, must.Fail(m.Doc("addone")), runtime.ErrClosed)
		requireError(t, m.SaveToFile("x", ""), runtime.ErrClosed)
		requireError(t, m.Import(other), runtime.ErrClosed)
		requireError(t, other.Import(m), runtime.ErrClosed)
		require.Empty(t, m.Kind())
		require.Zero(t, m.Properties())
		require.Nil(t, m.Functions())
		require.NoError(t, m.Close())
	}
}

func TestModule_LibraryHasNoSourceAndNoFormats(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, multiC)
	requireError(t, must.Fail(m.GetSource("")), runtime.ErrNotSupported, "library")
	requireError(t, m.SaveToFile(filepath.Join(t.TempDir(), "x"), ""), runtime.ErrNotSupported, "library")
}

func TestSystemLib_IsOneModulePerPrefix(t *testing.T) {
	for _, prefix := range []string{"", "tvmgo_test_"} {
		m := must.Get(runtime.SystemLib(prefix))(t)
		n := runtime.Live().Modules
		again := must.Get(runtime.SystemLib(prefix))(t)
		require.Equal(t, n, runtime.Live().Modules)
		requireError(t, must.Fail(m.Function("nothing")), runtime.ErrNotFound)
		require.NoError(t, m.Close())
		require.NoError(t, again.Close())
	}
}
