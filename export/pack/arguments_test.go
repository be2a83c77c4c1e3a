package pack_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

const argumentsSource = `#include <stdint.h>
void all(void* any, const float* a, int16_t* b, int8_t i8, uint16_t u16, int32_t n, uint64_t u64, _Bool flag, float f,
         double d) {
  double* out = (double*)any;
  out[0] = i8, out[1] = u16, out[2] = n, out[3] = (double)u64, out[4] = flag, out[5] = f, out[6] = d;
  out[7] = a[0], out[8] = b[0];
}
void two(const float* a, void* b) { (void)a, (void)b; }
void line(const float* a) { (void)a; }
void none(void) {}
void types(uint8_t* a, void* b, void* c, void* d) { (void)a, (void)b, (void)c, (void)d; }
`

func argumentsModule(t *testing.T) *runtime.Module {
	return modules.Load(t, packed(t, kernelsOf([]string{write(t, "k.c", argumentsSource)},
		"all(handle, a: float32[n, 2], b: int16[_, m, m], int8, uint16, n: int32, uint64, flag: bool, f: float32, float64)",
		"two(a: aligned float32[n, m], b: strided float64[m])", "line(a: float32[n])", "none()",
		"types(uint8[4], float16[n], b: bool[], float32x4[1])")))
}

func TestArguments(t *testing.T) {
	m := argumentsModule(t)
	all := function(t, m, "all")
	out, a, b := modules.Tensor(t, make([]float64, 9)), modules.Tensor(t, []float32{2, 3, 4, 5}, 2, 2),
		modules.Tensor(t, []int16{-7, 0, 0, 0}, 1, 2, 2)
	good := []any{out, a, b, -128, 65535, 2, int64(math.MaxInt64), true, 0.5, 3}
	must.Get(all.Call(good...))(t)
	require.Equal(t, []float64{-128, 65535, 2, math.MaxInt64, 1, 0.5, 3, 2, -7}, modules.Slice[float64](t, out))

	minus := append([]any(nil), good...)
	minus[6] = -1 // an unsigned 64-bit integer, as the ABI passes it
	must.Get(all.Call(minus...))(t)
	require.Equal(t, float64(math.MaxUint64), modules.Slice[float64](t, out)[3])

	for _, c := range []struct {
		at      int
		value   any
		failure string
	}{
		{0, 3, "all: argument 0: expected a tensor, got int"},
		{0, "text", "all: argument 0: expected a tensor, got a string"},
		{0, nil, "all: argument 0: expected a tensor, got None"},
		{0, []byte("x"), "all: argument 0: expected a tensor, got bytes"},
		{1, modules.Tensor(t, []int8{1, 2, 3, 4}, 2, 2), "all: argument 1 (a): expected float32, got int8"},
		{1, modules.Tensor(t, []bool{true}, 1, 1), "all: argument 1 (a): expected float32, got bool"},
		{1, modules.Tensor(t, []float32{1, 2}), "all: argument 1 (a): expected 2 dimensions (float32[n, 2]), got 1"},
		{1, modules.Tensor(t, []float32{1, 2}, 2, 1), "all: argument 1 (a): shape[1] is 1, expected 2"},
		{1, modules.Tensor(t, []float32{1, 2, 3, 4, 5, 6}, 3, 2),
			"all: argument 1 (a): shape[0] is 3, expected n = 2 (argument 5 (n))"},
		{2, modules.Tensor(t, []int16{1, 2}, 1, 2, 1),
			"all: argument 2 (b): shape[2] is 1, expected m = 2 (argument 2 (b): shape[1])"},
		{3, 128, "all: argument 3: 128 does not fit int8"},
		{3, -129, "all: argument 3: -129 does not fit int8"},
		{3, 1.5, "all: argument 3: expected int8, got float"},
		{4, 65536, "all: argument 4: 65536 does not fit uint16"},
		{4, -1, "all: argument 4: -1 does not fit uint16"},
		{5, int64(1) << 32, "all: argument 5 (n): 4294967296 does not fit int32"},
		{5, int64(math.MinInt64), "all: argument 5 (n): -9223372036854775808 does not fit int32"},
		{7, 2, "all: argument 7 (flag): 2 does not fit bool"},
		{8, "x", "all: argument 8 (f): expected float32, got a string"},
		{9, a, "all: argument 9: expected float64, got a tensor"},
	} {
		args := append([]any(nil), good...)
		args[c.at] = c.value
		require.EqualError(t, must.Fail(all.Call(args...)), "call function: "+c.failure)
	}
	_, err := all.Call(good[:9]...)
	require.ErrorContains(t, err, "all: expected 10 arguments, got 9: all(handle, a: float32[n, 2], b: int16[_, m, m], "+
		"int8, uint16, n: int32, uint64, flag: bool, f: float32, float64)")
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	must.Get(function(t, m, "none").Call())(t)
	require.ErrorContains(t, must.Fail(function(t, m, "none").Call(1)), "none: expected 0 arguments, got 1: none()")
}

