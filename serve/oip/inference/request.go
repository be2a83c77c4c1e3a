package inference

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tvmgo/serve/oip"
)

// request is a ModelInferRequest that is read directly into the memory of tensors. The generated message would have two
// more copies of the elements, and it would have any number of inputs, each of which takes much more memory than the
// two bytes that an empty one has on the wire.
type request struct {
	oip.Request
	err *oip.Error // why it cannot be answered; the parts that have been read are there, too

	backend oip.Backend
	limits  oip.Limits
	read    bool
}

// The fields of the messages in a ModelInferRequest.
const (
	requestModel      protowire.Number = 1
	requestVersion    protowire.Number = 2
	requestID         protowire.Number = 3
	requestParameters protowire.Number = 4
	requestInputs     protowire.Number = 5
	requestOutputs    protowire.Number = 6
	requestRaw        protowire.Number = 7

	inputName       protowire.Number = 1
	inputDatatype   protowire.Number = 2
	inputShape      protowire.Number = 3
	inputParameters protowire.Number = 4
	inputContents   protowire.Number = 5

	outputName       protowire.Number = 1
	outputParameters protowire.Number = 2
)

// Reset and ProtoReflect make a request a message.
func (r *request) Reset() {}

func (r *request) ProtoReflect() protoreflect.Message {
	return reader(r, (*ModelInferRequest)(nil), r.unmarshal)
}

// release frees the inputs.
func (r *request) release() {
	r.backend.Release(r.Inputs)
	r.Inputs = nil
}

// unmarshal reads the message. Its errors are in r.err: the caller of RecvMsg answers them.
func (r *request) unmarshal(b []byte) error {
	if r.read {
		return errors.New("this call has one request: use ModelStreamInfer for more than one")
	}
	r.read = true
	p := requestReader{request: r}
	err := p.fields(b)
	for i := 0; i < len(p.Inputs) && err == nil; i++ {
		err = p.check(i)
	}
	if err != nil {
		r.err = within("read the request", err)
		return nil
	}
	for i := 0; i < len(p.Inputs) && r.err == nil; i++ { // none has memory before all are right
		r.err = p.elements(i)
	}
	return nil
}

// requestReader reads a request.
type requestReader struct {
	*request
	messages [][]byte // the inputs as they are sent
	raw      [][]byte // raw_input_contents
	sizes    []int64  // of the inputs' elements, in bytes
}

