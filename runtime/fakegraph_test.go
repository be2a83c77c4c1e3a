package runtime_test

import (
	"fmt"
	"syscall"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// ---- memory in the order of a stream ----

func (f *fake) AllocOnStream(id int, nbytes, alignment uintptr, hint dlpack.DataType,
	h runtime.StreamHandle) (unsafe.Pointer, error) {
	if err := f.check("alloc on stream", id); err != nil {
		return nil, err
	}
	if _, err := f.stream(h); err != nil {
		return nil, err
	}
	if p := f.again(id, nbytes, h); p != nil {
		return p, nil
	}
	p, err := f.AllocDataSpace(id, nbytes, alignment, hint)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.spaces[uintptr(p)]
	s.ordered = true
	f.spaces[uintptr(p)] = s
	return p, nil
}

// again returns memory of this size that was returned on the stream.
func (f *fake) again(id int, nbytes uintptr, h runtime.StreamHandle) unsafe.Pointer {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, s := range f.idle[h] {
		if s.id != id || s.nbytes != nbytes {
			continue
		}
		f.idle[h] = append(f.idle[h][:i:i], f.idle[h][i+1:]...)
		p := unsafe.Pointer(unsafe.SliceData(s.bytes))
		f.spaces[uintptr(p)] = s
		f.stats.Data += int64(nbytes)
		f.stats.DataCount++
		f.reused.Add(1)
		return p
	}
	return nil
}

func (f *fake) FreeOnStream(id int, p unsafe.Pointer, h runtime.StreamHandle) error {
	if err := f.check("free on stream", id); err != nil {
		return err
	}
	if _, err := f.stream(h); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.spaces[uintptr(p)]
	if !ok || !s.ordered {
		return fmt.Errorf("%p is no memory of fakedev's streams", p)
	}
	delete(f.spaces, uintptr(p))
	f.stats.Data -= int64(s.nbytes)
	f.stats.DataCount--
	f.idle[h] = append(f.idle[h], s)
	return nil
}

// ---- graphs ----

type fakeGraph struct {
	f    *fake
	work []func()
}

func (s *fakeStream) records() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recording
}

func (f *fake) isPinned(at uintptr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, b := range f.pinned {
		if at >= p && at < p+uintptr(len(b)) {
			return true
		}
	}
	return false
}

func (f *fake) BeginCapture(id int, h runtime.StreamHandle) error {
	if err := f.check("begin capture", id); err != nil {
		return err
	}
	s, err := f.stream(h)
	if err != nil {
		return err
	}
	if h == 0 {
		return &runtime.Error{Kind: runtime.ErrInvalidArgument, Message: "fakedev cannot record the default stream"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recording {
		return &runtime.Error{Kind: runtime.ErrInvalidArgument, Message: "the stream records already"}
	}
	s.recording, s.recorded, s.thread = true, nil, syscall.Gettid()
	return nil
}

func (f *fake) EndCapture(id int, h runtime.StreamHandle, discard bool) (runtime.DeviceGraph, error) {
	s, err := f.stream(h)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	g := &fakeGraph{f: f, work: s.recorded}
	s.recording, s.recorded = false, nil
	moved := s.thread != syscall.Gettid()
	s.mu.Unlock()
	if moved {
		return nil, fmt.Errorf("the recording began on another thread")
	}
	if err := f.check("end capture", id); err != nil || discard {
		return nil, err
	}
	f.graphs.Add(1)
	return g, nil
}

func (g *fakeGraph) Launch(h runtime.StreamHandle) error {
	if err := g.f.check("launch graph", 0); err != nil {
		return err
	}
	s, err := g.f.stream(h)
	if err != nil {
		return err
	}
	s.queue(func() {
		for _, work := range g.work {
			work()
		}
	})
	return nil
}

func (g *fakeGraph) Close() error { g.f.graphs.Add(-1); return nil }
