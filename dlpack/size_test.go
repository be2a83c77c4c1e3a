package dlpack

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func TestNumElements(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		want  int64
	}{
		{nil, 1}, {[]int64{}, 1}, {[]int64{3}, 3}, {[]int64{2, 3, 4}, 24}, {[]int64{0}, 0}, {[]int64{5, 0, 7}, 0},
		{[]int64{math.MaxInt64}, math.MaxInt64}, {[]int64{1, math.MaxInt64, 1}, math.MaxInt64}, {[]int64{1 << 31, 1 << 31},
			1 << 62},
	} {
		require.Equal(t, c.want, must.Get(NumElements(c.shape))(t), c.shape)
	}
	for _, shape := range [][]int64{{-1}, {0, -1}, {math.MinInt64}, {1 << 32, 1 << 31}, {1 << 32, 1 << 32},
		{math.MaxInt64, 2}, {0, math.MaxInt64, 2}, {3037000500, 3037000500}} {
		require.Error(t, must.Fail(NumElements(shape)), shape)
	}
}

func TestDataSize_ThreeRules(t *testing.T) {
	for _, c := range []struct {
		t                       DataType
		n                       int64
		modern, classic, ondisk int64
	}{
		{Float32, 10, 40, 40, 40},
		{Float32, 0, 0, 0, 0},
		{DataType{CodeFloat, 32, 4}, 3, 48, 48, 12},
		{DataType{CodeInt, 4, 1}, 3, 2, 3, 3},
		{Float4E2M1FN, 8, 4, 8, 8},
		{DataType{CodeFloat4E2M1FN, 4, 2}, 5, 5, 5, 5},
		{DataType{CodeFloat6E2M3FN, 6, 1}, 4, 3, 4, 4},
		{ClassicBool, 9, 9, 9, 9},
		{DataType{CodeUInt, 1, 4}, 9, 5, 9, 9},
		{Bool, 9, 9, 9, 9},
		{UInt8, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
	} {
		modern := must.Get(DataSize([]int64{c.n}, c.t))(t)
		classic := must.Get(ClassicDataSize([]int64{c.n}, c.t))(t)
		onDisk := must.Get(SerializedDataSize([]int64{c.n}, c.t))(t)
		require.Equal(t, []int64{c.modern, c.classic, c.ondisk}, []int64{modern, classic, onDisk}, "%d of %s", c.n, c.t)
	}
	four := DataType{CodeInt, 4, 1}
	n, err := four.Bytes(math.MaxInt64)
	require.NoError(t, err, "the bits overflow, the bytes don't")
	require.Equal(t, int64(1)<<62, n)

	for _, bad := range []struct {
		t DataType
		n int64
	}{
		{Float32, -1}, {Int16, math.MaxInt64}, {Float64, 1 << 60}, {Void, 1}, {DataType{2, 0, 1}, 1}, {DataType{2, 32, 0}, 1},
		{DataType{2, 32, 65532}, 1}, {DataType{99, 32, 1}, 1}, {DataType{2, 255, 32767}, math.MaxInt64},
	} {
		require.Error(t, must.Fail(bad.t.Bytes(bad.n)), "%v", bad)
		require.Error(t, must.Fail(bad.t.ClassicBytes(bad.n)), "%v", bad)
	}
}

func TestAlignment(t *testing.T) {
	require.EqualValues(t, 64, Float32.Alignment())
	require.EqualValues(t, 64, DataType{2, 32, 16}.Alignment())
	require.EqualValues(t, 128, DataType{2, 32, 32}.Alignment())
	require.EqualValues(t, 128, DataType{2, 64, 9}.Alignment())
	require.EqualValues(t, 64, DataType{0, 4, 64}.Alignment())
	require.EqualValues(t, 64, DataType{2, 32, 65532}.Alignment())
}

func TestIsContiguous(t *testing.T) {
	for _, c := range []struct {
		shape, strides []int64
		want           bool
	}{
		{[]int64{2, 3}, nil, true},
		{[]int64{2, 3}, []int64{3, 1}, true},
		{[]int64{2, 3}, []int64{1, 2}, false},
		{[]int64{2, 3}, []int64{4, 1}, false},
		{[]int64{2, 1, 3}, []int64{3, 99, 1}, true},
		{[]int64{1, 1}, []int64{-5, 0}, true},
		{[]int64{0, 3}, []int64{9, 9}, true},
		{[]int64{2, 0}, []int64{-1, 7}, true},
		{[]int64{}, []int64{}, true},
		{[]int64{3}, []int64{}, false},
		{[]int64{3}, []int64{0}, false},
		{[]int64{1 << 40, 1 << 40}, []int64{1 << 40, 1}, false},
	} {
		require.Equal(t, c.want, IsContiguous(c.shape, c.strides), "%v %v", c.shape, c.strides)
	}
	for _, shape := range [][]int64{{}, {4}, {2, 3, 4}, {2, 0, 4}, {1, 5, 1}} {
		require.True(t, IsContiguous(shape, RowMajorStrides(shape)))
	}
	require.Equal(t, []int64{12, 4, 1}, RowMajorStrides([]int64{2, 3, 4}))
	require.Equal(t, []int64{0, 5, 1}, RowMajorStrides([]int64{2, 0, 5}), "as in Apache TVM, whose kernels check it")
}

func TestTensorCheck(t *testing.T) {
	good := Tensor{Data: 4096, Device: Device{CPU, 0}, DType: Float32, Shape: []int64{2, 3}}
	for name, change := range map[string]func(*Tensor){
		"as it is":                  func(t *Tensor) {},
		"strided":                   func(t *Tensor) { t.Strides = []int64{10, 2} },
		"broadcast":                 func(t *Tensor) { t.Strides = []int64{0, 1} },
		"one row, odd stride":       func(t *Tensor) { t.Shape, t.Strides = []int64{1, 3}, []int64{-8, 1} },
		"scalar":                    func(t *Tensor) { t.Shape = nil },
		"empty without memory":      func(t *Tensor) { t.Shape, t.Data = []int64{0, 3}, 0 },
		"empty with any strides":    func(t *Tensor) { t.Shape, t.Strides = []int64{0, 3}, []int64{-1, -1} },
		"remote":                    func(t *Tensor) { t.Device.Type = 128 | CUDA },
		"up to the end of memory":   func(t *Tensor) { t.Data = math.MaxUint64 - 24 },
		"an unregistered device no": func(t *Tensor) { t.Device.Type = 31 },
	} {
		tensor := good
		change(&tensor)
		require.NoError(t, tensor.Check(), name)
	}
	for want, change := range map[string]func(*Tensor){
		"data pointer is null":       func(t *Tensor) { t.Data = 0 },
		"dimension 1 is negative":    func(t *Tensor) { t.Shape = []int64{2, -3} },
		"number of elements":         func(t *Tensor) { t.Shape = []int64{1 << 40, 1 << 40} },
		"size exceeds":               func(t *Tensor) { t.Shape = []int64{1 << 62} },
		"1 strides for 2 dimensions": func(t *Tensor) { t.Strides = []int64{1} },
		"stride 0 is negative":       func(t *Tensor) { t.Strides = []int64{-3, 1} },
		"reach beyond":               func(t *Tensor) { t.Strides = []int64{math.MaxInt64, 1} },
		"beyond the address space":   func(t *Tensor) { t.ByteOffset = math.MaxUint64 },
		"beyond the address":         func(t *Tensor) { t.Data = math.MaxUint64 - 22 },
		"device type 0":              func(t *Tensor) { t.Device.Type = 0 },
		"index is negative":          func(t *Tensor) { t.Device.ID = -1 },
		"no elements":                func(t *Tensor) { t.DType = Void },
		"scalable":                   func(t *Tensor) { t.DType.Lanes = 65532 },
		"zero lanes":                 func(t *Tensor) { t.DType.Lanes = 0 },
		"unknown type code":          func(t *Tensor) { t.DType.Code = 77 },
	} {
		tensor := good
		change(&tensor)
		require.ErrorContains(t, tensor.Check(), want)
	}
	require.EqualValues(t, 24, must.Get(good.Size())(t))
	require.True(t, good.IsContiguous())
	require.True(t, good.IsAligned(AllocAlignment))
	good.ByteOffset = 16
	require.False(t, good.IsAligned(AllocAlignment))
	require.False(t, good.IsAligned(0))
}
