package file

import (
	"fmt"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// Parse reads a model in memory. The RawData of its tensors are views of data, which must not be changed while they are
// used.
//
// The error is a [FormatError]. If data does not seem to be a model, it says what it looks like.
func Parse(data []byte) (*Model, error) {
	m := &Model{}
	err := readModel(newDecoder(data), data, m)
	if err == nil && m.Graph == nil {
		err = corruptf("", "the model has no graph: the file was cut, or it is no model")
	}
	if err != nil {
		if what := looksLike(data); what != "" {
			return nil, corruptf("", "not an ONNX model, but %s", what)
		}
		return nil, err
	}
	return m, nil
}

func readModel(d *decoder, data []byte, m *Model) error {
	return d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.int64("ir_version", &m.IRVersion)
		case 2:
			return f.text("producer_name", &m.ProducerName)
		case 3:
			return f.text("producer_version", &m.ProducerVersion)
		case 4:
			return f.text("domain", &m.Domain)
		case 5:
			return f.int64("model_version", &m.ModelVersion)
		case 6:
			return f.text("doc_string", &m.Doc)
		case 7:
			return subOf(f, "graph", nil, &m.Graph, readGraph)
		case 8:
			return values(f, "opset_import", &m.OpsetImports, readOpset)
		case 14:
			return values(f, "metadata_props", &m.Metadata, readEntry)
		case 25:
			return subs(f, "function", named(1), &m.Functions, readFunction)
		}
		return nil
	})
}

// values reads a message as a new element of a list of values.
func values[T any](f *field, what string, list *[]T, read reader[T]) error {
	var v T
	err := f.d.charge(f.at, unsafe.Sizeof(v))
	if err == nil {
		err = sub(f, "", nil, &v, read)
	}
	if err != nil {
		return within(fmt.Sprintf("%s %d", what, len(*list)), err)
	}
	*list = append(*list, v)
	return nil
}

func readOpset(d *decoder, data []byte, o *Opset) error {
	return d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.text("domain", &o.Domain)
		case 2:
			return f.int64("version", &o.Version)
		}
		return nil
	})
}

func readEntry(d *decoder, data []byte, e *Entry) error {
	return d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.text("key", &e.Key)
		case 2:
			return f.text("value", &e.Value)
		}
		return nil
	})
}

func readFunction(d *decoder, data []byte, v *Function) error {
	if err := d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.text("name", &v.Name)
		case 4:
			return f.texts("input", &v.Inputs)
		case 5:
			return f.texts("output", &v.Outputs)
		case 6:
			return f.texts("attribute", &v.AttributeNames)
		case 7:
			return readNodes(f, &v.Nodes)
		case 8:
			return f.text("doc_string", &v.Doc)
		case 9:
			return values(f, "opset_import", &v.OpsetImports, readOpset)
		case 10:
			return f.text("domain", &v.Domain)
		case 11:
			return subs(f, "attribute_proto", named(1), &v.Attributes, readAttribute)
		case 12:
			return subs(f, "value_info", named(1), &v.ValueInfo, readValueInfo)
		case 13:
			return f.text("overload", &v.Overload)
		}
		return nil
	}); err != nil {
		return err
	}
	if v.Name == "" {
		return d.fail(data, "the function has no name")
	}
	return nil
}

func readGraph(d *decoder, data []byte, g *Graph) error {
	return d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return readNodes(f, &g.Nodes)
		case 2:
			return f.text("name", &g.Name)
		case 5:
			return subs(f, "initializer", named(8), &g.Initializers, readTensor)
		case 10:
			return f.text("doc_string", &g.Doc)
		case 11:
			return subs(f, "input", named(1), &g.Inputs, readValueInfo)
		case 12:
			return subs(f, "output", named(1), &g.Outputs, readValueInfo)
		case 13:
			return subs(f, "value_info", named(1), &g.ValueInfo, readValueInfo)
		case 15:
			return subs(f, "sparse_initializer", nil, &g.SparseInitializers, readSparse)
		}
		return nil
	})
}

func readNodes(f *field, list *[]*Node) error { return subs(f, "node", nodeLabel, list, readNode) }

// nodeLabel returns the name and the operator of a node: ` "conv1" (Conv)`.
func nodeLabel(data []byte) string {
	text := named(3)(data)
	if op := textOf(data, 4); op != "" {
		text += " (" + op[:min(len(op), 200)] + ")"
	}
	return text
}

func readNode(d *decoder, data []byte, n *Node) error {
	if err := d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.texts("input", &n.Inputs)
		case 2:
			return f.texts("output", &n.Outputs)
		case 3:
			return f.text("name", &n.Name)
		case 4:
			return f.text("op_type", &n.OpType)
		case 5:
			return subs(f, "attribute", named(1), &n.Attributes, readAttribute)
		case 7:
			return f.text("domain", &n.Domain)
		case 8:
			return f.text("overload", &n.Overload)
		}
		return nil
	}); err != nil {
		return err
	}
	if n.OpType == "" {
		return d.fail(data, "the node has no op_type")
	}
	return nil
}

// attributeFields are the types by the numbers of their fields.
var attributeFields = map[protowire.Number]AttributeType{2: AttrFloat, 3: AttrInt, 4: AttrString, 5: AttrTensor,
	6: AttrGraph, 7: AttrFloats, 8: AttrInts, 9: AttrStrings, 10: AttrTensors, 11: AttrGraphs, 14: AttrType,
	15: AttrTypes, 22: AttrSparseTensor, 23: AttrSparseTensors}

