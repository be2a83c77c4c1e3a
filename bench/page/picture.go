package page

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"tvmgo/bench"
)

// Sizes of a picture in points: 620 are 827 pixels, the width of a README on GitHub.
const (
	pictureWidth = vg.Length(620)
	lineHeight   = vg.Length(13)
	panelExtra   = vg.Length(58) // title and axis of a panel, and the gap below
	headHeight   = vg.Length(40)
	titleHeight  = vg.Length(22)
	markHeight   = vg.Length(8) // of a device in the line of a case
	roofHeight   = vg.Length(340)
	margin       = vg.Length(10)
	panelGap     = vg.Length(14)
	longestName  = 44  // letters of a case
	maxLines     = 200 // of all panels: a picture shows no more
)

// SVG writes a picture of a report for a README: for each suite and unit the figure of each case on each device with
// its interval, on a logarithmic axis, and the roofline if there is one, with the names of kernels and limits that fit.
// It has its own background. Reports with more than 200 cases are cut, and the picture says so.
func SVG(w io.Writer, r *bench.Report) error {
	p := newPicture(r)
	c := vgsvg.New(pictureWidth, p.height())
	p.draw(draw.New(c))
	_, err := c.WriteTo(w)
	return err
}

// PNG writes the same picture as SVG, with 192 dots per inch.
func PNG(w io.Writer, r *bench.Report) error {
	p := newPicture(r)
	c := vgimg.NewWith(vgimg.UseWH(pictureWidth, p.height()), vgimg.UseDPI(192))
	p.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

var (
	inkColor  = color.NRGBA{R: 0x17, G: 0x19, B: 0x1c, A: 255}
	softColor = color.NRGBA{R: 0x55, G: 0x5c, B: 0x66, A: 255}
	ruleColor = color.NRGBA{R: 0xdf, G: 0xe2, B: 0xe6, A: 255}

	// deviceColors are those of the page in light mode.
	deviceColors = []color.Color{color.NRGBA{R: 0x0a, G: 0x5f, B: 0xa8, A: 255},
		color.NRGBA{R: 0xb4, G: 0x47, B: 0x0a, A: 255}, color.NRGBA{R: 0x00, G: 0x74, B: 0x5a, A: 255},
		color.NRGBA{R: 0x9a, G: 0x2f, B: 0x7c, A: 255}, color.NRGBA{R: 0x6f, G: 0x5b, B: 0x00, A: 255},
		color.NRGBA{R: 0x4b, G: 0x55, B: 0x63, A: 255}}
	deviceGlyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
		draw.PlusGlyph{}, draw.SquareGlyph{}}
)

func glyph(device int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: deviceColors[device%len(deviceColors)], Radius: 3,
		Shape: deviceGlyphs[device%len(deviceGlyphs)]}
}

func letters(size vg.Length, c color.Color, bold bool) plottext.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return plottext.Style{Color: c, Font: f, Handler: plot.DefaultTextHandler, YAlign: plottext.YCenter}
}

// picture is a report that is drawn as panels below each other.
type picture struct {
	report  *bench.Report
	devices []bench.DeviceInfo
	panels  []*panel
	roof    *roof
	left    int // cases that are not shown
}

// panel has the cases of a suite with the same unit.
type panel struct {
	title string
	lines []*line
	line  vg.Length // height of a line: devices have their marks below each other
	axis  scale
}

func newPicture(r *bench.Report) *picture {
	p := &picture{report: r, devices: devices(r), roof: newRoof(r, nil)}
	n := 0
	for _, s := range suites(r) {
		of := map[string]*panel{}
		for _, l := range s.lines {
			low, high, ok := l.reach()
			if !ok {
				continue
			}
			if n++; n > maxLines {
				p.left++
				continue
			}
			a := of[l.unit]
			if a == nil {
				better := "less is better"
				if l.rate {
					better = "more is better"
				}
				a = &panel{title: fmt.Sprintf("%s, %s, %s", plain(s.name, 30), plain(l.unit, 30), better),
					axis: scale{math.Inf(1), 0, true}}
				a.line = max(lineHeight, markHeight*vg.Length(len(p.devices))+5)
				of[l.unit], p.panels = a, append(p.panels, a)
			}
			a.lines, a.axis.low, a.axis.high = append(a.lines, l), min(a.axis.low, low), max(a.axis.high, high)
		}
	}
	return p
}

