package runtime

/*
#include "bridge/bridge.h"

void tvmgoReleaseHandle(void* handle);
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"syscall"
	"unsafe"

	"tvmgo/internal/fault"
	"tvmgo/internal/gopanic"
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
// found by errors.Is and errors.As. Set Code for another code of the C ABI, such as "TypeError".
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

// takeError turns an owned error object into a Go error.
func takeError(op string, o object) error {
	cell := (*C.TVMFFIErrorCell)(unsafe.Add(o.pointer(), C.sizeof_TVMFFIObject))
	e := &Error{Op: op, Code: goText(cell.kind), Message: goText(cell.message),
		Backtrace: goText(cell.backtrace)}
	e.Kind = KindOf(e.Code)
	if h := C.tvmgo_bridge_error_context(C.uintptr_t(o), (*[0]byte)(C.tvmgoReleaseHandle)); h != 0 {
		e.Err, _ = cgo.Handle(h).Value().(error)
	} else if n := C.tvmgo_error_system((*C.TVMFFIObject)(o.pointer())); n != 0 {
		e.Err = syscall.Errno(n)
	}
	o.release()
	return e
}

// giveError makes an owned error object of a Go error, which travels along inside it.
func giveError(err error) object {
	kind, kindLen := cText(CodeOf(err))
	msg, msgLen := cText(err.Error())
	trace, traceLen := cText(backtraceOf(err))
	h := cgo.NewHandle(err)
	return object(C.tvmgo_bridge_error(kind, kindLen, msg, msgLen, trace, traceLen, C.uintptr_t(h),
		(*[0]byte)(C.tvmgoReleaseHandle)))
}

// backtraceOf is where an error comes from: the stack of a panic, or the backtrace of an error that C raised.
func backtraceOf(err error) string {
	var p *gopanic.Panic
	if errors.As(err, &p) {
		return p.Stack
	}
	for e := (*Error)(nil); errors.As(err, &e); err = e.Err {
		if e.Backtrace != "" {
			return e.Backtrace
		}
	}
	return ""
}

func goText(b C.TVMFFIByteArray) string {
	if b.data == nil || b.size == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(b.data)), int(b.size)))
}

//export tvmgoReleaseHandle
func tvmgoReleaseHandle(h unsafe.Pointer) {
	cgo.Handle(uintptr(h)).Delete()
}
