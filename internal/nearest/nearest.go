// Package nearest finds the valid name that is most similar to a misspelled one.
package nearest

import "strings"

// Name is that of names which is most like a given one, "" if none is like it.
func Name(name string, names []string) string {
	if name == "" || len(name) > 200 { // no slip of the pen
		return ""
	}
	best, least := "", len(name)/4+2
	for _, n := range names {
		if strings.EqualFold(n, name) || Plain(n) == Plain(name) {
			return n
		}
		if d := Distance(name, n, least); d < least {
			best, least = n, d
		}
	}
	if best == "" && len(name) > 2 { // a part of a longer name: "h200" of "nvidia/h200"
		for _, n := range names {
			if strings.Contains(n, name) && (best == "" || len(n) < len(best)) {
				best = n
			}
		}
	}
	return best
}

// Plain takes two spellings of a name for one.
func Plain(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// Distance is the number of single-byte edits from a to b; limit when it is no less than that.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		least := row[0]
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, cost)
			least = min(least, row[j])
		}
		if least >= limit {
			return limit
		}
	}
	return min(row[len(b)], limit)
}
