package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// root is the top of the repository, seen from here, where go test runs.
const root = "../../.."

func TestShim_IsUpToDate(t *testing.T) {
	files := must.Get(rendered(root))(t)
	for path, want := range files {
		have := must.Get(os.ReadFile(filepath.Join(root, path)))(t)
		require.Equal(t, string(want), string(have), "%s: run: make generators", path)
	}
}

func TestParse(t *testing.T) {
	all := must.Get(parse([]byte(`struct TVMGODeviceAPI {
  size_t struct_size;
  /* int (*old)(void); */
  int (*alloc)(const TVMGODeviceAPI* api, DLDevice dev,
               size_t nbytes, void** out);
};`)))(t)
	params := []param{{"DLDevice", "dev"}, {"size_t", "nbytes"}, {"void**", "out"}}
	require.Equal(t, []*function{{name: "alloc", params: params}}, all)

	require.ErrorContains(t, must.Fail(parse([]byte("struct Other {\n};"))), "no struct TVMGODeviceAPI")
	_, err := parse([]byte("struct TVMGODeviceAPI {\n int (*f)(int x);\n};"))
	require.ErrorContains(t, err, "f: the first parameter is no table")
}

// A function without a method, and a type that nothing converts, end the generator.
func TestRender_Unknown(t *testing.T) {
	f := []*function{{name: "reset", params: []param{{"DLDevice", "dev"}}}}
	require.ErrorContains(t, resolve(f, []byte("package x")), "reset: no interface of runtime/deviceapi.go has the method")
	require.NoError(t, resolve(f, []byte("package x\ntype D interface { Reset(id int) error }")))
	f[0].params = append(f[0].params, param{"float", "x"})
	require.ErrorContains(t, must.Fail(renderGo(f)), "reset: nothing here converts float x")
}
