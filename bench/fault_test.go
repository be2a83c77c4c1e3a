package bench_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// twoCases are two cases, the second one with a variant.
func (r *rig) twoCases() []*bench.Case {
	return []*bench.Case{r.kase("s", "one"), r.kase("s", "two", "lib")}
}

// callsOfTwoCases returns how often the engine calls two cases on devices a and b if nothing happens.
func callsOfTwoCases(t *testing.T) int {
	r := &rig{t: t}
	report := r.run(t.Context(), quick, r.twoCases(), "a", "b")
	require.Equal(t, []string{"one on a: measured 6", "one on b: measured 6", "two on a: measured 6",
		"two by lib on a: measured 6", "two on b: measured 6", "two by lib on b: measured 6"}, statuses(report))
	require.Empty(t, report.Ended)
	return len(r.calls)
}

// From the k-th call on, everything on device a fails because it has disappeared, for every k.
func TestRun_DeviceDisappears(t *testing.T) {
	for k := range callsOfTwoCases(t) {
		r := &rig{t: t}
		r.hook = func(c call) error {
			if c.k >= k && c.device == "a" && c.step != "close" {
				return fmt.Errorf("%s: %w", c.step, runtime.ErrDeviceUnavailable)
			}
			return nil
		}
		report := r.run(t.Context(), quick, r.twoCases(), "a", "b")
		require.Empty(t, report.Ended)
		first, lost := true, 0
		for _, row := range report.Rows {
			if row.Device == "b" {
				require.Equal(t, bench.Measured, row.Status, "call %d: %s", k, row.ID())
				require.Len(t, row.Samples, 6)
				continue
			}
			if row.Status == bench.Measured {
				require.True(t, first, "call %d: %s is measured after the device has disappeared", k, row.ID())
				continue
			}
			first = false
			require.Equal(t, bench.Failed, row.Status)
			require.Contains(t, row.Reason, runtime.ErrDeviceUnavailable.Error())
			lost++
		}
		failed := 0
		for _, c := range r.calls {
			if c.k >= k && c.device == "a" && c.step != "close" {
				failed++
			}
		}
		require.LessOrEqual(t, failed, 1, "call %d: the device is not used again", k)
		require.Equal(t, failed, min(lost, 1))
	}
}

// Samples that were taken before the device disappeared are kept, and rows of later cases say what happened.
func TestRun_DeviceDisappearsInRound3(t *testing.T) {
	r := &rig{t: t}
	runs := 0
	r.hook = func(c call) error {
		if c.step == "run" && c.device == "a" {
			if runs++; runs == 1+1+3 { // calibration, and three rounds
				return runtime.ErrDeviceUnavailable
			}
		}
		return nil
	}
	report := r.run(t.Context(), quick, r.twoCases(), "b", "a")
	require.Equal(t, []string{"one on b: measured 6", "one on a: failed 3", "two on b: measured 6",
		"two by lib on b: measured 6", "two on a: failed 0", "two by lib on a: failed 0"}, statuses(report))
	require.NotNil(t, report.Rows[1].Times)
	require.Contains(t, report.Rows[4].Reason, "the device has disappeared")
}

// Every call fails once, and panics once: its row fails and names the error; all others are measured.
func TestRun_EveryCallFails(t *testing.T) {
	boom := errors.New("boom")
	for k := range callsOfTwoCases(t) {
		for _, panics := range []bool{false, true} {
			r := &rig{t: t}
			var at call
			r.hook = func(c call) error {
				if c.k != k {
					return nil
				}
				at = c
				if panics {
					panic(boom)
				}
				return boom
			}
			report := r.run(t.Context(), quick, r.twoCases(), "a", "b")
			require.Empty(t, report.Ended)
			for i, text := range statuses(report) {
				row := report.Rows[i]
				if !strings.HasPrefix(text, at.of+" on "+at.device+":") {
					require.Contains(t, text, ": measured 6", "call %d (%s)", k, at.step)
					continue
				}
				require.Contains(t, row.Reason, "boom", "call %d (%s)", k, at.step)
				if panics {
					require.Contains(t, row.Reason, "panic: boom (fault_test.go:", "call %d (%s)", k, at.step)
				}
				want := bench.Failed
				if at.step == "close" {
					want = bench.Measured
				}
				require.Equal(t, want, row.Status, "call %d (%s)", k, at.step)
			}
		}
	}
}

