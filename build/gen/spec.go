package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// spec is the description of a driver's API. Its file has one item per line; a line that ends with a backslash
// continues on the next line, and "#" begins a comment:
//
//	driver    NAME               the name of the driver, of its Go build tag and of the files
//	title     TEXT               the name of the API in messages
//	header    PATH               the path of the header, as programs include it
//	include   HEADER             a header that it includes because the binding expects that
//	library   FILE …             names of the vendor's library; the first one that can be opened is used
//	first     FUNCTION           a function that the library must have
//	variable  NAME               the environment variable that names another library
//	archive   FILE               the empty archive for the -l flag of the binding, if it has one
//	tag       none               it is always built, without a Go build tag
//	cure      TEXT               what the user can do if there is no library
//	answer    TYPE VALUE         the result of functions with this result type if there is no library
//	answer    FUNCTION VALUE     the same for one function
//	offline   FUNCTION VALUE     a function that always returns this value and never opens the library
//	start     CALL               a call after the library was opened; its result is ignored
//	quiet     FUNCTION …         functions after which signal handlers are restored
//	type      NAME TYPE          a name of another type
//	handle    NAME STRUCT        a pointer to an undefined structure
//	opaque    NAME               an undefined structure
//	struct    NAME [ALIGNMENT]   followed by its fields
//	union     NAME               the same
//	layout    NAME               a structure of this project, for a part that has no name in the vendor's header
//	field     TYPE NAME[SIZE]
//	enum      NAME               followed by its values
//	value     NAME NUMBER
//	const     NAME VALUE         a macro
//	define    NAME [VALUE]       a macro whose value differs from the vendor's
//	alias     NAME NAME          a macro for a function: the name in programs, the name that the library exports
//	func      RESULT NAME(TYPES) a function that the binding refers to
//	own       RESULT NAME(TYPES) a function that only this project calls; the library may lack it. "= SYMBOL" may
//	                             follow: the name that the library exports
//	table     NAME               a structure of function pointers, which the program gets from the API; followed by
//	entry     RESULT NAME(TYPES) a function of the table
//	may       RESULT NAME(TYPES) a function of the table that the API may lack
//	hide      RESULT NAME(TYPES) a function that the binding defines: it gets hidden visibility
type spec struct {
	driver, title, header, variable, archive, cure, first, start, tag string

	libraries []string
	includes  []string
	answers   map[string]string // by result type, or by function
	offline   map[string]string
	quiet     map[string]bool
	types     []decl // in the order of the file
	consts    []constant
	defines   []constant // macros whose values differ from the vendor's
	aliases   []constant
	funcs     []function
	hidden    []function // defined by the binding
	tables    []table
}

// table is a structure of pointers to functions.
type table struct {
	name    string
	entries []function
}

// decl is a type; kind is the first word of its item. For a struct, of is the alignment, if there is one.
type decl struct {
	kind, name, of string
	members        []member
}

// member is a field (type and name) or a value of an enum (name and number).
type member struct{ name, of string }

type constant struct{ name, value string }

type function struct {
	result, name string
	symbol       string // the name that the library exports
	params       []string
	own          bool
	may          bool // an entry of a table that may be missing
}

// last is the type of the last parameter, "" if there is none.
func (f function) last() string {
	if len(f.params) == 0 {
		return ""
	}
	return f.params[len(f.params)-1]
}

func readSpec(path string) (*spec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parseSpec(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return s, nil
}

// parseSpec parses a description. Errors begin with the line number.
func parseSpec(text string) (*spec, error) {
	s := &spec{answers: map[string]string{}, offline: map[string]string{}, quiet: map[string]bool{}}
	begun := "" // the previous lines of an item
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = begun + strings.TrimSpace(line)
		var more bool
		if begun, more = strings.CutSuffix(line, "\\"); more {
			continue
		}
		begun = ""
		key, rest, _ := strings.Cut(line, " ")
		if key == "" {
			continue
		}
		if err := s.item(key, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("%d: %s: %w", i+1, key, err)
		}
	}
	return s, s.check()
}

