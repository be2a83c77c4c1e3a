package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"time"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// NewWorkspace returns a tensor in scratch memory from a pool, for work on a stream of dev (nil: the default one).
// Close returns the memory to the pool while that work may still be queued: later work of the same stream may reuse it
// at once, work of other streams only after that work is done. Do not use the tensor on another stream. The errors are
// those of NewTensor.
func NewWorkspace(dtype dlpack.DataType, shape []int64, dev dlpack.Device, s *Stream) (*Tensor, error) {
	const op = "allocate workspace"
	place, err := s.enter(op)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	if s != nil && s.dev != dev {
		return nil, fault.New(op, ErrInvalidArgument, "the stream is one of %v, the workspace of %v", s.dev, dev)
	}
	return allocate(op, func() C.tvmgo_ret {
		return C.tvmgo_bridge_workspace_new(cDims(shape), C.int32_t(len(shape)), cType(dtype), cDevice(dev),
			place.stream)
	})
}

// NewTensor allocates a tensor, as the function NewTensor does, for work that is queued on this stream from now on.
// Neither it nor Close waits for the device, so it is cheap for memory that comes and goes with the work. The error for
// a nil stream is ErrInvalidArgument; the other errors are those of the function NewTensor.
//
// Close returns the memory once the stream has done all work queued before Close; if the stream was already closed,
// once all queued work of the device is done. Another stream may use the tensor after it waited for this one (WaitFor),
// and you may close the tensor after this stream waited for the other one. If the tensor was exported (ToDLPack), its
// memory is returned when the last consumer is done.
//
// A device without such memory allocates ordinary memory, which you may use in the same way: it is freed after the work
// of all streams.
func (s *Stream) NewTensor(dtype dlpack.DataType, shape []int64) (*Tensor, error) {
	const op = "allocate tensor"
	if s == nil {
		return nil, fault.New(op, ErrInvalidArgument,
			"the stream is nil: make one with NewStream, or use the function NewTensor")
	}
	place, err := s.enter(op)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	return allocate(op, func() C.tvmgo_ret {
		return C.tvmgo_bridge_tensor_on_stream(cDims(shape), C.int32_t(len(shape)), cType(dtype), cDevice(s.dev),
			place.stream)
	})
}

// NewPinnedTensor returns a CPU tensor in page-locked memory of a device. Copies with that device use this memory
// directly: after CopyFromTensor on a stream, Sync the stream before you change, read or close the tensor.
// The error is ErrNotSupported if the device has no such memory.
func NewPinnedTensor(dtype dlpack.DataType, shape []int64, dev dlpack.Device) (*Tensor, error) {
	const op = "allocate page-locked memory"
	return allocate(op, func() C.tvmgo_ret {
		return C.tvmgo_bridge_pinned_new(cDims(shape), C.int32_t(len(shape)), cType(dtype), cDevice(dev))
	})
}

// WorkspaceStats describes how the workspaces of a device are used. Sizes are in bytes.
type WorkspaceStats struct {
	Held   int64 // bytes, lent out or idle
	InUse  int64 // bytes lent out
	Peak   int64 // the maximum of bytes lent out at one time; on the CPU, the sum of the recent maximum of each thread
	Hits   int64 // requests served from idle memory; on the CPU they are counted when the workspace is returned
	Misses int64 // requests that needed more memory of the device
	Limit  int64 // of Held, set by SetWorkspaceLimit; 0: none
}

// WorkspaceMemory reports the workspaces of a device. For a device that manages workspaces itself only Held and InUse
// are known; the error is ErrNotSupported if it does not count them.
func WorkspaceMemory(dev dlpack.Device) (WorkspaceStats, error) {
	var c C.tvmgo_workspace_stats
	if _, err := result("workspace statistics", C.tvmgo_bridge_workspace_stats(cDevice(dev), &c)); err != nil {
		return WorkspaceStats{}, err
	}
	return WorkspaceStats{Held: int64(c.held), InUse: int64(c.in_use), Peak: int64(c.peak),
		Hits: int64(c.hits), Misses: int64(c.misses), Limit: int64(c.limit)}, nil
}

// TrimWorkspaces returns idle workspaces to the device, and reports how many bytes. It does not touch the workspaces
// that a device manages itself. On the CPU, workspaces of generated code belong to threads: threads other than the
// calling one follow later, when they need more memory or have returned some thousand blocks.
func TrimWorkspaces(dev dlpack.Device) (int64, error) {
	o, err := result("trim workspaces", C.tvmgo_bridge_workspace_trim(cDevice(dev)))
	return int64(o), err
}

// SetWorkspaceLimit limits the bytes that the pool of a device holds, for workspaces and for the storages of the
// virtual machine; 0 means no limit. It returns the limit before. A request beyond the limit returns idle memory to
// the device first; if that is not enough, it fails with ErrOutOfMemory, and everything else goes on. On the CPU, the
// workspaces of generated code do not count. The error is ErrNotSupported for a device that manages workspaces itself.
func SetWorkspaceLimit(dev dlpack.Device, bytes int64) (int64, error) {
	o, err := result("limit workspaces", C.tvmgo_bridge_workspace_set_limit(cDevice(dev), C.int64_t(bytes)))
	return int64(o), err
}

// SetWorkspaceIdleTime sets how long the pools of all devices may keep memory that nobody uses, and returns the time
// before. Memory goes back to its device within a quarter more than this time. The default is 10 s; 0 means that
// memory stays in the pools until TrimWorkspaces, or until the pools hold much more than was lately in use.
func SetWorkspaceIdleTime(d time.Duration) time.Duration {
	return time.Duration(C.tvmgo_idle_set_time(C.int64_t(max(d, 0))))
}
