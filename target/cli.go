package target

import (
	"fmt"
	"strconv"
	"strings"

	"tvmgo/internal/jsonpos"
)

// The command-line form of a target (docs/abi.md F.1): a kind, then options -name=value, --name=value, -name value, or
// -name, which is -name=true. Lists are separated by commas. Values that contain spaces, commas or quotes are enclosed
// in '…', where \ escapes the next character.

// readCLI parses the command-line form; the values are of type text.
func readCLI(s string) (map[string]any, error) {
	words, err := splitOutside(s, ' ')
	if err != nil {
		return nil, wrong("$", ErrSyntax, "command line %s: %v", brief(s), err)
	}
	var tokens []string
	for _, w := range words {
		if w != "" {
			tokens = append(tokens, w)
		}
	}
	m := map[string]any{"kind": tokens[0]}
	if strings.HasPrefix(tokens[0], "-") {
		return nil, wrong("$", ErrSyntax,
			"command line %s: the first word must be a kind or a tag, as in \"cuda -arch=sm_90\"", brief(s))
	}
	for i := 1; i < len(tokens); i++ {
		word := tokens[i]
		if !strings.HasPrefix(word, "-") {
			return nil, wrong("$", ErrSyntax, "command line %s: %s is not an option: options start with -", brief(s),
				brief(word))
		}
		name, raw, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
		if name == "" {
			return nil, wrong("$", ErrSyntax, "command line %s: %s has no name", brief(s), brief(word))
		}
		if !given && i+1 < len(tokens) && !strings.HasPrefix(tokens[i+1], "-") {
			i++
			raw, given = tokens[i], true
		}
		at := jsonpos.Member("$", name)
		if name == "kind" {
			return nil, wrong(at, ErrDuplicate, "command line %s: the first word is the kind or the tag: leave -kind out",
				brief(s))
		}
		if _, twice := m[name]; twice {
			return nil, wrong(at, ErrDuplicate, "command line %s: the option occurs twice", brief(s))
		}
		parts, err := splitList(raw)
		if err != nil {
			return nil, wrong(at, ErrSyntax, "command line %s: %v", brief(s), err)
		}
		m[name] = text{raw: raw, parts: parts, flag: !given, quoted: len(parts) == 1 && strings.HasPrefix(raw, "'")}
	}
	return m, nil
}

// splitOutside splits s at separators outside of quotes; escapes and quotes are kept.
func splitOutside(s string, sep byte) ([]string, error) {
	var parts []string
	inside, start := false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
			if i == len(s) {
				return nil, fmt.Errorf("a \\ at the end escapes nothing")
			}
		case c == '\'':
			inside = !inside
		case c == sep && !inside, sep == ' ' && !inside && (c == '\t' || c == '\n' || c == '\r'):
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	if inside {
		return nil, fmt.Errorf("a ' is not closed")
	}
	return append(parts, s[start:]), nil
}

// splitList splits a list at commas outside of quotes. Empty text is the empty list.
func splitList(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	parts, err := splitOutside(s, ',')
	if err != nil {
		return nil, err
	}
	for i, p := range parts {
		if parts[i], err = unquote(p); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// unquote removes the quotes around a value and the escapes in it.
func unquote(s string) (string, error) {
	if !strings.ContainsAny(s, `'\`) {
		return s, nil
	}
	whole := len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\''
	if whole {
		s = s[1 : len(s)-1]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
		case s[i] == '\\':
			return "", fmt.Errorf("a \\ at the end escapes nothing")
		case s[i] == '\'':
			return "", fmt.Errorf("a ' within a value: quote the whole value, and write \\' for one")
		}
		b.WriteByte(s[i])
	}
	return b.String(), nil
}

// quoted quotes a value so that unquote returns it, also as an element of a list and within a line.
func quoted(s string) string {
	if s != "" && !strings.ContainsAny(s, " ,'\\\t\n\r") {
		return s
	}
	return `'` + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + `'`
}

// checkCLI converts a value of a command line to the option's type.
func (o *OptionInfo) checkCLI(path string, t text, depth int) (any, error) {
	if t.flag && (o.Type.list || o.Type.base != baseBool) {
		return nil, wrong(path, ErrSyntax, "the option needs a value: -%s=…, of type %s", o.Name, o.Type)
	}
	if o.Type.list {
		items := make([]any, len(t.parts))
		for i, p := range t.parts {
			v, err := o.fromText(jsonpos.Element(path, i), p)
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		return o.checkAt(path, items, depth)
	}
	if t.flag {
		return true, nil
	}
	if len(t.parts) == 0 {
		return nil, wrong(path, ErrSyntax, "the value is empty: write -%s='' for empty text, or leave the option out", o.Name)
	}
	one := strings.Join(t.parts, ",") // a str can contain commas
	v, err := o.fromText(path, one)
	if err != nil {
		return nil, err
	}
	return o.checkOne(path, v, depth)
}

// fromText converts one value to the type of the option, or of its elements.
func (o *OptionInfo) fromText(path, s string) (any, error) {
	switch o.Type.base {
	case baseBool:
		switch s {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, &Error{Path: path, Err: ErrType, Expected: "bool: true, false, 1 or 0", Found: brief(s)}
	case baseInt:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil && err.(*strconv.NumError).Err == strconv.ErrRange {
			return nil, &Error{Path: path, Err: ErrRange, Expected: o.interval(), Found: brief(s)}
		}
		if err != nil {
			return nil, &Error{Path: path, Err: ErrType, Expected: "int", Found: brief(s)}
		}
		return n, nil
	case baseFloat:
		x, err := strconv.ParseFloat(s, 64)
		if err != nil && err.(*strconv.NumError).Err == strconv.ErrRange {
			return nil, &Error{Path: path, Err: ErrRange, Expected: "a finite 64-bit float", Found: brief(s)}
		}
		if err != nil {
			return nil, &Error{Path: path, Err: ErrType, Expected: "float", Found: brief(s)}
		}
		return x, nil
	}
	return s, nil
}
