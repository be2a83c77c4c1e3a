package file

import (
	"fmt"
	"strconv"
)

// ParseTensor reads a tensor on its own, as files of ONNX's test data have it. RawData is a view of data.
//
// The error is a [FormatError]. [ParseValue] reads what is no tensor.
func ParseTensor(data []byte) (*Tensor, error) {
	t := &Tensor{}
	if err := readTensor(newDecoder(data), data, t); err != nil {
		if what := looksLike(data); what != "" {
			return nil, corruptf("", "not a tensor of ONNX, but %s", what)
		}
		return nil, within("tensor"+named(8)(data), err)
	}
	if t.DataType == Undefined {
		return nil, corruptf("tensor", "the tensor has no data_type: the file is empty, or it has a value of another kind")
	}
	return t, nil
}

func readTensor(d *decoder, data []byte, t *Tensor) error {
	external, location := map[string]string{}, int32(0)
	if err := d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.int64s("dims", &t.Dims)
		case 2:
			return int32Of(f, "data_type", &t.DataType)
		case 3:
			return subOf(f, "segment", nil, &t.Segment, readSegment)
		case 4:
			return f.floats("float_data", &t.FloatData)
		case 5:
			return f.int32s("int32_data", &t.Int32Data)
		case 6:
			return f.texts("string_data", &t.StringData)
		case 7:
			return f.int64s("int64_data", &t.Int64Data)
		case 8:
			return f.text("name", &t.Name)
		case 9:
			return f.view("raw_data", &t.RawData)
		case 10:
			return f.doubles("double_data", &t.DoubleData)
		case 11:
			return f.uint64s("uint64_data", &t.Uint64Data)
		case 13:
			var e Entry
			if err := sub(f, "external_data", nil, &e, readEntry); err != nil {
				return err
			}
			external[e.Key] = e.Value
		case 14:
			return int32Of(f, "data_location", &location)
		}
		return nil
	}); err != nil {
		return err
	}
	switch location {
	case 0:
		return nil
	case 1:
		var err error
		if t.External, err = externalData(external); err != nil {
			return d.fail(data, "external_data: %v", err)
		}
		return nil
	}
	return d.fail(data, "data_location is %d: want 0 (in the tensor) or 1 (in another file)", location)
}

// externalData reads the keys of external data; unknown ones are skipped.
func externalData(keys map[string]string) (*ExternalData, error) {
	e := &ExternalData{Location: keys["location"], Length: -1, Checksum: keys["checksum"]}
	if e.Location == "" {
		return nil, fmt.Errorf("there is no location, the name of the file with the elements")
	}
	for _, n := range []struct {
		key string
		v   *int64
	}{{"offset", &e.Offset}, {"length", &e.Length}} {
		text, ok := keys[n.key]
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < 0 {
			return nil, fmt.Errorf("%s is %s: want a number of bytes", n.key, quoted(text))
		}
		*n.v = v
	}
	return e, nil
}

func readSegment(d *decoder, data []byte, s *Segment) error {
	return d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return f.int64("begin", &s.Begin)
		case 2:
			return f.int64("end", &s.End)
		}
		return nil
	})
}

func readSparse(d *decoder, data []byte, s *SparseTensor) error {
	return d.message(data, func(f *field) error {
		switch f.num {
		case 1:
			return subOf(f, "values", named(8), &s.Values, readTensor)
		case 2:
			return subOf(f, "indices", named(8), &s.Indices, readTensor)
		case 3:
			return f.int64s("dims", &s.Dims)
		}
		return nil
	})
}
