package oip

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

// write returns the JSON of a response and what follows it; raw is "none" without the header for raw elements.
func write(t *testing.T, r *Response, q *Request) (text, raw string) {
	var b bytes.Buffer
	calls, jsonBytes, bodyBytes, raws := 0, int64(0), int64(0), false
	require.NoError(t, r.Write(&b, q, func(j, body int64, binary bool) {
		require.Zero(t, b.Len(), "the header is first")
		calls++
		jsonBytes, bodyBytes, raws = j, body, binary
	}))
	require.Equal(t, 1, calls)
	require.Equal(t, bodyBytes, int64(b.Len()))
	text, raw = b.String()[:jsonBytes], b.String()[jsonBytes:]
	require.True(t, json.Valid([]byte(text)), text)
	if !raws {
		require.Empty(t, raw)
		raw = "none"
	}
	return text, raw
}

func TestResponse_Write(t *testing.T) {
	x := Tensor{Name: "x", DType: dlpack.Float32, Shape: []int64{2, 1}, Data: f32(1, -0.25)}
	y := Tensor{Name: "y", DType: dlpack.UInt8, Shape: []int64{3}, Data: []byte{1, 2, 255}}
	empty := Tensor{Name: "e", DType: dlpack.Int64, Shape: []int64{0}}
	const xJSON = `{"name":"x","datatype":"FP32","shape":[2,1],"data":[1,-0.25]}`
	const yJSON = `{"name":"y","datatype":"UINT8","shape":[3],"data":[1,2,255]}`
	const xRaw = `{"name":"x","datatype":"FP32","shape":[2,1],"parameters":{"binary_data_size":8}}`
	const yRaw = `{"name":"y","datatype":"UINT8","shape":[3],"parameters":{"binary_data_size":3}}`
	xBytes, yBytes := string(x.Data), string(y.Data)
	for _, c := range []struct {
		name      string
		response  Response
		request   Request
		text, raw string
	}{
		{"nothing", Response{}, Request{}, `{"model_name":"","outputs":[]}`, "none"},
		{"names", Response{Model: "m", Version: "2", ID: "é\"\n"}, Request{},
			`{"model_name":"m","model_version":"2","id":"é\"\u000a","outputs":[]}`, "none"},
		{"JSON", Response{Model: "m", Outputs: []Tensor{x, y}}, Request{},
			`{"model_name":"m","outputs":[` + xJSON + `,` + yJSON + `]}`, "none"},
		{"binary", Response{Model: "m", Outputs: []Tensor{x, y}}, Request{Binary: true},
			`{"model_name":"m","outputs":[` + xRaw + `,` + yRaw + `]}`, xBytes + yBytes},
		{"one binary", Response{Model: "m", Outputs: []Tensor{x, y}}, Request{Outputs: []RequestedOutput{{"x", false},
			{"y", true}}},
			`{"model_name":"m","outputs":[` + xJSON + `,` + yRaw + `]}`, yBytes},
		{"another order", Response{Model: "m", Outputs: []Tensor{x, y}},
			Request{Binary: true, Outputs: []RequestedOutput{{"y", false}, {"x", true}}},
			`{"model_name":"m","outputs":[` + xRaw + `,` + yJSON + `]}`, xBytes},
		{"named by no request", Response{Model: "m", Outputs: []Tensor{y}}, Request{Binary: true,
			Outputs: []RequestedOutput{{"x", false}}},
			`{"model_name":"m","outputs":[` + yRaw + `]}`, yBytes},
		{"no elements", Response{Model: "m", Outputs: []Tensor{empty}}, Request{},
			`{"model_name":"m","outputs":[{"name":"e","datatype":"INT64","shape":[0],"data":[]}]}`, "none"},
		{"no elements, binary", Response{Model: "m", Outputs: []Tensor{empty}}, Request{Binary: true},
			`{"model_name":"m","outputs":[{"name":"e","datatype":"INT64","shape":[0],"parameters":{"binary_data_size":0}}]}`,
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, raw := write(t, &c.response, &c.request)
			require.Equal(t, c.text, text)
			require.Equal(t, c.raw, raw)
		})
	}
}

