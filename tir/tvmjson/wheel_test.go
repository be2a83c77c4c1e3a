//go:build cgo

package tvmjson_test

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	_ "tvmgo/runtime/opencl"
	_ "tvmgo/runtime/vulkan"
)

// wheelPrograms makes the programs of programs.py with the wheel, and returns the folder.
func wheelPrograms(t *testing.T, names ...string) string {
	dir := t.TempDir()
	cmd := wheel.Command(t, append([]string{"testdata/programs.py", dir}, names...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(wheel.Root(t), "build", ".cache", "ffi-json"))
	wheel.Output(t, cmd, nil)
	return dir
}

// saved returns programs of programs.py that versions of TVM have saved, by version and name: "v0.17/matmul.json".
func saved(t testing.TB) map[string]string {
	files := map[string]string{}
	archive := must.Open(zip.OpenReader("testdata/saved.zip"))(t)
	for _, f := range archive.File {
		if in := must.Open(f.Open())(t); !f.FileInfo().IsDir() {
			files[f.Name] = string(must.Get(io.ReadAll(in))(t))
		}
	}
	return files
}

// Programs in each form of JSON, read and built here, have the results of TVM's own code.
func TestWheel_Programs(t *testing.T) {
	dir, old := wheelPrograms(t), saved(t)
	list := examples(t, dir)
	require.GreaterOrEqual(t, len(list), 30)
	require.GreaterOrEqual(t, len(old), 60)
	for _, e := range list {
		t.Run(e.name, func(t *testing.T) {
			m := read(t, string(must.Get(os.ReadFile(filepath.Join(dir, e.name+".json")))(t)))
			e.interpret(t, m)
			if e.gpu() {
				e.runIfPresent(t, m, "opencl", dlpack.OpenCL)
				e.runIfPresent(t, m, `{"kind": "vulkan", "supports_int64": true}`, dlpack.Vulkan)
				e.build(t, m, "cuda -arch=sm_80")
			} else {
				e.run(t, m, "c", dlpack.Device{Type: dlpack.CPU})
			}
			for _, version := range []string{"v0.17", "v0.25"} {
				if text := old[version+"/"+e.name+".json"]; text != "" {
					e.interpret(t, read(t, text))
				}
			}
		})
	}
}
