package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/must"
)

// rig makes cases whose times are known, counts what is open, and calls hook at each call of the engine.
type rig struct {
	t      *testing.T
	hook   func(call call) error                            // nil: every call succeeds
	times  func(device string, n, sample int) bench.Elapsed // of n operations; nil: 1 ms each
	calls  []call
	open   int // works that are open
	opened int
}

// call is a call of the engine.
type call struct {
	k            int // counts all of them
	step, device string
	of           string // case and variant
	n            int    // of Run
}

func (r *rig) at(step string, device *bench.Device, of string, n int) error {
	c := call{k: len(r.calls), step: step, of: of, n: n}
	if device != nil {
		c.device = device.Name
	}
	r.calls = append(r.calls, c)
	if r.hook == nil {
		return nil
	}
	return r.hook(c)
}

// steps returns the calls of one kind as text.
func (r *rig) steps(step string) (list []string) {
	for _, c := range r.calls {
		if c.step == step {
			list = append(list, strings.TrimSuffix(c.of+" on "+c.device, " "))
		}
	}
	return list
}

type rigWork struct {
	*rig
	on      *bench.Device
	of      string
	samples int
	closed  bool
}

func (w *rigWork) Amount() bench.Amount { return bench.Amount{Ops: 2e6, Bytes: 1e6} }

func (w *rigWork) Facts() bench.Facts { return bench.Facts{"registers": 64, "name": w.of} }

func (w *rigWork) Check(context.Context) (string, error) {
	return "all elements", w.at("check", w.on, w.of, 0)
}

func (w *rigWork) Run(_ context.Context, n int) (bench.Elapsed, error) {
	require.False(w.t, w.closed, "Run after Close")
	if err := w.at("run", w.on, w.of, n); err != nil {
		return bench.Elapsed{}, err
	}
	w.samples++
	if w.times == nil {
		return bench.Elapsed{Wall: time.Duration(n) * time.Millisecond}, nil
	}
	return w.times(w.on.Name, n, w.samples-1), nil
}

func (w *rigWork) Close() error {
	require.False(w.t, w.closed, "closed twice")
	w.closed = true
	w.rig.open--
	return w.at("close", w.on, w.of, 0)
}

func (r *rig) kase(suite, name string, variants ...string) *bench.Case {
	c := &bench.Case{Suite: suite, Name: name, Figure: bench.Flops}
	for _, v := range append([]string{""}, variants...) {
		of := strings.TrimSuffix(name+" by "+v, " by ")
		c.Variants = append(c.Variants, bench.Variant{Name: v,
			Open: func(_ context.Context, on *bench.Device) (bench.Work, error) {
				if err := r.at("open", on, of, 0); err != nil {
					return nil, err
				}
				r.open++
				r.opened++
				return &rigWork{rig: r, on: on, of: of}, nil
			}})
	}
	return c
}

// run measures, and checks what is true of every run: nothing is left open, and the report is valid.
func (r *rig) run(ctx context.Context, c bench.Config, cases []*bench.Case, devices ...string) *bench.Report {
	var on []*bench.Device
	for _, d := range devices {
		on = append(on, &bench.Device{Name: d, Title: "synthetic"})
	}
	return r.runOn(ctx, c, cases, on)
}

func (r *rig) runOn(ctx context.Context, c bench.Config, cases []*bench.Case, on []*bench.Device) *bench.Report {
	report := must.Get(bench.Run(ctx, c, cases, on))(r.t)
	require.Zero(r.t, r.open, "works that were not closed")
	requireValid(r.t, report)
	return report
}

// quick has few samples, and a warm-up of one.
var quick = bench.Config{Rounds: 6, WarmUp: 1, Sample: time.Millisecond}

var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(bench.ReportSchema()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("report", document); err != nil {
		return nil, err
	}
	return c.Compile("report")
})

// requireValid validates a report, and reads and writes it again.
func requireValid(t *testing.T, r *bench.Report) {
	t.Helper()
	var text, again bytes.Buffer
	require.NoError(t, r.Write(&text))
	require.NoError(t, validate(text.Bytes()), "%s", text.Bytes())
	read := must.Get(bench.Read(bytes.NewReader(text.Bytes())))(t)
	require.NoError(t, read.Write(&again))
	require.Equal(t, text.String(), again.String(), "the round trip")
}

func validate(text []byte) error {
	s, err := schema()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// statuses returns the rows as text: "add on a: measured 6".
func statuses(r *bench.Report) (list []string) {
	for _, row := range r.Rows {
		name := row.Case
		if row.Variant != "" {
			name += " by " + row.Variant
		}
		list = append(list, fmt.Sprintf("%s on %s: %s %d", name, row.Device, row.Status, len(row.Samples)))
	}
	return slices.Clip(list)
}
