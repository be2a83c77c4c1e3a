package runtime

/*
#include "bridge.h"
*/
import "C"

import (
	"errors"
	goruntime "runtime"

	"tvmgo/dlpack"
)

// Graph is work of a stream that was recorded once and is launched as often as wanted, which costs
// far less than to queue it piece by piece. Its methods are safe for concurrent use.
//
// A graph keeps alive what it was seen to use: the function and the arguments of each call, both
// tensors of each copy, workspaces, and tensors that were closed while it was recorded. What a Go
// function queues behind the runtime's back, memory that is only known by its address among it, the
// caller keeps until the last launch is done.
type Graph struct {
	dev dlpack.Device
	ref *ref
}

// Capture runs f and records what f queues on the stream instead of doing it: calls (Function.CallOn,
// Kernel.Launch, bound calls) and copies (CopyFromTensor) that name the stream. What f does otherwise is
// done at once, CopyFrom and ToSlice among it, and everything on other streams. Shapes and addresses are
// recorded, elements are not: change them between launches.
//
// While it records, a stream can be neither waited for, closed nor timed, gives no memory, and launches no
// graph; copies must not need the host to wait, so that those with memory of the host want it page-locked
// (NewPinnedTensor). One recording at a time is made on a stream. f runs with its goroutine wired to its
// thread; what other goroutines do is not affected, unless it is on this stream.
//
// When f fails, panics or ends its goroutine, what was recorded is thrown away, the stream does again what
// is queued on it, and f's error is returned or its panic goes on. ErrNotSupported where the device cannot
// record.
func (s *Stream) Capture(f func() error) (*Graph, error) {
	const op = "record graph"
	if s == nil {
		return nil, fail(op, ErrInvalidArgument, "the stream is nil: make one with NewStream")
	}
	if f == nil {
		return nil, fail(op, ErrInvalidArgument, "the Go function is nil")
	}
	place, err := s.enter(op)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	goruntime.LockOSThread() // the end must come from the thread of the begin
	defer goruntime.UnlockOSThread()
	o, err := result(op, C.tvmgo_bridge_graph_begin(cDevice(s.dev), place.stream))
	if err != nil {
		return nil, err
	}
	ended := false
	end := func(discard bool) error {
		ended = true
		_, err := result(op, C.tvmgo_bridge_graph_end(C.uintptr_t(o), cBool(discard)))
		if discard || err != nil {
			o.release()
		}
		return err
	}
	defer func() {
		if !ended { // a panic, or runtime.Goexit
			_ = end(true)
		}
	}()
	if err := f(); err != nil {
		if e := end(true); e != nil {
			return nil, errors.Join(err, e)
		}
		return nil, err
	}
	if err := end(false); err != nil {
		return nil, err
	}
	g := &Graph{dev: s.dev, ref: &ref{obj: o}}
	watch(g, g.ref)
	return g, nil
}

// Launch queues all that was recorded, in its order, on a stream of the graph's device (nil: the default
// one), and returns at once. Launches on one stream follow each other; launches of one graph on several
// streams write to the same memory: order them (Stream.WaitFor).
func (g *Graph) Launch(s *Stream) error {
	const op = "launch graph"
	if g == nil || !g.ref.acquire() {
		return closedError(op, "graph")
	}
	defer g.ref.release()
	place, err := s.enter(op)
	if err != nil {
		return err
	}
	defer s.leave()
	if s != nil && s.dev != g.dev {
		return fail(op, ErrInvalidArgument, "the stream is one of %v, the graph of %v", s.dev, g.dev)
	}
	_, err = result(op, C.tvmgo_bridge_graph_launch(C.uintptr_t(g.ref.obj), place.stream))
	return err
}

// Device is where the graph runs.
func (g *Graph) Device() dlpack.Device {
	if g == nil || !g.ref.acquire() {
		return dlpack.Device{}
	}
	defer g.ref.release()
	return g.dev
}

// Close gives the graph up, and what it kept alive; launches that are queued are done all the same. It
// waits for none. Memory of the recorded stream (Stream.NewTensor, NewWorkspace) goes back to it behind all
// launches; that of other streams must be in order with them, as always. Closing twice is fine.
func (g *Graph) Close() error {
	if g != nil {
		g.ref.close()
	}
	return nil
}
