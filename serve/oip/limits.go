package oip

import "strconv"

// Limits bound what a request may contain. A limit of 0 or less is the default.
type Limits struct {
	BodyBytes   int64 // of the body; default: DefaultBodyBytes
	TensorBytes int64 // of the elements of one input; default: DefaultTensorBytes
	Inputs      int   // the number of inputs, and of outputs that a request names; default: DefaultInputs
	Dims        int   // the number of dimensions of an input; default: DefaultDims
}

// The default limits.
const (
	DefaultBodyBytes   = 64 << 20
	DefaultTensorBytes = 64 << 20
	DefaultInputs      = 1024
	DefaultDims        = 32
)

// WithDefaults returns limits that are all greater than 0.
func (l Limits) WithDefaults() Limits {
	if l.BodyBytes <= 0 {
		l.BodyBytes = DefaultBodyBytes
	}
	if l.TensorBytes <= 0 {
		l.TensorBytes = DefaultTensorBytes
	}
	if l.Inputs <= 0 {
		l.Inputs = DefaultInputs
	}
	if l.Dims <= 0 {
		l.Dims = DefaultDims
	}
	return l
}

// Quoted returns text of a client for an error: in quotes, and not longer than a line.
func Quoted(text string) string {
	if len(text) > 60 {
		return strconv.QuoteToGraphic(text[:60]) + "…"
	}
	return strconv.QuoteToGraphic(text)
}
