package inference

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/serve/oip"
)

// readRequest reads a message.
func readRequest(t *testing.T, f *fake, b []byte, limits oip.Limits) *request {
	r := &request{backend: f, limits: limits.WithDefaults()}
	require.NoError(t, proto.Unmarshal(b, r))
	return r
}

func TestRequest_Errors(t *testing.T) {
	type (
		message = ModelInferRequest
		input   = ModelInferRequest_InferInputTensor
		output  = ModelInferRequest_InferRequestedOutputTensor
		values  = InferTensorContents
		params  = map[string]*InferParameter
	)
	of := func(m *input, raw ...[]byte) *message {
		m.Name = "x"
		return &message{ModelName: "m", Inputs: []*input{m}, RawInputContents: raw}
	}
	with := func(p params) *message { return &message{ModelName: "m", Parameters: p} }
	intParam := func(v int64) *InferParameter {
		return &InferParameter{ParameterChoice: &InferParameter_Int64Param{Int64Param: v}}
	}
	double := &InferParameter{ParameterChoice: &InferParameter_DoubleParam{DoubleParam: 1}}
	text := func(v string) *InferParameter {
		return &InferParameter{ParameterChoice: &InferParameter_StringParam{StringParam: v}}
	}
	limits := oip.Limits{Inputs: 2, Dims: 3, TensorBytes: 100}
	for _, test := range []struct {
		name    string
		message *message
		code    oip.Code
		want    string
	}{
		{"no model", &message{}, oip.InvalidArgument, "read the request: model_name is empty: name a model"},
		{"no name", &message{ModelName: "m", Inputs: []*input{{Datatype: "FP32"}}}, oip.InvalidArgument,
			"input 0 has no name"},
		{"twice", &message{ModelName: "m", Inputs: []*input{{Name: "x", Datatype: "FP32"}, {Name: "x"}}},
			oip.InvalidArgument, `input "x" is there twice`},
		{"datatype", of(&input{Datatype: "FP31"}), oip.InvalidArgument, `read the request: input "x": datatype "FP31" is ` +
			"unknown: do you mean FP32?"},
		{"strings", of(&input{Datatype: "BYTES"}), oip.Unimplemented, `input "x": datatype BYTES`},
		{"negative", of(&input{Datatype: "FP32", Shape: []int64{2, -1}}), oip.InvalidArgument,
			`read the request: input "x": shape [2 -1] has a negative dimension`},
		{"overflow", of(&input{Datatype: "FP32", Shape: []int64{math.MaxInt64, 3}}), oip.TooLarge, "exceeds 64 bits"},
		{"too large", of(&input{Datatype: "FP32", Shape: []int64{26}}), oip.TooLarge,
			`input "x" of shape [26] has 104 bytes, the server accepts 100`},
		{"dimensions", of(&input{Datatype: "FP32", Shape: make([]int64, 4)}), oip.TooLarge,
			"more than 3 dimensions of an input, the server's limit"},
		{"inputs", &message{ModelName: "m", Inputs: []*input{{Name: "x", Datatype: "INT8"}, {Name: "y", Datatype: "INT8"},
			{}}}, oip.TooLarge, "more than 2 inputs"},
		{"raw inputs", &message{ModelName: "m", RawInputContents: make([][]byte, 3)}, oip.TooLarge,
			"more than 2 raw_input_contents"},
		{"outputs", &message{ModelName: "m", Outputs: []*output{{Name: "x"}, {Name: "y"}, {}}}, oip.TooLarge,
			"more than 2 outputs"},
		{"output without name", &message{ModelName: "m", Outputs: []*output{{}}}, oip.InvalidArgument,
			"output 0 has no name"},
		{"output twice", &message{ModelName: "m", Outputs: []*output{{Name: "x"}, {Name: "x"}}}, oip.InvalidArgument,
			`output "x" is there twice`},
		{"few", of(&input{Datatype: "FP32", Shape: []int64{3}, Contents: &values{Fp32Contents: []float32{1, 2}}}),
			oip.InvalidArgument, `input "x": shape [3] has 3 elements, but fp32_contents has 2`},
		{"none", of(&input{Datatype: "INT8", Shape: []int64{3}}), oip.InvalidArgument, "int_contents has 0"},
		{"scalar without element", of(&input{Datatype: "INT8"}), oip.InvalidArgument, "shape [] has 1 elements"},
		{"another list", of(&input{Datatype: "INT64", Shape: []int64{1}, Contents: &values{IntContents: []int32{1}}}),
			oip.InvalidArgument, `input "x": int_contents has elements, but those of INT64 are sent in int64_contents`},
		{"two lists", of(&input{Datatype: "FP32", Shape: []int64{1}, Contents: &values{Fp32Contents: []float32{1},
			BytesContents: [][]byte{nil}}}), oip.InvalidArgument, "bytes_contents has elements"},
		{"half in a list", of(&input{Datatype: "FP16", Shape: []int64{1}, Contents: &values{Fp32Contents: []float32{1}}}),
			oip.InvalidArgument, "fp32_contents has elements, but those of FP16 are only sent raw"},
		{"raw and contents", of(&input{Datatype: "INT8", Shape: []int64{1}, Contents: &values{IntContents: []int32{1}}},
			[]byte{1}), oip.InvalidArgument, "int_contents has elements, and there are raw_input_contents: leave one out"},
		{"raw for too many", of(&input{Datatype: "INT8", Shape: []int64{1}}, []byte{1}, []byte{1}), oip.InvalidArgument,
			"there are 2 raw_input_contents for 1 inputs"},
		{"few raw", of(&input{Datatype: "INT32", Shape: []int64{2}}, make([]byte, 7)), oip.InvalidArgument,
			`input "x": INT32 of shape [2] has 8 bytes, but its raw_input_contents have 7`},
		{"raw boolean", of(&input{Datatype: "BOOL", Shape: []int64{3}}, []byte{1, 0, 2}), oip.InvalidArgument,
			`input "x": byte 2 is 2, but BOOL is 0 or 1`},
		{"range of INT8", of(&input{Datatype: "INT8", Shape: []int64{2}, Contents: &values{IntContents: []int32{1, 128}}}),
			oip.InvalidArgument, `read the request: input "x": element 1 is 128, but INT8 is -128 to 127`},
		{"range of INT16", of(&input{Datatype: "INT16", Shape: []int64{1}, Contents: &values{IntContents: []int32{-32769}}}),
			oip.InvalidArgument, "INT16 is -32768 to 32767"},
		{"range of UINT8", of(&input{Datatype: "UINT8", Shape: []int64{1}, Contents: &values{UintContents: []uint32{256}}}),
			oip.InvalidArgument, "UINT8 is 0 to 255"},
		{"range of UINT16", of(&input{Datatype: "UINT16", Shape: []int64{1},
			Contents: &values{UintContents: []uint32{math.MaxUint32}}}), oip.InvalidArgument,
			"element 0 is 4294967295, but UINT16 is 0 to 65535"},
		{"priority", with(params{"priority": intParam(-1)}), oip.InvalidArgument,
			"parameter priority is -1: want 0 or more"},
		{"timeout", with(params{"timeout": double}), oip.InvalidArgument, "parameter timeout is no integer"},
		{"sequence", with(params{"sequence_id": intParam(7)}), oip.Unimplemented, "parameter sequence_id: sequences of " +
			"requests are not supported"},
		{"sequence of text", with(params{"sequence_id": text("a")}), oip.Unimplemented, "sequences"},
		{"start of a sequence", with(params{"sequence_start": boolParameter(true)}), oip.Unimplemented, "sequence_start"},
		{"end of a sequence", with(params{"sequence_end": double}), oip.Unimplemented, "sequence_end"},
		{"shared input", of(&input{Datatype: "INT8", Parameters: params{"shared_memory_region": text("r")}}),
			oip.Unimplemented, `input "x": shared memory is not supported: send the elements in the message`},
		{"shared output", &message{ModelName: "m", Outputs: []*output{{Name: "y", Parameters: params{
			"shared_memory_region": text("r")}}}}, oip.Unimplemented, `output "y": shared memory is not supported: receive`},
		{"classes", &message{ModelName: "m", Outputs: []*output{{Name: "y", Parameters: params{
			"classification": intParam(3)}}}}, oip.Unimplemented, `output "y": classification is not supported`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			r := readRequest(t, f, must.Get(proto.Marshal(test.message))(t), limits)
			require.NotNil(t, r.err)
			require.ErrorContains(t, r.err, test.want)
			require.Equal(t, test.code, r.err.Code)
			require.True(t, strings.HasPrefix(r.err.Message, "read the request: "))
			r.release()
			require.Empty(t, f.owned)
		})
	}
}

