package kernels

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
	"tvmgo/target"
)

// Every case for drivers on the CPU has a kernel by hand for both, and every file is one of a case.
func TestHand_IsComplete(t *testing.T) {
	known := map[string]bool{}
	for _, kind := range []string{"opencl", "vulkan"} {
		for _, c := range OnCPU {
			require.True(t, HasHand(kind, c), "%s on %s", c.Name, kind)
		}
	}
	for kind := range handSuffix {
		for _, c := range OnCPU {
			known[handFile(kind, c.Name, ByHand)] = true
		}
		known[handFile(kind, "sum", Read)] = true
	}
	files, err := hand.ReadDir("hand")
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, known["hand/"+f.Name()], f.Name())
	}
}

func TestEmission_NeedsNoDevice(t *testing.T) {
	for _, kind := range []string{"cuda", "vulkan"} {
		e, err := NewEmission(kind)
		require.NoError(t, err)
		require.GreaterOrEqual(t, e.Kernels, len(OnCPU))
		require.NoError(t, e.Run())
	}
}

// Generated kernels and those by hand compute what is expected; a kernel that computes something else is noticed.
func TestKernels_Check(t *testing.T) {
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan} {
		t.Run(kind.String(), func(t *testing.T) {
			dev := dlpack.Device{Type: kind}
			if !runtime.DeviceExists(dev) {
				gputest.Missing(t, kind, "there is no device")
			}
			to, err := runtime.DetectTarget(dev)
			require.NoError(t, err)
			folder := t.TempDir()
			for _, c := range []Case{OnCPU[2], OnCPU[4]} {
				arrays, err := NewArrays(c, dev)
				require.NoError(t, err)
				defer arrays.Close()
				for _, by := range []By{Generated, ByHand} {
					require.NoError(t, Write(t.Context(), folder, []*target.Target{to}, c, by))
					k, err := Open(t.Context(), folder, arrays, by)
					require.NoError(t, err)
					require.NoError(t, k.Check(t.Context()), "%s of %s", by, c.Name)
					ns, err := k.Sample(t.Context(), CPU, 1)
					require.NoError(t, err)
					require.Positive(t, ns)
					call := k.call
					k.call = func() error { return nil }
					require.ErrorIs(t, k.Check(t.Context()), bench.ErrWrongResult)
					k.call = call
				}
			}
		})
	}
}