// The context ends during the k-th call, for every k: what was measured is kept, and nothing else begins.
func TestRun_CancelledAtEveryCall(t *testing.T) {
	all := callsOfTwoCases(t)
	for k := range all {
		for _, reports := range []bool{false, true} { // whether the call returns the context's error
			r := &rig{t: t}
			ctx, cancel := context.WithCancelCause(t.Context())
			r.hook = func(c call) error {
				if c.k == k {
					cancel(errors.New("Ctrl-C"))
					if reports && c.step != "close" {
						return ctx.Err()
					}
				}
				return nil
			}
			report := r.run(ctx, quick, r.twoCases(), "a", "b")
			for _, c := range r.calls[k+1:] {
				require.Equal(t, "close", c.step, "call %d: nothing begins after the end", k)
			}
			interrupted := 0
			for _, row := range report.Rows {
				switch row.Status {
				case bench.Interrupted:
					interrupted++
					require.Equal(t, "Ctrl-C", row.Reason)
					require.Equal(t, len(row.Samples) > 0, row.Times != nil)
				case bench.Measured:
					require.Len(t, row.Samples, 6)
				default:
					t.Fatalf("call %d: %s is %s", k, row.ID(), row.Status)
				}
			}
			whole := interrupted == 0 && len(report.Rows) == 6
			require.Equal(t, whole, report.Ended == "", "call %d", k)
			if !whole {
				require.Equal(t, "interrupted: Ctrl-C", report.Ended)
			}
			samples := 0
			for _, row := range report.Rows {
				samples += len(row.Samples)
			}
			runs := len(r.steps("run"))
			warm := 0
			for _, row := range report.Rows {
				warm += row.Warmup.Samples
			}
			require.InDelta(t, runs, samples+warm, 1, "call %d: every sample is kept", k)
		}
	}
}

func TestRun_CancelledBefore(t *testing.T) {
	r := &rig{t: t}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report := r.run(ctx, quick, r.twoCases(), "a")
	require.Empty(t, report.Rows)
	require.Empty(t, r.calls)
	require.Equal(t, "interrupted: context canceled", report.Ended)
}

func TestRun_DeadlineEndsIt(t *testing.T) {
	r := &rig{t: t}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	require.Equal(t, "interrupted: context deadline exceeded", r.run(ctx, quick, r.twoCases(), "a").Ended)
}

// A wrong result is reported and never timed; other rows are measured.
func TestRun_WrongResultIsNotTimed(t *testing.T) {
	r := &rig{t: t, hook: func(c call) error {
		if c.step == "check" && c.of == "two" {
			return fmt.Errorf("element 3 is 7, expected 8: %w", bench.ErrWrongResult)
		}
		return nil
	}}
	report := r.run(t.Context(), quick, r.twoCases(), "a", "b")
	require.Equal(t, []string{"one on a: measured 6", "one on b: measured 6", "two on a: wrong result 0",
		"two by lib on a: measured 6", "two on b: wrong result 0", "two by lib on b: measured 6"}, statuses(report))
	require.NotContains(t, r.steps("run"), "two on a")
	require.NotContains(t, r.steps("run"), "two on b")
	row := report.Rows[2]
	require.Equal(t, "element 3 is 7, expected 8: wrong result", row.Reason)
	require.Nil(t, row.Times)
	require.Zero(t, row.Value)
	require.Nil(t, row.Ratio)
	require.Equal(t, "s/two on a by lib", report.Rows[5].Ratio.To, "the first row that was measured")
}

func TestRun_NotMeasured(t *testing.T) {
	r := &rig{t: t, hook: func(c call) error {
		if c.step == "open" && c.device == "a" {
			return fmt.Errorf("no float64: %w: %w", bench.ErrNotMeasured, runtime.ErrDeviceUnavailable)
		}
		return nil
	}}
	report := r.run(t.Context(), quick, r.twoCases(), "a", "b")
	require.Equal(t, bench.NotMeasured, report.Rows[0].Status)
	require.Contains(t, report.Rows[0].Reason, "no float64")
	require.Equal(t, []string{"one on a", "one on b", "two on a", "two by lib on a", "two on b", "two by lib on b"},
		r.steps("open"), "the device is there")
}

type sensor struct {
	read func() (bench.Reading, error)
	n    int
}

func (s *sensor) Read() (bench.Reading, error) { s.n++; return s.read() }
func (s *sensor) Close() error                 { return nil }

