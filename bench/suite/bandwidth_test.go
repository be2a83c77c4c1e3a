package suite

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gputest"
)

// Every copy is measured on every device, except for these. The fake CUDA device has 100 MiB. On drivers that copy on
// the CPU, copies of 256 MiB are left to the long run.
func TestBandwidth(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			on := testDevice(t, kind)
			gputest.NoLeaks(t, []dlpack.Device{on.Handle})
			if kind == dlpack.CUDA {
				driver := cudarun.Use(t)
				driver.Set(t, "memory", 100<<20)
				t.Cleanup(func() { driver.Set(t, "memory", 256<<20) })
			}
			list := copies()
			if os.Getenv("TVMGO_TEST_ALL") == "" && (kind == dlpack.OpenCL || kind == dlpack.Vulkan) {
				list = slices.DeleteFunc(list, func(k *bench.Case) bool { return strings.HasSuffix(k.Name, "_256MiB") })
			}
			got := measure(t, on, list...)
			want := map[string]string{}
			for _, k := range list {
				reason := ""
				switch {
				case kind == dlpack.CPU && !strings.HasPrefix(k.Name, "device_local_copy"):
					reason = "the memory of a CPU is the host's: bandwidth/device_local_copy measures a copy in it"
				case kind == dlpack.Vulkan && strings.Contains(k.Name, "bidirectional"):
					reason = "all streams of vulkan:0 are one queue"
				case kind == dlpack.CUDA && k.Name == "device_local_copy_256MiB":
					reason = "the memory of cuda:0 is too small: 512.0 MiB are needed, and 100.0 MiB of 139.8 GiB are free"
				case kind == dlpack.CUDA && k.Name == "device_local_copy_64MiB":
					reason = "the memory of cuda:0 is too small: 128.0 MiB are needed, and 100.0 MiB of 139.8 GiB are free"
				case kind == dlpack.CUDA && strings.HasSuffix(k.Name, "256MiB"):
					reason = "the memory of cuda:0 is too small: 256.0 MiB are needed, and 100.0 MiB of 139.8 GiB are free"
				case kind == dlpack.CUDA && strings.Contains(k.Name, "bidirectional"):
					reason = "the memory of cuda:0 is too small: 192.0 MiB are needed, and 100.0 MiB of 139.8 GiB are free"
				}
				if reason != "" {
					want[k.ID()] = "not measured: " + reason
				}
			}
			require.Equal(t, want, got)
		})
	}
}
