package devicetest_test

import (
	"time"

	"tvmgo/runtime"
)

type lazyEvent struct {
	d      *lazy
	id     int
	stream *lazyStream
	mark   int
}

func (d *lazy) CreateEvent(id int) (runtime.DeviceEvent, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	d.mu.Unlock()
	return &lazyEvent{d: d, id: id}, nil
}

func (e *lazyEvent) Record(h runtime.StreamHandle) error {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	s, err := e.d.stream(e.id, h)
	if err == nil && s.recording {
		return failed(runtime.ErrInvalidArgument, "an event in a capture never completes")
	}
	if err == nil {
		e.stream, e.mark = s, s.queued
	}
	return err
}

func (e *lazyEvent) Wait(h runtime.StreamHandle) error {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	s, err := e.d.stream(e.id, h)
	if err == nil && e.stream != nil {
		from, mark := e.stream, e.mark
		s.queue(func() { e.d.run(from, mark) })
	}
	return err
}

func (e *lazyEvent) Sync() error {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	if e.stream != nil {
		e.d.run(e.stream, e.mark)
	}
	return nil
}

func (e *lazyEvent) Query() (bool, error) {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	return e.stream == nil || e.stream.done >= e.mark || e.d.is("events are complete at once"), nil
}

func (e *lazyEvent) Close() error { return nil }

type lazyTimer struct {
	d           *lazy
	id          int
	start, stop time.Time
	last        *lazyStream
	mark        int
}

func (d *lazy) CreateTimer(id int) (runtime.DeviceTimer, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	d.mu.Unlock()
	return &lazyTimer{d: d, id: id}, nil
}

func (t *lazyTimer) Start(h runtime.StreamHandle) error {
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	s, err := t.d.stream(t.id, h)
	if err == nil {
		t.last = nil
		s.queue(func() { t.start = time.Now() })
	}
	return err
}

func (t *lazyTimer) Stop(h runtime.StreamHandle) error {
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	s, err := t.d.stream(t.id, h)
	if err == nil {
		s.queue(func() { t.stop = time.Now() })
		t.last, t.mark = s, s.queued
	}
	return err
}

func (t *lazyTimer) ElapsedNanos() (int64, error) {
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if t.last == nil && !t.d.is("a timer that was not stopped is read") {
		return 0, failed(runtime.ErrInvalidArgument, "the timer was not stopped")
	}
	if t.last != nil {
		t.d.run(t.last, t.mark)
	}
	ns := t.stop.Sub(t.start).Nanoseconds()
	switch {
	case t.d.is("timers give 0"):
		return 0, nil
	case t.d.is("timers count picoseconds"):
		return ns * 1000, nil
	}
	return ns, nil
}

func (t *lazyTimer) Close() error { return nil }
