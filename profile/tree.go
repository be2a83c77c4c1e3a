package profile

import (
	"cmp"
	"time"

	"tvmgo/internal/sorting"
)

// ordered returns the events of a thread that take time, each before those that lie in it.
func ordered(t *Thread) []*Event {
	type numbered struct {
		e *Event
		i int
	}
	var list []numbered
	for i := range t.Events {
		if t.Events[i].Kind != Memory {
			list = append(list, numbered{&t.Events[i], i})
		}
	}
	sorting.By(list, func(a, b numbered) int {
		// Of two events with the same times, the outer one was recorded later.
		return cmp.Or(cmp.Compare(a.e.Begin, b.e.Begin), cmp.Compare(b.e.End, a.e.End), cmp.Compare(b.i, a.i))
	})
	events := make([]*Event, len(list))
	for i, n := range list {
		events[i] = n.e
	}
	return events
}

// walk calls enter for each event of a thread with the innermost event that it lies in, nil at the outermost.
func walk(events []*Event, enter func(e, parent *Event)) {
	var stack []*Event
	for _, e := range events {
		for len(stack) > 0 && !contains(stack[len(stack)-1], e) {
			stack = stack[:len(stack)-1]
		}
		var parent *Event
		if len(stack) > 0 {
			parent = stack[len(stack)-1]
		}
		enter(e, parent)
		stack = append(stack, e)
	}
}

func contains(outer, e *Event) bool {
	return e.Begin >= outer.Begin && e.End <= outer.End && e.Begin < outer.End
}

type stream struct {
	device string
	handle uint64
}

// interval is work on a stream. The length is measured; the begin follows from the order of the stream: when the work
// before it was done, or when the host queued it, whichever is later.
type interval struct {
	e          *Event
	thread     int64
	begin, end time.Duration
}

// streams places the work of all streams. The order of the streams is that of their first work.
func (r *Recording) streams() ([]stream, map[stream][]interval) {
	var order []stream
	work := map[stream][]interval{}
	for i := range r.Threads {
		t := &r.Threads[i]
		for k := range t.Events {
			e := &t.Events[k]
			if (e.Kind != Kernel && e.Kind != Copy) || e.OnStream < 0 {
				continue
			}
			s := e.onStream()
			work[s] = append(work[s], interval{e: e, thread: t.ID})
		}
	}
	for s, list := range work {
		order = append(order, s)
		sorting.By(list, func(a, b interval) int { return cmp.Compare(a.e.Begin, b.e.Begin) })
		var free time.Duration
		for i := range list {
			list[i].begin = max(list[i].e.Begin, free)
			list[i].end = list[i].begin + list[i].e.OnStream
			free = list[i].end
		}
	}
	sorting.By(order, func(a, b stream) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(work[a][0].begin, work[b][0].begin),
			cmp.Compare(a.handle, b.handle))
	})
	return order, work
}

// onStream is the stream that a kernel or a copy runs on: a copy's belongs to the device that is not the host.
func (e *Event) onStream() stream {
	if e.Kind == Copy && isHost(e.Device) {
		return stream{e.Other, e.Stream}
	}
	return stream{e.Device, e.Stream}
}

func isHost(device string) bool { return len(device) >= 4 && device[:4] == "cpu:" }
