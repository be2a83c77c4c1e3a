package relax

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/graph/onnx"
	"tvmgo/internal/relaxjson"
	"tvmgo/tir"
	"tvmgo/tir/tvmjson"
)

// Options say how a model is read; they are those of ONNX's models. Names of dimensions are those of the variables in
// shapes. Files of package onnx hold the values of Constants.
type Options = onnx.Options

// Model is what a module becomes.
type Model struct {
	// Functions are those that the module exports, or without such, those that no other one calls.
	Functions []*graph.Function
	// Weights are the constants that Options.Parameters made parameters of each function, behind its others, in the order
	// of these parameters and with the same names. A module with several functions has none.
	Weights []*graph.Value
}

// UnsupportedError lists the calls of a module that cannot be read.
type UnsupportedError struct{ Calls []UnsupportedCall }

// UnsupportedCall is a call of an operator that is not known.
type UnsupportedCall struct {
	Function, Binding string // where it is: the names of the function and of the variable
	Op                string // its name, or what else is called
}

// Error lists the calls.
func (e *UnsupportedError) Error() string {
	lines := make([]string, len(e.Calls))
	for i, c := range e.Calls {
		lines[i] = fmt.Sprintf("%s: %s", place(c.Function, c.Binding), c.Op)
	}
	return "these calls are not supported: " + strings.Join(lines, "; ")
}

// place names a binding in errors.
func place(function, binding string) string {
	if binding == "" {
		return "function " + function
	}
	return fmt.Sprintf("function %s, %s", function, binding)
}

// IsModule reports whether a text is JSON that tvm.ir.save_json has written.
func IsModule(text []byte) bool { return tvmjson.IsTVM(text) }

// Import reads a module. The error lists all calls that are not supported (UnsupportedError), or names the binding that
// is wrong.
func Import(text []byte, o Options) (*Model, error) {
	m, err := importModule(text, o)
	if err != nil {
		return nil, fmt.Errorf("import Relax module: %w", err)
	}
	return m, nil
}

func importModule(text []byte, o Options) (*Model, error) {
	m, err := relaxjson.Unmarshal(text)
	if err != nil {
		return nil, err
	}
	if err := tir.Check(m.Loops); err != nil {
		return nil, err
	}
	i := &importer{options: o, module: m, functions: map[string]*relaxjson.Function{}}
	for _, f := range m.Functions {
		i.functions[f.Name] = f
	}
	roots := i.roots()
	if len(roots) == 0 {
		return nil, errors.New("it has no Relax function to compile: tvmgo build compiles PrimFuncs")
	}
	if o.Parameters && len(roots) > 1 {
		return nil, fmt.Errorf("weights can be parameters of one function, and it exports %d: leave --params out", len(roots))
	}
	if list := i.unsupported(roots); len(list) > 0 {
		return nil, &UnsupportedError{list}
	}
	out := &Model{}
	for _, f := range roots {
		g, err := i.root(f)
		if err != nil {
			return nil, err
		}
		out.Functions = append(out.Functions, g)
	}
	if err := i.checkOptions(roots); err != nil {
		return nil, err
	}
	out.Weights = i.weights
	return out, nil
}

// importer is the state of Import.
type importer struct {
	options   Options
	module    *relaxjson.Module
	functions map[string]*relaxjson.Function
	fn        *graph.Function // the one that is made
	constants map[*relaxjson.Constant]*graph.Value
	weights   []*graph.Value
	behind    []*graph.Value // parameters for weights
	depth     int            // of expressions in expressions, and of calls
	work      int            // bindings, calls and values that were made
	dims      []string       // the names of dimensions of parameters
}

// The limits of conversion: a small file may have functions that call each other twice, and so on.
const (
	maxDepth = 200
	maxWork  = 1 << 17
)

// worked counts n bindings, calls or values.
func (i *importer) worked(n int) {
	if i.work += n; i.work > maxWork {
		fail("the module has more than %d bindings, calls and values, with those of functions that are called", maxWork)
	}
}

// roots returns the functions that are compiled.
func (i *importer) roots() []*relaxjson.Function {
	var exported, roots []*relaxjson.Function
	called := map[string]bool{}
	for _, f := range i.module.Functions {
		if f.Symbol != "" {
			exported = append(exported, f)
		}
		walk(f.Body, func(e relaxjson.Expr, _ string) {
			if g, ok := e.(*relaxjson.Global); ok && g.Name != f.Name {
				called[g.Name] = true
			}
		})
	}
	if len(exported) > 0 {
		return exported
	}
	for _, f := range i.module.Functions {
		if !called[f.Name] {
			roots = append(roots, f)
		}
	}
	return roots
}

// name returns the name of a function that is compiled.
func name(f *relaxjson.Function) string {
	if f.Symbol != "" {
		return f.Symbol
	}
	return f.Name
}

