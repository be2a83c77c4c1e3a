package raise

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../core -I${SRCDIR}/../../include
#include "bridge/bridge.h"

void tvmgoReleaseHandle(void* handle);
*/
import "C"

import (
	"errors"
	"runtime"
	"runtime/cgo"
	"syscall"
	"unsafe"

	_ "tvmgo/internal/core/bridge"
	"tvmgo/internal/fault"
	"tvmgo/internal/gopanic"
)

// Take converts an owned error object to a Go error of an operation.
func Take(op string, object uintptr) error {
	o := *(*unsafe.Pointer)(unsafe.Pointer(&object)) // C memory
	cell := (*C.TVMFFIErrorCell)(unsafe.Add(o, C.sizeof_TVMFFIObject))
	e := &fault.Error{Op: op, Code: text(cell.kind), Message: text(cell.message), Backtrace: text(cell.backtrace)}
	e.Kind = fault.KindOf(e.Code)
	if h := C.tvmgo_bridge_error_context(C.uintptr_t(object), (*[0]byte)(C.tvmgoReleaseHandle)); h != 0 {
		e.Err, _ = cgo.Handle(h).Value().(error)
	} else if n := C.tvmgo_error_system((*C.TVMFFIObject)(o)); n != 0 {
		e.Err = syscall.Errno(n)
	}
	C.tvmgo_object_release(o)
	return e
}

// Give makes an owned error object from a Go error; 0 if there is no memory.
func Give(err error) (object uintptr) {
	kind, kindLen := cText(fault.CodeOf(err))
	msg, msgLen := cText(err.Error())
	trace, traceLen := cText(backtraceOf(err))
	return uintptr(C.tvmgo_bridge_error(kind, kindLen, msg, msgLen, trace, traceLen, C.uintptr_t(cgo.NewHandle(err)),
		(*[0]byte)(C.tvmgoReleaseHandle)))
}

// Guard runs f for a caller in C, and raises its error or panic on the calling thread. It returns 0 or -1. If f calls
// runtime.Goexit, the frames of C are lost: the thread, whose state they would have restored, ends with the goroutine.
func Guard(f func() error) (rc int32) {
	ended := false
	defer func() {
		if ended {
			return
		}
		if v := recover(); v != nil {
			rc = raise(gopanic.New(v))
			return
		}
		C.tvmgo_bridge_abandon() // for deferred functions of the goroutine
		runtime.LockOSThread()
	}()
	if err := f(); err != nil {
		rc = raise(err) // err.Error may panic
	}
	ended = true
	return rc
}

func raise(err error) int32 { return int32(C.tvmgo_bridge_raise(C.uintptr_t(Give(err)))) }

// backtraceOf returns the origin of an error: the stack of a panic, or the backtrace of an error that C raised.
func backtraceOf(err error) string {
	var p *gopanic.Panic
	if errors.As(err, &p) {
		return p.Stack
	}
	for e := (*fault.Error)(nil); errors.As(err, &e); err = e.Err {
		if e.Backtrace != "" {
			return e.Backtrace
		}
	}
	return ""
}

func text(b C.TVMFFIByteArray) string {
	if b.data == nil || b.size == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(b.data)), int(b.size)))
}

func cText(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

//export tvmgoReleaseHandle
func tvmgoReleaseHandle(h unsafe.Pointer) { cgo.Handle(uintptr(h)).Delete() }