// TestRequest_NothingIsAllocatedEarly checks that no input has memory before all of them are right.
func TestRequest_NothingIsAllocatedEarly(t *testing.T) {
	f := &fake{alloc: func(*oip.Tensor) error { t.Error("memory is made"); return nil }}
	m := testRequest("")
	m.Inputs = append(m.Inputs, &ModelInferRequest_InferInputTensor{Name: "y", Datatype: "FP32", Shape: []int64{1}})
	r := readRequest(t, f, must.Get(proto.Marshal(m))(t), oip.Limits{})
	require.ErrorContains(t, r.err, `input "y": shape [1] has 1 elements, but fp32_contents has 0`)
}

func TestRequest_AllocFails(t *testing.T) {
	for _, test := range []struct {
		err  error
		want oip.Error
	}{
		{&oip.Error{Code: oip.Unavailable, Message: "no memory", RetryAfter: time.Second},
			oip.Error{Code: oip.Unavailable, Message: "no memory", RetryAfter: time.Second}},
		{errors.New("why"), oip.Error{Code: oip.Internal, Message: `read the request: memory for input "y": why`}},
	} {
		f := &fake{}
		f.alloc = func(t *oip.Tensor) error {
			if t.Name == "y" {
				return test.err
			}
			return nil
		}
		m := testRequest("")
		m.Inputs = append(m.Inputs, proto.CloneOf(m.Inputs[0]))
		m.Inputs[1].Name = "y"
		r := readRequest(t, f, must.Get(proto.Marshal(m))(t), oip.Limits{})
		require.Equal(t, test.want.Message, r.err.Message)
		require.Equal(t, test.want.Code, r.err.Code)
		require.Equal(t, test.want.RetryAfter, r.err.RetryAfter)
		require.Len(t, f.owned, 1)
		r.release()
		require.Empty(t, f.owned)
	}
}