// unsupported lists the calls that have no rule, of functions and of those that they call.
func (i *importer) unsupported(roots []*relaxjson.Function) []UnsupportedCall {
	var list []UnsupportedCall
	seen := map[string]bool{}
	todo := slices.Clone(roots)
	for len(todo) > 0 {
		f := todo[0]
		todo = todo[1:]
		if seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		walk(f.Body, func(e relaxjson.Expr, binding string) {
			if g, ok := e.(*relaxjson.Global); ok && i.functions[g.Name] != nil {
				todo = append(todo, i.functions[g.Name])
			}
			c, ok := e.(*relaxjson.Call)
			if !ok {
				return
			}
			what := ""
			switch callee := c.Callee.(type) {
			case *relaxjson.Op:
				if rules[callee.Name] == nil {
					what = "operator " + callee.Name
				}
				if len(c.Args) > 0 && what != "" {
					if f, ok := c.Args[0].(*relaxjson.Extern); ok {
						what += fmt.Sprintf(" of function %q", f.Name)
					}
				}
			case *relaxjson.Extern:
				what = external(callee)
			}
			if what != "" {
				list = append(list, UnsupportedCall{f.Name, binding, what})
			}
		})
	}
	return list
}

func external(f *relaxjson.Extern) string {
	return fmt.Sprintf("call of function %q, which is found at run time", f.Name)
}

// walk calls visit for each part of an expression, with the name of the variable that it is a part of the value of.
func walk(e relaxjson.Expr, visit func(e relaxjson.Expr, binding string)) { walkIn(e, "", visit) }

func walkIn(e relaxjson.Expr, binding string, visit func(e relaxjson.Expr, binding string)) {
	visit(e, binding)
	parts := func(list ...relaxjson.Expr) {
		for _, p := range list {
			walkIn(p, binding, visit)
		}
	}
	switch e := e.(type) {
	case *relaxjson.Call:
		parts(e.Callee)
		parts(e.Args...)
	case *relaxjson.Tuple:
		parts(e.Fields...)
	case *relaxjson.Item:
		parts(e.Tuple)
	case *relaxjson.If:
		parts(e.Cond, e.Then, e.Else)
	case *relaxjson.Function:
		parts(e.Body)
	case *relaxjson.Seq:
		for _, b := range e.Blocks {
			for _, x := range b.Bindings {
				walkIn(x.Value, x.Var.Name, visit)
			}
		}
		parts(e.Body)
	}
}

// root makes the function of package graph for a function that is compiled.
func (i *importer) root(f *relaxjson.Function) (g *graph.Function, err error) {
	i.fn = graph.NewFunction(name(f))
	i.constants = map[*relaxjson.Constant]*graph.Value{}
	s := newScope(nil, i.fn, f.Name)
	defer catch(&err, func(err error) error { return at(place(f.Name, ""), err) })
	for _, p := range f.Params {
		reserve(i.fn, p.Type)
	}
	for _, p := range f.Params {
		i.bind(s, p, i.parameter(s, p.Name, p.Type))
	}
	results := i.tensors(s, i.expr(s, f.Body, ""))
	i.fn.Params = append(i.fn.Params, i.behind...)
	i.fn.Return(results...)
	return i.fn, nil
}

// checkOptions returns an error if options name what the module does not have.
func (i *importer) checkOptions(roots []*relaxjson.Function) error {
	for name := range i.options.Dims {
		if !slices.Contains(i.dims, name) {
			has := "all sizes are constants"
			if len(i.dims) > 0 {
				has = "it has " + strings.Join(i.dims, ", ")
			}
			return fmt.Errorf("the parameters have no dimension %q: %s", name, has)
		}
	}
	var names []string
	for _, f := range roots {
		for _, p := range f.Params {
			names = append(names, p.Name)
		}
	}
	given := []string{}
	for name := range i.options.Inputs {
		given = append(given, name)
	}
	for name := range i.options.Constants {
		given = append(given, name)
	}
	for _, name := range given {
		base, _, _ := strings.Cut(name, ".")
		if !slices.Contains(names, name) && !slices.Contains(names, base) {
			return fmt.Errorf("the model has no input %q: it has %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// smallest is the number of elements from which on a constant is a parameter.
const smallest = 257

// constant returns the value of a constant.
func (i *importer) constant(c *relaxjson.Constant) *graph.Value {
	if v := i.constants[c]; v != nil {
		return v
	}
	t := elementType(c.Value.DType)
	n, err := dlpack.NumElements(c.Value.Shape)
	if err != nil {
		fail("a constant: %w", err)
	}
	data := c.Value.Data
	if size, err := dlpack.DataSize(c.Value.Shape, t); err == nil && size < int64(len(data)) {
		data = data[:size] // files state the size with a byte for each element of fewer bits
	}
	v, err := i.fn.Const("", t, c.Value.Shape, data)
	if err != nil {
		fail("%w", err)
	}
	if i.options.Parameters && n >= smallest {
		v.Name = fmt.Sprintf("weight%d", len(i.weights))
		i.weights = append(i.weights, v)
		v = &graph.Value{Name: v.Name, DType: v.DType, Shape: v.Shape}
		i.behind = append(i.behind, v)
	}
	i.constants[c] = v
	return v
}

// elementType returns a type that code for elements has.
func elementType(t tir.Type) tir.Type {
	if err := tir.CheckType(t); err != nil || t == tir.Void {
		fail("elements of type %s are not supported: want integers, floats, or bool", t)
	}
	return t
}
