package export_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A library that TVM exported has the same bytes after it is loaded and exported again.
func TestCopy_Artifacts(t *testing.T) {
	files := must.Get(filepath.Glob("../testdata/artifacts/*/*.so"))(t)
	require.Greater(t, len(files), 9)
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "../testdata/artifacts/"), func(t *testing.T) {
			path := exported(t, modules.Load(t, file))
			require.Equal(t, readFile(t, file), readFile(t, path))
		})
	}
}

// A library whose imports were changed after loading is written with its current imports.
func TestCopy_ChangedImports(t *testing.T) {
	file := exported(t, importing(t, constant(t, "f", 7), newData(t, []byte("x"))))
	m := importing(t, modules.Load(t, file), newData(t, bytes.Repeat([]byte("y"), 1<<20)))
	path := exported(t, m)
	got := modules.Load(t, path)
	require.EqualValues(t, 7, call(t, got, "f"))
	require.Equal(t, graphOf(t, m), graphOf(t, got))
	require.Len(t, graphOf(t, got)[library], 2)
	again := exported(t, importing(t, got, newData(t, []byte("z"))))
	require.Len(t, graphOf(t, modules.Load(t, again))[library], 3, "of a file that was changed before")

	for _, artifact := range []string{"modern/gpu_cuda", "modern/gpu_opencl", "classic/gpu_cuda", "modern/relax_mlp",
		"classic/graph_mlp"} {
		m := importing(t, modules.Load(t, "../testdata/artifacts/"+artifact+".so"), newData(t, []byte(artifact)))
		path := exported(t, m)
		require.Equal(t, graphOf(t, m), graphOf(t, modules.Load(t, path)), artifact)
		report := must.Get(inspect.File(path))(t)
		require.Empty(t, report.Problems, artifact)
	}
}

// A library that was exported without imports has no space for them: it is put into another library as a whole.
func TestCopy_FirstImports(t *testing.T) {
	m := importing(t, modules.Load(t, exported(t, constant(t, "f", 7))), newData(t, []byte("y")))
	got := modules.Load(t, exported(t, m))
	require.EqualValues(t, 7, call(t, got, "f"))
	require.Equal(t, graphOf(t, m), graphOf(t, got))
}

func TestCopy_OtherLayout(t *testing.T) {
	m := modules.Load(t, exported(t, importing(t, constant(t, "f", 7), newData(t, []byte("x")))))
	require.ErrorContains(t, failing(t, m, runtime.ErrInvalidArgument, export.Layout(blob.Legacy)), "that generation's")
	exported(t, m, export.Layout(blob.Modern))
}
