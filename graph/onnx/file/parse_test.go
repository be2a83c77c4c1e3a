package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// sample is a model with every part of the format that the package reads.
func sample() *Model {
	body := &Graph{Name: "then", Nodes: []*Node{{OpType: "Identity", Inputs: []string{"x"}, Outputs: []string{"y"}}},
		Outputs: []*ValueInfo{{Name: "y"}}}
	sparse := &SparseTensor{Values: &Tensor{Name: "s", DataType: Float, Dims: []int64{1}, FloatData: []float32{2}},
		Indices: &Tensor{DataType: Int64, Dims: []int64{1}, Int64Data: []int64{3}}, Dims: []int64{2, 2}}
	tensor := &Tensor{Name: "t", DataType: String, Dims: []int64{2}, StringData: []string{"", "\xff"}}
	attributes := []*Attribute{
		{Name: "f", Type: AttrFloat, Float: 1.5}, {Name: "zero", Type: AttrFloat}, {Name: "i", Type: AttrInt, Int: -1},
		{Name: "s", Type: AttrString, String: "text\x00"}, {Name: "t", Type: AttrTensor, Tensor: tensor},
		{Name: "g", Type: AttrGraph, Graph: body}, {Name: "fs", Type: AttrFloats, Floats: []float32{1, 2}},
		{Name: "is", Type: AttrInts, Ints: []int64{-1, 1 << 40}}, {Name: "none", Type: AttrInts},
		{Name: "ss", Type: AttrStrings, Strings: []string{"a", ""}},
		{Name: "ts", Type: AttrTensors, Tensors: []*Tensor{tensor}},
		{Name: "gs", Type: AttrGraphs, Graphs: []*Graph{body, body}},
		{Name: "st", Type: AttrSparseTensor, SparseTensor: sparse},
		{Name: "sts", Type: AttrSparseTensors, SparseTensors: []*SparseTensor{sparse}},
		{Name: "tp", Type: AttrType, TypeProto: TensorType(Int4)},
		{Name: "tps", Type: AttrTypes, TypeProtos: []*Type{TensorType(Bool, Size(0))}},
		{Name: "ref", Type: AttrInt, Ref: "outer"},
	}
	return &Model{IRVersion: 10, ProducerName: "test", ProducerVersion: "1", Domain: "d", ModelVersion: 3, Doc: "doc",
		OpsetImports: []Opset{{"", 21}, {"my", 1}}, Metadata: []Entry{{"key", "value"}},
		Functions: []*Function{{Name: "fn", Domain: "my", Overload: "o", Doc: "fdoc", Inputs: []string{"a"},
			Outputs: []string{"b"}, AttributeNames: []string{"n"}, Attributes: []*Attribute{{Name: "d", Type: AttrInt, Int: 2}},
			Nodes: []*Node{{OpType: "Relu", Inputs: []string{"a"}, Outputs: []string{"b"}}}, OpsetImports: []Opset{{"", 20}},
			ValueInfo: []*ValueInfo{{Name: "a", Type: TensorType(Float)}}}},
		Graph: &Graph{Name: "main", Doc: "gdoc",
			Nodes: []*Node{{Name: "first", OpType: "Conv", Domain: "my", Overload: "o", Inputs: []string{"x", "", "w"},
				Outputs: []string{"y", ""}, Attributes: attributes}},
			Initializers: []*Tensor{
				{Name: "w", DataType: Float, Dims: []int64{2}, RawData: []byte("12345678")},
				{Name: "e", DataType: Float, Dims: []int64{0}, RawData: []byte{}},
				{Name: "i", DataType: Int8, Dims: []int64{2}, Int32Data: []int32{-1, 300}},
				{Name: "l", DataType: Int64, Int64Data: []int64{-5}}, {Name: "d", DataType: Double, DoubleData: []float64{0.5}},
				{Name: "u", DataType: Uint64, Uint64Data: []uint64{1 << 63}},
				{Name: "seg", DataType: Float, Dims: []int64{1}, Segment: &Segment{1, 2}},
				{Name: "ext", DataType: Float, Dims: []int64{1}, External: &ExternalData{"w.bin", 8, 4, "ab"}},
				{Name: "ext2", DataType: Float, Dims: []int64{1}, External: &ExternalData{Location: "w.bin", Length: -1}},
			},
			SparseInitializers: []*SparseTensor{sparse},
			Inputs: []*ValueInfo{{Name: "x", Type: TensorType(Float, Symbol("N"), Dim{}, Size(0))},
				{Name: "scalar", Type: TensorType(Double)}, {Name: "any", Type: &Type{Kind: TensorKind, Elem: Float}},
				{Name: "untyped"}, {Name: "seq", Type: &Type{Kind: SequenceKind, Of: TensorType(Float)}},
				{Name: "opt", Type: &Type{Kind: OptionalKind, Of: &Type{Kind: SequenceKind, Of: TensorType(Float)}}},
				{Name: "map", Type: &Type{Kind: MapKind, Elem: String, Of: TensorType(Int64)}},
				{Name: "sparse", Type: &Type{Kind: SparseTensorKind, Elem: Float, Shape: Shape{Size(3)}}}},
			Outputs:   []*ValueInfo{{Name: "y", Type: TensorType(Float)}},
			ValueInfo: []*ValueInfo{{Name: "z", Type: TensorType(Float)}}}}
}

