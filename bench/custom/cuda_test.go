//go:build cuda

package custom_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/internal/testing/cudarun"
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
		{write(t, "gpu.tir", gpuTIR), write(t, "cpu.tir", cpuTIR)}} {
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
	k, err := custom.Case([]string{write(t, "gpu.tir", gpuTIR)}, custom.Options{Sizes: sized.Sizes, Target: "cuda -arch=sm_80"})
	require.NoError(t, err)
	measured(t, run(t, k, "cuda:0"))
}
