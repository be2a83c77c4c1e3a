package llvm_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirgen/gentest"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Random programs compute what the interpreter computes, at every optimization level and with all vectors of this
// machine.
func TestNumbers_LikeInterpreter(t *testing.T) {
	p := gentest.New(t, 16, 1000)
	for _, options := range []string{"llvm", "llvm -opt-level=0", "llvm -mcpu=native -fast-math-contract=0"} {
		p.Compare(t, built(t, p.Module, options), options)
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
	s := must.Get(te.NewSchedule(out))(t)
	st := s.Stage(out)
	outer, _, _, lanes := st.Tile(out.Axes()[0], out.Axes()[1], 8, 8)
	st.Vectorize(lanes)
	st.Parallel(outer)
	s.Stage(product).ComputeAt(st, outer)
	dense := must.Get(te.Lower(s, []any{a, b, out}, "dense"))(t)

	x := te.Placeholder(te.Dims(rows, cols), tir.Float32, "X")
	soft := ops.Softmax(x, "soft")
	plain := must.Get(te.NewSchedule(soft))(t)
	softmax := must.Get(te.Lower(plain, []any{x, soft}, "softmax"))(t)
	return must.Get(tir.NewModule(append(dense.Funcs, softmax.Funcs...)...))(t)
}

// TestNumbers_Wheel runs the built library in Apache TVM's own runtime, too.
func TestNumbers_Wheel(t *testing.T) {
	wheel.NeedSameMachine(t)
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
		data := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		x := modules.Empty(t, dlpack.Float32, shape...)
		require.NoError(t, x.CopyFromBytes(data))
		return x
	}
	loaded := modules.Load(t, path)
	for _, run := range []*runtime.Module{m, loaded} {
		dense, soft := modules.Empty(t, dlpack.Float32, 37, 130), modules.Empty(t, dlpack.Float32, 37, 130)
		require.NoError(t, call(t, run, "dense", read("a", 37, 64), read("b", 64, 130), dense))
		require.NoError(t, call(t, run, "softmax", dense, soft))
		require.Equal(t, modules.Slice[float32](t, read("dense", 37, 130)), modules.Slice[float32](t, dense))
		require.Equal(t, modules.Slice[float32](t, read("softmax", 37, 130)), modules.Slice[float32](t, soft))
	}
}
