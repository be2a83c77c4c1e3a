package page

import (
	"fmt"
	"io"
	"strings"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/bench/stats"
)

// Markdown writes a report as tables for a README on GitHub: one for the devices, one for each suite with a column for
// each device, and lists of what was not measured and what changed.
func Markdown(w io.Writer, r *bench.Report) error {
	m := &markdown{devices: devices(r)}
	m.head(r)
	m.short(r)
	for _, s := range suites(r) {
		m.suite(s)
	}
	m.notes(r)
	m.changes(r)
	_, err := io.WriteString(w, strings.TrimRight(m.out.String(), "\n")+"\n")
	return err
}

// deviceFacts are the facts in the table of devices.
var deviceFacts = []string{facts.DriverName, facts.DriverVersion, facts.Memory, facts.MemoryType}

type markdown struct {
	out     strings.Builder
	devices []bench.DeviceInfo
	ratios  bool
	limits  bool
	marks   []string
}

var markdownEscapes = func() *strings.Replacer {
	pairs := []string{"&", "&amp;", "<", "&lt;", ">", "&gt;"}
	for _, c := range "\\`*_[]|~$#!" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}()

// escaped returns a name as it is written in Markdown, in one line.
func escaped(s string) string {
	if s = strings.TrimSpace(markdownEscapes.Replace(clean(s))); s == "" {
		return none
	}
	return s
}

func (m *markdown) line(format string, values ...any) { fmt.Fprintf(&m.out, format+"\n", values...) }

// table writes a table; an align of 'r' puts a column's cells to the right.
func (m *markdown) table(heads []string, align string, rows [][]string) {
	m.line("| %s |", strings.Join(heads, " | "))
	m.out.WriteString("|")
	for _, a := range align {
		m.out.WriteString(map[rune]string{'l': "---|", 'r': "--:|"}[a])
	}
	m.line("")
	for _, cells := range rows {
		m.line("| %s |", strings.Join(cells, " | "))
	}
	m.line("")
}

