package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

const twoKernels = `
func f(a: handle, b: handle, times: int32, on: bool) {
  attrs {"tir.noalias": true}
  var n: int32
  buffer A: float32[n, 4], param a
  buffer B: float32[n, 4], param b
  alloc T: float32[n, 4]
  for k in range(times) {
    thread i in range(n), thread "blockIdx.y" {
      thread j in range(4), thread "threadIdx.x" {
        T[i, j] = A[i, j] + cast(float32, k)
      }
    }
  }
  packed log(times)
  if on {
    thread j in range(4), thread "threadIdx.x" {
      thread i in range(8), thread "threadIdx.z" {
        alloc S: float32[n, 4], scope "shared.dyn"
        alloc R: int8[7], scope "shared.dyn"
        alloc D: float64[3], scope "shared.dyn"
        if i < n {
          S[i, j] = T[i, j]
          B[i, j] = S[i, j] + cast(float32, R[0]) + cast(float32, D[0])
        }
      }
    }
  }
}

func plain(a: handle) {
  attrs {"target": target {"kind": "c"}}
  buffer A: float32[4], param a
  A[0] = 1.0
}

func f_kernel_1() {
  packed log(1)
}
`

func TestSplitHostDevice(t *testing.T) {
	m := read(t, twoKernels)
	before := text.Print(m)
	gpu := targetFor(t, "cuda -arch=sm_90")
	split := must.Get(transform.SplitHostDevice(m, gpu))(t)
	require.Equal(t, before, text.Print(m), "it was changed")
	require.NoError(t, tir.Check(split))
	var names []string
	for _, f := range split.Funcs {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"f", "f_kernel", "f_kernel_2", "plain", "f_kernel_1"}, names)
	require.Same(t, m.Func("plain"), split.Func("plain"))

	host := split.Func("f")
	require.False(t, transform.IsKernel(host))
	require.Equal(t, "c", host.Attrs["target"].(*target.Target).Kind().Name())
	require.Equal(t, int64(dlpack.CUDA), host.Attrs["tir.device_type"])
	require.Equal(t, m.Func("f").Params, host.Params)
	source := text.Print(host)
	for _, want := range []string{
		"packed __tvm_set_device(2, device_id)",
		"alloc T: float32[n, 4], data T: handle\n",
		"for k in range(times)",
		"if n > 0 {\n      packed f_kernel(A, T, n, k, cast(int64, n), int64(4))",
		"packed log(times)",
		"packed f_kernel_2(T, B, n, int64(4), int64(8), ",
	} {
		require.Contains(t, source, want)
	}

	first, second := split.Func("f_kernel"), split.Func("f_kernel_2")
	require.True(t, transform.IsKernel(first) && transform.IsKernel(second))
	require.Same(t, gpu, first.Attrs["target"])
	require.Equal(t, true, first.Attrs["tir.noalias"])
	require.Equal(t, []string{"blockIdx.y", "threadIdx.x"}, transform.LaunchTags(first))
	require.Equal(t, []string{"threadIdx.x", "threadIdx.z", "tir.use_dyn_shared_memory"}, transform.LaunchTags(second))
	require.Len(t, first.Params, 4)
	require.Equal(t, []string{"A", "T"}, []string{first.Buffers[first.Params[0]].Name,
		first.Buffers[first.Params[1]].Name})
	require.Equal(t, []string{"n", "k"}, []string{first.Params[2].Name, first.Params[3].Name})

	again, err := transform.SplitHostDevice(split, gpu)
	require.NoError(t, err, "kernels stay as they are, and so do functions of the host")
	require.Equal(t, text.Print(split), text.Print(again))
}

// The host computes the number of bytes of dynamic shared memory: 16 n, then 7 at the next multiple of 16, then 24 at
// the next one.
func TestSplitHostDevice_DynamicShared(t *testing.T) {
	split := must.Get(transform.SplitHostDevice(read(t, twoKernels), targetFor(t, "cuda -arch=sm_90")))(t)
	var size tir.Expr
	tir.Walk(split.Func("f"), func(node any) bool {
		if c, ok := node.(*tir.Call); ok && c.Name == "f_kernel_2" {
			size = c.Args[len(c.Args)-1]
		}
		return true
	})
	require.NotNil(t, size)
	var n *tir.Var
	tir.Walk(size, func(node any) bool {
		if v, ok := node.(*tir.Var); ok {
			n = v
		}
		return true
	})
	require.NotNil(t, n)
	for _, v := range []int64{1, 3, 8} {
		require.Equal(t, 16*v+16+24, evaluated(t, size, n, v))
	}
}

// evaluated returns the value of an integer expression.
func evaluated(t testing.TB, e tir.Expr, v *tir.Var, value int64) int64 {
	t.Helper()
	switch e := e.(type) {
	case *tir.Var:
		require.Same(t, v, e)
		return value
	case *tir.IntImm:
		return e.Value
	case *tir.Cast:
		return evaluated(t, e.Value, v, value)
	case *tir.Binary:
		a, b := evaluated(t, e.A, v, value), evaluated(t, e.B, v, value)
		switch e.Op {
		case tir.OpAdd:
			return a + b
		case tir.OpMul:
			return a * b
		case tir.OpFloorDiv:
			return a / b // not negative
		}
	}
	t.Fatalf("%s", text.Print(e))
	return 0
}

func TestSplitHostDevice_Refuses(t *testing.T) {
	body := func(source string) string {
		return "func f(a: handle, n: int32) {\n  buffer A: float32[64], param a\n" + source + "\n}\n"
	}
	for want, source := range map[string]string{
		"the loop over i is parallel, and has a kernel within": body(`
  parallel i in range(4) {
    thread t in range(8), thread "threadIdx.x" {
      A[t] = 1.0
    }
  }`),
		"variable v loads from buffer A on the host": body(`
  let v = A[0]
  thread t in range(8), thread "threadIdx.x" {
    A[t] = v
  }`),
		"loop t over blockIdx.x runs as often as buffer A says": body(`
  thread t in range(cast(int32, A[0])), thread "blockIdx.x" {
    A[t] = 1.0
  }`),
		"stands within one over threads of a block: put blocks outside": body(`
  thread t in range(8), thread "threadIdx.x" {
    thread b in range(8), thread "blockIdx.x" {
      A[t] = 1.0
    }
  }`),
		"loop v over vthread shares memory between its iterations, and their number is not constant": body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc S: float32[8], scope "shared"
    thread v in range(n), thread "vthread" {
      S[t] = 1.0
    }
  }`),
		"loop v over vthread has a barrier below a condition that differs between its iterations": body(`
  thread t in range(8), thread "threadIdx.x" {
    thread v in range(2), thread "vthread" {
      if v + n < 2 {
        storage_sync("shared")
      }
    }
  }`),
		"loop v over vthread stores to buffer S and accesses other elements of it below a condition": body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc S: float32[16], scope "shared"
    thread v in range(2), thread "vthread" {
      if v + n < 2 {
        S[v * 8 + t] = 1.0
        A[v * 8 + t] = S[8 - v * 8 + t]
      }
    }
  }`),
		"loop v over vthread.x stores to buffer L, of which each of its iterations has its own": body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc L: float32[8], scope "local"
    thread v in range(2), thread "vthread.x" {
      L[0] = 1.0
    }
  }`),
	} {
		_, err := transform.SplitHostDevice(read(t, source), targetFor(t, "opencl"))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "split host and device: function f for opencl: ")
	}
}