func TestResponse_Elements(t *testing.T) {
	for _, c := range []struct {
		dtype dlpack.DataType
		data  string
		want  string
	}{
		{dlpack.Bool, "\x00\x01", "false,true"},
		{dlpack.ClassicBool, "\x00\x01", "false,true"},
		{dlpack.Int8, "\x80\xff\x7f", "-128,-1,127"},
		{dlpack.UInt8, "\x80\xff", "128,255"},
		{dlpack.Int16, "\x00\x80\xff\x7f", "-32768,32767"},
		{dlpack.UInt16, "\xff\xff", "65535"},
		{dlpack.Int32, "\x00\x00\x00\x80", "-2147483648"},
		{dlpack.UInt32, "\xff\xff\xff\xff", "4294967295"},
		{dlpack.Int64, "\x01\x00\x00\x00\x00\x00\x20\x00", "9007199254740993"},
		{dlpack.UInt64, "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
		{dlpack.Float16, "\x00\x3c\xff\x7b\x01\x00", "1,65504,5.9604645e-08"},
		{dlpack.BFloat16, "\x80\x3f\xcd\x3d", "1,0.100097656"},
		{dlpack.Float32, string(f32(0.1, 1e20, 1e21, 1e-6, 1e-7, float32(math.Copysign(0, -1)), math.MaxFloat32)),
			"0.1,100000000000000000000,1e+21,0.000001,1e-07,-0,3.4028235e+38"},
		{dlpack.Float64, "\x9a\x99\x99\x99\x99\x99\xb9\x3f", "0.1"},
	} {
		size := int64(c.dtype.Bits+7) / 8
		text, _ := write(t, &Response{Outputs: []Tensor{{DType: c.dtype, Shape: []int64{int64(len(c.data)) / size},
			Data: []byte(c.data)}}},
			&Request{})
		got, _, _ := strings.Cut(text[strings.Index(text, `"data":[`)+8:], "]")
		require.Equal(t, c.want, got, c.dtype)
	}
}

// TestResponse_RoundTrip writes every datatype in both forms, and reads it again as a request.
func TestResponse_RoundTrip(t *testing.T) {
	data := make([]byte, 1<<16*2)
	for i := range 1 << 16 { // every float of 16 bits
		data[2*i], data[2*i+1] = byte(i), byte(i>>8)
	}
	for _, d := range datatypes {
		size := int(d.dtype.Bits+7) / 8
		var finite []byte
		for i := 0; i < len(data); i += size {
			o := Tensor{DType: d.dtype, Data: append([]byte{}, data[i:i+size]...)}
			if d.kind == boolean {
				o.Data[0] &= 1
			}
			if _, err := appendElements(nil, &o); err == nil {
				finite = append(finite, o.Data...)
			}
		}
		out := Tensor{Name: "x", DType: d.dtype, Shape: []int64{int64(len(finite) / size)}, Data: finite}
		require.Greater(t, len(finite), 1<<15)
		for _, binary := range []bool{false, true} {
			text, raw := write(t, &Response{Outputs: []Tensor{out}}, &Request{Binary: binary})
			text = strings.Replace(text, `"outputs"`, `"inputs"`, 1)
			headerLength := int64(len(text))
			if !binary {
				raw, headerLength = "", -1
			}
			r, err := ReadRequest(strings.NewReader(text+raw), -1, headerLength, Limits{}, nil)
			require.NoError(t, err)
			require.True(t, bytes.Equal(finite, r.Inputs[0].Data), d.name)
			require.Equal(t, out.Shape, r.Inputs[0].Shape)
		}
	}
}

type failing struct{ after int }

var errGone = errors.New("the client is gone")

func (f *failing) Write(b []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errGone
	}
	return len(b), nil
}

