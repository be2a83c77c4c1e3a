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

// The error of an allocation contains the sizes of free memory. Memory that is kept for reuse is freed before an
// allocation fails.
func TestAllocate_OutOfMemory(t *testing.T) {
	needFake(t) // other processes may use the memory of a real GPU
	noLeaks(t)
	must.Get(cuda.Trim(0))(t)
	m := must.Get(runtime.DeviceMemory(first))(t)
	require.Positive(t, m.Free)
	require.Greater(t, m.Total, m.Free)
	_, err := runtime.NewTensor(dlpack.UInt8, []int64{m.Free + 1}, first)
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)
	require.ErrorContains(t, err,
		fmt.Sprintf("allocate on cuda:0: no memory for %d bytes: %d of %d bytes are free, 0 bytes are held for ", m.Free+1,
			m.Free, m.Total))
	_, err = runtime.NewTensor(dlpack.UInt8, []int64{1 << 46}, on(dlpack.CUDAHost, first))
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)
	require.ErrorContains(t, err, "cuda_host:0: no page-locked memory for ")

	most := m.Free / 4 * 3
	q := stream(t, first)
	x := must.Get(q.NewTensor(dlpack.UInt8, []int64{most}))(t)
	require.ErrorIs(t, must.Fail(runtime.NewTensor(dlpack.UInt8, []int64{most}, first)), runtime.ErrOutOfMemory)
	require.NoError(t, x.Close()) // the pool keeps the memory
	now := must.Get(runtime.DeviceMemory(first))(t)
	require.Less(t, now.Free, most, "memory that is freed on a stream stays in the pool")
	require.Equal(t, m.Data, now.Data)
	y, err := runtime.NewTensor(dlpack.UInt8, []int64{most}, first)
	require.NoError(t, err, "memory of the pool is freed before the allocation fails")
	require.NoError(t, y.Close())
	require.NoError(t, q.Close())
}

// Other code that uses the device's primary context can use the memory, and its current context is not changed.
func TestPrimaryContextIsShared(t *testing.T) {
	need(t)
	x := tensor(t, first, []float32{1, 2, 3})
	defer x.Close()
	dev := must.Get(cu.GetDevice(0))(t)
	_, active, err := dev.PrimaryCtxState()
	require.NoError(t, err)
	require.Equal(t, 1, active)
	context := must.Get(dev.RetainPrimaryCtx())(t)
	require.NoError(t, context.Lock()) // locks the goroutine to its thread
	var got [3]float32
	require.NoError(t, cu.MemcpyDtoH(addressOf(&got), cu.DevicePtr(x.Data()), 12))
	require.Equal(t, [3]float32{1, 2, 3}, got)
	for _, d := range present() { // calls do not change the thread's current context
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

// Memory of a stream is freed like plain memory if its stream is closed.
func TestStreamMemory_FreedAsPlainMemory(t *testing.T) {
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
