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
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
)

// library compiles the model of a folder to model.so beside it.
func library(t *testing.T, dir string) {
	t.Helper()
	c, err := compile.ModelFile(context.Background(), filepath.Join(dir, "model.onnx"), compile.Options{})
	require.NoError(t, err, dir)
	defer c.Close()
	require.NoError(t, export.Library(context.Background(), c.Module, filepath.Join(dir, "model.so")), dir)
}

// Apache TVM's own virtual machine runs compiled models: those that once failed, with branches, loops, dynamic sizes
// and sizes that depend on elements, and random ones.
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
