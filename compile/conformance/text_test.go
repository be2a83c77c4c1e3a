package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/compile/conformance"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	"tvmgo/graph/passes"
	"tvmgo/internal/testing/graphtext"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// textOf imports a model, and reads the text of its graph, before and after the passes. It reports whether the model
// can be imported as it is.
func textOf(t *testing.T, path string) bool {
	t.Helper()
	m := must.Get(file.Open(path))(t)
	defer m.Close()
	f, err := onnx.Import(m.Model, m.External, onnx.Options{})
	if err != nil {
		return false
	}
	require.NoError(t, graphtext.RoundTrip(f), path)
	require.NoError(t, passes.Run(context.Background(), f, must.Get(target.New("c"))(t), passes.Options{}), path)
	require.NoError(t, graphtext.RoundTrip(f), path)
	return true
}

// The text of graphs is read back: of models of ONNX's wheel (a fixed sample, or with TVMGO_TEST_ALL all of them), and
// of random ones.
func TestText(t *testing.T) {
	all := os.Getenv("TVMGO_TEST_ALL") != ""
	dirs := append(python(t, "generate.py", "5", "30"), python(t, "cases.py")...)
	var paths []string
	for i, dir := range nodeTests(t) {
		if all || i%30 == 0 {
			dirs = append(dirs, dir)
		}
		if all && i == 0 {
			data := filepath.Dir(filepath.Dir(dir))
			dirs = append(dirs, must.Get(conformance.Find(filepath.Join(data, "simple"),
				filepath.Join(data, "pytorch-converted"), filepath.Join(data, "pytorch-operator")))(t)...)
			paths = must.Get(filepath.Glob(filepath.Join(data, "light", "*.onnx")))(t)
			require.NotEmpty(t, paths)
		}
	}
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, "model.onnx"))
	}
	imported := 0
	for _, path := range paths {
		if textOf(t, path) {
			imported++
		}
	}
	t.Logf("%d of %d models", imported, len(paths))
	require.Greater(t, imported, len(paths)/2)
}
