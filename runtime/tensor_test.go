package runtime_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// roundTrip copies a slice into a tensor and back.
func roundTrip[T dlpack.Scalar](t *testing.T, dtype dlpack.DataType, data ...T) {
	t.Run(dtype.String(), func(t *testing.T) {
		noLeaks(t)
		x := tensor(t, data)
		require.Equal(t, dtype, x.DType())
		require.Equal(t, []int64{int64(len(data))}, x.Shape())
		require.Equal(t, data, slice[T](t, x))
		require.Equal(t, int64(len(data)), x.Len())
		require.Equal(t, int64(len(data))*int64(unsafe.Sizeof(data[0])), x.Size())
		raw := make([]byte, x.Size())
		require.NoError(t, x.CopyToBytes(raw))
		y := empty(t, dtype, []int64{int64(len(data))}, runtime.CPU)
		require.NoError(t, y.CopyFromBytes(raw))
		require.Equal(t, data, slice[T](t, y))
		z := empty(t, dtype, []int64{int64(len(data))}, runtime.CPU)
		require.NoError(t, z.CopyFromTensor(y, nil))
		require.Equal(t, data, slice[T](t, z))
	})
}

func TestTensor_SlicesOfEveryScalarType(t *testing.T) {
	roundTrip(t, dlpack.Bool, true, false, true)
	roundTrip[int8](t, dlpack.Int8, math.MinInt8, 0, math.MaxInt8)
	roundTrip[int16](t, dlpack.Int16, math.MinInt16, 0, math.MaxInt16)
	roundTrip[int32](t, dlpack.Int32, math.MinInt32, 0, math.MaxInt32)
	roundTrip[int64](t, dlpack.Int64, math.MinInt64, 0, math.MaxInt64)
	roundTrip(t, dlpack.Int64, math.MinInt, 0, math.MaxInt)
	roundTrip[uint8](t, dlpack.UInt8, 0, math.MaxUint8)
	roundTrip[uint16](t, dlpack.UInt16, 0, math.MaxUint16)
	roundTrip[uint32](t, dlpack.UInt32, 0, math.MaxUint32)
	roundTrip[uint64](t, dlpack.UInt64, 0, math.MaxUint64)
	roundTrip[uint](t, dlpack.UInt64, 0, math.MaxUint)
	roundTrip(t, dlpack.Float16, dlpack.Float16Of(-1.5), 0, dlpack.Float16Of(65504))
	roundTrip(t, dlpack.BFloat16, dlpack.BFloat16Of(-1.5), 0, dlpack.BFloat16Of(math.Inf(1)))
	roundTrip[float32](t, dlpack.Float32, -1.5, 0, math.MaxFloat32)
	roundTrip(t, dlpack.Float64, -1.5, 0, math.MaxFloat64)
	roundTrip(t, dlpack.DataType{Code: dlpack.CodeComplex, Bits: 64, Lanes: 1}, complex64(1+2i))
	roundTrip(t, dlpack.DataType{Code: dlpack.CodeComplex, Bits: 128, Lanes: 1}, 1+2i)
	type named int16
	roundTrip[named](t, dlpack.Int16, 1, 2)
}

func TestTensor_BoolOfBothGenerations(t *testing.T) {
	noLeaks(t)
	for _, dtype := range []dlpack.DataType{dlpack.Bool, dlpack.ClassicBool} {
		x := empty(t, dtype, []int64{3}, runtime.CPU)
		require.Equal(t, int64(3), x.Size(), "one byte for each")
		require.NoError(t, runtime.CopyFrom(x, []bool{true, false, true}))
		require.Equal(t, []bool{true, false, true}, slice[bool](t, x))
		require.Equal(t, dtype, x.DType(), "the data type is not replaced")
		// In C, any byte but 0 is true.
		require.NoError(t, x.CopyFromBytes([]byte{0xff, 0, 2}))
		got := slice[bool](t, x)
		require.Equal(t, []bool{true, false, true}, got)
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&got[0])), 3)
		require.Equal(t, []byte{1, 0, 1}, raw)
	}
}

func TestTensor_IsAlignedForGeneratedCode(t *testing.T) {
	noLeaks(t)
	for n := int64(1); n < 5000; n = n*2 + 1 {
		x := empty(t, dlpack.Int8, []int64{n}, runtime.CPU)
		require.Zero(t, x.Data()%dlpack.AllocAlignment)
	}
	wide := dlpack.DataType{Code: dlpack.CodeFloat, Bits: 64, Lanes: 32} // 256 bytes for each element
	x := empty(t, wide, []int64{2}, runtime.CPU)
	require.Equal(t, int64(512), x.Size())
}

