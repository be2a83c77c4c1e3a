package profile

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tvmgo/internal/sorting"
)

// OperatorStats is a row of the table of operators: all calls of one function, or all copies from one device to
// another.
type OperatorStats struct {
	Name   string
	Device string // whose streams did the work; empty for the host
	Calls  int
	// Time is how long its kernels took on streams; without kernels that were timed, how long it took on the host
	// without the calls and copies in it.
	Time   time.Duration
	Share  float64 // of the Time of all rows, 0 to 1
	Bytes  int64   // of all arguments, which a call reads or writes; -1 if a call had no known types
	GBs    float64 // 10^9 bytes per second; 0: unknown
	FLOPs  int64   // -1 if they are unknown for a call
	GFLOPs float64 // 10^9 floating-point operations per second; 0: unknown
}

type operatorKey struct{ name, device string }

// Operators returns the table of operators, the longest first. The shares add up to 1. Waiting is no operator: streams
// work during that time.
func (r *Recording) Operators() []OperatorStats {
	rows := map[operatorKey]*OperatorStats{}
	for i := range r.Threads {
		r.Threads[i].operators(rows)
	}
	var total time.Duration
	var list []OperatorStats
	for _, row := range rows {
		total += row.Time
		list = append(list, *row)
	}
	for i := range list {
		list[i].rates(total)
	}
	sorting.By(list, func(a, b OperatorStats) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Device, b.Device))
	})
	return list
}

func (o *OperatorStats) rates(total time.Duration) {
	if total > 0 {
		o.Share = float64(o.Time) / float64(total)
	}
	if o.Time > 0 && o.Bytes > 0 {
		o.GBs = float64(o.Bytes) / float64(o.Time)
	}
	if o.Time > 0 && o.FLOPs > 0 {
		o.GFLOPs = float64(o.FLOPs) / float64(o.Time)
	}
}

// spent is what an event took itself.
type spent struct {
	self     time.Duration // on the host, without what is a row of its own
	onStream time.Duration // of its kernels
	device   string        // of its timed kernels
}

func (t *Thread) operators(rows map[operatorKey]*OperatorStats) {
	events := ordered(t)
	costs := make(map[*Event]*spent, len(events))
	walk(events, func(e, parent *Event) {
		c := &spent{self: e.End - e.Begin}
		if e.OnStream >= 0 {
			c.self, c.onStream, c.device = 0, e.OnStream, e.onStream().device
		}
		costs[e] = c
		if parent == nil {
			return
		}
		p := costs[parent]
		if e.Kind == Kernel { // a part of the operator that launched it
			costs[e] = &spent{}
			if e.OnStream >= 0 {
				p.onStream += e.OnStream
				p.device = e.Device
			}
			return
		}
		p.self -= e.End - e.Begin
	})
	walk(events, func(e, parent *Event) {
		if e.Kind == Wait || e.Kind == Kernel && parent != nil {
			return
		}
		c := costs[e]
		key := operatorKey{e.title(), c.device}
		row := rows[key]
		if row == nil {
			row = &OperatorStats{Name: key.name, Device: key.device}
			rows[key] = row
		}
		row.Calls++
		if c.device != "" {
			row.Time += c.onStream
		} else {
			row.Time += c.self
		}
		row.count(e)
	})
}

// count adds the bytes and operations of a call.
func (o *OperatorStats) count(e *Event) {
	bytes, flops := int64(-1), int64(-1)
	if e.Kind == Copy {
		bytes = e.Bytes
	} else if len(e.Tensors) > 0 {
		bytes = 0
		for _, t := range e.Tensors {
			bytes += t.Bytes()
		}
	}
	if n, ok := FLOPs(e.Name, e.Tensors); ok {
		flops = n
	}
	o.Bytes, o.FLOPs = sum(o.Bytes, bytes), sum(o.FLOPs, flops)
}

// sum is -1 once a part is not known.
func sum(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// WriteTable writes the operators as a table with a line for each, and says how many events were dropped.
func (r *Recording) WriteTable(w io.Writer) error {
	lines := [][]string{{"share", "time", "calls", "per call", "GB/s", "GFLOP/s", "on", "operator"}}
	var total time.Duration
	for _, o := range r.Operators() {
		total += o.Time
		lines = append(lines, []string{fmt.Sprintf("%.1f %%", 100*o.Share), short(o.Time), strconv.Itoa(o.Calls),
			short(o.Time / time.Duration(o.Calls)), rate(o.GBs), rate(o.GFLOPs), cmp.Or(o.Device, "host"), o.Name})
	}
	lines = append(lines, []string{"100.0 %", short(total), "", "", "", "", "", "total"})
	widths := make([]int, len(lines[0])-1) // the name is the last column, and begins at its left
	for _, line := range lines {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, width := range widths {
			fmt.Fprintf(&b, "%*s  ", width, line[i])
		}
		b.WriteString(line[len(widths)] + "\n")
	}
	if r.Dropped > 0 {
		fmt.Fprintf(&b, "%d events are missing: the profile was full\n", r.Dropped)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func rate(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g", x)
}

// short is a duration with four digits.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.4g µs", float64(d)/1e3)
	case d < 10*time.Second:
		return fmt.Sprintf("%.4g ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.4g s", d.Seconds())
}
