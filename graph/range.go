package graph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Range is what a size that is known at run time may be: Min to Max, which are included.
type Range struct{ Min, Max int64 }

// Exactly returns the range of one size.
func Exactly(n int64) Range { return Range{n, n} }

// ParseRange reads a size, such as 4, or a range, such as 1..64.
func ParseRange(text string) (Range, error) {
	least, most, isRange := strings.Cut(text, "..")
	if !isRange {
		most = least
	}
	low, err := strconv.ParseInt(least, 10, 64)
	if err != nil {
		return Range{}, errors.New("want a size, such as 4, or a range of sizes, such as 1..64")
	}
	high, err := strconv.ParseInt(most, 10, 64)
	if err != nil {
		return Range{}, errors.New("want a size, such as 4, or a range of sizes, such as 1..64")
	}
	r := Range{low, high}
	return r, r.check()
}

func (r Range) check() error {
	if r.Min < 0 || r.Max > math.MaxInt32 {
		return fmt.Errorf("want sizes from 0 to %d", math.MaxInt32)
	}
	if r.Min > r.Max {
		return fmt.Errorf("no size is in the range: want the least size first, %d..%d", r.Max, r.Min)
	}
	return nil
}

// String returns the range as ParseRange reads it.
func (r Range) String() string {
	if r.Min == r.Max {
		return strconv.FormatInt(r.Min, 10)
	}
	return fmt.Sprintf("%d..%d", r.Min, r.Max)
}

// SetRange says what the sizes are for which a variable of the function stands. Compiled code checks it, and may rely
// on it.
func (f *Function) SetRange(v *tir.Var, r Range) error {
	root := f.root()
	if root.symbols[v.Name] != v {
		return fmt.Errorf("range of %s: the variable is not one of function %q", v.Name, root.Name)
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("range %s of %s: %w", r, v.Name, err)
	}
	if root.ranges == nil {
		root.ranges = map[*tir.Var]Range{}
	}
	root.ranges[v] = r
	return nil
}

// Ranged returns the variables that have a range, sorted by name.
func (f *Function) Ranged() []*tir.Var {
	return slices.SortedFunc(maps.Keys(f.root().ranges), func(a, b *tir.Var) int { return cmp.Compare(a.Name, b.Name) })
}

// Range returns the range of a variable; ok is false if it has none.
func (f *Function) Range(v *tir.Var) (r Range, ok bool) {
	r, ok = f.root().ranges[v]
	return r, ok
}

// Largest returns the greatest sizes of a shape; ok is false if one has no limit.
func (f *Function) Largest(shape []tir.Expr) (sizes []int64, ok bool) {
	a := arith.NewAnalyzer()
	limited := map[*tir.Var]bool{}
	for v, r := range f.root().ranges {
		if count := r.Max - r.Min + 1; count <= math.MaxInt32 {
			a.Bind(v, tir.I32(int32(r.Min)), tir.I32(int32(count)))
			limited[v] = true
		}
	}
	for _, e := range shape {
		open := tir.Contains(e, func(n any) bool {
			v, ok := n.(*tir.Var)
			return ok && !limited[v]
		})
		_, most, ok := a.Bounds(e)
		if !ok || open || most >= math.MaxInt32 {
			return nil, false
		}
		sizes = append(sizes, max(most, 0))
	}
	return sizes, true
}
