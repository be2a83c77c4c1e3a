package tir

import (
	"cmp"
	"fmt"
	"slices"

	"tvmgo/tir/internal/printer"
)

// Buffer is memory whose elements are accessed by indices. Two buffers are the same only if they are the same pointer.
type Buffer struct {
	Name      string
	Data      *Var   // the address; of type Handle
	DType     Type   // the type of an element
	Shape     []Expr // the number of elements of each dimension, outermost first; integers
	Strides   []Expr // elements from one index to the next; nil: compact, the last dimension densest
	Offset    Expr   // of the first element from Data, in elements; nil: 0
	Scope     string // "global", "shared", "local", "warp", "texture", …; "" is "global"
	Alignment int    // of Data in bytes, which generated code may rely on; 0: that of an element
}

// NewBuffer returns a new compact buffer with a new variable for its address.
func NewBuffer(name string, t Type, shape ...Expr) *Buffer {
	return &Buffer{Name: name, Data: NewVar(name, Handle), DType: t, Shape: shape}
}

// StorageScope returns the buffer's scope: "global" if Scope is empty.
func (b *Buffer) StorageScope() string {
	if b.Scope == "" {
		return "global"
	}
	return b.Scope
}

// SizeVars lists the shape, the strides and the offset of a parameter's buffer. An entry is non-nil only if it is just
// a variable: the caller's tensor then determines the variable's value.
func (b *Buffer) SizeVars() []*Var {
	var all []*Var
	for _, e := range append(append(slices.Clone(b.Shape), b.Strides...), b.Offset) {
		v, _ := e.(*Var)
		all = append(all, v)
	}
	return all
}

// PrimFunc is a function: its parameters and its body.
type PrimFunc struct {
	Name    string // unique within the module
	Params  []*Var
	Buffers map[*Var]*Buffer // the tensors that parameters of type Handle are addresses of
	Result  Type             // Void, except for functions that other functions of the module call
	Body    Stmt
	Attrs   map[string]any // int64, bool, float64, string, *target.Target
}

// String returns the function as text, which package text parses as a module with one function.
func (f *PrimFunc) String() string { return printed(f) }

// IRModule is a list of functions with unique names, in the order in which they were added.
type IRModule struct {
	Funcs []*PrimFunc
	Attrs map[string]any
}

// NewModule returns a module of the given functions. It is an error if one is nil or unnamed, or if two have the same
// name.
func NewModule(funcs ...*PrimFunc) (*IRModule, error) {
	m := &IRModule{Attrs: map[string]any{}}
	for _, f := range funcs {
		if f == nil {
			return nil, fmt.Errorf("tir: new module: a function is nil")
		}
		if f.Name == "" {
			return nil, fmt.Errorf("tir: new module: a function has no name")
		}
		if m.Func(f.Name) != nil {
			return nil, fmt.Errorf("tir: new module: two functions are named %q: give one another name", f.Name)
		}
		m.Funcs = append(m.Funcs, f)
	}
	return m, nil
}

// Func returns the function with the given name, or nil.
func (m *IRModule) Func(name string) *PrimFunc {
	for _, f := range m.Funcs {
		if f != nil && f.Name == name {
			return f
		}
	}
	return nil
}

// BufferParams returns the parameters that have buffers, in order. Keys of Buffers that are no parameters come last,
// sorted by name.
func (f *PrimFunc) BufferParams() []*Var {
	var list []*Var
	for _, v := range f.Params {
		if f.Buffers[v] != nil && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	known := len(list)
	for v, b := range f.Buffers {
		if v != nil && b != nil && !slices.Contains(list[:known], v) {
			list = append(list, v)
		}
	}
	slices.SortStableFunc(list[known:], func(a, b *Var) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// String returns the module as text, which package text parses.
func (m *IRModule) String() string { return printed(m) }

// printed returns a node as package text prints it, or, if the program does not contain that package, a message.
func printed(node any) string {
	if printer.Print == nil {
		return fmt.Sprintf("<%T: import tvmgo/tir/text to print it>", node)
	}
	return printer.Print(node)
}