// reach returns the smallest and the largest figure of a line, with the ends of intervals that are not much farther; ok
// is false if there is none.
func (l *line) reach() (low, high float64, ok bool) {
	low = math.Inf(1)
	for _, r := range l.rows {
		if measured(r) && usable(r.Value) {
			low, high, ok = min(low, r.Value), max(high, r.Value), true
			if _, interval := spread(r.Range); interval {
				low, high = min(low, max(r.Range.Low, r.Value/3)), max(high, min(r.Range.High, r.Value*3))
			}
		}
	}
	return low, high, ok
}

// plain returns a name of at most some letters, without the characters that SVG and the letters of the picture do not
// have.
func plain(s string, longest int) string {
	s = shorten(strings.TrimSpace(clean(s)), longest, "...")
	if s == "" {
		return none
	}
	return strings.Map(func(c rune) rune {
		if c == '�' || c > 0x024f && c != 'µ' && c != '–' {
			return '?'
		}
		return c
	}, s)
}

func (p *panel) height() vg.Length { return p.line*vg.Length(len(p.lines)) + panelExtra }

func (p *picture) height() vg.Length {
	h := headHeight + lineHeight*vg.Length(len(p.devices)+1) + margin
	for _, a := range p.panels {
		h += a.height()
	}
	if p.roof != nil {
		h += roofHeight
	}
	return h
}

func (p *picture) draw(c draw.Canvas) {
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	m := p.report.Machine
	y := c.Max.Y - 18
	title := fmt.Sprintf("tvmgo bench %s on %s", plain(m.Version, 20), plain(m.Name, 50))
	c.FillText(letters(13, inkColor, true), vg.Point{X: margin, Y: y}, title)
	y -= 16
	about := fmt.Sprintf("%s, %s; bars of error: %s confidence", p.report.Started.UTC().Format("2006-01-02"),
		plain(m.CPU, 60), confidence(p.report))
	c.FillText(letters(9, softColor, false), vg.Point{X: margin, Y: y}, about)
	for i, d := range p.devices {
		y -= lineHeight
		c.DrawGlyph(glyph(i), vg.Point{X: margin + 4, Y: y})
		c.FillText(letters(9, inkColor, false), vg.Point{X: margin + 14, Y: y}, plain(d.Name, 30)+": "+plain(d.Title, 80))
	}
	if note := p.note(); note != "" {
		y -= lineHeight
		c.FillText(letters(9, softColor, false), vg.Point{X: margin, Y: y}, note)
	}
	top := c.Max.Y - headHeight - lineHeight*vg.Length(len(p.devices)+1)
	cropped := func(h vg.Length) draw.Canvas {
		low := vg.Point{X: c.Min.X + margin, Y: top - h + panelGap}
		part := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: low,
			Max: vg.Point{X: c.Max.X - margin, Y: top}}}
		top -= h
		return part
	}
	widest := vg.Length(0)
	for _, a := range p.panels {
		widest = max(widest, a.names())
	}
	for _, a := range p.panels {
		part := cropped(a.height())
		part.Min.X += widest - a.names() // so that the plots begin below each other
		a.draw(part)
	}
	if p.roof != nil {
		p.drawRoof(cropped(roofHeight))
	}
}

func (p *picture) note() string {
	switch {
	case len(p.panels) == 0:
		return "Nothing was measured."
	case p.left > 0:
		return fmt.Sprintf("%d more cases are not shown.", p.left)
	case p.report.Ended != "":
		return "The run ended early."
	}
	return ""
}