func TestArguments_Layout(t *testing.T) {
	two := function(t, argumentsModule(t), "two")
	whole := modules.Tensor(t, make([]float32, 64), 8, 8)
	view := func(x *runtime.Tensor, shape, strides []int64, offset int64) *runtime.Tensor {
		return must.Open(x.View(x.DType(), shape, strides, offset))(t)
	}
	numbers := modules.Tensor(t, make([]float64, 64))
	for _, c := range []struct {
		a, b    *runtime.Tensor
		failure string
	}{
		{whole, view(numbers, []int64{8}, []int64{2}, 8), ""},
		{view(whole, []int64{1, 8}, []int64{99, 1}, 64), view(numbers, []int64{8}, nil, 0), ""},
		{view(whole, []int64{0, 8}, []int64{99, 5}, 0), view(numbers, []int64{8}, nil, 0), ""},
		{view(whole, []int64{2, 4}, []int64{8, 1}, 0), view(numbers, []int64{4}, nil, 0),
			"two: argument 0 (a): strides[0] is 8, expected 4: the tensor is not contiguous, copy it"},
		{view(whole, []int64{8, 8}, []int64{1, 8}, 0), view(numbers, []int64{8}, nil, 0), "strides[1] is 8, expected 1"},
		{view(whole, []int64{2, 4}, nil, 4), view(numbers, []int64{4}, nil, 0),
			"two: argument 0 (a): the elements begin 4 bytes behind a multiple of 64: copy them to aligned memory"},
		{whole, view(numbers, []int64{7}, nil, 0), "two: argument 1 (b): shape[0] is 7, expected m = 8 (argument 0 (a): " +
			"shape[1])"},
	} {
		_, err := two.Call(c.a, c.b)
		if c.failure == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.failure)
		}
	}
}

// A tensor of one dimension has strides, too, but a stride matters only if it leads to another element.
func TestArguments_LayoutOfOneDimension(t *testing.T) {
	line := function(t, argumentsModule(t), "line")
	numbers := modules.Tensor(t, make([]float32, 16))
	for _, c := range []struct {
		n, stride int64
		failure   string
	}{
		{8, 1, ""}, {1, 99, ""}, {0, 5, ""},
		{8, 2, "line: argument 0 (a): strides[0] is 2, expected 1: the tensor is not contiguous, copy it"},
		{2, 8, "strides[0] is 8, expected 1"},
		{8, 0, "strides[0] is 0, expected 1"},
	} {
		v := must.Get(numbers.View(numbers.DType(), []int64{c.n}, []int64{c.stride}, 0))(t)
		_, err := line.Call(v)
		if c.failure == "" {
			require.NoError(t, err, "%d by %d", c.n, c.stride)
		} else {
			require.ErrorContains(t, err, c.failure)
		}
		require.NoError(t, v.Close())
	}
}

func TestArguments_Types(t *testing.T) {
	types := function(t, argumentsModule(t), "types")
	of := func(dtype dlpack.DataType, shape ...int64) *runtime.Tensor {
		return onDevice(t, dlpack.Device{Type: dlpack.CPU}, dtype, shape...)
	}
	vector := dlpack.DataType{Code: dlpack.CodeFloat, Bits: 32, Lanes: 4}
	bytes, half, flag, lanes := of(dlpack.UInt8, 4), of(dlpack.Float16, 3), of(dlpack.Bool), of(vector, 1)
	for _, args := range [][]any{{bytes, half, flag, lanes}, {bytes, half, of(dlpack.ClassicBool), lanes}} {
		must.Get(types.Call(args...))(t)
	}
	for _, c := range []struct {
		args    []any
		failure string
	}{
		{[]any{of(dlpack.Bool, 4), half, flag, lanes}, "argument 0: expected uint8, got bool"},
		{[]any{bytes, of(dlpack.BFloat16, 3), flag, lanes}, "argument 1: expected float16, got bfloat16"},
		{[]any{bytes, of(dlpack.Float32, 3), flag, lanes}, "argument 1: expected float16, got float32"},
		{[]any{bytes, half, of(dlpack.UInt8), lanes}, "argument 2 (b): expected bool, got uint8"},
		{[]any{bytes, half, of(dlpack.Bool, 1), lanes}, "argument 2 (b): expected 0 dimensions (bool[]), got 1"},
		{[]any{bytes, half, flag, of(dlpack.Float32, 1)}, "argument 3: expected float32x4, got float32"},
	} {
		require.ErrorContains(t, must.Fail(types.Call(c.args...)), "types: "+c.failure)
	}
}
