package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
)

// Value describes a parameter or the result of a function of a model, as far as the file tells.
type Value struct {
	Name   string   `json:"name,omitempty"`
	Kind   string   `json:"kind"`             // "tensor", "shape", "tuple", "number", "function" or "any"
	Type   string   `json:"type,omitempty"`   // that of TVM's scripts, or float32[1,16]; absent if not known
	DType  string   `json:"dtype,omitempty"`  // of a tensor or number
	NDim   int      `json:"ndim"`             // dimensions of a tensor or shape; -1 if it is not known
	Dims   []string `json:"dims,omitempty"`   // of a tensor or shape: "16", "n", "n * 2"
	Fields []Value  `json:"fields,omitempty"` // of a tuple
}

var valueKinds = map[vmcode.TypeKind]string{
	vmcode.AnyType: "any", vmcode.TensorType: "tensor", vmcode.ShapeType: "shape", vmcode.TupleType: "tuple",
	vmcode.NumberType: "number", vmcode.FunctionType: "function",
}

func valueOf(name string, t vmcode.Type) Value {
	v := Value{Name: name, Kind: valueKinds[t.Kind], Type: t.Text, NDim: t.Rank, Dims: t.Dims}
	if t.Text == "" {
		v.NDim = -1
	}
	if t.DType != (dlpack.DataType{}) {
		v.DType = t.DType.String()
	}
	for _, f := range t.Fields {
		v.Fields = append(v.Fields, valueOf(f.Name, f))
	}
	return v
}

// resultNames returns the name of a result, or those of its fields, behind a space: " y", " (y, label)"; "" if there
// are none.
func (v *Value) resultNames() string {
	if v.Name != "" {
		return " " + Shown(v.Name)
	}
	names, some := make([]string, len(v.Fields)), false
	for i, f := range v.Fields {
		names[i], some = Shown(f.Name), some || f.Name != ""
	}
	if !some {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// Parameter is a parameter of a function.
type Parameter struct {
	Index int `json:"index"`
	Value
	// Use is a function of the library that takes the parameter as it is. It is only set if the type is not known.
	Use *Use `json:"use,omitempty"`
}

// Use is a parameter of a function of the library.
type Use struct {
	Function string `json:"function"`
	Type     string `json:"type"` // as in the function's signature
}

// addUses finds the types of parameters that the executable does not check, such as weights: those of the first
// function with a known signature that is called with the parameter.
func addUses(e *vmcode.Executable, f *vmcode.Function, list []Parameter, types map[string][]string) {
	unknown := map[int64]*Parameter{}
	for i := range list {
		if p := &list[i]; p.Type == "" {
			unknown[int64(p.Index)] = p
		}
	}
	for pc := f.Begin; pc < f.End && len(unknown) > 0; pc++ {
		in := &e.Code[pc]
		if in.Op != vmcode.Call {
			continue
		}
		name := e.Functions[in.Callee].Name
		takes := types[name]
		for k, a := range in.Args {
			if p := unknown[a.Value]; a.Kind == vmcode.InRegister && p != nil && len(takes) == len(in.Args) {
				p.Use = &Use{name, takes[k]}
				delete(unknown, a.Value)
			}
		}
		delete(unknown, int64(in.Dst)) // the register has another value from here on
	}
}

// parametersOf lists the parameters that have a name or a type: an executable can have many others.
func parametersOf(f *vmcode.Function, s *vmcode.Signature) []Parameter {
	list := []Parameter{}
	for i, name := range f.Parameters {
		if t, typed := s.Parameters[i]; typed || name != "" {
			list = append(list, Parameter{Index: i, Value: valueOf(name, t)})
		}
	}
	for _, i := range slices.Sorted(maps.Keys(s.Parameters)) {
		if i >= len(f.Parameters) {
			list = append(list, Parameter{Index: i, Value: valueOf("", s.Parameters[i])})
		}
	}
	return list
}

// title returns the name of the parameter, or its register.
func (p *Parameter) title() string {
	if p.Name == "" {
		return fmt.Sprintf("%%%d", p.Index)
	}
	return Shown(p.Name)
}

// parameters lists the names of the parameters. There may be many without names.
func (f *ProgramFunction) parameters() string {
	const most = 16
	var names []string
	rest := f.Parameters
	for i := range f.Arity {
		p := Parameter{Index: i}
		if len(rest) > 0 && rest[0].Index == i {
			p, rest = rest[0], rest[1:]
		}
		if i >= most && p.Name == "" && len(rest) == 0 {
			names = append(names, fmt.Sprintf("… %%%d", f.Arity-1))
			break
		}
		names = append(names, p.title())
	}
	return strings.Join(names, ", ")
}
