//go:build opencl

package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/testequal"
	"tvmgo/runtime"
)

func TestCopy_BetweenDevices(t *testing.T) {
	needTwo(t)
	noLeaks(t)
	const n = 5<<20 + 3 // more than one chunk
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i % 1000003)
	}
	x, y := tensor(t, first, data), tensor(t, second, make([]float32, n))
	a, err := runtime.NewStream(first)
	require.NoError(t, err)
	defer a.Close()
	b, err := runtime.NewStream(second)
	require.NoError(t, err)
	defer b.Close()
	for _, s := range []*runtime.Stream{nil, a, b} {
		require.NoError(t, runtime.CopyFrom(y, make([]float32, n)))
		require.NoError(t, y.CopyFromTensor(x, s))
		testequal.Slices(t, data, slice(t, y))
	}
}

// A copy between overlapping parts of an array gives the same result as through a temporary array.
func TestCopy_Overlapping(t *testing.T) {
	need(t)
	noLeaks(t)
	data := []float32{0, 1, 2, 3, 4, 5, 6, 7}
	x := tensor(t, first, data)
	view := func(at int64) *runtime.Tensor {
		v, err := x.View(dlpack.Float32, []int64{5}, nil, 4*at)
		require.NoError(t, err)
		t.Cleanup(func() { v.Close() })
		return v
	}
	require.NoError(t, view(2).CopyFromTensor(view(0), nil))
	require.Equal(t, []float32{0, 1, 0, 1, 2, 3, 4, 7}, slice(t, x))
	require.NoError(t, view(1).CopyFromTensor(view(3), nil))
	require.Equal(t, []float32{0, 1, 2, 3, 4, 7, 4, 7}, slice(t, x))
	require.NoError(t, view(1).CopyFromTensor(view(1), nil))
}

func TestTextures(t *testing.T) {
	need(t)
	noLeaks(t)
	m := handMade(t, `__kernel void read(__read_only image2d_t from, __global float* to) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
  vstore4(read_imagef(from, s, (int2)(get_global_id(0), get_global_id(1))),
          get_global_id(1) * get_global_size(0) + get_global_id(0), to);
}`, runtime.KernelType{Name: "read", Args: []dlpack.DataType{dlpack.Handle, dlpack.Handle}})
	image, err := runtime.NewTensorInScope(dlpack.Float32, []int64{3, 5, 4}, first, "global.texture")
	require.NoError(t, err)
	defer image.Close()
	data := make([]float32, 60)
	for i := range data {
		data[i] = float32(i)
	}
	require.NoError(t, runtime.CopyFrom(image, data))
	flat := tensor(t, first, make([]float32, 60))
	require.NoError(t, kernel(t, m, "read").Launch(nil, runtime.Dim3{5, 3}, runtime.Dim3{}, image, flat))
	require.Equal(t, data, slice(t, flat), "rows of the image are rows of the array")
	// Between images and buffers, on one device and between two.
	require.NoError(t, runtime.CopyFrom(flat, make([]float32, 60)))
	require.NoError(t, flat.CopyFromTensor(image, nil))
	require.Equal(t, data, slice(t, flat))
	far, err := runtime.NewTensorInScope(dlpack.Float32, []int64{3, 5, 4}, other(), "global.texture")
	require.NoError(t, err)
	defer far.Close()
	require.NoError(t, far.CopyFromTensor(flat, nil))
	require.Equal(t, data, slice(t, far))
	require.NoError(t, image.CopyFromTensor(far, nil))
	require.Equal(t, data, slice(t, image))

	for _, c := range []struct {
		shape []int64
		dtype dlpack.DataType
		scope string
		kind  error
		want  string
	}{
		{[]int64{3, 5, 3}, dlpack.Float32, "global.texture", runtime.ErrInvalidArgument, "the last must be 4"},
		{[]int64{4}, dlpack.Float32, "global.texture", runtime.ErrInvalidArgument, "at least 3 dimensions"},
		{[]int64{3, 5, 4}, dlpack.Float64, "global.texture", runtime.ErrNotSupported, "64 bits"},
		{[]int64{3, 1 << 20, 4}, dlpack.Float32, "global.texture", runtime.ErrInvalidArgument, "supports 1 by 1 to"},
		{[]int64{3, 5, 4}, dlpack.Float32, "global.vtcm", runtime.ErrNotSupported, `no memory of scope "global.vtcm"`},
	} {
		_, err := runtime.NewTensorInScope(c.dtype, c.shape, first, c.scope)
		requireError(t, err, c.kind, c.want)
	}
}
