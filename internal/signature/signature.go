// Package signature finds the signatures of functions for error messages. Apache TVM's code generators store one for
// each function that checks its arguments, as a separate string constant of the library: "vadd(A: Tensor([n], float32),
// B: …)".
package signature

import (
	"bytes"
	"strings"
)

// maxText limits the length of a signature.
const maxText = 1 << 16

// Find returns the signatures of functions in constants, by name. wanted reports which names are functions. A name with
// two different signatures is left out, because it is unknown which one is right.
func Find(wanted func(name string) bool, constants ...[]byte) map[string]string {
	found := map[string]string{}
	for _, data := range constants {
		for at := 0; ; {
			n := bytes.IndexByte(data[at:], '(')
			if n < 0 {
				break
			}
			paren := at + n
			at = paren + 1
			start := paren
			for start > 0 && isName(data[start-1]) {
				start--
			}
			if start == paren || start > 0 && data[start-1] != 0 {
				continue
			}
			end := bytes.IndexByte(data[paren:min(len(data), paren+maxText)], 0)
			if end < 0 {
				continue
			}
			name, text := string(data[start:paren]), string(data[start:paren+end])
			if !wanted(name) || !isSignature(text[len(name):]) {
				continue
			}
			if before, ok := found[name]; ok && before != text {
				text = "" // ignores all further ones
			}
			found[name] = text
		}
	}
	for name, text := range found {
		if text == "" {
			delete(found, name)
		}
	}
	return found
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isSignature reports whether a text is a list of parameters in parentheses: "(A: Tensor([n, 4], float32), n: int32)".
func isSignature(text string) bool {
	inner, ok := strings.CutPrefix(text, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	if !ok || !closed {
		return false
	}
	if inner == "" {
		return true
	}
	for {
		param, rest, more := cutParameter(inner)
		name, typ, typed := strings.Cut(param, ": ")
		if !typed || name == "" || strings.ContainsAny(name, "()[]{}`'\"") || !isType(typ) {
			return false
		}
		if !more {
			return true
		}
		inner = rest
	}
}

// Parameter is a parameter of a signature.
type Parameter struct{ Name, Type string }

// Parameters returns the parameters of a signature that [Find] returned.
func Parameters(text string) []Parameter {
	_, inner, _ := strings.Cut(text, "(")
	inner = strings.TrimSuffix(inner, ")")
	var list []Parameter
	for more := inner != ""; more; {
		var param string
		param, inner, more = cutParameter(inner)
		name, typ, _ := strings.Cut(param, ": ")
		list = append(list, Parameter{name, typ})
	}
	return list
}

// Types returns the types of the parameters of a signature that [Find] returned.
func Types(text string) []string {
	var types []string
	for _, p := range Parameters(text) {
		types = append(types, p.Type)
	}
	return types
}

// Tensor takes the type of a tensor apart, "Tensor([n, T.int64(4)], float32)": the dimensions are "n" and "4". It
// returns false for another type.
func Tensor(typ string) (dims []string, dtype string, ok bool) {
	inner, ok := strings.CutPrefix(typ, "Tensor([")
	end := strings.LastIndex(inner, "], ")
	if !ok || end < 0 {
		return nil, "", false
	}
	list, dtype := inner[:end], strings.TrimSuffix(inner[end+len("], "):], ")")
	for more := list != ""; more; {
		var dim string
		dim, list, more = cutParameter(list)
		if number, cast := strings.CutPrefix(dim, "T.int64("); cast && !strings.ContainsAny(number, "( ") {
			dim = strings.TrimSuffix(number, ")")
		}
		dims = append(dims, dim)
	}
	return dims, dtype, true
}

// cutParameter cuts at the first comma outside of brackets.
func cutParameter(list string) (param, rest string, more bool) {
	depth := 0
	for i := range len(list) {
		switch list[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 && strings.HasPrefix(list[i:], ", ") {
				return list[:i], list[i+2:], true
			}
		}
	}
	return list, "", false
}

// isType reports whether a text is "Tensor([dimensions], dtype)" or the name of a type.
func isType(text string) bool {
	if tensor, ok := strings.CutPrefix(text, "Tensor(["); ok {
		tensor, ok = strings.CutSuffix(tensor, ")")
		end := strings.LastIndex(tensor, "], ")
		return ok && end >= 0 && isTypeName(tensor[end+len("], "):])
	}
	return isTypeName(text)
}

func isTypeName(text string) bool {
	for i := range len(text) {
		if !isName(text[i]) && text[i] != '.' {
			return false
		}
	}
	return text != ""
}
