package cuda_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/codegen/cuda"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

func TestEmit_Golden(t *testing.T) {
	for name, m := range map[string]*tir.IRModule{
		"tiles": gpuprograms.Tiles(t, 13, 11, 10, tir.Float32), "vadd": gpuprograms.VAdd(t, tir.Float32, 128),
		"everything": parsed(t, everything),
	} {
		code := source(t, m)
		golden.Text(t, "testdata/"+name+".golden.cu", code)
		for _, arch := range archs {
			compiled(t, code, arch)
		}
	}
}

// Generating kernels needs no device.
func TestImports_NoDevice(t *testing.T) {
	out := must.Get(exec.Command("go", "list", "-deps", "tvmgo/codegen/cuda").Output())(t)
	require.Contains(t, string(out), "tvmgo/codegen/cuda\n")
	for _, p := range strings.Fields(string(out)) {
		for _, device := range []string{"tvmgo/runtime/cuda", "tvmgo/runtime/opencl", "tvmgo/runtime/vulkan",
			"github.com/", "gorgonia.org"} {
			require.False(t, strings.HasPrefix(p, device), p)
		}
	}
}

// Words of CUDA C are not used as names of buffers and variables, and are errors as names of kernels.
func TestEmit_Names(t *testing.T) {
	n := te.Var("atomicAdd")
	a := te.Placeholder([]tir.Expr{n}, tir.Float32, "half")
	b := te.Compute([]tir.Expr{n}, "float4", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.F32(1)) })
	m := gpuprograms.Scheduled(t, "dot", []any{a, b}, b)(func(s *te.Schedule) {
		bx, tx := s.Stage(b).Split(b.Axes()[0], 32)
		s.Stage(b).Bind(bx, "blockIdx.x")
		s.Stage(b).Bind(tx, "threadIdx.x")
	})
	code := source(t, m)
	require.Contains(t, code, "v_half, float* __restrict__ v_float4, int v_atomicAdd)")

	kernel := parsed(t, `
func __syncthreads(a: handle) {
  attrs {"calling_conv": 2}
  buffer A: float32[8], param a
  thread t in range(8), thread "threadIdx.x" {
    A[t] = 1.0
  }
}
`)
	_, err := codegen.Build(kernel, onDevice(t, "sm_80"))
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	require.ErrorContains(t, err, `the name "__syncthreads" is reserved in CUDA C`)
}

// A schedule that knows how many blocks a multiprocessor should run at once says so to the compiler, by a pragma of any
// loop over threads.
func TestEmit_MinBlocks(t *testing.T) {
	for _, axis := range []int{0, 1} {
		a := te.Placeholder(te.Dims(64, 256), tir.Float32, "A")
		b := te.Compute(te.Dims(64, 256), "B", func(i ...tir.Expr) tir.Expr { return tir.Mul(a.At(i...), a.At(i...)) })
		code := source(t, gpuprograms.Scheduled(t, "f", []any{a, b}, b)(func(s *te.Schedule) {
			st := s.Stage(b)
			st.Bind(st.Axes()[0], "blockIdx.x")
			st.Bind(st.Axes()[1], "threadIdx.x")
			st.Pragma(st.Axes()[axis], transform.AnnotationMinBlocks, 4)
		}))
		require.Contains(t, code, "__launch_bounds__(256, 4)")
		compiled(t, code, "sm_80")
	}
}

// BenchmarkEmit generates CUDA C of a kernel, after the passes.
func BenchmarkEmit(b *testing.B) {
	to := onDevice(b, "sm_90")
	all := must.Get(transform.ForDevice(cuda.Language).Run(gpuprograms.Tiles(b, 512, 512, 512, tir.Float32), to))(b)
	kernels := &tir.IRModule{}
	for _, f := range all.Funcs {
		if transform.IsKernel(f) {
			kernels.Funcs = append(kernels.Funcs, f)
		}
	}
	for b.Loop() {
		must.Get(cuda.New().Emit(kernels, to))(b)
	}
}
