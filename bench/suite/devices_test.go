package suite

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
)

// kinds are the types of devices on which cases are tested. CUDA is the fake driver, which executes the kernels.
var kinds = []dlpack.DeviceType{dlpack.CPU, dlpack.OpenCL, dlpack.Vulkan, dlpack.CUDA}

// testDevice returns the first device of a type, or skips the test; on CI a missing one is a failure.
func testDevice(t *testing.T, kind dlpack.DeviceType) *bench.Device {
	t.Helper()
	if kind == dlpack.CUDA {
		cudarun.Use(t)
	}
	dev := dlpack.Device{Type: kind}
	if !runtime.DeviceExists(dev) {
		require.Empty(t, os.Getenv("CI"), "there is no %v", dev)
		t.Skipf("there is no %v", dev)
	}
	return &bench.Device{Name: dev.String(), Handle: dev}
}

// There are two devices of each kind, so that copies between them are tested.
func init() {
	for name, value := range map[string]string{"POCL_DEVICES": "pthread basic", "TVMGO_VULKAN_DEVICE_TWICE": "1"} {
		if os.Getenv(name) == "" {
			os.Setenv(name, value)
		}
	}
}

// quick is the configuration of tests: two short samples.
var quick = bench.Config{Rounds: 2, Sample: time.Microsecond, WarmUp: time.Microsecond, Case: time.Second}

// measure runs cases on a device. It returns the reasons of the rows that were not measured, and fails the test for
// every other row that is not measured.
func measure(t *testing.T, on *bench.Device, cases ...*bench.Case) map[string]string {
	t.Helper()
	report, err := bench.Run(t.Context(), quick, cases, []*bench.Device{on})
	require.NoError(t, err)
	require.Len(t, report.Rows, len(cases))
	not := map[string]string{}
	for _, row := range report.Rows {
		if row.Status == bench.NotMeasured {
			require.NotEmpty(t, row.Reason, row.ID())
			not[row.Suite+"/"+row.Case] = row.Reason
			continue
		}
		require.Equal(t, bench.Measured, row.Status, "%s: %s", row.ID(), row.Reason)
		require.Empty(t, row.Reason, row.ID())
		require.NotEmpty(t, row.Checked, row.ID())
		require.Len(t, row.Samples, quick.Rounds, row.ID())
		require.Positive(t, row.Value, row.ID())
	}
	return not
}
