package bench_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/stats"
)

// Percentiles, intervals, figures and ratios of known times are exact.
func TestRun_ExactFigures(t *testing.T) {
	r := &rig{t: t, times: func(device string, n, sample int) bench.Elapsed {
		took := time.Duration((sample-1)*8%21+1) * time.Millisecond // after the warm-up 1 … 21 ms, not in order
		if sample == 0 {
			took = time.Millisecond
		}
		if device == "b" {
			took *= 2
		}
		return bench.Elapsed{Wall: took * time.Duration(n)}
	}}
	report := r.run(t.Context(), bench.Config{WarmUp: 1, Sample: time.Millisecond},
		[]*bench.Case{r.kase("s", "one")}, "a", "b")
	a, b := report.Rows[0], report.Rows[1]
	require.Equal(t, 1, a.Calls)
	require.Equal(t, []float64{1e6, 11e6, 19e6, 21e6, 21e6, 11e6},
		[]float64{a.Times.Min, a.Times.P50, a.Times.P90, a.Times.P99, a.Times.Max, a.Times.Mean})
	require.Equal(t, 2e6/11e6, a.Value, "GFLOPS: operations of a nanosecond")
	require.Equal(t, "GFLOPS", a.Unit)
	require.Equal(t, &stats.Interval{Value: 2e6 / 11e6, Low: 2e6 / 16e6, High: 2e6 / 6e6, Confidence: 0.95,
		Coverage: a.Range.Coverage}, a.Range, "the sixth and the sixteenth sample")
	require.InDelta(t, 0.973396, a.Range.Coverage, 1e-6)
	require.Nil(t, a.Ratio)
	require.Equal(t, "s/one on a", b.Ratio.To)
	require.Equal(t, []float64{2, 2, 2}, []float64{b.Ratio.Value, b.Ratio.Low, b.Ratio.High})
}

// row is a row of known times.
func row(suite, name, device string, f bench.Figure, a bench.Amount, ns ...float64) *bench.Row {
	return &bench.Row{Suite: suite, Case: name, Device: device, Figure: f, Unit: f.Unit(), Amount: a,
		Status: bench.Measured, Clock: bench.ClockWall, Calls: 1, Samples: ns}
}

func TestEvaluate_SharesAndRoofline(t *testing.T) {
	peak := row("limit", "fma", "a", bench.Flops, bench.Amount{Ops: 1000}, 10, 10, 10)            // 100 GFLOPS
	lower := row("limit", "fma64", "a", bench.Flops, bench.Amount{Ops: 500}, 10)                  // 50 GFLOPS
	copied := row("limit", "copy", "a", bench.Bandwidth, bench.Amount{Bytes: 200}, 10, 10, 10)    // 20 GB/s
	launch := row("limit", "launch", "a", bench.Time, bench.Amount{}, 2)                          // 2 ns
	elsewhere := row("limit", "fma", "b", bench.Flops, bench.Amount{Ops: 1e6}, 10)                // of another device
	failed := row("limit", "other", "a", bench.Flops, bench.Amount{Ops: 1e9}, 10)                 // does not count
	low := row("k", "low", "a", bench.Time, bench.Amount{Ops: 100, Bytes: 100}, 8, 10, 12)        // 1 op/byte
	high := row("k", "high", "a", bench.Flops, bench.Amount{Ops: 800, Bytes: 100}, 10, 10, 10)    // 8 ops/byte
	bytesOnly := row("k", "bytes", "a", bench.Bandwidth, bench.Amount{Bytes: 100}, 10)            // no operations
	ridge := row("k", "ridge", "a", bench.Flops, bench.Amount{Ops: 500, Bytes: 100}, 10, 10, 100) // 5 ops/byte
	failed.Status = bench.Failed
	limits := []string{"limit/fma", "limit/copy", "limit/launch", "limit/fma64", "limit/other", "limit/none"}
	for _, k := range []*bench.Row{low, high, bytesOnly, ridge} {
		k.Limits = limits
	}
	r := &bench.Report{Schema: bench.Schema, Config: bench.Config{Rounds: 3, Confidence: 0.95},
		Devices: []bench.DeviceInfo{{Name: "a"}},
		Rows:    []*bench.Row{peak, lower, copied, launch, elsewhere, failed, low, high, bytesOnly, ridge}}
	bench.Evaluate(r)
	requireValid(t, r)
	require.Equal(t, []bench.Share{{Of: "limit/fma on a", Share: 0.1}, {Of: "limit/copy on a", Share: 0.5},
		{Of: "limit/launch on a", Share: 0.2}}, low.Shares, "of two rates of operations, the higher one")
	require.Equal(t, &bench.Roofline{Intensity: 1, Bound: "memory", Limit: 20, Share: 0.5}, low.Roofline)
	require.Equal(t, &bench.Roofline{Intensity: 8, Bound: "compute", Limit: 100, Share: 0.8}, high.Roofline)
	require.Equal(t, &bench.Roofline{Intensity: 5, Bound: "compute", Limit: 100, Share: 0.5}, ridge.Roofline)
	require.Nil(t, bytesOnly.Roofline)
	require.Equal(t, []bench.Share{{Of: "limit/copy on a", Share: 0.5}, {Of: "limit/launch on a", Share: 0.2}},
		bytesOnly.Shares)
	require.Empty(t, peak.Shares)
	require.Nil(t, launch.Roofline)
}

