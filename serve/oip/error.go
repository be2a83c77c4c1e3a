package oip

import (
	"errors"
	"fmt"
	"time"
)

// Code is the kind of an error. HTTP and gRPC have a status for each.
type Code int

// The kinds of errors.
const (
	Internal          Code = iota // 500, INTERNAL: the model failed
	InvalidArgument               // 400, INVALID_ARGUMENT: the request is wrong
	Unauthenticated               // 401, UNAUTHENTICATED: there is no valid token
	PermissionDenied              // 403, PERMISSION_DENIED
	NotFound                      // 404, NOT_FOUND: no such model or version
	MethodNotAllowed              // 405, UNIMPLEMENTED: of HTTP
	TooLarge                      // 413, RESOURCE_EXHAUSTED: a limit of the server on one request
	ResourceExhausted             // 429, RESOURCE_EXHAUSTED: the queue of the model is full
	Canceled                      // 499, CANCELED: the client went away
	Unimplemented                 // 501, UNIMPLEMENTED
	Unavailable                   // 503, UNAVAILABLE: the server stops, or the model is not ready
	DeadlineExceeded              // 504, DEADLINE_EXCEEDED: the time of the request is over
)

// Error is an error that is sent to a client.
type Error struct {
	Code       Code
	Message    string
	RetryAfter time.Duration // of ResourceExhausted and Unavailable: when to try again; 0 says nothing
	Err        error         // the cause, for errors.Is; nil if there is none
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error of a kind. Like fmt.Errorf, it wraps the operands of %w.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}
