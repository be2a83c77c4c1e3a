package runtime

import (
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/deviceshim"
	"tvmgo/internal/fault"
)

// StreamHandle is a stream in the device's own terms, a uintptr; 0 is the default stream.
type StreamHandle = deviceshim.StreamHandle

// DeviceAPI is the mandatory part of a kind of device. A device implements the optional interfaces below for its other
// capabilities. Many goroutines may call all methods at once. A device whose calls must be fast fills in a C table
// instead (include/tvmgo/device_api.h) and registers that.
type DeviceAPI interface {
	// SetDevice makes a device the thread's current one, if the API has a current device. It fails if the device does
	// not exist.
	SetDevice(id int) error
	// Attr returns an attribute as int64 or string, nil without an error if the device has no such attribute. AttrExist
	// never fails.
	Attr(id int, kind AttrKind) (any, error)
	// AllocDataSpace returns nbytes of memory (0 is allowed), aligned to a power of two. hint is
	// the type of the elements.
	AllocDataSpace(id int, nbytes, alignment uintptr, hint dlpack.DataType) (unsafe.Pointer, error)
	// FreeDataSpace frees the memory after the work that is already queued.
	FreeDataSpace(id int, p unsafe.Pointer) error
	// CopyDataFromTo queues a copy on a stream. One side is this device, the other this type of
	// device or host memory, which may be freed as soon as it returns. Both are contiguous and of the same size.
	CopyDataFromTo(from, to dlpack.Tensor, stream StreamHandle) error
	// StreamSync waits for a stream and returns the error of its work.
	StreamSync(id int, stream StreamHandle) error
}

// StreamAPI is implemented by devices with more than one queue, or with a current stream.
type StreamAPI interface {
	CreateStream(id int) (StreamHandle, error) // 0 where there is a single queue
	FreeStream(id int, s StreamHandle) error
	SetStream(id int, s StreamHandle) error // the thread's current stream has changed
	SyncStreamFromTo(id int, src, dst StreamHandle) error
}

// StreamPrioritizer is implemented by devices whose streams have priorities.
type StreamPrioritizer interface {
	// StreamPriorityRange returns the least and the most urgent priority; greatest <= least.
	StreamPriorityRange(id int) (least, greatest int, err error)
	CreateStreamWithPriority(id, priority int) (StreamHandle, error)
}

// WorkspaceAPI is implemented by devices with a pool of their own for temporary memory.
type WorkspaceAPI interface {
	AllocWorkspace(id int, nbytes uintptr, hint dlpack.DataType, s StreamHandle) (unsafe.Pointer, error)
	FreeWorkspace(id int, p unsafe.Pointer) error
}

// StreamAllocator is implemented by devices that allocate memory in the order of a stream.
type StreamAllocator interface {
	// AllocOnStream is AllocDataSpace for work that is queued on a stream from now on. It is cheap: it reuses returned
	// memory without waiting. FreeDataSpace can free it, too.
	AllocOnStream(id int, nbytes, alignment uintptr, hint dlpack.DataType, s StreamHandle) (unsafe.Pointer, error)
	// FreeOnStream frees the memory once the stream has done the work that is queued now. It returns at once.
	FreeOnStream(id int, p unsafe.Pointer, s StreamHandle) error
}

// GraphCapturer is implemented by devices that can record the work of a stream instead of executing it.
type GraphCapturer interface {
	// BeginCapture fails on a default stream that cannot be recorded, and on a stream that records already. EndCapture
	// is called on the same thread.
	BeginCapture(id int, s StreamHandle) error
	// EndCapture returns the recorded work, or discards it and returns nil. In either case the stream executes its work
	// again.
	EndCapture(id int, s StreamHandle, discard bool) (DeviceGraph, error)
}

// DeviceGraph is recorded work of a device.
type DeviceGraph interface {
	Launch(s StreamHandle) error // queues the work in its recorded order
	Close() error                // may be called while a launch is still queued
}

// ScopedAllocator is implemented by devices with storage scopes other than "global".
type ScopedAllocator interface {
	AllocDataSpaceWithScope(id int, shape []int64, dtype dlpack.DataType, scope string) (unsafe.Pointer, error)
}

// TimerAPI is implemented by devices that can measure the time of their work.
type TimerAPI interface {
	CreateTimer(id int) (DeviceTimer, error)
}

// DeviceTimer is a timer of a device; one goroutine at a time uses it.
type DeviceTimer interface {
	Start(s StreamHandle) error
	Stop(s StreamHandle) error
	ElapsedNanos() (int64, error) // waits for the stop
	Close() error
}

// EventAPI is implemented by devices with events.
type EventAPI interface {
	CreateEvent(id int) (DeviceEvent, error)
}

// DeviceEvent is a position in a stream that other streams and the host can wait for.
type DeviceEvent interface {
	Record(s StreamHandle) error
	Wait(s StreamHandle) error // lets the stream wait; an event that was never recorded blocks nothing
	Sync() error
	Query() (bool, error)
	Close() error
}

// PinnedAllocator is implemented by devices that copy faster from page-locked host memory.
type PinnedAllocator interface {
	PinnedAlloc(id int, nbytes uintptr) (unsafe.Pointer, error)
	PinnedFree(id int, p unsafe.Pointer) error
}

// MemoryReporter is implemented by devices that keep memory statistics.
type MemoryReporter interface {
	MemoryStats(id int) (MemoryStats, error)
}

// TargetProperties is implemented by devices that describe themselves to compilers.
type TargetProperties interface {
	// TargetProperty returns a limit or feature under the name of the target's option, nil if there is none with that
	// name.
	TargetProperty(id int, name string) (any, error)
}

// DeviceSpec registers a kind of device: its number, its names, and either a function or a C table that implements it.
type DeviceSpec struct {
	Type    dlpack.DeviceType // a known number, or a free n with ExtDev < n < MaxDeviceAPI
	Name    string            // "cuda": a-z, 0-9 and _
	Aliases []string

	// New makes the device at its first use. An error is returned to that caller, and the next use calls New again. New
	// is not called in a program that never uses the device.
	New func() (DeviceAPI, error)

	// Table is a C table (TVMGODeviceAPI*) that lives as long as the process, instead of New.
	Table unsafe.Pointer
}

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
	return deviceshim.Register(op, spec.Type, spec.Name, spec.Aliases, spec.Table, func() (*deviceshim.Device, error) {
		dev, err := spec.New()
		if err != nil {
			return nil, err
		}
		if dev == nil {
			return nil, fault.New("", ErrFailed, "its constructor gave no device")
		}
		if r, ok := dev.(DriverReporter); ok {
			RegisterDriverReport(spec.Type, r.DriverReport)
		}
		return methodsOf(dev), nil
	})
}

// giveAt stores a value in a TVMFFIAny.
func giveAt(v any, out unsafe.Pointer) error { return giveValue(v, (*anyValue)(out)) }
