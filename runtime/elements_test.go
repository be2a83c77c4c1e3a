package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestElements(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []float32{1, 2, 3, 4}, 2, 2)
	s := must.Get(runtime.Elements[float32](x))(t)
	require.Equal(t, []float32{1, 2, 3, 4}, s)
	require.Equal(t, 4, cap(s))
	s[3] = 7
	require.Equal(t, []float32{1, 2, 3, 7}, slice[float32](t, x), "no copy")
	row := opened(t)(x.View(dlpack.Float32, []int64{2}, nil, 8))
	s = must.Get(runtime.Elements[float32](row))(t)
	require.Equal(t, []float32{3, 7}, s)
	require.Empty(t, must.Get(runtime.Elements[int8](tensor(t, []int8{})))(t))

	requireError(t, must.Fail(runtime.Elements[int32](x)), runtime.ErrInvalidArgument, "float32", "int32")
	column := opened(t)(x.View(dlpack.Float32, []int64{2}, []int64{2}, 0))
	requireError(t, must.Fail(runtime.Elements[float32](column)), runtime.ErrInvalidArgument, "strides", "ToSlice")
	far := opened(t)(runtime.NewTensor(dlpack.Float32, []int64{2}, fakeDevice(t)))
	requireError(t, must.Fail(runtime.Elements[float32](far)), runtime.ErrInvalidArgument, "ToSlice")
	odd := opened(t)(x.View(dlpack.Float32, []int64{1}, nil, 2))
	requireError(t, must.Fail(runtime.Elements[float32](odd)), runtime.ErrInvalidArgument, "aligned")
	require.NoError(t, x.Close())
	requireError(t, must.Fail(runtime.Elements[float32](x)), runtime.ErrClosed)
}

// The two 16-bit float types are distinct: elements of the other type, and integers, are rejected.
func TestElements_Halves(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []dlpack.Float16Bits{dlpack.Float16Of(1.5), 0})
	s := must.Get(runtime.Elements[dlpack.Float16Bits](x))(t)
	s[1] = dlpack.Float16Of(-0.25)
	require.Equal(t, float32(-0.25), slice[dlpack.Float16Bits](t, x)[1].Float32())
	_, err := runtime.Elements[dlpack.BFloat16Bits](x)
	requireError(t, err, runtime.ErrInvalidArgument, "float16", "bfloat16")
	requireError(t, must.Fail(runtime.ToSlice[uint16](x)), runtime.ErrInvalidArgument, "float16", "uint16")
	require.NoError(t, runtime.CopyFrom(tensor(t, []dlpack.BFloat16Bits{0}), []dlpack.BFloat16Bits{1}))
}

// opened returns a function that checks err and closes the tensor when the test ends.
func opened(t *testing.T) func(x *runtime.Tensor, err error) *runtime.Tensor {
	return func(x *runtime.Tensor, err error) *runtime.Tensor {
		require.NoError(t, err)
		t.Cleanup(func() { x.Close() })
		return x
	}
}

// Bytes works for every dtype, also for those that no Go type has.
func TestTensor_Bytes(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []int32{1, 2, 3, 4}, 2, 2)
	b := must.Get(x.Bytes())(t)
	require.Equal(t, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}, b)
	require.Equal(t, 16, cap(b))
	b[4] = 7
	require.Equal(t, []int32{1, 7, 3, 4}, slice[int32](t, x), "no copy")
	odd := opened(t)(x.View(dlpack.UInt8, []int64{3}, nil, 3))
	require.Equal(t, []byte{0, 7, 0}, must.Get(odd.Bytes())(t))
	nibbles := must.Get(dlpack.ParseDataType("int4"))(t)
	require.Len(t, must.Get(opened(t)(runtime.NewTensor(nibbles, []int64{3}, runtime.CPU)).Bytes())(t), 2)
	require.Equal(t, []byte{}, must.Get(tensor(t, []float32{}).Bytes())(t))

	column := opened(t)(x.View(dlpack.Int32, []int64{2}, []int64{2}, 0))
	requireError(t, must.Fail(column.Bytes()), runtime.ErrInvalidArgument, "view bytes", "strides", "CopyToBytes")
	far := opened(t)(runtime.NewTensor(dlpack.Float32, []int64{2}, fakeDevice(t)))
	requireError(t, must.Fail(far.Bytes()), runtime.ErrInvalidArgument, "only memory of the CPU")
	require.NoError(t, x.Close())
	requireError(t, must.Fail(x.Bytes()), runtime.ErrClosed)
	requireError(t, must.Fail((*runtime.Tensor)(nil).Bytes()), runtime.ErrClosed)
}
