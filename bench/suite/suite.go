package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tvmgo/bench"
	"tvmgo/internal/nearest"
)

// suites are in the order of a report.
var suites = []struct {
	name  string
	cases func(Options) []*bench.Case
}{
	{"launch", func(Options) []*bench.Case { return Launch() }},
	{"bandwidth", func(Options) []*bench.Case { return Bandwidth() }},
	{"compute", func(Options) []*bench.Case { return Compute() }},
	{"kernels", Kernels},
}

// All is the name that selects every suite.
const All = "all"

// Options changes which cases Select returns. The zero value is for a run of some minutes.
type Options struct {
	// WithoutLimits leaves out the limits that the selected cases cite but that were not selected themselves. Rows then
	// have no share of them.
	WithoutLimits bool

	// Largest leaves out products of matrices with more rows; 0 leaves out none.
	Largest int

	// Longest bounds the expected time of a row of suite kernels; 0 is DefaultLongest. A row that would take longer is
	// not measured, and says so.
	Longest time.Duration
}

// DefaultLongest is the bound on the expected time of a row of suite kernels.
const DefaultLongest = 30 * time.Second

// Names returns the names of the suites, in the order of a report.
func Names() []string {
	var names []string
	for _, s := range suites {
		names = append(names, s.name)
	}
	return names
}

// Select returns the cases with the given names: "launch" is a suite, "bandwidth/device_local_copy" a case, and "all"
// every suite. No name selects nothing. Cases are in the order of the suites, each of them once, together with the
// cases that are limits of a selected one (Case.Limits). An unknown name is an error with the most similar one.
func Select(names []string, more Options) ([]*bench.Case, error) {
	all := map[string][]*bench.Case{} // by name, and those of a family by the family's
	var order []*bench.Case
	for _, s := range suites {
		for _, k := range s.cases(more) {
			all[k.ID()] = append(all[k.ID()], k)
			if k.Family != "" {
				all[k.Family] = append(all[k.Family], k)
			}
			order = append(order, k)
		}
	}
	chosen := map[*bench.Case]bool{}
	for _, name := range names {
		n := len(chosen)
		for _, k := range order {
			if name == All || name == k.Suite || name == k.ID() || name != "" && name == k.Family {
				chosen[k] = true
			}
		}
		if len(chosen) == n && !slices.Contains(Names(), name) && name != All && all[name] == nil {
			return nil, unknown(name, order)
		}
	}
	if !more.WithoutLimits {
		for _, k := range order {
			if chosen[k] {
				if err := addLimits(chosen, all, k); err != nil {
					return nil, err
				}
			}
		}
	}
	return slices.DeleteFunc(order, func(k *bench.Case) bool { return !chosen[k] }), nil
}

// addLimits selects the limits of a case, and theirs.
func addLimits(chosen map[*bench.Case]bool, all map[string][]*bench.Case, of *bench.Case) error {
	for _, id := range of.Limits {
		if all[id] == nil {
			return fmt.Errorf("case %s has the limit %s, which is no case", of.ID(), id)
		}
		for _, k := range all[id] {
			if !chosen[k] {
				chosen[k] = true
				if err := addLimits(chosen, all, k); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unknown returns the error for a name that is neither a suite nor a case.
func unknown(name string, cases []*bench.Case) error {
	if before, _, ok := strings.Cut(name, "/"); ok {
		var ids []string
		for _, k := range cases {
			ids = append(ids, k.ID())
		}
		if near := nearest.Name(name, ids); near != "" {
			return fmt.Errorf("there is no case %q: did you mean %q?", name, near)
		}
		if slices.Contains(Names(), before) {
			return fmt.Errorf("there is no case %q: %q selects the whole suite", name, before)
		}
	}
	names := append(Names(), All)
	if near := nearest.Name(name, names); near != "" {
		return fmt.Errorf("there is no suite %q: did you mean %q?", name, near)
	}
	return fmt.Errorf("there is no suite %q: name one of %s, or a case as suite/name", name, strings.Join(names, ", "))
}
