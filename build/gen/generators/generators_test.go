package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/build/gen/internal/output"
	"tvmgo/internal/testing/must"
)

func TestLists_AreUpToDate(t *testing.T) {
	stale, err := output.Stale("../../..", rendered)
	require.NoError(t, err)
	require.Empty(t, stale, "run: make generators")
}

// write writes a package with one file into a repository.
func write(t *testing.T, root, name, text string) {
	t.Helper()
	dir := filepath.Join(root, "codegen", name)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".go"), []byte("package "+name+"\n"+text), 0o644))
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	write(t, root, "metal", `
const kind = "metal"
func init() { codegen.Register(kind, nil); codegen.Register("webgpu", nil) }`)
	write(t, root, "own", `func init() { target.RegisterKind("own"); codegen.Register("own", nil) }`)
	write(t, root, "helper", `func f() { other.Register("x") }`)
	require.Equal(t, []generator{{path: "codegen/metal", kinds: []string{"metal", "webgpu"}}}, must.Get(find(root))(t))

	write(t, root, "unclear", `func init() { for _, k := range list { codegen.Register(k, nil) } }`)
	_, err := find(root)
	require.ErrorContains(t, err, "codegen/unclear: the kind in a call of codegen.Register is neither")
}

func TestFindDevices(t *testing.T) {
	root := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, "runtime", path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	put("runtime.go", `import _ "tvmgo/runtime/cpu"`)
	put("link_test.go", `import _ "tvmgo/runtime/metal"`)
	put("cpu/device.c", "tvmgo_device_builtin(kDLCPU, &cpu, NULL, NULL);")
	put("metal/table.c", "tvmgo_device_builtin(kDLMetal, NULL, create, NULL);")
	put("metal/other.c", "TVMGODeviceAPIRegister(&spec);")
	put("npu/npu.go", "runtime.RegisterDeviceAPI(spec)")
	put("devicetest/devicetest.go", "// RegisterDeviceAPI is elsewhere")
	put("devicetest/self_test.go", "runtime.RegisterDeviceAPI(spec)")
	require.Equal(t, []string{"runtime/metal", "runtime/npu"}, must.Get(findDevices(root))(t))
}
