package bench_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/must"
)

// reportOf is a report of rows, as a run makes it.
func reportOf(t *testing.T, rows ...*bench.Row) *bench.Report {
	r := evaluated(rows)
	requireValid(t, r)
	return r
}

func evaluated(rows []*bench.Row) *bench.Report {
	r := &bench.Report{Schema: bench.Schema, Started: time.Date(2026, 11, 9, 8, 0, 0, 0, time.UTC), Rows: rows,
		Machine: bench.Machine{Name: "one", CPU: "A", Cores: 2, Memory: 1 << 30, OS: "linux", Version: "0.1.0"},
		Config:  bench.Config{Rounds: 21, Sample: 5e6, WarmUp: 1e9, Case: 2e10, Confidence: 0.95, Relevant: 0.01},
		Devices: []bench.DeviceInfo{{Name: "cpu", Title: "A", Facts: bench.Facts{"driver version": "1", "free memory": 7.0}}}}
	for _, row := range rows {
		row.Warmup.Stable = true
	}
	bench.Evaluate(r)
	return r
}

// noisy are n times around some nanoseconds.
func noisy(r *rand.Rand, ns, noise float64, n int) (s []float64) {
	for range n {
		s = append(s, ns*math.Exp(noise*r.NormFloat64()))
	}
	return s
}

func timed(name string, ns ...float64) *bench.Row {
	return row("k", name, "cpu", bench.Time, bench.Amount{}, ns...)
}

// rowsOf makes 200 rows with noise of 1 %; those of changed take another time.
func rowsOf(r *rand.Rand, drift float64, changed map[int]float64) (rows []*bench.Row) {
	for i := range 200 {
		ns := 1000 * float64(i+1) * drift
		if by := changed[i]; by > 0 {
			ns *= by
		}
		rows = append(rows, timed(fmt.Sprint("row", i), noisy(r, ns, 0.01, 21)...))
	}
	return rows
}

// Reports of 200 rows in which nothing has changed: no alarm in 95 % of them, even if one run is 1 % slower.
func TestCompareWith_NoFalseAlarms(t *testing.T) {
	for _, drift := range []float64{1, 1.01, 1 / 1.01} {
		r := rand.New(rand.NewPCG(1, 1))
		alarms := 0
		for range 40 {
			old, now := evaluated(rowsOf(r, 1, nil)), evaluated(rowsOf(r, drift, nil))
			if len(now.CompareWith(old)) > 0 {
				alarms++
			}
		}
		require.LessOrEqual(t, alarms, 2, "of 40 reports, drift %v", drift)
	}
}

// One slowdown and one speedup of 5 % among 200 rows are found, and nothing else.
func TestCompareWith_FindsTheRegression(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 10 {
		old, now := evaluated(rowsOf(r, 1, nil)), evaluated(rowsOf(r, 1, map[int]float64{17: 1.05, 99: 0.95}))
		regressions := now.CompareWith(old)
		require.Equal(t, []*bench.Row{now.Rows[17]}, regressions)
		require.Equal(t, bench.Slower, now.Rows[17].Change.Verdict)
		require.InDelta(t, 1.05, now.Rows[17].Change.Ratio.Value, 0.015)
		require.LessOrEqual(t, now.Rows[17].Change.P, 0.05)
		require.Equal(t, bench.Faster, now.Rows[99].Change.Verdict)
		require.Equal(t, bench.Same, now.Rows[3].Change.Verdict)
		require.Empty(t, now.Baseline.Warnings)
		requireValid(t, now)
	}
}

// Slow operations have six samples: a slowdown is found among 200 rows of them.
func TestCompareWith_SixSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var before, after []*bench.Row
	for i := range 200 {
		before = append(before, timed(fmt.Sprint(i), noisy(r, 1e9, 0.005, 6)...))
		after = append(after, timed(fmt.Sprint(i), noisy(r, 1e9, 0.005, 6)...))
	}
	after[50].Samples = noisy(r, 1.1e9, 0.005, 6)
	now := reportOf(t, after...)
	require.Equal(t, []*bench.Row{now.Rows[50]}, now.CompareWith(reportOf(t, before...)))
}

