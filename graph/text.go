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

// String prints the function: a line for each constant and node, with the types and shapes of the values.
//
//	func main(x: float32[n, 8]) {
//	  const w: float32[8, 4]
//	  y: float32[n, 4] = matmul(x, w)
//	  return y
//	}
//
// Elements of large constants are left out.
func (f *Function) String() string {
	p := &printer{names: map[*Value]string{}, taken: map[string]bool{}}
	p.function(f, "func "+f.Name, "")
	return p.out.String()
}

// printer prints functions. Values without a name, or whose name another one has, get a number.
type printer struct {
	out   strings.Builder
	names map[*Value]string
	taken map[string]bool
	next  int
}

func (p *printer) name(v *Value) string {
	if v == nil {
		return "_"
	}
	if name, ok := p.names[v]; ok {
		return name
	}
	name := v.Name
	if name != "" && !plain(name) {
		name = strconv.Quote(name)
	}
	for name == "" || p.taken[name] {
		name = fmt.Sprintf("%%%d", p.next)
		p.next++
	}
	p.names[v], p.taken[name] = name, true
	return name
}

// plain reports whether a name needs no quotes.
func plain(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_./:-", r) {
			return false
		}
	}
	return true
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
	fmt.Fprintf(&p.out, "%s%s(%s) {\n", indent, head, p.list(f.Params, p.typed))
	inner := indent + "  "
	for _, n := range f.Nodes {
		p.constants(n.Inputs, inner)
		p.node(n, inner)
	}
	p.constants(f.Results, inner)
	fmt.Fprintf(&p.out, "%sreturn %s\n%s}\n", inner, p.list(f.Results, p.name), indent)
}

// constants prints those constants that were not printed before.
func (p *printer) constants(values []*Value, indent string) {
	for _, v := range values {
		if v == nil || v.Const == nil || p.names[v] != "" {
			continue
		}
		fmt.Fprintf(&p.out, "%sconst %s", indent, p.typed(v))
		if elems := v.Elements(); elems != nil && len(elems) <= 8 {
			parts := make([]string, len(elems))
			for i, e := range elems {
				parts[i] = printed(e)
			}
			fmt.Fprintf(&p.out, " = {%s}", strings.Join(parts, ", "))
		}
		p.out.WriteByte('\n')
	}
}

func (p *printer) node(n *Node, indent string) {
	fmt.Fprintf(&p.out, "%s%s = %s(%s)", indent, p.list(n.Outputs, p.typed), n.Op.Name, p.list(n.Inputs, p.name))
	for i, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		separator := ", "
		if i == 0 {
			separator = " "
		}
		value := fmt.Sprint(n.Attrs[name])
		switch a := n.Attrs[name].(type) {
		case string:
			value = strconv.Quote(a)
		case tir.Type:
			value = tir.TypeName(a)
		}
		fmt.Fprintf(&p.out, "%s%s=%s", separator, name, value)
	}
	p.out.WriteByte('\n')
	for _, body := range n.Bodies {
		p.function(body, "body", indent+"  ")
	}
}
