package suite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench/facts"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Rows of kernels and of peaks say why: what the driver or the code tells, and what follows from the program.
func TestFacts(t *testing.T) {
	for device, name := range map[dlpack.DeviceType]string{dlpack.OpenCL: "driver", dlpack.Vulkan: "SPIR-V"} {
		dev := dlpack.Device{Type: device}
		if !runtime.DeviceExists(dev) {
			continue
		}
		on, err := facts.Open(dev)
		require.NoError(t, err)
		cases, err := Select([]string{"kernels/add", "compute/fp32-scalar"}, Options{WithoutLimits: true})
		require.NoError(t, err)
		require.Len(t, cases, 2)
		for _, k := range cases {
			w, err := k.Variants[0].Open(t.Context(), on)
			require.NoError(t, err)
			f := w.Facts()
			require.NoError(t, facts.Check("row", f), k.ID())
			require.Equal(t, name, f[facts.ResourcesFrom], k.ID())
			require.Positive(t, f[facts.Instructions], k.ID())
			require.NotEmpty(t, f[facts.InstructionMix], k.ID())
			if k.Suite == "kernels" {
				require.Equal(t, w.Amount().Bytes, f[facts.EstimatedNeeded], "each element is read or written once")
			}
			require.NoError(t, w.Close())
		}
		require.NoError(t, facts.Close(on))
	}
}
