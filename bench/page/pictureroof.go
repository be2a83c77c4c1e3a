package page

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"tvmgo/bench"
)

// roofPlot draws the ceilings and the points of a roofline, and the names of both where they cover nothing.
type roofPlot struct {
	*roof
	devices []bench.DeviceInfo
}

// Plot implements plot.Plotter.
func (f *roofPlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, l := range f.lines {
		style := draw.LineStyle{Color: glyph(l.device).Color, Width: 1}
		if !l.slope {
			c.StrokeLine2(style, x(f.begin(l)), y(l.value), x(f.intensity.high), y(l.value))
			continue
		}
		from := max(f.intensity.low, f.rate.low/l.value)
		to := min(f.intensity.high, min(f.reach(l.device), f.rate.high)/l.value)
		if to > from {
			c.StrokeLine2(style, x(from), y(from*l.value), x(to), y(to*l.value))
		}
	}
	var taken []vg.Rectangle
	for _, pt := range f.points {
		at := vg.Point{X: x(pt.x), Y: y(pt.y)}
		c.DrawGlyph(glyph(pt.device), at)
		taken = append(taken, vg.Rectangle{Min: at.Sub(vg.Point{X: 4, Y: 4}), Max: at.Add(vg.Point{X: 4, Y: 4})})
	}
	write := func(s string, ink draw.GlyphStyle, from *vg.Point, places ...vg.Point) bool {
		style := letters(7.5, ink.Color, false)
		w := style.Width(s)
		for _, at := range places { // the left end of the text, at half its height
			box := vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - 4}, Max: vg.Point{X: at.X + w, Y: at.Y + 4}}
			if box.Min.X < c.Min.X || box.Max.X > c.Max.X || box.Min.Y < c.Min.Y || box.Max.Y > c.Max.Y ||
				slices.ContainsFunc(taken, func(o vg.Rectangle) bool { return meet(box, o) }) {
				continue
			}
			taken = append(taken, box)
			if end := nearest(box, from); from != nil && math.Hypot(float64(end.X-from.X), float64(end.Y-from.Y)) > 7 {
				c.StrokeLine2(draw.LineStyle{Color: softColor, Width: 0.5}, from.X, from.Y, end.X, end.Y)
			}
			c.FillText(style, at, s)
			return true
		}
		return false
	}
	small := letters(7.5, inkColor, false)
	for _, l := range f.lines {
		name := plain(f.devices[l.device].Name+" "+l.name, longestName) + ", " + number(l.value)
		if l.slope {
			s := name + " GB/s"
			from := max(f.intensity.low, f.rate.low/l.value)
			at := vg.Point{X: x(from) + 14, Y: y(from*l.value) - 3}
			write(s, glyph(l.device), nil, at, at.Add(vg.Point{X: 14, Y: -8}))
			continue
		}
		s := name + " Gops/s"
		left := x(f.intensity.high) - small.Width(s) - 2
		write(s, glyph(l.device), nil, vg.Point{X: left, Y: y(l.value) + 6}, vg.Point{X: left, Y: y(l.value) - 6})
	}
	named := map[string]bool{}
	for _, pt := range f.points { // each kernel has its name once, at a mark with space around it
		s := plain(pt.name(), 28)
		w, at := small.Width(s), vg.Point{X: x(pt.x), Y: y(pt.y)}
		if named[pt.name()] {
			continue
		}
		var places []vg.Point
		for _, d := range []vg.Length{6, 12} {
			places = append(places, at.Add(vg.Point{X: d}), at.Add(vg.Point{X: -d - w}), at.Add(vg.Point{X: -w / 2, Y: d + 4}),
				at.Add(vg.Point{X: -w / 2, Y: -d - 4}), at.Add(vg.Point{X: d, Y: d}), at.Add(vg.Point{X: -d - w, Y: -d}),
				at.Add(vg.Point{X: d, Y: -d}), at.Add(vg.Point{X: -d - w, Y: d}))
		}
		named[pt.name()] = write(s, draw.GlyphStyle{Color: inkColor}, &at, places...)
	}
}

// nearest returns the point of a rectangle that is nearest to another point; the zero value if there is none.
func nearest(r vg.Rectangle, to *vg.Point) (p vg.Point) {
	if to != nil {
		p = vg.Point{X: min(max(to.X, r.Min.X), r.Max.X), Y: min(max(to.Y, r.Min.Y), r.Max.Y)}
	}
	return p
}

func meet(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}
