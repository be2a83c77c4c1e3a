package page

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/bench"
)

// times writes percentiles and conditions of the rows of a suite, one line for each row.
func (t *text) times(s *suite) {
	heads := []string{"case", "device", "p50", "p90", "p99", "max", "var", "samples", "clock", "MHz", "°C", "W"}
	columns := make([]*column, len(heads))
	for i, h := range heads {
		if t.ASCII && h == "°C" {
			h = "C"
		}
		columns[i] = &column{head: h, right: i > 1, point: i > 1 && i < 6}
	}
	for _, l := range s.lines {
		for i, d := range t.devices {
			r := l.rows[i]
			if !measured(r) {
				continue
			}
			clock := "wall"
			if r.Clock == bench.ClockDevice {
				clock = "device"
			}
			cells := []string{l.title(), d.Name, micros(r.Times.P50), micros(r.Times.P90), micros(r.Times.P99),
				micros(r.Times.Max), percent(r.Times.Variation) + "%", fmt.Sprintf("%d·%d", len(r.Samples), r.Calls), clock,
				"", "", ""}
			if c := r.Conditions; c != nil {
				cells[9], cells[10], cells[11] = between(c.ClockMHz), between(c.Celsius), between(c.Watts)
			}
			for k := range columns {
				columns[k].cells = append(columns[k].cells, t.say(cells[k]))
			}
		}
	}
	if len(columns[0].cells) == 0 {
		return
	}
	shown := t.fit(columns)
	t.line("")
	t.line(t.say("  times in µs; samples·operations of each"))
	for i := -1; i < len(columns[0].cells); i++ {
		l := " "
		for _, c := range shown {
			cell := c.head
			if i >= 0 {
				cell = c.cells[i]
			}
			l += " " + pad(cell, c.width(), c.right)
		}
		t.line(l)
	}
}

// fit returns the columns that are not empty, narrow enough for the width: it shortens the first one, gives up the
// alignment of decimal points, and leaves out columns from the right, in this order.
func (t *text) fit(columns []*column) (shown []*column) {
	measure := func() int {
		n := 1
		for _, c := range shown {
			n += 1 + c.width()
		}
		return n
	}
	for _, c := range columns {
		if !c.empty() {
			shown = append(shown, c)
		}
	}
	plain := make([][]string, len(shown))
	for i, c := range shown {
		plain[i] = slices.Clone(c.cells)
		c.align()
	}
	for i, c := range shown[:2] {
		longest := max(c.width()-max(measure()-t.Width, 0), 16-4*i)
		for k, n := range c.cells {
			c.cells[k] = shorten(n, longest, t.say("…"))
		}
	}
	for i := 2; i < len(shown) && measure() > t.Width; i++ {
		shown[i].cells = plain[i]
	}
	for measure() > t.Width && len(shown) > 3 {
		shown = shown[:len(shown)-1]
	}
	return shown
}

// between returns a range as "1410–1980", or its only value.
func between(r *bench.Range) string {
	if r == nil || !finite(r.Min) || !finite(r.Max) {
		return ""
	}
	low, high := number3whole(r.Min), number3whole(r.Max)
	if low == high {
		return low
	}
	return low + "–" + high
}

func number3whole(v float64) string {
	if v >= 100 && v < 1e7 {
		return fmt.Sprintf("%.0f", v)
	}
	return number3(v)
}

// why writes the facts of each case that differ between its rows.
func (t *text) why(s *suite) {
	began := false
	for _, c := range cases(s) {
		for _, f := range compareFacts(c.rows()) {
			if !f.differs {
				continue
			}
			var values []string
			for i, r := range c.rows() {
				if f.values[i] != "" {
					values = append(values, rowTitle(r)+" "+f.values[i])
				}
			}
			if !began {
				began = true
				t.line("")
				t.line("  facts that differ")
			}
			t.paragraph("", 4, fmt.Sprintf("%s, %s: %s", c.name, f.name, strings.Join(values, " · ")))
		}
	}
}

// legend explains the columns and marks that occur.
func (t *text) legend(r *bench.Report) {
	if len(r.Rows) == 0 {
		return
	}
	t.line("")
	t.paragraph("±", 3, fmt.Sprintf("the larger half of the %s confidence interval", confidence(r)))
	if t.ratios {
		t.paragraph("×", 3, "time relative to the first measured row of the case: less is faster")
	}
	if slices.ContainsFunc(r.Rows, func(row *bench.Row) bool { _, _, ok := share(row); return ok }) {
		t.paragraph("limit", 6, "share of what the same device reached in this run: of the lower limit of the roofline, "+
			"or of the limit that is used most")
	}
	for _, mark := range markOrder {
		if m := string(mark); t.marks[m] != "" {
			t.paragraph(m, 3, t.marks[m])
		}
	}
	var list []string
	for _, c := range counts(r) {
		list = append(list, fmt.Sprintf("%d %s", c.n, c.status))
	}
	t.paragraph("", 0, plural(len(r.Rows), "row")+": "+strings.Join(list, ", "))
}

// changes writes what changed since the baseline.
func (t *text) changes(r *bench.Report) {
	b := r.Baseline
	if b == nil {
		return
	}
	t.line("")
	t.paragraph("", 0, fmt.Sprintf("Changes since %s of %s", b.File, b.Started.UTC().Format("2006-01-02 15:04 UTC")))
	for _, warning := range b.Warnings {
		t.paragraph("", 2, "warning: "+warning)
	}
	for _, verdict := range []string{"broken", "slower", "faster"} {
		for _, row := range changed(r, verdict) {
			t.paragraph("  "+verdict, 10, changeText(row))
		}
	}
	t.paragraph("", 2, changeSummary(r))
	for _, id := range b.Missing {
		t.paragraph("", 4, "measured then, not in this run: "+id)
	}
}

func changeSummary(r *bench.Report) string {
	n := func(verdict string) int { return len(changed(r, verdict)) }
	broken := ""
	if n("broken") > 0 {
		broken = fmt.Sprintf("%d broken, ", n("broken"))
	}
	s := broken + fmt.Sprintf("%d slower, %d faster, %d the same within noise, %d new", n("slower"), n("faster"),
		n("same"), n("new"))
	if n(bench.Incomparable) > 0 {
		s += fmt.Sprintf(", %d not comparable", n(bench.Incomparable))
	}
	return s
}

// changeText returns "kernels/add on cuda:0: × 1.034 (1.021–1.047), p 0.0003".
func changeText(row *bench.Row) string {
	c := row.Change
	if c.Verdict == bench.Broken {
		return row.ID() + ": " + brokenText(row)
	}
	s := fmt.Sprintf("%s: ×%s", row.ID(), number3(c.Ratio.Value))
	if _, ok := spread(&c.Ratio); ok {
		s += fmt.Sprintf(" (%s–%s)", number3(c.Ratio.Low), number3(c.Ratio.High))
	}
	return s + ", p " + pText(c.P)
}

// brokenText says what a row has instead of a time: "wrong result: element 7 is 0".
func brokenText(row *bench.Row) string {
	switch status := string(row.Status); {
	case row.Reason == "":
		return status
	case strings.HasPrefix(row.Reason, status):
		return row.Reason
	default:
		return status + ": " + row.Reason
	}
}

// pText returns a probability: "0.012", "< 0.0001".
func pText(p float64) string {
	switch {
	case !finite(p):
		return none
	case p < 0.0001:
		return "< 0.0001"
	case p < 0.001:
		return fmt.Sprintf("%.4f", p)
	}
	return fmt.Sprintf("%.3f", p)
}
