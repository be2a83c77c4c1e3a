// Package modelcall compares the arguments of a model's function with its signature before the call: their names and
// number, types, shapes, and the values of symbolic dimensions. It also says which arguments of several calls can be
// stacked into one call. It knows arguments by their descriptions alone, so that it does not depend on package runtime.
package modelcall

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/dlpack"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values. Types have those up to Callable.
const (
	Any Kind = iota // not known
	Tensor
	Shape
	Tuple
	Number // of a type: an integer, a float or a bool
	Callable
	None
	Int // also a bool
	Float
	Other
)

// Type is the type of a parameter or a result. Dims has NDim dimensions, each a number, a symbol, an expression of
// symbols or "" (not known); NDim is -1 if the number is not known.
type Type struct {
	Kind   Kind
	DType  dlpack.DataType // of a tensor or number; the zero value if it is not fixed
	NDim   int             // of a tensor or shape
	Dims   []string
	Fields []Type // of a tuple
}

// String is like "float32[n, 16]", "shape[n]", "(int64, float32[])", "tensor" or "any".
func (t Type) String() string {
	known := t.DType != dlpack.DataType{}
	switch t.Kind {
	case Tensor, Shape:
		name := "tensor"
		if t.Kind == Shape {
			name = "shape"
		} else if known {
			name = t.DType.String()
		}
		if t.NDim >= 0 {
			return name + "[" + strings.Join(t.dims(), ", ") + "]"
		}
		if known && t.Kind == Tensor {
			return name + "[...]"
		}
		return name
	case Tuple:
		fields := make([]string, len(t.Fields))
		for i := range t.Fields {
			fields[i] = t.Fields[i].String()
		}
		return "(" + strings.Join(fields, ", ") + ")"
	case Number:
		if known {
			return t.DType.String()
		}
		return "number"
	case Callable:
		return "function"
	}
	return "any"
}

func (t Type) dims() []string {
	dims := make([]string, t.NDim)
	for i := range dims {
		dims[i] = "?"
		if i < len(t.Dims) && t.Dims[i] != "" {
			dims[i] = t.Dims[i]
		}
	}
	return dims
}

// Parameter is a parameter of a function. A bound one has a value already.
type Parameter struct {
	Name  string // "" if it has none
	Type  Type
	Bound bool
}

// Function checks the arguments of a function. It is immutable.
type Function struct {
	params  []Parameter
	types   []checked // of the parameters
	result  checked
	free    []int // the parameters that are not bound
	all     []int
	symbols []string
	stacked []bool // see Stacked
	noun    string // what errors call a parameter
}

// New prepares the checks of a function.
func New(params []Parameter, result Type) *Function {
	f := &Function{params: params, noun: "parameter"}
	for i, p := range params {
		f.types = append(f.types, f.compile(p.Type))
		f.all = append(f.all, i)
		if !p.Bound {
			f.free = append(f.free, i)
		}
	}
	f.result = f.compile(result)
	f.stacked = f.findStacked()
	return f
}

// Label names a parameter in errors.
func (f *Function) Label(i int) string {
	if f.params[i].Name == "" {
		return fmt.Sprintf("%s %d", f.noun, i)
	}
	return f.noun + " " + f.params[i].Name
}

// listed names parameters, for errors.
func (f *Function) listed(of []int) string {
	names := make([]string, len(of))
	for i, p := range of {
		names[i] = f.params[p].Name
		if names[i] == "" {
			names[i] = fmt.Sprint(p)
		}
	}
	return strings.Join(names, ", ")
}

// Parameters returns the parameters that n arguments in order are for: those that are not bound, or all of them.
func (f *Function) Parameters(n int) ([]int, error) {
	switch n {
	case len(f.free):
		return f.free, nil
	case len(f.all):
		return f.all, nil
	}
	expected := fmt.Sprintf("%d (%s)", len(f.free), f.listed(f.free))
	if len(f.free) == 0 {
		expected = "none"
	}
	if len(f.free) < len(f.all) {
		expected += fmt.Sprintf(", or all %d with the bound ones", len(f.all))
	}
	problem := "surplus"
	if n < len(f.free) {
		problem = "missing"
	} else if n > len(f.free) && n < len(f.all) {
		problem = "surplus or missing"
	}
	return nil, fmt.Errorf("%s inputs: expected %s, got %d", problem, expected, n)
}

// Order returns the arguments in the order of parameters, which are those that are not bound, or all of them.
func (f *Function) Order(named map[string]any) ([]any, error) {
	names := make([]string, 0, len(f.params))
	for _, p := range f.params {
		names = append(names, p.Name)
	}
	of, surplus := f.free, ""
	for name := range named {
		switch i := slices.Index(names, name); {
		case name == "" || i < 0:
			if surplus == "" || name < surplus {
				surplus = name
			}
			if name == "" {
				return nil, fmt.Errorf("an input has no name: give the inputs in order")
			}
		case f.params[i].Bound:
			of = f.all
		}
	}
	if surplus != "" {
		return nil, unknown(surplus, names)
	}
	list := make([]any, len(of))
	var missing, unnamed []int
	for i, p := range of {
		value, ok := named[names[p]]
		switch {
		case names[p] == "":
			unnamed = append(unnamed, p)
		case !ok:
			missing = append(missing, p)
		}
		list[i] = value
	}
	if len(unnamed) > 0 {
		return nil, fmt.Errorf("parameters have no names (%s): give the inputs in order", f.listed(unnamed))
	}
	if len(missing) == 0 {
		return list, nil
	}
	for _, p := range missing {
		if !f.params[p].Bound {
			return nil, fmt.Errorf("missing inputs: %s", f.listed(missing))
		}
	}
	return nil, fmt.Errorf("some inputs are for bound parameters: leave these out, or give all, also %s",
		f.listed(missing))
}
