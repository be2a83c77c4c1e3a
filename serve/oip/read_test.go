package oip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// read reads a body of JSON, whole and byte by byte with unknown length; both results must be the same.
func read(t *testing.T, body string, limits Limits) (*Request, error) {
	r, err := ReadRequest(strings.NewReader(body), int64(len(body)), -1, limits, nil)
	again, errAgain := ReadRequest(iotest.OneByteReader(strings.NewReader(body)), -1, -1, limits, nil)
	if err != nil {
		require.EqualError(t, errAgain, err.Error())
		return r, err
	}
	require.NoError(t, errAgain)
	require.Equal(t, r, again)
	return r, nil
}

// readRaw is read for JSON with raw elements behind it.
func readRaw(t *testing.T, json, raw string, limits Limits) (*Request, error) {
	body := json + raw
	r, err := ReadRequest(strings.NewReader(body), int64(len(body)), int64(len(json)), limits, nil)
	again, errAgain := ReadRequest(iotest.OneByteReader(strings.NewReader(body)), -1, int64(len(json)), limits, nil)
	require.Equal(t, err == nil, errAgain == nil, "%v, %v", err, errAgain)
	if err == nil {
		require.Equal(t, r, again)
	}
	return r, err
}

func requireCode(t *testing.T, code Code, err error, body string) {
	var e *Error
	require.True(t, errors.As(err, &e), "%v: %s", err, body)
	require.Equal(t, code, e.Code, "%v: %s", err, body)
}

