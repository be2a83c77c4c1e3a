package oip

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
)

// maxDepth is how deep the objects and lists of a request are nested. Its own fields need 4 levels.
const maxDepth = 32

// requestReader reads the JSON of a request.
type requestReader struct {
	*jsonpos.Reader
	text    string // shares the memory of the body's buffer: what the request keeps is copied
	limits  Limits
	alloc   func(*Tensor) error
	binary  bool // raw elements follow the JSON
	request *Request
	raw     []rawInput
	asJSON  []int   // the outputs whose parameter binary_data is false
	code    Code    // of the reader's error, if set by fail
	failed  bool    // the reader's error is by fail
	err     *Error  // instead of the reader's error
	dims    []int64 // of one shape: memory for all
}

// rawInput is an input whose elements follow the JSON.
type rawInput struct {
	index int
	bytes int64
}

// fail makes an error at the current position, unless there is one already.
func (p *requestReader) fail(code Code, format string, args ...any) {
	if p.Err() == nil {
		p.code, p.failed = code, true
		p.Fail(format, args...)
	}
}

// read reads the JSON.
func (p *requestReader) read() *Error {
	p.CheckEncoding()
	var seen uint
	p.Object(func(key string) {
		switch p.field(key, &seen, "inputs", "id", "outputs", "parameters") {
		case 0:
			p.List(p.input)
		case 1:
			if !p.null() {
				p.request.ID = strings.Clone(p.Text())
			}
		case 2:
			if !p.null() {
				p.List(p.output)
			}
		case 3:
			p.parameters(p.requestParameter)
		default:
			p.Skip()
		}
	})
	if seen&1 == 0 {
		p.fail(InvalidArgument, `the request has no field "inputs"`)
	}
	err := p.End()
	switch {
	case p.err != nil:
		return p.err
	case err != nil && p.failed:
		return Errorf(p.code, "read the request: %w", err)
	case err != nil:
		return Errorf(InvalidArgument, "read the request: %w", err)
	}
	if p.request.Binary {
		for i := range p.request.Outputs {
			p.request.Outputs[i].Binary = true
		}
		for _, i := range p.asJSON {
			p.request.Outputs[i].Binary = false
		}
	}
	return nil
}

// field returns the index of a key in names, -1 for a key that is ignored. It fails if a field is there twice; seen has
// a bit for each.
func (p *requestReader) field(key string, seen *uint, names ...string) int {
	i := slices.Index(names, key)
	if i >= 0 {
		if *seen&(1<<i) != 0 {
			p.fail(InvalidArgument, "the field is repeated")
		}
		*seen |= 1 << i
	}
	return i
}

// null reads null, if it is next: an optional field that is not there.
func (p *requestReader) null() bool {
	if strings.HasPrefix(p.Rest(), "null") {
		p.Advance(len("null"))
		return true
	}
	return false
}

// name reads the name of a tensor.
func (p *requestReader) name() string {
	name := strings.Clone(p.Text())
	if name == "" {
		p.fail(InvalidArgument, "the name is empty")
	}
	return name
}

// integer reads an integer that is not negative.
func (p *requestReader) integer() uint64 {
	rest := p.Rest()
	var n number
	length := n.scan(rest)
	if length == 0 {
		e := elements{text: rest}
		e.unexpected("an integer")
		p.fail(InvalidArgument, "%s", e.fault)
		return 0
	}
	v, ok := n.uint64()
	switch {
	case !n.integer:
		p.fail(InvalidArgument, "want an integer, not %s", shortened(n.text))
	case n.negative && v != 0:
		p.fail(InvalidArgument, "%s is negative: want 0 or more", shortened(n.text))
	case !ok || v > math.MaxInt64:
		p.fail(InvalidArgument, "%s has more than 63 bits", shortened(n.text))
	}
	p.Advance(length)
	return v
}

// boolean reads true or false.
func (p *requestReader) boolean() bool {
	rest := p.Rest()
	switch {
	case strings.HasPrefix(rest, "true"):
		p.Advance(len("true"))
		return true
	case strings.HasPrefix(rest, "false"):
		p.Advance(len("false"))
		return false
	}
	e := elements{text: rest}
	e.unexpected("true or false")
	p.fail(InvalidArgument, "%s", e.fault)
	return false
}