// Rows without noise: exact ratios, and a change of exactly 1 % is none.
func TestCompareWith_ExactValues(t *testing.T) {
	constant := func(name string, ns float64) *bench.Row { return timed(name, slices.Repeat([]float64{ns}, 21)...) }
	old := reportOf(t, constant("same", 100), constant("one percent", 100), constant("slower", 100),
		constant("faster", 100))
	now := reportOf(t, constant("same", 100), constant("one percent", 101), constant("slower", 103),
		constant("faster", 50))
	require.Equal(t, []*bench.Row{now.Rows[2]}, now.CompareWith(old))
	var got []string
	for _, row := range now.Rows {
		got = append(got, fmt.Sprintf("%s %v", row.Change.Verdict, row.Change.Ratio.Value))
	}
	require.Equal(t, []string{"same 1", "same 1.01", "slower 1.03", "faster 0.5"}, got)
	require.Equal(t, old.Started, now.Baseline.Started)
	now.Config.Relevant = 0.05
	require.Empty(t, now.CompareWith(old))
}

func TestCompareWith_RowsThatFailNowOrThen(t *testing.T) {
	six := []float64{100, 100, 100, 100, 100, 100}
	status := func(name string, s bench.Status, ns ...float64) *bench.Row {
		row := timed(name, ns...)
		row.Status = s
		return row
	}
	old := reportOf(t, timed("fails", six...), timed("wrong", six...), timed("lacks", six...), timed("gone", six...),
		status("repaired", bench.Failed), status("never", bench.NotMeasured), timed("stops", six...), timed("cut", six...),
		timed("fails late", six...))
	now := reportOf(t, status("fails", bench.Failed), status("wrong", bench.Wrong), status("lacks", bench.NotMeasured),
		timed("added", six...), timed("repaired", six...), status("never", bench.NotMeasured),
		status("stops", bench.Interrupted), status("cut", bench.Interrupted, six...),
		status("fails late", bench.Failed, six...))
	now.Ended = "interrupted: Ctrl-C"
	require.Equal(t, []*bench.Row{now.Rows[0], now.Rows[1], now.Rows[8]}, now.CompareWith(old))
	verdicts := map[string]string{}
	for _, row := range now.Rows {
		if row.Change != nil {
			verdicts[row.Case] = row.Change.Verdict
		}
	}
	require.Equal(t, map[string]string{"fails": bench.Broken, "wrong": bench.Broken, "fails late": bench.Broken,
		"added": bench.New, "repaired": bench.New, "cut": bench.Same}, verdicts)
	require.Equal(t, []string{"k/gone on cpu"}, now.Baseline.Missing)
	require.Equal(t, []string{"the run now is incomplete: interrupted: Ctrl-C",
		"measured then, and now failed: k/fails on cpu, k/fails late on cpu",
		"measured then, and now wrong result: k/wrong on cpu", "measured then, and now not measured: k/lacks on cpu",
		"measured then, and now interrupted: k/stops on cpu"}, now.Baseline.Warnings)
	requireValid(t, now)
	now.CompareWith(old)
	require.Len(t, now.Baseline.Missing, 1, "a second comparison replaces the first")
}

// A comparison without a row that both runs measured says so: an exit status of 0 would look as if nothing had changed.
func TestCompareWith_Nothing(t *testing.T) {
	six := []float64{100, 100, 100, 100, 100, 100}
	nothing := "nothing was compared: no row of this run was measured then"
	now, old := reportOf(t, timed("a", six...)), reportOf(t, timed("b", six...))
	require.Empty(t, now.CompareWith(old))
	require.Equal(t, []string{nothing}, now.Baseline.Warnings)
	old = reportOf(t, timed("a", six...))
	require.Empty(t, now.CompareWith(old))
	require.Empty(t, now.Baseline.Warnings)
}

