// Package tracetest reads the traces of profiles in tests, and checks what every trace must satisfy.
package tracetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// Event is a line of a trace. Times are in nanoseconds.
type Event struct {
	Phase    string  `json:"ph"`
	PID      int     `json:"pid"`
	TID      int     `json:"tid"`
	TS       float64 `json:"ts"`  // in the file, microseconds
	Dur      float64 `json:"dur"` // in the file, microseconds
	Name     string  `json:"name"`
	Category string  `json:"cat"`
	ID       int     `json:"id"`
	Args     struct {
		Name        string `json:"name"`
		Function    string `json:"function"`
		Instruction int    `json:"instruction"`
		Node        int    `json:"node"`
		Shapes      string `json:"shapes"`
		FLOP        int64  `json:"flop"`
		Bytes       int64  `json:"bytes"`
	} `json:"args"`
	Begin, End int64 `json:"-"`
}

// Trace is a trace with its events in the order of the file.
type Trace struct {
	Events  []Event           `json:"traceEvents"`
	Other   map[string]string `json:"otherData"`
	Process map[int]string    `json:"-"`
	Track   map[[2]int]string `json:"-"` // by process and thread
}

// Of writes the trace of a profile and reads it. Events of a track must lie in each other or one after the other, each
// track must have a name, and each arrow two ends, each in an event, of which the first is not later. Bytes in use are
// in the order of time.
func Of(t testing.TB, p *runtime.Profile) *Trace {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, p.WriteTrace(&text))
	trace := &Trace{Process: map[int]string{}, Track: map[[2]int]string{}}
	require.NoError(t, json.Unmarshal(text.Bytes(), trace), "%s", text.Bytes())
	starts, ends, counted := map[int]int64{}, map[int]int64{}, map[string]int64{}
	for i := range trace.Events {
		e := &trace.Events[i]
		e.Begin = int64(math.Round(e.TS * 1000))
		e.End = e.Begin + int64(math.Round(e.Dur*1000))
		switch e.Phase {
		case "M":
			if e.Name == "process_name" {
				trace.Process[e.PID] = e.Args.Name
			} else if e.Name == "thread_name" {
				trace.Track[[2]int{e.PID, e.TID}] = e.Args.Name
			}
		case "s":
			require.NotContains(t, starts, e.ID)
			starts[e.ID] = e.Begin
		case "f":
			require.NotContains(t, ends, e.ID)
			ends[e.ID] = e.Begin
		case "X", "C":
			if e.Phase == "C" {
				require.GreaterOrEqual(t, e.Begin, counted[e.Name], e.Name)
				counted[e.Name] = e.Begin
			}
			require.GreaterOrEqual(t, e.Begin, int64(0))
			require.GreaterOrEqual(t, e.End, e.Begin)
		default:
			require.Fail(t, "unknown phase", "%+v", *e)
		}
	}
	require.Len(t, ends, len(starts), "arrows")
	for id, at := range starts {
		require.LessOrEqual(t, at, ends[id], "arrow %d", id)
	}
	trace.checkNesting(t)
	return trace
}

func (trace *Trace) checkNesting(t testing.TB) {
	tracks, arrows := map[[2]int][]Event{}, []Event(nil)
	for _, e := range trace.Events {
		if e.Phase == "s" || e.Phase == "f" {
			arrows = append(arrows, e)
		}
		if e.Phase != "X" {
			continue
		}
		track := [2]int{e.PID, e.TID}
		require.NotEmpty(t, trace.Process[e.PID], "process %d", e.PID)
		require.NotEmpty(t, trace.Track[track], "track %v", track)
		tracks[track] = append(tracks[track], e)
	}
	for _, a := range arrows {
		require.True(t, slices.ContainsFunc(tracks[[2]int{a.PID, a.TID}], func(e Event) bool {
			return e.Begin <= a.Begin && a.Begin <= e.End
		}), "no event is at the end of arrow %+v", a)
	}
	for _, events := range tracks {
		slices.SortStableFunc(events, func(a, b Event) int {
			return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(b.End, a.End))
		})
		var open []Event
		for _, e := range events {
			for len(open) > 0 && open[len(open)-1].End <= e.Begin {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				require.LessOrEqual(t, e.End, open[len(open)-1].End, "%+v is partly in %+v", e, open[len(open)-1])
			}
			open = append(open, e)
		}
	}
}

// Of returns the complete events of a category, in the order of the file.
func (trace *Trace) Of(category string) []Event {
	var list []Event
	for _, e := range trace.Events {
		if e.Phase == "X" && e.Category == category {
			list = append(list, e)
		}
	}
	return list
}

// Memory returns the bytes in use on a device over time.
func (trace *Trace) Memory(device string) []int64 {
	var list []int64
	for _, e := range trace.Events {
		if e.Phase == "C" && e.Name == "memory in use on "+device {
			list = append(list, e.Args.Bytes)
		}
	}
	return list
}

// CheckShares requires that the shares of the operators add up to 1, and returns the calls by name.
func CheckShares(t testing.TB, p *runtime.Profile) map[string]int {
	t.Helper()
	operators, err := p.Operators()
	require.NoError(t, err)
	calls := map[string]int{}
	sum := 0.0
	for _, o := range operators {
		sum += o.Share
		require.GreaterOrEqual(t, int64(o.Time), int64(0), "%+v", o)
		calls[o.Name] += o.Calls
	}
	require.InDelta(t, 1, sum, 1e-9)
	return calls
}
