package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/graph/onnx/file"
	"tvmgo/tir"
)

// The operator sets of the default domain that are read. Of sets older than 7, those operators are read that have the
// form of set 7: without the attributes that set 7 removed.
const (
	OldestOpset = 1
	NewestOpset = 27
)

// Options say how a model is read.
type Options struct {
	// Dims are the sizes of symbolic dimensions by name: they become constants, or keep their name if there are several.
	Dims map[string]graph.Range
	// Inputs are the types and shapes of inputs by name, in place of those of the model.
	Inputs map[string]Input
	// Parameters makes the weights parameters of the function, behind the inputs, in place of constants. Tensors that are
	// so small that they may determine shapes stay constants, and so do those that no node of the graph reads directly.
	Parameters bool
	// Constants are values for inputs by name: these inputs become constants of the function.
	Constants map[string]*file.Tensor
}

// Input is the type and the shape of an input.
type Input struct {
	DType tir.Type // the zero value: that of the model
	Dims  []Dim
}

// Dim is a dimension: a size, or the name of one that is known at run time.
type Dim struct {
	Size int64
	Name string // "" for a size
}

// UnsupportedError lists the nodes of a model that cannot be read.
type UnsupportedError struct{ Nodes []UnsupportedNode }

// UnsupportedNode is a node whose operator is not known.
type UnsupportedNode struct {
	Node, Op, Domain string
	Opset            int64
}

// Error lists the nodes.
func (e *UnsupportedError) Error() string {
	lines := make([]string, len(e.Nodes))
	for i, n := range e.Nodes {
		op := n.Op
		if n.Domain != "" {
			op = n.Domain + "." + op
		}
		lines[i] = fmt.Sprintf("%s: operator %s of operator set %d", n.Node, op, n.Opset)
	}
	return "these nodes have operators that are not supported: " + strings.Join(lines, "; ")
}

// Import makes the function "main" of a model. external has the files that its tensors name, and may be nil if there
// are none. Data of constants is shared with the model and these files. The error lists all nodes whose operators are
// not supported (UnsupportedError), or names the node that is wrong.
func Import(m *file.Model, external *file.External, o Options) (*graph.Function, error) {
	f, _, err := ImportWeights(m, external, o)
	return f, err
}

// ImportWeights is Import, and returns the constants that Options.Parameters made parameters, in the order of these
// parameters, with the same names.
func ImportWeights(m *file.Model, external *file.External, o Options) (*graph.Function, []*graph.Value, error) {
	i := &importer{options: o, external: external, fn: graph.NewFunction("main"), opsets: map[string]int64{},
		functions: map[string]*file.Function{}}
	if err := i.run(m); err != nil {
		return nil, nil, fmt.Errorf("import ONNX model: %w", err)
	}
	return i.fn, i.weights, nil
}

// importer is the state of Import.
type importer struct {
	options   Options
	external  *file.External
	fn        *graph.Function
	opsets    map[string]int64 // by domain
	functions map[string]*file.Function
	depth     int            // of functions in functions
	calls     int            // of functions
	weights   []*graph.Value // constants that are parameters
	dims      []string       // the names of dimensions of inputs
}

// maxDepth limits calls of functions by functions, and bodies in bodies.
const maxDepth = 64

// maxCalls limits calls of functions: a small file may have functions that call each other twice, and so on.
const maxCalls = 1 << 15

// scope holds the values of a graph by name.
type scope struct {
	outer  *scope
	fn     *graph.Function
	opsets map[string]int64
	values map[string]*graph.Value
	attrs  map[string]*file.Attribute // of the function that is inlined
	prefix string                     // of the names of nodes in errors
}

func (s *scope) find(name string) *graph.Value {
	for ; s != nil; s = s.outer {
		if v := s.values[name]; v != nil {
			return v
		}
	}
	return nil
}

