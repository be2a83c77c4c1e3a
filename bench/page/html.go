package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"tvmgo/bench"
)

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// HTML writes a report as one page that loads nothing: its style, script and pictures are in it, and its policy forbids
// every request. Without scripts the page has everything except sorting, filtering and the choice of colors.
func HTML(w io.Writer, r *bench.Report) error {
	v := newView(r)
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// view is what the template shows.
type view struct {
	CSS                                                   template.CSS
	JS                                                    template.JS
	Policy                                                string
	Shapes                                                template.HTML
	Title, Date, Time, Took, Version, Summary, Ended, Bad string
	Confidence                                            string
	Machine                                               []string
	Devices                                               []deviceView
	Baseline                                              *baselineView
	Short                                                 *shortView
	Roofline                                              *roofView
	Suites                                                []suiteView
	Heads                                                 []cell
	Table                                                 [][]cell
	Reasons                                               []reasonView
	DeviceFacts                                           *factsView
}

type deviceView struct {
	Marker      template.HTML
	Name, Title string
}

type baselineView struct {
	File, Date, Summary string
	Warnings, Missing   []string
	Rows                []changeView
}

type changeView struct{ Name, Verdict, Ratio, Interval, P, Broken string }

// shortView says who is faster, and why.
type shortView struct {
	Note    string
	Rows    []shortRow
	Reasons [][2]string
}

type shortRow struct {
	Marker                                                                           template.HTML
	Suite, Device, Base, Faster, Slower, Unclear, Mean, Least, LeastOf, Most, MostOf string
}

type roofView struct {
	Wide, Narrow template.HTML
	Legend       []deviceView
	Points       []pointView
}

type pointView struct{ Name, Device, Intensity, Rate, Limit, Bound, Share string }

type suiteView struct {
	ID, Name string
	Cases    []caseView
}

type caseView struct {
	ID, Name, Unit               string
	Rate, Timed                  bool
	HasMHz, HasCelsius, HasWatts bool
	Rows                         []rowView
	Chart                        template.HTML
	Facts                        *factsView
}

type rowView struct {
	Marker                                        template.HTML
	Name                                          string
	Measured                                      bool
	Status, Reason                                string
	Bar                                           template.HTML
	Figure, Around, Ratio, RatioAround, Share     string
	Marks                                         []markView
	P50, P90, P99, Max, Variation, Samples, Clock string
	MHz, Celsius, Watts                           string
}

type markView struct{ Name, Text string }

type factsView struct {
	Title   string
	Columns []string
	Facts   []factView
}

type factView struct {
	Name    string
	Differs bool
	Values  []string
}

type reasonView struct{ Name, Status, Reason string }

// cell is a cell of the table of all rows, or of its head.
type cell struct {
	Text   string
	Number bool
	Value  string // by which a number is sorted
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func newView(r *bench.Report) *view {
	m := r.Machine
	v := &view{CSS: template.CSS(pageCSS), JS: template.JS(pageJS), Shapes: shapeDefinitions(),
		Policy: fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'",
			hash(pageCSS), hash(pageJS)),
		Title: clean(m.Name), Date: r.Started.UTC().Format("2006-01-02"), Time: r.Started.UTC().Format("15:04 UTC"),
		Took: took(r.Took), Version: clean(m.Version), Ended: clean(r.Ended), Confidence: confidence(r)}
	if strings.TrimSpace(v.Title) == "" {
		v.Title = "Unnamed machine"
	}
	for _, part := range machine(m) {
		v.Machine = append(v.Machine, clean(part))
	}
	all := devices(r)
	for i, d := range all {
		v.Devices = append(v.Devices, deviceView{marker(i), orNone(d.Name), clean(d.Title)})
	}
	var list []string
	bad := 0
	for _, c := range counts(r) {
		list = append(list, fmt.Sprintf("%d %s", c.n, c.status))
		if c.status == bench.Wrong || c.status == bench.Failed {
			bad += c.n
		}
	}
	if len(r.Rows) > 0 {
		v.Summary = plural(len(r.Rows), "row") + ": " + strings.Join(list, ", ")
	}
	if bad > 0 {
		v.Bad = plural(bad, "row") + " failed or had a wrong result."
	}
	links := map[*bench.Row]string{}
	for i, s := range suites(r) {
		v.Suites = append(v.Suites, newSuite(s, i, all, links))
	}
	if f := newRoof(r, links); f != nil {
		v.Roofline = newRoofView(f, all)
	}
	v.baseline(r)
	v.short(r, all)
	v.table(r)
	v.reasons(r)
	v.deviceFacts(all)
	return v
}

func orNone(s string) string {
	if strings.TrimSpace(s) == "" {
		return none
	}
	return clean(s)
}

func newRoofView(f *roof, all []bench.DeviceInfo) *roofView {
	v := &roofView{Wide: f.draw(1040, 600, 12, all), Narrow: f.draw(400, 460, 11, all)}
	for i, d := range all {
		name := ""
		for _, c := range f.lines {
			if c.device == i && c.slope {
				name += fmt.Sprintf(", %s %s GB/s", clean(c.name), number(c.value))
			} else if c.device == i {
				name += fmt.Sprintf(", %s %s Gops/s", clean(c.name), number(c.value))
			}
		}
		v.Legend = append(v.Legend, deviceView{marker(i), orNone(d.Name) + name, ""})
	}
	for _, p := range f.points {
		l := p.row.Roofline
		v.Points = append(v.Points, pointView{orNone(p.name()), orNone(p.row.Device), number(p.x), number(p.y),
			number(l.Limit), clean(l.Bound), percent(l.Share) + " %"})
	}
	return v
}

func newSuite(s *suite, index int, all []bench.DeviceInfo, links map[*bench.Row]string) suiteView {
	v := suiteView{ID: "s" + strconv.Itoa(index), Name: orNone(s.name)}
	for i, c := range cases(s) {
		k := caseView{ID: fmt.Sprintf("%s-%d", v.ID, i), Name: orNone(c.name), Unit: clean(c.lines[0].unit),
			Rate: c.lines[0].rate}
		largest, rows := 0.0, c.rows()
		for _, r := range rows {
			links[r] = k.ID
			if measured(r) {
				largest = max(largest, r.Value)
				if _, ok := spread(r.Range); ok {
					largest = max(largest, r.Range.High)
				}
			}
		}
		k.add(c, rows, all, largest)
		v.Cases = append(v.Cases, k)
	}
	return v
}

func (k *caseView) add(c *caseLines, rows []*bench.Row, all []bench.DeviceInfo, largest float64) {
	index := map[string]int{}
	for i, d := range all {
		index[d.Name] = i
	}
	var curves []curve
	for _, r := range rows {
		device := index[r.Device]
		k.Rows = append(k.Rows, newRow(r, device, largest))
		if !measured(r) {
			continue
		}
		v := k.Rows[len(k.Rows)-1]
		k.HasMHz, k.HasCelsius = k.HasMHz || v.MHz != "", k.HasCelsius || v.Celsius != ""
		k.HasWatts = k.HasWatts || v.Watts != ""
		if times := relativeSamples(r); len(times) > 0 {
			curves = append(curves, curve{rowTitle(r), device, variantIndex(c, r), times,
				[3]float64{r.Times.P50 / 1e3, r.Times.P90 / 1e3, r.Times.P99 / 1e3}})
		}
	}
	if k.Timed = len(curves) > 0; k.Timed {
		k.Chart = ecdf(k.Name, curves)
	}
	facts := compareFacts(rows)
	if len(facts) > 0 {
		var columns []string
		for _, r := range rows {
			columns = append(columns, orNone(rowTitle(r)))
		}
		k.Facts = newFacts("Facts of "+k.Name, columns, facts)
		k.Timed = true
	}
}

func variantIndex(c *caseLines, r *bench.Row) int {
	for i, l := range c.lines {
		if l.variant == r.Variant {
			return i % 3
		}
	}
	return 0
}

// newFacts returns a table of facts, without the columns that have none.
func newFacts(title string, columns []string, list []fact) *factsView {
	v := &factsView{Title: title}
	var used []int
	for i := range columns {
		for _, f := range list {
			if f.values[i] != "" {
				used = append(used, i)
				v.Columns = append(v.Columns, columns[i])
				break
			}
		}
	}
	for _, f := range list {
		one := factView{Name: orNone(f.name), Differs: f.differs}
		for _, i := range used {
			one.Values = append(one.Values, orNone(f.values[i]))
		}
		v.Facts = append(v.Facts, one)
	}
	return v
}
