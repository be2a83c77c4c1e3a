package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/bench/stats"
)

// comparison says how a device compares with another one in a suite.
type comparison struct {
	suite, device, base     string
	faster, slower, unclear int        // cases: a difference is certain if the interval of the ratio excludes 1
	mean                    float64    // the geometric mean of the ratios
	least, most             *bench.Row // with the least and the largest ratio
}

// comparisons returns how devices compare in each suite, for every pair of a device and the one that its ratios relate
// to. Variants are not counted.
func comparisons(r *bench.Report) (list []*comparison) {
	ids := rowIDs(r)
	for _, s := range suites(r) {
		first := len(list)
		for _, l := range s.lines {
			for _, row := range l.rows {
				to := baseOf(row, ids)
				if to == nil || row.Variant != "" || to.Variant != "" || to.Device == row.Device {
					continue
				}
				i := slices.IndexFunc(list[first:], func(c *comparison) bool {
					return c.device == row.Device && c.base == to.Device
				})
				if i < 0 {
					i, list = len(list)-first, append(list, &comparison{suite: s.name, device: row.Device, base: to.Device,
						least: row, most: row})
				}
				list[first+i].add(row)
			}
		}
	}
	order := map[string]int{}
	for i, s := range suites(r) {
		order["s"+s.name] = i
	}
	for i, d := range devices(r) {
		order["d"+d.Name] = i
	}
	slices.SortStableFunc(list, func(a, b *comparison) int {
		return cmp.Or(order["s"+a.suite]-order["s"+b.suite], order["d"+a.base]-order["d"+b.base],
			order["d"+a.device]-order["d"+b.device])
	})
	for _, c := range list {
		c.mean = math.Exp(c.mean / float64(c.faster+c.slower+c.unclear))
	}
	return list
}

// add counts a row; until all are counted, the mean is the sum of logarithms.
func (c *comparison) add(row *bench.Row) {
	ratio := row.Ratio.Interval
	switch {
	case !ratio.Excludes(1):
		c.unclear++
	case ratio.Value < 1:
		c.faster++
	default:
		c.slower++
	}
	c.mean += math.Log(ratio.Value)
	if ratio.Value < c.least.Ratio.Value {
		c.least = row
	}
	if ratio.Value > c.most.Ratio.Value {
		c.most = row
	}
}

func rowIDs(r *bench.Report) map[string]*bench.Row {
	ids := map[string]*bench.Row{}
	for _, row := range r.Rows {
		ids[row.ID()] = row
	}
	return ids
}

// baseOf returns the row that a row's ratio relates to; nil if there is none.
func baseOf(r *bench.Row, ids map[string]*bench.Row) *bench.Row {
	if !measured(r) || r.Ratio == nil || !usable(r.Ratio.Value) {
		return nil
	}
	if to := ids[r.Ratio.To]; measured(to) {
		return to
	}
	return nil
}

// comparisonHeads are the heads of the cells of a comparison.
var comparisonHeads = []string{"suite", "device", "base", "mean ×", "faster", "slower", "unclear", "least ×", "",
	"most ×", ""}

func (c *comparison) cells() []string {
	count := func(n int) string { return fmt.Sprint(n) }
	return []string{c.suite, c.device, c.base, number3(c.mean), count(c.faster), count(c.slower), count(c.unclear),
		number3(c.least.Ratio.Value), c.least.Case, number3(c.most.Ratio.Value), c.most.Case}
}

// shortNote says how to read comparisons.
func shortNote(r *bench.Report) string {
	return fmt.Sprintf("×: time relative to the base, less is faster; mean: geometric. Cases are faster or slower if "+
		"the %s confidence interval of × excludes 1, each by itself, and otherwise unclear.", confidence(r))
}

// reason is why a row takes another time than the first one of its case.
type reason struct {
	row, to *bench.Row
	text    string
}

