package oip

import (
	"errors"
	"strconv"
)

// MarshalMetadata returns the JSON of a model's metadata. It is an error if an input or an output has an element type
// that the protocol has no name for.
func MarshalMetadata(m *Metadata) ([]byte, error) {
	b := appendString([]byte(`{"name":`), m.Name)
	b = append(b, `,"versions":`...)
	b = appendStrings(b, m.Versions)
	b = append(b, `,"platform":`...)
	b = appendString(b, m.Platform)
	b = append(b, `,"inputs":`...)
	b, err := appendTensors(b, m.Inputs)
	if err == nil {
		b = append(b, `,"outputs":`...)
		b, err = appendTensors(b, m.Outputs)
	}
	if err != nil {
		return nil, Errorf(Internal, "metadata of model %q: %w", m.Name, err)
	}
	return append(b, '}'), nil
}

func appendTensors(b []byte, tensors []TensorMetadata) ([]byte, error) {
	b = append(b, '[')
	for i, t := range tensors {
		datatype, ok := DatatypeName(t.DType)
		if !ok {
			return b, Errorf(Internal, "tensor %q: the protocol has no datatype for %s", t.Name, t.DType)
		}
		b = append(separate(b, i), `{"name":`...)
		b = appendString(b, t.Name)
		b = append(b, `,"datatype":"`...)
		b = append(b, datatype...)
		b = append(b, `","shape":`...)
		b = append(appendShape(b, t.Shape), '}')
	}
	return append(b, ']'), nil
}

// MarshalServerMetadata returns the JSON of a server's metadata.
func MarshalServerMetadata(m *ServerMetadata) []byte {
	b := appendString([]byte(`{"name":`), m.Name)
	b = append(b, `,"version":`...)
	b = appendString(b, m.Version)
	b = append(b, `,"extensions":`...)
	return append(appendStrings(b, m.Extensions), '}')
}

// MarshalIndex returns the JSON of the index of the model repository: a list of the models. An empty Version is left
// out.
func MarshalIndex(models []IndexEntry) []byte {
	b := []byte{'['}
	for i, m := range models {
		b = append(separate(b, i), `{"name":`...)
		b = appendString(b, m.Name)
		if m.Version != "" {
			b = append(b, `,"version":`...)
			b = appendString(b, m.Version)
		}
		b = append(b, `,"state":`...)
		b = appendString(b, m.State)
		b = append(b, `,"reason":`...)
		b = append(appendString(b, m.Reason), '}')
	}
	return append(b, ']')
}

// MarshalModelReady returns the JSON that says whether a model is ready.
func MarshalModelReady(name string, ready bool) []byte {
	b := appendString([]byte(`{"name":`), name)
	b = append(b, `,"ready":`...)
	return append(strconv.AppendBool(b, ready), '}')
}

// MarshalError returns the JSON of an error, {"error": "…"}, and its status of HTTP. The message of an error that is no
// *Error is not sent, because it can contain what clients must not know: the JSON has "internal error" instead.
func MarshalError(err error) (body []byte, status int) {
	e := &Error{Message: "internal error"}
	errors.As(err, &e)
	return append(appendString([]byte(`{"error":`), e.Message), '}'), e.Code.HTTPStatus()
}

// separate appends the comma before an element of a list.
func separate(b []byte, index int) []byte {
	if index > 0 {
		return append(b, ',')
	}
	return b
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		b = appendString(separate(b, i), s)
	}
	return append(b, ']')
}

func appendShape(b []byte, shape []int64) []byte {
	b = append(b, '[')
	for i, dim := range shape {
		b = strconv.AppendInt(separate(b, i), dim, 10)
	}
	return append(b, ']')
}
