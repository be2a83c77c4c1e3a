package file

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/must"
)

func TestTensor_Bytes(t *testing.T) {
	for _, c := range []struct {
		name   string
		tensor Tensor
		want   string
	}{
		{"raw", Tensor{DataType: Float16, Dims: []int64{2}, RawData: []byte("abcd")}, "abcd"},
		{"a scalar", Tensor{DataType: Uint8, RawData: []byte("a")}, "a"},
		{"no elements", Tensor{DataType: Float, Dims: []int64{3, 0}}, ""},
		{"float", Tensor{DataType: Float, Dims: []int64{1}, FloatData: []float32{1}}, "\x00\x00\x80\x3f"},
		{"double", Tensor{DataType: Double, DoubleData: []float64{-2}}, "\x00\x00\x00\x00\x00\x00\x00\xc0"},
		{"int64", Tensor{DataType: Int64, Int64Data: []int64{-2}}, "\xfe\xff\xff\xff\xff\xff\xff\xff"},
		{"int32", Tensor{DataType: Int32, Int32Data: []int32{-2}}, "\xfe\xff\xff\xff"},
		{"int16", Tensor{DataType: Int16, Int32Data: []int32{-2}}, "\xfe\xff"},
		{"uint8", Tensor{DataType: Uint8, Dims: []int64{2}, Int32Data: []int32{255, 1}}, "\xff\x01"},
		{"bool", Tensor{DataType: Bool, Dims: []int64{3}, Int32Data: []int32{0, 1, 256}}, "\x00\x01\x01"},
		{"float16", Tensor{DataType: Float16, Int32Data: []int32{0x3c00}}, "\x00\x3c"},
		{"bfloat16", Tensor{DataType: BFloat16, Int32Data: []int32{0xbf80}}, "\x80\xbf"},
		{"float8", Tensor{DataType: Float8E5M2, Dims: []int64{1}, Int32Data: []int32{0x81}}, "\x81"},
		{"int4", Tensor{DataType: Int4, Dims: []int64{3}, Int32Data: []int32{0x21, 0x0f}}, "\x21\x0f"},
		{"float4", Tensor{DataType: Float4E2M1, Dims: []int64{2}, Int32Data: []int32{0x21}}, "\x21"},
		{"uint2", Tensor{DataType: Uint2, Dims: []int64{5}, Int32Data: []int32{0xe4, 3}}, "\xe4\x03"},
		{"uint32", Tensor{DataType: Uint32, Uint64Data: []uint64{1 << 31}}, "\x00\x00\x00\x80"},
		{"uint64", Tensor{DataType: Uint64, Uint64Data: []uint64{1 << 63}}, "\x00\x00\x00\x00\x00\x00\x00\x80"},
		{"complex64", Tensor{DataType: Complex64, Dims: []int64{1}, FloatData: []float32{1, 2}},
			"\x00\x00\x80\x3f\x00\x00\x00\x40"},
		{"complex128", Tensor{DataType: Complex128, DoubleData: []float64{0, 2}},
			"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x40"},
	} {
		data, err := c.tensor.Bytes(nil)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, string(data), c.name)
		require.Len(t, data, int(must.Get(c.tensor.Size())(t)), c.name)
	}
}