// parameters reads an object of parameters; null values are as if they were not there.
func (p *requestReader) parameters(parameter func(key string, seen *uint)) {
	if p.null() {
		return
	}
	var seen uint
	p.Object(func(key string) {
		if !p.null() {
			parameter(key, &seen)
		}
	})
}

func (p *requestReader) requestParameter(key string, seen *uint) {
	q := p.request
	switch p.field(key, seen, "binary_data_output", "priority", "timeout", "sequence_id", "sequence_start",
		"sequence_end") {
	case 0:
		q.Binary = p.boolean()
	case 1:
		q.Priority = p.integer()
	case 2:
		micros := min(p.integer(), uint64(math.MaxInt64/time.Microsecond))
		q.Timeout = time.Duration(micros) * time.Microsecond
	case 3, 4, 5:
		p.unsupported("sequences of requests are not supported: send the model's state as inputs and outputs")
	default:
		p.Skip()
	}
}

// unsupported reads the value of a parameter without which the result would be wrong. Values that turn it off are
// accepted.
func (p *requestReader) unsupported(message string) {
	start := p.Rest()
	p.Skip()
	value := strings.TrimRight(start[:len(start)-len(p.Rest())], " \t\r\n")
	if value != "0" && value != `""` && value != "false" {
		p.fail(Unimplemented, "%s", message)
	}
}

const sharedMemory = "shared memory is not supported: send the elements in the body (binary_data_size, binary_data)"

// output reads a requested output.
func (p *requestReader) output() {
	q := p.request
	if len(q.Outputs) == p.limits.Inputs {
		p.fail(TooLarge, "more than %d outputs", p.limits.Inputs)
		return
	}
	q.Outputs = append(q.Outputs, RequestedOutput{})
	index := len(q.Outputs) - 1
	o := &q.Outputs[index]
	var seen uint
	p.Object(func(key string) {
		switch p.field(key, &seen, "name", "parameters") {
		case 0:
			o.Name = p.name()
			if slices.ContainsFunc(q.Outputs[:index], func(other RequestedOutput) bool { return other.Name == o.Name }) {
				p.fail(InvalidArgument, "output %s is there twice", Quoted(o.Name))
			}
		case 1:
			p.parameters(func(key string, seen *uint) {
				switch p.field(key, seen, "binary_data", "classification", "shared_memory_region") {
				case 0:
					if o.Binary = p.boolean(); !o.Binary {
						p.asJSON = append(p.asJSON, index)
					}
				case 1:
					p.unsupported("classification is not supported: ask for the whole output, and sort it")
				case 2:
					p.unsupported(sharedMemory)
				default:
					p.Skip()
				}
			})
		default:
			p.Skip()
		}
	})
	if seen&1 == 0 {
		p.fail(InvalidArgument, `the output has no field "name"`)
	}
}

// The fields of an input, as bits of requestReader.field.
const (
	hasName uint = 1 << iota
	hasShape
	hasDatatype
	hasData
	hasParameters
	hasType = hasName | hasShape | hasDatatype // what alloc needs
)

