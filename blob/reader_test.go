package blob

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

func TestReader_Primitives(t *testing.T) {
	x := build().raw(7).u32(1<<31).u64(1<<63).u64(math.Float64bits(2.5)).str("héllo").strs("a", "").vec(1,
		2).vec(1<<64-1).
		u64(2).u32(5).u32(1<<32-1).u64(1).raw(2, 32, 4, 0).u32(2).u32(1)
	r := NewReader(x.b)
	require.EqualValues(t, 7, r.U8("x"))
	require.EqualValues(t, math.MinInt32, r.I32("x"))
	require.EqualValues(t, math.MinInt64, r.I64("x"))
	require.EqualValues(t, 2.5, r.F64("x"))
	require.Equal(t, "héllo", r.Str("x"))
	require.Equal(t, []string{"a", ""}, r.Strs("x"))
	require.Equal(t, []uint64{1, 2}, r.U64s("x"))
	require.Equal(t, []int64{-1}, r.I64s("x"))
	require.Equal(t, []int32{5, -1}, r.I32s("x"))
	require.Equal(t, []dlpack.DataType{{Code: 2, Bits: 32, Lanes: 4}}, r.DTypes("x"))
	require.Equal(t, dlpack.Device{Type: dlpack.CUDA, ID: 1}, r.Device("x"))
	require.NoError(t, r.Finish("end"))
	require.EqualValues(t, len(x.b), r.Offset())
}

func TestReader_FirstFailureSticks(t *testing.T) {
	r := NewReader([]byte{1, 2, 3})
	r.U8("first")
	require.Zero(t, r.U32("second"))
	require.Zero(t, r.U8("third"), "there would be a byte")
	require.Zero(t, r.Len())
	require.Nil(t, r.Strs("fourth"))
	r.Fail("fifth", "late")
	require.EqualError(t, r.Err(), "blob: offset 1: second: needs 4 bytes, 2 are left")
	require.Equal(t, r.Err(), r.Finish("end"))
	require.Equal(t, r.Err(), r.Sub(1, "sixth").Err())
}

func TestReader_SubKeepsOffsets(t *testing.T) {
	r := NewReader(build().u64(1).u64(2).u64(3).b)
	r.U64("x")
	sub := r.Sub(8, "inner")
	require.EqualValues(t, 2, sub.U64("x"))
	sub.U8("too far")
	require.EqualError(t, sub.Err(), "blob: offset 16: too far: needs 1 bytes, 0 are left")
	require.NoError(t, r.Err())
	require.EqualValues(t, 3, r.U64("x"))
}

func TestReader_Count(t *testing.T) {
	data := build().u64(4).raw(make([]byte, 15)...).b
	require.Zero(t, NewReader(data).Count(4, "x"))
	r := NewReader(data)
	r.Count(4, "things")
	require.EqualError(t, r.Err(), "blob: offset 0: things: the count is 4, but the remaining 15 bytes contain at most 3")
	require.Equal(t, 4, NewReader(data).Count(3, "x"))
	require.Equal(t, 4, NewReader(data).Count(0, "x"), "an element takes at least a byte")
}

func TestReader_Tensor(t *testing.T) {
	good := build().tensor(3).b
	r := NewReader(good)
	tensor := r.Tensor("x")
	require.NoError(t, r.Finish("end"))
	require.Equal(t, []int64{3}, tensor.Shape)
	require.Equal(t, dlpack.Float32, tensor.DType)
	require.Len(t, tensor.Data, 12)
	require.Same(t, &good[len(good)-12], &tensor.Data[0])

	for want, change := range map[string]func(b []byte){
		"a tensor begins with":     func(b []byte) { b[0]++ },
		"not on cuda:0":            func(b []byte) { b[16] = 2 },
		"the rank is -1":           func(b []byte) { copy(b[24:], []byte{255, 255, 255, 255}) },
		"the rank is 100":          func(b []byte) { b[24] = 100 },
		"takes 16 bytes, not 12":   func(b []byte) { b[32] = 4 },
		"is negative":              func(b []byte) { b[39] = 0x80 },
		"takes 12 bytes, not 13":   func(b []byte) { b[40] = 13 },
		"zero bits":                func(b []byte) { b[29] = 0 },
		"takes 6 bytes, not 12":    func(b []byte) { b[29] = 16 },
		"the size exceeds 64 bits": func(b []byte) { b[38] = 0x7f; b[39] = 0x7f },
	} {
		b := append([]byte(nil), good...)
		change(b)
		r := NewReader(b)
		require.Zero(t, r.Tensor("x"), want)
		require.ErrorIs(t, r.Err(), ErrCorrupt)
		require.ErrorContains(t, r.Err(), want)
	}
	for n := range good {
		r := NewReader(good[:n])
		require.Zero(t, r.Tensor("x"))
		require.ErrorIs(t, r.Err(), ErrCorrupt)
	}
}
