package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"tvmgo/bench"
)

// drawing is SVG that is being written for the page. Texts are escaped; numbers have two decimal places.
type drawing struct{ strings.Builder }

// add writes SVG. Strings among the values are escaped.
func (d *drawing) add(format string, values ...any) {
	for i, v := range values {
		switch v := v.(type) {
		case string:
			values[i] = html.EscapeString(clean(v))
		case float64:
			values[i] = strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00")
		}
	}
	fmt.Fprintf(d, format, values...)
}

func (d *drawing) html() template.HTML { return template.HTML(d.String()) } //nolint:gosec // add escapes

// deviceClass returns the class of a device, which selects its color, and the name of its shape: devices have both.
func deviceClass(device int) string { return fmt.Sprintf("d%d", device%len(shapes)) }

// shapes are the marks of devices, around the origin in a square of 10.
var shapes = []string{
	`<circle r="4.5"/>`,
	`<rect x="-4" y="-4" width="8" height="8"/>`,
	`<path d="M0-5 5 4H-5Z"/>`,
	`<path d="M0-5.5 5.5 0 0 5.5-5.5 0Z"/>`,
	`<path d="M-1.7-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z"/>`,
	`<path d="M0 5 5-4H-5Z"/>`,
}

// shapeDefinitions has the shapes for use in every picture of a page.
func shapeDefinitions() template.HTML {
	var d drawing
	d.add(`<svg width="0" height="0" aria-hidden="true" focusable="false"><defs>`)
	for i, s := range shapes {
		d.WriteString(strings.Replace(s, " ", fmt.Sprintf(` id="m%d" `, i), 1))
	}
	d.add(`</defs></svg>`)
	return d.html()
}

// marker returns the mark of a device beside its name.
func marker(device int) template.HTML {
	var d drawing
	d.add(`<svg class="mark %s" viewBox="-6 -6 12 12" aria-hidden="true"><use href="#m%d"/></svg>`, deviceClass(device),
		device%len(shapes))
	return d.html()
}

// bar returns the bar of a row whose case has a largest value.
func bar(r *bench.Row, device int, largest float64) template.HTML {
	var d drawing
	part := func(v float64) float64 { return 100 * min(max(v/largest, 0), 1) }
	label := number(r.Value) + " " + r.Unit
	_, interval := spread(r.Range)
	if interval {
		label += fmt.Sprintf(", interval %s to %s", number(r.Range.Low), number(r.Range.High))
	}
	d.add(`<svg class="bar %s" role="img" aria-label="%s"><rect y="15%%" height="70%%" width="%v%%"/>`,
		deviceClass(device), label, max(part(r.Value), 0.3))
	if interval {
		low, high := part(r.Range.Low), part(r.Range.High)
		d.add(`<line x1="%v%%" x2="%v%%" y1="50%%" y2="50%%"/>`, low, high)
		for _, x := range []float64{low, high} {
			d.add(`<line x1="%v%%" x2="%v%%" y1="22%%" y2="78%%"/>`, x, x)
		}
	}
	d.add(`</svg>`)
	return d.html()
}

// scale maps values to 0 … 1, by their logarithms if they are far apart.
type scale struct {
	low, high float64
	log       bool
}

func newScale(low, high float64) scale {
	if !(low > 0) || !finite(high) {
		low, high = 1, 2
	}
	s := scale{low, high, high/low > 4}
	if pad := (high - low) * 0.05; !s.log {
		if pad == 0 {
			pad = low * 0.05
		}
		s.low, s.high = low-pad, high+pad
	} else {
		s.low, s.high = low/math.Pow(high/low, 0.03), high*math.Pow(high/low, 0.03)
	}
	return s
}

func (s scale) at(v float64) float64 {
	if s.log {
		return math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return (v - s.low) / (s.high - s.low)
}

// ticks returns at most about n round values within the scale.
func (s scale) ticks(n int) (list []float64) {
	if s.log {
		for _, steps := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
			list = list[:0]
			for e := math.Floor(math.Log10(s.low)); e <= math.Log10(s.high); e++ {
				for _, m := range steps {
					if v := m * math.Pow(10, e); v >= s.low && v <= s.high {
						list = append(list, v)
					}
				}
			}
			if len(list) <= n && len(list) > 1 {
				return list
			}
		}
		if len(list) < 3 && s.high/s.low < 100 { // too narrow for powers
			return scale{s.low, s.high, false}.ticks(min(n, 5))
		}
		every := (len(list) + n - 1) / n
		var few []float64
		for i := 0; i < len(list); i += every {
			few = append(few, list[i])
		}
		return few
	}
	step := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (s.high-s.low)/(step*m) <= float64(n) {
			step *= m
			break
		}
	}
	for v := math.Ceil(s.low/step) * step; v <= s.high && len(list) < 2*n; v += step {
		list = append(list, v)
	}
	return list
}

