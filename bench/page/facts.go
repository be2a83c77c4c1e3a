package page

import (
	"cmp"
	"maps"
	"slices"

	"tvmgo/bench"
	"tvmgo/bench/facts"
)

// caseLines has the variants of a case.
type caseLines struct {
	suite, name string
	lines       []*line
}

// cases groups the lines of a suite by case.
func cases(s *suite) (all []*caseLines) {
	of := map[string]*caseLines{}
	for _, l := range s.lines {
		c := of[l.name]
		if c == nil {
			c = &caseLines{suite: l.suite, name: l.name}
			of[l.name], all = c, append(all, c)
		}
		c.lines = append(c.lines, l)
	}
	return all
}

// rows returns the rows of a case: by device, and then by variant.
func (c *caseLines) rows() (rows []*bench.Row) {
	for device := range c.lines[0].rows {
		for _, l := range c.lines {
			if r := l.rows[device]; r != nil {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// rowTitle names a row within its case: "cuda:0", "cuda:0, cuBLAS".
func rowTitle(r *bench.Row) string {
	if r.Variant == "" {
		return r.Device
	}
	return r.Device + ", " + r.Variant
}

// fact is a fact of several rows or devices.
type fact struct {
	name    string
	values  []string // "" if a row does not have it
	differs bool     // between those that have it
}

// factOrder has the position of each fact in the table of package facts.
var factOrder = func() map[string]int {
	order := map[string]int{}
	for i, f := range facts.Table() {
		order[f.Name] = i + 1
	}
	return order
}()

// factNames returns the names of facts in the order of package facts' table, then others by name.
func factNames(f bench.Facts) []string {
	place := func(name string) int {
		if n := factOrder[name]; n > 0 {
			return n
		}
		return len(factOrder) + 1
	}
	return slices.SortedFunc(maps.Keys(f), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// compareFacts returns the facts of rows: those that differ first.
func compareFacts(rows []*bench.Row) []fact {
	all := make([]bench.Facts, len(rows))
	for i, r := range rows {
		all[i] = r.Facts
	}
	return compare(all)
}

func compare(all []bench.Facts) (list []fact) {
	names := bench.Facts{}
	for _, f := range all {
		maps.Copy(names, f)
	}
	for _, name := range factNames(names) {
		f := fact{name: name, values: make([]string, len(all))}
		first := ""
		for i, facts := range all {
			v, ok := facts[name]
			if !ok {
				continue
			}
			f.values[i] = factText(name, v)
			if first == "" {
				first = f.values[i]
			}
			f.differs = f.differs || f.values[i] != first
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b fact) int {
		switch {
		case a.differs == b.differs:
			return 0
		case a.differs:
			return -1
		}
		return 1
	})
	return list
}
