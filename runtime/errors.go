package runtime

import (
	"fmt"

	"tvmgo/internal/fault"
)

// Kinds of errors, for errors.Is. Each carries its code, which is its name in the C ABI.
var (
	// ErrNotFound: there is no such file, function, device or loader.
	ErrNotFound = fault.NotFound
	// ErrNotSupported: the operation exists, but not for this kind or device.
	ErrNotSupported = fault.NotSupported
	// ErrDeviceUnavailable: there is no driver, or no such device.
	ErrDeviceUnavailable = fault.DeviceUnavailable
	// ErrInvalidArgument: the caller can correct it.
	ErrInvalidArgument = fault.InvalidArgument
	// ErrCorruptModule: a file is damaged, or of another format.
	ErrCorruptModule = fault.CorruptModule
	// ErrUntrusted: a file is not signed, or not as the program or the environment wants it (WithTrust).
	ErrUntrusted = fault.Untrusted
	// ErrOutOfMemory: of the host or of the device.
	ErrOutOfMemory = fault.OutOfMemory
	// ErrClosed: the object was used after Close.
	ErrClosed = fault.Closed
	// ErrFailed: a called function reported an error itself.
	ErrFailed = fault.Failed
)

// Error is the error of every function of this package. Its fields are:
//
//	Op        string // what was being done, for example "load module"; may be empty
//	Kind      error  // one of the Err… values
//	Code      string // the kind's spelling in the C ABI, for example "ValueError"
//	Message   string // what went wrong and what to do
//	Backtrace string // where it happened, innermost first, if reported; the stack of a Go function that panicked
//	Err       error  // the Go error behind it, when there is one
//
// errors.Is finds the kind and, through Err, the error of a Go function that failed.
type Error = fault.Error

// Errorf returns an error of a kind, one of the Err… values, with the kind's code. The operands of the verb %w are
// found by errors.Is and errors.As. To use another code of the C ABI, such as "TypeError", set Code.
func Errorf(kind error, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Code: CodeOf(kind), Message: err.Error(), Err: err}
}

// KindOf returns the kind, one of the Err… values, for a code of the C ABI: ErrFailed for a code of the
// program's own.
func KindOf(code string) error { return fault.KindOf(code) }

// CodeOf returns an error's name in the C ABI: the Code of an [Error], or else that of its kind, or else
// "RuntimeError".
func CodeOf(err error) string { return fault.CodeOf(err) }
