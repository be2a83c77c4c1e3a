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

// oldest is the first driver that will do, as the driver numbers versions.
const oldest = 11000

// starting is held while the devices are found: three device types ask for them.
var starting sync.Mutex

// tvmgoCUDAStart finds the devices, once with success.
//
//export tvmgoCUDAStart
func tvmgoCUDAStart() C.int { return guard(start) }

// tvmgoCUDARetain makes a device's primary context; the caller holds the device's lock.
//
//export tvmgoCUDARetain
func tvmgoCUDARetain(index C.int32_t) C.int { return guard(func() error { return retain(int(index)) }) }

// guard runs f for C and raises its error or panic.
func guard(f func() error) C.int {
	return C.int(kernels.Guard(func() error { return raised(f()) }))
}

// raised turns a code of the driver in an error into the error that C makes of it. The goroutine was called by C, so it
// stays on one thread.
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

// codeError is what the driver answered to something.
type codeError struct {
	code C.CUresult
	what string
}

func (e codeError) Error() string { return e.what + ": " + codeText(e.code) }

// failed makes an error of one of the binding's.
func failed(err error, format string, args ...any) error {
	return codeError{codeOf(err), fmt.Sprintf(format, args...)}
}

// codeOf is the driver's number of an error of the binding, whose type is its own affair.
func codeOf(err error) C.CUresult {
	for ; err != nil; err = errors.Unwrap(err) {
		if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
			return C.CUresult(v.Int())
		}
	}
	return C.CUDA_ERROR_UNKNOWN
}

// codeText is a code as messages show it, in the driver's words.
func codeText(code C.CUresult) string {
	if code > C.CUDA_ERROR_UNKNOWN { // the driver lacks the function
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
	// Opening has called it as well; what it answers now, it answered then, or the machine has changed.
	if rc := C.tvmgo_cu_init(0); rc != C.CUDA_SUCCESS {
		return noDriver(rc)
	}
	if slices.Contains(lacking(), "cuDriverGetVersion") {
		return unavailable("%s has no function cuDriverGetVersion: it is no driver of NVIDIA's: install one", dl.CUDAPath())
	}
	version := cu.Version()
	if version < oldest {
		return unavailable("%s is the driver of CUDA %s, and %s is needed: update NVIDIA's driver", dl.CUDAPath(),
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
		if err != nil { // it keeps its number, which others rely on
			why = err.Error()
			d.LeftOut = append(d.LeftOut, fmt.Sprintf("cuda:%d: %s", i, why))
		}
		found[i].name, found[i].broken = text(name), text(why)
		d.Devices = append(d.Devices, name)
	}
	if len(d.LeftOut) == len(found) {
		return unavailable("%s has no device that can be used: %s", d.Library, d.LeftOut[0])
	}
	C.tvmgo_cu_set_devices(&found[0], C.int32_t(len(found)), C.int(version))
	loaded.Store(&d)
	return nil
}

func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// noDriver says why the driver, which is there, cannot begin, and what helps.
func noDriver(rc C.CUresult) error {
	cure := "nvidia-smi says whether the driver works"
	switch rc {
	case C.CUDA_ERROR_NO_DEVICE:
		cure = "nvidia-smi lists the GPUs that there are; a container must be started with them (docker run --gpus all)"
		if v, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
			cure = fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q: take it away, or name devices that nvidia-smi -L lists", v)
		}
	case C.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		cure = "the driver's library and its kernel module are of different versions: load the module anew, or restart the " +
			"machine; in a container, take the host's library"
	case C.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
		cure = "the library of a newer driver (cuda-compat) does not work with this GPU and kernel module: take it out of " +
			"the library path, or update the driver"
	case C.CUDA_ERROR_STUB_LIBRARY:
		cure = "this is the stub that programs are linked with: take its folder out of LD_LIBRARY_PATH, or install " +
			"NVIDIA's driver"
	case C.CUDA_ERROR_SYSTEM_NOT_READY:
		cure = "a service that the GPUs need does not run yet: start nvidia-fabricmanager, or wait for it"
	case C.CUDA_ERROR_MPS_CONNECTION_FAILED:
		cure = "start nvidia-cuda-mps-control, or take CUDA_MPS_PIPE_DIRECTORY away"
	case C.CUDA_ERROR_UNKNOWN:
		cure = "the device files may be missing (ls /dev/nvidia*; nvidia-modprobe -u makes them), or the machine needs a " +
			"restart"
	}
	return unavailable("%s was opened and cannot begin: %s: %s", dl.CUDAPath(), codeText(rc), cure)
}

// describe asks for what the device interface needs at hand.
func describe(index int, f *C.cu_found) (string, error) {
	dev, err := cu.GetDevice(index)
	if err != nil {
		return "", failed(err, "open")
	}
	f.id = C.CUdevice(dev)
	name, err := dev.Name()
	if err != nil {
		return "", failed(err, "ask its name")
	}
	total, err := dev.TotalMem()
	if err != nil {
		return name, failed(err, "ask its memory")
	}
	f.total_bytes = C.size_t(total)
	for _, a := range []struct {
		what cu.DeviceAttribute
		to   *C.int
		late bool // drivers of CUDA 11.0 don't know it
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
			return name, failed(err, "ask its attribute %d", int(a.what))
		}
		if err == nil {
			*a.to = C.int(v)
		}
	}
	return name, nil
}

// retain makes a device's primary context and leaves the thread's current one as it was.
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
		return failed(err, "start cuda:%d: make its primary context", index)
	}
	defer func() { _ = cu.SetCurrentContext(before) }()
	err = cu.SetCurrentContext(context)
	if err == nil {
		if rc := C.tvmgo_cu_take_context(C.int32_t(index)); rc != C.CUDA_SUCCESS {
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

// Renew makes a new context of a device whose primary context other code of the process has reset (cudaDeviceReset,
// cuDevicePrimaryCtxReset); errors of the device say so. All memory, streams, events, graphs and loaded kernels of the
// device were gone with the old one: what is left of them here can be closed, and no more, but for modules, which are
// loaded again when they are next used. Nothing may be in use on the device meanwhile. ErrInvalidArgument when the
// context in use was not reset. C and Python call it as the global function tvmgo.cuda.renew.
func Renew(index int) error {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if C.tvmgo_cu_renew(C.int32_t(index)) == 0 {
		return nil
	}
	return kernels.Raised()
}

// Trim gives back to the driver what memory a device holds for stream-ordered allocations and nobody uses, and says
// how many bytes that were.
func Trim(index int) (int64, error) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	var freed C.int64_t
	if C.tvmgo_cu_trim_device(C.int32_t(index), &freed) == 0 {
		return int64(freed), nil
	}
	return 0, kernels.Raised()
}