// TestRequest_Memory reads messages whose parts are many and small.
func TestRequest_Memory(t *testing.T) {
	const count = 1 << 20
	for _, number := range []protowire.Number{requestParameters, requestInputs, requestOutputs, requestRaw} {
		var b []byte
		for range count {
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), nil)
		}
		r := &request{backend: &fake{}, limits: oip.Limits{}.WithDefaults()}
		n := testing.AllocsPerRun(1, func() {
			*r = request{backend: r.backend, limits: r.limits}
			require.NoError(t, proto.Unmarshal(b, r))
		})
		require.NotNil(t, r.err)
		require.Less(t, n, 100.0, "allocations for field %d", number)
	}
	var shape []byte
	shape = protowire.AppendBytes(protowire.AppendTag(shape, inputShape, protowire.BytesType), make([]byte, count))
	b := protowire.AppendBytes(protowire.AppendTag(nil, requestInputs, protowire.BytesType), shape)
	r := readRequest(t, &fake{}, b, oip.Limits{})
	require.ErrorContains(t, r.err, "more than 32 dimensions")
}

// allocated returns the bytes of memory that a function allocates.
func allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestMessages_OneCopy checks that elements are copied once in each direction: to the memory that Alloc makes, and to
// the buffer of the message.
func TestMessages_OneCopy(t *testing.T) {
	const size, small = 8 << 20, 1 << 20
	raw := &ModelInferRequest{ModelName: "echo", Inputs: []*ModelInferRequest_InferInputTensor{{Name: "x",
		Datatype: "FP32", Shape: []int64{size / 4}}}, RawInputContents: [][]byte{make([]byte, size)}}
	list := &ModelInferRequest{ModelName: "echo", Inputs: []*ModelInferRequest_InferInputTensor{{Name: "x",
		Datatype: "INT32", Shape: []int64{size / 4}, Contents: &InferTensorContents{IntContents: make([]int32, size/4)}}}}
	for _, m := range []*ModelInferRequest{raw, list} {
		b := must.Get(proto.Marshal(m))(t)
		r := &request{backend: &fake{}, limits: oip.Limits{}.WithDefaults()}
		var err error
		require.Less(t, allocated(func() { err = proto.Unmarshal(b, r) }), int64(size+small))
		require.NoError(t, err)
		require.Nil(t, r.err)

		buffer := make([]byte, 0, size+small)
		answer := must.Get(newResponse(&oip.Response{Outputs: r.Inputs}, true))(t)
		require.Less(t, allocated(func() { _, err = proto.MarshalOptions{}.MarshalAppend(buffer, answer) }), int64(small))
		require.NoError(t, err)
	}
}