func readAttribute(d *decoder, data []byte, a *Attribute) error {
	found := AttrUndefined
	if err := d.message(data, func(f *field) error {
		if t, ok := attributeFields[f.num]; ok {
			if found != AttrUndefined && found != t {
				return f.fail("", "the attribute has both %v and %v: want one", found, t)
			}
			found = t
		}
		switch f.num {
		case 1:
			return f.text("name", &a.Name)
		case 2:
			return f.float("f", &a.Float)
		case 3:
			return f.int64("i", &a.Int)
		case 4:
			return f.text("s", &a.String)
		case 5:
			return subOf(f, "t", named(8), &a.Tensor, readTensor)
		case 6:
			return subOf(f, "g", named(2), &a.Graph, readGraph)
		case 7:
			return f.floats("floats", &a.Floats)
		case 8:
			return f.int64s("ints", &a.Ints)
		case 9:
			return f.texts("strings", &a.Strings)
		case 10:
			return subs(f, "tensor", named(8), &a.Tensors, readTensor)
		case 11:
			return subs(f, "graph", named(2), &a.Graphs, readGraph)
		case 14:
			return subOf(f, "tp", nil, &a.TypeProto, readType)
		case 15:
			return subs(f, "type_proto", nil, &a.TypeProtos, readType)
		case 20:
			return int32Of(f, "type", &a.Type)
		case 21:
			return f.text("ref_attr_name", &a.Ref)
		case 22:
			return subOf(f, "sparse_tensor", nil, &a.SparseTensor, readSparse)
		case 23:
			return subs(f, "sparse_tensor", nil, &a.SparseTensors, readSparse)
		}
		return nil
	}); err != nil {
		return err
	}
	switch {
	case a.Name == "":
		return d.fail(data, "the attribute has no name")
	case a.Ref != "" && found != AttrUndefined:
		return d.fail(data, "the attribute refers to %s, but it also has %v", quoted(a.Ref), found)
	case a.Type == AttrUndefined: // IR version 1 has no types
		a.Type = found
	case int(a.Type) < 0 || int(a.Type) >= len(attributeTypes):
		return d.fail(data, "the attribute type %d is unknown: the newest that is known is %d (%v)", int32(a.Type),
			len(attributeTypes)-1, AttributeType(len(attributeTypes)-1))
	case found != AttrUndefined && found != a.Type:
		return d.fail(data, "the attribute has %v, but its type is %v", found, a.Type)
	}
	return a.complete(d, data)
}

// complete returns an error if a message that the type demands is missing. Other values are zero if they are missing.
func (a *Attribute) complete(d *decoder, data []byte) error {
	missing := false
	switch a.Type {
	case AttrTensor:
		missing = a.Tensor == nil
	case AttrGraph:
		missing = a.Graph == nil
	case AttrSparseTensor:
		missing = a.SparseTensor == nil
	case AttrType:
		missing = a.TypeProto == nil
	}
	if missing && a.Ref == "" {
		return d.fail(data, "the attribute of type %v has no value", a.Type)
	}
	return nil
}

func readValueInfo(d *decoder, data []byte, v *ValueInfo) error {
	if err := d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.text("name", &v.Name)
		case 2:
			return subOf(f, "type", nil, &v.Type, readType)
		}
		return nil
	}); err != nil {
		return err
	}
	if v.Name == "" {
		return d.fail(data, "the value has no name")
	}
	return nil
}

// typeFields are the kinds by the numbers of their fields.
var typeFields = map[protowire.Number]Kind{1: TensorKind, 4: SequenceKind, 5: MapKind, 8: SparseTensorKind,
	9: OptionalKind}

func readType(d *decoder, data []byte, t *Type) error {
	return d.message(data, func(f *field) error {
		kind, ok := typeFields[f.num]
		if !ok {
			return nil
		}
		if t.Kind != kind { // the last of several kinds counts
			*t = Type{Kind: kind}
		}
		return sub(f, kind.String()+" type", nil, t, readTypeOf)
	})
}

// readTypeOf reads the message of a kind.
func readTypeOf(d *decoder, data []byte, t *Type) error {
	return d.message(data, func(f *field) error {
		switch {
		case f.num == 1 && (t.Kind == SequenceKind || t.Kind == OptionalKind):
			return subOf(f, "elem_type", nil, &t.Of, readType)
		case f.num == 1:
			return int32Of(f, "elem_type", &t.Elem)
		case f.num == 2 && t.Kind == MapKind:
			return subOf(f, "value_type", nil, &t.Of, readType)
		case f.num == 2 && (t.Kind == TensorKind || t.Kind == SparseTensorKind):
			if t.Shape == nil {
				t.Shape = Shape{}
			}
			return sub(f, "shape", nil, &t.Shape, readShape)
		}
		return nil
	})
}

func readShape(d *decoder, data []byte, s *Shape) error {
	return d.message(data, func(f *field) error {
		if f.num == 1 {
			return values(f, "dim", (*[]Dim)(s), readDim)
		}
		return nil
	})
}

// readDim reads a dimension. A negative size, which some producers write, is an unknown one.
func readDim(d *decoder, data []byte, v *Dim) error {
	return d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			*v = Dim{}
			if err := f.int64("dim_value", &v.Size); err != nil {
				return err
			}
			if v.Known = v.Size >= 0; !v.Known {
				v.Size = 0
			}
		case 2:
			*v = Dim{}
			return f.text("dim_param", &v.Name)
		}
		return nil
	})
}
