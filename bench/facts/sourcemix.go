//go:build !runtimeonly

package facts

import (
	"regexp"
	"strings"
)

var (
	comments   = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|(?m)^\s*#[^\n]*(\\\n[^\n]*)*`)
	quoted     = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	sourceWord = regexp.MustCompile(`[A-Za-z_]\w*|[-+*/%]=?|<<|>>|\[|\d[\w.]*|\S`)
)

// sourceMix counts operators and calls in the body of a kernel in OpenCL C by class: "fma", "arithmetic" (which may
// be that of indices), "special", "array access", "vector load or store", "barrier", "atomic", "branch". Functions
// that the kernel calls do not count. It is nil if the source has no such kernel.
func sourceMix(source, kernel string) map[string]int {
	source = quoted.ReplaceAllString(comments.ReplaceAllString(source, " "), `""`)
	head := regexp.MustCompile(`\b(?:__)?kernel\b[^{;]*\b` + regexp.QuoteMeta(kernel) + `\s*\([^{;]*\)\s*\{`)
	at := head.FindStringIndex(source)
	if at == nil {
		return nil
	}
	mix := map[string]int{}
	depth := 1
	words := sourceWord.FindAllString(source[at[1]:], -1)
	for i, w := range words {
		next, before := "", ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		if i > 0 {
			before = words[i-1]
		}
		switch w {
		case "{":
			depth++
		case "}":
			depth--
		}
		if depth == 0 {
			break
		}
		if class := sourceClass(w, before, next); class != "" {
			mix[class]++
		}
	}
	return mix
}

// calls are beginnings of the names of functions, and their classes.
var calls = []struct{ begin, class string }{{"fma", "fma"}, {"mad", "fma"}, {"barrier", "barrier"},
	{"work_group_barrier", "barrier"}, {"mem_fence", "barrier"}, {"atomic", "atomic"}, {"atom_", "atomic"},
	{"vload", "vector load or store"}, {"vstore", "vector load or store"}, {"exp", "special"}, {"log", "special"},
	{"pow", "special"}, {"sin", "special"}, {"cos", "special"}, {"tan", "special"}, {"sqrt", "special"},
	{"rsqrt", "special"}, {"erf", "special"}, {"native_", "special"}, {"half_", "special"}, {"sub_group", "subgroup"},
	{"dot_", "dot product"}, {"dot", "arithmetic"}}

func sourceClass(w, before, next string) string {
	switch w {
	case "[":
		return "array access"
	case "+", "-", "*", "/", "%", "+=", "-=", "*=", "/=", "<<", ">>":
		operand := before != "" && (strings.ContainsAny(before[len(before)-1:], ")]") || isWord(before)) && before != "return"
		if operand && next != w { // a sign, a pointer or x++ is none
			return "arithmetic"
		}
		return ""
	case "if", "for", "while", "switch":
		return "branch"
	}
	if next == "(" {
		for _, c := range calls {
			if strings.HasPrefix(w, c.begin) {
				return c.class
			}
		}
	}
	return ""
}

func isWord(s string) bool {
	c := s[0]
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
