package kernels

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../core -I${SRCDIR}/../../include
#include <stdlib.h>
#include "kernels.h"
*/
import "C"

import (
	"slices"
	"strings"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/launch"
	"tvmgo/runtime"
)

// Device says what a kind of device can take.
type Device struct {
	Title      string // "OpenCL"
	TensorMaps bool
	Clusters   bool // and shared memory by its size, grids in step, and launches that overlap with what is before them
}

// Flags are launch parameters without a value.
type Flags struct{ Programmatic, Cooperative bool }

// Corrupt makes an error of a damaged module.
func Corrupt(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrCorruptModule, format, args...)
}

// NotSupported makes an error of what a device does not support.
func NotSupported(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrNotSupported, format, args...)
}

// Describe tells C what a call of kernel i of a module (a tvmgo_kernels) looks like.
func (d Device) Describe(module unsafe.Pointer, i int, f *blob.Function) (Flags, error) {
	args, err := d.argKinds(f)
	if err != nil {
		return Flags{}, err
	}
	sizes, flags, err := d.launchParams(f)
	if err != nil {
		return Flags{}, err
	}
	if strings.IndexByte(f.Key+f.Name, 0) >= 0 {
		return Flags{}, Corrupt("kernel %q: the name has a zero byte inside", f.Key)
	}
	name, symbol := C.CString(f.Key), C.CString(f.Name)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(symbol))
	names := C.CString(sizeNames(sizes))
	defer C.free(unsafe.Pointer(names))
	rc := C.tvmgo_kernel_describe((*C.tvmgo_kernels)(module), C.int32_t(i), name, symbol, (*C.uint8_t)(unsafe.SliceData(args)), C.int32_t(len(args)),
		(*C.uint8_t)(unsafe.SliceData(sizes)), C.int32_t(len(sizes)), names)
	if rc != 0 {
		return Flags{}, Raised()
	}
	return flags, nil
}

// argKinds checks the types of a kernel's arguments (docs/abi.md D.2).
func (d Device) argKinds(f *blob.Function) ([]uint8, error) {
	if len(f.ArgTypes) > C.TVMGO_MAX_KERNEL_ARGS {
		return nil, Corrupt("kernel %s has %d arguments, more than %d", f.Key, len(f.ArgTypes), int(C.TVMGO_MAX_KERNEL_ARGS))
	}
	kinds := make([]uint8, len(f.ArgTypes))
	for i, t := range f.ArgTypes {
		switch {
		case t.Code == dlpack.CodeHandle && t.Lanes == 1:
			kinds[i] = C.TVMGO_ARG_MEMORY
		case t == dlpack.Int64:
			kinds[i] = C.TVMGO_ARG_INT64
		case t == dlpack.Int32:
			kinds[i] = C.TVMGO_ARG_INT32
		case t == dlpack.UInt32:
			kinds[i] = C.TVMGO_ARG_UINT32
		case t == dlpack.Float64:
			kinds[i] = C.TVMGO_ARG_FLOAT64
		case t == dlpack.Float32:
			kinds[i] = C.TVMGO_ARG_FLOAT32
		default:
			return nil, NotSupported("kernel %s: argument %d is of type %v: kernels take handle, int64, int32, uint32, float64 and float32", f.Key, i, t)
		}
		if i >= len(f.ArgExtraTags) || f.ArgExtraTags[i] == blob.ExtraTagNone {
			continue
		}
		switch {
		case f.ArgExtraTags[i] != blob.ExtraTagTensorMap:
			return nil, NotSupported("kernel %s: argument %d has the tag %d, which nothing here knows", f.Key, i, f.ArgExtraTags[i])
		case !d.TensorMaps:
			return nil, NotSupported("kernel %s: argument %d is a tensor map, which %s does not have", f.Key, i, d.Title)
		case kinds[i] != C.TVMGO_ARG_MEMORY:
			return nil, Corrupt("kernel %s: argument %d is a tensor map, but of type %v: handle is needed", f.Key, i, t)
		}
		kinds[i] = C.TVMGO_ARG_TENSOR_MAP
	}
	return kinds, nil
}

// launchParams are the values of a launch that follow the arguments, and what else it is to be (docs/abi.md D.2).
func (d Device) launchParams(f *blob.Function) (values []uint8, flags Flags, err error) {
	for i, tag := range f.LaunchParamTags {
		name := launch.Canonical(tag)
		slot := slices.Index(launch.Tags, name)
		switch {
		case slot == launch.Shared && d.Clusters && i != len(f.LaunchParamTags)-1:
			return nil, flags, Corrupt("kernel %s: launch parameter %q must be the last", f.Key, tag)
		case slot >= 0 && (slot < launch.Cluster || d.Clusters):
		case d.Clusters && name == launch.Programmatic && !flags.Programmatic:
			flags.Programmatic = true
			continue
		case d.Clusters && name == launch.Cooperative && !flags.Cooperative:
			flags.Cooperative = true
			continue
		case flags.Programmatic && name == launch.Programmatic || flags.Cooperative && name == launch.Cooperative:
			return nil, flags, Corrupt("kernel %s: launch parameter %q comes twice", f.Key, tag)
		default:
			return nil, flags, NotSupported("kernel %s: launch parameter %q: on %s there are %s", f.Key, tag, d.Title, strings.Join(d.tags(), ", "))
		}
		if slices.Contains(values, uint8(slot)) {
			return nil, flags, Corrupt("kernel %s: launch parameter %q comes twice", f.Key, tag)
		}
		values = append(values, uint8(slot))
	}
	return values, flags, nil
}

// sizeNames lists launch parameters for people, with commas between.
func sizeNames(sizes []uint8) string {
	names := make([]string, len(sizes))
	for i, slot := range sizes {
		if names[i] = launch.Tags[slot]; slot == launch.Shared {
			names[i] = "bytes of shared memory"
		}
	}
	return strings.Join(names, ", ")
}

// tags are the launch parameters that the device has.
func (d Device) tags() []string {
	if !d.Clusters {
		return launch.Tags[:launch.Cluster]
	}
	return append(slices.Clone(launch.Tags), launch.Programmatic, launch.Cooperative)
}

// Raised takes the error that C raised on this thread.
func Raised() error {
	var kind *C.char
	text := C.tvmgo_take_error_text(&kind)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(kind))
	code := C.GoString(kind)
	return &runtime.Error{Kind: runtime.KindOf(code), Code: code, Message: C.GoString(text)}
}
