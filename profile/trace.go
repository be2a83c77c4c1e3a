package profile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tvmgo/internal/sorting"
)

// host is the process of the trace that has the threads; devices follow.
const host = 1

// traceWriter writes the events of a trace, one a line.
type traceWriter struct {
	w     *bufio.Writer
	first bool
	pids  map[string]int // of devices
	last  int            // pid
	flows map[*Event]int
}

// WriteTrace writes a trace in the JSON format of Chrome, which Perfetto opens: a track for each thread of the host and
// for each stream, and one with the memory in use for each device. Arrows lead from launches to the work on the stream.
func (r *Recording) WriteTrace(w io.Writer) error {
	t := &traceWriter{w: bufio.NewWriter(w), first: true, pids: map[string]int{}, last: host, flows: map[*Event]int{}}
	fmt.Fprintf(t.w, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped events\":\"%d\",\"streams\":%s},\n"+
		"\"traceEvents\":[", r.Dropped, quote(streamNote))
	t.process(host, "host")
	t.streams(r)
	for i := range r.Threads {
		t.thread(&r.Threads[i])
	}
	t.memory(r)
	t.w.WriteString("\n]}\n")
	return t.w.Flush()
}

const streamNote = "lengths are measured on the device; an interval begins when the one before it ended, or when the " +
	"host queued it"

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// micros is a time in microseconds with all its nanoseconds.
func micros(d time.Duration) string { return fmt.Sprintf("%d.%03d", d/1000, d%1000) }

func (t *traceWriter) event(format string, args ...any) {
	if !t.first {
		t.w.WriteByte(',')
	}
	t.first = false
	t.w.WriteByte('\n')
	fmt.Fprintf(t.w, format, args...)
}

func (t *traceWriter) process(pid int, name string) {
	t.event(`{"ph":"M","pid":%d,"tid":0,"name":"process_name","args":{"name":%s}}`, pid, quote(name))
	t.event(`{"ph":"M","pid":%d,"tid":0,"name":"process_sort_index","args":{"sort_index":%d}}`, pid, pid)
}

// device is the process of a device; memory of the CPU is shown with the host.
func (t *traceWriter) device(name string) int {
	if isHost(name) {
		return host
	}
	if t.pids[name] == 0 {
		t.last++
		t.pids[name] = t.last
		t.process(t.last, name)
	}
	return t.pids[name]
}

func (t *traceWriter) streams(r *Recording) {
	order, work := r.streams()
	of := map[string]int{} // streams of a device
	for _, s := range order {
		pid := t.device(s.device)
		of[s.device]++
		tid := of[s.device]
		name := "default stream"
		if s.handle != 0 {
			name = fmt.Sprintf("stream %#x", s.handle)
		}
		if work[s][0].e.Waits {
			name += " (synchronized: the device has no timers)"
		}
		t.event(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}}`, pid, tid, quote(name))
		for _, w := range work[s] {
			t.flows[w.e] = len(t.flows) + 1
			t.complete(pid, tid, w.e, w.begin, w.end)
			t.event(`{"ph":"f","bp":"e","pid":%d,"tid":%d,"ts":%s,"id":%d,"cat":"queue","name":"queue"}`, pid, tid,
				micros(w.begin), t.flows[w.e])
		}
	}
}

func (t *traceWriter) thread(thread *Thread) {
	events := ordered(thread)
	if len(events) == 0 {
		return
	}
	t.event(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":"thread %d"}}`, host, thread.ID, thread.ID)
	for _, e := range events {
		t.complete(host, int(thread.ID), e, e.Begin, e.End)
		if id := t.flows[e]; id != 0 {
			t.event(`{"ph":"s","pid":%d,"tid":%d,"ts":%s,"id":%d,"cat":"queue","name":"queue"}`, host, thread.ID,
				micros(e.Begin), id)
		}
	}
}

func (t *traceWriter) complete(pid, tid int, e *Event, begin, end time.Duration) {
	t.event(`{"ph":"X","pid":%d,"tid":%d,"ts":%s,"dur":%s,"cat":%s,"name":%s,"args":{%s}}`, pid, tid, micros(begin),
		micros(end-begin), quote(e.Kind.String()), quote(e.title()), e.details())
}

// title is what the trace and the table call an event.
func (e *Event) title() string {
	switch e.Kind {
	case Copy:
		return "copy " + e.Device + " to " + e.Other
	case Wait:
		return "wait for " + e.Device
	default:
		return e.Name
	}
}

// details are the arguments of an event in the trace: the inside of a JSON object.
func (e *Event) details() string {
	var parts []string
	add := func(name, value string) { parts = append(parts, quote(name)+":"+value) }
	switch e.Kind {
	case Instruction:
		add("function", quote(e.Function))
		add("instruction", strconv.Itoa(e.Number))
	case Node:
		add("node", strconv.Itoa(e.Number))
	case Kernel:
		add("device", quote(e.Device))
	case Copy:
		add("bytes", strconv.FormatInt(e.Bytes, 10))
	}
	if len(e.Tensors) > 0 {
		add("shapes", quote(shapesText(e.Tensors)))
		if n, ok := FLOPs(e.Name, e.Tensors); ok {
			add("flop", strconv.FormatInt(n, 10))
		}
	}
	return strings.Join(parts, ",")
}

func shapesText(tensors []Tensor) string {
	var b strings.Builder
	for i, t := range tensors {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.DType + "[")
		for k, d := range t.Shape {
			if k > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatInt(d, 10))
		}
		b.WriteByte(']')
	}
	return b.String()
}

// memory writes how many bytes each device has in use over time.
func (t *traceWriter) memory(r *Recording) {
	var changes []*Event
	for i := range r.Threads {
		for k := range r.Threads[i].Events {
			if e := &r.Threads[i].Events[k]; e.Kind == Memory {
				changes = append(changes, e)
			}
		}
	}
	sorting.By(changes, func(a, b *Event) int { return int(a.Begin - b.Begin) })
	use := map[string]int64{}
	for _, e := range changes {
		use[e.Device] += e.Bytes
		t.event(`{"ph":"C","pid":%d,"tid":0,"ts":%s,"name":%s,"args":{"bytes":%d}}`, t.device(e.Device), micros(e.Begin),
			quote("memory in use on "+e.Device), use[e.Device])
	}
}
