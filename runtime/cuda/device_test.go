//go:build cuda

package cuda_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
	"tvmgo/runtime/devicetest"
)

// live is what must be as before after a test.
func live(t testing.TB) (runtime.LiveCounts, []runtime.MemoryStats) {
	var memory []runtime.MemoryStats
	for _, dev := range present() {
		for _, of := range []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged} {
			m, err := runtime.DeviceMemory(dlpack.Device{Type: of, ID: dev.ID})
			require.NoError(t, err)
			memory = append(memory, runtime.MemoryStats{Data: m.Data, DataCount: m.DataCount, WorkspaceInUse: m.WorkspaceInUse, Pinned: m.Pinned})
		}
	}
	n := runtime.Live()
	n.WorkspaceCached = 0
	return n, memory
}

// noLeaks checks that a test leaves nothing alive, in the runtime or on the devices.
func noLeaks(t testing.TB) {
	t.Helper()
	before, memory := live(t)
	t.Cleanup(func() {
		now, nowMemory := live(t)
		for try := 0; try < 100 && now != before; try++ {
			goruntime.GC()
			now, nowMemory = live(t)
		}
		require.Equal(t, before, now)
		require.Equal(t, memory, nowMemory)
	})
}

// addOne is a library with the function that the suite calls; "" where none can be packed.
func addOne(t *testing.T) string {
	if _, err := exec.LookPath("cc"); err != nil {
		require.Empty(t, os.Getenv("CI"), "packing needs a C compiler")
		return ""
	}
	library := filepath.Join(t.TempDir(), "k.so")
	require.NoError(t, pack.Library(t.Context(), pack.Kernels{
		Inputs:    []pack.Input{{Path: "testdata/add_one.ptx"}},
		Functions: []pack.Function{{Signature: devicetest.AddOne + "(x: inout float32[n]) launch blockIdx.x=n"}},
	}, library))
	return library
}

// The three kinds of memory, on both devices; kernels run on the device's own.
func TestDevice(t *testing.T) {
	need(t)
	devices := present()
	file := addOne(t)
	for _, of := range []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged} {
		for i, dev := range devices {
			dev, other := dlpack.Device{Type: of, ID: dev.ID}, dlpack.Device{Type: of, ID: devices[len(devices)-1-i].ID}
			if !runtime.DeviceExists(dev) {
				continue // no managed memory
			}
			t.Run(dev.String(), func(t *testing.T) {
				opts := devicetest.Options{Second: other, Absent: 63, DataIsAddress: true, ReportsRaces: fakeLibrary != ""}
				if of == dlpack.CUDA && file != "" {
					opts.Module = func() (*runtime.Module, error) { return runtime.Load(context.Background(), file) }
				}
				devicetest.Run(t, dev, opts)
			})
		}
	}
}

// With TVMGO_VALIDATE=1, which is read when a process starts, all tests of this package pass too, and nothing is reported.
func TestValidated(t *testing.T) {
	need(t)
	if os.Getenv("TVMGO_VALIDATE") != "" || inChild() {
		return // it is the child
	}
	cmd := exec.Command(os.Args[0], "-test.v")
	cmd.Env = append(os.Environ(), "TVMGO_VALIDATE=1", "FAKECUDA_LIBRARY="+fakeLibrary)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestDevice/cuda:0/Workspaces")
	require.NotContains(t, string(out), "validate:")
}

func TestLoaded(t *testing.T) {
	need(t)
	d := cuda.Loaded()
	require.Equal(t, os.Getenv("TVMGO_CUDA_LIBRARY") != "", d.Library == os.Getenv("TVMGO_CUDA_LIBRARY"))
	require.NotEmpty(t, d.Library)
	require.Regexp(t, `^1[1-9]\.[0-9]+$`, d.Version)
	require.NotEmpty(t, d.Devices)
	require.NotEmpty(t, d.Devices[0])
	require.Empty(t, d.LeftOut)
}
