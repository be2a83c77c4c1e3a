// Package fault has the errors of package runtime, which exports them. Each error has a kind, and each kind has a code,
// its name in the C ABI. The package imports no other package of this module, so that packages below runtime can make
// the same errors.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of errors, which are documented in package runtime.
var (
	NotFound          error = &kind{"not found", "NotFoundError"}
	NotSupported      error = &kind{"not supported", "NotSupportedError"}
	DeviceUnavailable error = &kind{"device unavailable", "DeviceUnavailableError"}
	InvalidArgument   error = &kind{"invalid argument", "ValueError"}
	CorruptModule     error = &kind{"corrupt module", "CorruptModuleError"}
	Untrusted         error = &kind{"untrusted", "UntrustedError"}
	OutOfMemory       error = &kind{"out of memory", "MemoryError"}
	Closed            error = &kind{"closed", "ClosedError"}
	Failed            error = &kind{"operation failed", "RuntimeError"}
)

type kind struct{ text, code string }

func (k *kind) Error() string { return k.text }

// kinds are all kinds, in order of precedence: an error that wraps several has the first of them.
var kinds = []error{Untrusted, NotFound, CorruptModule, NotSupported, DeviceUnavailable, OutOfMemory, Closed,
	InvalidArgument, Failed}

// aliases maps the other codes of C to kinds.
var aliases = map[string]error{
	"TypeError": InvalidArgument, "IndexError": InvalidArgument, "KeyError": InvalidArgument,
	"AttributeError": InvalidArgument,
	"InternalError":  Failed,
}

// Error is an error with a kind. errors.Is finds its kind and, through Err, the error of a Go function that failed.
type Error struct {
	Op      string // what was being done, for example "load module"; may be empty
	Kind    error  // one of the kinds above
	Code    string // the kind's spelling in the C ABI, for example "ValueError"
	Message string // what went wrong and what to do
	// Backtrace lists the calls that led to the error, innermost first, if the failing function reported it. For a Go
	// function that panicked it is the stack.
	Backtrace string
	Err       error // the Go error that caused this one, such as fs.ErrNotExist; nil if there is none
}

// Error returns the operation and the message.
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" && e.Kind != nil {
		msg = e.Kind.Error()
	}
	if e.Op == "" || strings.HasPrefix(msg, e.Op) {
		return msg
	}
	return e.Op + ": " + msg
}

// Is reports whether target is the error's kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the Go error that caused it.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error of an operation.
func New(op string, kind error, format string, args ...any) *Error {
	return &Error{Op: op, Kind: kind, Code: CodeOf(kind), Message: fmt.Sprintf(format, args...)}
}

// Wrap gives an error a kind; nil stays nil.
func Wrap(op string, kind, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Kind: kind, Code: CodeOf(kind), Message: err.Error(), Err: err}
}

// IsClosed makes the error of a use after Close.
func IsClosed(op, what string) error { return New(op, Closed, "the %s is closed", what) }

// KindOf returns the kind of a code of the C ABI; Failed for a code that is not known here.
func KindOf(code string) error {
	for _, k := range kinds {
		if k.(*kind).code == code {
			return k
		}
	}
	if k := aliases[code]; k != nil {
		return k
	}
	return Failed
}

// CodeOf returns an error's name in the C ABI: the Code of an [Error], or else that of its kind, or else
// "RuntimeError".
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Code != "" {
		return e.Code
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k.(*kind).code
		}
	}
	return Failed.(*kind).code
}
