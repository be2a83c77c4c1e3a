package graph

import (
	"fmt"
	"math"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// Function is a part of a model that can be called. Nodes are in an order in which each reads results of earlier ones.
// It is not safe for concurrent use while it is built.
type Function struct {
	Name    string
	Params  []*Value
	Results []*Value
	// ResultNames are what callers of the model call its results; nil if they have no names. The values may have others.
	ResultNames []string
	Nodes       []*Node

	symbols map[string]*tir.Var // by name
	fresh   int                 // the number of variables that NewSymbol made
	read    map[*tir.Var]bool   // elements that are read when the model runs
	varying map[*tir.Var]bool   // sizes that change between iterations of a loop
	ranges  map[*tir.Var]Range  // of sizes that have one
	outer   *Function           // of a body: the function whose values it may read
	consts  map[*Value]*Value   // results of Elements nodes, by operand
}

// Value is a tensor of a function: a parameter, a constant, or a result of a node.
type Value struct {
	Name  string
	DType tir.Type
	Shape []tir.Expr // of type int32
	Const *Const     // of a constant
	Node  *Node      // whose result it is; nil for parameters and constants

	elems  []tir.Expr // the elements, if they are known when the model is compiled; nil otherwise
	folded *Const     // made of elems
}

// Const is the data of a constant: its elements in row-major order, little-endian, as package dlpack describes them. It
// may be a view of a mapped file, which has to stay mapped while the function is used.
type Const struct{ Data []byte }

// Node applies an operator.
type Node struct {
	Op      *Op
	Attrs   Attrs
	Inputs  []*Value // nil for operands that are left out
	Outputs []*Value
	Bodies  []*Function // of control flow; they may read values of the function around them
	Kernel  *Kernel     // what a node of kind Loops calls
	fn      *Function   // that it is in
	Source  string      // where the model has it, for errors: `node "conv1" (Conv)`; may be empty
	checks  []Check     // of the formulas that were made last
}

// NewFunction makes a function without nodes.
func NewFunction(name string) *Function {
	return &Function{Name: name, symbols: map[string]*tir.Var{}, consts: map[*Value]*Value{}, read: map[*tir.Var]bool{}}
}

// Body makes a function for Node.Bodies, whose nodes may read values of f and use its symbols.
func (f *Function) Body(name string) *Function {
	return &Function{Name: name, outer: f, consts: map[*Value]*Value{}}
}

// root returns the function that owns the symbols.
func (f *Function) root() *Function {
	for f.outer != nil {
		f = f.outer
	}
	return f
}

// Symbol returns the variable of a name, which stands for a size that is known at run time.
func (f *Function) Symbol(name string) *tir.Var {
	r := f.root()
	v := r.symbols[name]
	if v == nil {
		v = tir.NewVar(name, tir.Int32)
		r.symbols[name] = v
	}
	return v
}

// NewSymbol returns a variable that no other size has.
func (f *Function) NewSymbol() *tir.Var {
	r := f.root()
	for {
		name := fmt.Sprintf("s%d", r.fresh)
		if r.fresh++; r.symbols[name] == nil {
			return r.Symbol(name)
		}
	}
}

// Param adds a parameter. Sizes are of type int32.
func (f *Function) Param(name string, t tir.Type, shape ...tir.Expr) *Value {
	v := &Value{Name: name, DType: t, Shape: shape}
	f.Params = append(f.Params, v)
	return v
}

// Const makes a constant. data holds the elements as Const describes; the function keeps it.
func (f *Function) Const(name string, t tir.Type, shape []int64, data []byte) (*Value, error) {
	v := &Value{Name: name, DType: t, Const: &Const{Data: data}}
	for d, n := range shape {
		if n < 0 || n > math.MaxInt32 {
			return nil, fmt.Errorf("constant %q: dimension %d is %d: want 0 to %d", name, d, n, math.MaxInt32)
		}
		v.Shape = append(v.Shape, tir.I32(int32(n)))
	}
	if want, err := dlpack.DataSize(shape, t); err != nil {
		return nil, fmt.Errorf("constant %q: %w", name, err)
	} else if want != int64(len(data)) {
		return nil, fmt.Errorf("constant %q of type %s and shape %v has %d bytes: want %d", name, t, shape, len(data), want)
	}
	return v, nil
}

// Ints makes a constant of type int64 with one dimension.
func (f *Function) Ints(name string, values ...int64) *Value {
	v, err := f.Const(name, tir.Int64, []int64{int64(len(values))}, encodeInts(values))
	if err != nil {
		panic(err) // the data has the size
	}
	return v
}

// Scalar makes a constant of one element without dimensions.
func (f *Function) Scalar(t tir.Type, value float64) (*Value, error) {
	e := tir.Const(t, value)
	if bad, ok := e.(*tir.Bad); ok {
		return nil, fmt.Errorf("constant %g: %w", value, bad.Err)
	}
	data, ok := encode(t, e)
	if !ok {
		return nil, fmt.Errorf("constant %g: elements of type %s are not supported", value, t)
	}
	return f.Const("", t, nil, data)
}

// Return sets the results.
func (f *Function) Return(results ...*Value) { f.Results = results }

// StaticShape returns the dimensions of the value if all are constants.
func (v *Value) StaticShape() ([]int64, bool) {
	shape := make([]int64, len(v.Shape))
	for d, n := range v.Shape {
		c, ok := n.(*tir.IntImm)
		if !ok {
			return nil, false
		}
		shape[d] = c.Value
	}
	return shape, true
}

// size returns the number of elements if it is constant and at most limit.
func (v *Value) size(limit int64) (int64, bool) {
	shape, ok := v.StaticShape()
	if !ok {
		return 0, false
	}
	n, err := dlpack.NumElements(shape)
	return n, err == nil && n <= limit
}

// String describes the value for errors: x: float32[n, 8].
func (v *Value) String() string {
	return fmt.Sprintf("%s: %s%s", v.Name, tir.TypeName(v.DType), shapeText(v.Shape))
}

// What names a node in errors.
func (n *Node) What() string {
	if n.Source != "" {
		return n.Source
	}
	name := "operator " + n.Op.Name
	if len(n.Outputs) > 0 && n.Outputs[0].Name != "" {
		name += fmt.Sprintf(" of value %q", n.Outputs[0].Name)
	}
	return name
}
