package inference

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tvmgo/serve/oip"
)

// response is a ModelInferResponse, or a ModelStreamInferResponse with one, that is written directly from the memory of
// the outputs. They must stay until it has been sent.
type response struct {
	head    []byte // the fields before raw_output_contents
	outputs []oip.Tensor
	stream  bool
}

const (
	responseRaw    protowire.Number = 6
	streamResponse protowire.Number = 2
)

// finalResponse is the parameter by which Triton tells clients of streams that a response is the last one of its
// request. Here, each request has one response.
const finalResponse = "triton_final_response"

// newResponse checks an answer of the server.
func newResponse(r *oip.Response, stream bool) (*response, error) {
	m := &ModelInferResponse{ModelName: r.Model, ModelVersion: r.Version, Id: r.ID}
	for i := range r.Outputs {
		o := &r.Outputs[i]
		datatype, err := o.CheckOutput()
		if err != nil {
			return nil, err
		}
		m.Outputs = append(m.Outputs, &ModelInferResponse_InferOutputTensor{Name: o.Name, Datatype: datatype,
			Shape: o.Shape})
	}
	if stream {
		m.Parameters = map[string]*InferParameter{finalResponse: boolParameter(true)}
	}
	head, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the response: %w", err)
	}
	return &response{head, r.Outputs, stream}, nil
}

func boolParameter(v bool) *InferParameter {
	return &InferParameter{ParameterChoice: &InferParameter_BoolParam{BoolParam: v}}
}

// Reset and ProtoReflect make a response a message.
func (r *response) Reset() {}

func (r *response) ProtoReflect() protoreflect.Message {
	size := len(r.head)
	for i := range r.outputs {
		size += protowire.SizeTag(responseRaw) + protowire.SizeBytes(len(r.outputs[i].Data))
	}
	if !r.stream {
		return writer(r, (*ModelInferResponse)(nil), size, r.append)
	}
	whole := protowire.SizeTag(streamResponse) + protowire.SizeBytes(size)
	return writer(r, (*ModelStreamInferResponse)(nil), whole, func(b []byte) []byte {
		b = protowire.AppendTag(b, streamResponse, protowire.BytesType)
		return r.append(protowire.AppendVarint(b, uint64(size)))
	})
}

// append appends a ModelInferResponse.
func (r *response) append(b []byte) []byte {
	b = append(b, r.head...)
	for i := range r.outputs {
		b = protowire.AppendTag(b, responseRaw, protowire.BytesType)
		b = protowire.AppendBytes(b, r.outputs[i].Data)
	}
	return b
}
