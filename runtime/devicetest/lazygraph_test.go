package devicetest_test

import (
	"slices"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// ---- memory of streams ----

func (d *lazy) AllocOnStream(id int, nbytes, alignment uintptr, hint dlpack.DataType,
	h runtime.StreamHandle) (unsafe.Pointer, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	if _, err := d.stream(id, h); err != nil {
		return nil, err
	}
	for i, s := range d.ordered {
		if s.id == id && s.size == nbytes && (s.stream == h || d.is("memory of a stream is reused by all streams")) {
			d.ordered = slices.Delete(d.ordered, i, i+1)
			d.spaces[s.at] = s
			d.stats[id].Data += int64(nbytes)
			d.stats[id].DataCount++
			return pointer(s.at), nil
		}
	}
	return d.alloc(id, nbytes, alignment)
}

func (d *lazy) FreeOnStream(id int, p unsafe.Pointer, h runtime.StreamHandle) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	s := d.spaces[uintptr(p)]
	if _, err := d.stream(id, h); err != nil || s == nil {
		return failed(runtime.ErrInvalidArgument, "%p is not memory of lazy, or %#x is not a stream", p, uintptr(h))
	}
	if d.is("memory of a stream is lost") {
		return nil
	}
	if d.is("memory of a stream is cleared when it is freed") {
		clear(s.mapped)
	}
	delete(d.spaces, s.at)
	d.stats[id].Data -= int64(s.size)
	d.stats[id].DataCount--
	s.stream = h
	d.ordered = append(d.ordered, s)
	return nil
}

// ---- graphs ----

type lazyGraph struct {
	d              *lazy
	id             int
	work           []func()
	launched, gone bool
}

func (d *lazy) recordCopy(from, to dlpack.Tensor) error {
	for _, t := range []dlpack.Tensor{from, to} {
		if t.Device.Type == dlpack.CPU && !d.isPinned(t.Data) {
			return failed(runtime.ErrNotSupported, "lazy cannot capture copies with ordinary host memory")
		}
	}
	return nil
}

func (d *lazy) BeginCapture(id int, h runtime.StreamHandle) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	s, err := d.stream(id, h)
	switch {
	case err != nil:
		return err
	case h == 0 || s.recording:
		return failed(runtime.ErrInvalidArgument, "stream %#x cannot capture", uintptr(h))
	}
	if d.is("a capture drops earlier work") {
		s.done, s.work = s.queued, nil
	}
	s.recording = true
	if d.is("all streams capture") {
		for _, s := range d.streams {
			s.recording = true
		}
	}
	return nil
}

func (d *lazy) EndCapture(id int, h runtime.StreamHandle, discard bool) (runtime.DeviceGraph, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	s, err := d.stream(id, h)
	if err != nil {
		return nil, err
	}
	g := &lazyGraph{d: d, id: id, work: s.recorded}
	s.recorded = nil
	if discard && d.is("a failed capture continues") {
		return nil, nil
	}
	for _, other := range d.streams {
		if other == s || d.is("all streams capture") {
			other.recording = false
		}
	}
	if discard {
		if d.is("a failed capture runs") {
			s.work = append(s.work, g.work...)
			s.queued += len(g.work)
		}
		return nil, nil
	}
	if d.is("a graph runs in reverse order") {
		slices.Reverse(g.work)
	}
	return g, nil
}

func (g *lazyGraph) Launch(h runtime.StreamHandle) error {
	d := g.d
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.stream(g.id, h)
	if err != nil {
		return err
	}
	times := 1
	switch {
	case d.is("a graph can be launched once") && g.launched:
		times = 0
	case d.is("a launch runs twice"):
		times = 2
	}
	g.launched = true
	work := func() {
		for range times {
			if g.gone && d.is("closing a graph cancels its launches") {
				return
			}
			for _, f := range g.work {
				f()
			}
		}
	}
	if d.is("a launch runs before earlier work") {
		work()
		return nil
	}
	s.queue(work)
	return nil
}

func (g *lazyGraph) Close() error {
	g.d.mu.Lock()
	defer g.d.mu.Unlock()
	g.gone = true
	return nil
}
