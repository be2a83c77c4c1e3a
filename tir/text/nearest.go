package text

import (
	"slices"

	"tvmgo/internal/nearest"
)

// nearestName returns the name that is most similar to a given one, "" if none is. Of several it is the first in order.
func nearestName(name string, known []string) string {
	if len(name) > 100 || len(known) > 10_000 {
		return ""
	}
	known = slices.Clone(known)
	slices.Sort(known)
	return nearest.Within(name, known, min(len(name)/3+2, len(name)))
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
