//go:build cgo

package c_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
	"tvmgo/tir"
)

func TestMain(m *testing.M) {
	os.Setenv("TVMGO_CACHE_DIR", "off") // every run compiles
	os.Exit(m.Run())
}

// exported returns the path of a module exported as a library.
func exported(t testing.TB, e c.Emitter, m *tir.IRModule) string {
	t.Helper()
	var names []string
	for _, f := range m.Funcs {
		names = append(names, f.Name)
	}
	source := must.Get(runtime.NewCSource(emit(t, e, m), "c", names, nil))(t)
	defer source.Close()
	path := filepath.Join(t.TempDir(), "program.so")
	require.NoError(t, export.Library(context.Background(), source, path))
	return path
}

// loaded returns a module that was exported and loaded by the runtime.
func loaded(t testing.TB, e c.Emitter, m *tir.IRModule) *runtime.Module {
	t.Helper()
	return must.Open(runtime.Load(context.Background(), exported(t, e, m)))(t)
}

func numbers[T float32 | float64](n int, f func(i int) float64) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(f(i))
	}
	return s
}

// both runs a test by both conventions.
func both(t *testing.T, test func(t *testing.T, m *runtime.Module)) {
	for _, classic := range []bool{false, true} {
		t.Run(fmt.Sprint("classic=", classic), func(t *testing.T) { test(t, loaded(t, c.Emitter{Classic: classic}, all(t))) })
	}
}

func TestRun_Vadd(t *testing.T) {
	both(t, func(t *testing.T, m *runtime.Module) {
		for _, n := range []int{0, 1, 7, 8, 1000, 1003, 40001} { // the last one with threads
			a, b := numbers[float32](n, func(i int) float64 { return float64(i) }),
				numbers[float32](n, func(i int) float64 { return 0.5 * float64(i*i) })
			want := numbers[float32](n, func(i int) float64 { return float64(a[i] + b[i]) })
			for _, name := range []string{"vadd", "vadd_parallel", "vadd_vectors"} {
				out := modules.Empty(t, dlpack.Float32, int64(n))
				must.Get(modules.Call(t, m, name, modules.Tensor(t, a), modules.Tensor(t, b), out))(t)
				require.Equal(t, want, modules.Slice[float32](t, out), "%s of %d", name, n)
			}
			x := numbers[float64](n, func(i int) float64 { return 1.0 / float64(i+1) })
			out := modules.Empty(t, dlpack.Float64, int64(n))
			must.Get(modules.Call(t, m, "vadd_six", modules.Tensor(t, x), modules.Tensor(t, x), out))(t)
			require.Equal(t, numbers[float64](n, func(i int) float64 { return 2 * x[i] }), modules.Slice[float64](t, out))
		}
	})
}

func TestRun_Matmul(t *testing.T) {
	both(t, func(t *testing.T, m *runtime.Module) {
		const n, k, w = 5, 7, 3
		a, b := numbers[float32](n*k, func(i int) float64 { return float64(i % 11) }),
			numbers[float32](k*w, func(i int) float64 { return float64(i%5) - 2 })
		want := make([]float32, n*w)
		for i := range n {
			for j := range w {
				for x := range k {
					want[i*w+j] += a[i*k+x] * b[x*w+j]
				}
			}
		}
		out := modules.Empty(t, dlpack.Float32, n, w)
		must.Get(modules.Call(t, m, "matmul", modules.Tensor(t, a, n, k), modules.Tensor(t, b, k, w), out))(t)
		require.Equal(t, want, modules.Slice[float32](t, out))
	})
}

func TestRun_Softmax(t *testing.T) {
	both(t, func(t *testing.T, m *runtime.Module) {
		const n, w = 33, 500
		a := numbers[float32](n*w, func(i int) float64 { return math.Sin(float64(i)) * 20 })
		out := modules.Empty(t, dlpack.Float32, n, w)
		must.Get(modules.Call(t, m, "softmax", modules.Tensor(t, a, n, w), out))(t)
		got := modules.Slice[float32](t, out)
		for i := range n {
			row, sum, greatest := a[i*w:(i+1)*w], 0.0, math.Inf(-1)
			for _, x := range row {
				greatest = max(greatest, float64(x))
			}
			for _, x := range row {
				sum += math.Exp(float64(x) - greatest)
			}
			for j, x := range row {
				require.InDelta(t, math.Exp(float64(x)-greatest)/sum, got[i*w+j], 1e-6)
			}
		}
	})
}