// domainOf gives the default domain its one name.
func domainOf(d string) string {
	if d == "ai.onnx" {
		return ""
	}
	return d
}

func functionKey(domain, op string) string { return domainOf(domain) + "::" + op }

func opsetsOf(imports []file.Opset) map[string]int64 {
	sets := map[string]int64{}
	for _, o := range imports {
		sets[domainOf(o.Domain)] = o.Version
	}
	return sets
}

func (i *importer) run(m *file.Model) error {
	if m == nil || m.Graph == nil {
		return errors.New("the model has no graph")
	}
	i.opsets = opsetsOf(m.OpsetImports)
	if v, ok := i.opsets[""]; ok && (v < OldestOpset || v > NewestOpset) {
		return fmt.Errorf("operator set %d of the default domain is not supported: export the model with one from %d to %d",
			v, OldestOpset, NewestOpset)
	}
	for _, f := range m.Functions {
		i.functions[functionKey(f.Domain, f.Name)] = f
	}
	if list := i.unsupported(m.Graph.Nodes, i.opsets, "", map[string]bool{}); len(list) > 0 {
		return &UnsupportedError{list}
	}
	s := &scope{fn: i.fn, opsets: i.opsets, values: map[string]*graph.Value{}}
	if err := i.initializers(s, m.Graph); err != nil {
		return err
	}
	if err := i.inputs(s, m.Graph); err != nil {
		return err
	}
	if i.options.Parameters {
		i.parameters(s, m.Graph)
	}
	if err := i.nodes(s, m.Graph.Nodes); err != nil {
		return err
	}
	results, err := outputs(s, m.Graph)
	if err != nil {
		return err
	}
	i.fn.Return(results...)
	for _, out := range m.Graph.Outputs {
		i.fn.ResultNames = append(i.fn.ResultNames, out.Name)
	}
	return nil
}

// unsupported lists the nodes that have no rule, also those of bodies and functions.
func (i *importer) unsupported(nodes []*file.Node, opsets map[string]int64, prefix string,
	seen map[string]bool) []UnsupportedNode {
	var list []UnsupportedNode
	for at, n := range nodes {
		if f := i.functions[functionKey(n.Domain, n.OpType)]; f != nil {
			if key := functionKey(n.Domain, n.OpType); !seen[key] {
				seen[key] = true
				list = append(list, i.unsupported(f.Nodes, opsetsOf(f.OpsetImports), prefix+nodeName(n, at)+" / ", seen)...)
			}
			continue
		}
		if rules[functionKey(n.Domain, n.OpType)] == nil {
			list = append(list, UnsupportedNode{prefix + nodeName(n, at), n.OpType, domainOf(n.Domain),
				opsets[domainOf(n.Domain)]})
		}
		for _, a := range n.Attributes {
			for _, g := range append([]*file.Graph{a.Graph}, a.Graphs...) {
				if g != nil {
					list = append(list, i.unsupported(g.Nodes, opsets, prefix+nodeName(n, at)+" / ", seen)...)
				}
			}
		}
	}
	return list
}

// nodeName names a node in errors.
func nodeName(n *file.Node, at int) string {
	if n.Name != "" {
		return fmt.Sprintf("node %q", n.Name)
	}
	return fmt.Sprintf("node %d", at)
}

func (i *importer) initializers(s *scope, g *file.Graph) error {
	for _, t := range g.Initializers {
		v, err := i.constant(s, t.Name, t)
		if err != nil {
			return err
		}
		s.values[t.Name] = v
	}
	for _, t := range g.SparseInitializers {
		dense, err := t.Dense(i.external)
		if err != nil {
			return err
		}
		if s.values[dense.Name], err = i.constant(s, dense.Name, dense); err != nil {
			return err
		}
	}
	return nil
}

// smallest is the number of elements from which on a weight is a parameter.
const smallest = 257

