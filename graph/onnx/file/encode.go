package file

import (
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Encode returns the model as the content of a file. Parse reads an equal one from it. The model must not contain
// itself.
func (m *Model) Encode() []byte {
	var e encoder
	e.int64(1, m.IRVersion)
	e.text(2, m.ProducerName)
	e.text(3, m.ProducerVersion)
	e.text(4, m.Domain)
	e.int64(5, m.ModelVersion)
	e.text(6, m.Doc)
	if m.Graph != nil {
		e.message(7, m.Graph.encode)
	}
	e.opsets(8, m.OpsetImports)
	for _, p := range m.Metadata {
		e.message(14, p.encode)
	}
	each(&e, 25, m.Functions, (*Function).encode)
	return e.out
}

// Encode returns the tensor as the content of a file of test data. ParseTensor reads an equal one from it.
func (t *Tensor) Encode() []byte {
	var e encoder
	t.encode(&e)
	return e.out
}

// encoder appends fields. Those that have their default value are left out, unless their method says otherwise.
type encoder struct{ out []byte }

func (e *encoder) varint(num protowire.Number, v uint64) {
	e.out = protowire.AppendVarint(protowire.AppendTag(e.out, num, protowire.VarintType), v)
}

func (e *encoder) int64(num protowire.Number, v int64) {
	if v != 0 {
		e.varint(num, uint64(v))
	}
}

func (e *encoder) bytes(num protowire.Number, v []byte) {
	e.out = protowire.AppendBytes(protowire.AppendTag(e.out, num, protowire.BytesType), v)
}

func (e *encoder) always(num protowire.Number, v string) {
	e.out = protowire.AppendString(protowire.AppendTag(e.out, num, protowire.BytesType), v)
}

func (e *encoder) text(num protowire.Number, v string) {
	if v != "" {
		e.always(num, v)
	}
}

func (e *encoder) texts(num protowire.Number, list []string) {
	for _, v := range list {
		e.always(num, v)
	}
}

func (e *encoder) float(num protowire.Number, v float32) {
	e.out = protowire.AppendFixed32(protowire.AppendTag(e.out, num, protowire.Fixed32Type), math.Float32bits(v))
}

// message writes a message, empty or not. Its length is inserted when it is known.
func (e *encoder) message(num protowire.Number, write func(e *encoder)) {
	e.out = protowire.AppendTag(e.out, num, protowire.BytesType)
	begin := len(e.out)
	write(e)
	e.out = slices.Insert(e.out, begin, protowire.AppendVarint(nil, uint64(len(e.out)-begin))...)
}

// each writes the messages of a list.
func each[T any](e *encoder, num protowire.Number, list []*T, write func(v *T, e *encoder)) {
	for _, v := range list {
		e.message(num, func(e *encoder) { write(v, e) })
	}
}

// one writes a message, unless it is nil.
func one[T any](e *encoder, num protowire.Number, v *T, write func(v *T, e *encoder)) {
	if v != nil {
		each(e, num, []*T{v}, write)
	}
}

// packed writes the numbers of a list as one field.
func packed[T any](e *encoder, num protowire.Number, list []T, write func(out []byte, v T) []byte) {
	if len(list) > 0 {
		e.message(num, func(e *encoder) {
			for _, v := range list {
				e.out = write(e.out, v)
			}
		})
	}
}

func (e *encoder) opsets(num protowire.Number, list []Opset) {
	for _, o := range list {
		e.message(num, func(e *encoder) {
			e.text(1, o.Domain)
			e.int64(2, o.Version)
		})
	}
}

func (p Entry) encode(e *encoder) {
	e.text(1, p.Key)
	e.text(2, p.Value)
}

func (g *Graph) encode(e *encoder) {
	each(e, 1, g.Nodes, (*Node).encode)
	e.text(2, g.Name)
	each(e, 5, g.Initializers, (*Tensor).encode)
	e.text(10, g.Doc)
	each(e, 11, g.Inputs, (*ValueInfo).encode)
	each(e, 12, g.Outputs, (*ValueInfo).encode)
	each(e, 13, g.ValueInfo, (*ValueInfo).encode)
	each(e, 15, g.SparseInitializers, (*SparseTensor).encode)
}

func (f *Function) encode(e *encoder) {
	e.text(1, f.Name)
	e.texts(4, f.Inputs)
	e.texts(5, f.Outputs)
	e.texts(6, f.AttributeNames)
	each(e, 7, f.Nodes, (*Node).encode)
	e.text(8, f.Doc)
	e.opsets(9, f.OpsetImports)
	e.text(10, f.Domain)
	each(e, 11, f.Attributes, (*Attribute).encode)
	each(e, 12, f.ValueInfo, (*ValueInfo).encode)
	e.text(13, f.Overload)
}

func (n *Node) encode(e *encoder) {
	e.texts(1, n.Inputs)
	e.texts(2, n.Outputs)
	e.text(3, n.Name)
	e.text(4, n.OpType)
	each(e, 5, n.Attributes, (*Attribute).encode)
	e.text(7, n.Domain)
	e.text(8, n.Overload)
}

// encode writes the value that the type of the attribute names, also if it is zero.
func (a *Attribute) encode(e *encoder) {
	e.text(1, a.Name)
	if a.Ref == "" {
		a.encodeValue(e)
	}
	e.int64(20, int64(a.Type))
	e.text(21, a.Ref)
}

func (a *Attribute) encodeValue(e *encoder) {
	switch a.Type {
	case AttrFloat:
		e.float(2, a.Float)
	case AttrInt:
		e.varint(3, uint64(a.Int))
	case AttrString:
		e.always(4, a.String)
	case AttrTensor:
		one(e, 5, a.Tensor, (*Tensor).encode)
	case AttrGraph:
		one(e, 6, a.Graph, (*Graph).encode)
	case AttrFloats:
		for _, v := range a.Floats {
			e.float(7, v)
		}
	case AttrInts:
		for _, v := range a.Ints {
			e.varint(8, uint64(v))
		}
	case AttrStrings:
		e.texts(9, a.Strings)
	case AttrTensors:
		each(e, 10, a.Tensors, (*Tensor).encode)
	case AttrGraphs:
		each(e, 11, a.Graphs, (*Graph).encode)
	case AttrType:
		one(e, 14, a.TypeProto, (*Type).encode)
	case AttrTypes:
		each(e, 15, a.TypeProtos, (*Type).encode)
	case AttrSparseTensor:
		one(e, 22, a.SparseTensor, (*SparseTensor).encode)
	case AttrSparseTensors:
		each(e, 23, a.SparseTensors, (*SparseTensor).encode)
	}
}

func (v *ValueInfo) encode(e *encoder) {
	e.text(1, v.Name)
	one(e, 2, v.Type, (*Type).encode)
}

func (t *Type) encode(e *encoder) {
	for num, kind := range typeFields {
		if kind == t.Kind {
			e.message(num, t.encodeKind)
		}
	}
}

func (t *Type) encodeKind(e *encoder) {
	switch t.Kind {
	case SequenceKind, OptionalKind:
		one(e, 1, t.Of, (*Type).encode)
	case MapKind:
		e.int64(1, int64(t.Elem))
		one(e, 2, t.Of, (*Type).encode)
	default:
		e.int64(1, int64(t.Elem))
		if t.Shape != nil {
			e.message(2, t.Shape.encode)
		}
	}
}

func (s Shape) encode(e *encoder) {
	for _, d := range s {
		e.message(1, func(e *encoder) {
			if d.Known {
				e.varint(1, uint64(d.Size))
			} else {
				e.text(2, d.Name)
			}
		})
	}
}

func (t *Tensor) encode(e *encoder) {
	for _, d := range t.Dims {
		e.varint(1, uint64(d))
	}
	e.int64(2, int64(t.DataType))
	if t.Segment != nil {
		e.message(3, func(e *encoder) {
			e.int64(1, t.Segment.Begin)
			e.int64(2, t.Segment.End)
		})
	}
	packed(e, 4, t.FloatData, func(out []byte, v float32) []byte {
		return protowire.AppendFixed32(out, math.Float32bits(v))
	})
	packed(e, 5, t.Int32Data, func(out []byte, v int32) []byte { return protowire.AppendVarint(out, uint64(int64(v))) })
	e.texts(6, t.StringData)
	packed(e, 7, t.Int64Data, func(out []byte, v int64) []byte { return protowire.AppendVarint(out, uint64(v)) })
	e.text(8, t.Name)
	if t.RawData != nil {
		e.bytes(9, t.RawData)
	}
	packed(e, 10, t.DoubleData, func(out []byte, v float64) []byte {
		return protowire.AppendFixed64(out, math.Float64bits(v))
	})
	packed(e, 11, t.Uint64Data, protowire.AppendVarint)
	if x := t.External; x != nil {
		Entry{"location", x.Location}.external(e)
		Entry{"offset", strconv.FormatInt(x.Offset, 10)}.external(e)
		if x.Length >= 0 {
			Entry{"length", strconv.FormatInt(x.Length, 10)}.external(e)
		}
		if x.Checksum != "" {
			Entry{"checksum", x.Checksum}.external(e)
		}
		e.varint(14, 1)
	}
}

func (p Entry) external(e *encoder) { e.message(13, p.encode) }

func (s *SparseTensor) encode(e *encoder) {
	one(e, 1, s.Values, (*Tensor).encode)
	one(e, 2, s.Indices, (*Tensor).encode)
	for _, d := range s.Dims {
		e.varint(3, uint64(d))
	}
}