// slow is what a request is according to the generated messages; false if it is an error.
func slow(m *ModelInferRequest, limits oip.Limits) (oip.Request, bool) {
	r := oip.Request{Model: m.ModelName, Version: m.ModelVersion, ID: m.Id}
	if m.ModelName == "" || max(len(m.Inputs), len(m.Outputs), len(m.RawInputContents)) > limits.Inputs {
		return r, false
	}
	if len(m.RawInputContents) > 0 && len(m.RawInputContents) != len(m.Inputs) {
		return r, false
	}
	natural := func(name string) (n uint64, ok bool) {
		switch v := m.Parameters[name].GetParameterChoice().(type) {
		case *InferParameter_Int64Param:
			return uint64(v.Int64Param), v.Int64Param >= 0
		case *InferParameter_Uint64Param:
			return v.Uint64Param, true
		case nil:
			return 0, true
		}
		return 0, false
	}
	priority, ok := natural("priority")
	timeout, also := natural("timeout")
	if !ok || !also || on(m.Parameters, "sequence_id", "sequence_start", "sequence_end") {
		return r, false
	}
	r.Priority, r.Timeout = priority, time.Duration(min(timeout, math.MaxInt64/1000))*time.Microsecond
	names := map[string]bool{}
	for i, in := range m.Inputs {
		dtype, err := oip.ParseDatatype(in.Datatype)
		t := oip.Tensor{Name: in.Name, DType: dtype, Shape: in.Shape}
		_, bytes, bad := t.Measure(limits)
		if err != nil || bad != nil || len(in.Shape) > limits.Dims || names[in.Name] || in.Name == "" ||
			on(in.Parameters, "shared_memory_region") {
			return r, false
		}
		names[in.Name] = true
		if len(m.RawInputContents) > 0 {
			t.Data = m.RawInputContents[i]
			if !proto.Equal(&InferTensorContents{}, withoutUnknown(in.Contents)) || t.CheckRaw() != nil {
				return r, false
			}
		} else if t.Data, ok = typed(withoutUnknown(in.Contents), dtype); !ok {
			return r, false
		}
		if int64(len(t.Data)) != bytes {
			return r, false
		}
		r.Inputs = append(r.Inputs, t)
	}
	for i, o := range m.Outputs {
		for _, other := range m.Outputs[:i] {
			ok = ok && other.Name != o.Name
		}
		if !ok || o.Name == "" || on(o.Parameters, "classification", "shared_memory_region") {
			return r, false
		}
		r.Outputs = append(r.Outputs, oip.RequestedOutput{Name: o.Name, Binary: true})
	}
	return r, true
}