func TestTensor_BytesErrors(t *testing.T) {
	const huge = int64(1) << 40
	for _, c := range []struct {
		corrupt bool
		tensor  Tensor
		want    string
	}{
		{true, Tensor{DataType: Float, Dims: []int64{2}, RawData: []byte("abcd")},
			`tensor "w": float[2] needs 8 bytes of raw_data, the file has 4`},
		{true, Tensor{DataType: Float, Dims: []int64{2}, FloatData: []float32{1}},
			"float[2] needs 2 numbers of float_data, the file has 1"},
		{true, Tensor{DataType: Float, Dims: []int64{2}}, "needs 2 numbers of float_data, the file has 0"},
		{true, Tensor{DataType: Float, Dims: []int64{2}, Int32Data: []int32{1, 2}},
			"the elements of type float are in int32_data: want float_data or raw_data"},
		{true, Tensor{DataType: Uint4, Dims: []int64{3}, Int32Data: []int32{1, 2, 3}}, "uint4[3] needs 2 numbers"},
		{true, Tensor{DataType: Complex64, FloatData: []float32{1}}, "complex64[] needs 2 numbers"},
		{true, Tensor{DataType: Float, Dims: []int64{huge}}, "the file has 0"},
		{true, Tensor{DataType: Float, Dims: []int64{huge, huge}}, "the number of elements exceeds 64 bits"},
		{true, Tensor{DataType: Double, Dims: []int64{math.MaxInt64}}, "the size exceeds 64 bits"},
		{true, Tensor{DataType: Float, Dims: []int64{2, -1}}, "dimension 1 is negative"},
		{false, Tensor{DataType: String}, `tensor "w": elements of type string are not supported`},
		{false, Tensor{}, `tensor "w": the element type is undefined`},
		{false, Tensor{DataType: 77}, `tensor "w": the element type 77 is unknown`},
		{false, Tensor{DataType: Float, Segment: &Segment{}}, "segments are not supported"},
		{false, Tensor{DataType: Float, External: &ExternalData{Location: "f"}},
			`the elements are in the file "f": open the model by its path`},
	} {
		c.tensor.Name = "w"
		data, err := c.tensor.Bytes(nil)
		require.Nil(t, data)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, c.corrupt, errors.Is(err, blob.ErrCorrupt), c.want)
	}
}

func TestTensor_Strings(t *testing.T) {
	s := Tensor{DataType: String, Dims: []int64{2}, StringData: []string{"a", "\xff"}}
	require.Equal(t, []string{"a", "\xff"}, must.Get(s.Strings())(t))
	for want, bad := range map[string]Tensor{
		"a tensor without name: the elements are of type int8, not strings": {DataType: Int8},
		"string[3] needs 3 texts of string_data": {DataType: String, Dims: []int64{3},
			StringData: []string{""}},
		"strings are in raw_data": {DataType: String, RawData: []byte{1}},
		"dimension 0 is negative": {DataType: String, Dims: []int64{-1}},
	} {
		require.ErrorContains(t, must.Fail(bad.Strings()), want)
	}
}

func ints(dims []int64, values ...int64) *Tensor {
	return &Tensor{DataType: Int64, Dims: dims, Int64Data: values}
}

