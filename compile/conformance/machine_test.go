package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/compile"
	"tvmgo/export"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/target"
)

// library compiles the model of a folder to model.so beside it.
func library(t *testing.T, dir string) {
	t.Helper()
	m := must.Get(file.Open(filepath.Join(dir, "model.onnx")))(t)
	defer m.Close()
	f, err := onnx.Import(m.Model, m.External, onnx.Options{})
	require.NoError(t, err, dir)
	mod := must.Get(compile.Graph(context.Background(), must.Get(target.New("c"))(t), f))(t)
	defer mod.Close()
	require.NoError(t, export.Library(context.Background(), mod, filepath.Join(dir, "model.so")), dir)
}

// Apache TVM's own virtual machine runs compiled models: those that once failed, with branches, loops, dynamic sizes and
// sizes that depend on elements, and random ones.
func TestMachineOfTVM(t *testing.T) {
	count := "12"
	if os.Getenv("TVMGO_TEST_ALL") != "" {
		count = "200"
	}
	dirs := append(python(t, "cases.py"), python(t, "generate.py", "77", count)...)
	all := t.TempDir()
	for _, dir := range dirs {
		library(t, dir)
		require.NoError(t, os.Rename(dir, filepath.Join(all, filepath.Base(dir))))
	}
	script := must.Get(filepath.Abs(filepath.Join("testdata", "random", "machine.py")))(t)
	out := string(wheel.Run(t, nil, script, all))
	require.Equal(t, len(dirs), strings.Count(out, "ok "), out)
}
