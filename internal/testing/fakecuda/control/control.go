// Package control controls the fake CUDA driver from Go: it fails calls on demand, reads reports of misuse and lists
// what was not released. It links no CUDA library; it opens the driver by its path, as the code under test does.
package control

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall
#cgo LDFLAGS: -ldl
#include "control.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// Driver is an open fake driver. Its methods can be called from any goroutine.
type Driver struct{ f *C.fake_functions }

// Open opens the driver that fakecuda.Build made, or finds it where the code under test has opened it.
func Open(t testing.TB, path string) *Driver {
	t.Helper()
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	d := &Driver{f: new(C.fake_functions)}
	if why := C.fake_open(d.f, p); why != nil {
		t.Fatalf("open the fake driver: %s", C.GoString(why))
	}
	return d
}

// Calls returns the number of calls that can fail since the last reset.
func (d *Driver) Calls() int64 { return int64(C.fake_calls(d.f)) }

// FailAt makes the k-th call from now on fail with code. If names are given, only calls of these functions count; a
// trailing * matches any ending. With k = 0, no call fails.
func (d *Driver) FailAt(k int64, code int, names ...string) {
	p := C.CString(strings.Join(names, ","))
	defer C.free(unsafe.Pointer(p))
	C.fake_fail_at(d.f, C.longlong(k), C.int(code), p)
}

// Failed reports whether the failure that FailAt requested has happened.
func (d *Driver) Failed() bool { return C.fake_failed(d.f) != 0 }

// FailAsync makes the next operation that a stream executes fail; from then on, calls in its context fail with code.
func (d *Driver) FailAsync(code int) { C.fake_fail_async(d.f, C.int(code)) }

// LoseDevice makes every call on a device fail with code; code 0 repairs the device.
func (d *Driver) LoseDevice(device, code int) { C.fake_lose_device(d.f, C.int(device), C.int(code)) }

// Capture begins a capture in the global mode in a new stream of a device that is in use, as another library would on
// its own thread. If blocking is set, the stream waits for the default stream. end ends the capture; call it once. It
// returns false if the capture was invalidated.
func (d *Driver) Capture(t testing.TB, device int, blocking bool) (end func() bool) {
	t.Helper()
	flags := C.uint(1)
	if blocking {
		flags = 0
	}
	s := C.fake_capture_begin(d.f, C.int(device), 0, flags)
	if s == nil {
		t.Fatalf("device %d has no primary context", device)
	}
	return func() bool { return C.fake_capture_end(d.f, s) == 0 }
}

// Reports returns the misuses seen since the last reset or ClearReports.
func (d *Driver) Reports() []string {
	var texts []string
	for i := 0; ; i++ {
		text := C.fake_report(d.f, C.int(i)) // a copy
		if text == nil {
			return texts
		}
		texts = append(texts, C.GoString(text))
		C.free(unsafe.Pointer(text))
	}
}

// ClearReports deletes the reports.
func (d *Driver) ClearReports() { C.fake_clear_reports(d.f) }

// Leaks lists what was not released: memory, streams, events, modules, graphs, and, if contexts is set, primary
// contexts.
func (d *Driver) Leaks(contexts bool) []string {
	flag := C.int(0)
	if contexts {
		flag = 1
	}
	buffer := make([]byte, 1<<16)
	n := int(C.fake_leaks(d.f, flag, (*C.char)(unsafe.Pointer(&buffer[0])), C.size_t(len(buffer))))
	runtime.KeepAlive(buffer)
	text, _, _ := strings.Cut(string(buffer), "\x00")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if n == 0 {
		return nil
	}
	for len(lines) < n {
		lines = append(lines, fmt.Sprintf("and %d more", n-len(lines)))
		break
	}
	return lines
}

// Hold makes the kernel wait_released wait from now on, until Release is called.
func (d *Driver) Hold() { C.fake_hold(d.f) }

// Release ends the waits of all kernels, now and later.
func (d *Driver) Release() { C.fake_release(d.f) }

// Set changes a setting of fakecuda.h by its name.
func (d *Driver) Set(t testing.TB, name string, value int64) {
	t.Helper()
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	if C.fake_set(d.f, p, C.longlong(value)) == 0 {
		t.Fatalf("the fake driver has no setting %q that could be %d", name, value)
	}
}

// Executed counts the operations that streams have executed.
func (d *Driver) Executed() int64 { return int64(C.fake_executed(d.f)) }

// Pending counts the operations that wait or run.
func (d *Driver) Pending() int { return int(C.fake_pending(d.f)) }

// Reset waits for all work and restores the state of a new process. Handles from before it must not be used again.
func (d *Driver) Reset() { C.fake_reset(d.f) }

// Check fails the test if a misuse was reported, or if anything but primary contexts was not released.
func (d *Driver) Check(t testing.TB) {
	t.Helper()
	for _, text := range d.Reports() {
		t.Errorf("misuse of the CUDA driver: %s", text)
	}
	for _, text := range d.Leaks(false) {
		t.Errorf("left in the CUDA driver: %s", text)
	}
}
