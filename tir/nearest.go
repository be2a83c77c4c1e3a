package tir

import (
	"slices"
	"strings"
)

// nearestName is the name most like a given one, "" if none is like it. Of several it is the first in order.
func nearestName(name string, known []string) string {
	if len(name) > 100 || len(known) > 10_000 {
		return ""
	}
	known = slices.Clone(known)
	slices.Sort(known)
	best, least := "", len(name)/3+1
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
		if d := editDistance(name, k); d < least || d == least && best == "" && d < len(name) {
			best, least = k, d
		}
	}
	return best
}

// editDistance is how many bytes have to be added, taken away or changed to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// didYouMean is "; did you mean x?", or nothing.
func didYouMean(name string, known []string) string {
	if n := nearestName(name, known); n != "" {
		return "; did you mean " + nameText(n) + "?"
	}
	return ""
}