func TestSparseTensor_Dense(t *testing.T) {
	bytesOf := func(dims []int64, data string) *Tensor {
		return &Tensor{Name: "s", DataType: Uint8, Dims: dims, RawData: []byte(data)}
	}
	n := func(dims ...int64) []int64 { return dims }
	for _, c := range []struct {
		name   string
		sparse SparseTensor
		want   string // data, or a part of the error
		ok     bool
	}{
		{"linear", SparseTensor{bytesOf(n(2), "ab"), ints(n(2), 1, 5), n(2, 3)}, "\x00a\x00\x00\x00b", true},
		{"by dimensions", SparseTensor{bytesOf(n(2), "ab"), ints(n(2, 2), 0, 1, 1, 2), n(2, 3)}, "\x00a\x00\x00\x00b", true},
		{"no values", SparseTensor{bytesOf(n(0), ""), ints(n(0)), n(2)}, "\x00\x00", true},
		{"4 bits", SparseTensor{&Tensor{DataType: Uint4, Dims: n(3), RawData: []byte{0x21, 0x03}},
			ints(n(3), 0, 3, 4), n(5)},
			"\x01\x20\x03", true},
		{"outside", SparseTensor{bytesOf(n(1), "a"), ints(n(1), 6), n(2, 3)}, "index 0 is outside of [2,3]", false},
		{"outside of a dimension", SparseTensor{bytesOf(n(1), "a"), ints(n(1, 2), 0, 3), n(2, 3)}, "is outside", false},
		{"negative", SparseTensor{bytesOf(n(1), "a"), ints(n(1), -1), n(2, 3)}, "index 0 is outside", false},
		{"twice", SparseTensor{bytesOf(n(2), "ab"), ints(n(2), 1, 1), n(3)}, "index 1 is outside of [3], or not", false},
		{"other indices", SparseTensor{bytesOf(n(2), "ab"), ints(n(3), 0, 1, 2), n(3)}, "want int64[2] or int64[2,1]", false},
		{"values of rank 2", SparseTensor{bytesOf(n(1, 1), "a"), ints(n(1), 0), n(3)}, "want one dimension", false},
		{"missing", SparseTensor{Values: bytesOf(n(1), "a")}, "values or indices are missing", false},
		{"huge", SparseTensor{bytesOf(n(1), "a"), ints(n(1), 0), n(1<<20, 1<<20)}, "at most 1.0 GiB are supported", false},
		{"beyond 64 bits", SparseTensor{bytesOf(n(1), "a"), ints(n(1), 0), n(1<<40, 1<<40)}, "exceeds 64 bits", false},
		{"broken values", SparseTensor{bytesOf(n(2), "a"), ints(n(2), 0, 1), n(3)}, `onnx: tensor "s": uint8[2]`, false},
	} {
		dense, err := c.sparse.Dense(nil)
		if !c.ok {
			require.ErrorContains(t, err, c.want, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, string(dense.RawData), c.name)
		require.Equal(t, c.sparse.Dims, dense.Dims, c.name)
	}
}

// stored returns a model with one initializer of four bytes in another file.
func stored(location string, offset, length int64) *Model {
	return &Model{Graph: &Graph{Initializers: []*Tensor{{Name: "w", DataType: Uint8, Dims: []int64{4},
		External: &ExternalData{Location: location, Offset: offset, Length: length}}}}}
}

func TestOpen_ExternalData(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "model")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "sub"), 0o755))
	for name, content := range map[string]string{"outside": "secret!!", "model/w": "0123456789", "model/sub/w": "abcd"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	require.NoError(t, os.Symlink("../outside", filepath.Join(folder, "escape")))
	require.NoError(t, os.Symlink("w", filepath.Join(folder, "link")))
	path := filepath.Join(folder, "m.onnx")
	for _, c := range []struct {
		location       string
		offset, length int64
		want           string // data, or a part of the error
		ok, corrupt    bool
	}{
		{"w", 3, 4, "3456", true, false},
		{"w", 6, -1, "6789", true, false},
		{"./sub/w", 0, 4, "abcd", true, false},
		{"link", 0, 4, "0123", true, false},
		{"w", 7, -1, `tensor "w": 4 bytes at offset 7 exceed the 10 bytes of "w"`, false, true},
		{"w", math.MaxInt64, 4, "exceed the 10 bytes", false, true},
		{"w", 0, 5, `uint8[4] needs 4 bytes of "w", the file has 5`, false, true},
		{"../outside", 0, 4, `the file "../outside" is not below the folder of the model`, false, true},
		{"sub/../w", 0, 4, "is not below the folder", false, true},
		{filepath.Join(dir, "outside"), 0, 4, "is not below the folder", false, true},
		{".", 0, 4, "is not below the folder", false, true},
		{"escape", 0, 4, `open "escape" beside the model`, false, false},
		{"sub", 0, 4, "sub is not a regular file", false, false},
		{"missing", 0, 4, "no such file", false, false},
		{"a\x00b", 0, 4, `open "a\x00b" beside the model`, false, false},
	} {
		require.NoError(t, os.WriteFile(path, stored(c.location, c.offset, c.length).Encode(), 0o644))
		f := must.Get(Open(path))(t)
		data, err := f.Model.Graph.Initializers[0].Bytes(f.External)
		if c.ok {
			require.NoError(t, err)
			require.Equal(t, c.want, string(data))
		} else {
			require.ErrorContains(t, err, c.want)
			require.Equal(t, c.corrupt, errors.Is(err, blob.ErrCorrupt), err)
		}
		require.NoError(t, f.Close())
		require.NoError(t, f.Close())
		require.ErrorContains(t, must.Fail(stored("w", 0, 4).Graph.Initializers[0].Bytes(f.External)), "the model is closed")
	}
}

func TestOpenFS(t *testing.T) {
	fsys := fstest.MapFS{"a/m.onnx": {Data: stored("w", 1, 4).Encode()}, "a/w": {Data: []byte("01234")}}
	f := must.Open(OpenFS(fsys, "a/m.onnx"))(t)
	require.Equal(t, "1234", string(must.Get(f.Model.Graph.Initializers[0].Bytes(f.External))(t)))
	require.Equal(t, int64(len(fsys["a/m.onnx"].Data)), f.Size)
}

