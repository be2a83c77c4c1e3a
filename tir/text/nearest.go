package text

import (
	"slices"

	"tvmgo/internal/nearest"
)

// nearestName returns the known name that is most similar to name, the first in order if there are several, "" if none
// is similar.
func nearestName(name string, known []string) string {
	if len(name) > 100 || len(known) > 10_000 {
		return ""
	}
	known = slices.Clone(known)
	slices.Sort(known)
	return nearest.Within(name, known, min(len(name)/3+2, len(name)))
}

// didYouMean returns "; did you mean x?" for a similar known name, or "".
func didYouMean(name string, known []string) string {
	if n := nearestName(name, known); n != "" {
		return "; did you mean " + nameText(n) + "?"
	}
	return ""
}

// didYouMeanWord is didYouMean for words of the syntax.
func didYouMeanWord(word string, known []string) string {
	if n := nearestName(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}
