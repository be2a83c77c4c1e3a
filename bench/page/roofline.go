package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"tvmgo/bench"
)

// roof has the points and lines of a report's roofline: what each device reached, and each kernel on it.
type roof struct {
	points    []point
	lines     []ceiling
	intensity scale
	rate      scale
}

type point struct {
	row    *bench.Row
	link   string // of its case in the page
	device int
	x, y   float64 // operations per byte, Gops/s
}

// name returns the name of the kernel, which its rows on all devices share.
func (p point) name() string {
	if p.row.Variant == "" {
		return p.row.Case
	}
	return p.row.Case + ", " + p.row.Variant
}

func (p point) label() string {
	return fmt.Sprintf("%s on %s: %s Gops/s, %s operations per byte, %s %% of the %s limit", p.name(), p.row.Device,
		number(p.y), number(p.x), percent(p.row.Roofline.Share), p.row.Roofline.Bound)
}

// ceiling is a limit of a device: a rate of operations, or a bandwidth if it is a slope.
type ceiling struct {
	device int
	name   string // of the case that measured it
	slope  bool
	value  float64 // Gops/s, or GB/s
}

func usable(v float64) bool { return finite(v) && v > 0 }

// newRoof returns the roofline of a report; nil if no row has a place in it.
func newRoof(r *bench.Report, links map[*bench.Row]string) *roof {
	f := &roof{}
	index, byID := map[string]int{}, map[string]*bench.Row{}
	for i, d := range devices(r) {
		index[d.Name] = i
	}
	for _, row := range r.Rows {
		byID[row.ID()] = row
	}
	for _, row := range r.Rows {
		l := row.Roofline
		if l == nil || !measured(row) || row.Amount.Ops <= 0 || !usable(l.Intensity) || !usable(row.Times.P50) {
			continue
		}
		p := point{row, links[row], index[row.Device], l.Intensity, row.Amount.Ops / row.Times.P50}
		if !usable(p.y) {
			continue
		}
		f.points = append(f.points, p)
		for _, s := range row.Shares {
			limit := byID[s.Of]
			if limit == nil || limit.Variant != "" || !usable(limit.Value) || limit.Figure == bench.Time {
				continue
			}
			c := ceiling{p.device, limit.Case, limit.Figure == bench.Bandwidth, limit.Value}
			if !slices.Contains(f.lines, c) {
				f.lines = append(f.lines, c)
			}
		}
	}
	if len(f.points) == 0 {
		return nil
	}
	f.scales()
	return f
}

// scales chooses ranges in which all points, and the corner of each device's lines, are visible.
func (f *roof) scales() {
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	include := func(x, y float64) {
		x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
	}
	for _, p := range f.points {
		include(p.x, p.y)
	}
	for _, a := range f.lines {
		for _, b := range f.lines {
			if a.device == b.device && a.slope && !b.slope {
				include(b.value/a.value, b.value)
			}
		}
		if !a.slope {
			y1 = max(y1, a.value)
		}
	}
	f.intensity = scale{x0 / 2, x1 * 2.5, true}
	f.rate = scale{y0 / 2, y1 * 2.5, true}
}

// reach returns the highest level among the ceilings of a device: slopes end there.
func (f *roof) reach(device int) float64 {
	top := 0.0
	for _, c := range f.lines {
		if c.device == device && !c.slope {
			top = max(top, c.value)
		}
	}
	if top == 0 {
		return f.rate.high
	}
	return top
}

// begin returns the intensity at which a level begins: where the steepest slope of its device meets it.
func (f *roof) begin(c ceiling) float64 {
	steepest := 0.0
	for _, o := range f.lines {
		if o.device == c.device && o.slope {
			steepest = max(steepest, o.value)
		}
	}
	if steepest == 0 {
		return f.intensity.low
	}
	return max(c.value/steepest, f.intensity.low)
}

// rectangle is where something has been drawn.
type rectangle struct{ x, y, w, h float64 }

func (a rectangle) overlaps(b rectangle) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

// frame is a roofline of one size in pixels.
type frame struct {
	*roof
	drawing
	left, top, width, height float64 // of the plot within the margins
	size                     float64 // of letters
	taken                    []rectangle
}

// draw returns the picture in a size: the page has a wide and a narrow one. Names are placed where they fit.
func (f *roof) draw(width, height, size float64, devices []bench.DeviceInfo) template.HTML {
	g := &frame{roof: f, left: size*4 + 4, top: size * 2.2,
		width: width - size*4 - 16, height: height - size*5.8, size: size}
	label := fmt.Sprintf("Roofline: %s of %s, operations per second by operations per byte, both logarithmic",
		plural(len(f.points), "mark"), plural(len(devices), "device"))
	g.add(`<svg viewBox="0 0 %v %v" role="group" aria-label="%s">`, width, height, label)
	g.axes(height)
	for _, c := range f.lines {
		g.line(c)
	}
	for _, p := range f.points {
		x, y := g.place(p.x, p.y)
		g.taken = append(g.taken, rectangle{x - 6, y - 6, 12, 12})
	}
	g.ceilings(devices)
	g.names()
	for _, p := range f.points {
		x, y := g.place(p.x, p.y)
		g.add(`<a class="pt %s" href="#%s" data-k="%s" aria-label="%s"><title>%s</title>`, deviceClass(p.device), p.link,
			p.link, p.label(), p.label())
		g.add(`<circle cx="%v" cy="%v" r="11" fill="transparent"/><use href="#m%d" x="%v" y="%v"/></a>`, x, y,
			p.device%len(shapes), x, y)
	}
	g.add(`</svg>`)
	return g.html()
}

