package runtime_test

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"tvmgo/runtime"
)

// fakeStream runs queued work in order, on its own goroutine while there is work.
type fakeStream struct {
	mu   sync.Mutex
	idle *sync.Cond
	work []func()
	busy bool

	recording bool
	recorded  []func()
	thread    int // on which the recording began
}

func newFakeStream() *fakeStream {
	s := &fakeStream{}
	s.idle = sync.NewCond(&s.mu)
	return s
}

func (s *fakeStream) queue(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recording {
		s.recorded = append(s.recorded, f)
		return
	}
	s.work = append(s.work, f)
	if !s.busy {
		s.busy = true
		go s.run()
	}
}

func (s *fakeStream) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.work) > 0 {
		f := s.work[0]
		s.work = s.work[1:]
		s.mu.Unlock()
		f()
		s.mu.Lock()
	}
	s.busy = false
	s.idle.Broadcast()
}

func (s *fakeStream) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.busy {
		s.idle.Wait()
	}
}

func (f *fake) CreateStream(id int) (runtime.StreamHandle, error) {
	if err := f.check("create stream", id); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next += 16
	f.streams[f.next] = newFakeStream()
	return f.next, nil
}

func (f *fake) FreeStream(id int, h runtime.StreamHandle) error {
	if err := f.check("free stream", id); err != nil {
		return err
	}
	s, err := f.stream(h)
	if err != nil || h == 0 {
		return fmt.Errorf("free stream %#x: %v", uintptr(h), err)
	}
	s.wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, h)
	for _, space := range f.idle[h] {
		if err := syscall.Munmap(space.bytes); err != nil {
			return err
		}
	}
	delete(f.idle, h)
	return nil
}

func (f *fake) SetStream(id int, h runtime.StreamHandle) error {
	if err := f.check("set stream", id); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current[id] = h
	f.setStreams++
	return nil
}

func (f *fake) SyncStreamFromTo(id int, src, dst runtime.StreamHandle) error {
	from, err := f.stream(src)
	if err != nil {
		return err
	}
	to, err := f.stream(dst)
	if err != nil {
		return err
	}
	reached := make(chan struct{})
	from.queue(func() { close(reached) })
	to.queue(func() { <-reached })
	return nil
}

// ---- timers and events ----

type fakeTimer struct {
	f           *fake
	start, stop time.Time
	last        *fakeStream
}

func (f *fake) CreateTimer(id int) (runtime.DeviceTimer, error) {
	if err := f.check("create timer", id); err != nil {
		return nil, err
	}
	f.timers.Add(1)
	return &fakeTimer{f: f}, nil
}

func (t *fakeTimer) Start(h runtime.StreamHandle) error {
	s, err := t.f.stream(h)
	if err == nil {
		t.last = nil
		s.queue(func() { t.start = time.Now() })
		s.wait()
	}
	return err
}

func (t *fakeTimer) Stop(h runtime.StreamHandle) error {
	s, err := t.f.stream(h)
	if err == nil {
		t.last = s
		s.queue(func() { t.stop = time.Now() })
	}
	return err
}

func (t *fakeTimer) ElapsedNanos() (int64, error) {
	if t.last == nil {
		return 0, &runtime.Error{Kind: runtime.ErrInvalidArgument, Message: "the timer was not stopped"}
	}
	t.last.wait()
	return t.stop.Sub(t.start).Nanoseconds(), nil
}

type fakeEvent struct {
	f    *fake
	mark chan struct{}
}

func (f *fake) CreateEvent(id int) (runtime.DeviceEvent, error) {
	if err := f.check("create event", id); err != nil {
		return nil, err
	}
	f.events.Add(1)
	return &fakeEvent{f: f}, nil
}

func (e *fakeEvent) Record(h runtime.StreamHandle) error {
	s, err := e.f.stream(h)
	if err == nil {
		mark := make(chan struct{})
		e.mark = mark
		s.queue(func() { close(mark) })
	}
	return err
}

func (e *fakeEvent) Wait(h runtime.StreamHandle) error {
	s, err := e.f.stream(h)
	if mark := e.mark; err == nil && mark != nil {
		s.queue(func() { <-mark })
	}
	return err
}

func (e *fakeEvent) Sync() error { <-e.mark; return nil }

func (e *fakeEvent) Query() (bool, error) {
	select {
	case <-e.mark:
		return true, nil
	default:
		return false, nil
	}
}
