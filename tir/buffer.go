package tir

import (
	"cmp"
	"fmt"
	"slices"

	"tvmgo/tir/internal/printer"
)

// Buffer is memory that is read and written by indices. Two buffers are the same only if they are the same pointer.
type Buffer struct {
	Name      string
	Data      *Var   // the address; of type Handle
	DType     Type   // of an element
	Shape     []Expr // the number of elements of each dimension, outermost first; integers
	Strides   []Expr // elements from one index to the next; nil: compact, the last dimension densest
	Offset    Expr   // of the first element from Data, in elements; nil: 0
	Scope     string // "global", "shared", "local", "warp", "texture", …; "" is "global"
	Alignment int    // of Data, in bytes, that code may rely on; 0: the element's
}

// NewBuffer makes a compact buffer with an address of its own.
func NewBuffer(name string, t Type, shape ...Expr) *Buffer {
	return &Buffer{Name: name, Data: NewVar(name, Handle), DType: t, Shape: shape}
}

// StorageScope is the buffer's scope, "global" where none is said.
func (b *Buffer) StorageScope() string {
	if b.Scope == "" {
		return "global"
	}
	return b.Scope
}

// SizeVars are the variables that a parameter's buffer gives values to: dimensions, strides and the offset that are
// nothing but a variable. The others are nil.
func (b *Buffer) SizeVars() []*Var {
	var all []*Var
	for _, e := range append(append(slices.Clone(b.Shape), b.Strides...), b.Offset) {
		v, _ := e.(*Var)
		all = append(all, v)
	}
	return all
}

// PrimFunc is a function.
type PrimFunc struct {
	Name    string // under which the module has it
	Params  []*Var
	Buffers map[*Var]*Buffer // what the tensors are that parameters of type Handle stand for
	Result  Type             // Void, but of functions that other functions of the module call
	Body    Stmt
	Attrs   map[string]any // int64, bool, float64, string, *target.Target
}

// String is the function as text, which package text reads as a module of one function.
func (f *PrimFunc) String() string { return printed(f) }

// IRModule is functions by name. Its order is that in which they were added.
type IRModule struct {
	Funcs []*PrimFunc
	Attrs map[string]any
}

// NewModule makes a module of functions. Two of one name are an error, and so is one without.
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

// Func is the function of a name, or nil.
func (m *IRModule) Func(name string) *PrimFunc {
	for _, f := range m.Funcs {
		if f != nil && f.Name == name {
			return f
		}
	}
	return nil
}

// BufferParams are the parameters that stand for buffers, in their order; such as are no parameters come last, by name.
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

// String is the module as text, which package text reads.
func (m *IRModule) String() string { return printed(m) }

// printed is a node as package text writes it; it says so if the program does not contain that package.
func printed(node any) string {
	if printer.Print == nil {
		return fmt.Sprintf("<%T: import tvmgo/tir/text to print it>", node)
	}
	return printer.Print(node)
}