func (g *frame) place(x, y float64) (float64, float64) {
	return g.left + g.width*g.intensity.at(x), g.top + g.height*(1-g.rate.at(y))
}

func (g *frame) axes(height float64) {
	for _, v := range g.intensity.ticks(int(g.width / (5 * g.size))) {
		x, _ := g.place(v, 1)
		g.add(`<line class="grid" x1="%v" x2="%v" y1="%v" y2="%v"/>`, x, x, g.top, g.top+g.height)
		g.add(`<text x="%v" y="%v" text-anchor="middle">%s</text>`, x, g.top+g.height+g.size*1.5, tick(v))
	}
	for _, v := range g.rate.ticks(7) {
		_, y := g.place(1, v)
		g.add(`<line class="grid" x1="%v" x2="%v" y1="%v" y2="%v"/>`, g.left, g.left+g.width, y, y)
		g.add(`<text x="%v" y="%v" dy="0.35em" text-anchor="end">%s</text>`, g.left-6, y, tick(v))
	}
	g.add(`<text x="%v" y="%v" text-anchor="end">operations per byte</text>`, g.left+g.width, height-g.size*0.4)
	g.add(`<text x="%v" y="%v" text-anchor="start">Gops/s</text>`, 0.0, g.size)
}

// ends returns the two ends of a ceiling within the picture.
func (g *frame) ends(c ceiling) (x0, y0, x1, y1 float64) {
	if !c.slope {
		x0, y0 = g.place(g.begin(c), c.value)
		x1, y1 = g.place(g.intensity.high, c.value)
		return x0, y0, x1, y1
	}
	from := max(g.intensity.low, g.rate.low/c.value)
	to := min(g.intensity.high, min(g.reach(c.device), g.rate.high)/c.value)
	x0, y0 = g.place(from, from*c.value)
	x1, y1 = g.place(to, to*c.value)
	return x0, y0, x1, y1
}

func (g *frame) line(c ceiling) {
	x0, y0, x1, y1 := g.ends(c)
	if x1 <= x0 {
		return
	}
	g.add(`<line class="roofs %s" x1="%v" y1="%v" x2="%v" y2="%v"/>`, deviceClass(c.device), x0, y0, x1, y1)
}

// ceilings writes the names of the levels at their lines, where they cover nothing. The legend has all of them, and the
// slopes.
func (g *frame) ceilings(devices []bench.DeviceInfo) {
	for _, c := range g.lines {
		x0, _, x1, y1 := g.ends(c)
		if x1 <= x0 || c.slope {
			continue
		}
		s := fmt.Sprintf("%s %s, %s Gops/s", devices[c.device].Name, c.name, number(c.value))
		w := g.textWidth(s)
		for _, below := range []float64{-0.45, 1.15} {
			at := rectangle{x1 - w, y1 + g.size*(below-0.8), w, g.size}
			if g.free(at) && x1-w > x0 {
				g.taken = append(g.taken, at)
				g.add(`<text class="ceiling %s" x="%v" y="%v" text-anchor="end">%s</text>`, deviceClass(c.device), x1,
					y1+g.size*below, s)
				break
			}
		}
	}
}

func (g *frame) textWidth(s string) float64 { return float64(width(s)) * g.size * 0.56 }

func (g *frame) free(r rectangle) bool {
	if r.x < g.left || r.x+r.w > g.left+g.width+6 || r.y < 0 || r.y+r.h > g.top+g.height {
		return false
	}
	return !slices.ContainsFunc(g.taken, r.overlaps)
}

// names writes the name of each kernel once, beside its highest mark that has space around it. Names that do not fit
// are left to the details of the mark and to the table.
func (g *frame) names() {
	type kernel struct {
		name, link string
		points     []point
	}
	var kernels []*kernel
	for _, p := range g.points {
		i := slices.IndexFunc(kernels, func(k *kernel) bool { return k.link == p.link && k.name == p.name() })
		if i < 0 {
			i, kernels = len(kernels), append(kernels, &kernel{name: p.name(), link: p.link})
		}
		kernels[i].points = append(kernels[i].points, p)
	}
	for _, k := range kernels {
		slices.SortStableFunc(k.points, func(a, b point) int { return -cmpFloat(a.y, b.y) })
		g.name(k.name, k.link, k.points)
	}
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (g *frame) name(name, link string, points []point) {
	s := cut(clean(name), 28, "…")
	w, h := g.textWidth(s), g.size*1.1
	for _, distance := range []float64{9, 20, 34, 50} {
		for _, p := range points {
			x, y := g.place(p.x, p.y)
			for _, at := range []rectangle{{x + distance, y - h/2, w, h}, {x - w/2, y - distance - h, w, h},
				{x - distance - w, y - h/2, w, h}, {x - w/2, y + distance, w, h}, {x + distance, y - distance - h/2, w, h},
				{x - distance - w, y - distance - h/2, w, h}, {x + distance, y + distance - h/2, w, h},
				{x - distance - w, y + distance - h/2, w, h}} {
				if !g.free(at) {
					continue
				}
				g.taken = append(g.taken, at)
				if distance > 9 {
					g.add(`<line class="lead" data-k="%s" x1="%v" y1="%v" x2="%v" y2="%v"/>`, link, x, y,
						min(max(x, at.x), at.x+w), min(max(y, at.y), at.y+h))
				}
				g.add(`<text class="name" data-k="%s" x="%v" y="%v">%s</text>`, link, at.x, at.y+h*0.78, s)
				return
			}
		}
	}
}
