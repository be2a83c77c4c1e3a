package oip

import (
	"errors"
	"fmt"
	"slices"

	"tvmgo/dlpack"
)

// The functions below are what readers and writers of requests have in common, for HTTP and for gRPC.

// Measure returns the number of elements and of bytes of an input, from its shape and its type. It is an error if a
// dimension is negative (InvalidArgument), or if the input is larger than the limits (TooLarge).
func (t *Tensor) Measure(limits Limits) (count, bytes int64, _ *Error) {
	if slices.ContainsFunc(t.Shape, func(dim int64) bool { return dim < 0 }) {
		return 0, 0, Errorf(InvalidArgument, "input %s: shape %v has a negative dimension", Quoted(t.Name), t.Shape)
	}
	count, err := dlpack.NumElements(t.Shape)
	if err == nil {
		bytes, err = t.DType.Bytes(count)
	}
	if err != nil {
		return 0, 0, Errorf(TooLarge, "input %s: %w", Quoted(t.Name), err)
	}
	if limits = limits.WithDefaults(); bytes > limits.TensorBytes {
		return 0, 0, Errorf(TooLarge, "input %s of shape %v has %d bytes, the server accepts %d: send fewer elements at "+
			"once", Quoted(t.Name), t.Shape, bytes, limits.TensorBytes)
	}
	return count, bytes, nil
}

// Allocate calls alloc for an input that has so many bytes, and checks the memory. If alloc is nil, it is Go memory. An
// *Error of alloc is returned as it is.
func (t *Tensor) Allocate(alloc func(*Tensor) error, bytes int64) *Error {
	if alloc == nil {
		t.Data = make([]byte, bytes)
		return nil
	}
	if err := alloc(t); err != nil {
		var known *Error
		if errors.As(err, &known) {
			return known
		}
		return Errorf(Internal, "read the request: memory for input %s: %w", Quoted(t.Name), err)
	}
	if int64(len(t.Data)) != bytes {
		return Errorf(Internal, "read the request: memory for input %s: want %d bytes, got %d", Quoted(t.Name), bytes,
			len(t.Data))
	}
	return nil
}

// CheckRaw checks the raw elements of an input: those of BOOL are bytes 0 or 1.
func (t *Tensor) CheckRaw() *Error {
	if t.DType != dlpack.Bool {
		return nil
	}
	for i, b := range t.Data {
		if b > 1 {
			return Errorf(InvalidArgument, "read the request: input %s: byte %d is %d, but BOOL is 0 or 1", Quoted(t.Name), i,
				b)
		}
	}
	return nil
}

// CheckOutput checks that the memory of an output has the size of its shape and type, and returns the name of its
// datatype.
func (t *Tensor) CheckOutput() (datatype string, _ error) {
	datatype, ok := DatatypeName(t.DType)
	if !ok {
		return "", Errorf(Internal, "write the response: output %q: the protocol has no datatype for %s", t.Name, t.DType)
	}
	count, err := dlpack.NumElements(t.Shape)
	bytes := int64(0)
	if err == nil {
		bytes, err = t.DType.Bytes(count)
	}
	if err == nil && bytes != int64(len(t.Data)) {
		err = fmt.Errorf("%s of shape %v has %d bytes, not %d", t.DType, t.Shape, bytes, len(t.Data))
	}
	if err != nil {
		return "", Errorf(Internal, "write the response: output %q: %w", t.Name, err)
	}
	return datatype, nil
}