func f32(values ...float32) (b []byte) {
	b = []byte{}
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestReadRequest_Fields(t *testing.T) {
	in := Tensor{Name: "x", DType: dlpack.Float32, Shape: []int64{2}, Data: f32(1, -2.5)}
	const plain = `"name":"x","shape":[2],"datatype":"FP32","data":[1,-2.5]`
	inputs := []Tensor{in}
	for _, c := range []struct {
		name, body string
		want       Request
	}{
		{"one input", `{"inputs":[{` + plain + `}]}`, Request{Inputs: inputs}},
		{"no inputs", `{"inputs":[]}`, Request{}},
		{"white space", " {\t\"inputs\" : [ { \"name\" : \"x\" , \"shape\" :\r\n[ 2 ] , " +
			"\"datatype\" : \"FP32\" , \"data\" : [ 1 , -2.5 ] } ] } \n",
			Request{Inputs: inputs}},
		{"data first", `{"inputs":[{"data":[1,-2.5],"datatype":"FP32","name":"x","shape":[2]}]}`, Request{Inputs: inputs}},
		{"data before the name", `{"inputs":[{"datatype":"FP32","shape":[2],"data":[1,-2.5],"name":"x"}]}`,
			Request{Inputs: inputs}},
		{"escapes", `{"id":"\u00e9\n\"","inputs":[{"name":"\u0078","shape":[2],"datatype":"FP\u00332","data":[1,-2.5]}]}`,
			Request{ID: "é\n\"", Inputs: inputs}},
		{"null", `{"id":null,"parameters":null,"outputs":null,"inputs":[{` + plain + `,"parameters":null}]}`,
			Request{Inputs: inputs}},
		{"null parameters", `{"parameters":{"priority":null,"sequence_id":null,"binary_data_output":null},` +
			`"inputs":[{` + plain +
			`,"parameters":{"binary_data_size":null,"shared_memory_region":null}}]}`, Request{Inputs: inputs}},
		{"parameters", `{"parameters":{"priority":3,"timeout":1500,"binary_data_output":true},"inputs":[]}`,
			Request{Priority: 3, Timeout: 1500 * time.Microsecond, Binary: true}},
		{"the longest timeout", `{"parameters":{"timeout":9223372036854775807},"inputs":[]}`,
			Request{Timeout: math.MaxInt64 / 1000 * 1000}},
		{"parameters turned off", `{"parameters":{"sequence_id":0,"sequence_start":false,"sequence_end": false },"inputs":[],
			"outputs":[{"name":"y","parameters":{"classification":0,"shared_memory_region":""}}]}`,
			Request{Outputs: []RequestedOutput{{Name: "y"}}}},
		{"an empty sequence", `{"parameters":{"sequence_id":""},"inputs":[]}`, Request{}},
		{"unknown", `{"model_name":"m","inputs":[{` + plain + `,"content_type":"np","parameters":{"content_type":"np"}}],
			"parameters":{"triton_x":{"a":[1,{}]},"headers":[[]]},"more":[true,false,null,-1.5e3,"\u0041"]}`,
			Request{Inputs: inputs}},
		{"outputs", `{"outputs":[{"name":"a"},{"name":"b","parameters":{"binary_data":true}},{"name":"c",` +
			`"parameters":{}}],"inputs":[]}`,
			Request{Outputs: []RequestedOutput{{"a", false}, {"b", true}, {"c", false}}}},
		{"outputs, binary by default", `{"outputs":[{"name":"a"},{"name":"b","parameters":{"binary_data":false}},` +
			`{"name":"c","parameters":
			{"binary_data":true}}],"parameters":{"binary_data_output":true},"inputs":[]}`,
			Request{Binary: true, Outputs: []RequestedOutput{{"a", true}, {"b", false}, {"c", true}}}},
		{"no outputs", `{"outputs":[],"inputs":[]}`, Request{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := read(t, c.body, Limits{})
			require.NoError(t, err)
			require.Equal(t, &c.want, r)
		})
	}
}

func TestReadRequest_Shapes(t *testing.T) {
	for _, c := range []struct {
		shape, data string
		want        []float32
	}{
		{"[]", "[7]", []float32{7}},
		{"[]", " 7 ", []float32{7}},
		{"[1]", "[7]", []float32{7}},
		{"[0]", "[ ]", nil},
		{"[0,3]", "[]", nil},
		{"[2,0]", "[[],[]]", nil},
		{"[2,0]", "[]", nil},
		{"[4611686018427387904,0]", "[]", nil},
		{"[2,2]", "[1,2,3,4]", []float32{1, 2, 3, 4}},
		{"[2,2]", "[[1,2],[3,4]]", []float32{1, 2, 3, 4}},
		{"[2,2]", " [ [ 1 , 2 ] , [ 3 , 4 ] ] ", []float32{1, 2, 3, 4}},
		{"[1,2,1]", "[[[1],[2]]]", []float32{1, 2}},
		{"[2,1,2]", "[[[1,2]],[[3,4]]]", []float32{1, 2, 3, 4}},
	} {
		for _, body := range []string{
			`{"inputs":[{"name":"x","shape":` + c.shape + `,"datatype":"FP32","data":` + c.data + `}]}`,
			`{"inputs":[{"data":` + c.data + `,"name":"x","datatype":"FP32","shape":` + c.shape + `}]}`,
		} {
			r, err := read(t, body, Limits{})
			require.NoError(t, err, body)
			require.Equal(t, f32(c.want...), r.Inputs[0].Data, body)
			require.Equal(t, strings.ReplaceAll(c.shape, ",", " "), fmt.Sprint(r.Inputs[0].Shape), body)
		}
	}
}

func TestReadRequest_DataErrors(t *testing.T) {
	for _, c := range []struct{ datatype, shape, data, want string }{
		{"FP32", "[2]", "[1]", "1 elements in a list, want 2 for the shape [2]"},
		{"FP32", "[2]", "[]", "0 elements in a list, want 2 for the shape [2]"},
		{"FP32", "[2]", "[1,2,3]", "more than 2 elements in a list"},
		{"FP32", "[]", "[1,2]", "more than 1 elements in a list"},
		{"FP32", "[]", "[]", "0 elements in a list, want 1"},
		{"FP32", "[0]", "[1]", "more than 0 elements in a list"},
		{"FP32", "[2,2]", "[[1,2],[3]]", "1 elements in a list, want 2"},
		{"FP32", "[2,2]", "[[1,2]   ]", "1 lists in dimension 0, but the shape is [2 2]"},
		{"FP32", "[2,2]", "[[1,2],[3,4],[5,6]]", "more than 2 lists in dimension 0"},
		{"FP32", "[2,2]", "[[1,2,3],[4]]", "more than 2 elements in a list"},
		{"FP32", "[2,2]", "[[1,2],3,4]", "want a list, as the shape [2 2] is nested"},
		{"FP32", "[2,2]", "[[1,2][3,4]]", "want a comma or ]"},
		{"FP32", "[2,2]", "[1,[2],3,4]", "lists are nested deeper than the shape"},
		{"FP32", "[2]", "[[1,2]]", "lists are nested deeper than the shape [2]"},
		{"FP32", "[2]", "[1 2]", `want a comma or ], not "2"`},
		{"FP32", "[2]", "[1,]  ", `want a number, not "]"`},
		{"FP32", "[2]", "[,1]  ", `want a number, not ",1"`},
		{"FP32", "[1]", "3", `want a list of elements, not "3"`},
		{"FP32", "[1]", "{}", "want a list of elements"},
		{"FP32", "[1]", `["1"]`, "want a number, because the datatype is FP32, not text"},
		{"FP32", "[1]", "[null]", `want a number, not "null"`},
		{"FP32", "[1]", "[true]", `want a number, not "true"`},
		{"FP32", "[1]", "[NaN]", "JSON has neither NaN nor Infinity: send the input as binary data"},
		{"FP32", "[1]", "[-Infinity]", "JSON has neither NaN nor Infinity"},
		{"FP32", "[1]", "[01]", "not a number of JSON: 01"},
		{"FP32", "[1]", "[1.]", "not a number of JSON: 1."},
		{"FP32", "[1]", "[.5]", `want a number, not ".5"`},
		{"FP32", "[1]", "[+5]", `want a number, not "+5"`},
		{"FP32", "[1]", "[-]", `want a number`},
		{"FP32", "[1]", "[1e]", "not a number of JSON: 1e"},
		{"FP32", "[1]", "[0x1]", `want a comma or ], not "x1"`},
		{"FP32", "[1]", "[1_0]", `want a comma or ], not "_0"`},
		{"FP32", "[1]", "[3.5e38]", "3.5e38 is out of the range of FP32"},
		{"FP32", "[1]", "[-1e99999999999999999999]", "is out of the range of FP32"},
		{"FP32", "[1]", "[9999999999999999999e22]", "is out of the range of FP32"},
		{"FP64", "[1]", "[1.8e308]", "is out of the range of FP64"},
		{"FP16", "[1]", "[65520]", "65520 is out of the range of FP16"},
		{"BF16", "[1]", "[3.4e38]", "3.4e38 is out of the range of BF16"},
		{"BOOL", "[1]", "[2]", `want true, false, 1 or 0, not "2"`},
		{"BOOL", "[1]", "[True]", `want true, false, 1 or 0, not "True"`},
		{"BOOL", "[1]", "[10]", "want a comma or ]"},
		{"INT32", "[1]", "[1.0]", "want an integer, because the datatype is INT32, not 1.0"},
		{"INT32", "[1]", "[1e3]", "want an integer, because the datatype is INT32, not 1e3"},
		{"INT8", "[1]", "[128]", "128 is out of the range of INT8"},
		{"INT8", "[1]", "[-129]", "-129 is out of the range of INT8"},
		{"UINT8", "[1]", "[256]", "256 is out of the range of UINT8"},
		{"UINT8", "[1]", "[-1]", "-1 is out of the range of UINT8"},
		{"INT16", "[1]", "[32768]", "out of the range of INT16"},
		{"UINT16", "[1]", "[65536]", "out of the range of UINT16"},
		{"INT32", "[1]", "[2147483648]", "out of the range of INT32"},
		{"UINT32", "[1]", "[4294967296]", "out of the range of UINT32"},
		{"INT64", "[1]", "[9223372036854775808]", "out of the range of INT64"},
		{"INT64", "[1]", "[-9223372036854775809]", "out of the range of INT64"},
		{"UINT64", "[1]", "[18446744073709551616]", "out of the range of UINT64"},
		{"UINT64", "[1]", "[" + strings.Repeat("9", 100) + "]", strings.Repeat("9", 40) + "… is out of the range of UINT64"},
	} {
		for _, body := range []string{
			`{"inputs":[{"name":"x","shape":` + c.shape + `,"datatype":"` + c.datatype + `","data":` + c.data + `}]}`,
			`{"inputs":[{"data":` + c.data + `,"name":"x","shape":` + c.shape + `,"datatype":"` + c.datatype + `"}]}`,
		} {
			_, err := read(t, body, Limits{})
			requireCode(t, InvalidArgument, err, body)
			require.ErrorContains(t, err, "read the request: $.inputs[0]", body)
			if !strings.HasPrefix(body, `{"inputs":[{"data"`) { // read before it is known what it should be
				require.ErrorContains(t, err, c.want, body)
			}
		}
	}
}

func TestReadRequest_Errors(t *testing.T) {
	const x = `{"name":"x","shape":[1],"datatype":"FP32","data":[1]}`
	input := func(fields string) string { return `{"inputs":[{` + fields + `}]}` }
	for _, c := range []struct {
		name, body, want string
		code             Code
	}{
		{"nothing", ``, "the text ends early: want an object", InvalidArgument},
		{"no object", `[]`, "want an object", InvalidArgument},
		{"cut off", `{"inputs":[` + x, "want a comma or ]", InvalidArgument},
		{"trailing data", `{"inputs":[]} {}`, "more text follows the end", InvalidArgument},
		{"no inputs", `{"id":"1"}`, `the request has no field "inputs"`, InvalidArgument},
		{"null inputs", `{"inputs":null}`, "$.inputs: at byte 10 (line 1): want a list", InvalidArgument},
		{"repeated field", `{"inputs":[],"inputs":[]}`, "$.inputs: at byte 22 (line 1): the field is repeated",
			InvalidArgument},
		{"repeated field of an input", input(`"name":"x","name":"x"`), "$.inputs[0].name", InvalidArgument},
		{"repeated parameter", `{"parameters":{"priority":1,"priority":1},"inputs":[]}`, "$.parameters.priority",
			InvalidArgument},
		{"id", `{"id":7,"inputs":[]}`, "$.id: at byte 6 (line 1): want text in quotes", InvalidArgument},
		{"input", `{"inputs":[1]}`, "$.inputs[0]: at byte 11 (line 1): want an object", InvalidArgument},
		{"no name", input(`"shape":[1],"datatype":"FP32","data":[1]`), `the input has no field "name"`, InvalidArgument},
		{"empty name", input(`"name":""`), "the name is empty", InvalidArgument},
		{"no shape", input(`"name":"x","datatype":"FP32","data":[1]`), `input "x" has no field "shape"`, InvalidArgument},
		{"no datatype", input(`"name":"x","shape":[1],"data":[1]`), `input "x" has no field "datatype"`, InvalidArgument},
		{"no data", input(`"name":"x","shape":[1],"datatype":"FP32"`), `input "x" has no field "data"`, InvalidArgument},
		{"null data", input(`"name":"x","shape":[1],"datatype":"FP32","data":null`), `input "x" has no field "data"`,
			InvalidArgument},
		{"the same input twice", `{"inputs":[` + x + `,` + x + `]}`, `input "x" is there twice`, InvalidArgument},
		{"the same output twice", `{"inputs":[],"outputs":[{"name":"y"},{"name":"y"}]}`, `output "y" is there twice`,
			InvalidArgument},
		{"no output name", `{"inputs":[],"outputs":[{}]}`, `the output has no field "name"`, InvalidArgument},
		{"negative dimension", input(`"shape":[1,-1]`), "$.inputs[0].shape[1]: at byte 23 (line 1): -1 is negative",
			InvalidArgument},
		{"dimension that is no integer", input(`"shape":[1.5]`), "want an integer, not 1.5", InvalidArgument},
		{"dimension that is text", input(`"shape":["1"]`), "want an integer, not", InvalidArgument},
		{"dimension that is a sign", input(`"shape":[-@]`), `want an integer, not "-@"`, InvalidArgument},
		{"large dimension", input(`"shape":[9223372036854775808]`), "more than 63 bits", InvalidArgument},
		{"no shape but a number", input(`"shape":1`), "want a list", InvalidArgument},
		{"datatype", input(`"datatype":"FP99"`), `datatype "FP99" is unknown`, InvalidArgument},
		{"BYTES", input(`"datatype":"BYTES"`), "$.inputs[0].datatype: at byte 30 (line 1): datatype BYTES: tensors of " +
			"strings", Unimplemented},
		{"overflow", input(`"name":"x","shape":[4294967296,4294967296],"datatype":"FP32","data":[]`), "exceeds 64 bits",
			TooLarge},
		{"overflow of bytes", input(`"name":"x","shape":[4611686018427387904],"datatype":"FP64","data":[]`),
			"exceeds 64 bits", TooLarge},
		{"large tensor", input(`"name":"x","shape":[1000,1000,1000],"datatype":"FP32","data":[]`),
			`input "x" of shape [1000 1000 1000] has 4000000000 bytes, the server accepts 67108864`, TooLarge},
		{"more elements than text", input(`"name":"x","shape":[1000000],"datatype":"FP32","data":[1]`),
			`has 1000000 elements, but only`, InvalidArgument},
		{"raw without a header", input(`"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}`),
			"send the header Inference-Header-Content-Length", InvalidArgument},
		{"raw and data", input(`"name":"x","shape":[1],"datatype":"FP32","data":[1],"parameters":{"binary_data_size":4}`),
			`has both "data" and the parameter "binary_data_size"`, InvalidArgument},
		{"binary_data_size", input(`"parameters":{"binary_data_size":"4"}`), "want an integer", InvalidArgument},
		{"binary_data", `{"inputs":[],"outputs":[{"name":"y","parameters":{"binary_data":1}}]}`,
			`want true or false, not "1"`, InvalidArgument},
		{"priority", `{"parameters":{"priority":-1},"inputs":[]}`, "-1 is negative", InvalidArgument},
		{"timeout", `{"parameters":{"timeout":0.5},"inputs":[]}`, "want an integer, not 0.5", InvalidArgument},
		{"parameters", `{"parameters":[],"inputs":[]}`, "$.parameters: at byte 14 (line 1): want an object", InvalidArgument},
		{"sequence", `{"parameters":{"sequence_id":12},"inputs":[]}`, "sequences of requests are not supported: send",
			Unimplemented},
		{"sequence of text", `{"parameters":{"sequence_id":"a"},"inputs":[]}`, "sequences of requests", Unimplemented},
		{"start of a sequence", `{"parameters":{"sequence_start":true},"inputs":[]}`, "sequences of requests", Unimplemented},
		{"classification", `{"inputs":[],"outputs":[{"name":"y","parameters":{"classification":3}}]}`,
			"classification is not supported", Unimplemented},
		{"shared memory", input(`"name":"x","parameters":{"shared_memory_region":"r"}`), "shared memory is not supported",
			Unimplemented},
		{"shared memory for an output", `{"inputs":[],"outputs":[{"name":"y","parameters":{"shared_memory_region":"r"}}]}`,
			"shared memory is not supported", Unimplemented},
		{"UTF-8", `{"inputs":[],"id":"` + "\xff" + `"}`, "at byte 19 (line 1): the text is not valid UTF-8", InvalidArgument},
		{"byte order mark", "\ufeff{}", "byte order mark", InvalidArgument},
		{"half a surrogate pair", `{"inputs":[],"id":"\ud800"}`, "half of a surrogate pair", InvalidArgument},
		{"control character", `{"inputs":[],"id":"` + "\n" + `"}`, "a control character in text", InvalidArgument},
		{"deep", `{"x":` + strings.Repeat("[", 1e6), "more than 32 levels", InvalidArgument},
		{"deep parameter", `{"parameters":{"x":` + strings.Repeat(`{"a":`, 1e6), "more than 32 levels", InvalidArgument},
		{"deep data", input(`"name":"x","shape":[1],"datatype":"FP32","data":` + strings.Repeat("[", 1e6)),
			"nested deeper than the shape", InvalidArgument},
		{"deep data first", input(`"data":` + strings.Repeat("[", 1e6) + strings.Repeat("]", 1e6) +
			`,"name":"x","shape":[1],"datatype":"FP32"`), "nested deeper than the shape", InvalidArgument},
		{"unknown fields are JSON", `{"inputs":[],"x":[1,,2]}`, "want a value", InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(t, c.body, Limits{})
			requireCode(t, c.code, err, c.body[:min(len(c.body), 200)])
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "read the request: ")
			require.Less(t, len(err.Error()), 400)
		})
	}
}

