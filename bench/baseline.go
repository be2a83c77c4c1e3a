package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/bench/stats"
)

// CompareWith compares a report with an older one of the same cases, and returns the regressions: rows that are slower
// beyond noise and by more than Config.Relevant, and rows that were measured then and now fail or are wrong. It sets
// Row.Change of each row that was measured in either, and Baseline, without the name of the file. Rows belong together
// if their IDs are the same. The probability of any false alarm is at most 1-Config.Confidence, for all rows together.
func (r *Report) CompareWith(old *Report) (regressions []*Row) {
	r.Baseline = &Baseline{Started: old.Started}
	before, now := map[string]*Row{}, map[string]bool{}
	for _, row := range old.Rows {
		before[row.ID()] = row
	}
	c, err := r.Config.withDefaults()
	if err != nil {
		c, _ = Config{}.withDefaults()
	}
	var compared []*Row
	var p []float64
	warn := r.warnings(old)
	for _, row := range r.Rows {
		now[row.ID()] = true
		was := before[row.ID()]
		row.Change = nil
		switch {
		case !was.measured() && !row.measured():
		case !was.measured():
			row.Change = &Change{Verdict: New, Change: stats.Change{P: 1}}
		case row.Status == Failed || row.Status == Wrong:
			row.Change = &Change{Verdict: Broken, Change: stats.Change{P: 1}}
			warn.add("measured then, and now "+string(row.Status)+": %s", row.ID())
		case !row.measured():
			warn.add("measured then, and now "+string(row.Status)+": %s", row.ID())
		default:
			row.Change = changeOf(row, was, c, warn)
			if row.Change.Verdict != Incomparable {
				compared, p = append(compared, row), append(p, row.Change.P)
			}
		}
	}
	for i, adjusted := range stats.Holm(p) {
		change := compared[i].Change
		change.P, change.Significant, change.Verdict = adjusted, adjusted <= 1-c.Confidence, Same
		switch {
		case change.Significant && change.Ratio.Value > 1:
			change.Verdict = Slower
		case change.Significant:
			change.Verdict = Faster
		}
	}
	for _, row := range r.Rows {
		if row.Change != nil && (row.Change.Verdict == Slower || row.Change.Verdict == Broken) {
			regressions = append(regressions, row)
		}
	}
	for _, row := range old.Rows {
		if row.measured() && !now[row.ID()] {
			r.Baseline.Missing = append(r.Baseline.Missing, row.ID())
		}
	}
	if !slices.ContainsFunc(r.Rows, func(row *Row) bool { return before[row.ID()].measured() }) {
		warn.note("nothing was compared: no row of this run was measured then")
	}
	r.Baseline.Warnings = warn.texts()
	return regressions
}

// measured reports whether a row has samples that count; nil has none.
func (r *Row) measured() bool {
	return r != nil && len(r.Samples) > 0 && (r.Status == Measured || r.Status == Interrupted)
}

// changeOf compares the samples of a row with those of an old one, by the device's timer if both have one, else by the
// wall clock. Amounts may differ in a rate: the times for the same amount are compared then.
func changeOf(row, was *Row, c Config, warn *warnings) *Change {
	incomparable := &Change{Verdict: Incomparable, Change: stats.Change{P: 1}}
	clock := row.Clock
	if row.Clock != was.Clock {
		clock = ClockWall
		warn.add("the clock differs (wall time is compared): %s", row.ID())
	}
	now, before := row.times(clock), was.times(clock)
	scale := 1.0
	switch mine, its := row.Amount, was.Amount; {
	case row.Figure != was.Figure:
		warn.add("another figure is reported: %s", row.ID())
		return incomparable
	case mine == its:
	case row.Figure == Bandwidth && mine.Bytes > 0 && its.Bytes > 0:
		scale = mine.Bytes / its.Bytes
	case row.Figure.Rate() && row.Figure != Bandwidth && mine.Ops > 0 && its.Ops > 0:
		scale = mine.Ops / its.Ops
	default:
		warn.add("an operation does another amount of work: %s", row.ID())
		return incomparable
	}
	if scale != 1 {
		now = slices.Clone(now)
		for i := range now {
			now[i] /= scale
		}
	}
	for _, x := range []*Row{row, was} {
		if len(x.Samples) < LeastRounds {
			warn.add(fmt.Sprintf("fewer than %d samples in a run: %%s", LeastRounds), row.ID())
			break
		}
	}
	return &Change{Change: stats.Compare(before, now, c.Confidence, c.Relevant)}
}

