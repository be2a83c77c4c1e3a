package tir

import "fmt"

// Buffer is memory that is read and written by indices. Two buffers are the same only if they are the same pointer.
type Buffer struct {
	Name      string
	Data      *Var   // the address; of type Handle
	DType     Type   // of an element
	Shape     []Expr // the number of elements of each dimension, outermost first; whole numbers
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

// PrimFunc is a function.
type PrimFunc struct {
	Name    string // under which the module has it
	Params  []*Var
	Buffers map[*Var]*Buffer // what the tensors are that parameters of type Handle stand for
	Result  Type             // Void, but of functions that other functions of the module call
	Body    Stmt
	Attrs   map[string]any // int64, bool, float64, string, *target.Target
}

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
