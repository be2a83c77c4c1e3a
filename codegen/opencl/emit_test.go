package opencl_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
)

// kernelsOf returns the code of a program's kernels, and their launch parameters.
func kernelsOf(t testing.TB, m *tir.IRModule) (string, []blob.Function) {
	t.Helper()
	built := must.Get(codegen.Build(m, clTarget(t)))(t)
	defer built.Close()
	imports := must.Get(built.Imports())(t)
	require.Len(t, imports, 1)
	defer imports[0].Close()
	code := must.Get(imports[0].GetSource("cl"))(t)
	data := must.Get(imports[0].SaveToBinary())(t)
	d := must.Get(blob.ParseDeviceModule(data, blob.Modern))(t)
	return code, d.Functions
}

func TestEmit_Golden(t *testing.T) {
	code, functions := kernelsOf(t, gpuprograms.Tiles(t, 13, 11, 10, tir.Float32))
	golden.Text(t, "testdata/tiles.golden.cl", code)
	handle := dlpack.Handle
	require.Equal(t, []blob.Function{{Key: "tiles_kernel", FunctionInfo: blob.FunctionInfo{Name: "tiles_kernel",
		ArgTypes:        []dlpack.DataType{handle, handle, handle},
		LaunchParamTags: []string{"blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"},
		ArgExtraTags:    []int32{0, 0, 0}}}}, functions)
}

// A loop with a pragma to unroll it remains a loop, with the compiler's own pragma.
func TestEmit_Unroll(t *testing.T) {
	a := te.Placeholder(te.Dims(64, 5), tir.Float32, "A")
	k := te.ReduceAxis(tir.I32(0), tir.I32(5), "k")
	c := te.Compute(te.Dims(64), "C", func(i ...tir.Expr) tir.Expr { return te.Sum(a.At(i[0], k.Var), k) })
	m := gpuprograms.Scheduled(t, "rows", []any{a, c}, c)(func(s *te.Schedule) {
		st := s.Stage(c)
		st.Bind(c.Axes()[0], "threadIdx.x")
		st.Pragma(k, "unroll_explicit", int64(0))
		st.Unroll(k)
	})
	code, _ := kernelsOf(t, m)
	require.Contains(t, code, "  #pragma unroll 5\n  for (int k = 0; k < 5; ++k) {\n")
}

// Generating kernels needs no device.
func TestImports_NoDevice(t *testing.T) {
	out := must.Get(exec.Command("go", "list", "-deps", "tvmgo/codegen/opencl", "tvmgo/tir/transform").Output())(t)
	require.Contains(t, string(out), "tvmgo/codegen/opencl\n")
	for _, p := range strings.Fields(string(out)) {
		for _, device := range []string{"tvmgo/runtime/cuda", "tvmgo/runtime/opencl", "tvmgo/runtime/vulkan",
			"github.com/", "gorgonia.org"} {
			require.False(t, strings.HasPrefix(p, device), p)
		}
	}
}

// Words of OpenCL C are not used as names of buffers and variables, and are errors as names of kernels.
func TestEmit_Names(t *testing.T) {
	n := te.Var("get_global_id")
	a := te.Placeholder([]tir.Expr{n}, tir.Float32, "half")
	b := te.Compute([]tir.Expr{n}, "float4", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.F32(1)) })
	m := gpuprograms.Scheduled(t, "dot", []any{a, b}, b)(func(s *te.Schedule) {
		bx, tx := s.Stage(b).Split(b.Axes()[0], 32)
		s.Stage(b).Bind(bx, "blockIdx.x")
		s.Stage(b).Bind(tx, "threadIdx.x")
	})
	code, _ := kernelsOf(t, m)
	require.Contains(t, code, "void dot_kernel(__global float* restrict v_half, "+
		"__global float* restrict v_float4, int v_get_global_id)")

	kernel := gpuprograms.Parsed(t, `
func barrier(a: handle) {
  attrs {"calling_conv": 2}
  buffer A: float32[8], param a
  thread t in range(8), thread "threadIdx.x" {
    A[t] = 1.0
  }
}
`)
	_, err := codegen.Build(kernel, clTarget(t))
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	require.ErrorContains(t, err, `the name "barrier" is reserved in OpenCL C`)
}

