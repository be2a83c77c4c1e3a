package bench_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/must"
)

// measureOne measures an operation whose i-th sample has the given time of one operation in nanoseconds.
func measureOne(t *testing.T, c bench.Config, ns func(sample int) float64) (*bench.Row, *rig) {
	r := &rig{t: t, times: func(_ string, n, sample int) bench.Elapsed {
		return bench.Elapsed{Wall: time.Duration(math.Round(ns(sample) * float64(n)))}
	}}
	return r.run(t.Context(), c, []*bench.Case{r.kase("s", "one")}, "a").Rows[0], r
}

// Operations from 1 ns to 10 s: a sample has the duration that was asked for, no sample of the calibration takes eight
// times as long, and slow operations run once.
func TestWarmUp_CallsOfASample(t *testing.T) {
	const sample = 5 * time.Millisecond
	for took := time.Duration(1); took <= 10*time.Second; took *= 10 {
		row, r := measureOne(t, bench.Config{Sample: sample}, func(int) float64 { return float64(took) })
		require.Equal(t, bench.Measured, row.Status)
		for _, c := range r.calls {
			if c.step == "run" && c.n > 1 {
				require.Less(t, time.Duration(c.n)*took, 8*sample, "%v", took)
			}
		}
		switch {
		case took >= sample:
			require.Equal(t, 1, row.Calls, "%v", took)
		case took >= 5:
			require.GreaterOrEqual(t, float64(took)*float64(row.Calls), 0.9*float64(sample), "%v", took)
			require.LessOrEqual(t, float64(took)*float64(row.Calls), 1.1*float64(sample)+float64(took), "%v", took)
		default:
			require.Equal(t, 1<<20, row.Calls, "%v: the most", took)
		}
		require.Equal(t, float64(took), row.Times.P50)
		rounds := 21
		if took == 10*time.Second {
			require.Equal(t, 1, row.Warmup.Samples, "the warm-up is over after one")
			rounds = bench.LeastRounds
		}
		require.Len(t, row.Samples, rounds, "%v", took)
	}
}

// The first call of an operation, which compiles or allocates, does not decide how many calls a sample has.
func TestWarmUp_SlowFirstCall(t *testing.T) {
	row, _ := measureOne(t, bench.Config{Sample: 5 * time.Millisecond}, func(i int) float64 {
		if i == 0 {
			return 80e6
		}
		return 1000
	})
	require.Equal(t, 5500, row.Calls)
	require.Equal(t, 1000.0, row.Times.Max)
}

// An operation whose first calls are fast, as before a device reduces its clock, runs less often later.
func TestWarmUp_FastFirstCalls(t *testing.T) {
	row, _ := measureOne(t, bench.Config{Sample: 5 * time.Millisecond}, func(i int) float64 {
		if i < 4 {
			return 1000
		}
		return 20e6
	})
	require.Equal(t, 1, row.Calls)
}

// A first call that seems to take no time does not make the next sample take 64 times as long as it has to.
func TestWarmUp_FirstCallSeemsFast(t *testing.T) {
	row, r := measureOne(t, bench.Config{}, func(i int) float64 {
		if i == 0 {
			return 1
		}
		return 10e9
	})
	for _, c := range r.calls {
		require.LessOrEqual(t, c.n, 8)
	}
	require.Equal(t, 1, row.Calls)
}

// Times that approach their limit exponentially: samples begin when less than 1 % is missing, whether that takes 10 or
// 80 samples.
func TestWarmUp_ExponentialApproach(t *testing.T) {
	for _, constant := range []float64{3, 10, 20, 40, 80} {
		row, _ := measureOne(t, bench.Config{WarmUp: time.Hour}, func(i int) float64 {
			return 10e6 * (1 + math.Exp(-float64(i)/constant))
		})
		require.True(t, row.Warmup.Stable)
		require.Less(t, row.Samples[0], 1.01*10e6, "time constant of %v samples", constant)
		require.Less(t, row.Warmup.Samples, int(12*constant)+24, "time constant of %v samples", constant)
	}
}

