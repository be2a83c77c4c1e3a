package runtime

/*
#include "bridge.h"
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"tvmgo/dlpack"
)

// The functions below are the table of a device written in Go, as C calls it (deviceshim.go). dev,
// timer, event and graph are handles of the Go values.

// on runs f on the Go value behind a handle.
func on[T any](h C.uintptr_t, f func(T) error) C.int {
	return guard(func() error { return f(cgo.Handle(h).Value().(T)) })
}

func goType(t C.DLDataType) dlpack.DataType {
	return dlpack.DataType{Code: uint8(t.code), Bits: uint8(t.bits), Lanes: uint16(t.lanes)}
}

func goStream(s unsafe.Pointer) StreamHandle { return StreamHandle(uintptr(s)) }

// goView copies the description of a tensor; its data stays where it is.
func goView(t *C.DLTensor) dlpack.Tensor {
	v := dlpack.Tensor{
		Data:       uintptr(t.data),
		Device:     dlpack.Device{Type: dlpack.DeviceType(t.device.device_type), ID: int32(t.device.device_id)},
		DType:      goType(t.dtype),
		Shape:      append([]int64{}, unsafe.Slice((*int64)(unsafe.Pointer(t.shape)), int(t.ndim))...),
		ByteOffset: uint64(t.byte_offset),
	}
	if t.strides != nil {
		v.Strides = append([]int64{}, unsafe.Slice((*int64)(unsafe.Pointer(t.strides)), int(t.ndim))...)
	}
	return v
}

// keep stores a Go value for C, as a handle.
func keep[T any](v T, err error, out *C.uintptr_t) error {
	if err == nil {
		*out = C.uintptr_t(cgo.NewHandle(v))
	}
	return err
}

// memory stores an address for C.
func memory(p unsafe.Pointer, err error, out *unsafe.Pointer) error {
	if err == nil {
		*out = p
	}
	return err
}

// checkAlignment spares devices a check of what C may ask for.
func checkAlignment(alignment C.size_t) error {
	if alignment != 0 && alignment&(alignment-1) == 0 {
		return nil
	}
	return fail("allocate", ErrInvalidArgument, "alignment %d is not a power of two", uint64(alignment))
}

func giveAttr(v any, err error, out *C.TVMFFIAny) error {
	if err != nil {
		return err
	}
	return giveValue(v, (*anyValue)(unsafe.Pointer(out)))
}

//export tvmgoDeviceSet
func tvmgoDeviceSet(dev C.uintptr_t, id C.int32_t) C.int {
	return on(dev, func(d DeviceAPI) error {
		return d.SetDevice(int(id))
	})
}

//export tvmgoDeviceAlloc
func tvmgoDeviceAlloc(dev C.uintptr_t, id C.int32_t, nbytes, alignment C.size_t, hint C.DLDataType, out *unsafe.Pointer) C.int {
	return on(dev, func(d DeviceAPI) error {
		if err := checkAlignment(alignment); err != nil {
			return err
		}
		p, err := d.AllocDataSpace(int(id), uintptr(nbytes), uintptr(alignment), goType(hint))
		return memory(p, err, out)
	})
}

//export tvmgoDeviceFree
func tvmgoDeviceFree(dev C.uintptr_t, id C.int32_t, p unsafe.Pointer) C.int {
	return on(dev, func(d DeviceAPI) error {
		return d.FreeDataSpace(int(id), p)
	})
}

//export tvmgoDeviceCopy
func tvmgoDeviceCopy(dev C.uintptr_t, from, to *C.DLTensor, stream unsafe.Pointer) C.int {
	return on(dev, func(d DeviceAPI) error {
		return d.CopyDataFromTo(goView(from), goView(to), goStream(stream))
	})
}

//export tvmgoDeviceSync
func tvmgoDeviceSync(dev C.uintptr_t, id C.int32_t, stream unsafe.Pointer) C.int {
	return on(dev, func(d DeviceAPI) error {
		return d.StreamSync(int(id), goStream(stream))
	})
}

//export tvmgoDeviceStreamCreate
func tvmgoDeviceStreamCreate(dev C.uintptr_t, id C.int32_t, out *unsafe.Pointer) C.int {
	return on(dev, func(d StreamAPI) error {
		s, err := d.CreateStream(int(id))
		return memory(object(s).pointer(), err, out)
	})
}

//export tvmgoDeviceStreamPriorities
func tvmgoDeviceStreamPriorities(dev C.uintptr_t, id C.int32_t, least, greatest *C.int32_t) C.int {
	return on(dev, func(d StreamPrioritizer) error {
		low, high, err := d.StreamPriorityRange(int(id))
		if err == nil {
			*least, *greatest = C.int32_t(low), C.int32_t(high)
		}
		return err
	})
}

//export tvmgoDeviceStreamUrgent
func tvmgoDeviceStreamUrgent(dev C.uintptr_t, id, priority C.int32_t, out *unsafe.Pointer) C.int {
	return on(dev, func(d StreamPrioritizer) error {
		s, err := d.CreateStreamWithPriority(int(id), int(priority))
		return memory(object(s).pointer(), err, out)
	})
}

//export tvmgoDeviceStreamFree
func tvmgoDeviceStreamFree(dev C.uintptr_t, id C.int32_t, stream unsafe.Pointer) C.int {
	return on(dev, func(d StreamAPI) error {
		return d.FreeStream(int(id), goStream(stream))
	})
}

//export tvmgoDeviceStreamSet
func tvmgoDeviceStreamSet(dev C.uintptr_t, id C.int32_t, stream unsafe.Pointer) C.int {
	return on(dev, func(d StreamAPI) error {
		return d.SetStream(int(id), goStream(stream))
	})
}

//export tvmgoDeviceStreamOrder
func tvmgoDeviceStreamOrder(dev C.uintptr_t, id C.int32_t, src, dst unsafe.Pointer) C.int {
	return on(dev, func(d StreamAPI) error {
		return d.SyncStreamFromTo(int(id), goStream(src), goStream(dst))
	})
}

//export tvmgoDeviceWorkspace
func tvmgoDeviceWorkspace(dev C.uintptr_t, id C.int32_t, nbytes C.size_t, hint C.DLDataType, stream unsafe.Pointer, out *unsafe.Pointer) C.int {
	return on(dev, func(d WorkspaceAPI) error {
		p, err := d.AllocWorkspace(int(id), uintptr(nbytes), goType(hint), goStream(stream))
		return memory(p, err, out)
	})
}

//export tvmgoDeviceWorkspaceFree
func tvmgoDeviceWorkspaceFree(dev C.uintptr_t, id C.int32_t, p unsafe.Pointer) C.int {
	return on(dev, func(d WorkspaceAPI) error {
		return d.FreeWorkspace(int(id), p)
	})
}

//export tvmgoDeviceScoped
func tvmgoDeviceScoped(dev C.uintptr_t, id, ndim C.int32_t, shape *C.int64_t, dtype C.DLDataType, scope *C.char, out *unsafe.Pointer) C.int {
	return on(dev, func(d ScopedAllocator) error {
		dims := append([]int64{}, unsafe.Slice((*int64)(unsafe.Pointer(shape)), int(ndim))...)
		p, err := d.AllocDataSpaceWithScope(int(id), dims, goType(dtype), C.GoString(scope))
		return memory(p, err, out)
	})
}

//export tvmgoDeviceTimer
func tvmgoDeviceTimer(dev C.uintptr_t, id C.int32_t, out *C.uintptr_t) C.int {
	return on(dev, func(d TimerAPI) error {
		t, err := d.CreateTimer(int(id))
		return keep(t, err, out)
	})
}

//export tvmgoTimerMark
func tvmgoTimerMark(timer C.uintptr_t, stream unsafe.Pointer, stop C.int) C.int {
	return on(timer, func(d DeviceTimer) error {
		if stop != 0 {
			return d.Stop(goStream(stream))
		}
		return d.Start(goStream(stream))
	})
}

//export tvmgoTimerRead
func tvmgoTimerRead(timer C.uintptr_t, ns *C.int64_t) C.int {
	return on(timer, func(d DeviceTimer) error {
		n, err := d.ElapsedNanos()
		*ns = C.int64_t(n)
		return err
	})
}

//export tvmgoTimerFree
func tvmgoTimerFree(timer C.uintptr_t) C.int {
	return on(timer, func(d DeviceTimer) error {
		cgo.Handle(timer).Delete()
		return d.Close()
	})
}

//export tvmgoDevicePinned
func tvmgoDevicePinned(dev C.uintptr_t, id C.int32_t, nbytes C.size_t, out *unsafe.Pointer) C.int {
	return on(dev, func(d PinnedAllocator) error {
		p, err := d.PinnedAlloc(int(id), uintptr(nbytes))
		return memory(p, err, out)
	})
}

//export tvmgoDevicePinnedFree
func tvmgoDevicePinnedFree(dev C.uintptr_t, id C.int32_t, p unsafe.Pointer) C.int {
	return on(dev, func(d PinnedAllocator) error {
		return d.PinnedFree(int(id), p)
	})
}

//export tvmgoDeviceEvent
func tvmgoDeviceEvent(dev C.uintptr_t, id C.int32_t, out *C.uintptr_t) C.int {
	return on(dev, func(d EventAPI) error {
		e, err := d.CreateEvent(int(id))
		return keep(e, err, out)
	})
}

//export tvmgoEventMark
func tvmgoEventMark(event C.uintptr_t, stream unsafe.Pointer, wait C.int) C.int {
	return on(event, func(d DeviceEvent) error {
		if wait != 0 {
			return d.Wait(goStream(stream))
		}
		return d.Record(goStream(stream))
	})
}

//export tvmgoEventSync
func tvmgoEventSync(event C.uintptr_t) C.int {
	return on(event, func(d DeviceEvent) error {
		return d.Sync()
	})
}

//export tvmgoEventQuery
func tvmgoEventQuery(event C.uintptr_t, done *C.int32_t) C.int {
	return on(event, func(d DeviceEvent) error {
		yes, err := d.Query()
		*done = C.int32_t(cBool(yes))
		return err
	})
}

//export tvmgoEventFree
func tvmgoEventFree(event C.uintptr_t) C.int {
	return on(event, func(d DeviceEvent) error {
		cgo.Handle(event).Delete()
		return d.Close()
	})
}

//export tvmgoDeviceAllocOn
func tvmgoDeviceAllocOn(dev C.uintptr_t, id C.int32_t, nbytes, alignment C.size_t, hint C.DLDataType, stream unsafe.Pointer, out *unsafe.Pointer) C.int {
	return on(dev, func(d StreamAllocator) error {
		if err := checkAlignment(alignment); err != nil {
			return err
		}
		p, err := d.AllocOnStream(int(id), uintptr(nbytes), uintptr(alignment), goType(hint), goStream(stream))
		return memory(p, err, out)
	})
}

//export tvmgoDeviceFreeOn
func tvmgoDeviceFreeOn(dev C.uintptr_t, id C.int32_t, p, stream unsafe.Pointer) C.int {
	return on(dev, func(d StreamAllocator) error {
		return d.FreeOnStream(int(id), p, goStream(stream))
	})
}

//export tvmgoDeviceCaptureBegin
func tvmgoDeviceCaptureBegin(dev C.uintptr_t, id C.int32_t, stream unsafe.Pointer) C.int {
	return on(dev, func(d GraphCapturer) error {
		return d.BeginCapture(int(id), goStream(stream))
	})
}

//export tvmgoDeviceCaptureEnd
func tvmgoDeviceCaptureEnd(dev C.uintptr_t, id C.int32_t, stream unsafe.Pointer, graph *C.uintptr_t) C.int {
	return on(dev, func(d GraphCapturer) error {
		g, err := d.EndCapture(int(id), goStream(stream), graph == nil)
		if err != nil || graph == nil {
			return err
		}
		if g == nil {
			return fail("", ErrFailed, "the device gave no graph")
		}
		return keep(g, nil, graph)
	})
}

//export tvmgoGraphLaunch
func tvmgoGraphLaunch(graph C.uintptr_t, stream unsafe.Pointer) C.int {
	return on(graph, func(g DeviceGraph) error {
		return g.Launch(goStream(stream))
	})
}

//export tvmgoGraphFree
func tvmgoGraphFree(graph C.uintptr_t) C.int {
	return on(graph, func(g DeviceGraph) error {
		cgo.Handle(graph).Delete()
		return g.Close()
	})
}

//export tvmgoDeviceAttr
func tvmgoDeviceAttr(dev C.uintptr_t, id, kind C.int32_t, out *C.TVMFFIAny) C.int {
	return on(dev, func(d DeviceAPI) error {
		v, err := d.Attr(int(id), AttrKind(kind))
		return giveAttr(v, err, out)
	})
}

//export tvmgoDeviceProperty
func tvmgoDeviceProperty(dev C.uintptr_t, id C.int32_t, name *C.char, out *C.TVMFFIAny) C.int {
	return on(dev, func(d TargetProperties) error {
		v, err := d.TargetProperty(int(id), C.GoString(name))
		return giveAttr(v, err, out)
	})
}

//export tvmgoDeviceStats
func tvmgoDeviceStats(dev C.uintptr_t, id C.int32_t, out *C.TVMGOMemoryStats) C.int {
	return on(dev, func(d MemoryReporter) error {
		s, err := d.MemoryStats(int(id))
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
		n := min(int(out.struct_size), int(unsafe.Sizeof(full))) // an older caller knows fewer fields
		copy(unsafe.Slice((*byte)(unsafe.Pointer(out)), n), unsafe.Slice((*byte)(unsafe.Pointer(&full)), n))
		return nil
	})
}
