//go:build cuda

package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

func on(of dlpack.DeviceType, dev dlpack.Device) dlpack.Device {
	return dlpack.Device{Type: of, ID: dev.ID}
}

func counting(n int, first float32) []float32 {
	data := make([]float32, n)
	for i := range data {
		data[i] = first + float32(i)
	}
	return data
}

func TestAllocate_Alignment(t *testing.T) {
	need(t)
	noLeaks(t)
	for _, of := range []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged} {
		dev := on(of, first)
		x, err := runtime.NewTensor(dlpack.DataType{Code: dlpack.CodeFloat, Bits: 32, Lanes: 64}, []int64{3}, dev)
		require.NoError(t, err)
		require.Zero(t, x.Data()%256)
		require.NoError(t, x.Close())
		_, err = runtime.NewTensor(dlpack.DataType{Code: dlpack.CodeFloat, Bits: 32, Lanes: 128}, []int64{3}, dev)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
		require.ErrorContains(t, err, fmt.Sprintf("%v: alignment 512 is more than 256 bytes", dev))
	}
}

// What is short, and how much of it there is, is in the error; what is kept for later is given up first.
func TestAllocate_OutOfMemory(t *testing.T) {
	needFake(t) // on a real card others have memory
	noLeaks(t)
	must.Get(cuda.Trim(0))(t)
	m := must.Get(runtime.DeviceMemory(first))(t)
	require.Positive(t, m.Free)
	require.Greater(t, m.Total, m.Free)
	_, err := runtime.NewTensor(dlpack.UInt8, []int64{m.Free + 1}, first)
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)
	require.ErrorContains(t, err,
		fmt.Sprintf("allocate on cuda:0: no memory for %d bytes: %d of %d are free, 0 are held for later", m.Free+1, m.Free,
			m.Total))
	_, err = runtime.NewTensor(dlpack.UInt8, []int64{1 << 46}, on(dlpack.CUDAHost, first))
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)
	require.ErrorContains(t, err, "cuda_host:0: no page-locked memory for ")

	most := m.Free / 4 * 3
	q := stream(t, first)
	x := must.Get(q.NewTensor(dlpack.UInt8, []int64{most}))(t)
	require.ErrorIs(t, must.Fail(runtime.NewTensor(dlpack.UInt8, []int64{most}, first)), runtime.ErrOutOfMemory)
	require.NoError(t, x.Close()) // now it is held
	now := must.Get(runtime.DeviceMemory(first))(t)
	require.Less(t, now.Free, most, "what is given back on a stream stays for the next one")
	require.Equal(t, m.Data, now.Data)
	y, err := runtime.NewTensor(dlpack.UInt8, []int64{most}, first)
	require.NoError(t, err, "what is held is given up before the request fails")
	require.NoError(t, y.Close())
	require.NoError(t, q.Close())
}

// Memory is the driver's own: whoever uses the device's primary context can use it, and is not disturbed.
func TestPrimaryContextIsShared(t *testing.T) {
	need(t)
	x := tensor(t, first, []float32{1, 2, 3})
	defer x.Close()
	dev := must.Get(cu.GetDevice(0))(t)
	_, active, err := dev.PrimaryCtxState()
	require.NoError(t, err)
	require.Equal(t, 1, active)
	context := must.Get(dev.RetainPrimaryCtx())(t)
	require.NoError(t, context.Lock()) // ties the goroutine to its thread
	var got [3]float32
	require.NoError(t, cu.MemcpyDtoH(addressOf(&got), cu.DevicePtr(x.Data()), 12))
	require.Equal(t, [3]float32{1, 2, 3}, got)
	for _, d := range present() { // each call leaves the thread's current context as it was
		y := tensor(t, d, []float32{4, 5, 6})
		require.Equal(t, []float32{4, 5, 6}, slice(t, y))
		q := stream(t, d)
		require.NoError(t, q.Sync(t.Context()))
		require.NoError(t, q.Close())
		require.NoError(t, y.Close())
		require.Equal(t, context, must.Get(cu.CurrentContext())(t))
	}
	require.NoError(t, cu.SetCurrentContext(cu.CUContext{}))
	require.Equal(t, []float32{1, 2, 3}, slice(t, x))
	require.Equal(t, cu.CUContext{}, must.Get(cu.CurrentContext())(t))
	require.NoError(t, dev.ReleasePrimaryCtx())
}

// Memory in the order of a stream may be freed as any other, and is, when its stream is gone.
func TestStreamMemory_FreedAsAnyOther(t *testing.T) {
	need(t)
	noLeaks(t)
	for _, dev := range present() {
		q := stream(t, dev)
		x := must.Get(q.NewTensor(dlpack.Float32, []int64{1000}))(t)
		require.Zero(t, x.Data()%256)
		y := tensor(t, dev, counting(1000, 1))
		require.NoError(t, x.CopyFromTensor(y, q))
		require.NoError(t, q.Close())
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
	}
}
