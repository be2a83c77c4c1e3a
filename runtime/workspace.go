package runtime

/*
#include "bridge.h"
*/
import "C"

import "tvmgo/dlpack"

// NewWorkspace returns a tensor in scratch memory for work on a stream (nil: the default one). Close gives
// the memory back while that work may still be queued: later work of the stream may get it at once, work
// of another stream only when it is done. Queue work on no other stream that uses it.
func NewWorkspace(dtype dlpack.DataType, shape []int64, dev dlpack.Device, s *Stream) (*Tensor, error) {
	const op = "allocate workspace"
	place, err := s.enter(op)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	if s != nil && s.dev != dev {
		return nil, fail(op, ErrInvalidArgument, "the stream is one of %v, the workspace of %v", s.dev, dev)
	}
	return allocate(op, func() C.tvmgo_ret {
		return C.tvmgo_bridge_workspace_new(cDims(shape), C.int32_t(len(shape)), cType(dtype), cDevice(dev), place.stream)
	})
}

// NewTensor allocates a tensor, as the function NewTensor does, for work that is queued on this stream from
// now on. That is cheap where memory comes and goes with the work: neither this nor Close waits for the
// device. Close gives the memory back once the stream has done what is queued on it then, and after all that
// is queued on the device when the stream was closed before. Other streams may use it after they waited for
// this one (WaitFor), and it may be closed after this one waited for them. Lent out (ToDLPack), it is given
// back when its last user is done.
//
// A device without such memory gives ordinary memory, which may be used in the same way: it is freed after
// the work of all streams.
func (s *Stream) NewTensor(dtype dlpack.DataType, shape []int64) (*Tensor, error) {
	const op = "allocate tensor"
	if s == nil {
		return nil, fail(op, ErrInvalidArgument, "the stream is nil: make one with NewStream, or use the function NewTensor")
	}
	place, err := s.enter(op)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	return allocate(op, func() C.tvmgo_ret {
		return C.tvmgo_bridge_tensor_on_stream(cDims(shape), C.int32_t(len(shape)), cType(dtype), cDevice(s.dev), place.stream)
	})
}

// NewPinnedTensor returns a tensor on the CPU in page-locked memory of a device, which copies of this
// device use without staging it: after CopyFromTensor on a stream, wait for the stream before the memory
// is changed, read or closed. ErrNotSupported where the device has no such memory.
func NewPinnedTensor(dtype dlpack.DataType, shape []int64, dev dlpack.Device) (*Tensor, error) {
	const op = "allocate page-locked memory"
	return allocate(op, func() C.tvmgo_ret {
		return C.tvmgo_bridge_pinned_new(cDims(shape), C.int32_t(len(shape)), cType(dtype), cDevice(dev))
	})
}

// WorkspaceStats says how the workspaces of a device are used.
type WorkspaceStats struct {
	Held   int64 // bytes, lent out or idle
	InUse  int64 // bytes lent out
	Peak   int64 // the most bytes lent out at one time; of CPU threads each one's lately, added up
	Hits   int64 // requests served from what was idle; on the CPU counted when given back
	Misses int64 // and those that needed more of the device's memory
}

// WorkspaceMemory reports the workspaces of a device. Of a device that keeps workspaces itself only Held
// and InUse are known, and ErrNotSupported is returned where it does not count them.
func WorkspaceMemory(dev dlpack.Device) (WorkspaceStats, error) {
	var c C.tvmgo_workspace_stats
	if _, err := result("workspace statistics", C.tvmgo_bridge_workspace_stats(cDevice(dev), &c)); err != nil {
		return WorkspaceStats{}, err
	}
	return WorkspaceStats{Held: int64(c.held), InUse: int64(c.in_use), Peak: int64(c.peak),
		Hits: int64(c.hits), Misses: int64(c.misses)}, nil
}

// TrimWorkspaces gives the idle workspaces of a device back to it and returns their bytes. Workspaces that
// a device keeps itself are its own business. On the CPU, where generated code's workspaces belong to
// threads, other threads than the calling one follow later, when they need more memory or have given
// back some thousand blocks.
func TrimWorkspaces(dev dlpack.Device) (int64, error) {
	o, err := result("trim workspaces", C.tvmgo_bridge_workspace_trim(cDevice(dev)))
	return int64(o), err
}
