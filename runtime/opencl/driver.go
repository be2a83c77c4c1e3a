//go:build opencl

package opencl

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../internal/core
#cgo CFLAGS: -I${SRCDIR}/../../internal/backend -I${SRCDIR}/../../internal/kernels
#cgo CFLAGS: -I${SRCDIR}/../../include -I${SRCDIR}/../../build/include
#include <stdlib.h>
#include "gobridge.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"

	"tvmgo/internal/dl"
	"tvmgo/internal/kernels"
	"tvmgo/internal/sorting"
	"tvmgo/runtime"
)

// devices has the Go binding's objects of each device, by its number. It is set before any device can be used.
var devices atomic.Pointer[[]device]

type device struct {
	platform platform
	id       cl.DeviceId
	context  cl.Context
	kind     cl.DeviceType
	name     string
	version  string // versions of OpenCL and of the driver; a cached program is used only if they are the same
}

type platform struct {
	id      cl.PlatformID
	index   int // in the loader's order
	name    string
	version string
}

func (p platform) String() string { return fmt.Sprintf("%d: %s", p.index, p.name) }

// tvmgoOpenCLStart enumerates the devices. The core calls it under a lock, and not again after it has succeeded.
//
//export tvmgoOpenCLStart
func tvmgoOpenCLStart() C.int { return guard(start) }

// guard runs f for a caller in C and raises its error or panic.
func guard(f func() error) C.int { return C.int(kernels.Guard(f)) }

func unavailable(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrDeviceUnavailable, format, args...)
}

// codeText returns an OpenCL error code with its name, for messages.
func codeText(code cl.ErrorCode) string {
	name := C.GoString(C.tvmgo_cl_code_name(C.cl_int(code)))
	if code > 0 { // not a code of OpenCL: internal/dl reports that the loader does not have the function
		return name
	}
	return fmt.Sprintf("%s (%d)", name, int(code))
}

func start() error {
	if err := dl.OpenCL(); err != nil {
		return unavailable("%v", err)
	}
	platforms, err := findPlatforms()
	if err != nil {
		return err
	}
	if platforms, err = choosePlatform(platforms, os.Getenv("TVMGO_OPENCL_PLATFORM")); err != nil {
		return err
	}
	var found []device
	left := brokenDrivers() // drivers and devices that are not used, each with the reason
	for _, p := range platforms {
		list, why := findDevices(p)
		found = append(found, list...)
		left = append(left, why...)
	}
	sorting.By(found, func(a, b device) int { return cmp.Compare(rank(a.kind), rank(b.kind)) })
	var usable []device
	for _, d := range found {
		if len(usable) == C.TVMGO_MAX_DEVICES {
			break
		}
		if err := open(&d); err != nil {
			left = append(left, err.Error())
			continue
		}
		usable = append(usable, d)
	}
	leftOut.Store(&left)
	devices.Store(&usable)
	if len(usable) == 0 {
		return unavailable("%s was opened, but reports no usable device: %s: install a driver for the device (Debian: "+
			"pocl-opencl-icd for CPUs)",
			dl.OpenCLPath(), strings.Join(left, "; "))
	}
	return nil
}

func findPlatforms() ([]platform, error) {
	var n uint32
	rc := cl.GetPlatformIDs(0, nil, &n)
	ids := make([]cl.PlatformID, n)
	if rc == cl.SUCCESS && n > 0 {
		rc = cl.GetPlatformIDs(n, &ids[0], nil)
	}
	if rc != cl.SUCCESS || n == 0 {
		return nil, noDriver(dl.OpenCLPath(), codeText(rc))
	}
	var list []platform
	for i, id := range ids {
		list = append(list, platform{id, i, platformText(id, cl.PLATFORM_NAME), platformText(id, cl.PLATFORM_VERSION)})
	}
	return list, nil
}

