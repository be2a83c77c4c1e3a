package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"context"
	"fmt"
	"math"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// Stream is a queue of work on a device. It is an argument of the calls that use it: goroutines have no current stream.
// A nil *Stream is the default stream of the device of the work. Streams are safe for use by many goroutines at once.
//
// The collector frees a stream that became unreachable, so keep it as long as you use its Handle.
type Stream struct{ *streamState }

// streamState is the part of a Stream that its clean-up needs.
type streamState struct {
	dev    dlpack.Device
	handle C.uintptr_t  // 0 where the device has one queue
	state  atomic.Int64 // users in progress; refClosed is added by Close
}

// NewStream makes a stream on a device. On a device with a single queue, such as the CPU, all streams are that queue.
// The error is ErrDeviceUnavailable if the device does not exist or is not enabled. The caller closes the stream.
func NewStream(dev dlpack.Device) (*Stream, error) {
	o, err := result("create stream", C.tvmgo_bridge_stream_create(cDevice(dev)))
	if err != nil {
		return nil, err
	}
	return newStream(dev, C.uintptr_t(o)), nil
}

// StreamPriorities returns the range of priorities that streams of a device may have. Smaller numbers are more urgent,
// so greatest <= least. The error is ErrNotSupported if the device has none.
func StreamPriorities(dev dlpack.Device) (least, greatest int, err error) {
	var low, high C.int32_t
	if _, err := result("stream priorities", C.tvmgo_bridge_stream_priorities(cDevice(dev), &low, &high)); err != nil {
		return 0, 0, err
	}
	return int(low), int(high), nil
}

// NewStreamWithPriority is NewStream with a priority from the range of StreamPriorities. If work of several streams can
// begin, the work of the most urgent stream begins first. A priority outside the range is an error. On a device without
// priorities the error is ErrNotSupported.
func NewStreamWithPriority(dev dlpack.Device, priority int) (*Stream, error) {
	const op = "create stream"
	if priority < math.MinInt32 || priority > math.MaxInt32 {
		return nil, fault.New(op, ErrInvalidArgument, "no device has priority %d: StreamPriorities tells which there are",
			priority)
	}
	o, err := result(op, C.tvmgo_bridge_stream_create_with_priority(cDevice(dev), C.int32_t(priority)))
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

// streamOf returns the default stream of a device, for one call.
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

// Device is the stream's device; the zero Device after Close.
func (s *Stream) Device() dlpack.Device {
	if s.isClosed() {
		return dlpack.Device{}
	}
	return s.dev
}

// Handle returns the stream of the device's API, for example a CUstream; 0 for a device with a single queue, and after
// Close.
func (s *Stream) Handle() uintptr {
	if s.isClosed() {
		return 0
	}
	return uintptr(s.handle)
}

// Close does not wait: it frees the stream once the queued work is done. The error is ErrInvalidArgument while calls,
// bound calls or recordings use it. Closing twice is fine.
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
			return fault.New("close stream", ErrInvalidArgument, "%d calls still use it: close them first", n)
		}
		if s.state.CompareAndSwap(0, refClosed) {
			_, err := result("close stream", C.tvmgo_bridge_stream_free(cDevice(s.dev), s.handle))
			return err
		}
	}
}

// enter marks the stream as used and makes it the current stream of the call in the core.
func (s *Stream) enter(op string) (C.tvmgo_place, error) {
	if s == nil {
		return C.tvmgo_place{}, nil
	}
	if s.state.Add(1) > refClosed {
		s.state.Add(-1)
		return C.tvmgo_place{}, fault.IsClosed(op, "stream")
	}
	return C.tvmgo_place{device_type: C.int32_t(s.dev.Type), device_id: C.int32_t(s.dev.ID), stream: s.handle}, nil
}

func (s *Stream) leave() {
	if s != nil {
		s.state.Add(-1)
	}
}

// Sync waits until the stream's work is done, and returns that work's error. If ctx ends first, Sync returns the error
// of ctx and the work continues. The error for a nil stream is ErrInvalidArgument: use SyncDevice.
func (s *Stream) Sync(ctx context.Context) error {
	if s == nil {
		return fault.New("synchronize", ErrInvalidArgument, "the stream is nil: use SyncDevice")
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

// SyncDevice waits for the default stream of a device, with the errors of Stream.Sync.
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

// WaitFor makes work that is queued on s from now on wait for the work that is queued on src now. It returns at once.
// Both streams must be of one type of device; otherwise, and for a nil stream, the error is ErrInvalidArgument.
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
		return fault.New(op, ErrInvalidArgument, "both streams must be of one type of device")
	}
	_, err = result(op, C.tvmgo_bridge_stream_order(cDevice(s.dev), from.stream, to.stream))
	return err
}

// Timer measures the device's own time between two positions in a stream. Only one goroutine at a time may use it.
type Timer struct{ *timerState }

// timerState is the part of a Timer that its clean-up needs.
type timerState struct {
	dev    dlpack.Device
	handle C.uintptr_t // 0 = closed
}

// NewTimer makes a timer for a device, which the caller closes. A device without timers is timed by the host's clock.
// The error is ErrDeviceUnavailable if the device does not exist or is not enabled.
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
		return fault.IsClosed(op, "timer")
	}
	place, err := s.enter(op)
	if err != nil {
		return err
	}
	defer s.leave()
	if s != nil && s.dev != t.dev {
		return fault.New(op, ErrInvalidArgument, "the stream is one of %v, the timer of %v", s.dev, t.dev)
	}
	_, err = result(op, C.tvmgo_bridge_timer_mark(cDevice(t.dev), t.handle, place.stream, cBool(stop)))
	goruntime.KeepAlive(t)
	return err
}

// Start queues the start of the measurement on a stream of the timer's device (nil: the default one).
func (t *Timer) Start(s *Stream) error { return t.mark("start timer", s, false) }

// Stop queues the end of the measurement. The error is ErrInvalidArgument if the timer was not started.
func (t *Timer) Stop(s *Stream) error { return t.mark("stop timer", s, true) }

// Elapsed waits for the end of the measurement and returns the time since its start. The error is ErrInvalidArgument if
// the timer was not stopped.
func (t *Timer) Elapsed() (time.Duration, error) {
	if t == nil || t.handle == 0 {
		return 0, fault.IsClosed("read timer", "timer")
	}
	r := C.tvmgo_bridge_timer_read(cDevice(t.dev), t.handle)
	goruntime.KeepAlive(t)
	ns, err := result("read timer", r)
	return time.Duration(int64(ns)), err
}

// OnDevice reports whether the device itself measures the time. Otherwise Start and Stop wait for the stream, and read
// the host's clock, as for the CPU. It is false after Close.
func (t *Timer) OnDevice() bool {
	return t != nil && t.handle != 0 && t.dev.Type != dlpack.CPU && C.tvmgo_bridge_timer_on_device(cDevice(t.dev)) != 0
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
