package target

import (
	"cmp"
	"strings"
)

// compareVersions orders versions by the numbers and words in them: 1.9 before 1.10, v2 before v10, 2024-9-1 before
// 2024-10-1. A word comes before the end of the version, and that before a number: 1.0-rc1, 1.0, 1.0.1.
func compareVersions(a, b string) int {
	for x, y := a, b; x != "" || y != ""; {
		var m, n string
		m, x = versionPart(x)
		n, y = versionPart(y)
		if c := cmp.Or(cmp.Compare(rankOfPart(m), rankOfPart(n)), comparePart(m, n)); c != 0 {
			return c
		}
	}
	return compare(a, b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// versionPart splits off the first run of digits or of letters; part is "" if only separators are left.
func versionPart(s string) (part, rest string) {
	s = strings.TrimLeft(s, "._-")
	end := 0
	for end < len(s) && strings.IndexByte("._-", s[end]) < 0 && isDigit(s[end]) == isDigit(s[0]) {
		end++
	}
	return s[:end], s[end:]
}

func rankOfPart(s string) int {
	switch {
	case s == "":
		return 1
	case isDigit(s[0]):
		return 2
	}
	return 0
}

// comparePart compares two words, or two numbers of any length.
func comparePart(a, b string) int {
	if a != "" && isDigit(a[0]) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), compare(a, b))
	}
	return compare(a, b)
}
