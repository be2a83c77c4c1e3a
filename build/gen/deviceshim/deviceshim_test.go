package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/build/gen/internal/output"
	"tvmgo/internal/testing/must"
)

func TestShim_IsUpToDate(t *testing.T) {
	stale, err := output.Stale("../../..", rendered)
	require.NoError(t, err)
	require.Empty(t, stale, "run: make generators")
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
