//go:build opencl

package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// Objects of OpenCL for other libraries: different tensors have different buffers, and streams their own queues.
// A handle that is none, or is closed, is an error.
func TestNativeObjects(t *testing.T) {
	dev := dlpack.Device{Type: dlpack.OpenCL}
	if !runtime.DeviceExists(dev) {
		gputest.Missing(t, dlpack.OpenCL, "there is no device")
	}
	n, ok := runtime.NativeObjectsOf(dlpack.OpenCL)
	require.True(t, ok)
	_, ok = runtime.NativeObjectsOf(dlpack.CPU)
	require.False(t, ok)
	x := must.Open(runtime.NewTensor(dlpack.Float32, []int64{4}, dev))(t)
	y := must.Open(runtime.NewTensor(dlpack.Float32, []int64{4}, dev))(t)
	bx, by := must.Get(n.Buffer(x))(t), must.Get(n.Buffer(y))(t)
	require.NotZero(t, bx)
	require.NotEqual(t, bx, by)
	s := must.Open(runtime.NewStream(dev))(t)
	require.NotEqual(t, must.Get(n.Queue(dev, nil))(t), must.Get(n.Queue(dev, s))(t))

	host := must.Open(runtime.NewTensor(dlpack.Float32, []int64{4}, dlpack.Device{Type: dlpack.CPU}))(t)
	_, err := n.Buffer(host)
	require.ErrorContains(t, err, "want a tensor on OpenCL")
	require.NoError(t, y.Close())
	_, err = n.Buffer(y)
	require.Error(t, err)
	_, err = n.Queue(dlpack.Device{Type: dlpack.OpenCL, ID: 99}, nil)
	require.ErrorContains(t, err, "there is no such OpenCL device")
	require.NoError(t, s.Close())
	_, err = n.Queue(dev, s)
	require.ErrorContains(t, err, "it is closed")
}