// A sensor that fails or panics is not read again; its device says why, and rows are measured.
func TestRun_SensorFails(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	s := &sensor{}
	s.read = func() (bench.Reading, error) {
		switch s.n {
		case 1:
			return bench.Reading{ClockMHz: number(1500), Celsius: number(math.NaN()), Throttled: []string{"power"}}, nil
		case 2:
			return bench.Reading{ClockMHz: number(1400), Watts: number(math.Inf(1)), Throttled: []string{"power"}}, nil
		}
		panic("the driver is gone")
	}
	broken := &sensor{read: func() (bench.Reading, error) { return bench.Reading{}, errors.New("no permission") }}
	r := &rig{t: t}
	report := r.runOn(t.Context(), quick, []*bench.Case{r.kase("s", "one")}, []*bench.Device{{Name: "a", Sensor: s},
		{Name: "b", Sensor: broken}, {Name: "c"}})
	require.Equal(t, []int{3, 1}, []int{s.n, broken.n})
	require.Equal(t, &bench.Conditions{ClockMHz: &bench.Range{Min: 1400, Max: 1500}, Throttled: []string{"power"}},
		report.Rows[0].Conditions)
	require.Contains(t, report.Devices[0].Sensor, "panic: the driver is gone")
	require.Equal(t, "no permission", report.Devices[1].Sensor)
	require.Empty(t, report.Devices[2].Sensor)
	for _, row := range report.Rows {
		require.Equal(t, bench.Measured, row.Status)
	}
}

// A panic of the caller's own functions ends the run as an interruption does.
func TestRun_ProgressPanics(t *testing.T) {
	for k := range 30 {
		r := &rig{t: t}
		n := 0
		c := quick
		c.Progress = func(bench.Progress) {
			if n++; n > k {
				panic("no terminal")
			}
		}
		report := r.run(t.Context(), c, r.twoCases(), "a", "b")
		require.Contains(t, report.Ended, "interrupted: Config.Progress: panic: no terminal (fault_test.go:")
		require.Equal(t, k+1, n, "it is not called again")
	}
	r := &rig{t: t}
	c := quick
	c.Finished = func([]*bench.Row) { panic("full") }
	report := r.run(t.Context(), c, r.twoCases(), "a", "b")
	require.Contains(t, report.Ended, "Config.Finished: panic: full")
	require.Equal(t, []string{"one on a: measured 6", "one on b: measured 6"}, statuses(report))
}

// Amounts and facts of a Work that JSON cannot have, or of which no figure follows.
func TestRun_AmountsAndFacts(t *testing.T) {
	r := &rig{t: t}
	run := func(f bench.Figure, a bench.Amount, facts bench.Facts) *bench.Row {
		c := &bench.Case{Suite: "s", Name: "n", Figure: f, Variants: []bench.Variant{{
			Open: func(_ context.Context, on *bench.Device) (bench.Work, error) {
				r.open++
				return &oddWork{&rigWork{rig: r, on: on}, a, facts}, nil
			}}}}
		return r.run(t.Context(), quick, []*bench.Case{c}, "a").Rows[0]
	}
	for _, c := range []struct {
		f    bench.Figure
		a    bench.Amount
		want string
	}{
		{bench.Flops, bench.Amount{Ops: math.NaN()}, "NaN operations"},
		{bench.Time, bench.Amount{Bytes: math.Inf(1)}, "+Inf bytes"},
		{bench.Time, bench.Amount{Ops: -1}, "give numbers from 0"},
		{bench.Flops, bench.Amount{Bytes: 1}, "the case reports GFLOPS"},
		{bench.IntOps, bench.Amount{}, "the case reports GIOPS"},
		{bench.Bandwidth, bench.Amount{Ops: 1}, "the case reports GB/s"},
	} {
		row := run(c.f, c.a, nil)
		require.Equal(t, bench.Failed, row.Status)
		require.Contains(t, row.Reason, c.want)
		require.Empty(t, row.Samples)
	}
	row := run(bench.Time, bench.Amount{}, bench.Facts{"n": 7, "wide": uint8(3), "x": math.NaN(), "inf": math.Inf(-1),
		"half": 0.5, "yes": true, "why": "because", "list": []int{1, 2}, "none": nil, "d": time.Second})
	require.Equal(t, bench.Measured, row.Status)
	require.Equal(t, bench.Facts{"n": 7.0, "wide": 3.0, "half": 0.5, "yes": true, "why": "because", "list": "[1 2]",
		"d": 1e9}, row.Facts)
}

