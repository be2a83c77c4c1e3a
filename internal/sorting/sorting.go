// Package sorting sorts slices by a function, for code that is linked into libraries made for size: each type of
// elements adds half a kilobyte, where slices.SortFunc adds eight and slices.SortStableFunc four.
package sorting

import (
	"cmp"
	"slices"
)

// By sorts s in ascending order of compare, as slices.SortStableFunc does. It allocates a copy of s.
func By[T any](s []T, compare func(a, b T) int) {
	before := slices.Clone(s)
	for to, from := range indices(len(s), func(i, j int) int { return compare(before[i], before[j]) }) {
		s[to] = before[from]
	}
}

// indices returns 0 to n - 1 in the order of compare. It is the only code that sorts.
func indices(n int, compare func(i, j int) int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	slices.SortFunc(list, func(i, j int) int { return cmp.Or(compare(i, j), i-j) })
	return list
}