// tick returns the label of a tick, without digits that are zero.
func tick(v float64) string {
	if a := math.Abs(v); a >= 1e6 || a < 1e-3 {
		return strings.NewReplacer("e+0", "e", "e-0", "e-", "e+", "e").Replace(fmt.Sprintf("%.3g", v))
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", v), "0"), ".")
}

// relativeSamples returns the samples of a row relative to its median, sorted.
func relativeSamples(r *bench.Row) (list []float64) {
	for _, ns := range r.Samples {
		if v := ns / r.Times.P50; usable(ns) && usable(v) {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

// curve is the distribution of a row.
type curve struct {
	name    string
	device  int
	variant int
	times   []float64  // relative to the median, sorted
	marks   [3]float64 // p50, p90 and p99 in µs
}

// ecdf draws distributions: the share of samples that took at most a time relative to the median of their row, so that
// rows of different speed can be compared. Marks are at p50, p90 and p99.
func ecdf(name string, curves []curve) template.HTML {
	low, high := math.Inf(1), math.Inf(-1)
	label := "Distribution of the times of " + name + "."
	for _, c := range curves {
		if len(c.times) > 0 {
			low, high = min(low, c.times[0]), max(high, c.times[len(c.times)-1])
		}
		label += fmt.Sprintf(" %s: p50 %s, p90 %s, p99 %s µs.", c.name, number(c.marks[0]), number(c.marks[1]),
			number(c.marks[2]))
	}
	x := newScale(low, high)
	var d drawing
	d.add(`<svg class="ecdf" role="img" aria-label="%s">`, label)
	for _, y := range []struct {
		at   float64
		name string
	}{{0, "0"}, {0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}} {
		d.add(`<line class="grid" x1="0" x2="100%%" y1="%v%%" y2="%v%%"/>`, 100-100*y.at, 100-100*y.at)
		d.add(`<text x="-8" y="%v%%" dy="0.35em" text-anchor="end">%s</text>`, 100-100*y.at, y.name)
	}
	for _, v := range x.ticks(5) {
		d.add(`<line class="grid" x1="%v%%" x2="%v%%" y1="0" y2="100%%"/>`, 100*x.at(v), 100*x.at(v))
		d.add(`<text x="%v%%" y="100%%" dy="1.5em" text-anchor="middle">%s</text>`, 100*x.at(v), tick(v))
	}
	d.add(`<svg class="in" width="100%%" height="100%%" viewBox="0 0 1000 1000" preserveAspectRatio="none">`)
	for _, c := range curves {
		d.add(`<path class="curve %s v%d" d="%s"/>`, deviceClass(c.device), c.variant, steps(c.times, x))
	}
	d.add(`</svg>`)
	for _, c := range curves {
		for i, v := range c.marks {
			if at := x.at(v / c.marks[0]); at >= 0 && at <= 1 {
				d.add(`<use class="at %s" href="#m%d" x="%v%%" y="%v%%"/>`, deviceClass(c.device), c.device%len(shapes), 100*at,
					100-100*[]float64{0.5, 0.9, 0.99}[i])
			}
		}
	}
	d.add(`</svg>`)
	return d.html()
}

// steps returns the path of a distribution, with at most 200 steps.
func steps(times []float64, x scale) string {
	var b strings.Builder
	n := len(times)
	every := max((n+199)/200, 1)
	for i := 0; i < n; i += every {
		at, share := 1000*x.at(times[i]), float64(min(i+every, n))/float64(n)
		if i == 0 {
			fmt.Fprintf(&b, "M%.1f 1000", at)
		}
		fmt.Fprintf(&b, "H%.1fV%.1f", at, 1000-1000*share)
	}
	if n > 0 {
		b.WriteString("H1000")
	}
	return b.String()
}