// TestReadRequest_CutOff reads every beginning of a body.
func TestReadRequest_CutOff(t *testing.T) {
	const json = `{"id":"a","inputs":[{"name":"x","shape":[2,1],"datatype":"FP32","data":[[1.5],[-2e1]]},{"name":"y",` +
		`"shape":[2],` +
		`"datatype":"INT16","parameters":{"binary_data_size":4}}],"outputs":[{"name":"z","parameters":{"binary_data":true}}]}`
	body := json + "\x01\x00\x02\x00"
	must.Get(readRaw(t, json, body[len(json):], Limits{}))(t)
	for n := range len(body) {
		_, err := ReadRequest(strings.NewReader(body[:n]), -1, int64(len(json)), Limits{}, nil)
		requireCode(t, InvalidArgument, err, body[:n])
		require.ErrorContains(t, err, "the body ends after")
		_, err = ReadRequest(strings.NewReader(body[:n]), int64(len(body)), int64(len(json)), Limits{}, nil)
		requireCode(t, InvalidArgument, err, body[:n])
		if n < len(json) {
			_, err = ReadRequest(strings.NewReader(body[:n]), int64(n), int64(n), Limits{}, nil)
			requireCode(t, InvalidArgument, err, body[:n])
			_, err = ReadRequest(strings.NewReader(body[:n]), int64(n), -1, Limits{}, nil)
			requireCode(t, InvalidArgument, err, body[:n])
		}
	}
}

// TestReadRequest_Copies checks that a request shares no memory with the next one.
func TestReadRequest_Copies(t *testing.T) {
	const body = `{"id":"AAAA","inputs":[{"name":"AAAA","shape":[],"datatype":"INT8","data":1}],` +
		`"outputs":[{"name":"AAAA"}]}`
	first := must.Get(read(t, body, Limits{}))(t)
	must.Get(read(t, strings.ReplaceAll(body, "A", "B"), Limits{}))(t)
	require.Equal(t, []string{"AAAA", "AAAA", "AAAA"}, []string{first.ID, first.Inputs[0].Name, first.Outputs[0].Name})
	_, err := read(t, strings.Replace(body, "INT8", "AAAA", 1), Limits{})
	text := err.Error()
	must.Get(read(t, strings.ReplaceAll(body, "A", "B"), Limits{}))(t)
	require.Contains(t, text, `datatype "AAAA" is unknown`)
	require.EqualError(t, err, text)
}
