package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tvmgo/bench"
	"tvmgo/bench/stats"
)

func newRow(r *bench.Row, device int, largest float64) rowView {
	v := rowView{Marker: marker(device), Name: orNone(rowTitle(r)), Status: string(r.Status), Reason: clean(r.Reason)}
	if v.Measured = measured(r); !v.Measured {
		if v.Reason == "" {
			v.Reason = "no reason is known"
		}
		v.Reason = strings.TrimPrefix(v.Reason, v.Status+": ")
		return v
	}
	v.Bar, v.Figure, v.Around = bar(r, device, largest), number(r.Value), plusMinus(r.Range)
	if r.Ratio != nil && finite(r.Ratio.Value) {
		v.Ratio, v.RatioAround = number3(r.Ratio.Value), plusMinus(&r.Ratio.Interval)
	}
	if of, _, ok := share(r); ok {
		v.Share = percent(of) + " %"
	}
	for _, w := range warnings(r) {
		text := w.text
		switch w.mark {
		case "t":
			text += ": " + strings.Join(r.Conditions.Throttled, ", ")
		case "s":
			text += coverages(r)
		}
		v.Marks = append(v.Marks, markView{markNames[w.mark], clean(text)})
	}
	v.P50, v.P90, v.P99, v.Max = micros(r.Times.P50), micros(r.Times.P90), micros(r.Times.P99), micros(r.Times.Max)
	v.Variation, v.Samples = percent(r.Times.Variation)+" %", fmt.Sprintf("%d × %d", len(r.Samples), r.Calls)
	v.Clock = clean(r.Clock)
	if c := r.Conditions; c != nil {
		v.MHz, v.Celsius, v.Watts = between(c.ClockMHz), between(c.Celsius), between(c.Watts)
	}
	return v
}

// coverages returns the probabilities of intervals that are below their confidence: ", 87.5 % for the figure".
func coverages(r *bench.Row) (s string) {
	if short(r.Range) {
		s += fmt.Sprintf(", %s %% for the figure", tick(percentOf(r.Range.Coverage)))
	}
	if r.Ratio != nil && short(&r.Ratio.Interval) {
		s += fmt.Sprintf(", %s %% for ×", tick(percentOf(r.Ratio.Coverage)))
	}
	return s
}

// percentOf returns a probability in percent with one decimal place.
func percentOf(p float64) float64 { return math.Floor(p*1000) / 10 }

// plusMinus returns the larger half of an interval: "0.4 %"; "" if there is none.
func plusMinus(i *stats.Interval) string {
	if of, ok := spread(i); ok {
		return percent(of) + " %"
	}
	return ""
}

func (v *view) baseline(r *bench.Report) {
	b := r.Baseline
	if b == nil {
		return
	}
	v.Baseline = &baselineView{File: orNone(b.File), Date: b.Started.UTC().Format("2006-01-02"), Summary: changeSummary(r)}
	for _, warning := range b.Warnings {
		v.Baseline.Warnings = append(v.Baseline.Warnings, clean(warning))
	}
	for _, id := range b.Missing {
		v.Baseline.Missing = append(v.Baseline.Missing, clean(id))
	}
	for _, verdict := range []string{"broken", "slower", "faster"} {
		for _, row := range changed(r, verdict) {
			c := changeView{Name: clean(row.ID()), Verdict: verdict, Ratio: number3(row.Change.Ratio.Value),
				P: pText(row.Change.P)}
			if verdict == bench.Broken {
				c.Ratio, c.P, c.Broken = "", "", clean(brokenText(row))
			}
			if _, ok := spread(&row.Change.Ratio); ok {
				c.Interval = number3(row.Change.Ratio.Low) + "–" + number3(row.Change.Ratio.High)
			}
			v.Baseline.Rows = append(v.Baseline.Rows, c)
		}
	}
}

