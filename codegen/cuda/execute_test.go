//go:build cuda

package cuda_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// executed builds a program for CUDA, exports and loads it, runs a function with the kernels on the CPU, and compares
// the arguments with those of the interpreter.
func executed(t *testing.T, m *tir.IRModule, name string, within float64, args ...any) {
	t.Helper()
	same(t, loaded(t, m), m, name, within, args...)
}

// loaded builds a program for CUDA, exports and loads it. Its kernels run on the CPU.
func loaded(t *testing.T, m *tir.IRModule) *runtime.Module {
	t.Helper()
	cudarun.Use(t)
	built := must.Get(codegen.Build(m, onDevice(t, "sm_90")))(t)
	defer built.Close()
	path := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, export.Library(context.Background(), built, path))
	return gputest.Module(t, path)
}

// same runs a function of a library and of the interpreted program, and compares their arguments.
func same(t *testing.T, lib *runtime.Module, m *tir.IRModule, name string, within float64, args ...any) {
	t.Helper()
	want, given := make([]any, len(args)), make([]any, len(args))
	for i, a := range args {
		want[i], given[i] = a, a
		if x, ok := a.(*tirrun.Array); ok {
			c := *x
			c.Data = append([]byte(nil), x.Data...)
			d := must.Open(runtime.NewTensor(dlpack.DataType(x.DType), x.Shape, cudarun.Device))(t)
			require.NoError(t, d.CopyFromBytes(x.Data))
			want[i], given[i] = &c, d
		}
	}
	synced := must.Get(transform.ThreadSync(m, nil))(t)
	must.Get(must.Get(tirrun.Compile(synced, tirrun.Options{Seed: 7}))(t).Call(name, want...))(t)
	must.Get(gputest.Function(t, lib, name).Call(given...))(t)
	for i, w := range want {
		expected, ok := w.(*tirrun.Array)
		if !ok {
			continue
		}
		got := *expected
		got.Data = make([]byte, len(expected.Data))
		require.NoError(t, given[i].(*runtime.Tensor).CopyToBytes(got.Data))
		e, g := must.Get(tirrun.Values[float64](expected))(t), must.Get(tirrun.Values[float64](&got))(t)
		for n := range e {
			equal := e[n] == g[n] || math.IsNaN(e[n]) && math.IsNaN(g[n]) || math.Abs(e[n]-g[n]) <= within*(1+math.Abs(e[n]))
			require.True(t, equal, "%s: argument %d, element %d is %v, want %v", name, i, n, g[n], e[n])
		}
	}
}

// array returns random numbers of a type: between -1 and 1, or small integers.
func array(t testing.TB, r *rand.Rand, typ tir.Type, shape ...int64) *tirrun.Array {
	t.Helper()
	v := make([]float64, must.Get(dlpack.NumElements(shape))(t))
	for i := range v {
		if v[i] = r.Float64()*2 - 1; !tir.IsFloat(typ) {
			v[i] = float64(r.IntN(200) - 100)
		}
	}
	return must.Get(tirrun.From(typ, v, shape...))(t)
}

func TestExecute_VectorsOfAnyLength(t *testing.T) {
	r := testseed.Rand(t)
	for _, typ := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.BFloat16, tir.Int8, tir.UInt16,
		tir.Int32, tir.Int64} {
		for _, n := range []int64{0, 1, 63, 64, 1000} {
			var by any = 3
			within := 0.0
			if tir.IsFloat(typ) {
				by, within = 0.75, 1e-6
			}
			out := must.Get(tirrun.New(typ, n))(t)
			executed(t, gpuprograms.VAdd(t, typ, 64), "vadd", within, array(t, r, typ, n), array(t, r, typ, n), out, by)
		}
	}
}

func TestExecute_SharedTiles(t *testing.T) {
	r := testseed.Rand(t)
	for _, typ := range []tir.Type{tir.Float32, tir.Float64, tir.Int32} {
		for _, s := range [][3]int64{{13, 11, 10}, {8, 4, 8}, {1, 1, 1}, {33, 40, 17}} {
			out := must.Get(tirrun.New(typ, s[0], s[2]))(t)
			executed(t, gpuprograms.Tiles(t, int32(s[0]), int32(s[1]), int32(s[2]), typ), "tiles", 1e-5,
				array(t, r, typ, s[0], s[1]), array(t, r, typ, s[1], s[2]), out)
		}
	}
}

// warps uses numbers of all types, both kinds of shared memory, shuffles and asynchronous copies.
const warps = `
func warps(a: handle, b: handle, c: handle, d: handle, e: handle, x: float32) {
  buffer A: float16[64], param a
  buffer B: bfloat16[64], param b
  buffer C: int32[64], param c
  buffer D: float64[64], param d
  buffer E: int8[64], param e
  thread bx in range(1), thread "blockIdx.x" {
    thread t in range(64), thread "threadIdx.x" {
      alloc S: float16[64], scope "shared"
      alloc R: float32[64], scope "shared.dyn"
      alloc T: int32[64], scope "shared"
      eval async_copy[void](address_of[handle](T[t]), address_of[handle](C[t]), 4)
      eval async_commit[void]()
      S[t] = A[t] + A[t] * float16(3.0) - float16(0.25)
      eval async_wait[void](0)
      eval storage_sync[void]("shared")
      R[t] = exp(cast(float32, S[63 - t])) + rsqrt(x) + cast(float32, T[63 - t])
      A[t] = warp_shuffle[float16](A[t] / float16(3.0), 31 - floormod(t, 32))
      B[t] = warp_shuffle_xor[bfloat16](max(cast(bfloat16, R[t]) / bfloat16(3.0), exp(B[t])), 1)
      C[t] = cast(int32, warp_shuffle_down[int8](E[t], 1 - floormod(t, 2))) + popcount(warp_shuffle[int32](C[t], 31))
      D[t] = warp_shuffle_xor[float64](D[t], 16) + floor(D[t]) + cast(float64, cast(float16, D[t]))
      E[t] = cast(int8, clz(cast(uint8, E[t]))) + cast(int8, x)
    }
  }
}
`

func TestExecute_Warps(t *testing.T) {
	r := testseed.Rand(t)
	executed(t, parsed(t, warps), "warps", 1e-2, array(t, r, tir.Float16, 64),
		array(t, r, tir.BFloat16, 64), array(t, r, tir.Int32, 64),
		array(t, r, tir.Float64, 64), array(t, r, tir.Int8, 64), 0.5)
}

// Small floats that an architecture lacks are computed as float: the results have the same bits.
func TestExecute_OldArchitectures(t *testing.T) {
	r := testseed.Rand(t)
	for _, typ := range []tir.Type{tir.Float16, tir.BFloat16} {
		const n = 40 // five vectors of eight
		code := source(t, vectorized(t, "X * Y + X - Y / X", typ, typ, 8))
		a, b := array(t, r, typ, n), array(t, r, typ, n)
		var want []uint16
		for _, arch := range []int{100, 90, 80, 60, 50} {
			got := make([]uint16, n)
			library := must.Get(cudarun.Compile(code, cudarun.Options{Arch: arch}))(t)
			require.NoError(t, library.Launch("v_kernel", cudarun.Grid{Threads: cudarun.Dim{5}}, words(a.Data), words(b.Data),
				got))
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "%s, %d", typ, arch)
		}
	}
}

func words(data []byte) []uint16 {
	all := make([]uint16, len(data)/2)
	for i := range all {
		all[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	return all
}