// on reports whether one of these parameters is set to something else than zero.
func on(p map[string]*InferParameter, names ...string) bool {
	for _, name := range names {
		v := p[name]
		if v.GetBoolParam() || v.GetInt64Param() != 0 || v.GetUint64Param() != 0 || v.GetDoubleParam() != 0 ||
			v.GetStringParam() != "" {
			return true
		}
	}
	return false
}

func withoutUnknown(c *InferTensorContents) *InferTensorContents {
	if c == nil {
		return &InferTensorContents{}
	}
	c.ProtoReflect().SetUnknown(nil)
	return c
}

// typed returns the elements of contents in memory; false if another list has elements, or one is out of range.
func typed(c *InferTensorContents, dtype dlpack.DataType) ([]byte, bool) {
	var b []byte
	ok := true
	little := func(v uint64) {
		for range dtype.Bits / 8 {
			b = append(b, byte(v))
			v >>= 8
		}
	}
	rest := proto.CloneOf(c)
	switch {
	case dtype == dlpack.Bool:
		for _, v := range c.BoolContents {
			little(protowire.EncodeBool(v))
		}
		rest.BoolContents = nil
	case dtype == dlpack.Float32:
		for _, v := range c.Fp32Contents {
			little(uint64(math.Float32bits(v)))
		}
		rest.Fp32Contents = nil
	case dtype == dlpack.Float64:
		for _, v := range c.Fp64Contents {
			little(math.Float64bits(v))
		}
		rest.Fp64Contents = nil
	case dtype == dlpack.Int64:
		for _, v := range c.Int64Contents {
			little(uint64(v))
		}
		rest.Int64Contents = nil
	case dtype == dlpack.UInt64:
		for _, v := range c.Uint64Contents {
			little(v)
		}
		rest.Uint64Contents = nil
	case dtype.Code == dlpack.CodeInt:
		for _, v := range c.IntContents {
			ok = ok && float64(v) >= -math.Ldexp(1, int(dtype.Bits)-1) && float64(v) < math.Ldexp(1, int(dtype.Bits)-1)
			little(uint64(v))
		}
		rest.IntContents = nil
	case dtype.Code == dlpack.CodeUInt:
		for _, v := range c.UintContents {
			ok = ok && float64(v) < math.Ldexp(1, int(dtype.Bits))
			little(uint64(v))
		}
		rest.UintContents = nil
	}
	return b, ok && proto.Equal(rest, &InferTensorContents{})
}

// unpacked is a message as no usual writer makes it: elements of lists one by one, contents in two parts, a parameter
// twice, and fields that are not known, or of the wrong type.
func unpacked() []byte {
	field := func(b []byte, number protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
	}
	varint := func(b []byte, number protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
	}
	in := field(nil, inputContents, varint(varint(nil, intContents.number, 5), 99, 1))
	in = field(in, inputContents, field(varint(nil, intContents.number, 6), intContents.number, []byte{7, 8}))
	in = field(field(in, inputDatatype, []byte("INT16")), inputName, []byte("x"))
	in = varint(varint(in, inputShape, 2), inputShape, 2)
	in = varint(in, inputName, 3)
	b := field(field(nil, requestInputs, in), requestModel, []byte("m"))
	for v := range uint64(3) {
		p := varint(varint(nil, choiceBool, 1), choiceUint64, v)
		b = field(b, requestParameters, field(field(nil, entryKey, []byte("priority")), entryValue, p))
	}
	group := protowire.AppendTag(protowire.AppendTag(b, 77, protowire.StartGroupType), 77, protowire.EndGroupType)
	return protowire.AppendFixed32(protowire.AppendTag(group, requestRaw, protowire.Fixed32Type), 1)
}

func TestRequest_Unpacked(t *testing.T) {
	r := readRequest(t, &fake{}, unpacked(), oip.Limits{})
	require.Nil(t, r.err)
	require.EqualValues(t, 2, r.Priority)
	require.Equal(t, []int64{2, 2}, r.Inputs[0].Shape)
	require.Equal(t, raw(t, []int16{5, 6, 7, 8}), r.Inputs[0].Data)
}

