//go:build cuda

package cuda

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../internal/core
#cgo CFLAGS: -I${SRCDIR}/../../internal/backend -I${SRCDIR}/../../internal/kernels
#cgo CFLAGS: -I${SRCDIR}/../../include -I${SRCDIR}/../../build/include
#include <stdlib.h>
#include "gobridge.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	goruntime "runtime"
	"slices"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"tvmgo/internal/dl"
	"tvmgo/internal/kernels"
	"tvmgo/runtime"
)

// oldest is the oldest supported version of the driver, in its own numbering.
const oldest = 11000

// starting is held while the devices are enumerated, because three device types may start at the same time.
var starting sync.Mutex

// tvmgoCUDAStart enumerates the devices, unless it has already succeeded.
//
//export tvmgoCUDAStart
func tvmgoCUDAStart() C.int { return guard(start) }

// tvmgoCUDARetain retains a device's primary context. The caller holds the device's lock.
//
//export tvmgoCUDARetain
func tvmgoCUDARetain(index C.int32_t) C.int { return guard(func() error { return retain(int(index)) }) }

// guard runs f for a caller in C and raises its error or panic.
func guard(f func() error) C.int {
	return C.int(kernels.Guard(func() error { return raised(f()) }))
}

// raised replaces a codeError by the error that C raises for its code. C has called the goroutine, so it stays on one
// thread.
func raised(err error) error {
	var code codeError
	if !errors.As(err, &code) {
		return err
	}
	what := C.CString(code.what)
	defer C.free(unsafe.Pointer(what))
	C.tvmgo_cu_raise_code(code.code, what)
	return kernels.Raised()
}

// codeError is an error code of the driver, and the operation that returned it.
type codeError struct {
	code C.CUresult
	what string
}

func (e codeError) Error() string { return e.what + ": " + codeText(e.code) }

// failed returns a codeError for an error of the Go binding.
func failed(err error, format string, args ...any) error {
	return codeError{codeOf(err), fmt.Sprintf(format, args...)}
}

// codeOf returns the driver's code of an error of the Go binding, which does not export the error's type.
func codeOf(err error) C.CUresult {
	for ; err != nil; err = errors.Unwrap(err) {
		if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
			return C.CUresult(v.Int())
		}
	}
	return C.CUDA_ERROR_UNKNOWN
}

// codeText returns an error code with the driver's text and name, for messages.
func codeText(code C.CUresult) string {
	if code > C.CUDA_ERROR_UNKNOWN { // internal/dl reports that the driver does not have the function
		return C.GoString(C.tvmgo_cu_code_text(code))
	}
	return fmt.Sprintf("%s (%s, %d)", C.GoString(C.tvmgo_cu_code_text(code)), C.GoString(C.tvmgo_cu_code_name(code)),
		int(code))
}

func unavailable(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrDeviceUnavailable, format, args...)
}

func start() error {
	starting.Lock()
	defer starting.Unlock()
	if loaded.Load() != nil {
		return nil
	}
	if err := dl.CUDA(); err != nil {
		return unavailable("%v", err)
	}
	// dl.CUDA has also called cuInit, but does not return its code.
	if rc := C.tvmgo_cu_init(0); rc != C.CUDA_SUCCESS {
		return noDriver(rc)
	}
	if slices.Contains(lacking(), "cuDriverGetVersion") {
		return unavailable("%s has no function cuDriverGetVersion: it is not an NVIDIA driver: install one", dl.CUDAPath())
	}
	version := cu.Version()
	if version < oldest {
		return unavailable("%s is the driver of CUDA %s, but %s is required: update the NVIDIA driver", dl.CUDAPath(),
			versionText(version), versionText(oldest))
	}
	n, err := cu.NumDevices()
	if err != nil {
		return failed(err, "count the devices of %s", dl.CUDAPath())
	}
	if n == 0 {
		return noDriver(C.CUDA_ERROR_NO_DEVICE)
	}
	d := Driver{Library: dl.CUDAPath(), Version: versionText(version), Lacks: lacking()}
	found := make([]C.cu_found, min(n, C.TVMGO_MAX_DEVICES))
	var names []*C.char
	defer func() {
		for _, p := range names {
			C.free(unsafe.Pointer(p))
		}
	}()
	text := func(s string) *C.char {
		names = append(names, C.CString(s))
		return names[len(names)-1]
	}
	for i := range found {
		name, err := describe(i, &found[i])
		why := ""
		if err != nil { // it keeps its number, so that other devices have the driver's numbers
			why = err.Error()
			d.LeftOut = append(d.LeftOut, fmt.Sprintf("cuda:%d: %s", i, why))
		}
		found[i].name, found[i].broken = text(name), text(why)
		d.Devices = append(d.Devices, name)
	}
	if len(d.LeftOut) == len(found) {
		return unavailable("%s has no usable device: %s", d.Library, d.LeftOut[0])
	}
	C.tvmgo_cu_set_devices(&found[0], C.int32_t(len(found)), C.int(version))
	loaded.Store(&d)
	return nil
}