func TestRun_Gather(t *testing.T) {
	both(t, func(t *testing.T, m *runtime.Module) {
		a := numbers[float32](8, func(i int) float64 { return float64(i) })
		out := modules.Empty(t, dlpack.Float32, 3, 2)
		must.Get(modules.Call(t, m, "gather", modules.Tensor(t, a, 4, 2), modules.Tensor(t, []int64{3, -4, 1}), out))(t)
		require.Equal(t, []float32{6, 7, 0, 1, 2, 3}, modules.Slice[float32](t, out))

		_, err := modules.Call(t, m, "gather", modules.Tensor(t, a, 4, 2), modules.Tensor(t, []int64{0, 4, 1}), out)
		require.ErrorContains(t, err, "gather: a row is not within A")
		var e *runtime.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "IndexError", e.Code)
	})
}

func TestRun_Bools(t *testing.T) {
	both(t, func(t *testing.T, m *runtime.Module) {
		a, b := numbers[float32](16, func(i int) float64 { return float64(i % 5) }),
			numbers[float32](16, func(i int) float64 { return float64(i % 3) })
		want := make([]bool, 16)
		for i := range want {
			want[i] = a[i] < b[i]
		}
		for _, name := range []string{"less", "less_vectors"} {
			out := modules.Empty(t, dlpack.Bool, 16)
			must.Get(modules.Call(t, m, name, modules.Tensor(t, a), modules.Tensor(t, b), out))(t)
			require.Equal(t, want, modules.Slice[bool](t, out), name)
		}
	})
}

func TestRun_FunctionsOfOneLibrary(t *testing.T) {
	both(t, func(t *testing.T, m *runtime.Module) {
		out := modules.Empty(t, dlpack.Float32, 3)
		must.Get(modules.Call(t, m, "twice", modules.Tensor(t, []float32{1, 2, 3}), out))(t)
		require.Equal(t, []float32{2, 4, 6}, modules.Slice[float32](t, out))
		require.Equal(t, 5.0, must.Get(modules.Call(t, m, "doubled", 2.5))(t))
	})
}

// Results of every possible type, of functions whose names collide.
func TestRun_Results(t *testing.T) {
	both := []*tir.PrimFunc{}
	types := []tir.Type{tir.Bool, tir.Int8, tir.UInt32, tir.Int64, tir.Float16, tir.BFloat16, tir.Float32, tir.Float64}
	for _, e := range types {
		x := tir.NewVar("x", e)
		both = append(both, &tir.PrimFunc{Name: "same_" + e.String(), Params: []*tir.Var{x}, Result: e,
			Body: &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "ret", x)}},
			&tir.PrimFunc{Name: "same_" + e.String() + "_body", Params: []*tir.Var{x}, Result: e,
				Body: &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "ret",
					tir.NewCall(tir.CallFunc, e, "same_"+e.String(), x))}})
	}
	for _, classic := range []bool{false, true} {
		m := loaded(t, c.Emitter{Classic: classic}, module(t, both...))
		for _, e := range types {
			for _, suffix := range []string{"", "_body"} {
				in, want := any(int64(1)), any(int64(1))
				switch {
				case tir.IsFloat(e):
					in, want = 1.5, 1.5
				case tir.IsBool(e) && !classic:
					in, want = true, true
				}
				require.Equal(t, want, must.Get(modules.Call(t, m, "same_"+e.String()+suffix, in))(t), e)
			}
		}
	}
}