func TestParse_RoundTrip(t *testing.T) {
	m := sample()
	require.Equal(t, m, must.Get(Parse(m.Encode()))(t))
	for _, tensor := range m.Graph.Initializers {
		require.Equal(t, tensor, must.Get(ParseTensor(tensor.Encode()))(t))
	}
}

// Raw data are views whose memory is not overwritten when a caller appends to them.
func TestParse_RawDataIsAView(t *testing.T) {
	data := sample().Encode()
	m := must.Get(Parse(data))(t)
	raw := must.Get(m.Graph.Initializers[0].Bytes(nil))(t)
	before := bytes.Clone(data)
	_ = append(raw, "overwritten"...)
	require.Equal(t, before, data)
	at := bytes.Index(data, []byte("12345678"))
	data[at] = '!'
	require.Equal(t, "!2345678", string(raw))
}

// message joins fields; the helpers below encode them.
func message(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

func varint(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

func fixed32(num protowire.Number, v uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), v)
}

func length(num protowire.Number, v ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), message(v...))
}

func text(num protowire.Number, v string) []byte { return length(num, []byte(v)) }

func group(num protowire.Number, v ...[]byte) []byte {
	return protowire.AppendGroup(protowire.AppendTag(nil, num, protowire.StartGroupType), num, message(v...))
}

// attribute is a model whose only node has one attribute.
func attribute(fields ...[]byte) []byte {
	return length(7, length(1, text(4, "Op"), length(5, fields...)))
}

