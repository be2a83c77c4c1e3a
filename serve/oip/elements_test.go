package oip

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/testseed"
)

// decode returns the elements of data in JSON.
func decode(t *testing.T, datatype string, numbers ...string) []byte {
	body := fmt.Sprintf(`{"inputs":[{"name":"x","shape":[%d],"datatype":%q,"data":[%s]}]}`, len(numbers), datatype,
		strings.Join(numbers, ","))
	r, err := ReadRequest(strings.NewReader(body), -1, -1, Limits{}, nil)
	require.NoError(t, err)
	return r.Inputs[0].Data
}

func TestElements_Exact(t *testing.T) {
	for _, c := range []struct {
		datatype, number string
		want             uint64
	}{
		{"BOOL", "true", 1}, {"BOOL", "false", 0}, {"BOOL", "1", 1}, {"BOOL", "0", 0},
		{"INT8", "-128", 0x80}, {"INT8", "127", 0x7f}, {"UINT8", "255", 0xff}, {"UINT8", "-0", 0},
		{"INT16", "-32768", 0x8000}, {"INT16", "32767", 0x7fff}, {"UINT16", "65535", 0xffff},
		{"INT32", "-2147483648", 0x80000000}, {"INT32", "2147483647", 0x7fffffff}, {"UINT32", "4294967295", 0xffffffff},
		{"INT64", "-9223372036854775808", 1 << 63}, {"INT64", "9223372036854775807", 1<<63 - 1},
		{"INT64", "9007199254740993", 1<<53 + 1}, {"INT64", "-1", math.MaxUint64},
		{"UINT64", "18446744073709551615", math.MaxUint64}, {"UINT64", "9999999999999999999", 9999999999999999999},
		{"UINT64", "0", 0},
		{"FP16", "65504", 0x7bff}, {"FP16", "-65519.99", 0xfbff}, {"FP16", "0.333251953125", 0x3555}, {"FP16",
			"5.9604644775390625e-8", 1},
		{"FP16", "1e-9", 0}, {"FP16", "1.00048828125", 0x3c00}, {"FP16", "1.00146484375", 0x3c02}, // ties to even
		{"BF16", "1", 0x3f80}, {"BF16", "-3.3895313892515355e38", 0xff7f}, {"BF16", "1.00390625", 0x3f80}, {"BF16",
			"1.01171875", 0x3f82},
		{"FP32", "-0", 0x80000000}, {"FP32", "0.1", 0x3dcccccd}, {"FP32", "3.4028234663852886e38", 0x7f7fffff}, {"FP32",
			"1e-45", 1},
		{"FP32", "1E+2", 0x42c80000}, {"FP32", "16777217", 0x4b800000}, {"FP32", "16777219", 0x4b800002}, {"FP32",
			"0e99999999999", 0},
		{"FP32", "1.000000059604644775390625", 0x3f800000}, {"FP32", "1.00000005960464477539062500000001", 0x3f800001},
		{"FP32", "1.00000017881393432617187499", 0x3f800001}, {"FP32", "1e-9999999999", 0},
		{"FP64", "-0.0", 1 << 63}, {"FP64", "0.1", 0x3fb999999999999a}, {"FP64", "1.7976931348623157e308",
			0x7fefffffffffffff},
		{"FP64", "5e-324", 1}, {"FP64", "9007199254740993", 0x4340000000000000}, {"FP64",
			"123456789012345678901234567890e-29", 0x3ff3c0ca428c59fb},
	} {
		dtype, err := ParseDatatype(c.datatype)
		require.NoError(t, err)
		want := binary.LittleEndian.AppendUint64(nil, c.want)[:dtype.Bits/8]
		require.Equal(t, want, decode(t, c.datatype, c.number), "%s %s", c.datatype, c.number)
	}
}

// TestElements_Nearest compares with package strconv, which rounds exactly.
func TestElements_Nearest(t *testing.T) {
	random := testseed.Rand(t)
	var list []string
	for range 5000 {
		bits := random.Uint64()
		f32, f64 := math.Float32frombits(uint32(bits)), math.Float64frombits(bits)
		small := random.NormFloat64()
		list = append(list, strconv.FormatFloat(small, 'f', random.IntN(20), 64), strconv.FormatFloat(small*1e3, 'g', -1, 32),
			fmt.Sprint(float64(float32(small))), strconv.Itoa(random.IntN(1<<40)))
		if f32 == f32 && math.Abs(float64(f32)) < math.MaxFloat32/2 {
			between := (float64(f32) + float64(math.Nextafter32(f32, math.MaxFloat32))) / 2 // a tie
			list = append(list, strconv.FormatFloat(float64(f32), 'e', random.IntN(20), 64),
				strconv.FormatFloat(between, 'g', -1, 64), strconv.FormatFloat(between, 'f', 30, 64))
			exact, _ := new(big.Float).SetPrec(300).SetFloat64(between).MarshalText()
			list = append(list, string(exact))
		}
		if f64 == f64 && math.Abs(f64) < 1e38 {
			list = append(list, strconv.FormatFloat(f64, 'g', -1, 64), strconv.FormatFloat(f64, 'e', random.IntN(25), 64))
		}
	}
	single, double := decode(t, "FP32", list...), decode(t, "FP64", list...)
	brain := decode(t, "BF16", list...)
	for i, text := range list {
		f64, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(f64), binary.LittleEndian.Uint64(double[8*i:]), text)
		f32, err := strconv.ParseFloat(text, 32)
		require.NoError(t, err)
		require.Equal(t, math.Float32bits(float32(f32)), binary.LittleEndian.Uint32(single[4*i:]), text)
		require.Equal(t, uint16(dlpack.BFloat16Of(f64)), binary.LittleEndian.Uint16(brain[2*i:]), text)
		if math.Abs(f64) < 65500 {
			require.Equal(t, binary.LittleEndian.AppendUint16(nil, uint16(dlpack.Float16Of(f64))), decode(t, "FP16", text), text)
		}
	}
}

// TestElements_LongNumbers checks that the time for long numbers is not their square: it would take minutes.
func TestElements_LongNumbers(t *testing.T) {
	zeros := strings.Repeat("0", 5e6)
	require.Equal(t, f32(1), decode(t, "FP32", "0."+zeros[:9000]+"1e9001"))
	require.Equal(t, f32(1), decode(t, "FP32", "1"+zeros[:799]+"e-799"))
	require.Equal(t, f32(0), decode(t, "FP32", "0."+zeros+"1"))
	require.Equal(t, f32(0.25), decode(t, "FP32", "0.25"+zeros))
	require.Equal(t, f32(0.25), decode(t, "FP32", "0.25"+zeros+"1"))
	require.Equal(t, f32(0), decode(t, "FP32", "1e-"+strings.Repeat("9", 5e6)))
	for _, number := range []string{"1" + zeros, "1" + zeros[:800] + "e-800"} { // package strconv would read 1e-100
		_, err := read(t, `{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[`+number+`]}]}`, Limits{})
		require.ErrorContains(t, err, "0… is out of the range of FP32")
	}
}
