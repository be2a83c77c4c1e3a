package runtime

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"tvmgo/dlpack"
)

// Stream is a queue of work on a device. It is an argument of what runs on it: goroutines have no
// current stream. A nil *Stream is the default stream of whatever device the work is on.
//
// Keep it as long as its Handle is used: the stream of one that became unreachable is freed.
type Stream struct{ *streamState }

// streamState is what a Stream leaves behind for the collector.
type streamState struct {
	dev    dlpack.Device
	handle C.uintptr_t  // 0 where the device has one queue
	state  atomic.Int64 // users in progress; refClosed is added by Close
}

// NewStream makes a stream on a device. Where the device has one queue, all its streams are that
// one.
func NewStream(dev dlpack.Device) (*Stream, error) {
	o, err := result("create stream", C.tvmgo_bridge_stream_create(cDevice(dev)))
	if err != nil {
		return nil, err
	}
	return newStream(dev, C.uintptr_t(o)), nil
}

func newStream(dev dlpack.Device, handle C.uintptr_t) *Stream {
	s := &Stream{&streamState{dev: dev, handle: handle}}
	goruntime.AddCleanup(s, func(state *streamState) { _ = state.free() }, s.streamState)
	return s
}

// streamOf is the default stream of a device, for one call.
func streamOf(dev dlpack.Device) *Stream {
	var both struct {
		s     Stream
		state streamState
	}
	both.state.dev = dev
	both.s.streamState = &both.state
	return &both.s
}

func (s *Stream) isClosed() bool { return s == nil || s.state.Load() >= refClosed }

// Device is where the stream is.
func (s *Stream) Device() dlpack.Device {
	if s.isClosed() {
		return dlpack.Device{}
	}
	return s.dev
}

// Handle is the stream of the device's own API (a CUstream, for example); 0 for the only queue.
func (s *Stream) Handle() uintptr {
	if s.isClosed() {
		return 0
	}
	return uintptr(s.handle)
}

// Close waits for no work: it frees the stream once what is queued is done. Bound calls on it must
// be closed first. Closing twice is fine.
func (s *Stream) Close() error {
	if s == nil {
		return nil
	}
	return s.free()
}

func (s *streamState) free() error {
	for {
		n := s.state.Load()
		if n >= refClosed {
			return nil
		}
		if n != 0 {
			return fail("close stream", ErrInvalidArgument, "%d calls still use it: close them first", n)
		}
		if s.state.CompareAndSwap(0, refClosed) {
			_, err := result("close stream", C.tvmgo_bridge_stream_free(cDevice(s.dev), s.handle))
			return err
		}
	}
}

// enter marks the stream as used and tells the core where the call runs.
func (s *Stream) enter(op string) (C.tvmgo_place, error) {
	if s == nil {
		return C.tvmgo_place{}, nil
	}
	if s.state.Add(1) > refClosed {
		s.state.Add(-1)
		return C.tvmgo_place{}, closedError(op, "stream")
	}
	return C.tvmgo_place{device_type: C.int32_t(s.dev.Type), device_id: C.int32_t(s.dev.ID), stream: s.handle}, nil
}

func (s *Stream) leave() {
	if s != nil {
		s.state.Add(-1)
	}
}

// Sync waits until the stream's work is done, and reports that work's error. When ctx ends first it
// stops waiting and returns its error; the work goes on.
func (s *Stream) Sync(ctx context.Context) error {
	if s == nil {
		return fail("synchronize", ErrInvalidArgument, "the stream is nil: use SyncDevice")
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("synchronize: %w", err)
	}
	place, err := s.enter("synchronize")
	if err != nil {
		return err
	}
	return wait(ctx, func() error {
		defer s.leave()
		_, err := result("synchronize", C.tvmgo_bridge_sync(cDevice(s.dev), place.stream))
		return err
	})
}

// SyncDevice waits for the default stream of a device, as Stream.Sync does.
func SyncDevice(ctx context.Context, dev dlpack.Device) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("synchronize: %w", err)
	}
	return wait(ctx, func() error {
		_, err := result("synchronize", C.tvmgo_bridge_sync(cDevice(dev), 0))
		return err
	})
}

func wait(ctx context.Context, f func() error) error {
	if ctx.Done() == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("synchronize: %w", ctx.Err())
	}
}

// WaitFor lets work queued on s from now on wait for what src holds now. It returns at once.
func (s *Stream) WaitFor(src *Stream) error {
	const op = "order streams"
	to, err := s.enter(op)
	if err != nil {
		return err
	}
	defer s.leave()
	from, err := src.enter(op)
	if err != nil {
		return err
	}
	defer src.leave()
	if s == nil || src == nil || s.dev.Type.Family() != src.dev.Type.Family() {
		return fail(op, ErrInvalidArgument, "both streams must be of one type of device")
	}
	_, err = result(op, C.tvmgo_bridge_stream_order(cDevice(s.dev), from.stream, to.stream))
	return err
}

// Timer measures the device's own time between two marks on a stream.
type Timer struct{ *timerState }

// timerState is what a Timer leaves behind for the collector.
type timerState struct {
	dev    dlpack.Device
	handle C.uintptr_t // 0 = closed
}

// NewTimer makes a timer for a device. One goroutine at a time uses it.
func NewTimer(dev dlpack.Device) (*Timer, error) {
	o, err := result("create timer", C.tvmgo_bridge_timer_new(cDevice(dev)))
	if err != nil {
		return nil, err
	}
	t := &Timer{&timerState{dev: dev, handle: C.uintptr_t(o)}}
	goruntime.AddCleanup(t, func(state *timerState) { state.free() }, t.timerState)
	return t, nil
}

func (t *Timer) mark(op string, s *Stream, stop bool) error {
	if t == nil || t.handle == 0 {
		return closedError(op, "timer")
	}
	place, err := s.enter(op)
	if err != nil {
		return err
	}
	defer s.leave()
	if s != nil && s.dev != t.dev {
		return fail(op, ErrInvalidArgument, "the stream is one of %v, the timer of %v", s.dev, t.dev)
	}
	_, err = result(op, C.tvmgo_bridge_timer_mark(cDevice(t.dev), t.handle, place.stream, cBool(stop)))
	goruntime.KeepAlive(t)
	return err
}

// Start queues the first mark on a stream (nil: the default one).
func (t *Timer) Start(s *Stream) error { return t.mark("start timer", s, false) }

// Stop queues the second mark.
func (t *Timer) Stop(s *Stream) error { return t.mark("stop timer", s, true) }

// Elapsed waits for the second mark and returns the time between both.
func (t *Timer) Elapsed() (time.Duration, error) {
	if t == nil || t.handle == 0 {
		return 0, closedError("read timer", "timer")
	}
	r := C.tvmgo_bridge_timer_read(cDevice(t.dev), t.handle)
	goruntime.KeepAlive(t)
	ns, err := result("read timer", r)
	return time.Duration(int64(ns)), err
}

// Close frees the timer. Closing twice is fine.
func (t *Timer) Close() error {
	if t != nil {
		t.free()
		goruntime.KeepAlive(t)
	}
	return nil
}

func (t *timerState) free() {
	if t.handle != 0 {
		C.tvmgo_bridge_timer_free(cDevice(t.dev), t.handle)
		t.handle = 0
	}
}