func TestCompareWith_Warnings(t *testing.T) {
	six := []float64{100, 100, 100, 100, 100, 100}
	for _, c := range []struct {
		edit func(r *bench.Report)
		want string // of the warnings; "": none
	}{
		{func(*bench.Report) {}, ""},
		{func(r *bench.Report) { r.Machine.Name = "two %s" }, "another machine: one (A, 2 cores, 1024 MiB), then two %s"},
		{func(r *bench.Report) { r.Machine.CPU = "B" }, "then one (B, 2 cores"},
		{func(r *bench.Report) { r.Machine.OS = "linux 7" }, "another system: linux, then linux 7"},
		{func(r *bench.Report) { r.Machine.Version = "0.0.9" }, "another version of tvmgo: 0.1.0, then 0.0.9"},
		{func(r *bench.Report) { r.Machine.Governor = "powersave" }, "another governor"},
		{func(r *bench.Report) { r.Config.Rounds = 6 }, "other rounds: 21, then 6"},
		{func(r *bench.Report) { r.Config.Sample = 1e6 }, "another duration of samples: 5ms, then 1ms"},
		{func(r *bench.Report) { r.Config.WarmUp = 1e6 }, "another duration of warm-up: 1s, then 1ms"},
		{func(r *bench.Report) { r.Devices[0].Title = "B" }, "another device cpu: A, then B"},
		{func(r *bench.Report) { r.Devices[0].Facts["driver version"] = "2" }, "driver version of cpu: 1, then 2"},
		{func(r *bench.Report) { r.Devices[0].Facts["free memory"] = 8.0 }, ""},
		{func(r *bench.Report) { r.Devices = nil }, ""},
		{func(r *bench.Report) { r.Ended = "interrupted: x" }, "the run then is incomplete: interrupted: x"},
		{func(r *bench.Report) { r.Rows[0].Warmup.Stable = false },
			"the speed was not stable after the warm-up then: k/a on cpu"},
		{func(r *bench.Report) { r.Rows[0].Conditions = &bench.Conditions{Throttled: []string{"power"}} },
			"the device was throttled then: k/a on cpu"},
		{func(r *bench.Report) { r.Rows[0].Clock, r.Rows[0].Wall = bench.ClockDevice, six },
			"the clock differs (wall time is compared): k/a on cpu"},
		{func(r *bench.Report) { r.Rows[0].Figure = bench.Flops }, "another figure is reported: k/a on cpu"},
		{func(r *bench.Report) { r.Rows[0].Amount.Ops = 7 }, "an operation does another amount of work: k/a on cpu"},
		{func(r *bench.Report) { r.Rows[0].Samples = six[:5] }, "fewer than 6 samples in a run: k/a on cpu"},
	} {
		old, now := reportOf(t, timed("a", six...)), reportOf(t, timed("a", six...))
		c.edit(old)
		require.Empty(t, now.CompareWith(old))
		text := strings.Join(now.Baseline.Warnings, "\n")
		if c.want == "" {
			require.Empty(t, text)
		} else {
			require.Len(t, now.Baseline.Warnings, 1, text)
			require.Contains(t, text, c.want)
		}
		requireValid(t, now)
	}
	// Many rows share a warning.
	var before, after []*bench.Row
	for i := range 10 {
		before, after = append(before, timed(fmt.Sprint(i), six...)), append(after, timed(fmt.Sprint(i), six...))
	}
	now := reportOf(t, after...)
	for _, row := range now.Rows {
		row.Warmup.Stable = false
	}
	now.CompareWith(reportOf(t, before...))
	require.Equal(t, []string{"the speed was not stable after the warm-up now: k/0 on cpu, k/1 on cpu, k/2 on cpu and 7 " +
		"more rows"}, now.Baseline.Warnings)
}

// If one run has the device's times and the other one not, wall times are compared.
func TestCompareWith_OtherClock(t *testing.T) {
	old, now := timed("a", slices.Repeat([]float64{100}, 21)...), timed("a", slices.Repeat([]float64{50}, 21)...)
	now.Clock, now.Wall = bench.ClockDevice, slices.Repeat([]float64{100}, 21)
	r := reportOf(t, now)
	require.Empty(t, r.CompareWith(reportOf(t, old)))
	require.Equal(t, 1.0, r.Rows[0].Change.Ratio.Value)
}

// An operation whose size was adapted to the device is compared by its rate.
func TestCompareWith_OtherAmount(t *testing.T) {
	of := func(ops, ns float64) *bench.Row {
		return row("k", "peak", "cpu", bench.Flops, bench.Amount{Ops: ops}, slices.Repeat([]float64{ns}, 21)...)
	}
	r := reportOf(t, of(2000, 200))
	require.Empty(t, r.CompareWith(reportOf(t, of(1000, 100))))
	require.Equal(t, 1.0, r.Rows[0].Change.Ratio.Value)
	r = reportOf(t, of(2000, 210))
	require.Len(t, r.CompareWith(reportOf(t, of(1000, 100))), 1)
	require.InDelta(t, 1.05, r.Rows[0].Change.Ratio.Value, 1e-12)
}

// A report that was read from a file is compared like one of a run.
func TestCompareWith_ReadReport(t *testing.T) {
	old := reportOf(t, timed("a", 100, 100, 100, 100, 100, 100))
	var text bytes.Buffer
	require.NoError(t, old.Write(&text))
	now := reportOf(t, timed("a", 200, 200, 200, 200, 200, 200))
	require.Len(t, now.CompareWith(must.Get(bench.Read(&text))(t)), 1)
}
