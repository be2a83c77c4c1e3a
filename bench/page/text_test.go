package page_test

import (
	"bytes"
	"cmp"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"tvmgo/bench/stats"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/page"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile("testdata/"+file, got, 0o666))
	}
	want, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run the tests of this package with -update if the change is intended")
}

func text(t *testing.T, r *bench.Report, o page.TextOptions) string {
	var b bytes.Buffer
	require.NoError(t, page.Text(&b, r, o))
	return b.String()
}

func TestText_Golden(t *testing.T) {
	golden(t, "text.golden.txt", []byte(text(t, example(), page.TextOptions{})))
	golden(t, "ascii.golden.txt", []byte(text(t, example(), page.TextOptions{ASCII: true, Verbose: true, Width: 100})))
	golden(t, "one.golden.txt", []byte(text(t, one(), page.TextOptions{Verbose: true})))
}

// one returns a report with one device and one sample.
func one() *bench.Report {
	m := newMaker()
	m.report.Devices = []bench.DeviceInfo{{Name: "cpu"}}
	r := m.row("launch", "empty", "cpu", "", bench.Time, bench.Amount{}, 190, 0.01)
	r.Samples, r.Wall, r.Rounds, r.Clock = r.Samples[:1], nil, r.Rounds[:1], bench.ClockWall
	describe(r)
	r.Range = nil
	return m.report
}

// hostile is a report whose names, titles, reasons and facts try to break every format.
func hostile() *bench.Report {
	m := newMaker()
	long := strings.Repeat("Wort", 60)
	m.report.Machine = bench.Machine{Name: "</title><script>alert(1)</script>", CPU: "a|b \x1b[31m red", OS: "`x` *y* _z_"}
	m.report.Devices = []bench.DeviceInfo{
		{Name: `<img src=x onerror="alert(2)">`, Title: "'\"><b>bold</b>", Facts: bench.Facts{
			"<script>": "</style><script>alert(3)</script>", "long": long, "empty": "", "nil": nil}},
		{Name: "", Title: "\u202eסדר ימין"}}
	for _, name := range []string{"<script>alert(4)</script>", long, "", "a|b\nc", "עברית \u202e x",
		`" onload="x`, "日本語カーネル"} {
		for _, d := range m.report.Devices {
			r := m.row("<svg onload=alert(5)>", name, d.Name, "", bench.Time, bench.Amount{Ops: 1e6, Bytes: 1e6}, 1e3, 0.01)
			r.Facts = bench.Facts{"</script><script>": name + d.Title, "javascript:alert(6)": math.NaN()}
			r.Roofline = &bench.Roofline{Intensity: 1, Bound: "<b>", Limit: 3e3, Share: 0.3}
		}
	}
	bad := m.row("empty", "numbers", "", "", bench.Flops, bench.Amount{}, 1, 0)
	bad.Value, bad.Times.P99 = math.NaN(), math.Inf(1)
	inf := m.row("empty", "infinite", "", "", bench.Time, bench.Amount{}, 1, 0)
	inf.Range = &stats.Interval{Value: 1, Low: math.Inf(-1), High: math.Inf(1), Confidence: 0.95}
	inf.Ratio = &bench.Ratio{To: "?", Interval: stats.Interval{Value: math.NaN()}}
	inf.Times.P99, inf.Samples[3] = math.NaN(), math.NaN()
	inf.Shares = []bench.Share{{Of: "?", Share: math.Inf(1)}}
	m.missing("empty", "failed", "ghost", bench.Time, bench.Failed, "line 1\nline 2 <script>alert(7)</script> | "+long)
	m.missing("empty", "silent", "ghost", bench.Time, bench.Interrupted, "")
	m.report.Ended = "interrupted: <script>alert(8)</script>"
	m.report.Baseline = &bench.Baseline{File: "`|<script>", Warnings: []string{"</script>"}}
	return m.report
}

