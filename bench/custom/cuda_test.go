//go:build cuda

package custom_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/runtime"
)

const addCU = "// " + addSignature + `
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
`

// A kernel in CUDA C++ is compiled and compared with C on the CPU, and so is a program.
func TestCUDA(t *testing.T) {
	cudarun.Use(t)
	sized := custom.Options{Sizes: map[string]int64{"n": 100}, Figure: bench.Bandwidth}
	for _, files := range [][]string{{write(t, "add.cu", addCU), write(t, "add.c", addC), write(t, "add.cl", addCL)},
		{write(t, "gpu.tir", gpuTIR), write(t, "cpu.tir", cpuTIR)},
		{"../../examples/bench/triad.cu", "../../examples/bench/triad.cl", "../../examples/bench/triad.c"}} {
		k, err := custom.Case(files, sized)
		require.NoError(t, err)
		rows := run(t, k, "cuda:0", "opencl:0")
		measured(t, rows)
		for _, r := range rows {
			require.Equal(t, "3 arrays with 300 elements, compared with cpu:0", r.Checked)
			require.Equal(t, bench.ClockDevice, rows[0].Clock)
			require.Equal(t, "GB/s", rows[0].Unit)
		}
	}
	k, err := custom.Case([]string{write(t, "gpu.tir", gpuTIR)}, custom.Options{Sizes: sized.Sizes,
		Target: "cuda -arch=sm_80"})
	require.NoError(t, err)
	measured(t, run(t, k, "cuda:0"))
}

// faulty are the calls of the driver that fail in this test: those that allocate, load, copy and launch.
var faulty = []string{"cuMemAlloc*", "cuMemcpy*", "cuMemsetD*", "cuStreamSynchronize", "cuLaunchKernel*",
	"cuEventCreate", "cuEventRecord", "cuEventElapsedTime", "cuModuleLoad*", "cuModuleGet*", "cuFunc*"}

// Whichever call of the driver fails, the case fails with an error, everything is freed, and the next try succeeds.
func TestCUDA_FailingDriver(t *testing.T) {
	driver := cudarun.Use(t)
	accumulates := "// f(x: inout float32[n]) launch blockIdx.x=n\n" +
		"extern \"C\" __global__ void f(float* x) { x[blockIdx.x] += 1; }\n"
	for _, code := range []string{addCU, accumulates} {
		k, err := custom.Case([]string{write(t, "f.cu", code)}, custom.Options{Sizes: map[string]int64{"n": 64}})
		require.NoError(t, err)
		measured(t, run(t, k, "cuda:0"))
		live, failures := runtime.Live(), 0
		for n := int64(1); ; n++ {
			driver.FailAt(n, 1, faulty...)
			rows := run(t, k, "cuda:0")
			failed := driver.Failed()
			driver.FailAt(0, 0)
			require.Equal(t, live, runtime.Live(), "failure %d: %s", n, rows[0].Reason)
			if !failed {
				measured(t, rows)
				break
			}
			if rows[0].Status == bench.Failed {
				failures++
			}
			n += n / 8
		}
		require.Greater(t, failures, 5)
	}
}

// A compiler's errors are short, and name the file's line.
func TestCUDA_SyntaxError(t *testing.T) {
	cudarun.Use(t)
	for name, code := range map[string]string{"add.cu": addCU, "add.cl": addCL} {
		k, err := custom.Case([]string{write(t, name, strings.Replace(code, "x[i] + y[i]", "x[i] +* nonsense(", 1))},
			custom.Options{Sizes: map[string]int64{"n": 64}})
		require.NoError(t, err)
		r := run(t, k, map[string]string{"add.cu": "cuda:0", "add.cl": "opencl:0"}[name])[0]
		require.Equal(t, bench.Failed, r.Status)
		require.Contains(t, r.Reason, "nonsense")
		require.Less(t, strings.Count(r.Reason, "\n"), 14)
	}
}
