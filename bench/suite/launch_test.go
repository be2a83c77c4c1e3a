package suite

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
)

// Every case is measured on every device, except for these.
func TestLaunch(t *testing.T) {
	const noKernels = "not measured: a CPU has no kernels: launch/function_call measures a call of generated code"
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			on := testDevice(t, kind)
			goruntime.LockOSThread() // to which workspaces of the CPU belong
			defer goruntime.UnlockOSThread()
			gputest.NoLeaks(t, []dlpack.Device{on.Handle})
			want := map[string]string{}
			if kind == dlpack.CPU {
				for _, name := range []string{"kernel_launch_latency", "kernel_launch_queued", "kernel_launch_chain_1000",
					"graph_launch_chain_1000"} {
					want["launch/"+name] = noKernels
				}
				want["launch/stream_sync_idle"] =
					"not measured: the caller executes code for a CPU: there is nothing to wait for"
				want["launch/stream_wait_stream"] = "not measured: all streams of cpu:0 are one queue"
			} else {
				want["launch/parallel_launch"] = "not measured: only code for a CPU has parallel loops"
			}
			switch kind {
			case dlpack.OpenCL:
				want["launch/graph_launch_chain_1000"] =
					"not measured: record graph: device opencl cannot record work: queue it each time"
			case dlpack.Vulkan:
				want["launch/graph_launch_chain_1000"] =
					"not measured: record graph: device vulkan cannot record work: queue it each time"
				want["launch/stream_wait_stream"] = "not measured: all streams of vulkan:0 are one queue"
			}
			require.Equal(t, want, measure(t, on, Launch()...))
		})
	}
}