// fields reads all but the elements of the inputs.
func (p *requestReader) fields(b []byte) *oip.Error {
	var known parameters
	err := eachField(b, func(f wireField) *oip.Error {
		if f.kind != protowire.BytesType {
			return nil
		}
		switch f.number {
		case requestModel:
			return f.text(&p.Model)
		case requestVersion:
			return f.text(&p.Version)
		case requestID:
			return f.text(&p.ID)
		case requestParameters:
			return known.add(f.bytes)
		case requestInputs:
			return p.input(f.bytes)
		case requestOutputs:
			return p.output(f.bytes)
		case requestRaw:
			if len(p.raw) == p.limits.Inputs {
				return tooMany("raw_input_contents", p.limits.Inputs)
			}
			p.raw = append(p.raw, f.bytes)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case p.Model == "":
		return oip.Errorf(oip.InvalidArgument, "model_name is empty: name a model")
	case len(p.raw) > 0 && len(p.raw) != len(p.Inputs):
		return oip.Errorf(oip.InvalidArgument, "there are %d raw_input_contents for %d inputs: send one for each input, or "+
			"contents in each", len(p.raw), len(p.Inputs))
	}
	return known.ofRequest(&p.Request)
}

func tooMany(what string, limit int) *oip.Error {
	return oip.Errorf(oip.TooLarge, "more than %d %s, the server's limit", limit, what)
}

// input reads all but the elements of an input.
func (p *requestReader) input(b []byte) *oip.Error {
	if len(p.messages) == p.limits.Inputs {
		return tooMany("inputs", p.limits.Inputs)
	}
	p.messages = append(p.messages, b)
	var t oip.Tensor
	var known parameters
	datatype := ""
	err := eachField(b, func(f wireField) *oip.Error {
		switch {
		case f.number == inputShape:
			return f.numbers(func(v uint64) *oip.Error {
				if len(t.Shape) == p.limits.Dims {
					return tooMany("dimensions of an input", p.limits.Dims)
				}
				t.Shape = append(t.Shape, int64(v))
				return nil
			})
		case f.is(inputName, protowire.BytesType):
			return f.text(&t.Name)
		case f.is(inputDatatype, protowire.BytesType):
			return f.text(&datatype)
		case f.is(inputParameters, protowire.BytesType):
			return known.add(f.bytes)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case t.Name == "":
		return oip.Errorf(oip.InvalidArgument, "input %d has no name", len(p.Inputs))
	case slices.ContainsFunc(p.Inputs, func(other oip.Tensor) bool { return other.Name == t.Name }):
		return oip.Errorf(oip.InvalidArgument, "input %s is there twice", oip.Quoted(t.Name))
	}
	dtype, bad := oip.ParseDatatype(datatype)
	if bad != nil {
		return within("input "+oip.Quoted(t.Name), bad)
	}
	t.DType = dtype
	p.Inputs = append(p.Inputs, t)
	return known.ofInput(t.Name)
}

// output reads a requested output.
func (p *requestReader) output(b []byte) *oip.Error {
	if len(p.Outputs) == p.limits.Inputs {
		return tooMany("outputs", p.limits.Inputs)
	}
	o := oip.RequestedOutput{Binary: true}
	var known parameters
	err := eachField(b, func(f wireField) *oip.Error {
		switch {
		case f.is(outputName, protowire.BytesType):
			return f.text(&o.Name)
		case f.is(outputParameters, protowire.BytesType):
			return known.add(f.bytes)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case o.Name == "":
		return oip.Errorf(oip.InvalidArgument, "output %d has no name", len(p.Outputs))
	case slices.ContainsFunc(p.Outputs, func(other oip.RequestedOutput) bool { return other.Name == o.Name }):
		return oip.Errorf(oip.InvalidArgument, "output %s is there twice", oip.Quoted(o.Name))
	}
	p.Outputs = append(p.Outputs, o)
	return known.ofOutput(o.Name)
}

// check compares the size of an input with the elements that the message has.
func (p *requestReader) check(i int) *oip.Error {
	t := &p.Inputs[i]
	want, bytes, err := t.Measure(p.limits)
	if err != nil {
		return err
	}
	p.sizes = append(p.sizes, bytes)
	if err := p.elementsOf(i, want, bytes); err != nil {
		return within("input "+oip.Quoted(t.Name), err)
	}
	return nil
}

// elementsOf checks that the elements of an input are as many as wanted, and are where those of its type are.
func (p *requestReader) elementsOf(i int, want, bytes int64) *oip.Error {
	t := &p.Inputs[i]
	var have [9]int64
	if err := p.contents(i, func(contents []byte) *oip.Error { return counts(contents, &have) }); err != nil {
		return err
	}
	datatype, _ := oip.DatatypeName(t.DType)
	own, typed := listOf(t.DType)
	for _, l := range lists {
		switch {
		case have[l.number] == 0:
		case len(p.raw) > 0:
			return oip.Errorf(oip.InvalidArgument, "%s has elements, and there are raw_input_contents: leave one out",
				l.name())
		case !typed:
			return oip.Errorf(oip.InvalidArgument, "%s has elements, but those of %s are only sent raw: use "+
				"raw_input_contents", l.name(), datatype)
		case l != own:
			return oip.Errorf(oip.InvalidArgument, "%s has elements, but those of %s are sent in %s", l.name(), datatype,
				own.name())
		}
	}
	switch {
	case len(p.raw) > 0 && int64(len(p.raw[i])) != bytes:
		return oip.Errorf(oip.InvalidArgument, "%s of shape %v has %d bytes, but its raw_input_contents have %d", datatype,
			t.Shape, bytes, len(p.raw[i]))
	case len(p.raw) > 0 || have[own.number] == want:
		return nil
	case !typed:
		return oip.Errorf(oip.InvalidArgument, "there are no elements, and those of %s are only sent raw: use "+
			"raw_input_contents", datatype)
	}
	return oip.Errorf(oip.InvalidArgument, "shape %v has %d elements, but %s has %d", t.Shape, want, own.name(),
		have[own.number])
}

// contents calls do for the contents of an input. There may be more than one: their lists are concatenated.
func (p *requestReader) contents(i int, do func(b []byte) *oip.Error) *oip.Error {
	return eachField(p.messages[i], func(f wireField) *oip.Error {
		if f.is(inputContents, protowire.BytesType) {
			return do(f.bytes)
		}
		return nil
	})
}

// elements reads the elements of an input into memory of the server.
func (p *requestReader) elements(i int) *oip.Error {
	t := &p.Inputs[i]
	if err := t.Allocate(p.backend.Alloc, p.sizes[i]); err != nil {
		return err
	}
	if len(p.raw) > 0 {
		copy(t.Data, p.raw[i])
		return t.CheckRaw()
	}
	own, _ := listOf(t.DType)
	to := filler{t: t, list: own}
	if err := p.contents(i, to.fill); err != nil {
		return within("read the request: input "+oip.Quoted(t.Name), err)
	}
	return nil
}