func (v *view) short(r *bench.Report, all []bench.DeviceInfo) {
	list := comparisons(r)
	if len(list) == 0 {
		return
	}
	v.Short = &shortView{Note: shortNote(r)}
	for _, c := range list {
		s := c.cells()
		for i := range s {
			s[i] = orNone(s[i])
		}
		index := slices.IndexFunc(all, func(d bench.DeviceInfo) bool { return d.Name == c.device })
		v.Short.Rows = append(v.Short.Rows, shortRow{Marker: marker(index), Suite: s[0], Device: s[1], Base: s[2], Mean: s[3],
			Faster: s[4], Slower: s[5], Unclear: s[6], Least: s[7], LeastOf: s[8], Most: s[9], MostOf: s[10]})
	}
	for _, x := range explanations(r) {
		v.Short.Reasons = append(v.Short.Reasons, [2]string{clean(x.title()), clean(x.text)})
	}
}

// numberCell returns a cell that is sorted by a value; it is empty if the value is not finite.
func numberCell(text string, value float64, ok bool) cell {
	if !ok || !finite(value) {
		return cell{Number: true}
	}
	return cell{Text: text, Number: true, Value: strconv.FormatFloat(value, 'g', -1, 64)}
}

func (v *view) table(r *bench.Report) {
	for _, h := range []string{"Case", "Suite", "Device", "#Figure", "Unit", "#±", "#×", "#Limit", "#p50", "#p90", "#p99",
		"#max", "#Variation", "#Samples", "Clock", "Status", "Change", "Limit of"} {
		text, isNumber := strings.CutPrefix(h, "#")
		v.Heads = append(v.Heads, cell{Text: text, Number: isNumber})
	}
	for _, row := range r.Rows {
		name := row.Case
		if row.Variant != "" {
			name += ", " + row.Variant
		}
		ok := measured(row)
		cells := []cell{{Text: orNone(name)}, {Text: orNone(row.Suite)}, {Text: orNone(row.Device)},
			numberCell(number(row.Value), row.Value, ok), {Text: clean(row.Unit)}}
		of, interval := spread(row.Range)
		cells = append(cells, numberCell(percent(of)+" %", of, ok && interval))
		ratio, limit, limitOf, limited := 0.0, 0.0, "", false
		if row.Ratio != nil {
			ratio = row.Ratio.Value
		}
		if limit, limitOf, limited = share(row); !ok {
			limitOf = ""
		}
		cells = append(cells, numberCell(number3(ratio), ratio, ok && row.Ratio != nil),
			numberCell(percent(limit)+" %", limit, ok && limited))
		var t stats.Summary
		if ok {
			t = *row.Times
		}
		for _, ns := range []float64{t.P50, t.P90, t.P99, t.Max} {
			cells = append(cells, numberCell(micros(ns), ns, ok))
		}
		cells = append(cells, numberCell(percent(t.Variation)+" %", t.Variation, ok),
			numberCell(strconv.Itoa(len(row.Samples)), float64(len(row.Samples)), ok))
		status := []string{string(row.Status)}
		for _, w := range warnings(row) {
			if strings.Contains("csut", w.mark) {
				status = append(status, markNames[w.mark])
			}
		}
		change := ""
		if row.Change != nil {
			change = row.Change.Verdict
		}
		v.Table = append(v.Table, append(cells, cell{Text: clean(row.Clock)}, cell{Text: strings.Join(status, ", ")},
			cell{Text: change}, cell{Text: clean(limitOf)}))
	}
}

func (v *view) reasons(r *bench.Report) {
	for _, row := range r.Rows {
		if row.Status == bench.Measured && row.Reason == "" {
			continue
		}
		reason := strings.TrimPrefix(clean(row.Reason), string(row.Status)+": ")
		v.Reasons = append(v.Reasons, reasonView{clean(row.ID()), string(row.Status), orNone(reason)})
	}
}

func (v *view) deviceFacts(all []bench.DeviceInfo) {
	facts, columns, some := make([]bench.Facts, len(all)), make([]string, len(all)), false
	for i, d := range all {
		facts[i], columns[i], some = d.Facts, orNone(d.Name), some || len(d.Facts) > 0
	}
	if some {
		v.DeviceFacts = newFacts("Facts of the devices", columns, compare(facts))
	}
}
