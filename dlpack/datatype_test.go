package dlpack

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// testdata/dtype_modern.json holds the results of TVMFFIDataTypeFromString and …ToString of the reference library.
func TestDataType_AgreesWithTVMFFI(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/dtype_modern.json"))(t)
	var golden struct {
		Parse map[string]*[3]uint16
		Print [][4]any
	}
	require.NoError(t, json.Unmarshal(text, &golden))

	// The reference accepts these with another meaning than the text has; here they are errors.
	refused := map[string]bool{}
	for _, family := range []string{"int", "uint", "float", "bfloat", "bool", "handle", "i", "u", "f", "bf"} {
		refused[family+"0"] = true
		refused[family+"xvscale"] = true
	}
	for _, name := range []string{"float4_e2m1fn_", "f4_e2m1fn_", "fp4_e2m1fn_"} {
		refused[name] = true
	}
	// The reference prints these but cannot read them; here they are read.
	extra := map[string]bool{}
	for name := range golden.Parse {
		if len(name) > 9 && name[len(name)-9:] == "xvscalex4" && golden.Parse[name] == nil {
			extra[name] = true
		}
	}
	for s, want := range golden.Parse {
		got, err := ParseDataType(s)
		switch {
		case refused[s]:
			require.Error(t, err, "%q", s)
		case want != nil:
			require.NoError(t, err, "%q", s)
			require.Equal(t, DataType{uint8(want[0]), uint8(want[1]), want[2]}, got, "%q", s)
		case err == nil:
			require.True(t, extra[s], "%q is %v here and an error there", s, got)
		}
	}
	for _, row := range golden.Print {
		dt := DataType{uint8(row[0].(float64)), uint8(row[1].(float64)), uint16(row[2].(float64))}
		got, err := dt.MarshalText()
		if row[3] == nil {
			require.Error(t, err, "%#v", dt)
			require.Contains(t, dt.String(), "dtype(code=")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, row[3], string(got), "%#v", dt)
		require.Equal(t, row[3], dt.String(), "%#v", dt)
	}
}

func TestDataType_RoundTrip(t *testing.T) {
	require.NoError(t, RegisterCustomType("posit", 200))
	for _, code := range []uint8{0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 200} {
		for _, width := range []uint8{1, 4, 8, 16, 32, 64, 128, 255} {
			if code >= CodeFloat8E3M4 && code < CodeCustomBegin { // their name says the width
				width = map[bool]uint8{true: 8, false: 6}[code <= CodeFloat8E8M0FNU]
				if code == CodeFloat4E2M1FN {
					width = 4
				}
			}
			for _, lanes := range []uint16{1, 2, 4, 32767, 32768, 65532, 65534} {
				dt := DataType{code, width, lanes}
				got := must.Get(ParseDataType(dt.String()))(t)
				require.Equal(t, dt, got)

				text, err := dt.ClassicString()
				if err != nil {
					continue
				}
				got = must.Get(ParseDataTypeClassic(text))(t)
				require.Equal(t, dt, got)
			}
		}
	}
	for _, dt := range []DataType{Bool, Handle, Void, ClassicBool, BFloat16} {
		var got DataType
		text := must.Get(json.Marshal(dt))(t)
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, dt, got)
	}
	require.Equal(t, "custom[posit]16x2", DataType{200, 16, 2}.String())
	require.Equal(t, "custom[posit]", DataType{200, 32, 1}.String())
}

