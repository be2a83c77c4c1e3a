//go:build cgo && opencl

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// One file runs on the CPU and on OpenCL devices, and says what it has for others.
func TestRun_Fat(t *testing.T) {
	env := append(twoDevices(t), "TVMGO_VULKAN_DEVICE_TWICE=1")
	needOpenCL(t, env)
	dir := fatPrograms(t)
	for _, targets := range [][]string{{"c", "opencl"}, {"llvm", "opencl"}} {
		if targets[0] == "llvm" {
			needLLVM(t)
		}
		status, _, stderr := builtWith(t, dir, env, "build", "cpu.tir", "gpu.tir", "-o", "add.so", "--target", targets[0],
			"--target", targets[1])
		require.Zero(t, status, stderr)
		in := must.Get(filepath.Abs(filepath.Join(artifacts, "vadd_in0.npy")))(t)
		run := func(device string) (int, string) {
			status, _, stderr := builtWith(t, dir, env, "run", "add.so", "add", "--device", device, "--in", in, "--in", in,
				"--out", device+".npy", "--like", "float32[1001]")
			return status, stderr
		}
		for _, device := range []string{"cpu", "opencl:0", "opencl:1"} {
			status, stderr := run(device)
			require.Zero(t, status, stderr)
			want := floats(t, in)
			for i := range want {
				want[i] += want[i]
			}
			require.Equal(t, want, floats(t, filepath.Join(dir, device+".npy")), device)
			require.NoError(t, os.Remove(filepath.Join(dir, device+".npy")))
		}
		if len(doctor(t, env...)["vulkan"].Devices) > 0 {
			status, stderr := run("vulkan:0")
			require.Equal(t, 1, status)
			require.Contains(t, stderr, "add: argument 0 (a): the tensor is on vulkan:0, and the file has add for cpu ("+
				targets[0]+"), opencl: copy the tensor to a device of these, or build add for vulkan, too")
		}
	}
}
