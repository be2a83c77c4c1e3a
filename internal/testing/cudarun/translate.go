package cudarun

import (
	"fmt"
	"regexp"
	"strings"
)

const align = `(?:__align__\(\s*\d+\s*\)\s*)?`

var (
	dynamicShared = regexp.MustCompile(`extern\s+__shared__\s+` + align + `([A-Za-z_][\w\s]*?)\s+` + align +
		`(\w+)\s*\[\s*\]\s*;`)
	staticShared = regexp.MustCompile(`\b__shared__\b`)
	kernelHead   = regexp.MustCompile(`__global__\s+`)
	bounds       = regexp.MustCompile(`__launch_bounds__\s*\(`)
	asmHead      = regexp.MustCompile(`\b(?:asm|__asm__|__asm)\b\s*(?:volatile|__volatile__)?\s*\(`)
	identifier   = regexp.MustCompile(`([A-Za-z_]\w*)\s*$`)
)

// translate turns CUDA C into C++ for the headers in folder device. It keeps the numbers of lines. Three things have no
// form in C++: asm statements with PTX, dynamic shared memory, and variables in shared memory, between which it puts
// unused bytes.
func translate(source string) (string, error) {
	code := dynamicShared.ReplaceAllStringFunc(source, func(decl string) string {
		m := dynamicShared.FindStringSubmatch(decl)
		return fmt.Sprintf("%s *const %s = (%s *)cudarun::dynamic_shared();%s", m[1], m[2], m[1],
			strings.Repeat("\n", strings.Count(decl, "\n")))
	})
	n := 0
	code = staticShared.ReplaceAllStringFunc(code, func(string) string {
		n++
		return fmt.Sprintf("CUDARUN_RED_ZONE(%d) static CUDARUN_SHARED", n)
	})
	code, err := translateAsm(code)
	if err != nil {
		return "", err
	}
	var kernels strings.Builder
	for _, k := range kernelsOf(source) {
		fmt.Fprintf(&kernels, "CUDARUN_KERNEL(%s, %s)\n", k.name, k.threads)
	}
	return code + "\n#include \"device/kernel.h\"\n" + kernels.String(), nil
}

type kernelDecl struct{ name, threads string }

// kernelsOf finds the kernels that are defined in a source, with the threads of their launch bounds; "0" for none.
func kernelsOf(source string) (list []kernelDecl) {
	for _, at := range kernelHead.FindAllStringIndex(source, -1) {
		rest, threads := source[at[1]:], "0"
		if b := bounds.FindStringIndex(rest); b != nil {
			if close := closing(rest, b[1]-1); close > 0 && !strings.ContainsAny(rest[:b[0]], "({;") {
				threads, _, _ = strings.Cut(rest[b[1]:close], ",")
				rest = rest[:b[0]] + rest[close+1:]
			}
		}
		open := strings.IndexByte(rest, '(')
		if open < 0 {
			continue
		}
		m := identifier.FindStringSubmatch(rest[:open])
		end := closing(rest, open)
		if m == nil || end < 0 || !strings.HasPrefix(strings.TrimSpace(rest[end+1:]), "{") {
			continue // a declaration
		}
		list = append(list, kernelDecl{m[1], threads})
	}
	return list
}

// closing returns the position of the parenthesis that closes the one at open; -1 if there is none.
func closing(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		case '"', '\'':
			i = quoted(s, i)
		}
	}
	return -1
}

// quoted returns the position of the quote that ends the literal at i.
func quoted(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case s[i]:
			return j
		}
	}
	return len(s)
}

// fields splits s at a separator outside of parentheses and literals; "::" counts as two colons.
func fields(s string, separator byte) []string {
	var list []string
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == '"' || c == '\'':
			i = quoted(s, i)
		case c == separator && depth == 0:
			list = append(list, s[from:i])
			from = i + 1
		}
	}
	return append(list, s[from:])
}

var constraint = regexp.MustCompile(`^\s*"([^"]*)"\s*\(`)

// translateAsm replaces asm statements by calls of the interpreter of PTX (device/ptx.h).
func translateAsm(code string) (string, error) {
	var out strings.Builder
	for {
		at := asmHead.FindStringIndex(code)
		if at == nil {
			out.WriteString(code)
			return out.String(), nil
		}
		end := closing(code, at[1]-1)
		if end < 0 {
			return "", fmt.Errorf("translate CUDA C: an asm statement has no closing parenthesis: %.60q", code[at[0]:])
		}
		body := code[at[1]:end]
		parts := fields(body, ':')
		var list []string
		for i, kind := range []string{"output", "input"} {
			if i+1 >= len(parts) || strings.TrimSpace(parts[i+1]) == "" {
				continue
			}
			for _, o := range fields(parts[i+1], ',') {
				m := constraint.FindStringSubmatchIndex(o)
				if m == nil {
					return "", fmt.Errorf("translate CUDA C: %q is no operand of an asm statement", strings.TrimSpace(o))
				}
				list = append(list, fmt.Sprintf("cudarun::%s(%q, %s", kind, o[m[2]:m[3]], strings.TrimSpace(o[m[1]:])))
			}
		}
		out.WriteString(code[:at[0]])
		fmt.Fprintf(&out, "({ static const cudarun::ptx cudarun_code(%s, __LINE__); cudarun::operand cudarun_operands[] = "+
			"{%s}; cudarun_code.run(cudarun_operands); (void)0; })", strings.TrimSpace(parts[0]),
			strings.Join(append(list, "cudarun::operand()"), ", "))
		code = code[end+1:]
	}
}
