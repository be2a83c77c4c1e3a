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
		if len(k) > len(name)+least {
			continue
		}
		if d := editDistance(name, k); d < least || d == least && best == "" && d < len(name) {
			best, least = k, d
		}
	}
	return best
}

// editDistance is how many bytes have to be added, taken away, changed or swapped with the next to make b of a.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
				continue
			}
			rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
			}
		}
	}
	return rows[len(a)][len(b)]
}

// didYouMean is "; did you mean x?" of names, or nothing.
func didYouMean(name string, known []string) string {
	if n := nearestName(name, known); n != "" {
		return "; did you mean " + nameText(n) + "?"
	}
	return ""
}

// didYouMeanWord is didYouMean of words that are no names.
func didYouMeanWord(word string, known []string) string {
	if n := nearestName(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}
