package oip

import "context"

// Backend is what answers the calls of the protocol: a server of models. The handlers of HTTP and gRPC read requests,
// call it, and write its answers. Its methods are called by many goroutines at once. A version "" is any version, and
// an *Error tells the client what is wrong; other errors are internal.
type Backend interface {
	// Live reports whether the server runs.
	Live() bool

	// Ready reports whether it accepts requests.
	Ready() bool

	// ModelReady reports whether a model accepts requests. The error of a model that is not known is NotFound.
	ModelReady(name, version string) (bool, error)

	// Server describes the server.
	Server() ServerMetadata

	// Metadata describes a model.
	Metadata(name, version string) (*Metadata, error)

	// Infer computes a model and returns at the end, or with an error soon after ctx is done. It does not keep the
	// request. The caller passes the tensors of the request and of the response to Release.
	Infer(ctx context.Context, r *Request) (*Response, error)

	// Alloc makes Data of an input whose name, type and shape are known. It fails if the tensor is larger than the
	// server accepts.
	Alloc(t *Tensor) error

	// Release frees the memory that Alloc or Infer made, and ignores tensors without memory. The caller calls it once
	// for each tensor, and no longer uses Data.
	Release(list []Tensor)

	// Index lists the models of the repository, or those of them that are ready.
	Index(readyOnly bool) []IndexEntry

	// Load loads a model of the repository, or loads it again, and returns when it is ready.
	Load(ctx context.Context, name string) error

	// Unload unloads a model and returns when its requests are answered.
	Unload(ctx context.Context, name string) error

	// Statistics returns those of each version of a model; of all models if the name is "".
	Statistics(name, version string) ([]Statistics, error)
}
