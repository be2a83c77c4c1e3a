package oip

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"unsafe"

	"tvmgo/internal/jsonpos"
)

// ReadRequest reads the body of an inference request by HTTP. contentLength is the length of the body in bytes, or -1
// if it is unknown. headerLength is the value of Inference-Header-Content-Length, the length of the JSON that is in
// front of raw elements; -1 if there is no such header, and the whole body is JSON. Model and Version are not in the
// body: the caller sets them.
//
// alloc is called once for each input, when its name, DType and Shape are known and checked. It sets Data to memory of
// exactly the size of the elements (the product of the shape times the size of an element), which ReadRequest then
// fills, and may set Owner. It may also check the input; an *Error of alloc is returned as it is. alloc must not keep
// the pointer, which is valid only during the call. If alloc is nil, Data is Go memory.
//
// Every error is an *Error. Unless the limits are exceeded before anything is read, the request that ReadRequest has
// read so far is returned with the error, so that the caller can free the memory of its inputs. Inputs whose Data
// alloc has not set are incomplete.
//
// # Memory
//
// Nothing is allocated for lengths that a client only claims: JSON is read in pieces, and alloc is called for data in
// JSON only if the rest of the text is long enough for so many elements. Raw elements are read from the body directly
// into Data; before alloc is called for the first raw input, their sizes are compared with contentLength, or with
// Limits.BodyBytes if it is unknown.
//
// # What is accepted
//
// Data in JSON is one list of all elements, or lists nested as the shape; for a scalar, whose shape is [], also a
// number. BOOL is true, false, 1 or 0 in JSON, and a byte 1 or 0 in raw elements; other bytes are an error. Integers
// are exact for all 64 bits. Floats are rounded to the nearest value, ties to even; FP16 and BF16 are rounded from the
// nearest float64. A number outside the range of its type is an error, and so are NaN and infinities in JSON.
//
// Unknown fields and parameters are ignored, except those which change the result: sequences, shared memory and
// classification are errors with the code Unimplemented. Optional fields and parameters may be null.
func ReadRequest(body io.Reader, contentLength, headerLength int64, limits Limits, alloc func(*Tensor) error) (
	*Request, error) {
	request, err := readRequest(body, contentLength, headerLength, limits.WithDefaults(), alloc)
	if err != nil { // an *Error that is nil must not become an error
		return request, err
	}
	return request, nil
}

func readRequest(body io.Reader, contentLength, headerLength int64, limits Limits, alloc func(*Tensor) error) (
	*Request, *Error) {
	binary := headerLength >= 0
	length := contentLength
	switch {
	case max(contentLength, headerLength) > limits.BodyBytes:
		return nil, bodyTooLarge(limits)
	case binary && contentLength >= 0 && headerLength > contentLength:
		return nil, Errorf(InvalidArgument, "read the request: Inference-Header-Content-Length is %d, but the body has "+
			"%d bytes: send the length of the JSON", headerLength, contentLength)
	case binary:
		length = headerLength
	}
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	text, err := readText(body, *buffer, length, limits)
	*buffer = text
	if err != nil {
		return nil, err
	}
	p := requestReader{text: unsafe.String(unsafe.SliceData(text), len(text)), limits: limits, alloc: alloc,
		binary: binary, request: &Request{}}
	p.Reader = jsonpos.NewReader(p.text, maxDepth)
	if err = p.read(); err == nil && binary {
		err = p.readRaw(body, contentLength, headerLength)
	}
	return p.request, err
}

func bodyTooLarge(limits Limits) *Error {
	return Errorf(TooLarge, "read the request: the body has more than %d bytes, the server's limit: send fewer "+
		"elements at once", limits.BodyBytes)
}

// buffers has memory for JSON: of bodies that are read, and of responses.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is the size up to which memory is kept for the next JSON.
const maxBuffer = 1 << 20

func putBuffer(b *[]byte) {
	if cap(*b) <= maxBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// readText reads length bytes, or if that is -1 all that there are, and appends them to an empty buffer.
func readText(body io.Reader, b []byte, length int64, limits Limits) ([]byte, *Error) {
	const first = 4 << 10
	want := length
	if length < 0 {
		want = limits.BodyBytes + 1
	}
	for int64(len(b)) < want {
		if len(b) == cap(b) { // memory grows with what has arrived
			grown := make([]byte, len(b), min(max(2*int64(cap(b)), first), max(want, 1)))
			copy(grown, b)
			b = grown
		}
		n, err := body.Read(b[len(b):min(int64(cap(b)), want)])
		b = b[:len(b)+n]
		switch {
		case err == nil || int64(len(b)) == want:
		case errors.Is(err, io.EOF) && length < 0:
			return b, nil
		default:
			return b, readError(err, "the JSON has %d bytes, but the body ends after %d", length, int64(len(b)))
		}
	}
	if length < 0 {
		return b, bodyTooLarge(limits)
	}
	return b, nil
}

// readError returns the error of a body that cannot be read; format says what it means that it is cut off.
func readError(err error, format string, args ...any) *Error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e := Errorf(InvalidArgument, "read the request: "+format, args...)
		e.Err = err
		return e
	}
	code := InvalidArgument
	var known *Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		code = known.Code
	case errors.As(err, &tooLarge):
		code = TooLarge
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		code = DeadlineExceeded
	case errors.Is(err, context.Canceled):
		code = Canceled
	}
	return Errorf(code, "read the request: %w", err)
}

// readRaw reads the elements that follow the JSON.
func (p *requestReader) readRaw(body io.Reader, contentLength, headerLength int64) *Error {
	follow, sum := contentLength-headerLength, int64(0)
	if contentLength < 0 {
		follow = p.limits.BodyBytes - headerLength
	}
	for _, raw := range p.raw {
		switch {
		case raw.bytes <= follow-sum:
			sum += raw.bytes
		case contentLength < 0:
			return bodyTooLarge(p.limits)
		default:
			return Errorf(InvalidArgument, "read the request: the body ends early: %d bytes follow the JSON, of which "+
				"%d are left for the %d bytes of input %s", follow, follow-sum, raw.bytes,
				Quoted(p.request.Inputs[raw.index].Name))
		}
	}
	if contentLength >= 0 && sum < follow {
		return Errorf(InvalidArgument, "read the request: %d bytes follow the JSON, but the inputs with "+
			"binary_data_size have %d: send the elements of each input, and nothing else", follow, sum)
	}
	for _, raw := range p.raw {
		t := &p.request.Inputs[raw.index]
		if err := t.Allocate(p.alloc, raw.bytes); err != nil {
			return err
		}
		if n, err := io.ReadFull(body, t.Data); err != nil {
			return readError(err, "input %s has %d bytes, but the body ends after %d of them", Quoted(t.Name),
				raw.bytes, n)
		}
		if err := t.CheckRaw(); err != nil {
			return err
		}
	}
	if contentLength < 0 {
		return p.atEnd(body)
	}
	return nil
}

// atEnd checks that a body of unknown length ends.
func (p *requestReader) atEnd(body io.Reader) *Error {
	var more [1]byte
	switch _, err := io.ReadFull(body, more[:]); {
	case err == nil:
		return Errorf(InvalidArgument, "read the request: bytes follow the elements of the last input: send the "+
			"elements of each input, and nothing else")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return readError(err, "the body ends early")
	}
}
