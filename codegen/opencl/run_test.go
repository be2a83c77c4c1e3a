//go:build opencl

package opencl_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl"
	"tvmgo/tir"
)

func TestMain(m *testing.M) {
	if os.Getenv("POCL_DEVICES") == "" {
		os.Setenv("POCL_DEVICES", "pthread basic")
	}
	dir, err := os.MkdirTemp("", "opencl-cache")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TVMGO_CACHE_DIR", dir)
	rc := m.Run()
	os.RemoveAll(dir)
	os.Exit(rc)
}

var devices = []dlpack.Device{{Type: dlpack.OpenCL}, {Type: dlpack.OpenCL, ID: 1}}

func need(t testing.TB) {
	t.Helper()
	if !runtime.DeviceExists(devices[1]) {
		gputest.Missing(t, dlpack.OpenCL, "there are no two OpenCL devices")
	}
}

var harness = gpuprograms.Harness{Kind: "opencl", Devices: devices, Need: need, Target: clTarget,
	Alignment: 128}

func TestRun(t *testing.T) { harness.Run(t) }

// Loops of two iterations around barriers compute the right result. PoCL omits the code after them unless they are
// unrolled.
func TestRun_TwoIterations(t *testing.T) {
	for _, inner := range []int32{4, 8, 12} {
		m := gpuprograms.Tiles(t, 13, inner, 10, tir.Float32)
		code, _ := kernelsOf(t, m)
		require.Equal(t, inner == 8, strings.Contains(code, "#pragma unroll 2\n  for (int k_outer = 0; k_outer < 2;"),
			"%d\n%s", inner, code)
		out := must.Get(tirrun.New(tir.Float32, 13, 10))(t)
		harness.Compare(t, m, "tiles", 1e-5, gpuprograms.Array(t, gpuprograms.Random(), tir.Float32, 13, int64(inner)),
			gpuprograms.Array(t, gpuprograms.Random(), tir.Float32, int64(inner), 10), out)
	}
}
