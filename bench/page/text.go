package page

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"tvmgo/bench"
	"tvmgo/bench/facts"
)

// TextOptions says how a report is written for a terminal. The zero value is for 120 columns of Unicode.
type TextOptions struct {
	Width   int  // columns, at least 60; 0 for 120
	ASCII   bool // no character beyond ASCII
	Verbose bool // also percentiles of the times, conditions, and facts that differ between devices
}

// Text writes a report for a terminal: a table for each suite, with the devices side by side if they fit, then what was
// not measured and why, what changed since the baseline, and what the marks mean.
func Text(w io.Writer, r *bench.Report, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 120
	}
	o.Width = max(o.Width, 60)
	t := &text{TextOptions: o, devices: devices(r), marks: map[string]string{}}
	t.head(r)
	t.short(r)
	for _, s := range suites(r) {
		t.suite(s)
	}
	t.legend(r)
	t.changes(r)
	_, err := io.WriteString(w, t.out.String())
	return err
}

// text is a report that is being written.
type text struct {
	TextOptions
	out     strings.Builder
	devices []bench.DeviceInfo
	marks   map[string]string // that occur, with their meanings
	ratios  bool
}

var toASCII = strings.NewReplacer("µ", "u", "±", "+-", "×", "x", "–", "-", "…", "~", "·", "|", "≠", "!=")

// say makes a text printable: names in it may have any characters.
func (t *text) say(s string) string {
	if s = clean(s); t.ASCII {
		s = strings.Map(func(c rune) rune {
			if c > unicode.MaxASCII {
				return '?'
			}
			return c
		}, toASCII.Replace(s))
	}
	return s
}

// short writes who is faster and why, before all tables.
func (t *text) short(r *bench.Report) {
	if b := r.Baseline; b != nil {
		t.line("")
		t.paragraph("", 0, fmt.Sprintf("Since the baseline %s: %s", b.File, changeSummary(r)))
	}
	list := comparisons(r)
	if len(list) == 0 {
		return
	}
	columns := make([]*column, len(comparisonHeads))
	for i, h := range comparisonHeads {
		columns[i] = &column{head: t.say(h), right: i > 2 && i != 8 && i != 10, point: i == 3 || i == 7 || i == 9}
		for _, c := range list {
			columns[i].cells = append(columns[i].cells, t.say(c.cells()[i]))
		}
		columns[i].align()
	}
	wide := func() int {
		n := 2
		for _, c := range columns {
			n += c.width() + 2
		}
		return n - 2
	}
	for _, of := range [][]int{{8, 10}, {0, 1, 2}} { // names are shortened: the longest first
		for longest := 40; longest >= 12 && wide() > t.Width; longest-- {
			for _, i := range of {
				for k, s := range columns[i].cells {
					columns[i].cells[k] = shorten(s, longest, t.say("…"))
				}
			}
		}
	}
	for _, i := range []int{10, 8} { // names of cases are left out first
		if wide() > t.Width {
			columns = slices.Delete(columns, i, i+1)
		}
	}
	t.line("")
	t.line("IN SHORT")
	for i := -1; i < len(list); i++ {
		l := "  "
		for _, c := range columns {
			cell := c.head
			if i >= 0 {
				cell = c.cells[i]
			}
			l += pad(cell, c.width(), c.right) + "  "
		}
		t.line(cut(strings.TrimRight(l, " "), t.Width, t.say("…")))
	}
	t.paragraph("", 4, shortNote(r))
	for _, x := range explanations(r) {
		t.paragraph("", 2, x.title()+": "+x.text)
	}
}

func (t *text) line(s string) { t.out.WriteString(strings.TrimRight(s, " ") + "\n") }