func TestTensor_Shapes(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		shape, strides []int64
		n              int64
	}{
		{[]int64{}, []int64{}, 1},
		{nil, []int64{}, 1},
		{[]int64{0}, []int64{1}, 0},
		{[]int64{3, 0, 2}, []int64{0, 2, 1}, 0}, // TVM computes a stride as the product of the dimensions behind it
		{[]int64{0, 1 << 40, 1 << 20}, []int64{1 << 60, 1 << 20, 1}, 0},
		{[]int64{2, 3, 4}, []int64{12, 4, 1}, 24},
		{[]int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1},
	} {
		x := empty(t, dlpack.Float32, c.shape, runtime.CPU)
		require.Equal(t, append([]int64{}, c.shape...), x.Shape())
		require.Equal(t, c.strides, x.Strides())
		require.Equal(t, c.n, x.Len())
		require.Equal(t, c.n*4, x.Size())
		require.True(t, x.IsContiguous())
		data := make([]float32, c.n)
		for i := range data {
			data[i] = float32(i)
		}
		require.NoError(t, runtime.CopyFrom(x, data))
		require.Equal(t, data, slice[float32](t, x))
		require.NoError(t, x.CopyFromTensor(x, nil))
	}
}

func TestTensor_Rank0(t *testing.T) {
	noLeaks(t)
	x := empty(t, dlpack.Int32, nil, runtime.CPU)
	require.NoError(t, runtime.CopyFrom(x, []int32{7}))
	y := must.Open(x.Reshape(1, 1))(t)
	require.Equal(t, []int32{7}, slice[int32](t, y))
	z := must.Open(y.Reshape())(t)
	require.Empty(t, z.Shape())
	require.Equal(t, []int32{7}, slice[int32](t, z))
	require.Equal(t, "int32[] on cpu:0", z.String())
}

func TestTensor_ThatCannotBeMade(t *testing.T) {
	for _, c := range []struct {
		name  string
		dtype dlpack.DataType
		shape []int64
		dev   dlpack.Device
		kind  error
		says  string
	}{
		{"negative dimension", dlpack.Float32, []int64{2, -1}, runtime.CPU, runtime.ErrInvalidArgument,
			"dimension 1 of the shape is negative: -1"},
		{"negative beside zero", dlpack.Float32, []int64{0, -5}, runtime.CPU, runtime.ErrInvalidArgument, "negative"},
		{"elements overflow", dlpack.Int8, []int64{1 << 32, 1 << 32}, runtime.CPU, runtime.ErrInvalidArgument, "2^63"},
		{"elements overflow beside zero", dlpack.Int8, []int64{1 << 32, 0, 1 << 32}, runtime.CPU,
			runtime.ErrInvalidArgument, "2^63"},
		{"bytes overflow", dlpack.Float64, []int64{1 << 61}, runtime.CPU, runtime.ErrInvalidArgument,
			"allocate tensor"},
		{"wraps to a small number", dlpack.Int8, []int64{1<<62 + 1, 4}, runtime.CPU, runtime.ErrInvalidArgument,
			"2^63"},
		{"more than memory", dlpack.Int8, []int64{1 << 55}, runtime.CPU, runtime.ErrOutOfMemory, "memory"},
		{"more than a process", dlpack.Int8, []int64{1<<63 - 1}, runtime.CPU, runtime.ErrInvalidArgument,
			"more than memory can hold"},
		{"void", dlpack.Void, []int64{1}, runtime.CPU, runtime.ErrInvalidArgument, "no memory can hold"},
		{"scalable", dlpack.DataType{Code: 2, Bits: 32, Lanes: 0xfffc}, []int64{1}, runtime.CPU,
			runtime.ErrInvalidArgument, "float32xvscalex4"},
		{"no lanes", dlpack.DataType{Code: 2, Bits: 32}, []int64{1}, runtime.CPU, runtime.ErrInvalidArgument, "lanes"},
		{"no bits", dlpack.DataType{Code: 0, Bits: 0, Lanes: 1}, []int64{1}, runtime.CPU, runtime.ErrInvalidArgument,
			""},
		{"odd bits", dlpack.DataType{Code: 0, Bits: 13, Lanes: 1}, []int64{1}, runtime.CPU,
			runtime.ErrInvalidArgument, "13 bits"},
		{"unknown device type", dlpack.Float32, []int64{1}, dlpack.Device{Type: 25}, runtime.ErrInvalidArgument,
			"device type 25 is unknown"},
		{"device type 0", dlpack.Float32, []int64{1}, dlpack.Device{}, runtime.ErrInvalidArgument,
			"device type 0 is unknown"},
		{"negative device type", dlpack.Float32, []int64{1}, dlpack.Device{Type: -1}, runtime.ErrInvalidArgument,
			"unknown"},
		{"large device type", dlpack.Float32, []int64{1}, dlpack.Device{Type: 36}, runtime.ErrInvalidArgument,
			"unknown"},
		{"remote device", dlpack.Float32, []int64{1}, dlpack.Device{Type: 128 + 2}, runtime.ErrNotSupported, "RPC"},
		{"device not enabled", dlpack.Float32, []int64{1}, dlpack.Device{Type: dlpack.Hexagon},
			runtime.ErrDeviceUnavailable, "hexagon is not enabled here (enabled: cpu, fakedev"},
		{"negative index", dlpack.Float32, []int64{1}, dlpack.Device{Type: dlpack.CPU, ID: -1},
			runtime.ErrInvalidArgument, "-1"},
		{"index that is not there", dlpack.Float32, []int64{1}, dlpack.Device{Type: fakeType, ID: 9},
			runtime.ErrDeviceUnavailable, "no index 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			x, err := runtime.NewTensor(c.dtype, c.shape, c.dev)
			require.Nil(t, x)
			requireError(t, err, c.kind, "allocate tensor", c.says)
		})
	}
	noLeaks(t)
	_, err := runtime.NewTensorInScope(dlpack.Float32, []int64{1}, runtime.CPU, "global.texture")
	requireError(t, err, runtime.ErrNotSupported, "global.texture")
	_, err = runtime.NewTensorInScope(dlpack.Float32, []int64{1}, runtime.CPU, "global\x00.texture")
	requireError(t, err, runtime.ErrInvalidArgument, "zero byte")
	_, err = runtime.FromSlice([]int8{1, 2, 3}, 2)
	requireError(t, err, runtime.ErrInvalidArgument, "2 elements", "slice 3")
	requireError(t, must.Fail(runtime.FromSlice([]int8{1, 2, 3}, -1)), runtime.ErrInvalidArgument)
}