func TestBuild_Refuses(t *testing.T) {
	body := func(text string) string {
		return "func f(a: handle, n: int32) {\n  buffer A: float32[1000], param a\n" + text + "\n}\n"
	}
	for want, text := range map[string]string{
		"buffer A, in memory of opencl, is written by the host": body(`
  for i in range(1000) {
    A[i] = 1.0
  }`),
		"buffer A, in memory of opencl, is read by the host": body(`
  if A[0] > 0.0 {
    thread t in range(8), thread "threadIdx.x" {
      A[t] = 1.0
    }
  }`),
		"a block has 1000 threads (threadIdx.x 1000), 744 more than max_threads_per_block of target opencl allows": body(`
  thread t in range(1000), thread "threadIdx.x" {
    A[t] = 1.0
  }`),
		"a block uses 20000 bytes of shared memory, most of it for buffer S, 3616 more than max_shared_memory_per_block of " +
			"target opencl allows (16384)": body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc S: float32[5000], scope "shared"
    S[t] = 1.0
  }`),
		"allocation of buffer L of type float32x4: it needs an address, and elements of one lane": body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc L: float32x4[2], scope "local"
    L[0] = float32x4(1.0)
  }`),
		"buffer S after another one": body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc S: float32[8], scope "shared"
    if t < n {
      S[t] = 1.0
      A[t] = S[7 - t]
    }
  }`),
		"below the condition t < n, which is not the same for all threads of a block": body(`
  thread t in range(8), thread "threadIdx.x" {
    if t < n {
      storage_sync[void]("shared")
    }
  }`),
		"in scope global is allocated within a kernel": body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc S: float32[8]
    S[t] = 1.0
  }`),
		"buffer S in scope shared is allocated around kernels": body(`
  alloc S: float32[8], scope "shared"
  thread t in range(8), thread "threadIdx.x" {
    S[t] = 1.0
  }`),
		"another one of the kernel 4: a launch has one extent": body(`
  thread b in range(2), thread "blockIdx.x" {
    thread t in range(4), thread "threadIdx.x" {
      A[t] = 1.0
    }
    thread t in range(8), thread "threadIdx.x" {
      A[t] = 2.0
    }
  }`),
		"which is only known within the kernel": body(`
  thread b in range(2), thread "blockIdx.x" {
    thread t in range(b + 1), thread "threadIdx.x" {
      A[t] = 1.0
    }
  }`),
		"memory of buffer S is a warp's, and thread_warp_size of target opencl is 1": body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc S: float32[8], scope "warp"
    S[t] = 1.0
  }`),
		`intrinsic ret_none: a kernel ends where its last thread ends`: body(`
  thread t in range(8), thread "threadIdx.x" {
    if n < t { intrin ret_none() }
    A[t] = 1.0
  }`),
		"intrinsic prefetch: OpenCL C has none": body(`
  thread t in range(8), thread "threadIdx.x" {
    eval prefetch[void](address_of[handle](A[t]), 0, 3, 1)
    A[t] = 1.0
  }`),
		`buffer S in scope "shared.dyn": OpenCL C has the scopes "global", "local", "shared"`: body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc S: float32[8], scope "shared.dyn"
    S[t] = 1.0
    A[t] = S[t]
  }`),
		"a parallel loop over i on a device": body(`
  thread t in range(8), thread "threadIdx.x" {
    parallel i in range(4) {
      A[t * 4 + i] = 1.0
    }
  }`),
	} {
		_, err := codegen.Build(gpuprograms.Parsed(t, text), clTarget(t))
		assert.ErrorContains(t, err, want)
		assert.ErrorIs(t, err, runtime.ErrInvalidArgument, "%v", err)
	}
}