// Of several limits of one figure, the highest that was measured counts, in any order: tensor cores for products of
// float16, or the rate of vectors where there are none, and the fastest access to memory. So no share exceeds 1 while
// one of the limits is not exceeded.
func TestEvaluate_HighestLimit(t *testing.T) {
	const matrix, half, single = "compute/fp16-matrix-fp32", "compute/fp16", "compute/fp32"
	rates := map[string]*bench.Row{ // GFLOPS
		matrix: row("compute", "fp16-matrix-fp32", "a", bench.Flops, bench.Amount{Ops: 800}, 1),
		half:   row("compute", "fp16-vec4", "a", bench.Flops, bench.Amount{Ops: 200}, 1),
		single: row("compute", "fp32-vec4", "a", bench.Flops, bench.Amount{Ops: 100}, 1),
	}
	rates[half].Family, rates[single].Family = half, single
	slow := row("compute", "fp32-scalar", "a", bench.Flops, bench.Amount{Ops: 90}, 1)
	slow.Family = single
	for _, limits := range [][]string{{single, half, matrix}, {matrix, half, single}, {half, matrix, single}} {
		for _, c := range []struct {
			measured []string
			of       string
			share    float64
		}{
			{[]string{matrix, half, single}, "compute/fp16-matrix-fp32 on a", 0.5},
			{[]string{matrix, single}, "compute/fp16-matrix-fp32 on a", 0.5},
			{[]string{half, single}, "compute/fp16-vec4 on a", 2},
			{[]string{single}, "compute/fp32-vec4 on a", 4},
			{nil, "", 0},
		} {
			product := row("kernels", "matmul-f16", "a", bench.Flops, bench.Amount{Ops: 400, Bytes: 10}, 1)
			product.Limits = append(limits, "bandwidth/sum", "bandwidth/copy")
			rows := []*bench.Row{product,
				row("bandwidth", "global", "a", bench.Bandwidth, bench.Amount{Bytes: 20}, 1),
				row("bandwidth", "stream_add", "a", bench.Bandwidth, bench.Amount{Bytes: 40}, 1)}
			rows[1].Family, rows[2].Family = "bandwidth/copy", "bandwidth/sum"
			for _, id := range c.measured {
				if rows = append(rows, rates[id]); id == single {
					rows = append(rows, slow)
				}
			}
			bench.Evaluate(&bench.Report{Config: bench.Config{Confidence: 0.95}, Rows: rows})
			want := []bench.Share{{Of: "bandwidth/stream_add on a", Share: 0.25}}
			if c.of != "" {
				want = append([]bench.Share{{Of: c.of, Share: c.share}}, want...)
				limit := min(40*40, 400/c.share)
				require.Equal(t, limit, product.Roofline.Limit)
			} else {
				require.Nil(t, product.Roofline)
			}
			require.Equal(t, want, product.Shares, "%v, measured %v", limits, c.measured)
		}
	}
}

// The reference of the ratios is the first row of a case that did not fail.
func TestEvaluate_FailedRowIsNoReference(t *testing.T) {
	a := row("k", "n", "a", bench.Time, bench.Amount{}, 10, 10)
	b := row("k", "n", "b", bench.Time, bench.Amount{}, 20, 20, 20, 20, 20, 20)
	c := row("k", "n", "c", bench.Time, bench.Amount{}, 10, 10, 10, 10, 10, 10)
	a.Status = bench.Failed
	bench.Evaluate(&bench.Report{Config: bench.Config{Confidence: 0.95}, Rows: []*bench.Row{a, b, c}})
	require.NotNil(t, a.Times)
	require.Nil(t, a.Ratio)
	require.Nil(t, b.Ratio)
	require.Equal(t, "k/n on b", c.Ratio.To)
	require.Equal(t, 0.5, c.Ratio.Value)
	require.True(t, c.Ratio.Excludes(1))
}