// parameters makes parameters of weights.
func (i *importer) parameters(s *scope, g *file.Graph) {
	read := map[string]bool{}
	for _, n := range g.Nodes {
		for _, name := range n.Inputs {
			read[name] = true
		}
	}
	for _, t := range g.Initializers {
		v := s.values[t.Name]
		shape, _ := v.StaticShape()
		if n, err := dlpack.NumElements(shape); err == nil && n >= smallest && read[t.Name] {
			s.values[t.Name] = i.fn.Param(t.Name, v.DType, v.Shape...)
			i.weights = append(i.weights, v)
		}
	}
}

// constant makes a constant of a tensor.
func (i *importer) constant(s *scope, name string, t *file.Tensor) (*graph.Value, error) {
	dt, err := dtypeOf(t.DataType)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	data, err := t.Bytes(i.external)
	if err != nil {
		return nil, err
	}
	return s.fn.Const(name, dt, t.Dims, data)
}

// dtypeOf returns the type that code for the elements has.
func dtypeOf(t file.DataType) (tir.Type, error) {
	dt, err := t.DType()
	if err != nil {
		return tir.Type{}, err
	}
	if err := tir.CheckType(dt); err != nil {
		return tir.Type{}, fmt.Errorf("elements of type %s are not supported: want integers, floats, or bool", dt)
	}
	return dt, nil
}

