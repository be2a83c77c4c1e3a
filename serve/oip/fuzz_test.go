package oip

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

// fuzzLimits are small, so that requests exceed them.
var fuzzLimits = Limits{BodyBytes: 1 << 16, TensorBytes: 1 << 12, Inputs: 8, Dims: 4}

// counted returns an alloc that counts bytes.
func counted(total *int64) func(*Tensor) error {
	return func(t *Tensor) error {
		count, err := dlpack.NumElements(t.Shape)
		if err != nil {
			return err
		}
		n, err := t.DType.Bytes(count)
		*total += n
		t.Data = make([]byte, n)
		return err
	}
}

// reread writes the inputs as outputs, in both forms, and reads them again.
func reread(t *testing.T, r *Request, forms ...bool) {
	for _, binary := range forms {
		var b bytes.Buffer
		headerLength := int64(-1)
		err := (&Response{Outputs: r.Inputs}).Write(&b, &Request{Binary: binary}, func(jsonBytes, _ int64, raw bool) {
			if raw {
				headerLength = jsonBytes
			}
		})
		require.NoError(t, err)
		body := append([]byte(`{"inputs"`), b.Bytes()[len(`{"model_name":"","outputs"`):]...)
		if headerLength >= 0 {
			headerLength -= int64(b.Len() - len(body))
		}
		again, err := ReadRequest(bytes.NewReader(body), -1, headerLength, Limits{}, nil)
		require.NoError(t, err, "%q", body)
		require.Equal(t, r.Inputs, again.Inputs)
	}
}

// flat appends the elements of data, as encoding/json reads it, to a list.
func flat(data any, list []any) []any {
	nested, ok := data.([]any)
	if !ok {
		return append(list, data)
	}
	for _, v := range nested {
		list = flat(v, list)
	}
	return list
}

// reference returns the bytes of an element.
func reference(t *testing.T, dtype dlpack.DataType, element any) []byte {
	bits, size := uint64(0), int(dtype.Bits)
	switch text, isNumber := element.(json.Number); {
	case !isNumber:
		if element.(bool) {
			bits = 1
		}
	case dtype == dlpack.Float16 || dtype == dlpack.BFloat16 || dtype == dlpack.Float64:
		v, err := strconv.ParseFloat(text.String(), 64)
		require.NoError(t, err)
		bits = math.Float64bits(v)
		if dtype == dlpack.Float16 {
			bits = uint64(dlpack.Float16Of(v))
		} else if dtype == dlpack.BFloat16 {
			bits = uint64(dlpack.BFloat16Of(v))
		}
	case dtype == dlpack.Float32:
		v, err := strconv.ParseFloat(text.String(), 32)
		require.NoError(t, err)
		bits = uint64(math.Float32bits(float32(v)))
	case dtype.Code == dlpack.CodeInt:
		v, err := strconv.ParseInt(text.String(), 10, size)
		require.NoError(t, err)
		bits = uint64(v)
	default:
		v, err := strconv.ParseUint(strings.TrimPrefix(text.String(), "-"), 10, size)
		require.NoError(t, err)
		bits = v
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:size/8]
}

func FuzzReadRequest(f *testing.F) {
	const x = `{"name":"x","shape":[2,1],"datatype":"FP32","data":[[1.5],[-2e-1]]}`
	for _, body := range []string{
		`{"inputs":[` + x + `],"id":"é\u0041","parameters":{"priority":1,"timeout":5,"binary_data_output":true,` +
			`"a":{"b":[null]}}}`,
		`{"inputs":[{"data":[true,0],"datatype":"BOOL","shape":[2],"name":"b"}],"outputs":[{"name":"y",` +
			`"parameters":{"binary_data":false}}]}`,
		`{"inputs":[{"name":"i","shape":[],"datatype":"INT64","data":-9007199254740993},{"name":"e","shape":[2,0],` +
			`"datatype":"FP64","data":[[],[]]}]}`,
		`{"inputs":[{"name":"h","shape":[3],"datatype":"FP16","data":[65504,1e-7,0.1]},{"name":"u","shape":[1],` +
			`"datatype":"UINT64","data":[18446744073709551615]}]}`,
		`{"inputs":[{"name":"d","shape":[4],"datatype":"FP64","data":[1e308,5e-324,123456789.123456789123456789,-0.0]}]}`,
		`{"inputs":[{"name":"f","shape":[5],"datatype":"FP32","data":[16777217,1.00000005960464477539062500000001,1e-45,` +
			`3.4028235e38,1e10]}]}`,
		`{"inputs":[{"name":"b","shape":[2],"datatype":"BF16","data":[1.01171875,-3e38]},{"name":"c","shape":[1,2],` +
			`"datatype":"INT8","data":[[127,-128]]}]}`,
		`{"inputs":[],"outputs":[{"name":"y","parameters":{"classification":1}}],"parameters":{"sequence_id":1}}`,
		`{"inputs":[{"name":"x","shape":[1000000000000],"datatype":"BYTES","data":["` + "\xff" + `"]}]}`,
		`{"inputs":[{"data":[[[[[[1`, `[]`, ``,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		total := int64(0)
		r, err := ReadRequest(strings.NewReader(body), int64(len(body)), -1, fuzzLimits, counted(&total))
		require.LessOrEqual(t, total, 8*int64(len(body)))
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			require.NotEqual(t, Internal, e.Code)
			return
		}
		fields := map[string]json.RawMessage{}
		require.NoError(t, json.Unmarshal([]byte(body), &fields))
		d := json.NewDecoder(bytes.NewReader(fields["inputs"]))
		d.UseNumber()
		var parsed []map[string]any
		require.NoError(t, d.Decode(&parsed))
		require.Equal(t, len(parsed), len(r.Inputs))
		for i, in := range r.Inputs {
			require.Equal(t, in.Name, parsed[i]["name"])
			want := []byte{}
			for _, element := range flat(parsed[i]["data"], nil) {
				want = append(want, reference(t, in.DType, element)...)
			}
			require.Equal(t, want, in.Data, body)
		}
		reread(t, r, false, true)
	})
}

func FuzzReadRequest_Raw(f *testing.F) {
	for _, c := range []struct{ json, raw string }{
		{rawInputs("x [2,1] FP32 8", "b [3] BOOL 3"), "12345678\x00\x01\x01"},
		{rawInputs("x [0] FP64 0", "s [] INT8 1"), "1"},
		{rawInputs("x [4611686018427387904] FP32 9223372036854775807"), "1"},
		{`{"inputs":[{"name":"a","shape":[2],"datatype":"UINT8","data":[1,2]},{"name":"b","shape":[1],` +
			`"datatype":"INT16","parameters":{"binary_data_size":2}}]}`, "12"},
	} {
		for _, known := range []bool{true, false} {
			f.Add([]byte(c.json+c.raw), int64(len(c.json)), known)
			f.Add([]byte(c.json+c.raw), int64(len(c.json))-1, known)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, headerLength int64, known bool) {
		length := int64(-1)
		if known {
			length = int64(len(body))
		}
		total := int64(0)
		r, err := ReadRequest(bytes.NewReader(body), length, headerLength, fuzzLimits, counted(&total))
		if known {
			require.LessOrEqual(t, total, 8*int64(len(body)))
		}
		require.LessOrEqual(t, total, fuzzLimits.BodyBytes)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			require.NotEqual(t, Internal, e.Code)
			return
		}
		reread(t, r, true)
	})
}