func TestResponse_Errors(t *testing.T) {
	x := Tensor{Name: "x", DType: dlpack.Float32, Shape: []int64{2}, Data: f32(1, float32(math.NaN()))}
	plain := func(dtype dlpack.DataType, data string, shape ...int64) Tensor {
		return Tensor{Name: "x", DType: dtype, Shape: shape, Data: []byte(data)}
	}
	for _, c := range []struct {
		output Tensor
		binary bool
		want   string
		code   Code
	}{
		{x, false, `output "x": element 1 is NaN, which JSON cannot express: ask for binary data (binary_data)`,
			InvalidArgument},
		{plain(dlpack.Float16, "\x00\x7c", 1), false, "element 0 is +Inf", InvalidArgument},
		{plain(dlpack.BFloat16, "\x80\xff", 1), false, "element 0 is -Inf", InvalidArgument},
		{plain(dlpack.Float64, "\x00\x00\x00\x00\x00\x00\xf0\x7f", 1), false, "element 0 is +Inf", InvalidArgument},
		{plain(dlpack.Float8E5M2, "\x00", 1), true, "the protocol has no datatype for float8_e5m2", Internal},
		{plain(dlpack.Float32, "\x00", 1), true, "float32 of shape [1] has 4 bytes, not 1", Internal},
		{plain(dlpack.Float32, "", -1), true, "is negative", Internal},
	} {
		r := &Response{Outputs: []Tensor{c.output}}
		err := r.Write(nil, &Request{Binary: c.binary}, nil)
		requireCode(t, c.code, err, c.want)
		require.ErrorContains(t, err, c.want)
	}
	_, raw := write(t, &Response{Outputs: []Tensor{x}}, &Request{Binary: true})
	require.Equal(t, string(x.Data), raw, "raw elements may be NaN")

	for n := range 2 {
		err := (&Response{Outputs: []Tensor{x}}).Write(&failing{n}, &Request{Binary: true}, func(_, _ int64, _ bool) {})
		require.ErrorIs(t, err, errGone)
		var e *Error
		require.False(t, errors.As(err, &e))
	}
}

func TestResponse_DoesNotCopy(t *testing.T) {
	data := make([]byte, 1<<20)
	r := &Response{Outputs: []Tensor{{Name: "x", DType: dlpack.UInt8, Shape: []int64{1 << 20}, Data: data}}}
	var seen []byte
	err := r.Write(writer(func(b []byte) { seen = b }), &Request{Binary: true}, func(_, _ int64, _ bool) {})
	require.NoError(t, err)
	require.Same(t, &data[0], &seen[0])
}

type writer func(b []byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

func TestMarshal(t *testing.T) {
	metadata := &Metadata{Name: "m\\", Platform: "tvm", Versions: []string{"1", "2"},
		Inputs: []TensorMetadata{{"x", dlpack.Float32, []int64{-1, 3}}, {"s", dlpack.Bool, nil}}}
	got, err := MarshalMetadata(metadata)
	require.NoError(t, err)
	require.Equal(t, `{"name":"m\\","versions":["1","2"],"platform":"tvm","inputs":[{"name":"x","datatype":"FP32",`+
		`"shape":[-1,3]},`+
		`{"name":"s","datatype":"BOOL","shape":[]}],"outputs":[]}`, string(got))
	metadata.Outputs = []TensorMetadata{{"y", dlpack.Handle, nil}}
	_, err = MarshalMetadata(metadata)
	requireCode(t, Internal, err, "")
	require.ErrorContains(t, err, `metadata of model "m\\": tensor "y": the protocol has no datatype for handle`)

	require.Equal(t, `{"name":"tvmgo","version":"1.0","extensions":["binary_tensor_data","model_repository"]}`,
		string(MarshalServerMetadata(&ServerMetadata{"tvmgo", "1.0", []string{"binary_tensor_data", "model_repository"}})))
	require.Equal(t, `{"name":"","version":"","extensions":[]}`, string(MarshalServerMetadata(&ServerMetadata{})))
	require.Equal(t, `[{"name":"a","version":"1","state":"READY","reason":""},{"name":"b","state":"UNAVAILABLE",`+
		`"reason":"<no \u0001 file>"}]`,
		string(MarshalIndex([]IndexEntry{{"a", "1", "READY", ""}, {"b", "", "UNAVAILABLE", "<no \x01 file>"}})))
	require.Equal(t, `[]`, string(MarshalIndex(nil)))
	require.Equal(t, `{"name":"m","ready":true}`, string(MarshalModelReady("m", true)))
}

func TestMarshalError(t *testing.T) {
	body, status := MarshalError(fmt.Errorf("infer: %w", Errorf(NotFound, `no model "a"`)))
	require.Equal(t, `{"error":"no model \"a\""}`, string(body))
	require.Equal(t, 404, status)
	body, status = MarshalError(errors.New("open /secret"))
	require.Equal(t, `{"error":"internal error"}`, string(body))
	require.Equal(t, 500, status)
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", "é😀\u2028", "\x00\x1f\x7f\"\\/<>&", "a\xffb\xc3", "\ufffd"} {
		var got string
		require.NoError(t, json.Unmarshal(appendString(nil, s), &got), "%q", s)
		require.Equal(t, strings.ToValidUTF8(s, "\ufffd"), got)
	}
}
