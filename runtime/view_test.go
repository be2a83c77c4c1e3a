package runtime_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestTensor_Views(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 3, 4)
	view := func(shape, strides []int64, offset int64) *runtime.Tensor {
		return must.Open(x.View(dlpack.Int32, shape, strides, offset))(t)
	}
	column := view([]int64{3}, []int64{4}, 4)
	require.Equal(t, []int32{1, 5, 9}, slice[int32](t, column))
	require.False(t, column.IsContiguous())
	require.Equal(t, x.Data(), column.Data())
	require.Equal(t, uint64(4), column.ByteOffset())
	require.Equal(t, []int64{4}, column.Strides())

	transposed := view([]int64{4, 3}, []int64{1, 4}, 0)
	require.Equal(t, []int32{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, slice[int32](t, transposed))
	require.NoError(t, runtime.CopyFrom(transposed, []int32{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}))
	require.Equal(t, []int32{10, 13, 16, 19, 11, 14, 17, 20, 12, 15, 18, 21}, slice[int32](t, x))

	repeated := view([]int64{2, 3}, []int64{0, 1}, 0)
	require.Equal(t, []int32{10, 13, 16, 10, 13, 16}, slice[int32](t, repeated))

	part := must.Get(column.View(dlpack.Int32, []int64{2}, []int64{4}, 16))(t)
	require.Equal(t, []int32{14, 15}, slice[int32](t, part))
	require.NoError(t, part.Close())

	bytes := must.Get(x.View(dlpack.UInt8, []int64{48}, nil, 0))(t)
	require.Equal(t, byte(13), slice[byte](t, bytes)[4])
	require.NoError(t, bytes.Close())

	row := view([]int64{1, 4}, []int64{99, 1}, 16)
	require.True(t, row.IsContiguous(), "the stride of a dimension of 1 does not matter")
	flat := must.Get(row.Reshape(4))(t)
	require.NoError(t, flat.Close())

	// A view keeps the memory.
	require.NoError(t, x.Close())
	require.Equal(t, []int32{13, 14, 15}, slice[int32](t, column))
}

func TestTensor_ViewsThatReachBeyond(t *testing.T) {
	noLeaks(t)
	x := tensor(t, make([]int32, 12), 3, 4)
	strided := must.Open(x.View(dlpack.Int32, []int64{3}, []int64{4}, 0))(t)
	for _, c := range []struct {
		name           string
		of             *runtime.Tensor
		dtype          dlpack.DataType
		shape, strides []int64
		offset         int64
	}{
		{"one element more", x, dlpack.Int32, []int64{13}, nil, 0},
		{"offset", x, dlpack.Int32, []int64{12}, nil, 1},
		{"offset behind the end", x, dlpack.Int32, []int64{0}, nil, 49},
		{"negative offset", x, dlpack.Int32, []int64{1}, nil, -4},
		{"largest offset", x, dlpack.Int32, []int64{1}, nil, math.MaxInt64},
		{"wider type", x, dlpack.Int64, []int64{12}, nil, 0},
		{"stride", x, dlpack.Int32, []int64{2}, []int64{12}, 0},
		{"negative stride", x, dlpack.Int32, []int64{2}, []int64{-1}, 4},
		{"stride overflows", x, dlpack.Int32, []int64{3}, []int64{math.MaxInt64}, 0},
		{"strides overflow together", x, dlpack.Int32, []int64{2, 2, 2}, []int64{math.MaxInt64 / 2, math.MaxInt64 / 2,
			math.MaxInt64 / 2}, 0},
		{"strides of another rank", x, dlpack.Int32, []int64{2, 2}, []int64{1}, 0},
		{"shape overflows", x, dlpack.Int32, []int64{1 << 40, 1 << 40}, nil, 0},
		{"negative dimension", x, dlpack.Int32, []int64{-1}, nil, 0},
		{"void", x, dlpack.Void, []int64{1}, nil, 0},
		{"compact view of strides", strided, dlpack.Int32, []int64{3}, nil, 0},
		{"beyond a view", strided, dlpack.Int32, []int64{4}, []int64{4}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.of.View(c.dtype, c.shape, c.strides, c.offset)
			requireError(t, err, runtime.ErrInvalidArgument, "view tensor")
		})
	}
	for _, shape := range [][]int64{{13}, {}, {-12}, {0}, {1 << 62, 4}, {12, 1, 2}} {
		requireError(t, must.Fail(x.Reshape(shape...)), runtime.ErrInvalidArgument, "reshape tensor")
	}
	requireError(t, must.Fail(strided.Reshape(3, 1)), runtime.ErrInvalidArgument, "not contiguous")
}

func TestTensor_CopiesThatDoNotFit(t *testing.T) {
	noLeaks(t)
	x := tensor(t, make([]float32, 4))
	requireError(t, runtime.CopyFrom(x, make([]float32, 3)), runtime.ErrInvalidArgument, "4 elements", "slice 3")
	requireError(t, runtime.CopyFrom(x, make([]int32, 4)), runtime.ErrInvalidArgument, "float32", "int32")
	requireError(t, runtime.CopyTo(x, make([]float32, 5)), runtime.ErrInvalidArgument)
	requireError(t, must.Fail(runtime.ToSlice[float64](x)), runtime.ErrInvalidArgument)
	requireError(t, x.CopyFromBytes(make([]byte, 15)), runtime.ErrInvalidArgument)
	requireError(t, x.CopyToBytes(nil), runtime.ErrInvalidArgument)
	requireError(t, x.CopyFromTensor(tensor(t, make([]float32, 5)), nil), runtime.ErrInvalidArgument, "20 bytes", "16")
	require.NoError(t, x.CopyFromTensor(tensor(t, make([]float64, 2)), nil), "raw copies compare only sizes in bytes")

	strided := must.Open(tensor(t, make([]float32, 8)).View(dlpack.Float32, []int64{4}, []int64{2}, 0))(t)
	require.NoError(t, x.CopyFromTensor(strided, nil))
	requireError(t, tensor(t, make([]int32, 4)).CopyFromTensor(strided, nil), runtime.ErrInvalidArgument,
		"its own shape")
	requireError(t, tensor(t, make([]float32, 4), 2, 2).CopyFromTensor(strided, nil), runtime.ErrInvalidArgument)
}