func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// noDriver returns the error that the driver's library cannot be initialized, with advice for its code.
func noDriver(rc C.CUresult) error {
	cure := "check with nvidia-smi whether the driver works"
	switch rc {
	case C.CUDA_ERROR_NO_DEVICE:
		cure = "nvidia-smi lists the GPUs of the machine; start a container with access to them (docker run --gpus all)"
		if v, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
			cure = fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q: unset it, or name devices that nvidia-smi -L lists", v)
		}
	case C.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		cure = "the driver's library and its kernel module have different versions: reload the module, or restart the " +
			"machine; in a container, use the host's library"
	case C.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
		cure = "the library of a newer driver (cuda-compat) does not work with this GPU and kernel module: remove it from " +
			"the library path, or update the driver"
	case C.CUDA_ERROR_STUB_LIBRARY:
		cure = "this is the stub library for linking programs: remove its folder from LD_LIBRARY_PATH, or install the " +
			"NVIDIA driver"
	case C.CUDA_ERROR_SYSTEM_NOT_READY:
		cure = "a service that the GPUs need is not running: start nvidia-fabricmanager, or wait for it"
	case C.CUDA_ERROR_MPS_CONNECTION_FAILED:
		cure = "start nvidia-cuda-mps-control, or unset CUDA_MPS_PIPE_DIRECTORY"
	case C.CUDA_ERROR_UNKNOWN:
		cure = "the device files may be missing (ls /dev/nvidia*; nvidia-modprobe -u creates them), or the machine needs a " +
			"restart"
	}
	return unavailable("%s was opened, but cannot be initialized: %s: %s", dl.CUDAPath(), codeText(rc), cure)
}

// describe queries the properties of a device and returns its name.
func describe(index int, f *C.cu_found) (string, error) {
	dev, err := cu.GetDevice(index)
	if err != nil {
		return "", failed(err, "open")
	}
	f.id = C.CUdevice(dev)
	name, err := dev.Name()
	if err != nil {
		return "", failed(err, "query its name")
	}
	total, err := dev.TotalMem()
	if err != nil {
		return name, failed(err, "query its memory")
	}
	f.total_bytes = C.size_t(total)
	for _, a := range []struct {
		what cu.DeviceAttribute
		to   *C.int
		late bool // drivers of CUDA 11.0 do not know the attribute
	}{
		{cu.ComputeCapabilityMajor, &f.major, false},
		{cu.ComputeCapabilityMinor, &f.minor, false},
		{cu.MaxThreadsPerBlock, &f.max_block, false},
		{cu.MaxBlockDimX, &f.max_threads[0], false},
		{cu.MaxBlockDimY, &f.max_threads[1], false},
		{cu.MaxBlockDimZ, &f.max_threads[2], false},
		{cu.MaxGridDimX, &f.max_grid[0], false},
		{cu.MaxGridDimY, &f.max_grid[1], false},
		{cu.MaxGridDimZ, &f.max_grid[2], false},
		{cu.MaxSharedMemoryPerBlock, &f.max_shared, false},
		{C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &f.max_shared_optin, false},
		{C.CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &f.cooperative, false},
		{cu.ManagedMemory, &f.managed, false},
		{C.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &f.pools, true},
		{C.CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &f.clusters, true},
	} {
		v, err := dev.Attribute(a.what)
		if err != nil && !a.late {
			return name, failed(err, "query its attribute %d", int(a.what))
		}
		if err == nil {
			*a.to = C.int(v)
		}
	}
	return name, nil
}

// retain retains a device's primary context. It does not change the thread's current context.
func retain(index int) error {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	dev, err := cu.GetDevice(index)
	if err != nil {
		return failed(err, "open cuda:%d", index)
	}
	before, err := cu.CurrentContext()
	if err != nil {
		return failed(err, "start cuda:%d", index)
	}
	context, err := dev.RetainPrimaryCtx()
	if err != nil {
		return failed(err, "start cuda:%d: retain its primary context", index)
	}
	defer func() { _ = cu.SetCurrentContext(before) }()
	err = cu.SetCurrentContext(context)
	if err == nil {
		if rc := C.tvmgo_cu_store_context(C.int32_t(index)); rc != C.CUDA_SUCCESS {
			err = codeError{rc, ""}
		}
	}
	if err != nil {
		_ = dev.ReleasePrimaryCtx()
		if code, ok := err.(codeError); ok {
			return codeError{code.code, fmt.Sprintf("start cuda:%d", index)}
		}
		return failed(err, "start cuda:%d", index)
	}
	return nil
}

// Renew creates a new context of a device whose primary context other code of the process has reset (cudaDeviceReset,
// cuDevicePrimaryCtxReset), which errors of the device report. All memory, streams, events and graphs of the old
// context are lost: they can be closed, but not used. Modules are loaded again at their next use. No other call may use
// the device during Renew. It returns ErrInvalidArgument if the context was not reset. In C and Python, it is the
// global function tvmgo.cuda.renew.
func Renew(index int) error {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if C.tvmgo_cu_renew(C.int32_t(index)) == 0 {
		return nil
	}
	return kernels.Raised()
}

// Trim returns memory that a device holds for stream-ordered allocations, and that is not in use, to the driver. It
// returns the number of bytes.
func Trim(index int) (int64, error) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	var freed C.int64_t
	if C.tvmgo_cu_trim_device(C.int32_t(index), &freed) == 0 {
		return int64(freed), nil
	}
	return 0, kernels.Raised()
}
