package runtime_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func cSource(t testing.TB, code, format string, functions, constants []string) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewCSource(code, format, functions, constants))(t)
}

func staticLibrary(t testing.TB, object []byte, functions ...string) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewStaticLibrary(object, functions))(t)
}

// texts calls a function that returns a list of strings.
func texts(t testing.TB, m *runtime.Module, name string) (list []string) {
	t.Helper()
	for _, v := range call(t, function(t, m, name)).([]any) {
		list = append(list, v.(string))
	}
	return list
}

func TestCSource(t *testing.T) {
	noLeaks(t)
	m := cSource(t, "int add;", "", []string{"add", "sub"}, []string{"w"})
	require.Equal(t, "c", m.Kind())
	require.Equal(t, runtime.Serializable|runtime.Exportable, m.Properties())
	require.Equal(t, []string{"add", "sub"}, m.Functions())
	require.Equal(t, []string{"add", "sub"}, texts(t, m, "get_func_names"))
	require.Equal(t, []string{"w"}, texts(t, m, "get_const_vars"))
	require.Equal(t, "add", call(t, function(t, m, "get_symbol")))
	require.Equal(t, "int add;", must.Get(m.GetSource(""))(t))
	requireError(t, must.Fail(m.GetSource("ptx")), runtime.ErrNotSupported, `written in "c", not in "ptx"`)
	requireError(t, must.Fail(m.Function("add")), runtime.ErrNotSupported, "export it into a shared library")
	requireError(t, must.Fail(m.Function("ad")), runtime.ErrNotFound, `did you mean "add"`)

	want := (&blob.CSource{Code: "int add;", Format: "c", Functions: []string{"add", "sub"},
		Constants: []string{"w"}}).Encode()
	for _, layout := range []blob.Layout{blob.Legacy, blob.LegacyFFI, blob.Modern} {
		require.Equal(t, want, must.Get(m.SaveToBinaryFor(layout))(t))
	}
	requireError(t, must.Fail(m.SaveToBinaryFor(9)), runtime.ErrInvalidArgument, "layout(9)")
	require.Equal(t, want, must.Get(m.SaveToBinary())(t))

	dir := t.TempDir()
	require.NoError(t, m.SaveToFile(filepath.Join(dir, "m.c"), ""))
	require.Equal(t, "int add;", string(readFile(t, filepath.Join(dir, "m.c"))))
	back := modules.Load(t, filepath.Join(dir, "m.c"))
	require.Equal(t, "c", back.Kind())
}

func TestStaticLibrary(t *testing.T) {
	noLeaks(t)
	m := staticLibrary(t, []byte("\x7fELF object"), "add")
	require.Equal(t, "static_library", m.Kind())
	require.Equal(t, runtime.Serializable|runtime.Exportable, m.Properties())
	require.Equal(t, []string{"add"}, texts(t, m, "get_func_names"))
	requireError(t, must.Fail(m.GetSource("")), runtime.ErrNotSupported, "no source")
	requireError(t, must.Fail(m.Function("add")), runtime.ErrNotSupported, "export it into a shared library")
	got := must.Get(m.SaveToBinaryFor(blob.Modern))(t)
	require.Equal(t, (&blob.StaticLibrary{Object: []byte("\x7fELF object"), Functions: []string{"add"}}).Encode(), got)

	path := filepath.Join(t.TempDir(), "m.o")
	require.NoError(t, m.SaveToFile(path, ""))
	require.Equal(t, "\x7fELF object", string(readFile(t, path)))
	require.Equal(t, "static_library", modules.Load(t, path).Kind())
	linked := call(t, global(t, "runtime.ModuleLoadStaticLibrary"), path, []any{"add"}).(*runtime.Module)
	defer linked.Close()
	require.Equal(t, []string{"add"}, linked.Functions())
}
