package file

// Value is a value of test data, of any kind.
type Value struct {
	Name     string
	Kind     Kind
	Tensor   *Tensor       // TensorKind
	Sparse   *SparseTensor // SparseTensorKind
	Sequence []*Value      // SequenceKind; the values of a MapKind, in the order of its keys
	Of       *Value        // OptionalKind; nil if it is empty

	// The keys of a MapKind are in one of these.
	Keys       []int64
	StringKeys []string
}

// ParseValue reads a value from a file of test data. Its type must be known, because the file does not say of which
// kind it is: it is that of the model's input or output. Tensors are views of data, as in [ParseTensor].
//
// The error is a [FormatError].
func ParseValue(data []byte, t *Type) (*Value, error) {
	kind := NoKind
	if t != nil {
		kind = t.Kind
	}
	v := &Value{}
	if kind == TensorKind {
		tensor, err := ParseTensor(data)
		if err != nil {
			return nil, err
		}
		v.setTensor(tensor)
		return v, nil
	}
	if kind == NoKind {
		return nil, corruptf("value", "the model does not say of which kind the value is: add its type to the model")
	}
	if err := valueReader(kind)(newDecoder(data), data, v); err != nil {
		return nil, within(kind.String(), err)
	}
	return v, nil
}

func (v *Value) setTensor(t *Tensor) { v.Kind, v.Tensor, v.Name = TensorKind, t, t.Name }

// valueReader returns the reader of the message of a kind.
func valueReader(kind Kind) reader[Value] {
	return func(d *decoder, data []byte, v *Value) error {
		v.Kind = kind
		switch kind {
		case TensorKind:
			v.setTensor(&Tensor{})
			if err := readTensor(d, data, v.Tensor); err != nil {
				return err
			}
			v.Name = v.Tensor.Name
			return nil
		case SparseTensorKind:
			v.Sparse = &SparseTensor{}
			if err := readSparse(d, data, v.Sparse); err != nil {
				return err
			}
			v.Name = v.Sparse.Name()
			return nil
		case MapKind:
			return readMap(d, data, v)
		}
		return readElements(d, data, v)
	}
}

// elementFields are the kinds of elements by the numbers of their fields in sequences and optionals.
var elementFields = map[int32]Kind{3: TensorKind, 4: SparseTensorKind, 5: SequenceKind, 6: MapKind, 7: OptionalKind}

// readElements reads a sequence or an optional, whose messages have the same fields.
func readElements(d *decoder, data []byte, v *Value) error {
	if err := d.message(data, func(f *field) error {
		if f.num == 1 {
			return f.text("name", &v.Name)
		}
		if kind, ok := elementFields[int32(f.num)]; ok {
			name := named(1)
			if kind == TensorKind {
				name = named(8)
			}
			return subs(f, kind.String(), name, &v.Sequence, valueReader(kind))
		}
		return nil
	}); err != nil {
		return err
	}
	if v.Kind == OptionalKind {
		if len(v.Sequence) > 1 {
			return d.fail(data, "the optional has %d values: want one or none", len(v.Sequence))
		}
		for _, of := range v.Sequence {
			v.Of = of
		}
		v.Sequence = nil
	}
	return nil
}

func readMap(d *decoder, data []byte, v *Value) error {
	var values Value
	if err := d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.text("name", &v.Name)
		case 3:
			return f.int64s("keys", &v.Keys)
		case 4:
			return f.texts("string_keys", &v.StringKeys)
		case 5:
			return sub(f, "values", nil, &values, valueReader(SequenceKind))
		}
		return nil
	}); err != nil {
		return err
	}
	v.Sequence = values.Sequence
	if keys := len(v.Keys) + len(v.StringKeys); keys != len(v.Sequence) {
		return d.fail(data, "the map has %d keys and %d values", keys, len(v.Sequence))
	}
	return nil
}
