// Package nearest finds the valid name that is most similar to a misspelled one.
package nearest

import (
	"slices"
	"strings"
)

// Name returns the most similar of names, or else the shortest that contains the given one ("h200" in "nvidia/h200");
// "" if there is none.
func Name(name string, names []string) string {
	if name == "" || len(name) > 200 { // not a misspelling
		return ""
	}
	for _, n := range names {
		if Plain(n) == Plain(name) {
			return n
		}
	}
	best := Within(name, names, len(name)/4+2)
	if best == "" && len(name) > 2 {
		for _, n := range names {
			if strings.Contains(n, name) && (best == "" || len(n) < len(best)) {
				best = n
			}
		}
	}
	return best
}

// Within returns the first of the names with the fewest edits from the given one, if these are fewer than limit; else
// "". Case matters, but a name that differs only in case is always found.
func Within(name string, names []string, limit int) string {
	best := ""
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
		if d := Distance(name, n, limit); d < limit {
			best, limit = n, d
		}
	}
	return best
}

// Plain returns a normal form: names that differ only in case, or in _ and -, have the same.
func Plain(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// Distance returns the number of edits from a to b: bytes added, removed, changed or swapped with the next one. It
// returns limit if that is not less.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, above := make([]int, len(b)+1), make([]int, len(b)+1) // the last two rows of the table of distances
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			if a[i-1] == b[j-1] {
				row[j] = above[j-1]
				continue
			}
			row[j] = 1 + min(above[j-1], above[j], row[j-1])
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], 1+before[j-2])
			}
		}
		if slices.Min(row) >= limit && slices.Min(above) >= limit {
			return limit
		}
		before, above = above, row
	}
	return min(above[len(b)], limit)
}