type oddWork struct {
	*rigWork
	amount bench.Amount
	facts  bench.Facts
}

func (w *oddWork) Amount() bench.Amount { return w.amount }
func (w *oddWork) Facts() bench.Facts   { return w.facts }

func TestRun_BadArguments(t *testing.T) {
	r := &rig{t: t}
	one := r.kase("s", "one")
	nameless := r.kase("s", "")
	twice := r.kase("s", "two", "lib", "lib")
	closed := &bench.Case{Suite: "s", Name: "closed", Variants: []bench.Variant{{}}}
	a := &bench.Device{Name: "a"}
	for _, c := range []struct {
		config  bench.Config
		cases   []*bench.Case
		devices []*bench.Device
		want    string
	}{
		{bench.Config{}, nil, []*bench.Device{a}, "no case is given"},
		{bench.Config{}, []*bench.Case{one}, nil, "no device is given"},
		{bench.Config{}, []*bench.Case{one, one}, []*bench.Device{a}, "two cases have the name s/one"},
		{bench.Config{}, []*bench.Case{nil}, []*bench.Device{a}, "case 0 is nil"},
		{bench.Config{}, []*bench.Case{nameless}, []*bench.Device{a}, "case 0 (s/) needs a suite and a name"},
		{bench.Config{}, []*bench.Case{twice}, []*bench.Device{a}, `case s/two has two variants with the name "lib"`},
		{bench.Config{}, []*bench.Case{{Suite: "s", Name: "n", Figure: "speed", Variants: one.Variants}}, []*bench.Device{a},
			`unknown figure "speed"`},
		{bench.Config{}, []*bench.Case{closed}, []*bench.Device{a}, "Open is nil"},
		{bench.Config{}, []*bench.Case{{Suite: "s", Name: "n"}}, []*bench.Device{a}, "case s/n has no variant"},
		{bench.Config{}, []*bench.Case{one}, []*bench.Device{a, {Name: "a"}}, "device a is named twice"},
		{bench.Config{}, []*bench.Case{one}, []*bench.Device{a, nil}, "device 1 is nil"},
		{bench.Config{}, []*bench.Case{one}, []*bench.Device{{}}, "device 0 needs a name"},
		{bench.Config{Rounds: -1}, []*bench.Case{one}, []*bench.Device{a}, "-1 rounds: give 1 to 1000000"},
		{bench.Config{Sample: -1}, []*bench.Case{one}, []*bench.Device{a}, "a duration is negative"},
		{bench.Config{Confidence: 1}, []*bench.Case{one}, []*bench.Device{a}, "confidence 1: give a number"},
		{bench.Config{Confidence: math.NaN()}, []*bench.Case{one}, []*bench.Device{a}, "confidence NaN"},
		{bench.Config{Relevant: -0.1}, []*bench.Case{one}, []*bench.Device{a}, "smallest relevant change -0.1"},
	} {
		require.ErrorContains(t, must.Fail(bench.Run(t.Context(), c.config, c.cases, c.devices)), c.want)
	}
	require.Empty(t, r.calls)
}

// An Open that returns nothing is an error of its row.
func TestRun_OpenReturnsNothing(t *testing.T) {
	r := &rig{t: t}
	c := &bench.Case{Suite: "s", Name: "nothing", Variants: []bench.Variant{{
		Open: func(context.Context, *bench.Device) (bench.Work, error) { return nil, nil }}}}
	report := r.run(t.Context(), quick, []*bench.Case{c, r.kase("s", "one")}, "a")
	require.Equal(t, []string{"nothing on a: failed 0", "one on a: measured 6"}, statuses(report))
	require.Contains(t, report.Rows[0].Reason, "neither a Work nor an error")
}

// Rounds alternate: A B, B A. Rows that fail leave the order of the others as it is.
func TestRun_Interleaves(t *testing.T) {
	r := &rig{t: t}
	r.run(t.Context(), quick, []*bench.Case{r.kase("s", "one", "lib")}, "a", "b")
	rounds := r.steps("run")[4:] // after the calibration of each
	forth := []string{"one on a", "one by lib on a", "one on b", "one by lib on b"}
	back := slices.Clone(forth)
	slices.Reverse(back)
	require.Equal(t, slices.Concat(forth, back, forth, back, forth, back), rounds)
}