// paragraph writes a text in lines that begin below each other, the first one after a label.
func (t *text) paragraph(label string, indent int, s string) {
	label = t.say(label)
	for i, l := range wrap(t.say(s), t.Width-indent) {
		if i > 0 || label == "" {
			t.line(strings.Repeat(" ", indent) + l)
		} else if width(label) < indent {
			t.line(pad(label, indent, false) + l)
		} else {
			t.line(cut(label, t.Width, t.say("…")))
			t.line(strings.Repeat(" ", indent) + l)
		}
	}
}

func (t *text) head(r *bench.Report) {
	title := []string{"tvmgo bench " + r.Machine.Version, r.Machine.Name, r.Started.UTC().Format("2006-01-02 15:04 UTC"),
		"took " + took(r.Took)}
	t.paragraph("", 0, strings.Join(title, " · "))
	t.paragraph("", 0, strings.Join(machine(r.Machine), ", "))
	t.line("")
	longest := 0
	for _, d := range t.devices {
		longest = max(longest, min(width(d.Name), 24))
	}
	for _, d := range t.devices {
		s := d.Title
		if !t.Verbose {
			for _, name := range []string{facts.DriverName, facts.DriverVersion} {
				if v := d.Facts[name]; v != nil {
					s += ", " + factText(name, v)
				}
			}
		}
		if t.Verbose {
			for _, name := range factNames(d.Facts) {
				s += fmt.Sprintf(", %s %s", name, factText(name, d.Facts[name]))
			}
		}
		if s == "" {
			s = none
		}
		t.paragraph("  "+d.Name, longest+4, s)
	}
	if len(t.devices) == 0 {
		t.line("  no device")
	}
	if r.Ended != "" {
		t.line("")
		t.paragraph("", 0, "The run ended early: "+r.Ended+". The figures are of what was measured before.")
	}
	if len(r.Rows) == 0 {
		t.line("")
		t.line("Nothing was measured: the report has no rows.")
	}
}

// suite writes the tables of a suite: as many devices side by side as fit.
func (t *text) suite(s *suite) {
	t.line("")
	t.line(cut(t.say(strings.ToUpper(s.name)), t.Width, t.say("…")))
	names, units := &column{head: "case"}, &column{head: "unit"}
	for _, l := range s.lines {
		names.cells, units.cells = append(names.cells, t.say(l.title())), append(units.cells, t.say(l.unit))
	}
	widest := 0
	for i := range t.devices {
		widest = max(widest, groupWidth(t.deviceColumns(s, i)))
	}
	longest := max(min(t.Width/3, t.Width-widest-17), 10)
	for i, n := range names.cells {
		names.cells[i] = shorten(n, longest, t.say("…"))
	}
	for i := range units.cells {
		units.cells[i] = cut(units.cells[i], 10, t.say("…"))
	}
	left := names.width() + 2 + units.width()
	for first := 0; first < len(t.devices); {
		var groups [][]*column
		used := left
		for i := first; i < len(t.devices); i++ {
			g := t.deviceColumns(s, i)
			if n := groupWidth(g) + 3; len(groups) == 0 || used+n+2 <= t.Width {
				groups, used = append(groups, g), used+n
				continue
			}
			break
		}
		if first > 0 {
			t.line("")
		}
		t.table(names, units, groups, t.devices[first:first+len(groups)])
		first += len(groups)
	}
	if t.Verbose {
		t.times(s)
		t.why(s)
	}
	t.reasons(s)
}

