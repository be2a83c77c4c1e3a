package codegen_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/export"
	"tvmgo/internal/wheel"
	"tvmgo/runtime"
)

const described = `func scaled(A: handle, n: int32, by: float32, on: bool, p: handle) -> int64 {
  attrs {"doc": "Multiplies; \"quoted\"?? é\nsecond line."}
  var m: int64
  buffer A_: float32[n, m], param A
  eval ret(int64(7))
}
`

// What a function says of itself is the same at once, from a library, and in Apache TVM's runtime.
func TestBuild_Metadata(t *testing.T) {
	before := runtime.Live()
	text := described + inPlace("plain", "", "1.0", "")
	m, err := codegen.Build(parsed(t, text), kind(t, "c"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "described.so")
	require.NoError(t, export.Library(context.Background(), m, path))
	loaded, err := runtime.Load(context.Background(), path)
	require.NoError(t, err)
	for _, from := range []*runtime.Module{m, loaded} {
		meta, err := from.Metadata("scaled")
		require.NoError(t, err)
		require.Equal(t, "scaled(Tensor, int, float, bool, Ptr) -> int", meta.Schema.Signature("scaled"))
		require.JSONEq(t, `"scaled(A_: float32[n, m], n: int32, by: float32, on: bool, p: handle)"`, string(meta.Values["signature"]))
		doc, err := from.Doc("scaled")
		require.NoError(t, err)
		require.Equal(t, "Multiplies; \"quoted\"?? é\nsecond line.", doc)
		meta, err = from.Metadata("plain")
		require.NoError(t, err)
		require.Equal(t, "plain(Tensor) -> None", meta.Schema.Signature("plain"))
		_, err = from.Doc("plain")
		require.ErrorIs(t, err, runtime.ErrNotFound)
		_, err = from.Metadata("missing")
		require.ErrorIs(t, err, runtime.ErrNotFound)
		require.Equal(t, []string{"plain", "scaled"}, slices.Sorted(slices.Values(from.Functions())))
	}
	require.NoError(t, m.Close())
	require.NoError(t, loaded.Close())
	require.Equal(t, before, runtime.Live())

	require.Equal(t, "Callable[[Tensor, int, float, bool, ctypes.c_void_p], int]\nMultiplies; \"quoted\"?? é\nsecond line.\n", string(wheel.Run(t, nil, "testdata/metadata.py", path)))

	_, err = codegen.Build(parsed(t, inPlace("_metadata_f", "", "1.0", "")), kind(t, "c"))
	require.ErrorContains(t, err, `libraries have something else under names that begin like "_metadata_f"`)
}

// What was split is one library for Apache TVM, too: its parts call each other.
func TestBuild_SplitInWheel(t *testing.T) {
	text := inPlace("low", `"target": target "c -march=x86-64"`, "1.0", "") + inPlace("high", "", "10.0", "func low(A)") +
		inPlace("top", `"target": target "c -march=x86-64"`, "100.0", "packed high(A)\n  packed again(A)") + inPlace("again", "", "1000.0", "")
	path := filepath.Join(t.TempDir(), "split.so")
	require.NoError(t, export.Library(context.Background(), built(t, parsed(t, text), kind(t, "c")), path))
	require.Equal(t, "1112.0 1112.0 1112.0 1112.0\n", string(wheel.Run(t, nil, "testdata/split.py", path)))
}
