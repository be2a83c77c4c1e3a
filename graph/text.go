package graph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tvmgo/tir"
)

// shapeText prints a shape: [n, 8].
func shapeText(shape []tir.Expr) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = printed(n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// String prints the function: a line for each constant and node, with the types and shapes of the values. Constants of
// more than eight elements are printed as a reference, which Constants resolves: Parse reads the text with that table.
//
//	func main(x: float32[n, 8]) {
//	  const w: float32[8, 4] = @c0cafa55fc98e5ca3b2a4a9f32a2a1d5
//	  y: float32[n, 4] = matmul(x, w)
//	  return y
//	}
func (f *Function) String() string { return f.text(false) }

// Text prints the function as String does, with the elements of all constants: Parse reads it without a table.
func (f *Function) Text() string { return f.text(true) }

func (f *Function) text(all bool) string {
	p := &printer{names: map[*Value]string{}, taken: map[string]bool{}, all: all}
	p.function(f, "func "+plainOrQuoted(f.Name), "")
	return p.out.String()
}

// printer prints functions. Values without a name, or whose name another one has, get a number.
type printer struct {
	out   strings.Builder
	names map[*Value]string
	taken map[string]bool
	next  int
	all   bool // print the elements of all constants
}

func (p *printer) name(v *Value) string {
	if v == nil {
		return "_"
	}
	if name, ok := p.names[v]; ok {
		return name
	}
	base := ""
	if v.Name != "" {
		base = quoted(v.Name)
	}
	name := base
	for name == "" || p.taken[name] {
		name = fmt.Sprintf("%s%%%d", base, p.next)
		p.next++
	}
	p.names[v], p.taken[name] = name, true
	return name
}

// keywords are the words of the syntax that names in quotes may be.
var keywords = map[string]bool{"_": true, "body": true, "const": true, "func": true, "return": true}

// quoted returns a name as it is written: in quotes if it has other characters than letters, digits and "_./-".
func quoted(name string) string {
	if keywords[name] {
		return strconv.Quote(name)
	}
	return plainOrQuoted(name)
}

// plainOrQuoted is quoted for names of functions, which may be words of the syntax.
func plainOrQuoted(name string) string {
	if name == "" || plainLength(name) < len(name) {
		return strconv.Quote(name)
	}
	return name
}

// plainLength returns the length of the name without quotes at the beginning of s.
func plainLength(s string) int {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("_./-", c) < 0 {
			return i
		}
	}
	return len(s)
}

func (p *printer) typed(v *Value) string {
	if v == nil {
		return "_"
	}
	return fmt.Sprintf("%s: %s%s", p.name(v), tir.TypeName(v.DType), shapeText(v.Shape))
}

func (p *printer) list(values []*Value, each func(*Value) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = each(v)
	}
	return strings.Join(parts, ", ")
}

func (p *printer) function(f *Function, head, indent string) {
	fmt.Fprintf(&p.out, "%s%s(%s)", indent, head, p.list(f.Params, p.typed))
	if f.outer == nil {
		p.ranges(f)
	}
	p.out.WriteString(" {\n")
	inner := indent + "  "
	for _, n := range f.Nodes {
		p.constants(n.Inputs, inner)
		p.node(n, inner)
	}
	p.constants(f.Results, inner)
	fmt.Fprintf(&p.out, "%s\n%s}\n", strings.TrimRight(inner+"return "+p.results(f), " "), indent)
}

// results prints the results of a function, with those names for callers that are not the names of the values.
func (p *printer) results(f *Function) string {
	names, at := f.valueNames(), -1
	return p.list(f.Results, func(v *Value) string {
		text := p.name(v)
		if at++; f.outer == nil && at < len(f.ResultNames) && f.ResultNames[at] != names[at] {
			text += " as " + quoted(f.ResultNames[at])
		}
		return text
	})
}

// valueNames returns the names of the values that are the results.
func (f *Function) valueNames() []string {
	names := make([]string, len(f.Results))
	for i, v := range f.Results {
		if v != nil {
			names[i] = v.Name
		}
	}
	return names
}

// ranges prints the ranges of sizes: where n in 1..64.
func (p *printer) ranges(f *Function) {
	for i, v := range f.Ranged() {
		word := ","
		if i == 0 {
			word = " where"
		}
		fmt.Fprintf(&p.out, "%s %s in %s", word, printed(v), f.ranges[v])
	}
}

// constants prints those constants that were not printed before.
func (p *printer) constants(values []*Value, indent string) {
	for _, v := range values {
		if v == nil || v.Const == nil || p.names[v] != "" {
			continue
		}
		fmt.Fprintf(&p.out, "%sconst %s = ", indent, p.typed(v))
		if v.printsElements(p.all) {
			v.writeElements(&p.out)
		} else {
			p.out.WriteString("@" + v.Const.reference())
		}
		p.out.WriteByte('\n')
	}
}

func (p *printer) node(n *Node, indent string) {
	results := p.list(n.Outputs, func(v *Value) string {
		if v != nil && v.Node != n { // it became a constant
			v = nil
		}
		return p.typed(v)
	})
	if results != "" {
		results += " "
	}
	fmt.Fprintf(&p.out, "%s%s= %s(%s)", indent, results, n.Op.Name, p.list(n.Inputs, p.name))
	if sizes, ok := n.sizes(); ok {
		parts := make([]string, len(sizes))
		for i, e := range sizes {
			parts[i] = printed(Size(e))
		}
		fmt.Fprintf(&p.out, " {%s}", strings.Join(parts, ", "))
	}
	separator := " "
	if n.Kernel != nil { // the loops are no part of the text
		fmt.Fprintf(&p.out, " calls=%q", n.Kernel.Func.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		if name == n.Op.sizes() {
			continue
		}
		fmt.Fprintf(&p.out, "%s%s=%s", separator, name, attrText(n.Attrs[name]))
		separator = ", "
	}
	p.out.WriteByte('\n')
	for _, body := range n.Bodies {
		p.function(body, "body "+plainOrQuoted(body.Name), indent+"  ")
	}
}

// sizes returns the sizes that the text of a node has in braces.
func (n *Node) sizes() (sizes []tir.Expr, ok bool) {
	switch {
	case n.Op.Control == Elements:
		return n.Outputs[0].elems, true
	case n.Kernel != nil:
		return n.Kernel.Sizes, len(n.Kernel.Sizes) > 0
	}
	sizes, ok = n.Attrs[n.Op.sizes()].([]tir.Expr)
	return sizes, ok
}

// attrText returns the value of an attribute as text.
func attrText(value any) string {
	switch a := value.(type) {
	case float64:
		return strconv.FormatFloat(a, 'g', -1, 64)
	case string:
		return strconv.Quote(a)
	case tir.Type:
		return tir.TypeName(a)
	case []int64:
		return listText(a)
	case []float64:
		return listText(a)
	case []string:
		return listText(a)
	}
	return fmt.Sprint(value)
}

func listText[T any](list []T) string {
	if list == nil {
		return "none"
	}
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = attrText(v)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