func TestRequest_Malformed(t *testing.T) {
	in := func(contents ...byte) []byte {
		b := append([]byte{1<<3 | 2, 1, 'x', 2<<3 | 2, 4, 'F', 'P', '3', '2', 5<<3 | 2, byte(len(contents))}, contents...)
		return append([]byte{1<<3 | 2, 1, 'm', 5<<3 | 2, byte(len(b))}, b...)
	}
	for name, test := range map[string]struct {
		message []byte
		want    string
	}{
		"tag":           {[]byte{0x80}, "unexpected EOF"},
		"field 0":       {[]byte{2, 0}, "invalid field number"},
		"large field":   {[]byte{0xfa, 0xfa, 0xfa, 0xfa, 0x2a, 0}, "it has a field with the number 1"},
		"length":        {[]byte{1<<3 | 2, 5, 'm'}, "unexpected EOF"},
		"end of group":  {[]byte{1<<3 | 4}, "mismatching end group marker"},
		"text":          {[]byte{1<<3 | 2, 1, 0xff}, "a text is not UTF-8"},
		"parameter":     {[]byte{4<<3 | 2, 3, 1<<3 | 2, 1, 0xff}, "a text is not UTF-8"},
		"packed floats": {in(6<<3|2, 5, 0, 0, 0, 0, 0), `input "x": the message is malformed: fp32_contents has 5 bytes`},
		"packed int":    {in(2<<3|2, 1, 0x80), `input "x": the message is malformed: unexpected EOF`},
	} {
		t.Run(name, func(t *testing.T) {
			r := readRequest(t, &fake{}, test.message, oip.Limits{})
			require.NotNil(t, r.err)
			require.Equal(t, oip.InvalidArgument, r.err.Code)
			require.Contains(t, r.err.Message, "read the request: ")
			require.Contains(t, r.err.Message, test.want)
			require.Error(t, proto.Unmarshal(test.message, &ModelInferRequest{}), "as the generated reader")
		})
	}
}

// FuzzRequest compares the reader of requests with the generated one.
func FuzzRequest(f *testing.F) {
	add := func(m *ModelInferRequest) {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	for _, c := range dtypeCases {
		add(&ModelInferRequest{ModelName: "m", Id: "i", Inputs: []*ModelInferRequest_InferInputTensor{{Name: "x",
			Datatype: c.datatype, Shape: []int64{4}, Contents: c.contents}}})
		add(&ModelInferRequest{ModelName: "m", Inputs: []*ModelInferRequest_InferInputTensor{{Name: "x",
			Datatype: c.datatype, Shape: []int64{1, 2}}}, RawInputContents: [][]byte{make([]byte, 2*c.dtype.Bits/8)}})
	}
	for _, name := range parameterNames {
		p := map[string]*InferParameter{name: {ParameterChoice: &InferParameter_Int64Param{Int64Param: 5}}}
		add(&ModelInferRequest{ModelName: "m", Parameters: p, Outputs: []*ModelInferRequest_InferRequestedOutputTensor{{
			Name: "y", Parameters: p}}})
	}
	f.Add(unpacked())
	limits := oip.Limits{Inputs: 3, Dims: 4, TensorBytes: 1 << 12}.WithDefaults()
	f.Fuzz(func(t *testing.T, b []byte) {
		server := &fake{}
		r := readRequest(t, server, b, limits)
		var m ModelInferRequest
		err := proto.Unmarshal(b, &m)
		if err != nil {
			require.NotNil(t, r.err, "%v", err)
		} else if want, ok := slow(&m, limits); !ok {
			require.NotNil(t, r.err)
		} else {
			require.Nil(t, r.err)
			for i := range want.Inputs {
				require.Equal(t, string(want.Inputs[i].Data), string(r.Inputs[i].Data))
				want.Inputs[i].Data, want.Inputs[i].Owner = r.Inputs[i].Data, r.Inputs[i].Owner
			}
			require.Equal(t, want, r.Request)
		}
		r.release()
		require.Empty(t, server.owned)
	})
}
