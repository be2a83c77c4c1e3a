package runtime_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// The functions through which C and Python clients access modules, under the names of both generations.
func TestBuiltins_OfModules(t *testing.T) {
	processState(t)
	noLeaks(t)
	namedKind(t, nil)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.so")
	writeFile(t, path, withBlob(t, probeSource, modernTree([]entry{lib(), of("a")}, [][]int{{1}, nil})))
	for _, names := range []map[string]string{
		{"load": "ffi.ModuleLoadFromFile", "get": "ffi.ModuleGetFunction", "has": "ffi.ModuleImplementsFunction",
			"kind": "ffi.ModuleGetKind",
			"mask": "ffi.ModuleGetPropertyMask", "source": "ffi.ModuleInspectSource", "write": "ffi.ModuleWriteToFile",
			"import": "ffi.ModuleImportModule", "clear": "ffi.ModuleClearImports", "system": "ffi.SystemLib"},
		{"load": "runtime.ModuleLoadFromFile", "get": "runtime.ModuleGetFunction",
			"has": "runtime.ModuleImplementsFunction", "kind": "runtime.ModuleGetTypeKey",
			"mask": "runtime.ModuleGetPropertyMask", "source": "runtime.ModuleGetSource",
			"write":  "runtime.ModuleSaveToFile",
			"import": "runtime.ModuleImport", "clear": "runtime.ModuleClearImports", "system": "runtime.SystemLib"},
	} {
		do := func(what string, args ...any) any { t.Helper(); return call(t, global(t, names[what]), args...) }
		fails := func(what string, args ...any) {
			t.Helper()
			_, err := global(t, names[what]).Call(args...)
			require.Error(t, err)
			require.Contains(t, err.Error(), "call function: ")
		}
		m := do("load", path, "so").(*runtime.Module)
		defer m.Close()
		require.Equal(t, "library", do("kind", m))
		require.EqualValues(t, m.Properties(), do("mask", m))
		f := do("get", m, "who", true).(*runtime.Function)
		require.Equal(t, "a", call(t, f))
		require.NoError(t, f.Close())
		require.Nil(t, do("get", m, "who", false))
		require.Nil(t, do("get", m, "nothing", true))
		require.Equal(t, true, do("has", m, "echo", false))
		require.Equal(t, false, do("has", m, "a", false))
		require.Equal(t, true, do("has", m, "a", true))
		require.Equal(t, false, do("has", m, "nothing", true))
		for what, args := range map[string][]any{
			"load": {}, "get": {m}, "has": {m, 1}, "kind": {"m"}, "mask": {}, "source": {m}, "write": {m, "x"},
			"import": {m, m}, "clear": {1}, "system": {1},
		} {
			fails(what, args...)
		}
		fails("load", filepath.Join(dir, "missing.so"))
		fails("load", path, "unknown")
		fails("load", nil)
		require.NoError(t, do("system").(*runtime.Module).Close())
		do("clear", m)
		require.Nil(t, do("get", m, "who", true))
	}
	require.EqualValues(t, 0, call(t, global(t, "runtime.ModuleImportsSize"), modules.Load(t, multiC)))
	_, err := global(t, "runtime.ModuleGetImport").Call(modules.Load(t, multiC), 0)
	requireError(t, err, runtime.ErrInvalidArgument, "index 0")

	// Kept by the process until it is removed.
	m := modules.Load(t, path)
	same := call(t, goFunction(t, func(args ...any) (any, error) { return args[0], nil }), m).(*runtime.Module)
	call(t, global(t, "ffi.ModuleGlobalsAdd"), m)
	call(t, global(t, "ffi.ModuleGlobalsAdd"), m)
	n := runtime.Live().Modules
	call(t, global(t, "ffi.ModuleGlobalsRemove"), modules.Load(t, multiC))
	require.Equal(t, n+1, runtime.Live().Modules, "removing another one changes nothing")
	call(t, global(t, "ffi.ModuleGlobalsRemove"), same)
	require.NoError(t, same.Close())
	require.NoError(t, m.Close())
	require.Equal(t, n-1, runtime.Live().Modules)
}

// processState creates objects that live as long as the process: system libraries, one for each prefix, and the list of
// kept modules.
func processState(t *testing.T) {
	t.Helper()
	call(t, global(t, "ffi.ModuleGlobalsRemove"), modules.Load(t, multiC))
	for _, prefix := range []string{"", "text"} {
		m := must.Get(runtime.SystemLib(prefix))(t)
		require.NoError(t, m.Close())
	}
}

// All functions that are registered from the start reject wrong arguments with an error.
func TestBuiltins_RefuseNonsense(t *testing.T) {
	processState(t)
	kindsOnce(t)
	noLeaks(t)
	t.Chdir(t.TempDir()) // some of them write files
	x := tensor(t, []float32{1})
	skip := map[string]bool{"runtime.config_threadpool": true, "ffi.FunctionRemoveGlobal": true,
		"ffi.FunctionFromExternC": true,
		// take addresses, or change the process
		"runtime.TVMTensorCopyFromBytes": true, "runtime.TVMTensorCopyToBytes": true}
	lists := [][]any{nil, {nil}, {-1}, {1 << 40}, {"text"}, {x}, {runtime.CPU}, {[]any{}}, {runtime.Map{}},
		{runtime.Shape{1}},
		{nil, nil}, {x, x}, {[]any{1}, -1}, {[]any{1}, 1 << 40}, {runtime.Map{}, "key"}, {"text", "text"},
		{x, runtime.Shape{-1}, dlpack.Float32},
		{x, runtime.Shape{1 << 40, 1 << 40}, dlpack.Float32, 1 << 60}, {runtime.Shape{2}, dlpack.Float32, runtime.CPU,
			"no.scope"},
		{1, 0, -5}, {1, -1, 0}, {77, 0, 0}, {-1, -1, -1}, {1, 2, 3, 4, 5, 6, 7, 8}, {1 << 32, 1 << 33, 1 << 34}}
	for _, name := range runtime.GlobalNames() {
		if skip[name] {
			continue
		}
		f := global(t, name)
		for _, args := range lists {
			v, err := f.Call(args...)
			if err != nil {
				requireAnyError(t, name, err)
			}
			closeValue(v)
		}
	}
	// Resets what they may have set on a thread: a stream of the CPU is NULL.
	must.Get(global(t, "runtime.Device_SetStream").Call(1, 0, 0))(t)
}

func requireAnyError(t *testing.T, name string, err error) {
	t.Helper()
	var e *runtime.Error
	require.ErrorAs(t, err, &e, name)
	require.NotEmpty(t, e.Message, name)
	require.NotEmpty(t, e.Code, name)
}

func closeValue(v any) {
	switch v := v.(type) {
	case interface{ Close() error }:
		v.Close()
	case []any:
		for _, i := range v {
			closeValue(i)
		}
	case runtime.Map:
		for _, e := range v {
			closeValue(e.Key)
			closeValue(e.Value)
		}
	}
}
