// Package relaxjson reads Relax functions in the JSON of Apache TVM's tvm.ir.save_json, of all its versions, into
// plain structures: a [Function] has parameters and blocks of bindings, whose values are calls of operators, tuples,
// constants and so on. Operators and their attributes are not interpreted: [Attrs] gives their values to who knows
// them.
//
// PrimFuncs of the same module become loops by package tir/tvmjson.
package relaxjson

import (
	"tvmgo/blob"
	"tvmgo/tir"
)

// Module is a module with Relax functions and PrimFuncs.
type Module struct {
	Functions []*Function
	Loops     *tir.IRModule // the PrimFuncs, not checked
	Version   string        // of TVM; "" if the file does not say it
}

// Function is a Relax function.
type Function struct {
	Name   string // in the module; "" for a function that is a value
	Symbol string // under which it is exported; "" if it is not
	Params []*Var
	Body   Expr // mostly a *Seq
	Result Type // nil: not known
	Pure   bool
}

// Expr is a value: *Var, *Call, *Tuple, *Item, *Constant, *Shape, *Prim, *Text, *DataType, *If, *Seq, *Op, *Global,
// *Extern or *Function.
type Expr interface{ expr() }

// Var is a variable; the same one is the same pointer.
type Var struct {
	Name     string
	Type     Type     // nil: not known
	Dataflow bool     // it is known within its block only
	Size     tir.Expr // what the variable is in shapes; nil if it is in none
}

// Call is a call of an operator (*Op), of a function of the module (*Global), of a function that is found by name at
// run time (*Extern), or of a value. call_tir and the like are operators, with the callee as the first argument.
type Call struct {
	Callee   Expr
	Args     []Expr
	Attrs    Attrs
	TypeArgs []Type // of the results of call_tir, call_dps_packed, …
	Type     Type   // of the result; nil: not known
}

// Tuple makes a tuple of values.
type Tuple struct{ Fields []Expr }

// Item is an element of a tuple.
type Item struct {
	Tuple Expr
	Index int
}

// Constant is a tensor.
type Constant struct{ Value blob.Tensor }

// Shape is a shape as a value.
type Shape struct{ Dims []tir.Expr }

// Prim is an integer, or another scalar, as a value.
type Prim struct{ Value tir.Expr }

// Text is a text as a value.
type Text struct{ Value string }

// DataType is the type of elements as a value.
type DataType struct{ Value tir.Type }

// If is one of two values.
type If struct{ Cond, Then, Else Expr }

// Seq executes blocks of bindings, one after the other; its value is Body.
type Seq struct {
	Blocks []Block
	Body   Expr
}

// Block is a list of bindings. In a block of dataflow nothing has an effect but its values.
type Block struct {
	Dataflow bool
	Bindings []Binding
}

// Binding gives a variable a value. With Match, the value has to be of that type, and new variables in its shape get
// the sizes that the value has.
type Binding struct {
	Var   *Var
	Value Expr
	Match Type
}

// Op is an operator, such as "relax.matmul".
type Op struct{ Name string }

// Global is a function of the module.
type Global struct{ Name string }

// Extern is a function that is found by name at run time.
type Extern struct{ Name string }

func (*Var) expr()      {}
func (*Call) expr()     {}
func (*Tuple) expr()    {}
func (*Item) expr()     {}
func (*Constant) expr() {}
func (*Shape) expr()    {}
func (*Prim) expr()     {}
func (*Text) expr()     {}
func (*DataType) expr() {}
func (*If) expr()       {}
func (*Seq) expr()      {}
func (*Op) expr()       {}
func (*Global) expr()   {}
func (*Extern) expr()   {}
func (*Function) expr() {}

// Type is the type of a value: *TensorType, *ShapeType, *TupleType, *PrimType, *FuncType or *ObjectType. TVM up to
// v0.25 calls it struct info.
type Type interface{ typ() }

// TensorType is the type of tensors.
type TensorType struct {
	Dims  []tir.Expr // nil: not known, unless NDim is 0
	NDim  int        // -1: not known
	DType tir.Type   // Void: not known
}

// ShapeType is the type of shapes.
type ShapeType struct {
	Dims []tir.Expr // nil: not known, unless NDim is 0
	NDim int        // -1: not known
}

// TupleType is the type of tuples.
type TupleType struct{ Fields []Type }

// PrimType is the type of scalars.
type PrimType struct {
	DType tir.Type
	Value tir.Expr // nil: not known
}

// FuncType is the type of functions.
type FuncType struct {
	Params []Type // nil: any
	Result Type
}

// ObjectType is the type of anything else.
type ObjectType struct{}

func (*TensorType) typ() {}
func (*ShapeType) typ()  {}
func (*TupleType) typ()  {}
func (*PrimType) typ()   {}
func (*FuncType) typ()   {}
func (*ObjectType) typ() {}
