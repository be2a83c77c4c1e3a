package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/page"
	"tvmgo/bench/stats"
)

// two returns a report of two devices with a case for each ratio, and the intervals of the ratios.
func two(ratios ...stats.Interval) *bench.Report {
	m := newMaker()
	m.report.Devices = []bench.DeviceInfo{{Name: "cuda:0"}, {Name: "vulkan:0"}}
	for i, ratio := range ratios {
		name := string(rune('a' + i))
		m.row("kernels", name, "cuda:0", "", bench.Flops, bench.Amount{Ops: 1e6}, 1e3, 0.01)
		r := m.row("kernels", name, "vulkan:0", "", bench.Flops, bench.Amount{Ops: 1e6}, 1e3*ratio.Value, 0.01)
		ratio.Confidence = 0.95
		r.Ratio = &bench.Ratio{To: "kernels/" + name + " on cuda:0", Clock: bench.ClockDevice, Interval: ratio}
	}
	return m.report
}

// The beginning of every report says which device is faster in how many cases, and by how much, and calls a difference
// certain only if its interval excludes 1 and has its confidence.
func TestShort_Verdicts(t *testing.T) {
	r := two(stats.Interval{Value: 2, Low: 1.9, High: 2.1, Coverage: 0.96},
		stats.Interval{Value: 8, Low: 7, High: 9, Coverage: 0.96},
		stats.Interval{Value: 0.5, Low: 0.4, High: 0.6, Coverage: 0.96},
		stats.Interval{Value: 1.1, Low: 0.9, High: 1.2, Coverage: 0.96},  // includes 1
		stats.Interval{Value: 4, Low: 3, High: 5, Coverage: 0.875},       // too few samples
		stats.Interval{Value: 0.25, Low: 0.2, High: 0.3, Coverage: 0.96}) // (2·8·0.5·1.1·4·0.25)^(1/6)
	got := text(t, r, page.TextOptions{})
	require.Regexp(t, `kernels +vulkan:0 +cuda:0 +1\.437 +2 +2 +2 +0\.250 +f +8\.000 +b\n`, got)
	require.Less(t, strings.Index(got, "IN SHORT"), strings.Index(got, "KERNELS"))
	require.Contains(t, got, "s  few samples: ± is less certain than its confidence")
	require.Contains(t, markdown(t, r), "| kernels | vulkan:0 | cuda:0 | 1.437 | 2 | 2 | 2 | 0.250 f | 8.000 b |")
	html := htmlPage(t, r)
	require.Contains(t, html, `<td class="n"><b>1.437</b></td><td class="n">2</td>`)
	require.Contains(t, html, `few samples: ± is less certain than its confidence, 87.5 % for ×">few samples</em>`)

	require.NotContains(t, text(t, one(), page.TextOptions{}), "IN SHORT", "one device has nothing to compare with")
}

// Differences are explained by limits measured in the run, how much of them is used, and facts that differ.
func TestShort_Reasons(t *testing.T) {
	r := two(stats.Interval{Value: 3, Low: 2.9, High: 3.1, Coverage: 0.96},
		stats.Interval{Value: 0.5, Low: 0.4, High: 0.6, Coverage: 0.96},
		stats.Interval{Value: 9, Low: 0.5, High: 12, Coverage: 0.96})
	r.Rows[0].Roofline = &bench.Roofline{Intensity: 1, Bound: "memory", Limit: 2000, Share: 0.9}
	r.Rows[1].Roofline = &bench.Roofline{Intensity: 1, Bound: "memory", Limit: 1000, Share: 0.6}
	r.Rows[0].Facts = bench.Facts{"occupancy": 0.75, "registers": 32, "spills": 0}
	r.Rows[1].Facts = bench.Facts{"occupancy": 0.5, "registers": 32, "spills": 16}
	r.Rows[2].Facts, r.Rows[3].Facts = bench.Facts{"registers": 64}, bench.Facts{"registers": 48}
	r.Rows[4].Facts, r.Rows[5].Facts = bench.Facts{"registers": 64}, bench.Facts{"registers": 48} // not certain
	const first = "a: vulkan:0 takes 3.000 times as long as cuda:0: its limit (memory roof) is 1000 Gops/s, not 2000, " +
		"and it uses 60 % of it, not 90 %; occupancy: 50 %, not 75 %; spills: 16 bytes, not 0 bytes"
	got := strings.Join(strings.Fields(text(t, r, page.TextOptions{})), " ")
	require.Contains(t, got, first+" b: vulkan:0 is 2.000 times as fast as cuda:0: registers: 48, not 64 KERNELS")
	require.NotContains(t, got, "c: vulkan:0", "not certain")
	require.Contains(t, markdown(t, r), "* "+first+"\n* b: vulkan:0 is")
	require.Contains(t, htmlPage(t, r), "<strong><bdi>a: vulkan:0 takes 3.000 times as long as cuda:0</bdi></strong>: "+
		"<bdi>its limit (memory roof)")
}

