package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/text"
)

func TestModel_BuildsAndRuns(t *testing.T) {
	dir := t.TempDir()
	library, source := filepath.Join(dir, "model.so"), filepath.Join(dir, "model.tir")
	require.NoError(t, build(t.Context(), "c", library, source))
	var out bytes.Buffer
	require.NoError(t, runLibrary(t.Context(), library, dir, &out))
	require.Contains(t, out.String(), "all 30 rows are as plain loops in Go have them")
	for _, name := range []string{"a", "b", "bias", "dense", "softmax"} {
		require.FileExists(t, filepath.Join(dir, name+".npy"))
	}

	// The text is a valid program.
	loops := must.Get(os.ReadFile(source))(t)
	again := must.Get(text.Parse(string(loops)))(t)
	require.NoError(t, tir.Check(again))
	want := must.Get(program())(t)
	require.Empty(t, compare.Difference(want, again))
}

func TestModel_Refuses(t *testing.T) {
	require.ErrorContains(t, build(t.Context(), "c -marhc=native", filepath.Join(t.TempDir(), "m.so"), ""),
		`did you mean "march"?`)
	require.Error(t, runLibrary(t.Context(), filepath.Join(t.TempDir(), "absent.so"), "", &bytes.Buffer{}))
}
