package tir

import "reflect"

// Expr is an expression: *Var, *IntImm, *FloatImm, *StringImm, *Binary, *Not, *Select, *Cast, *BufferLoad,
// *ProducerLoad, *Ramp, *Broadcast, *Shuffle, *Let, *Call, *Reduce, or *Bad. Several expressions can share a part, so
// that expressions must not be changed once they are made.
type Expr interface {
	// DType returns the type of the expression's value; Void if a part that determines the type is nil.
	DType() Type
	expr()
}

// Var is a variable. Two variables are the same only if they are the same pointer; the name is for readers.
type Var struct {
	Name string
	Type Type
}

// IntImm is a constant of integers or truth values (0 and 1). A uint64 above the maximum of int64 has the same 64 bits.
type IntImm struct {
	Type  Type  // one lane
	Value int64 `tir:"int"`
}

// FloatImm is a constant of floating-point numbers. It may be an infinity or NaN.
type FloatImm struct {
	Type  Type    // one lane
	Value float64 `tir:"float"`
}

// StringImm is text, which can only be an argument of a call.
type StringImm struct {
	Value string `tir:"text"`
}

// Binary is an operation on two values of one type; the result of comparisons, And and Or is a truth value.
type Binary struct {
	Op   BinaryOp
	A, B Expr
	memo typeMemo
}

// BinaryOp is the operation of a Binary.
type BinaryOp uint8

// The operations. Div and Mod round towards zero as in C, FloorDiv and FloorMod towards minus infinity, so that
// FloorMod has the sign of its second operand. Integer division by zero is undefined. So is overflow of signed
// integers: passes assume that there is none and may reorder sums; generated code wraps around. And and Or do not
// evaluate their second operand if the first determines the result.
const (
	OpAdd BinaryOp = iota
	OpSub
	OpMul
	OpDiv
	OpMod
	OpFloorDiv
	OpFloorMod
	OpMin
	OpMax
	OpEQ
	OpNE
	OpLT
	OpLE
	OpGT
	OpGE
	OpAnd
	OpOr
	numBinaryOps
)

var binaryNames = [numBinaryOps]string{"+", "-", "*", "/", "%", "floordiv", "floormod", "min", "max", "==", "!=", "<",
	"<=", ">", ">=", "&&", "||"}

// String returns the operation as the printer writes it.
func (op BinaryOp) String() string {
	if op >= numBinaryOps {
		return "invalid"
	}
	return binaryNames[op]
}

// IsComparison reports whether the operation is a comparison.
func (op BinaryOp) IsComparison() bool { return op >= OpEQ && op <= OpGE }

// IsLogical reports whether the operation is And or Or.
func (op BinaryOp) IsLogical() bool { return op == OpAnd || op == OpOr }

// Not is the negation of a truth value.
type Not struct {
	A    Expr `tir:"not"`
	memo typeMemo
}

// Select is Then where Cond is true, otherwise Else. Both may be evaluated in any case, so that neither may fail.
type Select struct {
	Cond, Then, Else Expr
	memo             typeMemo
}

// Cast converts a value to another type: floats to integers by rounding towards zero, numbers to bool by comparison
// with zero. The number of lanes stays the same.
type Cast struct {
	Type  Type
	Value Expr `tir:"cast"`
}

// BufferLoad reads the element of a buffer at the given indices, one for each dimension. If the last index is a vector,
// it reads several elements.
type BufferLoad struct {
	Buffer  *Buffer `tir:"load"`
	Indices []Expr
	memo    typeMemo
}

// Producer is a tensor whose values are defined by an expression before it has a buffer, such as a tensor of package
// te.
type Producer interface {
	ProducerName() string
	ProducerShape() []Expr
	ProducerDType() Type
}

// ProducerLoad reads an element of a producer. Lowering replaces it; generators do not support it.
type ProducerLoad struct {
	Producer Producer
	Indices  []Expr
}

// Ramp is the vector Base, Base+Stride, Base+2*Stride, ….
type Ramp struct {
	Base   Expr `tir:"ramp"` // of one lane, like Stride
	Stride Expr
	Lanes  int
}

// Broadcast is a vector whose lanes are all Value.
type Broadcast struct {
	Value Expr `tir:"broadcast"` // of one lane
	Lanes int
}

// Shuffle is a vector of lanes of the given vectors: Indices select from the concatenation of all their lanes.
type Shuffle struct {
	Vectors []Expr `tir:"shuffle"`
	Indices []int  // one for each lane of the result
}

// Let is the value of Body, in which Var is bound to Value.
type Let struct {
	Var   *Var `tir:"let,binds"`
	Value Expr
	Body  Expr `tir:"in,scoped"`
	memo  typeMemo
}

// CallKind is the convention of a call, which determines where the callee is found.
type CallKind uint8

// The conventions of calls.
const (
	CallIntrinsic CallKind = iota // of an intrinsic, which code generators implement: see Intrinsics
	CallExtern                    // of a C function with this name, by C's convention
	CallPacked                    // of a function that is looked up by name at run time, by the tvm-ffi convention
	CallFunc                      // of another function of the module
	numCallKinds
)

var callKindNames = [numCallKinds]string{"intrin", "extern", "packed", "func"}

// String returns the kind as the printer writes it.
func (k CallKind) String() string {
	if k >= numCallKinds {
		return "invalid"
	}
	return callKindNames[k]
}