// A step is left behind; constant times need twelve samples; noise alone is stable.
func TestWarmUp_StepConstantAndNoise(t *testing.T) {
	row, _ := measureOne(t, bench.Config{WarmUp: time.Hour}, func(i int) float64 {
		if i < 7 {
			return 13e6
		}
		return 10e6
	})
	require.Equal(t, 10e6, row.Times.Max)
	require.True(t, row.Warmup.Stable)

	row, _ = measureOne(t, bench.Config{}, func(int) float64 { return 10e6 })
	require.Equal(t, bench.Warmup{Samples: 12, Took: 120 * time.Millisecond, Stable: true}, row.Warmup)

	row, _ = measureOne(t, bench.Config{WarmUp: time.Hour}, func(i int) float64 {
		return 10e6 * (1 + 0.1*math.Sin(float64(i*i))) // no two neighbours are alike
	})
	require.True(t, row.Warmup.Stable)
}

// Times that never settle end the warm-up at its limit, and the row says so.
func TestWarmUp_NeverStable(t *testing.T) {
	row, _ := measureOne(t, bench.Config{WarmUp: 10 * time.Second}, func(i int) float64 {
		return 10e6 * math.Pow(1.02, float64(i))
	})
	require.False(t, row.Warmup.Stable)
	require.GreaterOrEqual(t, row.Warmup.Took, 10*time.Second)
	require.Less(t, row.Warmup.Took, 11*time.Second)
	require.Equal(t, bench.Measured, row.Status)
}

// A wall clock that is set back, or does not advance, gives no sample; the others keep their rounds.
func TestRun_ClockSetBack(t *testing.T) {
	bad := map[int]time.Duration{3: -time.Second, 6: 0} // after one sample of the warm-up
	r := &rig{t: t, times: func(device string, n, sample int) bench.Elapsed {
		if d, is := bad[sample]; is && device == "a" {
			return bench.Elapsed{Wall: d}
		}
		return bench.Elapsed{Wall: time.Duration(n) * time.Duration(10+sample) * time.Millisecond}
	}}
	report := r.run(t.Context(), bench.Config{Rounds: 8, WarmUp: 1}, []*bench.Case{r.kase("s", "one")}, "a", "b")
	a, b := report.Rows[0], report.Rows[1]
	require.Equal(t, []int{0, 1, 3, 4, 6, 7}, a.Rounds)
	require.Equal(t, 2, a.Dropped)
	require.Equal(t, bench.Measured, a.Status)
	require.Len(t, b.Samples, 8)
	require.Equal(t, []float64{11e6, 12e6, 14e6, 15e6, 17e6, 18e6}, a.Samples)
	require.Equal(t, 1.0, b.Ratio.Value, "only rounds that both have are compared")
	require.Equal(t, []float64{1, 1}, []float64{b.Ratio.Low, b.Ratio.High})
	report = r.run(t.Context(), bench.Config{Rounds: 8, WarmUp: 1}, []*bench.Case{r.kase("s", "one")}, "b", "a")
	require.Equal(t, []float64{1, 1}, []float64{report.Rows[1].Ratio.Low, report.Rows[1].Ratio.High})
}

// A clock that stands still is an error of the row. No call takes long on its account.
func TestRun_ClockStandsStill(t *testing.T) {
	row, r := measureOne(t, bench.Config{}, func(int) float64 { return 0 })
	require.Equal(t, bench.Failed, row.Status)
	require.Contains(t, row.Reason, "the clock does not advance: 1048576 operations took 0s")
	require.Less(t, len(r.calls), 64)
	row, _ = measureOne(t, bench.Config{WarmUp: 1}, func(i int) float64 {
		if i > 2 && i%4 != 0 {
			return -1e6
		}
		return 5e6
	})
	require.Equal(t, bench.Failed, row.Status)
	require.Contains(t, row.Reason, "samples have no valid time: one took -1ms by the wall clock")
	require.NotEmpty(t, row.Samples, "what is valid is kept")
	// One glitch of a slow operation does not make samples of many calls.
	_, r = measureOne(t, bench.Config{}, func(i int) float64 {
		if i == 0 {
			return 0
		}
		return 10e9
	})
	for _, c := range r.calls {
		require.LessOrEqual(t, c.n, 1)
	}
}