func TestDataTypeClassic(t *testing.T) {
	for text, want := range map[string]DataType{
		"int8": Int8, "int": Int32, "uint1x4": {1, 1, 4}, "float16": Float16, "float32x4": {2, 32, 4}, "float32xvscalex4": {2,
			32, 65532},
		"handle": Handle, "handle64": Handle, "bool": ClassicBool, "uint1": ClassicBool, "bfloat16": BFloat16,
		"bfloat": BFloat16, "": Void, "void": Void,
		"e4m3_float8": Float8E4M3FN, "e5m2_float8x4": {CodeFloat8E5M2, 8, 4}, "e5m2_float": Float8E5M2,
	} {
		got, err := ParseDataTypeClassic(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"boolx4", "i8", "f32", "float8_e4m3fn", "int8x", "int8xvscale", "int300",
		"custom[none]8", "custom", "float32 ", "xfloat", "Void"} {
		require.ErrorContains(t, must.Fail(ParseDataTypeClassic(text)), "parse classic data type", text)
	}
	for want, dt := range map[string]DataType{
		"bool": ClassicBool, "uint1x2": {1, 1,
			2}, "": Void, "handle": Handle, "e4m3_float8": Float8E4M3FN, "e5m2_float8x2": {CodeFloat8E5M2, 8, 2},
		"int4": {0, 4, 1},
	} {
		require.Equal(t, want, must.Get(dt.ClassicString())(t))
	}
	for _, dt := range []DataType{Bool, {6, 1, 1}, {5, 64, 1}, Float4E2M1FN, {CodeFloat8E4M3, 8, 1}, {255, 8, 1},
		{18, 8, 1}, {0, 0, 1}} {
		require.Error(t, must.Fail(dt.ClassicString()), "%v", dt)
	}
	require.ErrorContains(t, must.Fail(Bool.ClassicString()), "dlpack.ClassicBool")
}

func TestRegisterCustomType(t *testing.T) {
	require.NoError(t, RegisterCustomType("posites2", 131))
	require.NoError(t, RegisterCustomType("posites2", 131))
	require.ErrorContains(t, RegisterCustomType("posites2", 132), "has code 131")
	require.ErrorContains(t, RegisterCustomType("other", 131), `belongs to "posites2"`)
	require.Error(t, RegisterCustomType("low", 128))
	require.Error(t, RegisterCustomType("a]b", 133))
	require.Error(t, RegisterCustomType("", 133))
	require.Equal(t, DataType{131, 8, 4}, must.Get(ParseDataType("custom[posites2]8x4"))(t))
	for _, s := range []string{"custom[posites2", "custom]", "custom[]8", "custom[nobody]8"} {
		require.Error(t, must.Fail(ParseDataType(s)), s)
	}
}

type celsius float32

func TestDataTypeOf(t *testing.T) {
	require.Equal(t, Bool, DataTypeOf[bool]())
	require.Equal(t, Int8, DataTypeOf[int8]())
	require.Equal(t, Int16, DataTypeOf[int16]())
	require.Equal(t, Int32, DataTypeOf[int32]())
	require.Equal(t, Int64, DataTypeOf[int64]())
	require.Equal(t, Int64, DataTypeOf[int]())
	require.Equal(t, UInt8, DataTypeOf[byte]())
	require.Equal(t, UInt16, DataTypeOf[uint16]())
	require.Equal(t, UInt32, DataTypeOf[uint32]())
	require.Equal(t, UInt64, DataTypeOf[uint64]())
	require.Equal(t, UInt64, DataTypeOf[uint]())
	require.Equal(t, Float32, DataTypeOf[celsius]())
	require.Equal(t, Float64, DataTypeOf[float64]())
	require.Equal(t, DataType{CodeComplex, 64, 1}, DataTypeOf[complex64]())
	require.Equal(t, DataType{CodeComplex, 128, 1}, DataTypeOf[complex128]())
}

func FuzzParseDataType(f *testing.F) {
	for _, s := range []string{"", "void", "int8", "float32x4", "bf16xvscalex4", "fp4_e2m1fn_x2", "float8_e4m3b11fnuz",
		"bool", "bool1", "custom[x]8",
		"handle32x4", "u1", "complex64", "int8x65535", "float32xvscalex32768", "float32xvscale", "e4m3_float8",
		"int99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		dt, err := ParseDataType(s)
		if err == nil && dt.Code != CodeHandle && dt.Lanes != 65535 { // those two print less than they hold
			require.Equal(t, dt, must.Get(ParseDataType(dt.String()))(t))
		}
		classic, err := ParseDataTypeClassic(s)
		if err == nil && classic.Code != CodeHandle && classic.Lanes != 65535 {
			text := must.Get(classic.ClassicString())(t)
			require.Equal(t, classic, must.Get(ParseDataTypeClassic(text))(t))
		}
	})
}
