package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
)

// The cases for GPUs are measured by libraries that were written before, as in the GPU bundle.
func TestRun_GPUCases(t *testing.T) {
	if !runtime.DeviceExists(dlpack.Device{Type: dlpack.OpenCL}) {
		gputest.Missing(t, dlpack.OpenCL, "there is no device")
	}
	folder := t.TempDir()
	const size = 5
	write := config{gpu: true, quarter: size, write: folder, targets: "opencl -max_threads_per_block=256"}
	require.NoError(t, write.run(t.Context()))
	read := config{gpu: true, quarter: size, from: folder, on: "opencl", json: filepath.Join(folder, "r.json"),
		svg: filepath.Join(folder, "r.svg"), rounds: 1, sample: time.Microsecond}
	require.NoError(t, read.run(t.Context()))
	text, err := os.ReadFile(read.json)
	require.NoError(t, err)
	require.Contains(t, string(text), `"case": "matmul-4096-f16"`)
	require.Contains(t, string(text), `"base": "copy"`)
	require.Contains(t, string(text), "library not usable: cuBLAS computes on cuda, and a matrix is on opencl:0")
	drawing, err := os.ReadFile(read.svg)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(drawing, new(struct{})))

	full := config{gpu: true, from: folder, on: "opencl"}
	require.ErrorContains(t, full.run(t.Context()), "is a CPU")
	require.ErrorContains(t, (&config{write: folder}).run(t.Context()), "-write needs -target")
	missing := config{gpu: true, quarter: size, from: t.TempDir(), on: "opencl", only: "add"}
	require.ErrorContains(t, missing.run(t.Context()), "opencl-add-generated.so")
}
