package bench_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/must"
)

// synthetic is an operation whose times are known. Each call of Run takes the next one.
type synthetic struct {
	bench.Work
	times  []time.Duration // of an operation
	next   int
	timer  bool
	amount bench.Amount
}

func (s *synthetic) Amount() bench.Amount { return s.amount }

func (s *synthetic) Facts() bench.Facts { return nil }

func (s *synthetic) Check(context.Context) (string, error) { return "known", nil }

func (s *synthetic) Close() error { return nil }

func (s *synthetic) Run(_ context.Context, n int) (bench.Elapsed, error) {
	t := s.times[s.next%len(s.times)] * time.Duration(n)
	s.next++
	if s.timer {
		return bench.Elapsed{Wall: t + time.Microsecond, Device: t}, nil
	}
	return bench.Elapsed{Wall: t}, nil
}

func TestRun_FiguresOfKnownTimes(t *testing.T) {
	open := func(_ context.Context, on *bench.Device) (bench.Work, error) {
		took := 10 * time.Millisecond
		if on.Name == "slow" {
			took = 20 * time.Millisecond
		}
		return &synthetic{times: []time.Duration{took}, timer: on.Name == "slow", amount: bench.Amount{Bytes: 1e9}}, nil
	}
	cases := []*bench.Case{{Suite: "bandwidth", Name: "copy", Figure: bench.Bandwidth,
		Variants: []bench.Variant{{Open: open}}}}
	devices := []*bench.Device{{Name: "fast"}, {Name: "slow"}}
	r, err := bench.Run(t.Context(), bench.Config{}, cases, devices)
	require.NoError(t, err)
	require.Len(t, r.Rows, 2)
	require.Equal(t, bench.Measured, r.Rows[0].Status)
	require.Equal(t, 100.0, r.Rows[0].Value)
	require.Equal(t, 50.0, r.Rows[1].Value)
	require.Equal(t, bench.ClockWall, r.Rows[0].Clock)
	require.Equal(t, bench.ClockDevice, r.Rows[1].Clock)
	require.InDelta(t, 2.0, r.Rows[1].Ratio.Value, 1e-3)
}

// Rows that travel as JSON have the same figures, ratios and shares after Evaluate as in the report of the run.
func TestEvaluate_RowsOfAnotherProcess(t *testing.T) {
	open := func(took time.Duration) bench.Variant {
		return bench.Variant{Open: func(_ context.Context, on *bench.Device) (bench.Work, error) {
			return &synthetic{times: []time.Duration{took}, amount: bench.Amount{Bytes: 1e6, Ops: 1e6}}, nil
		}}
	}
	cases := []*bench.Case{
		{Suite: "limit", Name: "copy", Figure: bench.Bandwidth, Variants: []bench.Variant{open(5 * time.Millisecond)}},
		{Suite: "limit", Name: "fma", Figure: bench.Flops, Variants: []bench.Variant{open(6 * time.Millisecond)}},
		{Suite: "mine", Name: "k", Figure: bench.Time, Limits: []string{"limit/copy", "limit/fma"},
			Variants: []bench.Variant{open(20 * time.Millisecond)}},
	}
	var sent [][]byte
	r, err := bench.Run(t.Context(), bench.Config{Finished: func(rows []*bench.Row) {
		sent = append(sent, must.Get(json.Marshal(rows))(t))
	}}, cases, []*bench.Device{{Name: "a"}, {Name: "b"}})
	require.NoError(t, err)
	require.Len(t, sent, len(cases))
	rebuilt := *r
	rebuilt.Rows = nil
	for _, part := range sent {
		var rows []*bench.Row
		require.NoError(t, json.Unmarshal(part, &rows))
		require.Len(t, rows, 2)
		require.Nil(t, rows[0].Times)
		rebuilt.Rows = append(rebuilt.Rows, rows...)
	}
	bench.Evaluate(&rebuilt)
	bench.Evaluate(&rebuilt) // changes nothing
	require.NotNil(t, rebuilt.Rows[5].Roofline)
	require.JSONEq(t, string(must.Get(json.Marshal(r))(t)), string(must.Get(json.Marshal(rebuilt))(t)))
}

// A family's limit is its best row on the same device.
func TestRun_ShareOfTheBestOfAFamily(t *testing.T) {
	of := func(name string, took time.Duration) *bench.Case {
		return &bench.Case{Suite: "compute", Name: name, Figure: bench.Flops, Family: "compute/fp32",
			Variants: []bench.Variant{{Open: func(context.Context, *bench.Device) (bench.Work, error) {
				return &synthetic{times: []time.Duration{took}, amount: bench.Amount{Ops: 1e9}}, nil
			}}}}
	}
	matmul := of("matmul", 40*time.Millisecond)
	matmul.Family, matmul.Limits = "", []string{"compute/fp32"}
	cases := []*bench.Case{of("fp32-scalar", 20*time.Millisecond), of("fp32-vec4", 10*time.Millisecond),
		of("fp32-vec16", 30*time.Millisecond), matmul}
	r, err := bench.Run(t.Context(), bench.Config{}, cases, []*bench.Device{{Name: "a"}, {Name: "b"}})
	require.NoError(t, err)
	require.Equal(t, []bench.Share{{Of: "compute/fp32-vec4 on a", Share: 0.25}}, r.Rows[6].Shares)
	require.Equal(t, []bench.Share{{Of: "compute/fp32-vec4 on b", Share: 0.25}}, r.Rows[7].Shares)
}

// A library's row has no share of ours, but ours has one of it: the ratio of their speeds on the same device.
func TestRun_ShareOfALibrary(t *testing.T) {
	open := func(took time.Duration) func(context.Context, *bench.Device) (bench.Work, error) {
		return func(context.Context, *bench.Device) (bench.Work, error) {
			return &synthetic{times: []time.Duration{took}, amount: bench.Amount{Ops: 1e9}}, nil
		}
	}
	cases := []*bench.Case{{Suite: "kernels", Name: "matmul", Figure: bench.Flops, Variants: []bench.Variant{
		{Open: open(10 * time.Millisecond)}, {Name: "cuBLAS", Open: open(8 * time.Millisecond)},
		{Name: "CLBlast", Open: open(time.Millisecond), On: func(d *bench.Device) bool { return d.Name == "other" }}}}}
	r, err := bench.Run(t.Context(), bench.Config{}, cases, []*bench.Device{{Name: "x"}})
	require.NoError(t, err)
	require.Len(t, r.Rows, 2, "a library has no row on a device that it is not made for")
	require.Equal(t, []bench.Share{{Of: "kernels/matmul on x by cuBLAS", Share: 0.8}}, r.Rows[0].Shares)
	require.Empty(t, r.Rows[1].Shares)
}