// Vectors are OpenCL's own if it has them, otherwise several smaller ones.
func TestEmit_Vectors(t *testing.T) {
	for _, c := range []struct {
		typ   tir.Type
		lanes int
		value string
		want  []string
	}{
		{tir.Float32, 4, "exp(X) + Y",
			[]string{"vstore4(exp(vload4(0, &A[t * 4])) + vload4(0, &B[t * 4]), 0, &C[t * 4]);"}},
		{tir.Float32, 16, "X / Y", []string{"vload16(0, &A[t * 16])"}},
		{tir.Float64, 2, "X + C(1.5)", []string{"cl_khr_fp64 : enable", "(double2)(1.5)", "vstore2("}},
		{tir.Int8, 8, "max(X, Y)", []string{"const char8 ", "select(", "(char8)("}},
		{tir.Float32, 20, "X + Y", []string{"vstore16(", "vstore4(", "&C[t * 20 + 16]"}},
		{tir.Float32, 3, "X + Y", []string{"vstore2(", "C[t * 3 + 2] = "}},
		{tir.Int8, 32, "X + Y", []string{"vstore16(C_0, 0, &C[t * 32]);", "vstore16(C_16, 0, &C[t * 32 + 16]);"}},
	} {
		code, _ := kernelsOf(t, gpuprograms.Vectorized(t, c.value, c.typ, c.lanes))
		for _, want := range c.want {
			require.Contains(t, code, want)
		}
		require.NotContains(t, code, "lane", "%s of %d lanes", c.typ, c.lanes)
	}
}

// The code that rounds float64 includes the code that rounds float32, which it uses.
func TestEmit_RoundsFloat64(t *testing.T) {
	code, _ := kernelsOf(t, gpuprograms.Parsed(t, `
func f(a: handle, b: handle) {
  buffer A: float64[64], param a
  buffer B: float32[64], param b
  thread t in range(64), thread "threadIdx.x" {
    B[t] = cast(float32, cast(float16, A[t])) + cast(float32, cast(bfloat16, A[t]))
  }
}
`))
	for _, name := range []string{"float16", "bfloat16"} {
		of, uses := strings.Index(code, "float tvmgo_round_"+name+"(float x)"),
			strings.Index(code, "return tvmgo_round_"+name+"(")
		require.True(t, of >= 0 && of < uses, "%s\n%s", name, code)
	}
}

// Elements of four bits are bytes in a kernel: each thread reads its half of a byte.
func TestEmit_NarrowTypes(t *testing.T) {
	code, _ := kernelsOf(t, gpuprograms.Parsed(t, `
func f(a: handle, b: handle) {
  buffer A: uint4[64], param a
  buffer B: int32[64], param b
  thread t in range(64), thread "threadIdx.x" { B[t] = cast(int32, A[t]) }
}
`))
	require.Contains(t, code, "__global uchar* restrict A")
	require.Contains(t, code, "& 15")
}

// Shared memory that a block no longer needs is reused, so that more blocks fit.
func TestEmit_SharedMemoryIsReused(t *testing.T) {
	code, _ := kernelsOf(t, gpuprograms.Parsed(t, `
func f(a: handle, b: handle) {
  buffer A: float32[64], param a
  buffer B: float32[64], param b
  thread t in range(64), thread "threadIdx.x" {
    alloc S: float32[64], scope "shared"
    S[t] = A[t]
    B[t] = S[63 - t]
    storage_sync[void]("shared")
    alloc R: float32[64], scope "shared"
    R[t] = B[t] * 2.0
    B[t] = R[63 - t]
  }
}
`))
	require.Equal(t, 1, strings.Count(code, "__local float S[64];"), code)
	require.NotContains(t, code, "__local float R[64]")
}