// mostReasons is how many differences a report explains in its beginning.
const mostReasons = 5

// explanations returns the largest certain differences between devices that the report can explain: by what the devices
// reach at most, by how much of it is used, and by facts of the code.
func explanations(r *bench.Report) (list []reason) {
	ids := rowIDs(r)
	for _, row := range r.Rows {
		to := baseOf(row, ids)
		if to == nil || row.Variant != "" || to.Variant != "" || to.Device == row.Device || !row.Ratio.Excludes(1) {
			continue
		}
		var parts []string
		if s := limitReason(row, to, ids); s != "" {
			parts = append(parts, s)
		}
		for _, name := range []string{facts.Occupancy, facts.Spills, facts.Registers, "vector width"} {
			a, b := row.Facts[name], to.Facts[name]
			if a == nil || b == nil || factText(name, a) == factText(name, b) {
				continue
			}
			parts = append(parts, fmt.Sprintf("%s: %s, not %s", name, factText(name, a), factText(name, b)))
		}
		if len(parts) > 0 {
			list = append(list, reason{row, to, strings.Join(parts, "; ")})
		}
	}
	far := func(x reason) float64 { return math.Abs(math.Log(x.row.Ratio.Value)) }
	slices.SortStableFunc(list, func(a, b reason) int { return -cmpFloat(far(a), far(b)) })
	of := map[[2]string]int{}
	pairs := map[[2]string]bool{}
	for _, x := range list {
		pairs[[2]string{x.row.Device, x.to.Device}] = true
	}
	list = slices.DeleteFunc(list, func(x reason) bool { // each pair of devices has its share
		pair := [2]string{x.row.Device, x.to.Device}
		of[pair]++
		return of[pair] > max((mostReasons+len(pairs)-1)/max(len(pairs), 1), 1)
	})
	return list[:min(len(list), mostReasons)]
}

// title returns "add: vulkan:0 takes 1.310 times as long as cuda:0".
func (x reason) title() string {
	ratio, how := x.row.Ratio.Value, "takes %s times as long as"
	if ratio < 1 {
		ratio, how = 1/ratio, "is %s times as fast as"
	}
	return fmt.Sprintf("%s: %s "+how+" %s", x.row.Case, x.row.Device, number3(ratio), x.to.Device)
}

// limitReason compares the limits of two rows, and what they use of them: both factors give the ratio of the times. It
// is "" if the rows have no limit of the same case.
func limitReason(row, to *bench.Row, ids map[string]*bench.Row) string {
	if row.Figure != to.Figure || !row.Figure.Rate() {
		return ""
	}
	mine, its := limitOf(row, ids), limitOf(to, ids)
	if mine.name == "" || mine.name != its.name {
		return ""
	}
	return fmt.Sprintf("its limit (%s) is %s %s, not %s, and it uses %s %% of it, not %s %%", mine.name,
		number(mine.value), mine.unit, number(its.value), percent(mine.share), percent(its.share))
}

// limit is the limit whose share a report shows.
type limit struct {
	name, unit   string
	value, share float64
}

func limitOf(r *bench.Row, ids map[string]*bench.Row) limit {
	of, _, ok := share(r)
	switch {
	case !ok:
	case r.Roofline != nil && finite(r.Roofline.Share):
		return limit{r.Roofline.Bound + " roof", "Gops/s", r.Roofline.Limit, of}
	default:
		for _, s := range r.Shares {
			x := ids[s.Of]
			if x != nil && s.Share == of && x.Variant == "" && x.Figure.Rate() && usable(x.Value) {
				return limit{x.Suite + "/" + x.Case, x.Unit, x.Value, of}
			}
		}
	}
	return limit{}
}

// short returns whether an interval has the true value with a smaller probability than was asked for, because there are
// too few samples.
func short(i *stats.Interval) bool {
	return i != nil && i.Confidence > 0 && i.Coverage < i.Confidence-1e-9
}