// A device's timer without a result now and then: those rounds are missing. Without any result, the wall clock counts.
func TestRun_DeviceTimer(t *testing.T) {
	r := &rig{t: t, times: func(device string, n, sample int) bench.Elapsed {
		e := bench.Elapsed{Wall: time.Duration(n) * 6 * time.Millisecond, Device: time.Duration(n) * 5 * time.Millisecond}
		if device == "none" || device == "some" && sample%4 == 2 {
			e.Device = 0
		}
		return e
	}}
	report := r.run(t.Context(), bench.Config{Rounds: 8, WarmUp: 1}, []*bench.Case{r.kase("s", "one")},
		"all", "some", "none")
	all, some, none := report.Rows[0], report.Rows[1], report.Rows[2]
	require.Equal(t, bench.ClockDevice, some.Clock)
	require.Equal(t, []int{0, 2, 3, 4, 6, 7}, some.Rounds)
	require.Equal(t, 5e6, some.Times.Max)
	require.Equal(t, []float64{6e6, 6e6, 6e6, 6e6, 6e6, 6e6}, some.Wall)
	require.Equal(t, bench.ClockWall, none.Clock)
	require.Empty(t, none.Wall)
	require.Equal(t, 6e6, none.Times.P50)
	require.Equal(t, bench.ClockDevice, some.Ratio.Clock)
	require.Equal(t, bench.ClockWall, none.Ratio.Clock, "both by the wall clock")
	require.Equal(t, 1.0, none.Ratio.Value, "5 ms of the timer are not compared with 6 ms of the wall clock")
	require.Equal(t, bench.ClockDevice, all.Clock)
	report = r.run(t.Context(), bench.Config{Rounds: 8, WarmUp: 1}, []*bench.Case{r.kase("s", "one")}, "none", "all")
	require.Equal(t, bench.ClockWall, report.Rows[1].Ratio.Clock)
	require.Equal(t, 1.0, report.Rows[1].Ratio.Value)
}

// A case that takes longer than Config.Case has the least number of rounds; a shorter one has all.
func TestRun_TimeOfACase(t *testing.T) {
	for took, rounds := range map[time.Duration]int{4 * time.Second: 6, 1500 * time.Millisecond: 14,
		100 * time.Millisecond: 21} {
		row, _ := measureOne(t, bench.Config{WarmUp: 1}, func(int) float64 { return float64(took) })
		require.Len(t, row.Samples, rounds, "%v", took)
		require.GreaterOrEqual(t, row.Range.Coverage, 0.95)
	}
}

// Measure takes samples of a work alone, and leaves it open.
func TestMeasure(t *testing.T) {
	r := &rig{t: t, open: 1, times: func(_ string, n, sample int) bench.Elapsed {
		return bench.Elapsed{Wall: time.Duration(n*sample+1) * time.Millisecond}
	}}
	w := &rigWork{rig: r, on: &bench.Device{Name: "a"}}
	row := must.Get(bench.Measure(t.Context(), bench.Config{Rounds: 4, Sample: 1, WarmUp: 1}, w))(t)
	require.Equal(t, []float64{2e6, 3e6, 4e6, 5e6}, row.Samples)
	require.Equal(t, 3.5e6, row.Times.P50)
	require.Equal(t, bench.ClockWall, row.Clock)
	require.Equal(t, 1, row.Calls)
	require.Equal(t, 1, r.open)

	boom := errors.New("boom")
	r.hook = func(c call) error {
		if c.k >= 7 {
			return boom
		}
		return nil
	}
	require.ErrorIs(t, must.Fail(bench.Measure(t.Context(), quick, w)), boom)
	require.ErrorContains(t, must.Fail(bench.Measure(t.Context(), bench.Config{Rounds: -1}, w)), "-1 rounds")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, must.Fail(bench.Measure(ctx, quick, w)), context.Canceled)
}
