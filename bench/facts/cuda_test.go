//go:build cuda

package facts

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/fakenvml"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

const childVariable = "TVMGO_TEST_CHILD"

// inChild runs the current test in a new process, in which it must pass, with variables of the environment, and reports
// whether this is that process.
func inChild(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(childVariable) != "" {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(append(os.Environ(), childVariable+"=1"), env...)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return false
}

// The facts of a CUDA device are those of the driver: here the fake one, which has an H200's.
func TestCUDA_EqualsTheDriver(t *testing.T) {
	var env []string
	if os.Getenv(childVariable) == "" {
		env = []string{"TVMGO_CUDA_LIBRARY=" + fakecuda.Build(t), "TVMGO_NVML_LIBRARY=" + fakenvml.Build(t)}
	}
	if !inChild(t, env...) {
		return
	}
	d := must.Get(open(dlpack.Device{Type: dlpack.CUDA, ID: 1}, files(map[string]string{
		"proc/driver/nvidia/version":                          "NVRM version: NVIDIA Kernel Module  550.54.14  Thu",
		"sys/bus/pci/devices/0000:29:00.0/current_link_speed": "32.0 GT/s PCIe",
		"sys/bus/pci/devices/0000:29:00.0/current_link_width": "16",
		"sys/bus/pci/devices/0000:29:00.0/max_link_speed":     "32.0 GT/s PCIe",
		"sys/bus/pci/devices/0000:29:00.0/max_link_width":     "16",
	})))(t)
	known(t, device, d.Facts)
	require.Equal(t, "cuda:1", d.Name)
	require.Equal(t, "NVIDIA H200", d.Title)
	require.NotEmpty(t, d.Facts[Library])
	require.Positive(t, d.Facts[FreeMemory])
	// Its clock is that of the GPU with its PCI address, not of the one with its index.
	require.Equal(t, bench.Reading{ClockMHz: ptr(1980), MemoryClockMHz: ptr(3201), Celsius: ptr(61), Watts: ptr(350.25)},
		must.Get(d.Sensor.Read())(t))
	t.Setenv("FAKENVML_FAIL_AT", "1,15")
	_, err := d.Sensor.Read()
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "read the sensor: the GPU is lost")
	t.Setenv("FAKENVML_FAIL_AT", "")
	require.NoError(t, Close(d))
	require.Nil(t, d.Sensor)
	delete(d.Facts, Library)
	delete(d.Facts, FreeMemory)
	require.Equal(t, bench.Facts{Processor: "discrete GPU", Architecture: "sm_90", DriverName: "NVIDIA",
		DriverVersion: "550.54.14", APIVersion: "13.0", MemoryType: deviceLocal, Memory: int64(150109880320),
		MemoryClock: 3201.0, MemoryBus: int64(6144), SubgroupSize: int64(32), SharedLimit: int64(49152),
		SharedLimitOptIn: int64(232448), SharedPerUnit: int64(233472), RegistersLimit: int64(65536),
		ThreadsLimit: int64(1024), ThreadsPerUnit: int64(2048), ComputeUnits: int64(132), MaximumClock: 1980.0,
		L2Cache: int64(62914560), DeviceTimer: true, PCIAddress: "0000:29:00.0",
		UUID: "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae01", PCIeLink: "32.0 GT/s x16", SensorName: "NVML"}, d.Facts)
}

// What the driver reports about a kernel: here the fake one, whose kernels have 32 registers.
func TestOfModule_CUDA(t *testing.T) {
	var env []string
	if os.Getenv(childVariable) == "" {
		env = []string{"TVMGO_CUDA_LIBRARY=" + fakecuda.Build(t), "FAKECUDA_KERNELS=" + fakecuda.Kernels(t)}
	}
	if !inChild(t, env...) {
		return
	}
	d := must.Get(Open(dlpack.Device{Type: dlpack.CUDA}))(t)
	m := must.Open(runtime.NewDeviceModule("cuda", "ptx", []byte(fakecuda.StandardPTX), runtime.KernelType{Name: "scale",
		Args: []dlpack.DataType{dlpack.Handle, dlpack.Float32, dlpack.Int32}, DynamicShared: true}))(t)
	f := OfModule(m, "scale", d, runtime.LaunchConfig{Grid: runtime.Dim3{7, 2}, Block: runtime.Dim3{48},
		SharedBytes: 40000})
	known(t, row, f)
	for _, name := range []string{Instructions, InstructionMix, InstructionsFrom} { // of the fake's PTX
		delete(f, name)
	}
	require.Equal(t, bench.Facts{KernelName: "scale", KernelCount: 1, ResourcesFrom: "driver", Registers: int64(32),
		LocalMemory: int64(0), ConstantMemory: int64(0), SharedMemory: int64(40000), BlockLimit: int64(1024),
		ThreadsPerBlock: int64(48), BlockCount: int64(14), BlocksPerUnit: int64(5), // by shared memory
		Occupancy: 5 * 64 / 2048.0}, f)
}