func TestTensor_SubByteTypesArePacked(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		dtype dlpack.DataType
		n     int64
		bytes int64
	}{
		{dlpack.Float4E2M1FN, 7, 4},
		{dlpack.DataType{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}, 8, 4},
		{dlpack.DataType{Code: dlpack.CodeUInt, Bits: 2, Lanes: 1}, 5, 2},
		{dlpack.DataType{Code: dlpack.CodeInt, Bits: 1, Lanes: 1}, 9, 2},
		{dlpack.DataType{Code: dlpack.CodeFloat6E3M2FN, Bits: 6, Lanes: 1}, 4, 3},
		{dlpack.DataType{Code: dlpack.CodeUInt, Bits: 4, Lanes: 2}, 3, 3},
	} {
		x := empty(t, c.dtype, []int64{c.n}, runtime.CPU)
		require.Equal(t, c.bytes, x.Size(), "%v", c.dtype)
		raw := make([]byte, c.bytes)
		for i := range raw {
			raw[i] = byte(i + 1)
		}
		require.NoError(t, x.CopyFromBytes(raw))
		got := make([]byte, c.bytes)
		require.NoError(t, x.CopyToBytes(got))
		require.Equal(t, raw, got)
		requireError(t, must.Fail(runtime.ToSlice[uint8](x)), runtime.ErrInvalidArgument, "uint8")
		requireError(t, x.CopyToBytes(raw[1:]), runtime.ErrInvalidArgument, "bytes")
	}
}

func TestTensor_UsedAfterClose(t *testing.T) {
	noLeaks(t)
	other := tensor(t, []float32{1})
	x := must.Get(runtime.FromSlice([]float32{1}))(t)
	require.NoError(t, x.Close())
	require.NoError(t, x.Close())
	for _, x := range []*runtime.Tensor{x, nil} {
		for range 3 {
			require.Nil(t, x.Shape())
			require.Nil(t, x.Strides())
			require.Zero(t, x.DType())
			require.Zero(t, x.Device())
			require.Zero(t, x.Len())
			require.Zero(t, x.Size())
			require.Zero(t, x.Data())
			require.Zero(t, x.ByteOffset())
			require.False(t, x.IsContiguous())
			require.Equal(t, "closed tensor", x.String())
		}
		requireError(t, must.Fail(x.View(dlpack.Float32, nil, nil, 0)), runtime.ErrClosed)
		requireError(t, must.Fail(x.Reshape(1)), runtime.ErrClosed)
		requireError(t, must.Fail(runtime.ToSlice[float32](x)), runtime.ErrClosed)
		requireError(t, runtime.CopyTo(x, []float32{0}), runtime.ErrClosed)
		requireError(t, runtime.CopyFrom(x, []float32{0}), runtime.ErrClosed)
		requireError(t, x.CopyToBytes(make([]byte, 4)), runtime.ErrClosed)
		requireError(t, x.CopyFromBytes(make([]byte, 4)), runtime.ErrClosed)
		requireError(t, x.CopyFromTensor(other, nil), runtime.ErrClosed)
		requireError(t, other.CopyFromTensor(x, nil), runtime.ErrClosed)
		requireError(t, must.Fail(x.ToDLPack()), runtime.ErrClosed)
		requireError(t, must.Fail(x.ToDLPackLegacy()), runtime.ErrClosed)
		require.NoError(t, x.Close())
	}
}

func TestTensor_ClosedByManyGoroutines(t *testing.T) {
	noLeaks(t)
	for range 50 {
		x := must.Get(runtime.FromSlice([]int64{1, 2, 3}))(t)
		done := make(chan bool, 8)
		for g := range cap(done) {
			go func() {
				ok := true
				for range 20 {
					s, err := runtime.ToSlice[int64](x)
					ok = ok && (err != nil || s[2] == 3)
					ok = ok && (x.Len() == 3 || x.Shape() == nil)
					if g == 0 {
						x.Close()
					}
				}
				done <- ok
			}()
		}
		for range cap(done) {
			require.True(t, <-done)
		}
	}
}