func TestParse_FormsOfFields(t *testing.T) {
	one := protowire.AppendVarint(protowire.AppendVarint(nil, 7), math.MaxUint64)
	for _, c := range []struct {
		name string
		data []byte
		want Attribute
	}{
		{"packed ints", attribute(text(1, "a"), length(8, one)), Attribute{Type: AttrInts, Ints: []int64{7, -1}}},
		{"unpacked ints", attribute(text(1, "a"), varint(8, 7), varint(8, math.MaxUint64)),
			Attribute{Type: AttrInts, Ints: []int64{7, -1}}},
		{"both forms", attribute(text(1, "a"), varint(8, 5), length(8, one), varint(8, 6)),
			Attribute{Type: AttrInts, Ints: []int64{5, 7, -1, 6}}},
		{"packed floats", attribute(text(1, "a"), length(7, []byte{0, 0, 128, 63, 0, 0, 0, 64})),
			Attribute{Type: AttrFloats, Floats: []float32{1, 2}}},
		{"unpacked floats", attribute(text(1, "a"), fixed32(7, 0x3f800000)),
			Attribute{Type: AttrFloats, Floats: []float32{1}}},
		{"the value before the name", attribute(varint(3, 4), text(1, "a")), Attribute{Type: AttrInt, Int: 4}},
		{"the last of two values", attribute(text(1, "a"), varint(3, 4), varint(3, 5)), Attribute{Type: AttrInt, Int: 5}},
		{"unknown fields and groups", attribute(text(1, "a"), varint(900, 4), group(901, varint(1, 1),
			group(2, text(3, "x"))), fixed32(902, 1), varint(3, 5)), Attribute{Type: AttrInt, Int: 5}},
		{"an int32 in ten bytes", attribute(text(1, "a"), varint(20, 2), varint(3, 5)), Attribute{Type: AttrInt, Int: 5}},
	} {
		m, err := Parse(c.data)
		require.NoError(t, err, c.name)
		c.want.Name = "a"
		require.Equal(t, &c.want, m.Graph.Nodes[0].Attributes[0], c.name)
	}
	// Two fields of one message are joined.
	m := must.Get(Parse(message(length(7, text(2, "a"), length(1, text(4, "A"))), length(7, length(1, text(4, "B"))))))(t)
	require.Equal(t, "a", m.Graph.Name)
	require.Len(t, m.Graph.Nodes, 2)
	// A negative dimension is unknown; the last kind of a type counts.
	dim := func(v uint64) []byte { return length(1, varint(1, v)) }
	m = must.Get(Parse(length(7, length(11, text(1, "x"), length(2, length(4), length(1, varint(1, 1),
		length(2, dim(math.MaxUint64), dim(2))))))))(t)
	require.Equal(t, TensorType(Float, Dim{}, Size(2)), m.Graph.Inputs[0].Type)
}

// nested is a model with graphs within graphs.
func nested(depth int) []byte {
	graph := []byte{}
	for range depth {
		graph = length(1, text(4, "If"), length(5, text(1, "body"), length(6, graph)))
	}
	return length(7, graph)
}

func TestParse_Corrupt(t *testing.T) {
	const damaged = `onnx: graph: node 0 (Op): attribute 0 "a": `
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"no graph", varint(1, 8), "the model has no graph"},
		{"no op_type", length(7, length(1, text(3, "n"))), `onnx: graph: node 0 "n": the node has no op_type`},
		{"no attribute name", attribute(varint(3, 4)), "attribute 0: the attribute has no name"},
		{"no value name", length(7, length(11)), "graph: input 0: the value has no name"},
		{"no function name", message(length(25), length(7)), "function 0: the function has no name"},
		{"two values", attribute(text(1, "a"), varint(3, 4), fixed32(2, 4)),
			damaged + "the attribute has both int and float"},
		{"the type differs", attribute(text(1, "a"), varint(20, 1), varint(3, 4)),
			damaged + "the attribute has int, but its type is float"},
		{"an unknown type", attribute(text(1, "a"), varint(20, 15)), damaged + "the attribute type 15 is unknown"},
		{"a negative type", attribute(text(1, "a"), varint(20, math.MaxUint64)),
			damaged + "the attribute type -1 is unknown"},
		{"a missing tensor", attribute(text(1, "a"), varint(20, 4)), damaged + "the attribute of type tensor has no value"},
		{"a reference with a value", attribute(text(1, "a"), text(21, "r"), varint(3, 1)),
			damaged + `the attribute refers to "r", but it also has int`},
		{"the wrong wire type", attribute(text(1, "a"), text(3, "x")), damaged + "i: field 3 is bytes, want a varint"},
		{"half a float", attribute(text(1, "a"), text(7, "123456")), damaged + "floats: 6 bytes are no multiple"},
		{"half a varint", attribute(text(1, "a"), text(8, "\x01\xff")), damaged + "ints: a number cannot be read"},
		{"fixed64 for ints", attribute(text(1, "a"), protowire.AppendFixed64(protowire.AppendTag(nil, 8,
			protowire.Fixed64Type), 1)), "ints: field 8 is a fixed64, want a varint or packed numbers"},
		{"graphs too deep", nested(40), "messages are nested more than 100 deep"},
		{"groups too deep", bytes.Repeat([]byte{byte(99<<3&0x7f | 3 | 0x80), byte(99 >> 4)}, 1<<20),
			"field 99 cannot be read"},
		{"an open group", varint(1, 1)[:1], "cannot be read"},
		{"the end of a group", []byte{0x0c}, "cannot be read"},
		{"field number 0", []byte{0x00, 0x01, 0x08, 0x01}, "a field cannot be read"},
		{"a length beyond the end", []byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f}, "field 7 cannot be read"},
		{"a tensor in a graph", length(7, length(5, text(8, "w"), varint(9, 1))),
			`onnx: graph: initializer 0 "w": raw_data: field 9 is a varint, want bytes`},
		{"the name after the damage", length(7, length(5, varint(9, 1), text(8, "w"))), `initializer 0 "w": raw_data`},
		{"data_location", length(7, length(5, varint(14, 2))), "data_location is 2"},
		{"no location", length(7, length(5, varint(14, 1))), "external_data: there is no location"},
		{"a negative offset", length(7, length(5, varint(14, 1), length(13, text(1, "location"), text(2, "f")),
			length(13, text(1, "offset"), text(2, "-4")))), `external_data: offset is "-4": want a number of bytes`},
	} {
		m, err := Parse(c.data)
		require.Nil(t, m, c.name)
		require.ErrorIs(t, err, blob.ErrCorrupt, c.name)
		require.ErrorContains(t, err, c.want, c.name)
		var format *FormatError
		require.True(t, errors.As(err, &format), c.name)
		require.Less(t, len(err.Error()), 1200, c.name)
	}
	require.NoError(t, must.Fail(Parse(nested(32))))
}

