package arguments

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

func TestSummary(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		dtype dlpack.DataType
		data  any
		want  string
	}{
		{dlpack.Float32, []float32{1, -2, 0.1, 3}, "min -2, max 3, mean 0.525: 1, -2, 0.1, 3"},
		{dlpack.Float64, []float64{1.0 / 3}, "0.333333"},
		{dlpack.Float32, []float32{float32(nan), float32(inf), 5, 1},
			"min 1, max 5, mean 3, 1 NaN, 1 infinite: NaN, +Inf, 5, 1"},
		{dlpack.Float64, []float64{nan, nan}, "2 NaN: NaN, NaN"},
		{dlpack.Float16, []uint16{0x3c00, 0xc000}, "min -2, max 1, mean -0.5: 1, -2"},
		{dlpack.BFloat16, []uint16{0x3f80, 0xc000}, "min -2, max 1, mean -0.5: 1, -2"},
		{dlpack.Int8, []int8{-128, 127}, "min -128, max 127, mean -0.5: -128, 127"},
		{dlpack.Int16, []int16{-1, 1}, "min -1, max 1, mean 0: -1, 1"},
		{dlpack.Int32, []int32{math.MinInt32, 0}, "min -2147483648, max 0, mean -1.07374e+09: -2147483648, 0"},
		{dlpack.Int64, []int64{1 << 40, 1}, "min 1, max 1099511627776, mean 5.49756e+11: 1099511627776, 1"},
		{dlpack.UInt8, []uint8{255, 0}, "min 0, max 255, mean 127.5: 255, 0"},
		{dlpack.UInt16, []uint16{65535}, "65535"},
		{dlpack.UInt32, []uint32{math.MaxUint32}, "4294967295"},
		{dlpack.UInt64, []uint64{math.MaxUint64}, "18446744073709551615"},
		{dlpack.Int32, []int32{1, 2, 3, 4, 5, 6, 7}, "min 1, max 7, mean 4: 1, 2, 3, 4, 5, 6, …"},
		{dlpack.Bool, []bool{true, false, true}, "2 true, 1 false: true, false, true"},
		{dlpack.ClassicBool, []bool{true}, "true"},
		{dlpack.Float32, []float32{}, ""},
		{dlpack.DataType{Code: dlpack.CodeComplex, Bits: 64, Lanes: 1}, []complex64{1}, ""},
		{dlpack.DataType{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}, []int8{1}, ""},
		{dlpack.DataType{Code: dlpack.CodeFloat, Bits: 32, Lanes: 4}, []float32{1, 2, 3, 4}, ""},
	} {
		var data bytes.Buffer
		require.NoError(t, binary.Write(&data, binary.LittleEndian, c.data))
		require.Equal(t, c.want, Summary(c.dtype, data.Bytes()), "%v %v", c.dtype, c.data)
	}
}
