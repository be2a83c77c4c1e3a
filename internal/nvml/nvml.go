package nvml

/*
#include <stdlib.h>
#include "nvml.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"unsafe"

	"tvmgo/internal/dl"
)

// Variable is the environment variable that names the library's file.
const Variable = "TVMGO_NVML_LIBRARY"

// ErrLost says that a GPU does not answer any more: it has disappeared, needs a reset, or the driver was unloaded.
var ErrLost = errors.New("the GPU is lost")

// ErrClosed says that the library was closed.
var ErrClosed = errors.New("NVML is closed")

// The codes of NVML with a meaning here.
const (
	uninitialized   = 1
	driverNotLoaded = 9
	gpuIsLost       = 15
	resetRequired   = 16
)

// Library is an open NVML. Its methods, and those of its GPUs, are safe for use by many goroutines at once.
type Library struct {
	mu     sync.RWMutex
	handle *dl.Handle // nil after Close
	calls  C.tvmgo_nvml
}

// Open opens the library that Variable names, else libnvidia-ml.so.1, and initializes it. The caller closes it. The
// error is a *dl.MissingError if the library cannot be opened.
func Open() (*Library, error) {
	name := os.Getenv(Variable)
	if name == "" {
		name = "libnvidia-ml.so.1"
	}
	missing := func(cause string) error {
		return &dl.MissingError{API: "NVML", Cause: cause,
			Cure: "install NVIDIA's driver, or name the library in " + Variable}
	}
	h, err := dl.OpenFile(name)
	if err != nil {
		return nil, missing(err.Error())
	}
	l := &Library{handle: h}
	if lacks := l.look(); lacks != "" {
		h.Close()
		return nil, missing(fmt.Sprintf("%s has no function %s", h.Path(), lacks))
	}
	dl.Quietly(func() { err = l.check("nvmlInit_v2", C.tvmgo_nvml_init(&l.calls)) })
	if err != nil {
		h.Close()
		return nil, err
	}
	return l, nil
}

// look finds the functions, and returns the name of a required one that the library does not have.
func (l *Library) look() (lacks string) {
	at := func(names ...string) unsafe.Pointer {
		for _, name := range names {
			if p := l.handle.Symbol(name); p != nil {
				return p
			}
		}
		return nil
	}
	need := func(name string) unsafe.Pointer {
		p := at(name)
		if p == nil && lacks == "" {
			lacks = name
		}
		return p
	}
	c := &l.calls
	*(*unsafe.Pointer)(unsafe.Pointer(&c.init)) = need("nvmlInit_v2")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.shutdown)) = need("nvmlShutdown")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.by_pci)) = need("nvmlDeviceGetHandleByPciBusId_v2")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.by_uuid)) = need("nvmlDeviceGetHandleByUUID")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.error_string)) = at("nvmlErrorString")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.driver_version)) = at("nvmlSystemGetDriverVersion")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.clock)) = at("nvmlDeviceGetClockInfo")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.temperature)) = at("nvmlDeviceGetTemperature")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.power)) = at("nvmlDeviceGetPowerUsage")
	*(*unsafe.Pointer)(unsafe.Pointer(&c.reasons)) = at("nvmlDeviceGetCurrentClocksEventReasons",
		"nvmlDeviceGetCurrentClocksThrottleReasons") // the second is the name before CUDA 12.2
	return lacks
}

// check returns the error of a call; nil if it succeeded.
func (l *Library) check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	err := fmt.Errorf("%s: %s (%d)", call, C.GoString(C.tvmgo_nvml_error(&l.calls, code)), int(code))
	switch code {
	case uninitialized, driverNotLoaded, gpuIsLost, resetRequired:
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// Close ends the use of the library and of its GPUs. Closing twice is fine.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle == nil {
		return nil
	}
	err := l.check("nvmlShutdown", C.tvmgo_nvml_shutdown(&l.calls))
	l.handle.Close()
	l.handle = nil
	return err
}

// DriverVersion returns the version of the driver, such as "550.54.14".
func (l *Library) DriverVersion() (string, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.handle == nil {
		return "", ErrClosed
	}
	var text [96]C.char
	err := l.check("nvmlSystemGetDriverVersion", C.tvmgo_nvml_driver(&l.calls, &text[0], C.uint(len(text))))
	if err != nil {
		return "", err
	}
	return C.GoString(&text[0]), nil
}

// GPU is a GPU of an open library.
type GPU struct {
	of *Library
	at unsafe.Pointer // an object of the library
}

// Find returns the GPU with a PCI address ("0000:65:00.0"), or else with a UUID ("GPU-…"). Either may be empty.
func (l *Library) Find(address, uuid string) (*GPU, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.handle == nil {
		return nil, ErrClosed
	}
	a, u := C.CString(address), C.CString(uuid)
	defer C.free(unsafe.Pointer(a))
	defer C.free(unsafe.Pointer(u))
	g := &GPU{of: l}
	if err := l.check("find GPU "+address+" "+uuid, C.tvmgo_nvml_find(&l.calls, a, u, &g.at)); err != nil {
		return nil, err
	}
	return g, nil
}

// State is what a GPU reports. A nil value is one that it does not.
type State struct {
	ClockMHz, MemoryClockMHz *float64 // of the multiprocessors, and of the memory
	Celsius, Watts           *float64
	Throttled                []string // why the clock is reduced, in the words of nvidia-smi
}

// Read returns the state of the GPU. Values that it does not support are nil. The error is ErrLost if it does not
// answer any more.
func (g *GPU) Read() (State, error) {
	g.of.mu.RLock()
	defer g.of.mu.RUnlock()
	if g.of.handle == nil {
		return State{}, ErrClosed
	}
	var raw C.tvmgo_nvml_state
	C.tvmgo_nvml_read(&g.of.calls, g.at, &raw)
	for i, call := range []string{"nvmlDeviceGetClockInfo", "nvmlDeviceGetClockInfo", "nvmlDeviceGetTemperature",
		"nvmlDeviceGetPowerUsage", "nvmlDeviceGetCurrentClocksEventReasons"} {
		if err := g.of.check(call, raw.codes[i]); errors.Is(err, ErrLost) {
			return State{}, err
		}
	}
	value := func(i int, v, divisor float64) *float64 {
		if raw.codes[i] != 0 {
			return nil
		}
		v /= divisor
		return &v
	}
	s := State{ClockMHz: value(0, float64(raw.sm_mhz), 1), MemoryClockMHz: value(1, float64(raw.memory_mhz), 1),
		Celsius: value(2, float64(raw.celsius), 1), Watts: value(3, float64(raw.milliwatts), 1000)}
	if raw.codes[4] == 0 {
		s.Throttled = reasons(uint64(raw.reasons))
	}
	return s, nil
}

// words are the reasons of NVML, by their bits; "" if a GPU without work has them.
var words = []string{"", "Applications Clocks Setting", "SW Power Cap", "HW Slowdown", "Sync Boost",
	"SW Thermal Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown", "Display Clock Setting"}

func reasons(set uint64) (list []string) {
	for ; set != 0; set &= set - 1 {
		bit := bits.TrailingZeros64(set)
		switch {
		case bit >= len(words):
			list = append(list, fmt.Sprintf("reason 0x%x", uint64(1)<<bit))
		case words[bit] != "":
			list = append(list, words[bit])
		}
	}
	return list
}