// deviceColumns returns the columns of a device that have any cells.
func (t *text) deviceColumns(s *suite, device int) []*column {
	figure, around := &column{head: "figure", right: true, point: true}, &column{head: t.say("±"), right: true}
	ratio, ratioAround := &column{head: t.say("×"), right: true, point: true}, &column{head: t.say("±"), right: true}
	limit, marks := &column{head: "limit", right: true}, &column{}
	for _, l := range s.lines {
		r := l.rows[device]
		var cells [6]string
		switch {
		case r == nil:
		case !measured(r):
			cells[0] = t.say(missing(r.Status))
		default:
			cells[0] = t.say(number(r.Value))
			if of, ok := spread(r.Range); ok {
				cells[1] = percent(of) + "%"
			}
			if r.Ratio != nil && finite(r.Ratio.Value) {
				cells[2], t.ratios = number3(r.Ratio.Value), true
				if of, ok := spread(&r.Ratio.Interval); ok {
					cells[3] = percent(of) + "%"
				}
			}
			if of, _, ok := share(r); ok {
				cells[4] = percent(of) + "%"
			}
			for _, m := range warnings(r) {
				cells[5] += m.mark
				t.marks[m.mark] = m.text
			}
		}
		for i, c := range []*column{figure, around, ratio, ratioAround, limit, marks} {
			c.cells = append(c.cells, cells[i])
		}
	}
	g := []*column{figure}
	for _, c := range []*column{around, ratio, ratioAround, limit, marks} {
		if !c.empty() {
			g = append(g, c)
		}
	}
	for _, c := range g {
		c.align()
	}
	if short := min(width(t.say(t.devices[device].Name)), fullName) - groupWidth(g); short > 0 {
		figure.least = figure.width() + short
	}
	return g
}

// fullName is the width of a device's name that is shown in full above its columns.
const fullName = 12

// missing returns the word for a row without a figure.
func missing(s bench.Status) string {
	switch s {
	case bench.Wrong:
		return "wrong"
	case bench.Failed:
		return "failed"
	case bench.Interrupted:
		return "stopped"
	}
	return none
}

// number3 returns a ratio with three significant digits.
func number3(v float64) string {
	if v >= 0.01 && v < 1000 {
		switch {
		case v < 9.995:
			return fmt.Sprintf("%.3f", v)
		case v < 99.95:
			return fmt.Sprintf("%.1f", v)
		}
		return fmt.Sprintf("%.0f", v)
	}
	return number(v)
}

func groupWidth(g []*column) int {
	n := len(g) - 1
	for _, c := range g {
		n += c.width()
	}
	return n
}

func (t *text) table(names, units *column, groups [][]*column, of []bench.DeviceInfo) {
	gap := "   "
	begin := func(name, unit string) string {
		return "  " + pad(name, names.width(), false) + "  " + pad(unit, units.width(), false)
	}
	top, head := begin("", ""), begin(names.head, units.head)
	for i, g := range groups {
		top += gap + pad(cut(t.say(of[i].Name), groupWidth(g), t.say("…")), groupWidth(g), false)
		head += gap
		for k, c := range g {
			if k > 0 {
				head += " "
			}
			head += pad(c.head, c.width(), c.right)
		}
	}
	if len(t.devices) > 1 {
		t.line(top)
	}
	t.line(head)
	for i := range names.cells {
		l := begin(names.cells[i], units.cells[i])
		for _, g := range groups {
			l += gap
			for k, c := range g {
				if k > 0 {
					l += " "
				}
				l += pad(c.cells[i], c.width(), c.right)
			}
		}
		t.line(l)
	}
}

// reasons writes why rows have no figure. Rows of a device with the same reason are named together.
func (t *text) reasons(s *suite) {
	type key struct{ device, status, reason string }
	var order []key
	of := map[key][]string{}
	for i, d := range t.devices {
		for _, l := range s.lines {
			r := l.rows[i]
			if r == nil || r.Status == bench.Measured && r.Reason == "" {
				continue
			}
			k := key{d.Name, string(r.Status), r.Reason}
			if of[k] == nil {
				order = append(order, k)
			}
			of[k] = append(of[k], l.title())
		}
	}
	for _, k := range order {
		reason := k.reason
		if reason == "" {
			reason = "no reason is known"
		}
		if k.status != "" && !strings.HasPrefix(reason, k.status) {
			reason = k.status + ": " + reason
		}
		t.paragraph("", 4, fmt.Sprintf("%s, %s: %s", k.device, strings.Join(of[k], ", "), reason))
	}
}
