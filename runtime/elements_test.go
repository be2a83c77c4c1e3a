package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

func TestElements(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []float32{1, 2, 3, 4}, 2, 2)
	s, err := runtime.Elements[float32](x)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3, 4}, s)
	require.Equal(t, 4, cap(s))
	s[3] = 7
	require.Equal(t, []float32{1, 2, 3, 7}, slice[float32](t, x), "no copy")
	row := opened(t)(x.View(dlpack.Float32, []int64{2}, nil, 8))
	s, err = runtime.Elements[float32](row)
	require.NoError(t, err)
	require.Equal(t, []float32{3, 7}, s)
	empty, err := runtime.Elements[int8](tensor(t, []int8{}))
	require.NoError(t, err)
	require.Empty(t, empty)

	_, err = runtime.Elements[int32](x)
	requireError(t, err, runtime.ErrInvalidArgument, "float32", "int32")
	column := opened(t)(x.View(dlpack.Float32, []int64{2}, []int64{2}, 0))
	_, err = runtime.Elements[float32](column)
	requireError(t, err, runtime.ErrInvalidArgument, "strides", "ToSlice")
	far := opened(t)(runtime.NewTensor(dlpack.Float32, []int64{2}, fakeDevice(t)))
	_, err = runtime.Elements[float32](far)
	requireError(t, err, runtime.ErrInvalidArgument, "ToSlice")
	odd := opened(t)(x.View(dlpack.Float32, []int64{1}, nil, 2))
	_, err = runtime.Elements[float32](odd)
	requireError(t, err, runtime.ErrInvalidArgument, "aligned")
	require.NoError(t, x.Close())
	_, err = runtime.Elements[float32](x)
	requireError(t, err, runtime.ErrClosed)
}

// opened closes a tensor with the test.
func opened(t *testing.T) func(x *runtime.Tensor, err error) *runtime.Tensor {
	return func(x *runtime.Tensor, err error) *runtime.Tensor {
		require.NoError(t, err)
		t.Cleanup(func() { x.Close() })
		return x
	}
}
