package deviceshim

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../core -I${SRCDIR}/../../include
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
	_ "tvmgo/internal/core/bridge"
	"tvmgo/internal/fault"
	"tvmgo/internal/raise"
)

// StreamHandle is a stream as the device represents it; 0 is the default stream.
type StreamHandle uintptr

// MemoryStats is a device's report about its memory, in bytes.
type MemoryStats struct {
	Total, Free               int64
	Data, DataPeak, DataCount int64
	Workspace, WorkspaceInUse int64
	Pinned                    int64
}

// Register makes a kind of device known to the core. Either the device has a table of C functions, which lives as long
// as the process, or create makes the device when it is first used.
func Register(op string, kind dlpack.DeviceType, name string, aliases []string, table unsafe.Pointer,
	create func() (*Device, error)) error {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	list := cStrings(aliases)
	defer freeStrings(list, len(aliases))
	var ctx cgo.Handle
	if table == nil {
		ctx = cgo.NewHandle(create)
	}
	r := C.shim_register(C.int32_t(kind), cname, list, table, C.uintptr_t(ctx))
	if r.err == 0 {
		return nil
	}
	if ctx != 0 {
		ctx.Delete()
	}
	return raise.Take(op, uintptr(r.err))
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
	return C.int(raise.Guard(func() error {
		dev, err := cgo.Handle(uintptr(ctx)).Value().(func() (*Device, error))()
		if err != nil {
			return err
		}
		h := cgo.NewHandle(dev) // kept as long as the process, like the table
		*out = C.tvmgo_shim_table(C.uintptr_t(h), dev.abilities())
		if *out == nil {
			h.Delete()
			return fault.New("", fault.OutOfMemory, "no memory for the table")
		}
		return nil
	}))
}

// on runs f on the Go value behind a handle.
func on[T any](h C.uintptr_t, f func(T) error) C.int {
	return C.int(raise.Guard(func() error { return f(cgo.Handle(h).Value().(T)) }))
}

func goType(t C.DLDataType) dlpack.DataType {
	return dlpack.DataType{Code: uint8(t.code), Bits: uint8(t.bits), Lanes: uint16(t.lanes)}
}

func goStream(s unsafe.Pointer) StreamHandle { return StreamHandle(uintptr(s)) }

func goShape(shape *C.int64_t, ndim C.int32_t) []int64 {
	return append([]int64{}, unsafe.Slice((*int64)(unsafe.Pointer(shape)), int(ndim))...)
}

// goView makes a view of a tensor: it copies the description, but not the data.
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
	return giveMemory(*(*unsafe.Pointer)(unsafe.Pointer(&s)), err, out)
}

// giveStats fills in the fields that fit into the caller's structure.
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

// checkAlignment checks the alignment that C requests, so that devices need not.
func checkAlignment(alignment C.size_t) error {
	if alignment != 0 && alignment&(alignment-1) == 0 {
		return nil
	}
	return fault.New("allocate", fault.InvalidArgument, "alignment %d is not a power of two", uint64(alignment))
}

func (d *Device) giveAttr(v any, err error, out *C.TVMFFIAny) error {
	if err != nil {
		return err
	}
	return d.Give(v, unsafe.Pointer(out))
}

//export tvmgo_shim_capture_end
func tvmgo_shim_capture_end(dev C.uintptr_t, id C.int32_t, stream unsafe.Pointer, graph *C.uintptr_t) C.int {
	return on(dev, func(d *Device) error {
		g, err := d.EndCapture(int(id), goStream(stream), graph == nil)
		if err != nil || graph == nil {
			return err
		}
		if g == nil {
			return fault.New("", fault.Failed, "the device gave no graph")
		}
		return giveHandle(g, nil, graph)
	})
}

func cBool(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}
