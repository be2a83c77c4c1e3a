package kernels

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden
#cgo CFLAGS: -I${SRCDIR}/../core -I${SRCDIR}/../backend -I${SRCDIR}/../../include
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
	_ "tvmgo/internal/backend" // what the C files call
	"tvmgo/internal/launch"
	"tvmgo/runtime"
)

// Device describes what the kernels of one device type can use.
type Device struct {
	Title      string // "OpenCL"
	TensorMaps bool
	// Clusters says that a launch may set a cluster and the size of dynamic shared memory, may be cooperative, and may
	// use programmatic dependent launch.
	Clusters bool
	Class    unsafe.Pointer // the device type's tvmgo_kernel_class
}

// flags has the launch parameters that have no value.
type flags struct{ programmatic, cooperative bool }

// Corrupt returns an ErrCorruptModule.
func Corrupt(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrCorruptModule, format, args...)
}

// NotSupported returns an ErrNotSupported.
func NotSupported(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrNotSupported, format, args...)
}

// describe passes the description of kernel i to C.
func (d Device) describe(module *C.tvmgo_kernels, i int, f *blob.Function) error {
	args, err := d.argKinds(f)
	if err != nil {
		return err
	}
	values, flags, err := d.launchParams(f)
	if err != nil {
		return err
	}
	if strings.IndexByte(f.Key+f.Name, 0) >= 0 {
		return Corrupt("kernel %q: the name contains a zero byte", f.Key)
	}
	var texts [3]*C.char
	for i, s := range []string{f.Key, f.Name, sizeNames(values)} {
		texts[i] = C.CString(s)
		defer C.free(unsafe.Pointer(texts[i]))
	}
	lists := C.CBytes(slices.Concat(args, values))
	defer C.free(lists)
	t := C.tvmgo_kernel_type{name: texts[0], symbol: texts[1], sizes: texts[2],
		args: (*C.uint8_t)(lists), launch: (*C.uint8_t)(unsafe.Add(lists, len(args))),
		num_args: C.int32_t(len(args)), num_launch: C.int32_t(len(values)),
		programmatic: cBool(flags.programmatic), cooperative: cBool(flags.cooperative)}
	if C.tvmgo_kernel_describe(module, C.int32_t(i), &t) != 0 {
		return Raised()
	}
	return nil
}

func cBool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// argKinds checks the types of a kernel's arguments (docs/abi.md D.2) and returns a tvmgo_kernel_arg for each.
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
			return nil, NotSupported("kernel %s: argument %d is of type %v: kernels take handle, int64, int32, uint32, "+
				"float64 and float32", f.Key, i, t)
		}
		if i >= len(f.ArgExtraTags) || f.ArgExtraTags[i] == blob.ExtraTagNone {
			continue
		}
		switch {
		case f.ArgExtraTags[i] != blob.ExtraTagTensorMap:
			return nil, NotSupported("kernel %s: argument %d has the unknown tag %d", f.Key, i,
				f.ArgExtraTags[i])
		case !d.TensorMaps:
			return nil, NotSupported("kernel %s: argument %d is a tensor map, which %s does not support", f.Key, i, d.Title)
		case kinds[i] != C.TVMGO_ARG_MEMORY:
			return nil, Corrupt("kernel %s: argument %d is a tensor map of type %v: its type must be handle", f.Key, i, t)
		}
		kinds[i] = C.TVMGO_ARG_TENSOR_MAP
	}
	return kinds, nil
}

// launchParams reads a kernel's launch parameters (docs/abi.md D.2): values has the TVMGO_LAUNCH number of each value
// that follows the arguments, flags the parameters without a value.
func (d Device) launchParams(f *blob.Function) (values []uint8, flags flags, err error) {
	for i, tag := range f.LaunchParamTags {
		name := launch.Canonical(tag)
		slot := slices.Index(launch.Tags, name)
		switch {
		case slot == launch.Shared && d.Clusters && i != len(f.LaunchParamTags)-1:
			return nil, flags, Corrupt("kernel %s: launch parameter %q must be the last", f.Key, tag)
		case slot >= 0 && (slot < launch.Cluster || d.Clusters):
		case d.Clusters && name == launch.Programmatic && !flags.programmatic:
			flags.programmatic = true
			continue
		case d.Clusters && name == launch.Cooperative && !flags.cooperative:
			flags.cooperative = true
			continue
		case flags.programmatic && name == launch.Programmatic || flags.cooperative && name == launch.Cooperative:
			return nil, flags, Corrupt("kernel %s: launch parameter %q occurs twice", f.Key, tag)
		default:
			return nil, flags, NotSupported("kernel %s: launch parameter %q: %s supports %s", f.Key, tag, d.Title,
				strings.Join(d.tags(), ", "))
		}
		if slices.Contains(values, uint8(slot)) {
			return nil, flags, Corrupt("kernel %s: launch parameter %q occurs twice", f.Key, tag)
		}
		values = append(values, uint8(slot))
	}
	return values, flags, nil
}

// sizeNames returns a comma-separated list of launch parameters for messages.
func sizeNames(sizes []uint8) string {
	names := make([]string, len(sizes))
	for i, slot := range sizes {
		if names[i] = launch.Tags[slot]; slot == launch.Shared {
			names[i] = "bytes of shared memory"
		}
	}
	return strings.Join(names, ", ")
}

// tags returns the launch parameters that the device supports.
func (d Device) tags() []string {
	if !d.Clusters {
		return launch.Tags[:launch.Cluster]
	}
	return append(slices.Clone(launch.Tags), launch.Programmatic, launch.Cooperative)
}

// Raised returns and clears the error that C raised on this thread.
func Raised() error {
	var kind *C.char
	text := C.tvmgo_take_error_text(&kind)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(kind))
	code := C.GoString(kind)
	return &runtime.Error{Kind: runtime.KindOf(code), Code: code, Message: C.GoString(text)}
}