// edges are reports at the limits of what a report may be.
func edges() map[string]*bench.Report {
	failed := newMaker()
	failed.report.Devices = []bench.DeviceInfo{{Name: "cuda:0", Title: "Example"}}
	for _, name := range []string{"a", "b"} {
		failed.missing("launch", name, "cuda:0", bench.Time, bench.Failed, "the device has disappeared: unavailable")
	}
	stopped := example()
	stopped.Ended, stopped.Rows = "interrupted: signal: interrupt", stopped.Rows[:40]
	for i, r := range stopped.Rows[36:] {
		r.Status, r.Reason = bench.Interrupted, "context canceled"
		if r.Times != nil && i < 2 {
			r.Samples, r.Rounds = r.Samples[:3], r.Rounds[:3]
			describe(r)
			r.Range, r.Ratio = nil, nil
		} else {
			r.Samples, r.Times, r.Range = nil, nil, nil
		}
	}
	return map[string]*bench.Report{"example": example(), "one": one(), "hostile": hostile(), "nothing": {},
		"no rows": newMaker().report, "failed": failed.report, "stopped": stopped, "500 rows": large(500, 2),
		"6 devices": large(120, 6)}
}

// Lines fit into the width, and ASCII means ASCII, whatever the report holds.
func TestText_Width(t *testing.T) {
	for name, r := range edges() {
		for _, o := range []page.TextOptions{{}, {Width: 60}, {Width: 80, Verbose: true}, {ASCII: true, Verbose: true}} {
			got := text(t, r, o)
			for l := range strings.Lines(got) {
				columns := utf8.RuneCountInString(strings.TrimSuffix(l, "\n"))
				require.LessOrEqual(t, columns, cmp.Or(o.Width, 120), "%s: %q", name, l)
				for _, c := range strings.TrimSuffix(l, "\n") {
					require.False(t, unicode.IsControl(c) || c == '\u202e', "%s: %q", name, l)
					require.True(t, !o.ASCII || c < 128, "%s: %q", name, l)
				}
			}
			require.NotContains(t, got, "NaN", name)
			require.NotContains(t, got, "Inf", name)
		}
	}
}

// Each statement of a report about its own quality is in the text.
func TestText_Says(t *testing.T) {
	all := text(t, edges()["example"], page.TextOptions{})
	for _, want := range []string{"w  wall time of the host: no device timer sees all of it",
		"u  unstable", "t  throttled", "wrong result",
		"slower  kernels/matmul-f32-2048 on vulkan:0: ×1.081 (1.060–1.100), p 0.0007",
		"warning: the driver of cuda:0 was 550.54 and is 560.28", "no matrix instructions", "matmul-f32-4096, cuBLAS"} {
		require.Contains(t, all, want)
	}
	require.NotContains(t, all, "p99")
	require.Contains(t, text(t, example(), page.TextOptions{Verbose: true}), "p99")
	stopped := text(t, edges()["stopped"], page.TextOptions{})
	require.Contains(t, stopped, "The run ended early: interrupted: signal: interrupt.")
	require.Contains(t, stopped, "i  interrupted: the figure is of the rounds before")
	require.Contains(t, text(t, &bench.Report{}, page.TextOptions{}), "Nothing was measured")
	first := one()
	require.NotContains(t, text(t, first, page.TextOptions{}), "not verified")
	first.Rows[0].Checked = bench.NotVerified + ": it is the first device"
	require.Contains(t, text(t, first, page.TextOptions{}), "n  not verified")
}

// The name of a device is shown in full, also above a column that is narrower.
func TestText_DeviceWithoutFigures(t *testing.T) {
	m := newMaker()
	m.report.Devices = []bench.DeviceInfo{{Name: "cpu:0"}, {Name: "opencl:0"}, {Name: "vulkan:0"}}
	m.row("launch", "empty", "cpu:0", "", bench.Time, bench.Amount{}, 190, 0.01)
	for _, name := range []string{"opencl:0", "vulkan:0"} {
		m.report.Rows = append(m.report.Rows, &bench.Row{Suite: "launch", Case: "empty", Device: name,
			Figure: bench.Time, Unit: "µs", Status: bench.NotMeasured, Reason: "not measured: a test"})
	}
	require.Regexp(t, `\n +cpu:0 +opencl:0   vulkan:0\n`, text(t, m.report, page.TextOptions{}))
}