func (s *spec) item(key, rest string) error {
	if rest == "" {
		return fmt.Errorf("nothing follows")
	}
	single := map[string]*string{"driver": &s.driver, "title": &s.title, "header": &s.header,
		"variable": &s.variable, "archive": &s.archive, "cure": &s.cure, "first": &s.first, "start": &s.start, "tag": &s.tag}
	if to, ok := single[key]; ok {
		*to = rest
		return nil
	}
	words := strings.Fields(rest)
	switch key {
	case "library":
		s.libraries = words
	case "include":
		s.includes = append(s.includes, words...)
	case "quiet":
		for _, f := range words {
			s.quiet[f] = true
		}
	case "func", "own":
		text, symbol, renamed := strings.Cut(rest, " = ")
		f, err := parseFunction(text)
		f.own = key == "own"
		if renamed {
			f.symbol = symbol
		}
		s.funcs = append(s.funcs, f)
		return err
	case "hide":
		f, err := parseFunction(rest)
		s.hidden = append(s.hidden, f)
		return err
	case "table":
		s.tables = append(s.tables, table{name: words[0]})
	case "entry", "may":
		if len(s.tables) == 0 {
			return fmt.Errorf("there is no table before it")
		}
		f, err := parseFunction(rest)
		f.may = key == "may"
		t := &s.tables[len(s.tables)-1]
		t.entries = append(t.entries, f)
		return err
	case "define":
		s.defines = append(s.defines, constant{words[0], strings.Join(words[1:], " ")})
	case "struct", "union", "layout", "enum", "opaque":
		s.types = append(s.types, decl{kind: key, name: words[0], of: strings.Join(words[1:], " ")})
	case "field", "value":
		return s.member(key, rest)
	default:
		return s.pair(key, words)
	}
	return nil
}

// pair parses an item that consists of a name and a value.
func (s *spec) pair(key string, words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("a name and a value are required")
	}
	name, of := words[0], strings.Join(words[1:], " ")
	switch key {
	case "type", "handle":
		s.types = append(s.types, decl{kind: key, name: name, of: of})
	case "const":
		s.consts = append(s.consts, constant{name, of})
	case "alias":
		s.aliases = append(s.aliases, constant{name, of})
	case "answer":
		s.answers[name] = of
	case "offline":
		s.offline[name] = of
	default:
		return fmt.Errorf("no such item")
	}
	return nil
}

func (s *spec) member(key, rest string) error {
	at := strings.LastIndexByte(rest, ' ')
	if at < 0 {
		return fmt.Errorf("two words are required")
	}
	if len(s.types) == 0 {
		return fmt.Errorf("there is no type before it")
	}
	d := &s.types[len(s.types)-1]
	m := member{name: rest[at+1:], of: strings.TrimSpace(rest[:at])}
	if key == "value" {
		m.name, m.of = m.of, m.name
	}
	if (key == "field") != d.hasFields() || (key == "value") != (d.kind == "enum") {
		return fmt.Errorf("%s %s cannot have it", d.kind, d.name)
	}
	d.members = append(d.members, m)
	return nil
}

// hasFields returns true for structures and unions.
func (d decl) hasFields() bool { return d.kind == "struct" || d.kind == "union" || d.kind == "layout" }

var prototype = regexp.MustCompile(`^(.+?[ *])(\w+)\((.*)\)$`)

func parseFunction(text string) (function, error) {
	m := prototype.FindStringSubmatch(text)
	if m == nil {
		return function{}, fmt.Errorf("%q is not a prototype", text)
	}
	return function{result: strings.TrimSpace(m[1]), name: m[2], symbol: m[2], params: splitParams(m[3])}, nil
}

// splitParams splits a list at the commas that are not in parentheses.
func splitParams(list string) []string {
	var params []string
	depth, from := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			if p := strings.TrimSpace(list[from:i]); p != "" && p != "void" {
				params = append(params, p)
			}
			from = i + 1
		}
	}
	return params
}

func (s *spec) check() error {
	for key, v := range map[string]string{"driver": s.driver, "title": s.title, "header": s.header,
		"variable": s.variable, "cure": s.cure, "first": s.first, "library": strings.Join(s.libraries, " ")} {
		if v == "" {
			return fmt.Errorf("0: %s is missing", key)
		}
	}
	names := map[string]bool{}
	for _, f := range s.funcs {
		if names[f.name] {
			return fmt.Errorf("0: function %s is declared twice", f.name)
		}
		names[f.name] = true
		if s.offline[f.name] == "" && s.answer(f) == "" {
			return fmt.Errorf("0: function %s has no result without a library: add an item \"answer %s VALUE\"",
				f.name, f.result)
		}
	}
	for f := range s.offline {
		if !names[f] {
			return fmt.Errorf("0: there is no function %s", f)
		}
	}
	for _, a := range s.aliases {
		if !names[a.value] {
			return fmt.Errorf("0: alias %s: there is no function %s", a.name, a.value)
		}
	}
	for f := range s.quiet {
		if !names[f] {
			return fmt.Errorf("0: quiet: there is no function %s", f)
		}
	}
	return nil
}

// answer returns the result of a function if there is no library.
func (s *spec) answer(f function) string {
	if v := s.answers[f.name]; v != "" {
		return v
	}
	if v := s.answers[f.result]; v != "" {
		return v
	}
	if strings.HasSuffix(f.result, "*") || s.isHandle(f.result) {
		return "NULL"
	}
	return ""
}

func (s *spec) isHandle(name string) bool {
	for _, d := range s.types {
		if d.kind == "handle" && d.name == name {
			return true
		}
	}
	return false
}