// base returns a plot with axes in the style of the page.
func base(x, y scale, ticks int) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Tick.Label.Font, a.Tick.Label.Color = letters(8.5, softColor, false).Font, softColor
		a.LineStyle.Width, a.Tick.LineStyle.Width, a.Tick.Length = 0, 0, 2
		a.Label.TextStyle = letters(8.5, softColor, false)
	}
	p.X.Scale = plot.LogScale{}
	p.X.Min, p.X.Max, p.X.Tick.Marker = x.low, x.high, constantTicks(x, ticks)
	p.Y.Min, p.Y.Max = y.low, y.high
	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{Color: ruleColor, Width: 0.75}
	grid.Horizontal = grid.Vertical
	p.Add(grid)
	return p
}

// titled writes a title at the left margin of a picture, and returns the canvas below it.
func titled(c draw.Canvas, title string) draw.Canvas {
	c.FillText(letters(10.5, inkColor, true), vg.Point{X: margin, Y: c.Max.Y - 8}, title)
	c.Max.Y -= titleHeight
	return c
}

func constantTicks(s scale, n int) plot.ConstantTicks {
	var list plot.ConstantTicks
	for _, v := range s.ticks(n) {
		list = append(list, plot.Tick{Value: v, Label: tick(v)})
	}
	return list
}

// names returns the width of the longest name of a case.
func (a *panel) names() (widest vg.Length) {
	for _, l := range a.lines {
		widest = max(widest, letters(8.5, inkColor, false).Width(plain(l.title(), longestName)))
	}
	return widest
}

func (a *panel) draw(c draw.Canvas) {
	c = titled(c, a.title)
	part := math.Pow(a.axis.high/a.axis.low, 0.1) // space for the numbers at the right
	x := scale{a.axis.low / 1.2, a.axis.high * max(1.5, 1.15*part), true}
	n := len(a.lines)
	p := base(x, scale{-0.5, float64(n) - 0.5, false}, 8)
	var names plot.ConstantTicks
	for i, l := range a.lines {
		names = append(names, plot.Tick{Value: float64(n - 1 - i), Label: plain(l.title(), longestName)})
	}
	p.Y.Tick.Marker, p.Y.Tick.Label.Color = names, inkColor
	p.Add(dots(a.lines))
	p.Draw(c)
}

// dots draws a mark with its interval for each row of lines, the first line at the top.
type dots []*line

// Plot implements plot.Plotter.
func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, l := range d {
		middle := y(float64(len(d) - 1 - i))
		for k := len(l.rows) - 1; k >= 0; k-- {
			r := l.rows[k]
			if !measured(r) || !usable(r.Value) {
				continue
			}
			at := middle + markHeight*vg.Length(float64(len(l.rows)-1)/2-float64(k))
			left, right := x(r.Value)-6, x(r.Value)+6
			if _, ok := spread(r.Range); ok && r.Range.Low > 0 {
				from, to := c.X(p.X.Norm(max(r.Range.Low, p.X.Min))), c.X(p.X.Norm(min(r.Range.High, p.X.Max)))
				style := draw.LineStyle{Color: glyph(k).Color, Width: 1}
				c.StrokeLine2(style, from, at, to, at)
				c.StrokeLine2(style, from, at-3, from, at+3)
				c.StrokeLine2(style, to, at-3, to, at+3)
				left, right = min(left, from-4), max(right, to+4)
			}
			style := letters(6.5, softColor, false)
			if w := style.Width(number(r.Value)); right+w > c.Max.X {
				right = left - w
			}
			c.FillText(style, vg.Point{X: right, Y: at + 1}, number(r.Value))
			c.DrawGlyph(glyph(k), vg.Point{X: x(r.Value), Y: at})
		}
	}
}

func (p *picture) drawRoof(c draw.Canvas) {
	f := p.roof
	c = titled(c, "Roofline: Gops/s by operations per byte; lines are limits measured in this run")
	chart := base(f.intensity, f.rate, 10)
	chart.Y.Scale, chart.Y.Tick.Marker = plot.LogScale{}, constantTicks(f.rate, 7)
	chart.Add(&roofPlot{f, p.devices})
	chart.Draw(c)
}
