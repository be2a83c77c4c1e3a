package llvm_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/internal/tirgen"
	"tvmgo/internal/tirrun"
	"tvmgo/internal/wheel"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Random programs give what the interpreter makes of them, however they are optimised and whatever vectors this machine has.
func TestNumbers_LikeInterpreter(t *testing.T) {
	const functions = 16
	seed := uint64(1000)
	if s := os.Getenv("TVMGO_TEST_SEED"); s != "" {
		_, err := fmt.Sscan(s, &seed)
		require.NoError(t, err)
		seed *= functions
	}
	var all []*tir.PrimFunc
	for k := range uint64(functions) {
		all = append(all, tirgen.Function(fmt.Sprintf("f%d", k), seed+k))
	}
	m, err := tir.NewModule(all...)
	require.NoError(t, err)
	reference, err := tirrun.Compile(m, tirrun.Options{})
	require.NoError(t, err)
	for _, options := range []string{"llvm", "llvm -opt-level=0", "llvm -mcpu=native -fast-math-contract=0"} {
		b := built(t, m, options)
		for k, f := range all {
			what := fmt.Sprintf("%s, seed %d", options, seed+uint64(k))
			want, err := tirgen.Arguments(f, seed+uint64(k))
			require.NoError(t, err)
			var got []any
			for _, a := range want {
				x, err := runtime.NewTensor(a.(*tirrun.Array).DType, a.(*tirrun.Array).Shape, runtime.CPU)
				require.NoError(t, err)
				t.Cleanup(func() { x.Close() })
				require.NoError(t, x.CopyFromBytes(a.(*tirrun.Array).Data))
				got = append(got, x)
			}
			_, wantErr := reference.Call(f.Name, want...)
			err = call(t, b, f.Name, got...)
			if wantErr != nil {
				require.ErrorContains(t, err, "an assertion", what)
				continue
			}
			require.NoError(t, err, what)
			for i := range want {
				same(t, want[i].(*tirrun.Array), got[i].(*runtime.Tensor), fmt.Sprintf("%s, b%d:\n%s", what, i, tir.Print(f)))
			}
		}
	}
}

// same compares elements; what is no number is like any other that is none.
func same(t *testing.T, want *tirrun.Array, got *runtime.Tensor, what string) {
	t.Helper()
	b := make([]byte, len(want.Data))
	require.NoError(t, got.CopyToBytes(b))
	x, err := tirrun.Values[float64](want)
	require.NoError(t, err)
	y, err := tirrun.Values[float64](&tirrun.Array{DType: want.DType, Shape: want.Shape, Data: b})
	require.NoError(t, err)
	for i := range x {
		if !math.IsNaN(x[i]) || !math.IsNaN(y[i]) {
			require.Equal(t, x[i], y[i], "element %d, %s", i, what)
		}
	}
}

// network is a layer of a network with threads, vectors and scratch memory, and a softmax.
func network(t testing.TB) *tir.IRModule {
	t.Helper()
	const rows, inner, cols = 37, 64, 130
	a, b := te.Placeholder(te.Dims(rows, inner), tir.Float32, "A"), te.Placeholder(te.Dims(inner, cols), tir.Float32, "B")
	product := ops.Matmul(a, b, "product")
	out := ops.Relu(product, "out")
	require.NoError(t, out.Err())
	s, err := te.NewSchedule(out)
	require.NoError(t, err)
	st := s.Stage(out)
	outer, _, _, lanes := st.Tile(out.Axes()[0], out.Axes()[1], 8, 8)
	st.Vectorize(lanes)
	st.Parallel(outer)
	s.Stage(product).ComputeAt(st, outer)
	dense, err := te.Lower(s, []any{a, b, out}, "dense")
	require.NoError(t, err)

	x := te.Placeholder(te.Dims(rows, cols), tir.Float32, "X")
	soft := ops.Softmax(x, "soft")
	plain, err := te.NewSchedule(soft)
	require.NoError(t, err)
	softmax, err := te.Lower(plain, []any{x, soft}, "softmax")
	require.NoError(t, err)
	m, err := tir.NewModule(append(dense.Funcs, softmax.Funcs...)...)
	require.NoError(t, err)
	return m
}

// TestNumbers_Wheel has Apache TVM's own runtime run what is built, beside this one.
func TestNumbers_Wheel(t *testing.T) {
	m := built(t, network(t), "llvm -mcpu=native")
	code := source(t, m, "c")
	require.Contains(t, code, "TVMBackendParallelLaunch")
	require.Contains(t, code, "TVMBackendAllocWorkspace")
	path := filepath.Join(t.TempDir(), "network.so")
	require.NoError(t, export.Library(context.Background(), m, path))

	dir := t.TempDir()
	out := wheel.Run(t, nil, "testdata/wheel.py", path, dir)
	require.Contains(t, string(out), "dense: argument 1 (B): shape[0] is 63, expected 64")

	read := func(name string, shape ...int64) *runtime.Tensor { // as NumPy wrote it
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		x := empty(t, shape...)
		require.NoError(t, x.CopyFromBytes(data))
		return x
	}
	loaded := load(t, path)
	for _, run := range []*runtime.Module{m, loaded} {
		dense, soft := empty(t, 37, 130), empty(t, 37, 130)
		require.NoError(t, call(t, run, "dense", read("a", 37, 64), read("b", 64, 130), dense))
		require.NoError(t, call(t, run, "softmax", dense, soft))
		require.Equal(t, floats(t, read("dense", 37, 130)), floats(t, dense))
		require.Equal(t, floats(t, read("softmax", 37, 130)), floats(t, soft))
	}
}
