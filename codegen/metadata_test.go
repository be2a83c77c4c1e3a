package codegen_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/export"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
)

const described = `func scaled(A: handle, n: int32, by: float32, on: bool, p: handle) -> int64 {
  attrs {"doc": "Multiplies; \"quoted\"?? é\nsecond line."}
  var m: int64
  buffer A_: float32[n, m], param A
  eval ret(int64(7))
}
`

// The metadata of a function is the same when it is called directly, in a library, and in Apache TVM's runtime.
func TestBuild_Metadata(t *testing.T) {
	before := runtime.Live()
	text := described + inPlace("plain", "", "1.0", "")
	m := must.Get(codegen.Build(parsed(t, text), kind(t, "c")))(t)
	path := filepath.Join(t.TempDir(), "described.so")
	require.NoError(t, export.Library(context.Background(), m, path))
	loaded := must.Get(runtime.Load(context.Background(), path))(t)
	for _, from := range []*runtime.Module{m, loaded} {
		meta := must.Get(from.Metadata("scaled"))(t)
		require.Equal(t, "scaled(Tensor, int, float, bool, Ptr) -> int", meta.Schema.Signature("scaled"))
		require.JSONEq(t, `"scaled(A_: float32[n, m], n: int32, by: float32, on: bool, p: handle)"`,
			string(meta.Values["signature"]))
		require.JSONEq(t, `[{"name": "A_", "kind": "tensor", "dtype": "float32", "shape": ["n", "m"]},
			{"name": "n", "kind": "scalar", "dtype": "int32"}, {"name": "by", "kind": "scalar", "dtype": "float32"},
			{"name": "on", "kind": "scalar", "dtype": "bool"}, {"name": "p", "kind": "pointer"}]`,
			string(meta.Values["args"]))
		require.JSONEq(t, `[{"device": "cpu", "format": "tir", "target": `+kind(t, "c").JSON()+`}]`,
			string(meta.Values["targets"]))
		require.Regexp(t, `^"tvmgo( \S+)?"$`, string(meta.Values["builder"]))
		require.Equal(t, "Multiplies; \"quoted\"?? é\nsecond line.", must.Get(from.Doc("scaled"))(t))
		meta = must.Get(from.Metadata("plain"))(t)
		require.Equal(t, "plain(Tensor) -> None", meta.Schema.Signature("plain"))
		require.ErrorIs(t, must.Fail(from.Doc("plain")), runtime.ErrNotFound)
		require.ErrorIs(t, must.Fail(from.Metadata("missing")), runtime.ErrNotFound)
		require.Equal(t, []string{"plain", "scaled"}, slices.Sorted(slices.Values(from.Functions())))
	}
	require.NoError(t, m.Close())
	require.NoError(t, loaded.Close())
	require.Equal(t, before, runtime.Live())

	wheel.NeedSameMachine(t)
	require.Equal(t, "Callable[[Tensor, int, float, bool, ctypes.c_void_p], int]\nMultiplies; \"quoted\"?? "+
		"é\nsecond line.\n", string(wheel.Run(t, nil, "testdata/metadata.py", path)))

	_, err := codegen.Build(parsed(t, inPlace("_metadata_f", "", "1.0", "")), kind(t, "c"))
	require.ErrorContains(t, err, `libraries have something else under names that begin like "_metadata_f"`)
}

// The hash of a function's contents is that of its program and its target.
func TestBuild_ContentHash(t *testing.T) {
	hash := func(text, target string) string {
		meta := must.Get(built(t, parsed(t, text), kind(t, target)).Metadata("f"))(t)
		var h string
		require.NoError(t, json.Unmarshal(meta.Values["content_hash"], &h))
		require.Regexp(t, `^sha256:[0-9a-f]{64}$`, h)
		return h
	}
	text := inPlace("f", "", "2.0", "")
	want := hash(text, "c")
	require.Equal(t, want, hash(text+inPlace("g", "", "3.0", ""), "c"), "other functions do not change the hash")
	require.NotEqual(t, want, hash(inPlace("f", "", "2.5", ""), "c"))
	require.NotEqual(t, want, hash(text, "c -march="+machine.Oldest()))
}

// A program for several targets is one library for Apache TVM, too: its parts call each other.
func TestBuild_SplitInWheel(t *testing.T) {
	wheel.NeedSameMachine(t)
	old := `"target": target "c -march=` + machine.Oldest() + `"`
	text := inPlace("low", old, "1.0", "") + inPlace("high", "", "10.0", "func low(A)") +
		inPlace("top", old, "100.0", "packed high(A)\n  packed again(A)") +
		inPlace("again", "", "1000.0", "")
	path := filepath.Join(t.TempDir(), "split.so")
	require.NoError(t, export.Library(context.Background(), built(t, parsed(t, text), kind(t, "c")), path))
	require.Equal(t, "1112.0 1112.0 1112.0 1112.0\n", string(wheel.Run(t, nil, "testdata/split.py", path)))
}