// warnings are reasons why two reports may differ. Rows with the same reason share a warning.
type warnings struct {
	formats []string
	rows    map[string][]string // by format
}

// add adds a row to a warning, in whose text %s stands for the rows.
func (w *warnings) add(format, row string) {
	if w.rows == nil {
		w.rows = map[string][]string{}
	}
	if w.rows[format] == nil {
		w.formats = append(w.formats, format)
	}
	w.rows[format] = append(w.rows[format], row)
}

// note adds a warning that is not of rows.
func (w *warnings) note(format string, args ...any) {
	w.formats = append(w.formats, fmt.Sprintf(format, args...))
}

// texts returns the warnings; each names three rows at most.
func (w *warnings) texts() (list []string) {
	for _, f := range w.formats {
		rows := w.rows[f]
		names := strings.Join(rows[:min(len(rows), 3)], ", ")
		if len(rows) > 3 {
			names += fmt.Sprintf(" and %d more rows", len(rows)-3)
		}
		if len(rows) > 0 {
			f = strings.Replace(f, "%s", names, 1)
		}
		list = append(list, f)
	}
	return list
}

// warnings returns the differences of the machines, devices and configurations of two reports, and what makes either
// of them doubtful.
func (r *Report) warnings(old *Report) *warnings {
	w := &warnings{}
	differ := func(what string, now, then any) {
		if now != then {
			w.note("%s: %v, then %v", what, now, then)
		}
	}
	a, b := r.Machine, old.Machine
	if a.Name != b.Name || a.CPU != b.CPU || a.Cores != b.Cores || a.Memory != b.Memory {
		w.note("another machine: %s (%s, %d cores, %d MiB), then %s (%s, %d cores, %d MiB)", a.Name, a.CPU, a.Cores,
			a.Memory>>20, b.Name, b.CPU, b.Cores, b.Memory>>20)
	}
	differ("another system", a.OS, b.OS)
	differ("another governor of the CPU's clock", a.Governor, b.Governor)
	differ("another version of tvmgo", a.Version, b.Version)
	differ("other rounds", r.Config.Rounds, old.Config.Rounds)
	differ("another duration of samples", r.Config.Sample, old.Config.Sample)
	differ("another duration of warm-up", r.Config.WarmUp, old.Config.WarmUp)
	for _, d := range r.Devices {
		i := slices.IndexFunc(old.Devices, func(o DeviceInfo) bool { return o.Name == d.Name })
		if i < 0 {
			continue
		}
		differ("another device "+d.Name, d.Title, old.Devices[i].Title)
		mine, its := d.Facts.plain(), old.Devices[i].Facts.plain()
		for _, name := range slices.Sorted(maps.Keys(mine)) {
			if then, both := its[name]; both && !strings.HasPrefix(name, "free ") {
				differ(fmt.Sprintf("%s of %s", name, d.Name), mine[name], then)
			}
		}
	}
	for _, x := range []struct {
		*Report
		when string
	}{{r, "now"}, {old, "then"}} {
		if x.Ended != "" {
			w.note("the run %s is incomplete: %s", x.when, x.Ended)
		}
		for _, row := range x.Rows {
			if !row.measured() {
				continue
			}
			if !row.Warmup.Stable {
				w.add("the speed was not stable after the warm-up "+x.when+": %s", row.ID())
			}
			if c := row.Conditions; c != nil && len(c.Throttled) > 0 {
				w.add("the device was throttled "+x.when+": %s", row.ID())
			}
		}
	}
	return w
}
