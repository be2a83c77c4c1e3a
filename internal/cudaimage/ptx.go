package cudaimage

import (
	"fmt"
	"strconv"
	"strings"
)

// words splits PTX into words and skips comments and strings. A word is a name, a number, a directive (.entry), or a
// single byte of anything else.
type words struct {
	text string
	at   int
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c == '%' || c == '.' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' ||
		c >= 0x80
}

// next returns the next word; "" at the end.
func (w *words) next() string {
	for w.at < len(w.text) {
		rest := w.text[w.at:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "//"):
			w.skip(strings.IndexByte(rest, '\n'))
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end >= 0 {
				end += 3
			}
			w.skip(end)
		case c == '"':
			end := strings.IndexByte(rest[1:], '"')
			if end >= 0 {
				end++
			}
			w.skip(end)
		case c <= ' ':
			w.at++
		case isWordByte(c):
			n := 1
			for n < len(rest) && isWordByte(rest[n]) {
				n++
			}
			w.at += n
			return rest[:n]
		default:
			w.at++
			return rest[:1]
		}
	}
	return ""
}

// skip continues after the byte at an offset from the current position, or, when the offset is negative, at the end of
// the text.
func (w *words) skip(offset int) {
	if offset < 0 {
		w.at = len(w.text)
		return
	}
	w.at += offset + 1
}

// isPTX reports whether a text is PTX, not source: PTX begins with the directive .version.
func isPTX(text []byte) bool {
	w := words{text: string(text)}
	return w.next() == ".version"
}

// ptx reads the version, the architecture and the kernels with their parameters; it skips function bodies.
func ptx(text string) (Part, error) {
	p := Part{Format: PTX}
	w := words{text: text}
	depth := 0
	for {
		switch word := w.next(); word {
		case "":
			if depth != 0 {
				return p, fmt.Errorf("the text ends inside of braces")
			}
			if p.Arch == "" {
				return p, fmt.Errorf("the text has no .target")
			}
			return p, nil
		case "{":
			depth++
		case "}":
			if depth--; depth < 0 {
				return p, fmt.Errorf("a closing brace has no opening brace")
			}
		case ".version":
			if p.PTXVersion == "" {
				p.PTXVersion = w.next()
			}
		case ".target":
			if p.Arch == "" {
				if p.Arch = w.next(); !isArch(p.Arch) {
					return p, fmt.Errorf(".target %.40q is not an architecture", p.Arch)
				}
			}
		case ".entry":
			if depth == 0 {
				k, err := entry(&w)
				if err != nil {
					return p, err
				}
				p.Kernels = append(p.Kernels, k)
			}
		}
	}
}

// isArch reports whether a name has the form sm_90 or sm_90a.
func isArch(s string) bool {
	digits, ok := strings.CutPrefix(s, "sm_")
	digits = strings.TrimRight(digits, "af")
	n, err := strconv.Atoi(digits)
	return ok && err == nil && n > 0 && n < 1000 && len(s)-len("sm_")-len(digits) <= 1
}

// entry reads the head of a kernel, from its name to the end of its parameters:
//
//	name(.param .u64 .ptr .align 1 a, .param .align 8 .b8 b[16])
func entry(w *words) (Kernel, error) {
	k := Kernel{Name: w.next(), Params: []int{}}
	if k.Name == "" || !isWordByte(k.Name[0]) {
		return k, fmt.Errorf("an .entry has no name")
	}
	before := *w
	if w.next() != "(" {
		*w = before // the kernel has no parameters, and the word may be the brace of its body
		return k, nil
	}
	for {
		switch word := w.next(); word {
		case "":
			return k, fmt.Errorf("the text ends inside of the parameters of %.200s", k.Name)
		case ".param":
			k.Params = append(k.Params, 0)
		case ".align":
			w.next()
		case "[":
			n, err := strconv.ParseUint(w.next(), 0, 24)
			if err != nil || len(k.Params) == 0 {
				return k, fmt.Errorf("a parameter of %.200s has an invalid size", k.Name)
			}
			k.Params[len(k.Params)-1] *= int(n)
		case ",", ")":
			if n := len(k.Params); n > 0 && k.Params[n-1] == 0 {
				return k, fmt.Errorf("parameter %d of %.200s has no type", n-1, k.Name)
			}
			if word == ")" {
				return k, nil
			}
		default:
			if size := typeSize(word); size != 0 && len(k.Params) > 0 && k.Params[len(k.Params)-1] == 0 {
				k.Params[len(k.Params)-1] = size
			}
		}
	}
}

// typeSize returns the size in bytes of a type such as .u64; 0 when the word is not a type.
func typeSize(word string) int {
	if len(word) < 3 || word[0] != '.' || !strings.ContainsRune("busf", rune(word[1])) {
		return 0
	}
	switch word[2:] {
	case "8":
		return 1
	case "16":
		return 2
	case "32", "16x2":
		return 4
	case "64":
		return 8
	case "128":
		return 16
	}
	return 0
}
