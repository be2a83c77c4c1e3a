package oip

import (
	"time"

	"tvmgo/dlpack"
)

// Tensor is an input or an output of a request.
type Tensor struct {
	Name  string
	DType dlpack.DataType
	Shape []int64 // not negative
	// Data has the elements in row-major order and the machine's byte order, without gaps. Whoever makes the tensor
	// owns the memory; Owner is theirs, too.
	Data  []byte
	Owner any
}

// Request is a request to compute a model.
type Request struct {
	Model   string
	Version string // "": any
	ID      string // comes back in the response
	Inputs  []Tensor
	Outputs []RequestedOutput // nil: all outputs
	// Binary says how the outputs that Outputs does not name are sent by HTTP: as raw elements, or in JSON.
	Binary   bool
	Priority uint64        // 1 is the highest, greater numbers are lower; 0: the default of the model
	Timeout  time.Duration // the longest time in the queue; 0: the default of the model
}

// RequestedOutput names an output that a client wants.
type RequestedOutput struct {
	Name   string
	Binary bool // raw elements instead of JSON
}

// Response is the answer to a Request. Its outputs are in the order of the request, or of the model.
type Response struct {
	Model   string
	Version string
	ID      string
	Outputs []Tensor
}

// Metadata describes a model.
type Metadata struct {
	Name     string
	Versions []string
	Platform string
	Inputs   []TensorMetadata
	Outputs  []TensorMetadata
}

// TensorMetadata describes an input or an output of a model. Dimensions that requests decide are -1.
type TensorMetadata struct {
	Name  string
	DType dlpack.DataType
	Shape []int64
}

// ServerMetadata describes a server.
type ServerMetadata struct {
	Name       string
	Version    string
	Extensions []string
}

// IndexEntry is a model of the repository: State is READY, LOADING, UNLOADING or UNAVAILABLE, and Reason says why.
type IndexEntry struct {
	Name, Version, State, Reason string
}
