package export_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/runtime"
)

// What TVM exported, loaded and exported again, is what TVM exported.
func TestCopy_Artifacts(t *testing.T) {
	files, err := filepath.Glob("../testdata/artifacts/*/*.so")
	require.NoError(t, err)
	require.Greater(t, len(files), 9)
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "../testdata/artifacts/"), func(t *testing.T) {
			path := exported(t, load(t, file))
			require.Equal(t, readFile(t, file), readFile(t, path))
		})
	}
}

// A library that imports something else than its file says can't be a copy, and goes into another one whole.
func TestCopy_ChangedImports(t *testing.T) {
	file := exported(t, importing(t, constant(t, "f", 7), newData(t, []byte("x"))))
	m := importing(t, load(t, file), newData(t, []byte("y")))
	path := exported(t, m)
	got := load(t, path)
	require.EqualValues(t, 7, call(t, got, "f"))
	require.Contains(t, graphOf(t, got)[library], "test.data 010000000000000079")
	require.NotEqual(t, readFile(t, file), readFile(t, path))
}

func TestCopy_OtherLayout(t *testing.T) {
	m := load(t, exported(t, importing(t, constant(t, "f", 7), newData(t, []byte("x")))))
	require.ErrorContains(t, failing(t, m, runtime.ErrInvalidArgument, export.Layout(blob.Legacy)), "that generation's")
	exported(t, m, export.Layout(blob.Modern))
}
