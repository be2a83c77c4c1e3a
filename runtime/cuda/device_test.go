//go:build cuda

package cuda_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
	"tvmgo/runtime/devicetest"
)

// noLeaks checks that a test releases all its objects and device memory.
func noLeaks(t testing.TB) {
	t.Helper()
	var devices []dlpack.Device
	for _, dev := range present() {
		for _, of := range []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged} {
			devices = append(devices, dlpack.Device{Type: of, ID: dev.ID})
		}
	}
	gputest.NoLeaks(t, devices)
}

// The conformance suite for the three kinds of memory, on both devices; kernels use device memory.
func TestDevice(t *testing.T) {
	need(t)
	devices := present()
	file := gputest.AddOne(t, "testdata/add_one.ptx")
	for _, of := range []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged} {
		for i, dev := range devices {
			dev, other := dlpack.Device{Type: of, ID: dev.ID}, dlpack.Device{Type: of, ID: devices[len(devices)-1-i].ID}
			if !runtime.DeviceExists(dev) {
				continue // the device does not support managed memory
			}
			t.Run(dev.String(), func(t *testing.T) {
				opts := devicetest.Options{Second: other, Absent: 63, DataIsAddress: true, KnowsItsMemory: true,
					ReportsRaces: fakeLibrary != ""}
				if of == dlpack.CUDA && file != "" {
					opts.Module = func() (*runtime.Module, error) { return runtime.Load(context.Background(), file) }
				}
				devicetest.Run(t, dev, opts)
			})
		}
	}
}

// A new process with TVMGO_VALIDATE=1 passes a test of devices, and validation reports nothing.
func TestValidated(t *testing.T) {
	need(t)
	if !inChild() {
		gputest.Validated(t, "TestDevice/cuda:0/Workspaces", "FAKECUDA_LIBRARY="+fakeLibrary)
	}
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