// inputs makes the parameters, in the order of the model. Inputs with an initializer are constants.
func (i *importer) inputs(s *scope, g *file.Graph) error {
	known := map[string]bool{}
	for _, in := range g.Inputs {
		if known[in.Name] {
			return fmt.Errorf("two inputs have the name %q: rename one", in.Name)
		}
		known[in.Name] = true
		if s.values[in.Name] != nil {
			continue
		}
		if t := i.options.Constants[in.Name]; t != nil {
			v, err := i.constant(s, in.Name, t)
			if err != nil {
				return err
			}
			s.values[in.Name] = v
			continue
		}
		if err := i.input(s, in); err != nil {
			return fmt.Errorf("input %q: %w", in.Name, err)
		}
	}
	for name := range i.options.Dims {
		if !slices.Contains(i.dims, name) {
			has := "all sizes are constants"
			if len(i.dims) > 0 {
				has = "it has " + strings.Join(i.dims, ", ")
			}
			return fmt.Errorf("the inputs of the model have no dimension %q: %s", name, has)
		}
	}
	for name := range i.options.Inputs {
		if !known[name] {
			var names []string
			for _, in := range g.Inputs {
				names = append(names, in.Name)
			}
			return fmt.Errorf("the model has no input %q: it has %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

func (i *importer) input(s *scope, in *file.ValueInfo) error {
	dims, dt, err := i.typeOf(in)
	if err != nil {
		return err
	}
	shape := make([]tir.Expr, len(dims))
	for d, n := range dims {
		if n.Name != "" && !slices.Contains(i.dims, n.Name) {
			i.dims = append(i.dims, n.Name)
		}
		given, isGiven := i.options.Dims[n.Name]
		if isGiven = isGiven && n.Name != ""; isGiven && given.Min == given.Max {
			n = Dim{Size: given.Min}
		}
		if n.Name == "" {
			if n.Size < 0 || n.Size > 1<<31-1 {
				return fmt.Errorf("dimension %d is %d: want 0 to %d", d, n.Size, 1<<31-1)
			}
			shape[d] = tir.I32(int32(n.Size))
		} else {
			size := s.fn.Symbol(symbolName(n.Name))
			if shape[d] = size; isGiven {
				if err := s.fn.SetRange(size, given); err != nil {
					return err
				}
			}
		}
	}
	s.values[in.Name] = s.fn.Param(in.Name, dt, shape...)
	return nil
}

// symbolName makes a name that the text of an expression can contain.
func symbolName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// typeOf returns the dimensions and the type of an input.
func (i *importer) typeOf(in *file.ValueInfo) ([]Dim, tir.Type, error) {
	given, isGiven := i.options.Inputs[in.Name]
	dt := given.DType
	if in.Type == nil || in.Type.Kind != file.TensorKind {
		kind := file.NoKind
		if in.Type != nil {
			kind = in.Type.Kind
		}
		return nil, dt, fmt.Errorf("its type is %s: want a tensor", kind)
	}
	if dt == (tir.Type{}) {
		var err error
		if dt, err = dtypeOf(in.Type.Elem); err != nil {
			return nil, dt, err
		}
	}
	if isGiven {
		return given.Dims, dt, nil
	}
	if in.Type.Shape == nil {
		return nil, dt, fmt.Errorf("the model does not say its shape: give it, as in --input %s=%s[1,3,224,224]", in.Name,
			tir.TypeName(dt))
	}
	var dims []Dim
	for d, n := range in.Type.Shape {
		switch {
		case n.Name != "":
			dims = append(dims, Dim{Name: n.Name})
		case n.Known:
			dims = append(dims, Dim{Size: n.Size})
		default:
			dims = append(dims, Dim{Name: fmt.Sprintf("%s_%d", in.Name, d)})
		}
	}
	return dims, dt, nil
}

// outputs returns the results of a graph.
func outputs(s *scope, g *file.Graph) ([]*graph.Value, error) {
	var list []*graph.Value
	for _, out := range g.Outputs {
		v := s.find(out.Name)
		if v == nil {
			return nil, fmt.Errorf("output %q is not computed by any node", out.Name)
		}
		if out.Type != nil && out.Type.Kind == file.TensorKind {
			if dt, err := dtypeOf(out.Type.Elem); err == nil && dt != v.DType {
				return nil, fmt.Errorf("output %q is declared with elements of type %s, and computed with %s: correct the "+
					"declaration, or cast the value", out.Name, tir.TypeName(dt), tir.TypeName(v.DType))
			}
		}
		list = append(list, v)
	}
	return list, nil
}

// nodes adds the nodes of a graph. Nodes are usually in an order in which each reads results of earlier ones; others
// are sorted.
func (i *importer) nodes(s *scope, nodes []*file.Node) error {
	waiting := nodes
	for len(waiting) > 0 {
		var later []*file.Node
		for at, n := range waiting {
			if !ready(s, n) {
				later = append(later, n)
				continue
			}
			if err := i.node(s, n, slices.Index(nodes, n)); err != nil {
				return err
			}
			_ = at
		}
		if len(later) == len(waiting) {
			n := later[0]
			at := slices.Index(nodes, n)
			for _, name := range n.Inputs {
				if name != "" && s.find(name) == nil {
					return fmt.Errorf("%s%s (%s) reads %q, which is not computed, or depends on the node itself", s.prefix,
						nodeName(n, at), n.OpType, name)
				}
			}
			return fmt.Errorf("%s%s (%s): a body reads a value that is not computed", s.prefix, nodeName(n, at), n.OpType)
		}
		waiting = later
	}
	return nil
}

func ready(s *scope, n *file.Node) bool {
	for _, name := range n.Inputs {
		if name != "" && s.find(name) == nil {
			return false
		}
	}
	for _, a := range n.Attributes {
		for _, g := range append([]*file.Graph{a.Graph}, a.Graphs...) {
			if g != nil && !bodyReady(s, g) {
				return false
			}
		}
	}
	return true
}

// bodyReady reports whether all values that a body reads of the graph around it are there.
func bodyReady(s *scope, g *file.Graph) bool {
	own := map[string]bool{"": true}
	for _, in := range g.Inputs {
		own[in.Name] = true
	}
	for _, t := range g.Initializers {
		own[t.Name] = true
	}
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			own[name] = true
		}
	}
	for _, n := range g.Nodes {
		for _, name := range n.Inputs {
			if !own[name] && s.find(name) == nil {
				return false
			}
		}
	}
	return true
}
