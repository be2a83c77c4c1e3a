package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// function is a field of TVMGODeviceAPI.
type function struct {
	name   string  // "timer_start"
	params []param // without api

	object string // "timer", "event" or "graph" for a function of such an object; "" for one of the device
	owner  string // the interface whose presence in a device fills in the field
	iface  string // the interface with the method
	method string
	typ    *ast.FuncType // of the method
}

type param struct{ ctype, name string }

// pointer is true for results, which C passes by address.
func (p param) isResult() bool {
	return strings.HasSuffix(p.ctype, "*") && p.ctype != "void*" && !strings.HasPrefix(p.ctype, "const ")
}

// methods are those whose names do not follow from the names of the fields.
var methods = map[string]string{"get_attr": "Attr", "timer_create": "CreateTimer", "event_create": "CreateEvent",
	"timer_elapsed_ns": "ElapsedNanos", "capture_begin": "BeginCapture", "capture_end": "EndCapture"}

var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	field   = regexp.MustCompile(`(?s)int \(\*(\w+)\)\((.*?)\);`)
)

// parse reads the functions of the table in the header.
func parse(header []byte) ([]*function, error) {
	text := comment.ReplaceAllString(string(header), "")
	_, text, found := strings.Cut(text, "struct TVMGODeviceAPI {")
	text, _, closed := strings.Cut(text, "\n};")
	if !found || !closed {
		return nil, errors.New("the header declares no struct TVMGODeviceAPI")
	}
	var all []*function
	for _, m := range field.FindAllStringSubmatch(text, -1) {
		f := &function{name: m[1]}
		for i, declared := range strings.Split(m[2], ",") {
			declared = strings.Join(strings.Fields(declared), " ")
			at := strings.LastIndexAny(declared, " *") + 1
			p := param{ctype: strings.TrimSpace(declared[:at]), name: declared[at:]}
			if i == 0 {
				if p.ctype != "const TVMGODeviceAPI*" {
					return nil, fmt.Errorf("%s: the first parameter is no table", f.name)
				}
				continue
			}
			f.params = append(f.params, p)
		}
		all = append(all, f)
	}
	return all, nil
}

// camel is a name of C as Go writes it.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(strings.ReplaceAll(name, "_", " ")) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// resolve finds the method of each function in the interfaces that a Go file declares.
func resolve(functions []*function, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		return err
	}
	declared := map[string]string{}     // "Interface.Method" and, for interfaces of devices, "Method" to the interface
	types := map[string]*ast.FuncType{} // by "Interface.Method"
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if i, ok := spec.Type.(*ast.InterfaceType); ok {
			for _, m := range i.Methods.List {
				declared[spec.Name.Name+"."+m.Names[0].Name] = spec.Name.Name
				types[spec.Name.Name+"."+m.Names[0].Name], _ = m.Type.(*ast.FuncType)
				if _, taken := declared[m.Names[0].Name]; !taken {
					declared[m.Names[0].Name] = spec.Name.Name
				}
			}
		}
		return false
	})
	creators := map[string]string{} // object → the interface of devices that have it
	for _, f := range functions {
		for _, p := range f.params {
			if p.ctype == "void*" && p.name != "p" {
				f.object = p.name
			}
		}
		if f.object == "" {
			f.method = cmp.Or(methods[f.name], camel(f.name))
			f.iface = declared[f.method]
			f.owner = f.iface
			for _, p := range f.params {
				if p.ctype == "void**" && p.name != "out" {
					creators[p.name] = f.iface
				}
			}
		} else {
			verb := strings.TrimPrefix(f.name, f.object+"_")
			if f.method = cmp.Or(methods[f.name], camel(verb)); verb == "free" {
				f.method = "Close"
			}
			f.iface = declared["Device"+camel(f.object)+"."+f.method]
			f.owner = creators[f.object]
		}
		if f.iface == "" || f.owner == "" {
			return fmt.Errorf("%s: no interface of runtime/deviceapi.go has the method %s", f.name, f.method)
		}
		f.typ = types[f.iface+"."+f.method]
	}
	return nil
}
