package gpuprograms

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir/text"
)

// with returns the target of the harness with further options.
func (h *Harness) with(t testing.TB, options map[string]any) *target.Target {
	t.Helper()
	config := h.Target(t).Export()
	maps.Copy(config, options)
	return must.Get(target.New(config))(t)
}

// freeOfRecords expects no record if all indices are proved to be in bounds.
func (h *Harness) freeOfRecords(t *testing.T) {
	h.Need(t)
	for _, want := range []bool{true, false} {
		m := must.Get(text.Parse(BoundsKernels))(t)
		k := h.with(t, map[string]any{"bounds-check": want})
		built := must.Get(codegen.Build(m, k))(t)
		code := must.Get(built.GetSource("c"))(t)
		require.Equal(t, want, strings.Contains(code, "tvmgo_check_reports("), want)
		relu := code[strings.LastIndex(code, "\nstatic int32_t relu_body("):]
		relu, _, _ = strings.Cut(relu, "\n}\n")
		require.Contains(t, relu, "relu_kernel")
		require.NotContains(t, relu, "record", want)
		built.Close()
	}
}

func (h *Harness) matrix(t *testing.T) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.NewTensor(dlpack.Float32, []int64{4, 4}, h.Devices[0]))(t)
}

// AliasCheck compares handles of device memory, and the parts of it that tensors use.
func (h *Harness) AliasCheck(t *testing.T) {
	h.Need(t)
	t.Run("Parts", h.aliasedParts)
	t.Run("Many", h.aliasedMany)
	t.Run("FreeOfRecords", h.freeOfRecords)
	m := h.Library(t, Parsed(t, BoundsKernels))
	x, y := h.matrix(t), h.matrix(t)
	require.NoError(t, callOf(t, m, "transpose", x, y))
	require.ErrorContains(t, callOf(t, m, "transpose", x, x),
		"transpose: argument 0 (A) and argument 1 (B) overlap in memory")
	require.NoError(t, callOf(t, m, "relu", x, x))
	unchecked := h.LibraryFor(t, Parsed(t, BoundsKernels), h.with(t, map[string]any{"alias-check": false}))
	require.NoError(t, callOf(t, unchecked, "transpose", x, x))
}

// aliasedParts compares parts of one allocation, which have the same handle, by their offsets.
func (h *Harness) aliasedParts(t *testing.T) {
	h.Need(t)
	m := h.Library(t, Parsed(t, BoundsKernels))
	base, other := filled(t, h, make([]float32, 32)), filled(t, h, make([]float32, 32))
	part := func(x *runtime.Tensor, at int64) *runtime.Tensor {
		return must.Open(x.View(dlpack.Float32, []int64{8}, nil, at*4))(t)
	}
	for at, overlaps := range map[int64]bool{0: false, 1: true, 7: true, 8: true, 9: true, 15: true, 16: false,
		24: false} {
		err := callOf(t, m, "mirror", part(base, 8), part(base, at))
		if overlaps {
			require.ErrorContains(t, err,
				"mirror: argument 0 (A) and argument 1 (B) overlap in memory: the function writes B, and reads A",
				"%d", at)
		} else {
			require.NoError(t, err, "%d", at)
		}
		require.NoError(t, callOf(t, m, "mirror", part(base, 8), part(other, at)), "memory of its own, %d", at)
	}
}

// aliasedMany compares the handles of a function with so many tensors that its entry has a table of the pairs.
// Two handles are closer to each other, as numbers, than the length of a tensor.
func (h *Harness) aliasedMany(t *testing.T) {
	h.Need(t)
	m := h.Library(t, Parsed(t, BoundsKernels))
	args := make([]any, 5)
	for i := range args {
		args[i] = filled(t, h, make([]float32, 65536))
	}
	require.NoError(t, callOf(t, m, "many", args...))
	for i := range args {
		for j := range i {
			same := slices.Clone(args)
			same[i] = same[j]
			require.ErrorContains(t, callOf(t, m, "many", same...),
				fmt.Sprintf("argument %d (%c) and argument %d (%c) overlap in memory: the function writes both", j,
					'A'+j, i, 'A'+i))
		}
	}
}

// Composite divides a program for the CPU and the device by the loops of its functions or by the attribute target. It
// runs directly and from a library.
func (h *Harness) Composite(t *testing.T) {
	h.Need(t)
	device := h.Devices[0]
	for _, soc := range []string{`{"kind": "composite", "devices": ["c", "KIND"]}`,
		`{"kind": "composite", "devices": ["KIND", "c"]}`} {
		before := runtime.Live()
		m := must.Get(text.Parse(Mixed))(t)
		to := must.Get(target.New(strings.Replace(soc, "KIND", h.Kind, 1)))(t)
		built, err := codegen.Build(m, to)
		require.NoError(t, err, soc)
		require.Equal(t, "c", built.Kind())
		path := filepath.Join(t.TempDir(), "mixed.so")
		require.NoError(t, export.Library(context.Background(), built, path))
		loaded := must.Get(runtime.Load(context.Background(), path))(t)
		for _, from := range []*runtime.Module{built, loaded} {
			x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{8}, device))(t)
			host := must.Get(runtime.FromSlice([]float32{0, 1, 2, 3, 4, 5, 6, 7}))(t)
			require.NoError(t, x.CopyFromTensor(host, nil))
			f := must.Get(from.Function("both"))(t)
			must.Get(f.Call(x, host, 8))(t)
			got := must.Get(runtime.ToSlice[float32](x))(t)
			require.Equal(t, []float32{0, 9, 18, 27, 36, 45, 54, 63}, got)
			got = must.Get(runtime.ToSlice[float32](host))(t)
			require.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, got)
			for _, name := range []string{"scale", "add"} {
				g, err := from.Function(name)
				require.NoError(t, err, name)
				require.NoError(t, g.Close())
			}
			for _, c := range []interface{ Close() error }{f, x, host} {
				require.NoError(t, c.Close())
			}
		}
		require.NoError(t, built.Close())
		require.NoError(t, loaded.Close())
		require.Equal(t, before, runtime.Live())
	}
}