// A ratio of wall times beside a figure of the device's timer is marked, and one sample has no interval.
func TestMarks_ClockAndOneSample(t *testing.T) {
	r := two(stats.Interval{Value: 3, Low: 2.9, High: 3.1, Coverage: 0.96})
	require.NotContains(t, text(t, r, page.TextOptions{}), "wall times")
	r.Rows[1].Ratio.Clock = bench.ClockWall
	const want = "× compares wall times: the other row has no device timer"
	require.Contains(t, text(t, r, page.TextOptions{}), "c  "+want)
	require.Contains(t, markdown(t, r), "1. "+want)
	require.Contains(t, htmlPage(t, r), `<em title="`+want+`">× by wall time</em>`)

	r.Rows[0].Range = &stats.Interval{Value: 1000, Low: 1000, High: 1000, Confidence: 0.95}
	require.Contains(t, text(t, r, page.TextOptions{}), "994.0 s  ", "no ± 0.0 %")
}

// Every form says what is broken, with its reason instead of a ratio, what cannot be compared, and what is missing.
func TestChanges_Verdicts(t *testing.T) {
	r := two(stats.Interval{Value: 3, Low: 2.9, High: 3.1, Coverage: 0.96}, stats.Interval{Value: 1, Coverage: 0.96})
	r.Baseline = &bench.Baseline{File: "old.json", Started: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		Missing: []string{"kernels/gone on cuda:0"}}
	broken := func(i int, status bench.Status, reason string) {
		r.Rows[i].Status, r.Rows[i].Reason, r.Rows[i].Times, r.Rows[i].Samples = status, reason, nil, nil
		r.Rows[i].Change = &bench.Change{Verdict: bench.Broken, Change: stats.Change{P: 1}}
	}
	broken(1, bench.Wrong, "wrong result: element 7 is 0")
	broken(3, bench.Failed, "out of memory")
	r.Rows[0].Change = &bench.Change{Verdict: bench.Incomparable, Change: stats.Change{P: 1}}
	r.Rows[2].Change = &bench.Change{Verdict: bench.New, Change: stats.Change{P: 1}}
	const summary = "2 broken, 0 slower, 0 faster, 0 the same within noise, 1 new, 1 not comparable"
	got := text(t, r, page.TextOptions{})
	require.Contains(t, got, "Since the baseline old.json: "+summary)
	require.Contains(t, got, "  broken  kernels/a on vulkan:0: wrong result: element 7 is 0\n"+
		"  broken  kernels/b on vulkan:0: failed: out of memory\n")
	require.Contains(t, got, "measured then, not in this run: kernels/gone on cuda:0")
	md := markdown(t, r)
	require.Contains(t, md, "* "+summary)
	require.Contains(t, md, "| kernels/a on vulkan:0 | broken | wrong result: element 7 is 0 | – |")
	require.Contains(t, md, "* Measured then, not in this run: kernels/gone on cuda:0")
	html := htmlPage(t, r)
	require.Contains(t, html, summary)
	require.Contains(t, html, `<span class="verdict broken">broken</span></td>`+"\n"+
		`<td class="prose" colspan="3"><bdi>failed: out of memory</bdi></td>`)
	require.Contains(t, html, "Measured then, not in this run: <bdi>kernels/gone on cuda:0</bdi>")
}