func (m *markdown) head(r *bench.Report) {
	about := []string{}
	for _, p := range append([]string{r.Machine.Name}, machine(r.Machine)...) {
		if p != "" {
			about = append(about, escaped(p))
		}
	}
	day := r.Started.UTC().Format("2006-01-02")
	m.line("%s, tvmgo %s: %s.", day, escaped(r.Machine.Version), strings.Join(about, ", "))
	m.line("")
	var rows [][]string
	for _, d := range m.devices {
		row := []string{escaped(d.Name), escaped(d.Title)}
		for _, name := range deviceFacts {
			text := ""
			if v := d.Facts[name]; v != nil {
				text = factText(name, v)
			}
			row = append(row, escaped(text))
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		m.table([]string{"Device", "Hardware", "Driver", "Version", "Memory", "Memory type"}, "llllrl", rows)
	}
	if r.Ended != "" {
		m.line("The run ended early: %s. The figures are of what was measured before.", escaped(r.Ended))
		m.line("")
	}
	if len(r.Rows) == 0 {
		m.line("Nothing was measured: the report has no rows.")
	}
}

// short writes who is faster and why, before all tables.
func (m *markdown) short(r *bench.Report) {
	list := comparisons(r)
	if len(list) == 0 {
		return
	}
	var rows [][]string
	for _, c := range list {
		var cells []string
		for _, s := range c.cells() {
			cells = append(cells, escaped(s))
		}
		cells[7], cells[9] = cells[7]+" "+cells[8], cells[9]+" "+cells[10]
		rows = append(rows, append(cells[:8:8], cells[9]))
	}
	m.line("**In short**")
	m.line("")
	h := comparisonHeads
	m.table([]string{h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[9]}, "lllrrrrll", rows)
	m.line("%s", shortNote(r))
	m.line("")
	reasons := explanations(r)
	for _, x := range reasons {
		m.line("* %s", escaped(x.title()+": "+x.text))
	}
	if len(reasons) > 0 {
		m.line("")
	}
}

func around(i *stats.Interval) string {
	if of, ok := spread(i); ok {
		return " ± " + percent(of) + " %"
	}
	return ""
}

func (m *markdown) suite(s *suite) {
	m.line("**%s**", escaped(s.name))
	m.line("")
	heads, align := []string{"Case", "Unit"}, "ll"
	type columns struct{ ratio, limit bool }
	has := make([]columns, len(m.devices))
	for i, d := range m.devices {
		for _, l := range s.lines {
			if r := l.rows[i]; measured(r) {
				_, _, limit := share(r)
				has[i].ratio, has[i].limit = has[i].ratio || r.Ratio != nil, has[i].limit || limit
			}
		}
		heads, align = append(heads, escaped(d.Name)), align+"r"
		if has[i].ratio {
			heads, align, m.ratios = append(heads, "×"), align+"r", true
		}
		if has[i].limit {
			heads, align, m.limits = append(heads, "of limit"), align+"r", true
		}
	}
	var rows [][]string
	for _, l := range s.lines {
		cells := []string{escaped(l.title()), escaped(l.unit)}
		for i := range m.devices {
			figure, ratio, limit := m.cell(l.rows[i])
			cells = append(cells, figure)
			if has[i].ratio {
				cells = append(cells, ratio)
			}
			if has[i].limit {
				cells = append(cells, limit)
			}
		}
		rows = append(rows, cells)
	}
	m.table(heads, align, rows)
}

// cell returns the figure, the ratio and the share of the limit of a row, each with its interval.
func (m *markdown) cell(r *bench.Row) (figure, ratio, limit string) {
	switch {
	case r == nil:
		return "", "", ""
	case !measured(r):
		return m.mark(string(r.Status), r), "", ""
	}
	figure = number(r.Value) + around(r.Range)
	for _, w := range warnings(r) {
		figure += m.note(w.text)
	}
	if r.Ratio != nil && finite(r.Ratio.Value) {
		ratio = number3(r.Ratio.Value) + around(&r.Ratio.Interval)
	}
	if of, _, ok := share(r); ok {
		limit = percent(of) + " %"
	}
	return figure, ratio, limit
}

// mark returns the status of a row without a figure, with a number that refers to the reason.
func (m *markdown) mark(status string, r *bench.Row) string {
	reason := r.Reason
	if reason == "" {
		reason = "no reason is known"
	}
	if status != "" && !strings.HasPrefix(reason, status) {
		reason = status + ": " + reason
	}
	return escaped(missing(r.Status)) + m.note(reason)
}

// note returns the number of a note below the tables.
func (m *markdown) note(text string) string {
	for i, t := range m.marks {
		if t == text {
			return fmt.Sprintf(" <sup>%d</sup>", i+1)
		}
	}
	m.marks = append(m.marks, text)
	return fmt.Sprintf(" <sup>%d</sup>", len(m.marks))
}

func (m *markdown) notes(r *bench.Report) {
	if len(r.Rows) == 0 {
		return
	}
	text := fmt.Sprintf("±: the larger half of the %s confidence interval.", confidence(r))
	if m.ratios {
		text += " ×: time relative to the first measured row of the case, less is faster."
	}
	if m.limits {
		text += " Of limit: share of what the same device reached in this run."
	}
	m.line("%s", text)
	m.line("")
	for i, t := range m.marks {
		m.line("%d. %s", i+1, escaped(t))
	}
	if len(m.marks) > 0 {
		m.line("")
	}
}

func (m *markdown) changes(r *bench.Report) {
	b := r.Baseline
	if b == nil {
		return
	}
	m.line("Changes since %s of %s:", escaped(b.File), b.Started.UTC().Format("2006-01-02"))
	m.line("")
	for _, warning := range b.Warnings {
		m.line("* Warning: %s", escaped(warning))
	}
	for _, id := range b.Missing {
		m.line("* Measured then, not in this run: %s", escaped(id))
	}
	var rows [][]string
	for _, verdict := range []string{"broken", "slower", "faster"} {
		for _, row := range changed(r, verdict) {
			c := row.Change
			ratio, p := number3(c.Ratio.Value)+around(&c.Ratio), pText(c.P)
			if verdict == bench.Broken {
				ratio, p = brokenText(row), ""
			}
			rows = append(rows, []string{escaped(row.ID()), verdict, escaped(ratio), escaped(p)})
		}
	}
	m.line("* %s", changeSummary(r))
	m.line("")
	if len(rows) > 0 {
		m.table([]string{"Row", "", "Time, new / old", "p"}, "llrr", rows)
	}
}
