package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"errors"
	goruntime "runtime"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// Graph is recorded work of a stream. Launching it costs far less than queueing its parts one by one. Its methods are
// safe for concurrent use.
//
// A graph keeps alive the objects that its recorded calls use: the function and the arguments of each call, both
// tensors of each copy, workspaces, and tensors that were closed during the recording. If a Go function queues work of
// its own, or uses memory by its address, keep that memory until the last launch is done.
type Graph struct {
	dev dlpack.Device
	ref *ref
}

// Capture runs f and records the work that f queues on the stream instead of doing it: calls (Function.CallOn,
// Kernel.Launch, bound calls) and copies (CopyFromTensor) that name the stream. Everything else that f does is done at
// once, including CopyFrom, ToSlice and work on other streams. Shapes and addresses are recorded, elements are not: you
// may change them between launches. The caller closes the graph.
//
// During the recording the stream cannot be waited for, closed or timed; it allocates no memory and launches no graph.
// Copies with host memory need page-locked memory (NewPinnedTensor). A stream has at most one recording at a time. f
// runs with its goroutine locked to its thread. Other goroutines are not affected unless they use this stream.
//
// If f fails, panics or ends its goroutine, the recording is discarded, the stream works as before, and f's error is
// returned or its panic continues. The error is ErrNotSupported if the device cannot record, and ErrInvalidArgument for
// a nil stream, a nil f, or a stream that records already.
func (s *Stream) Capture(f func() error) (*Graph, error) {
	const op = "record graph"
	if s == nil {
		return nil, fault.New(op, ErrInvalidArgument, "the stream is nil: make one with NewStream")
	}
	if f == nil {
		return nil, fault.New(op, ErrInvalidArgument, "the Go function is nil")
	}
	place, err := s.enter(op)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	goruntime.LockOSThread() // the end must be called on the thread of the begin
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

// Launch queues the recorded work on a stream of the graph's device (nil: the default one) and returns at once.
// Launches on one stream run one after the other. Launches of one graph on several streams write to the same memory, so
// order them (Stream.WaitFor). The error is ErrInvalidArgument for a stream of another device and for one that records.
func (g *Graph) Launch(s *Stream) error {
	const op = "launch graph"
	if g == nil || !g.ref.acquire() {
		return fault.IsClosed(op, "graph")
	}
	defer g.ref.release()
	place, err := s.enter(op)
	if err != nil {
		return err
	}
	defer s.leave()
	if s != nil && s.dev != g.dev {
		return fault.New(op, ErrInvalidArgument, "the stream is one of %v, the graph of %v", s.dev, g.dev)
	}
	_, err = result(op, C.tvmgo_bridge_graph_launch(C.uintptr_t(g.ref.obj), place.stream))
	return err
}

// Device is the device that the graph runs on; the zero Device after Close.
func (g *Graph) Device() dlpack.Device {
	if g == nil || !g.ref.acquire() {
		return dlpack.Device{}
	}
	defer g.ref.release()
	return g.dev
}

// Close releases the graph and what it keeps alive. It does not wait: queued launches still run. Memory of the recorded
// stream (Stream.NewTensor, NewWorkspace) is returned after all launches; you must order memory of other streams with
// the launches, as always. Closing twice is fine.
func (g *Graph) Close() error {
	if g != nil {
		g.ref.close()
	}
	return nil
}