// choosePlatform selects the platforms that match wanted, a number or a part of a name; all if it is empty.
func choosePlatform(all []platform, wanted string) ([]platform, error) {
	if wanted == "" {
		return all, nil
	}
	var list []platform
	n, err := strconv.Atoi(wanted)
	for _, p := range all {
		if (err == nil && n == p.index) || (err != nil && strings.Contains(strings.ToLower(p.name),
			strings.ToLower(wanted))) {
			list = append(list, p)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	var names []string
	for _, p := range all {
		names = append(names, p.String())
	}
	return nil, unavailable("TVMGO_OPENCL_PLATFORM is %q, which matches no platform: there are %s", wanted,
		strings.Join(names, ", "))
}

// findDevices returns a platform's usable devices, and the reasons why its other devices are not used.
func findDevices(p platform) (found []device, left []string) {
	var n uint32
	rc := cl.GetDeviceIDs(p.id, cl.DEVICE_TYPE_ALL, 0, nil, &n)
	ids := make([]cl.DeviceId, n)
	if rc == cl.SUCCESS && n > 0 {
		rc = cl.GetDeviceIDs(p.id, cl.DEVICE_TYPE_ALL, n, &ids[0], nil)
	}
	if rc != cl.SUCCESS || n == 0 {
		return nil, []string{fmt.Sprintf("platform %v: %s", p, codeText(rc))}
	}
	for _, id := range ids {
		d := device{platform: p, id: id, name: deviceText(id, cl.DEVICE_NAME)}
		version := deviceText(id, cl.DEVICE_VERSION)
		d.version = version + ", driver " + deviceText(id, cl.DRIVER_VERSION)
		var kind uint64
		var usable uint32
		rc := cl.GetDeviceInfo(id, cl.DEVICE_TYPE, 8, unsafe.Pointer(&kind), nil)
		if rc == cl.SUCCESS {
			rc = cl.GetDeviceInfo(id, cl.DEVICE_AVAILABLE, 4, unsafe.Pointer(&usable), nil)
		}
		d.kind = cl.DeviceType(kind)
		switch {
		case rc != cl.SUCCESS:
			left = append(left, fmt.Sprintf("%s: %s", d.name, codeText(rc)))
		case usable == 0:
			left = append(left, d.name+" is not available now")
		case !atLeast12(version):
			left = append(left, fmt.Sprintf("%s supports %s, but 1.2 is required", d.name, version))
		default:
			found = append(found, d)
		}
	}
	return found, left
}

// atLeast12 reports whether a version text, such as "OpenCL 3.0 PoCL HSTR", is 1.2 or newer.
func atLeast12(version string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(version, "OpenCL %d.%d", &major, &minor)
	return n == 2 && (major > 1 || minor >= 2)
}

// rank returns the position of a device type in the order GPUs, accelerators, CPUs, others.
func rank(kind cl.DeviceType) int {
	for i, k := range []cl.DeviceType{cl.DEVICE_TYPE_GPU, cl.DEVICE_TYPE_ACCELERATOR, cl.DEVICE_TYPE_CPU} {
		if kind&k != 0 {
			return i
		}
	}
	return 3
}

// open creates the context of a device and passes both to C.
func open(d *device) error {
	var rc cl.ErrorCode
	id := d.id // a copy, because cgo checks all pointers in the struct that contains an argument
	// The binding's type for properties is smaller than OpenCL's, so the array has the size that OpenCL needs.
	properties := [3]uintptr{uintptr(C.CL_CONTEXT_PLATFORM), uintptr(unsafe.Pointer(d.platform.id)), 0}
	d.context = cl.CreateContext((*cl.ContextProperties)(unsafe.Pointer(&properties)), 1, &id, nil, nil, &rc)
	if rc != cl.SUCCESS {
		return fmt.Errorf("%s: create context: %s", d.name, codeText(rc))
	}
	context, rc := rawContext(d.context, d.id)
	if rc == cl.SUCCESS {
		rc = cl.ErrorCode(C.tvmgo_cl_add_device(C.cl_platform_id(unsafe.Pointer(d.platform.id)),
			C.cl_device_id(unsafe.Pointer(d.id)), context, oneAtATime(d)))
	}
	if rc != cl.SUCCESS {
		cl.ReleaseContext(d.context)
		return fmt.Errorf("%s: %s", d.name, codeText(rc))
	}
	return nil
}

// oneAtATime returns 1 if a device's driver must not be used by two threads at once. PoCL's device "basic" runs
// commands in the threads that wait for them. With several such threads (seen in 3.1), a wait returns while another
// thread still runs the command, or two threads wait for each other forever.
func oneAtATime(d *device) C.int {
	if d.platform.name == "Portable Computing Language" && strings.HasPrefix(d.name, "basic") {
		return 1
	}
	return 0
}

// rawContext returns the cl_context of the binding's context, which does not export it. A temporary command queue of
// the context reports it.
func rawContext(context cl.Context, id cl.DeviceId) (C.cl_context, cl.ErrorCode) {
	var rc cl.ErrorCode
	q := cl.CreateCommandQueue(context, id, 0, &rc)
	if rc != cl.SUCCESS {
		return nil, rc
	}
	defer cl.ReleaseCommandQueue(q)
	var raw C.cl_context
	rc = cl.GetCommandQueueInfo(q, cl.QUEUE_CONTEXT, uint64(unsafe.Sizeof(raw)), unsafe.Pointer(&raw), nil)
	return raw, rc
}

func platformText(id cl.PlatformID, what cl.PlatformInfo) string {
	return text(func(size uint64, data unsafe.Pointer, need *uint64) cl.ErrorCode {
		return cl.GetPlatformInfo(id, what, size, data, need)
	})
}

func deviceText(id cl.DeviceId, what cl.DeviceInfo) string {
	return text(func(size uint64, data unsafe.Pointer, need *uint64) cl.ErrorCode {
		return cl.GetDeviceInfo(id, what, size, data, need)
	})
}

// text queries a text of any length; "" if the driver has none.
func text(ask func(size uint64, data unsafe.Pointer, need *uint64) cl.ErrorCode) string {
	var n uint64
	if ask(0, nil, &n) != cl.SUCCESS || n == 0 {
		return ""
	}
	b := make([]byte, n)
	if ask(n, unsafe.Pointer(&b[0]), nil) != cl.SUCCESS {
		return ""
	}
	return strings.TrimSpace(strings.TrimRight(string(b), "\x00"))
}
