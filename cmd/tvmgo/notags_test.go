//go:build cgo && !opencl

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDoctor_NotBuiltIn(t *testing.T) {
	f := doctor(t)["opencl"]
	require.False(t, f.Usable)
	require.Contains(t, f.Verdict, "OpenCL is not built in: build with")
	status, _, stderr := cli("run", artifacts+"/modern/gpu_opencl.so", "vadd", "--device", "opencl:0")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, f.Verdict)
}