// Wrong arguments, and the errors that callers get.
func TestRun_WrongArguments(t *testing.T) {
	m := loaded(t, c.Emitter{}, all(t))
	f := func(shape ...int64) any { return modules.Empty(t, dlpack.Float32, shape...) }
	wide := modules.Tensor(t, make([]float32, 8), 4, 2)
	aligned := vadd("aligned", tir.Float32, tir.Serial)
	for _, b := range aligned.Buffers {
		b.Alignment = 64
	}
	more := loaded(t, c.Emitter{}, module(t, aligned, sized()))
	part := func(offset int64) any {
		return must.Open(wide.View(dlpack.Float32, []int64{3}, nil, offset))(t)
	}
	strided := must.Open(wide.View(dlpack.Float32, []int64{4}, []int64{2}, 0))(t)
	for _, c := range []struct {
		m        *runtime.Module
		function string
		args     []any
		want     string
	}{
		{m, "matmul", []any{f(4, 64), f(63, 5), f(4, 5)},
			"ValueError: matmul: argument 1 (B): shape[0] is 63, expected k = " +
				"64 (argument 0 (A): shape[1])"},
		{m, "matmul", []any{f(4, 64), f(64, 5), f(5, 5)}, "ValueError: matmul: argument 2 (C): shape[0] is 5, expected n = " +
			"4 (argument 0 (A): shape[0])"},
		{m, "matmul", []any{f(4, 64), f(64), f(4, 5)}, "ValueError: matmul: argument 1 (B): expected 2 dimensions " +
			"(float32[k, m]), got 1"},
		{m, "vadd", []any{f(4), f(4)},
			"TypeError: vadd: expected 3 arguments, got 2: vadd(A: float32[n], B: float32[n], C: " +
				"float32[n])"},
		{m, "vadd", []any{f(4), 3, f(4)}, "TypeError: vadd: argument 1 (B): expected float32[n], got int"},
		{m, "vadd", []any{f(4), "text", f(4)}, "TypeError: vadd: argument 1 (B): expected float32[n], got a string"},
		{m, "vadd", []any{nil, f(4), f(4)}, "TypeError: vadd: argument 0 (A): expected float32[n], got None"},
		{m, "vadd", []any{f(4), f(4), modules.Empty(t, dlpack.Int32, 4)},
			"TypeError: vadd: argument 2 (C): expected float32, got int32"},
		{m, "less", []any{f(4), f(4), modules.Empty(t, dlpack.UInt8, 4)},
			"TypeError: less: argument 2 (C): expected bool, got uint8"},
		{m, "vadd_half", []any{modules.Empty(t, dlpack.BFloat16, 4), f(4), f(4)},
			"TypeError: vadd_half: argument 0 (A): expected " +
				"float16, got bfloat16"},
		{m, "doubled", []any{f(1)}, "TypeError: doubled: argument 0 (x): expected float32, got a tensor"},
		{more, "aligned", []any{part(4), f(3), f(3)},
			"ValueError: aligned: argument 0 (A): the elements begin 4 bytes behind a multiple of 64: copy them to " +
				"aligned memory"},
		{m, "vadd", []any{strided, f(4), f(4)},
			"ValueError: vadd: argument 0 (A): strides[0] is 2, expected 1: the tensor is not contiguous, copy it"},
		{more, "sized", []any{5000000000, f(4), f(8)}, "ValueError: sized: argument 0 (n): 5000000000 does not fit int32"},
		{more, "sized", []any{4.5, f(4), f(8)}, "TypeError: sized: argument 0 (n): expected int32, got float"},
		{more, "sized", []any{3, f(4), f(8)},
			"ValueError: sized: argument 1 (A): shape[0] is 4, expected n = 3 (argument 0 (n))"},
		{more, "sized", []any{4, f(4), f(9)}, "ValueError: sized: argument 2 (B): shape[0] is 9, expected n * 2 = 8 " +
			"(argument 0 (n))"},
	} {
		_, err := modules.Call(t, c.m, c.function, c.args...)
		require.Error(t, err, c.want)
		var e *runtime.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.want, e.Code+": "+e.Message)
	}
	_, err := modules.Call(t, m, "vadd", part(4), f(3), f(3))
	require.NoError(t, err, "an element's alignment is enough")
}

// sized has a 32-bit integer parameter that sizes depend on.
func sized() *tir.PrimFunc {
	n, i := tir.NewVar("n", tir.Int32), tir.NewVar("i", tir.Int32)
	a, b := tir.NewBuffer("A", tir.Float32, n), tir.NewBuffer("B", tir.Float32, tir.Mul(n, tir.I32(2)))
	f := tensors("sized", loop(tir.Serial, i, n, store(b, at(a, i), tir.Mul(i, tir.I32(2)))), a, b)
	f.Params = append([]*tir.Var{n}, f.Params...)
	return f
}

// Apache TVM's own runtime calls the functions.
func TestRun_InWheel(t *testing.T) {
	wheel.NeedSameMachine(t)
	out := wheel.Run(t, nil, "testdata/wheel.py", exported(t, c.Emitter{}, all(t)))
	require.Equal(t, "ok\nValueError: matmul: argument 1 (B): shape[0] is 63, expected k = 64 (argument 0 (A): "+
		"shape[1])\n", string(out))
}