func TestOpen_Errors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.onnx")
	require.NoError(t, os.WriteFile(bad, []byte("hello"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644))
	for path, want := range map[string]string{
		bad:                          "bad.onnx: onnx: not an ONNX model, but text",
		filepath.Join(dir, "empty"):  "an empty file",
		filepath.Join(dir, "absent"): "absent: no such file or directory: check the path",
		filepath.Join(dir, "a/b"):    "b: no such file or directory: check the path",
		dir:                          "is not a regular file",
		"":                           "is not a regular file",
	} {
		require.ErrorContains(t, must.Fail(Open(path)), want)
	}
	require.ErrorIs(t, must.Fail(Open(filepath.Join(dir, "absent"))), os.ErrNotExist)
	require.ErrorIs(t, must.Fail(Open(bad)), blob.ErrCorrupt)
}

func TestParseValue(t *testing.T) {
	tensor := (&Tensor{Name: "t", DataType: Uint8, RawData: []byte("x")})
	data := tensor.Encode()
	of := &Value{Name: "t", Kind: TensorKind, Tensor: tensor}
	one := func(kind Kind) *Type { return &Type{Kind: kind, Of: TensorType(Uint8)} }
	sparse := message(length(1, data), varint(3, 4))
	for _, c := range []struct {
		name string
		data []byte
		typ  *Type
		want *Value
	}{
		{"a tensor", data, TensorType(Uint8), of},
		{"a sequence", message(text(1, "s"), varint(2, 1), length(3, data), length(3, data)), one(SequenceKind),
			&Value{Name: "s", Kind: SequenceKind, Sequence: []*Value{of, of}}},
		{"an empty sequence", nil, one(SequenceKind), &Value{Kind: SequenceKind}},
		{"a sequence of sequences", length(5, length(3, data)), one(SequenceKind), &Value{Kind: SequenceKind,
			Sequence: []*Value{{Kind: SequenceKind, Sequence: []*Value{of}}}}},
		{"an optional", length(3, data), one(OptionalKind), &Value{Kind: OptionalKind, Of: of}},
		{"an empty optional", varint(2, 0), one(OptionalKind), &Value{Kind: OptionalKind}},
		{"a sparse tensor", sparse, one(SparseTensorKind), &Value{Name: "t", Kind: SparseTensorKind,
			Sparse: &SparseTensor{Values: tensor, Dims: []int64{4}}}},
		{"a map", message(text(4, "k"), length(5, length(3, data))), one(MapKind),
			&Value{Kind: MapKind, StringKeys: []string{"k"}, Sequence: []*Value{of}}},
	} {
		v, err := ParseValue(c.data, c.typ)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, v, c.name)
	}
	for want, c := range map[string]struct {
		data []byte
		typ  *Type
	}{
		"add its type to the model": {data, nil},
		"the optional has 2 values": {append(length(3, data), length(3, data)...),
			one(OptionalKind)},
		"the map has 1 keys and 0 values":                       {varint(3, 1), one(MapKind)},
		`sequence: tensor 0 "t": raw_data: field 9 is a varint`: {length(3, text(8, "t"), varint(9, 1)), one(SequenceKind)},
		"nested more than 100 deep":                             {deep(200), one(SequenceKind)},
		"tensor: the tensor has no data_type":                   {nil, TensorType(Float)},
		"it has a value of another kind":                        {length(3, data), TensorType(Float)},
	} {
		err := must.Fail(ParseValue(c.data, c.typ))
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, blob.ErrCorrupt)
	}
}

// deep is sequences within sequences.
func deep(n int) (data []byte) {
	for range n {
		data = length(5, data)
	}
	return data
}

func TestRecognizes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.onnx"), 0o755))
	for name, data := range map[string]string{"a.onnx": "", "b.ONNX": "text", "model": string(sample().Encode()),
		"no tensor": string(ints([]int64{8}, make([]int64, 8)...).Encode()), "no library": "\x7fELF", "no text": "\b"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
		require.Equal(t, name[:2] != "no", Recognizes(path), name)
	}
	require.False(t, Recognizes(filepath.Join(dir, "folder.onnx")))
	require.False(t, Recognizes(filepath.Join(dir, "absent.onnx")))
}