// input reads an input.
func (p *requestReader) input() {
	q := p.request
	if len(q.Inputs) == p.limits.Inputs {
		p.fail(TooLarge, "more than %d inputs", p.limits.Inputs)
		return
	}
	q.Inputs = append(q.Inputs, Tensor{})
	index := len(q.Inputs) - 1
	t := &q.Inputs[index]
	var seen uint
	raw := int64(-1)
	early := -1 // where data begins that was before the name, the shape or the datatype
	data := false
	p.Object(func(key string) {
		switch p.field(key, &seen, "name", "shape", "datatype", "data", "parameters") {
		case 0:
			t.Name = p.name()
			if slices.ContainsFunc(q.Inputs[:index], func(other Tensor) bool { return other.Name == t.Name }) {
				p.fail(InvalidArgument, "input %s is there twice", Quoted(t.Name))
			}
		case 1:
			t.Shape = p.shape()
		case 2:
			t.DType = p.datatype()
		case 3:
			rest := p.Rest()
			switch {
			case p.null():
				return
			case seen&hasType == hasType:
				p.Advance(p.elements(t, rest))
			case strings.HasPrefix(rest, "["):
				early = len(p.text) - len(rest)
				p.Raw()
			default:
				early = len(p.text) - len(rest)
				p.Skip()
			}
			data = true
		case 4:
			p.parameters(func(key string, seen *uint) {
				switch p.field(key, seen, "binary_data_size", "shared_memory_region") {
				case 0:
					raw = int64(p.integer())
				case 1:
					p.unsupported(sharedMemory)
				default:
					p.Skip()
				}
			})
		default:
			p.Skip()
		}
	})
	switch {
	case seen&hasName == 0:
		p.fail(InvalidArgument, `the input has no field "name"`)
	case seen&hasShape == 0:
		p.fail(InvalidArgument, `input %s has no field "shape"`, Quoted(t.Name))
	case seen&hasDatatype == 0:
		p.fail(InvalidArgument, `input %s has no field "datatype"`, Quoted(t.Name))
	case data && raw >= 0:
		p.fail(InvalidArgument, `input %s has both "data" and the parameter "binary_data_size": leave one out`,
			Quoted(t.Name))
	case raw >= 0:
		p.rawInput(index, raw)
	case !data:
		p.fail(InvalidArgument, `input %s has no field "data": send it, or the elements behind the JSON with the `+
			`parameter "binary_data_size"`, Quoted(t.Name))
	case early >= 0 && p.Err() == nil:
		p.elements(t, p.text[early:])
	}
}

// shape reads a shape.
func (p *requestReader) shape() []int64 {
	p.dims = p.dims[:0]
	p.List(func() {
		if len(p.dims) == p.limits.Dims {
			p.fail(TooLarge, "more than %d dimensions", p.limits.Dims)
			return
		}
		p.dims = append(p.dims, int64(p.integer()))
	})
	return append(make([]int64, 0, len(p.dims)), p.dims...)
}

func (p *requestReader) datatype() (t dlpack.DataType) {
	name := p.Text()
	t, err := ParseDatatype(name)
	if bad := (*Error)(nil); errors.As(err, &bad) {
		p.fail(bad.Code, "%s", bad.Message)
	}
	return t
}

// measure returns the number of elements and of bytes of an input; false if a limit is exceeded.
func (p *requestReader) measure(t *Tensor) (count, bytes int64, ok bool) {
	count, bytes, err := t.Measure(p.limits)
	if err != nil {
		p.fail(err.Code, "%s", err.Message)
	}
	return count, bytes, p.Err() == nil
}

// rawInput takes note of an input whose elements follow the JSON.
func (p *requestReader) rawInput(index int, size int64) {
	t := &p.request.Inputs[index]
	_, bytes, ok := p.measure(t)
	switch name := Quoted(t.Name); {
	case !ok:
		return
	case !p.binary:
		p.fail(InvalidArgument, "input %s has the parameter binary_data_size: send the header "+
			"Inference-Header-Content-Length with the length of the JSON, too", name)
	case size != bytes:
		p.fail(InvalidArgument, "input %s: binary_data_size is %d, but %s of shape %v has %d bytes",
			name, size, t.DType, t.Shape, bytes)
	}
	p.raw = append(p.raw, rawInput{index, bytes})
}

// elements reads the data of an input at the beginning of text, a rest of the JSON, into memory of alloc, and returns
// its length.
func (p *requestReader) elements(t *Tensor, text string) int {
	count, bytes, ok := p.measure(t)
	if !ok {
		return 0
	}
	start := len(p.text) - len(text)
	if count > 1 && int64(len(text)) < 2*count+1 { // a digit, and a comma or a bracket, for each; and a bracket
		p.FailAt(start, "input %s of shape %v has %d elements, but only %d bytes follow", Quoted(t.Name), t.Shape, count,
			len(text))
		return 0
	}
	if p.err = t.Allocate(p.alloc, bytes); p.err != nil {
		p.fail(p.err.Code, "%s", p.err.Message)
		return 0
	}
	e := elements{text: text, to: t.Data, shape: t.Shape, dtype: t.DType, kind: kindOf(t.DType),
		size: int(t.DType.Bits+7) / 8}
	if !e.read(count) {
		p.FailAt(start+e.at, "input %s: %s", Quoted(t.Name), e.fault)
	}
	return e.at
}
