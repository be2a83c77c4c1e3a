package cudaimage

import (
	"strconv"
	"strings"
)

// MatchWords reads a line of a fixed form: words with one space between them. In form, a word "%d" is a number of at
// most nine digits, which is stored in the next *int of to; "%s", perhaps with text behind it, is any word, stored in
// the next *string. It reports whether the line has the form; if not, some of to may be stored.
//
// Package regexp would be a tenth of libtvmgo_runtime.so.
func MatchWords(line, form string, to ...any) bool {
	words, forms := strings.Split(line, " "), strings.Split(form, " ")
	if len(words) != len(forms) {
		return false
	}
	for i, form := range forms {
		suffix, isText := strings.CutPrefix(form, "%s")
		switch {
		case isText:
			word, ok := strings.CutSuffix(words[i], suffix)
			if !ok || word == "" {
				return false
			}
			*to[0].(*string), to = word, to[1:]
		case form == "%d":
			n := Digits(words[i])
			if n == 0 || n > 9 || n != len(words[i]) {
				return false
			}
			*to[0].(*int), _ = strconv.Atoi(words[i])
			to = to[1:]
		case form != words[i]:
			return false
		}
	}
	return true
}

// Digits returns how many decimal digits s begins with.
func Digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// Arch is the name of an architecture, taken apart.
type Arch struct {
	Virtual bool   // compute_90 rather than sm_90
	Number  int    // 90
	Letter  string // "a" or "f", which limits the code to an architecture or a family; or ""
}

// ParseArch reads a name such as sm_90, sm_90a or compute_120f. It returns false for another text.
func ParseArch(name string) (a Arch, ok bool) {
	digits, real := strings.CutPrefix(name, "sm_")
	if !real {
		if digits, a.Virtual = strings.CutPrefix(name, "compute_"); !a.Virtual {
			return a, false
		}
	}
	n := Digits(digits)
	if n < 2 || n > 3 || digits[0] == '0' {
		return a, false
	}
	a.Number, _ = strconv.Atoi(digits[:n])
	a.Letter = digits[n:]
	return a, a.Letter == "" || a.Letter == "a" || a.Letter == "f"
}