func TestParse_OtherFiles(t *testing.T) {
	header := binary.LittleEndian.AppendUint64(nil, 20)
	for _, c := range []struct{ data, want string }{
		{"", "an empty file"},
		{"ir_version: 8\ngraph {\n}\n", "text: give a binary ONNX model"},
		{strings.Repeat("{\"é\": 1}", 200), "text"},
		{"\x7fELF\x02\x01\x01", "a library or program (ELF)"},
		{string(header) + `{"w":{"dtype":"F32"`, "a safetensors file"},
		{"PK\x03\x04\x00\x00", "a zip archive"},
		{"\x1f\x8b\x08", "gzip data"},
		{strings.Repeat("\x00", 1000), "zeros"},
		{"\x1c\x00\x00\x00TFL3\x00", "a model of TensorFlow Lite"},
		{"\x1c\x00\x00\x00ORTM\x00", "a model in ONNX Runtime's own format"},
	} {
		_, err := Parse([]byte(c.data))
		require.ErrorIs(t, err, blob.ErrCorrupt)
		require.ErrorContains(t, err, "not an ONNX model, but "+c.want)
		_, err = ParseTensor([]byte(c.data))
		require.ErrorIs(t, err, blob.ErrCorrupt)
	}
	err := must.Fail(ParseTensor([]byte("hello")))
	require.ErrorContains(t, err, "not a tensor of ONNX, but text")
	err = must.Fail(ParseTensor((&Tensor{DataType: Float, Name: "x"}).Encode()[:4]))
	require.ErrorContains(t, err, "tensor: field 8 cannot be read")
}

func TestDataTypes(t *testing.T) {
	for n := Undefined; n.known(); n++ {
		d, err := n.DType()
		if n == Undefined || n == String {
			require.ErrorContains(t, err, n.String())
			continue
		}
		require.NoError(t, err)
		require.NoError(t, d.Check())
		require.Equal(t, n, must.Get(DataTypeOf(d))(t))
	}
	_, err := DataType(99).DType()
	require.ErrorContains(t, err, "the element type 99 is unknown: the newest that is known is 26 (int2)")
	_, err = DataTypeOf(dlpack.Handle)
	require.ErrorContains(t, err, "no element type for handle")
	require.Equal(t, Bool, must.Get(DataTypeOf(dlpack.ClassicBool))(t))
}
