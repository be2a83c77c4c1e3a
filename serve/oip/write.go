package oip

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"tvmgo/dlpack"
)

// Write writes the body of an answer to request by HTTP. The request says which outputs are raw elements; these are
// written from Tensor.Data without a copy. The others are in JSON: floats with the fewest digits that are read as the
// same value (FP16 and BF16: as the same FP32), BOOL as true and false, elements of all dimensions in one list.
//
// header is called once, before the first byte is written, with what the caller puts into the headers of HTTP: the
// length of the JSON, which is the value of Inference-Header-Content-Length if binary is true; without raw outputs
// there is no such header. bodyBytes is the length of the whole body.
//
// If the error is an *Error, neither header nor w has been called: an output contains a NaN or an infinity that JSON
// cannot express (InvalidArgument), or is malformed (Internal). Other errors are those of w.
func (r *Response) Write(w io.Writer, request *Request, header func(jsonBytes, bodyBytes int64, binary bool)) error {
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	b, rawBytes, raw, err := r.appendJSON((*buffer)[:0], request)
	*buffer = b
	if err != nil {
		return err
	}
	header(int64(len(b)), int64(len(b))+rawBytes, raw)
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write the response: %w", err)
	}
	for i := range r.Outputs {
		o := &r.Outputs[i]
		if len(o.Data) == 0 || !request.binary(i, o.Name) {
			continue
		}
		if _, err := w.Write(o.Data); err != nil {
			return fmt.Errorf("write the response: output %q: %w", o.Name, err)
		}
	}
	return nil
}

// binary reports whether an output is sent as raw elements. index is its index among the outputs of the response.
func (q *Request) binary(index int, name string) bool {
	if index < len(q.Outputs) && q.Outputs[index].Name == name { // the usual order
		return q.Outputs[index].Binary
	}
	for i := range q.Outputs {
		if q.Outputs[i].Name == name {
			return q.Outputs[i].Binary
		}
	}
	return q.Binary
}

// appendJSON appends the JSON of a response. rawBytes are the raw elements that follow it; raw says whether there are
// raw outputs, even if they have no elements.
func (r *Response) appendJSON(b []byte, request *Request) (_ []byte, rawBytes int64, raw bool, _ error) {
	b = append(b, `{"model_name":`...)
	b = appendString(b, r.Model)
	if r.Version != "" {
		b = append(b, `,"model_version":`...)
		b = appendString(b, r.Version)
	}
	if r.ID != "" {
		b = append(b, `,"id":`...)
		b = appendString(b, r.ID)
	}
	b = append(b, `,"outputs":[`...)
	for i := range r.Outputs {
		o := &r.Outputs[i]
		datatype, err := o.CheckOutput()
		if err != nil {
			return b, 0, false, err
		}
		b = append(separate(b, i), `{"name":`...)
		b = appendString(b, o.Name)
		b = append(b, `,"datatype":"`...)
		b = append(b, datatype...)
		b = append(b, `","shape":`...)
		b = appendShape(b, o.Shape)
		if request.binary(i, o.Name) {
			b = append(b, `,"parameters":{"binary_data_size":`...)
			b = strconv.AppendInt(b, int64(len(o.Data)), 10)
			b = append(b, "}}"...)
			rawBytes += int64(len(o.Data))
			raw = true
			continue
		}
		b = append(b, `,"data":[`...)
		if b, err = appendElements(b, o); err != nil {
			return b, 0, false, err
		}
		b = append(b, "]}"...)
	}
	return append(b, "]}"...), rawBytes, raw, nil
}

// appendElements appends the elements of an output, separated by commas.
func appendElements(b []byte, t *Tensor) ([]byte, error) {
	kind, size := kindOf(t.DType), int(t.DType.Bits+7)/8
	for i := 0; i < len(t.Data); i += size {
		b = separate(b, i)
		var bits uint64
		switch data := t.Data[i:]; size {
		case 1:
			bits = uint64(data[0])
		case 2:
			bits = uint64(binary.LittleEndian.Uint16(data))
		case 4:
			bits = uint64(binary.LittleEndian.Uint32(data))
		default:
			bits = binary.LittleEndian.Uint64(data)
		}
		before, ok := len(b), true
		switch kind {
		case boolean:
			b = strconv.AppendBool(b, bits != 0)
		case unsigned:
			b = strconv.AppendUint(b, bits, 10)
		case signed:
			b = strconv.AppendInt(b, int64(bits<<(64-8*size))>>(64-8*size), 10)
		case half:
			b, ok = appendFloat(b, float64(dlpack.Float16Bits(bits).Float32()), 32)
		case brain:
			b, ok = appendFloat(b, float64(dlpack.BFloat16Bits(bits).Float32()), 32)
		case single:
			b, ok = appendFloat(b, float64(math.Float32frombits(uint32(bits))), 32)
		case double:
			b, ok = appendFloat(b, math.Float64frombits(bits), 64)
		}
		if !ok {
			return b, Errorf(InvalidArgument, "write the response: output %q: element %d is %s, which JSON cannot express: "+
				"ask for binary data (binary_data)", t.Name, i/size, b[before:])
		}
	}
	return b, nil
}

// appendFloat appends the shortest number that is read as the same float of 32 or 64 bits. It returns false for NaN and
// infinities, which are no numbers of JSON.
func appendFloat(b []byte, v float64, bits int) ([]byte, bool) {
	format := byte('f')
	a := math.Abs(v)
	switch {
	case a > math.MaxFloat64 || a != a:
		return strconv.AppendFloat(b, v, 'g', -1, bits), false
	case a == 0:
	case bits == 32 && float32(a) < 1e-6, bits == 64 && a < 1e-6, a >= 1e21: // as JavaScript does: without many zeros
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, bits), true
}

// appendString appends text in quotes. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, s[i])
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}