// Call is a call of a function or an intrinsic. The caller declares the type of its result.
type Call struct {
	Kind CallKind
	Name string `tir:"call"`
	Type Type
	Args []Expr
}

// Combiner defines how a reduction combines values: Results are computed from the variables Left (the accumulated
// values) and Right (the next values); Identity holds the initial values. All four have the same length: the number of
// values that are reduced together.
type Combiner struct {
	Left, Right []*Var
	Results     []Expr
	Identity    []Expr
}

// Reduce is one of the results of a reduction of Sources by a combiner, over all points of Axes for which Cond holds.
// Tensor expressions contain it; generators do not support it.
type Reduce struct {
	Combiner *Combiner
	Sources  []Expr     `tir:",scoped"`
	Axes     []*IterVar `tir:",binds"`
	Cond     Expr       `tir:",scoped,optional"` // nil: at all points
	Value    int        // the index of the combiner's result
}

// Bad is an expression that could not be made. Every expression that is made from it is Bad with the same error.
type Bad struct{ Err error }

// Text returns the message of the error. If calling its Error method panics, the result is a message that says so.
func (e *Bad) Text() (text string) {
	if e.Err == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = "an error that cannot be read"
		}
	}()
	return e.Err.Error()
}

// UsableProducer reports whether a producer is not nil and its Go type is comparable.
func UsableProducer(p Producer) bool {
	if p == nil {
		return false
	}
	v := reflect.ValueOf(p)
	return v.Comparable() && !(v.Kind() == reflect.Pointer && v.IsNil())
}

func (*Var) expr()          {}
func (*IntImm) expr()       {}
func (*FloatImm) expr()     {}
func (*StringImm) expr()    {}
func (*Binary) expr()       {}
func (*Not) expr()          {}
func (*Select) expr()       {}
func (*Cast) expr()         {}
func (*BufferLoad) expr()   {}
func (*ProducerLoad) expr() {}
func (*Ramp) expr()         {}
func (*Broadcast) expr()    {}
func (*Shuffle) expr()      {}
func (*Let) expr()          {}
func (*Call) expr()         {}
func (*Reduce) expr()       {}
func (*Bad) expr()          {}

// DType returns the variable's type.
func (e *Var) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType returns the constant's type.
func (e *IntImm) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType returns the constant's type.
func (e *FloatImm) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType returns Handle.
func (e *StringImm) DType() Type { return Handle }

// DType returns the operands' type, or, for comparisons, And and Or, bool with as many lanes.
func (e *Binary) DType() Type {
	if e == nil {
		return Void
	}
	return e.memo.of(func() Type {
		t := partType(e.A)
		if e.Op.IsComparison() {
			return Vector(Bool, int(t.Lanes))
		}
		return t
	})
}

// DType returns the operand's type.
func (e *Not) DType() Type {
	if e == nil {
		return Void
	}
	return e.memo.of(func() Type { return partType(e.A) })
}

// DType returns the type of Then.
func (e *Select) DType() Type {
	if e == nil {
		return Void
	}
	return e.memo.of(func() Type { return partType(e.Then) })
}

// DType returns the type to which the value is converted.
func (e *Cast) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType returns the buffer's type, with the lanes of the last index.
func (e *BufferLoad) DType() Type {
	if e == nil || e.Buffer == nil {
		return Void
	}
	return e.memo.of(func() Type { return lanesOf(e.Buffer.DType, e.Indices) })
}

// DType returns the producer's type.
func (e *ProducerLoad) DType() Type {
	if e == nil || e.Producer == nil {
		return Void
	}
	return e.Producer.ProducerDType()
}

// DType returns the type of Base with Lanes lanes.
func (e *Ramp) DType() Type {
	if e == nil {
		return Void
	}
	return Vector(partType(e.Base), e.Lanes)
}

// DType returns the type of Value with Lanes lanes.
func (e *Broadcast) DType() Type {
	if e == nil {
		return Void
	}
	return Vector(partType(e.Value), e.Lanes)
}

// DType returns the type of the vectors, with one lane for each index.
func (e *Shuffle) DType() Type {
	if e == nil || len(e.Vectors) == 0 {
		return Void
	}
	return Vector(partType(e.Vectors[0]), len(e.Indices))
}

// DType returns the body's type.
func (e *Let) DType() Type {
	if e == nil {
		return Void
	}
	return e.memo.of(func() Type { return partType(e.Body) })
}

// DType returns the type that the caller declares.
func (e *Call) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType returns the type of the source.
func (e *Reduce) DType() Type {
	if e == nil || e.Value < 0 || e.Value >= len(e.Sources) {
		return Void
	}
	return partType(e.Sources[e.Value])
}

// DType returns Void.
func (e *Bad) DType() Type { return Void }

// partType returns the type of a part, Void if the part is nil.
func partType(e Expr) Type {
	if e == nil {
		return Void
	}
	return e.DType()
}

// lanesOf returns an element's type with the lanes of the last index.
func lanesOf(t Type, indices []Expr) Type {
	if len(indices) == 0 {
		return t
	}
	if lanes := partType(indices[len(indices)-1]).Lanes; lanes > 1 {
		return Vector(t, int(t.Lanes)*int(lanes))
	}
	return t
}
