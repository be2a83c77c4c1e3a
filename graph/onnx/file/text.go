package file

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// maxListed is the most elements of an attribute's list that the text shows.
const maxListed = 32

// Text returns the model in a form like ONNX's textual syntax: what the model imports, its inputs and outputs with
// their types, its initializers with their types but without elements, its nodes with their attributes, and its
// functions. It is for people: the text cannot be read back.
func (m *Model) Text() string {
	p := &printer{}
	p.line("<")
	p.line("   ir_version: %d,", m.IRVersion)
	p.line("   opset_import: %s", opsetsText(m.OpsetImports))
	for _, t := range []struct{ key, value string }{{"producer_name", m.ProducerName},
		{"producer_version", m.ProducerVersion}, {"domain", m.Domain}, {"doc_string", m.Doc}} {
		if t.value != "" {
			p.line("   %s: %q", t.key, t.value)
		}
	}
	if m.ModelVersion != 0 {
		p.line("   model_version: %d", m.ModelVersion)
	}
	for _, e := range m.Metadata {
		p.line("   metadata %s: %q", shownName(e.Key), e.Value)
	}
	p.line(">")
	if m.Graph != nil {
		p.graph(m.Graph)
		p.line("")
	}
	for _, f := range m.Functions {
		p.function(f)
	}
	return p.out.String()
}

// Lines returns the nodes of the graph, a node or a part of one a line, as [Model.Text] prints them.
func (g *Graph) Lines() []string {
	p := &printer{}
	p.nodes(g.Nodes, g.ValueInfo)
	return strings.FieldsFunc(p.out.String(), func(c rune) bool { return c == '\n' })
}

// Caller returns the operator of a node as a text: "Conv", or "my.Op:overload" with a domain and an overload.
func (n *Node) Caller() string { return caller(n.Domain, n.OpType, n.Overload) }

// Caller returns how nodes call the function, as [Node.Caller] does.
func (f *Function) Caller() string { return caller(f.Domain, f.Name, f.Overload) }

func caller(domain, name, overload string) string {
	text := shownName(name)
	if domain != "" {
		text = shownName(domain) + "." + text
	}
	if overload != "" {
		text += ":" + shownName(overload)
	}
	return text
}

// String returns the type in ONNX's textual syntax: "float[N,3,?]", "float" for a scalar, "float[]" if even the rank is
// unknown, "seq(float[2])". A nil type is "unknown".
func (t *Type) String() string {
	if t == nil {
		return "unknown"
	}
	switch t.Kind {
	case TensorKind:
		return t.Elem.String() + t.Shape.String()
	case SparseTensorKind:
		return "sparse_tensor(" + t.Elem.String() + t.Shape.String() + ")"
	case SequenceKind:
		return "seq(" + t.Of.String() + ")"
	case OptionalKind:
		return "optional(" + t.Of.String() + ")"
	case MapKind:
		return "map(" + t.Elem.String() + ", " + t.Of.String() + ")"
	}
	return t.Kind.String()
}

// String returns the dimensions in ONNX's textual syntax: "[N,3,?]", "" for a scalar, "[]" if the rank is unknown.
func (s Shape) String() string {
	if s == nil {
		return "[]"
	}
	if len(s) == 0 {
		return ""
	}
	list := make([]string, len(s))
	for i, d := range s {
		list[i] = d.String()
	}
	return "[" + strings.Join(list, ",") + "]"
}

// String returns the size, the name, or "?".
func (d Dim) String() string {
	switch {
	case d.Known:
		return strconv.FormatInt(d.Size, 10)
	case d.Name != "":
		return shownName(d.Name)
	}
	return "?"
}

// String returns the type of the tensor in ONNX's textual syntax: "float[2,3]", "float" for a scalar.
func (t *Tensor) String() string {
	if len(t.Dims) == 0 {
		return t.DataType.String()
	}
	return t.DataType.String() + shown(t.Dims)
}

// shownName returns a name as it is if it can be told from what is around it, else in quotes.
func shownName(name string) string {
	if name == "" || name == "?" || strings.ContainsFunc(name, func(c rune) bool {
		return !unicode.IsPrint(c) || c == ' ' || c == unicode.ReplacementChar || strings.ContainsRune(`"',()[]<>{}=`, c)
	}) {
		return strconv.Quote(name)
	}
	return name
}

// valueNames returns the names of inputs or outputs. Optional ones that are left out are empty.
func valueNames(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		if n != "" {
			list[i] = shownName(n)
		}
	}
	return strings.Join(list, ", ")
}

