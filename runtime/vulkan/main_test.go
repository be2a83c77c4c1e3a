package vulkan_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/runtime/vulkan"
)

var (
	first  = dlpack.Device{Type: dlpack.Vulkan}
	second = dlpack.Device{Type: dlpack.Vulkan, ID: 1}
)

// messagesWanted says that a test makes mistakes that validation is to see.
const messagesWanted = "TVMGO_TEST_MISTAKE"

// The tests run with two devices, with the validation layer: at the end it must have said nothing.
func TestMain(m *testing.M) {
	for _, v := range []string{"TVMGO_VULKAN_DEVICE_TWICE", "TVMGO_VULKAN_VALIDATION"} {
		if _, set := os.LookupEnv(v); !set {
			os.Setenv(v, "1")
		}
	}
	dir, err := os.MkdirTemp("", "vulkan-cache")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("TVMGO_CACHE_DIR") == "" {
		os.Setenv("TVMGO_CACHE_DIR", dir)
	}
	rc := m.Run()
	os.RemoveAll(dir)
	if said := vulkan.Loaded().Messages; len(said) > 0 && os.Getenv(messagesWanted) == "" {
		fmt.Printf("--- FAIL: validation has %d messages\n", len(said))
		for _, s := range said {
			fmt.Println(s)
		}
		rc = 1
	}
	os.Exit(rc)
}

// hasCompiler tells whether a test can compile C: not where it is run from a bundle.
func hasCompiler() bool {
	_, err := exec.LookPath("cc")
	return err == nil
}

// needSources skips a test that compiles a file of this repository where it is not there, or no compiler; on CI that is a failure.
func needSources(t *testing.T, file string) {
	t.Helper()
	_, err := os.Stat(file)
	if err == nil && !hasCompiler() {
		err = errors.New("there is no C compiler")
	}
	if err != nil {
		require.Empty(t, os.Getenv("CI"), err)
		t.Skip(err)
	}
}

// need skips a test where there is no Vulkan; on CI that is a failure.
func need(t testing.TB) {
	t.Helper()
	if runtime.DeviceExists(second) {
		return
	}
	reason := "there are no two Vulkan devices"
	for _, d := range runtime.Devices() {
		if d.Device.Type == dlpack.Vulkan && d.Err != nil {
			reason = d.Err.Error()
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// noLeaks checks that a test leaves nothing alive, in the runtime or on the devices.
func noLeaks(t *testing.T) {
	t.Helper()
	before, memory := live(t)
	t.Cleanup(func() {
		now, nowMemory := live(t)
		for try := 0; try < 100 && (now != before || nowMemory != memory); try++ {
			goruntime.GC()
			now, nowMemory = live(t)
		}
		require.Equal(t, before, now)
		require.Equal(t, memory, nowMemory)
	})
}

func live(t *testing.T) (runtime.LiveCounts, [2]runtime.MemoryStats) {
	var memory [2]runtime.MemoryStats
	for i, dev := range []dlpack.Device{first, second} {
		m, err := runtime.DeviceMemory(dev)
		require.NoError(t, err)
		m.DataPeak, m.Free = 0, 0
		memory[i] = m
	}
	n := runtime.Live()
	n.WorkspaceCached = 0
	return n, memory
}

func tensor(t testing.TB, dev dlpack.Device, data []float32) *runtime.Tensor {
	t.Helper()
	x, err := runtime.NewTensor(dlpack.Float32, []int64{int64(len(data))}, dev)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	require.NoError(t, runtime.CopyFrom(x, data))
	return x
}

func slice(t testing.TB, x *runtime.Tensor) []float32 {
	t.Helper()
	got, err := runtime.ToSlice[float32](x)
	require.NoError(t, err)
	return got
}
