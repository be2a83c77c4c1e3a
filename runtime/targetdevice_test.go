package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
)

func TestDetectTarget(t *testing.T) {
	dev := fakeDevice(t)
	got := must.Get(runtime.DetectTarget(runtime.CPU))(t)
	require.Equal(t, "llvm", got.Kind().Name())
	require.Empty(t, got.Warnings())
	_, err := runtime.DetectTarget(dev)
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, "there is no target kind for")
	must.Get(target.RegisterKind(dev.Type.APIName(), dev.Type, target.Option("max_num_threads", target.Int)))(t)
	got = must.Get(runtime.DetectTarget(dev))(t)
	require.Equal(t, map[string]any{"max_num_threads": int64(256)}, got.Attrs())
	_, err = runtime.DetectTarget(dlpack.Device{Type: dev.Type, ID: fakeCount})
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	_, err = runtime.DetectTarget(dlpack.Device{Type: dlpack.Metal})
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "no API for metal devices")
}

// A device's values take precedence over defaults, but not over given values.
func TestTarget_FromDevice(t *testing.T) {
	dev := fakeDevice(t)
	config := func(more ...any) map[string]any {
		m := map[string]any{"kind": "cuda", "arch": "sm_90", "target_device_type": int(dev.Type)}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	require.EqualValues(t, 1024, newTarget(t, config()).Attrs()["max_num_threads"])
	asked := newTarget(t, config("from_device", 1)).Attrs()
	require.EqualValues(t, 256, asked["max_num_threads"])
	require.EqualValues(t, 32, asked["thread_warp_size"])
	require.EqualValues(t, 64, newTarget(t, config("from_device", 1, "max_num_threads", 64)).Attrs()["max_num_threads"])
	require.ErrorIs(t, must.Fail(target.New(config("from_device", fakeCount))), target.ErrDevice)
	_, err := global(t, "target.Target").Call(runtime.Map{{"kind", "cuda"}, {"target_device_type", int(dev.Type)},
		{"from_device", fakeCount}})
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "target: $.from_device: there is no device")
	require.Contains(t, newTarget(t, "metal -from_device=0").Warnings()[0], "no API for metal devices")
}
