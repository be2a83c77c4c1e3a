package runtime

// Devices that are written in Go. The table by which C calls one is in deviceshim_gen.c and deviceshim_gen.go, which
// build/gen/deviceshim writes from include/tvmgo/device_api.h and deviceapi.go.

/*
#include <stdlib.h>
#include "bridge/bridge.h"

int tvmgoDeviceCreate(void* ctx, TVMGODeviceAPI** out);
TVMGODeviceAPI* tvmgo_shim_table(uintptr_t self, int can);

static inline int shim_create(void* ctx, const TVMGODeviceAPI** out) {
	return tvmgo_enter_go("a device written in Go") != 0 ? -1 : tvmgoDeviceCreate(ctx, (TVMGODeviceAPI**)out);
}

static inline tvmgo_ret shim_register(int32_t type, const char* name, char** aliases, void* table, uintptr_t ctx) {
	TVMGODeviceSpec spec = {sizeof spec, type, name, (const char* const*)aliases, table,
	                        table == NULL ? shim_create : NULL, (void*)ctx};
	tvmgo_ret r = {0, 0};
	if (TVMGODeviceAPIRegister(&spec) != 0) r.err = (uintptr_t)tvmgo_error_take();
	return r;
}
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// RegisterDeviceAPI makes a kind of device known to Go (by its names in package dlpack), to C, and to modules (as
// "device_api.<name>"). A number or a name that is in use is ErrInvalidArgument. The registration lasts as long as the
// process.
func RegisterDeviceAPI(spec DeviceSpec) error {
	op := "register device " + spec.Name
	if (spec.New == nil) == (spec.Table == nil) {
		return fault.New(op, ErrInvalidArgument, "exactly one of New and Table is needed")
	}
	if !spec.Type.Known() {
		if err := dlpack.RegisterDeviceType(spec.Type, spec.Name, spec.Aliases...); err != nil {
			return fault.New(op, ErrInvalidArgument, "%v", err)
		}
	}
	name := C.CString(spec.Name)
	defer C.free(unsafe.Pointer(name))
	aliases := cStrings(spec.Aliases)
	defer freeStrings(aliases, len(spec.Aliases))
	var ctx cgo.Handle
	if spec.New != nil {
		ctx = cgo.NewHandle(spec)
	}
	_, err := result(op, C.shim_register(C.int32_t(spec.Type), name, aliases, spec.Table, C.uintptr_t(ctx)))
	if err != nil && ctx != 0 {
		ctx.Delete()
	}
	return err
}

// cStrings copies strings into a NULL-terminated C array.
func cStrings(list []string) **C.char {
	p := (**C.char)(C.calloc(C.size_t(len(list)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, s := range list {
		unsafe.Slice(p, len(list))[i] = C.CString(s)
	}
	return p
}

func freeStrings(p **C.char, n int) {
	for _, s := range unsafe.Slice(p, n) {
		C.free(unsafe.Pointer(s))
	}
	C.free(unsafe.Pointer(p))
}

//export tvmgoDeviceCreate
func tvmgoDeviceCreate(ctx unsafe.Pointer, out **C.TVMGODeviceAPI) C.int {
	return guard(func() error {
		spec := cgo.Handle(uintptr(ctx)).Value().(DeviceSpec)
		dev, err := spec.New()
		if err != nil {
			return err
		}
		if dev == nil {
			return fault.New("", ErrFailed, "its constructor gave no device")
		}
		h := cgo.NewHandle(dev) // kept as long as the process, like the table
		*out = C.tvmgo_shim_table(C.uintptr_t(h), abilities(dev))
		if *out == nil {
			h.Delete()
			return fault.New("", ErrOutOfMemory, "no memory for the table")
		}
		if r, ok := dev.(DriverReporter); ok {
			RegisterDriverReport(spec.Type, r.DriverReport)
		}
		return nil
	})
}

// on runs f on the Go value behind a handle.
func on[T any](h C.uintptr_t, f func(T) error) C.int {
	return guard(func() error { return f(cgo.Handle(h).Value().(T)) })
}

func goType(t C.DLDataType) dlpack.DataType {
	return dlpack.DataType{Code: uint8(t.code), Bits: uint8(t.bits), Lanes: uint16(t.lanes)}
}

func goStream(s unsafe.Pointer) StreamHandle { return StreamHandle(uintptr(s)) }

func goShape(shape *C.int64_t, ndim C.int32_t) []int64 {
	return append([]int64{}, unsafe.Slice((*int64)(unsafe.Pointer(shape)), int(ndim))...)
}

// goView copies the description of a tensor; its data stays where it is.
func goView(t *C.DLTensor) dlpack.Tensor {
	v := dlpack.Tensor{
		Data:       uintptr(t.data),
		Device:     dlpack.Device{Type: dlpack.DeviceType(t.device.device_type), ID: int32(t.device.device_id)},
		DType:      goType(t.dtype),
		Shape:      goShape(t.shape, t.ndim),
		ByteOffset: uint64(t.byte_offset),
	}
	if t.strides != nil {
		v.Strides = goShape(t.strides, t.ndim)
	}
	return v
}

// giveHandle stores a Go value for C, as a handle.
func giveHandle[T any](v T, err error, out *C.uintptr_t) error {
	if err == nil {
		*out = C.uintptr_t(cgo.NewHandle(v))
	}
	return err
}

// giveMemory stores an address for C.
func giveMemory(p unsafe.Pointer, err error, out *unsafe.Pointer) error {
	if err == nil {
		*out = p
	}
	return err
}

func giveStream(s StreamHandle, err error, out *unsafe.Pointer) error {
	return giveMemory(object(s).pointer(), err, out)
}

// giveStats fills in the fields that the caller knows.
func giveStats(s MemoryStats, err error, out *C.TVMGOMemoryStats) error {
	if err != nil {
		return err
	}
	full := C.TVMGOMemoryStats{
		struct_size: out.struct_size,
		total_bytes: C.int64_t(s.Total), free_bytes: C.int64_t(s.Free),
		data_bytes: C.int64_t(s.Data), data_peak_bytes: C.int64_t(s.DataPeak), data_count: C.int64_t(s.DataCount),
		workspace_bytes: C.int64_t(s.Workspace), workspace_in_use_bytes: C.int64_t(s.WorkspaceInUse),
		pinned_bytes: C.int64_t(s.Pinned),
	}
	n := min(int(out.struct_size), int(unsafe.Sizeof(full)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(out)), n), unsafe.Slice((*byte)(unsafe.Pointer(&full)), n))
	return nil
}

// checkAlignment checks what C asks for, so that devices need not.
func checkAlignment(alignment C.size_t) error {
	if alignment != 0 && alignment&(alignment-1) == 0 {
		return nil
	}
	return fault.New("allocate", ErrInvalidArgument, "alignment %d is not a power of two", uint64(alignment))
}

func giveAttr(v any, err error, out *C.TVMFFIAny) error {
	if err != nil {
		return err
	}
	return giveValue(v, (*anyValue)(unsafe.Pointer(out)))
}

//export tvmgo_shim_capture_end
func tvmgo_shim_capture_end(dev C.uintptr_t, id C.int32_t, stream unsafe.Pointer, graph *C.uintptr_t) C.int {
	return on(dev, func(d GraphCapturer) error {
		g, err := d.EndCapture(int(id), goStream(stream), graph == nil)
		if err != nil || graph == nil {
			return err
		}
		if g == nil {
			return fault.New("", ErrFailed, "the device gave no graph")
		}
		return giveHandle(g, nil, graph)
	})
}