func opsetsText(list []Opset) string {
	texts := make([]string, len(list))
	for i, o := range list {
		texts[i] = fmt.Sprintf("%q : %d", o.Domain, o.Version)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func infosText(list []*ValueInfo) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.Type.String() + " " + shownName(v.Name)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// printer writes indented lines.
type printer struct {
	out    strings.Builder
	indent int
}

func (p *printer) begin() { p.out.WriteString(strings.Repeat("   ", p.indent)) }

func (p *printer) line(format string, args ...any) {
	if format != "" {
		p.begin()
		fmt.Fprintf(&p.out, format, args...)
	}
	p.out.WriteByte('\n')
}

// graph writes a graph from the current column on, without the end of the last line.
func (p *printer) graph(g *Graph) {
	fmt.Fprintf(&p.out, "%s %s => %s {\n", shownName(g.Name), infosText(g.Inputs), infosText(g.Outputs))
	p.indent++
	for _, t := range g.Initializers {
		where := ""
		if t.External != nil {
			where = fmt.Sprintf(" in %q", t.External.Location)
		}
		p.line("%v %s%s", t, shownName(t.Name), where)
	}
	for _, s := range g.SparseInitializers {
		p.line("%s %s", sparseText(s), shownName(s.Name()))
	}
	p.nodes(g.Nodes, g.ValueInfo)
	p.indent--
	p.begin()
	p.out.WriteString("}")
}

func sparseText(s *SparseTensor) string {
	values := "unknown"
	if s.Values != nil {
		values = s.Values.DataType.String()
	}
	return "sparse_tensor(" + values + shown(s.Dims) + ")"
}

// nodes writes nodes, with the types of values that are known as comments.
func (p *printer) nodes(nodes []*Node, infos []*ValueInfo) {
	types := make(map[string]*Type, len(infos))
	for _, v := range infos {
		types[v.Name] = v.Type
	}
	for _, n := range nodes {
		p.begin()
		p.call(n)
		first := true
		for _, o := range n.Outputs {
			if t := types[o]; t != nil && o != "" {
				if first {
					p.out.WriteString("  #")
				}
				first = false
				fmt.Fprintf(&p.out, " %v", t)
			}
		}
		p.out.WriteByte('\n')
	}
}

// call writes a node from the current column on.
func (p *printer) call(n *Node) {
	if n.Name != "" {
		fmt.Fprintf(&p.out, "[%s] ", shownName(n.Name))
	}
	fmt.Fprintf(&p.out, "%s = %s", valueNames(n.Outputs), n.Caller())
	p.attributes(n.Attributes)
	fmt.Fprintf(&p.out, " (%s)", valueNames(n.Inputs))
}

func (p *printer) attributes(list []*Attribute) {
	for i, a := range list {
		p.out.WriteString([...]string{" <", ", "}[min(i, 1)])
		p.attribute(a)
	}
	if len(list) > 0 {
		p.out.WriteString(">")
	}
}

func (p *printer) attribute(a *Attribute) {
	fmt.Fprintf(&p.out, "%s: %v = ", shownName(a.Name), a.Type)
	switch {
	case a.Ref != "":
		p.out.WriteString("@" + shownName(a.Ref))
	case a.Type == AttrGraph && a.Graph != nil:
		p.graph(a.Graph)
	case a.Type == AttrGraphs:
		p.out.WriteString("[")
		for i, g := range a.Graphs {
			if i > 0 {
				p.out.WriteString(", ")
			}
			p.graph(g)
		}
		p.out.WriteString("]")
	default:
		p.out.WriteString(a.valueText())
	}
}

// valueText returns a value that contains no graph.
func (a *Attribute) valueText() string {
	switch a.Type {
	case AttrFloat:
		return floatText(a.Float)
	case AttrInt:
		return strconv.FormatInt(a.Int, 10)
	case AttrString:
		return strconv.Quote(a.String)
	case AttrFloats:
		return listText(a.Floats, floatText)
	case AttrInts:
		return listText(a.Ints, func(v int64) string { return strconv.FormatInt(v, 10) })
	case AttrStrings:
		return listText(a.Strings, strconv.Quote)
	case AttrTensor:
		if a.Tensor != nil {
			return a.Tensor.String() + " {…}"
		}
	case AttrTensors:
		return listText(a.Tensors, func(t *Tensor) string { return t.String() + " {…}" })
	case AttrSparseTensor:
		if a.SparseTensor != nil {
			return sparseText(a.SparseTensor)
		}
	case AttrSparseTensors:
		return listText(a.SparseTensors, sparseText)
	case AttrType:
		return a.TypeProto.String()
	case AttrTypes:
		return listText(a.TypeProtos, (*Type).String)
	}
	return "?"
}

func floatText(v float32) string {
	if v == float32(math.Trunc(float64(v))) && math.Abs(float64(v)) < 1e6 {
		return strconv.FormatFloat(float64(v), 'f', 1, 32) // to be told from an int
	}
	return strconv.FormatFloat(float64(v), 'g', -1, 32)
}

func listText[T any](list []T, text func(T) string) string {
	var texts []string
	for i, v := range list {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("… %d in all", len(list)))
			break
		}
		texts = append(texts, text(v))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func (p *printer) function(f *Function) {
	p.line("<")
	p.line("   domain: %q,", f.Domain)
	p.line("   opset_import: %s", opsetsText(f.OpsetImports))
	p.line(">")
	p.out.WriteString(caller("", f.Name, f.Overload))
	for i, name := range f.AttributeNames {
		p.out.WriteString([...]string{" <", ", "}[min(i, 1)] + shownName(name))
	}
	if len(f.AttributeNames) > 0 {
		p.out.WriteString(">")
	}
	p.attributes(f.Attributes)
	fmt.Fprintf(&p.out, " (%s) => (%s) {\n", valueNames(f.Inputs), valueNames(f.Outputs))
	p.indent++
	p.nodes(f.Nodes, f.ValueInfo)
	p.indent--
	p.line("}")
}
