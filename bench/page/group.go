package page

import (
	"slices"
	"strings"

	"tvmgo/bench"
)

// suite has the rows of a report with the same suite.
type suite struct {
	name  string
	lines []*line
}

// line has a variant of a case on all devices.
type line struct {
	suite, name, variant string
	unit                 string
	rate                 bool         // more is better
	rows                 []*bench.Row // one for each device; nil if the report has none
}

// title returns the name of a case, with its variant: "matmul-f32-4096, cuBLAS".
func (l *line) title() string {
	if l.variant == "" {
		return l.name
	}
	return l.name + ", " + l.variant
}

// devices returns the devices of a report in their order. A row on another device adds it.
func devices(r *bench.Report) []bench.DeviceInfo {
	all := slices.Clone(r.Devices)
	for _, row := range r.Rows {
		if !slices.ContainsFunc(all, func(d bench.DeviceInfo) bool { return d.Name == row.Device }) {
			all = append(all, bench.DeviceInfo{Name: row.Device})
		}
	}
	return all
}

// suites groups the rows of a report by suite, and by case and variant: both in the order in which they first occur.
func suites(r *bench.Report) (all []*suite) {
	index := map[string]int{}
	for i, d := range devices(r) {
		index[d.Name] = i
	}
	type key struct{ suite, name, variant, unit string }
	of, lines := map[string]*suite{}, map[key]*line{}
	for _, row := range r.Rows {
		s := of[row.Suite]
		if s == nil {
			s = &suite{name: row.Suite}
			of[row.Suite], all = s, append(all, s)
		}
		k := key{row.Suite, row.Case, row.Variant, row.Unit}
		l := lines[k]
		if l == nil {
			l = &line{suite: row.Suite, name: row.Case, variant: row.Variant, unit: row.Unit, rate: row.Figure.Rate(),
				rows: make([]*bench.Row, len(index))}
			lines[k], s.lines = l, append(s.lines, l)
		}
		l.rows[index[row.Device]] = row
	}
	return all
}

// measured reports whether a row has a figure, of all rounds or of some.
func measured(r *bench.Row) bool {
	return r != nil && r.Times != nil && len(r.Samples) > 0 && finite(r.Value)
}

// share returns the share of a limit that explains a row best: that of its roofline, or else the largest one.
func share(r *bench.Row) (share float64, of string, ok bool) {
	for _, s := range r.Shares {
		if finite(s.Share) && (!ok || s.Share > share) {
			share, of, ok = s.Share, s.Of, true
		}
	}
	if l := r.Roofline; l != nil && finite(l.Share) {
		return l.Share, "the " + l.Bound + " limit", true
	}
	return share, of, ok
}

// counts has how many rows have each status, in the order of their severity.
func counts(r *bench.Report) (list []count) {
	for _, s := range []bench.Status{bench.Measured, bench.NotMeasured, bench.Wrong, bench.Failed, bench.Interrupted} {
		c := count{status: s}
		for _, row := range r.Rows {
			if row.Status == s {
				c.n++
			}
		}
		if c.n > 0 {
			list = append(list, c)
		}
	}
	return list
}

type count struct {
	status bench.Status
	n      int
}

// changed returns the rows of a verdict, those with the largest change first.
func changed(r *bench.Report, verdict string) (rows []*bench.Row) {
	for _, row := range r.Rows {
		if row.Change != nil && row.Change.Verdict == verdict {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b *bench.Row) int {
		x, y := a.Change.Ratio.Value, b.Change.Ratio.Value
		if verdict == "faster" {
			x, y = y, x
		}
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return rows
}

// warnings are what a reader must know about a row before they trust its figure.
func warnings(r *bench.Row) (list []warning) {
	if r.Clock == bench.ClockWall {
		list = append(list, warning{"w", "wall time of the host: no device timer sees all of it"})
	}
	if measured(r) && r.Clock == bench.ClockDevice && r.Ratio != nil && r.Ratio.Clock == bench.ClockWall {
		list = append(list, warning{"c", "× compares wall times: the other row has no device timer"})
	}
	if measured(r) && (short(r.Range) || r.Ratio != nil && short(&r.Ratio.Interval)) {
		list = append(list, warning{"s", "few samples: ± is less certain than its confidence"})
	}
	if measured(r) && !r.Warmup.Stable {
		list = append(list, warning{"u", "unstable: the times still changed when the warm-up ended"})
	}
	if measured(r) && strings.HasPrefix(r.Checked, bench.NotVerified) {
		list = append(list, warning{"n", "not verified: there is no other result to compare it with"})
	}
	if r.Conditions != nil && len(r.Conditions.Throttled) > 0 {
		list = append(list, warning{"t", "throttled: the device reduced its clock during the run"})
	}
	if measured(r) {
		switch r.Status {
		case bench.Interrupted:
			list = append(list, warning{"i", "interrupted: the figure is of the rounds before"})
		case bench.Failed, bench.Wrong:
			list = append(list, warning{"f", "failed: the figure is of the rounds before"})
		}
	}
	return list
}

type warning struct{ mark, text string }

// markNames are the words for the marks where there is space for them.
var markNames = map[string]string{"w": "wall time", "c": "× by wall time", "s": "few samples", "u": "unstable",
	"n": "not verified", "t": "throttled", "i": "interrupted", "f": "failed"}

// markOrder has the marks in the order of legends.
const markOrder = "wcsuntif"
