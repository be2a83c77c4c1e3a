package codegen_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
)

// greaterProduct is max(A·B, 1/2), with a schedule.
func greaterProduct(t *testing.T, name string, schedule func(s *te.Schedule, product, out *te.Tensor)) *tir.PrimFunc {
	t.Helper()
	n := te.Var("n")
	a, b := te.Placeholder([]tir.Expr{n, tir.I32(7)}, tir.Float32, "A"), te.Placeholder(te.Dims(7, 29), tir.Float32, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(7), "k")
	shape := []tir.Expr{n, tir.I32(29)}
	product := te.Compute(shape, "product",
		func(i ...tir.Expr) tir.Expr { return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k) })
	out := te.Compute(shape, "out", func(i ...tir.Expr) tir.Expr { return tir.Max(product.At(i...), tir.F32(0.5)) })
	s := must.Get(te.NewSchedule(out))(t)
	schedule(s, product, out)
	m := must.Get(te.Lower(s, []any{a, b, out}, name))(t)
	return m.Funcs[0]
}

// calling makes a function that passes its tensors to a packed function.
func calling(name, callee string) *tir.PrimFunc {
	n := tir.NewVar("n", tir.Int32)
	f := &tir.PrimFunc{Name: name, Buffers: map[*tir.Var]*tir.Buffer{}, Result: tir.Void}
	var args []tir.Expr
	for _, b := range []string{"A", "B", "C"} {
		h := tir.NewVar(b+"_handle", tir.Handle)
		f.Params, f.Buffers[h] = append(f.Params, h), tir.NewBuffer(b, tir.Float32, n)
		args = append(args, h)
	}
	f.Body = &tir.Evaluate{Value: tir.NewCall(tir.CallPacked, tir.Void, callee, args...)}
	return f
}

// askingPython adds the result of a packed function to a vector.
func askingPython() *tir.PrimFunc {
	n, i, sum, scale := tir.NewVar("n", tir.Int32), tir.NewVar("i", tir.Int32), tir.NewVar("sum", tir.Float32),
		tir.NewVar("scale", tir.Float32)
	x, y := tir.NewBuffer("X", tir.Float32, n), tir.NewBuffer("Y", tir.Float32, n)
	hx, hy := tir.NewVar("X_handle", tir.Handle), tir.NewVar("Y_handle", tir.Handle)
	body := &tir.LetStmt{Var: sum, Value: tir.NewCall(tir.CallPacked, tir.Float32, "roundtrip.python", hx, scale,
		tir.Text("a text")), Body: &tir.For{
		Var: i, Min: tir.I32(0), Extent: n, Body: &tir.BufferStore{Buffer: y, Indices: []tir.Expr{i},
			Value: tir.Add(tir.BufferAt(x, i), sum)}}}
	return &tir.PrimFunc{Name: "calls_python", Params: []*tir.Var{hx, hy, scale},
		Buffers: map[*tir.Var]*tir.Buffer{hx: x, hy: y}, Result: tir.Void, Body: body}
}

// roundTrip exports a library with all of these functions.
func roundTrip(t *testing.T) string {
	t.Helper()
	m, err := tir.NewModule(
		greaterProduct(t, "plain", func(*te.Schedule, *te.Tensor, *te.Tensor) {}),
		greaterProduct(t, "workspace",
			func(s *te.Schedule, product, _ *te.Tensor) { s.Stage(product).Parallel(product.Axes()[0]) }),
		greaterProduct(t, "parallel", func(s *te.Schedule, product, out *te.Tensor) {
			outer, _, _, lane := s.Stage(out).Tile(out.Axes()[0], out.Axes()[1], 4, 8)
			s.Stage(out).Parallel(outer)
			s.Stage(out).Vectorize(lane)
			s.Stage(product).ComputeAt(s.Stage(out), outer)
		}),
		askingPython(), calling("calls_vadd", "roundtrip.vadd"), calling("calls_import", "vadd"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "ours.so")
	require.NoError(t, export.Library(context.Background(), built(t, m, kind(t, "c")), path))
	return path
}

const theirLibrary = "../testdata/artifacts/modern/multi_llvm.so"

// TestRoundTrip_Wheel: Apache TVM loads a library made by te, and functions of both call each other.
func TestRoundTrip_Wheel(t *testing.T) {
	wheel.NeedSameMachine(t)
	out := wheel.Run(t, nil, "testdata/roundtrip.py", roundTrip(t), theirLibrary)
	require.Equal(t, "numbers\npython\ntheirs\nplain: argument 2 (out): shape[1] is 28, expected 29\n", string(out))
}

// TestRoundTrip_Here: the same in this runtime.
func TestRoundTrip_Here(t *testing.T) {
	machine.Need(t, theirLibrary)
	ours := must.Open(runtime.Load(context.Background(), roundTrip(t)))(t)
	theirs := must.Open(runtime.Load(context.Background(), theirLibrary))(t)
	vadd := must.Open(theirs.Function("vadd"))(t)
	require.NoError(t, runtime.RegisterGlobal("roundtrip.vadd", vadd, true))
	t.Cleanup(func() { runtime.RemoveGlobal("roundtrip.vadd") })
	require.NoError(t, ours.Import(theirs))
	const n = 1024
	for _, name := range []string{"calls_vadd", "calls_import"} {
		f := must.Get(ours.Function(name))(t)
		defer f.Close()
		a, b := make([]float32, n), make([]float32, n)
		for i := range a {
			a[i], b[i] = float32(i), float32(3*i)
		}
		out := must.Get(runtime.NewTensor(dlpack.Float32, []int64{n}, runtime.CPU))(t)
		defer out.Close()
		must.Get(f.Call(modules.Tensor(t, a, n), modules.Tensor(t, b, n), out))(t)
		got := must.Get(runtime.ToSlice[float32](out))(t)
		require.Equal(t, float32(4*(n-1)), got[n-1])
	}
}
