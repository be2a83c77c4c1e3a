package tir

import "reflect"

// Expr is an expression: *Var, *IntImm, *FloatImm, *StringImm, *Binary, *Not, *Select, *Cast, *BufferLoad,
// *ProducerLoad, *Ramp, *Broadcast, *Shuffle, *Let, *Call, *Reduce, or *Bad. Expressions are shared: they are made, and
// not changed any more.
type Expr interface {
	// DType is the type of the expression's value; Void of one that lacks what has the type.
	DType() Type
	expr()
}

// Var is a variable. Two variables are the same only if they are the same pointer; the name is for readers.
type Var struct {
	Name string
	Type Type
}

// IntImm is a constant of integers, or of truth values (0 and 1). A uint64 beyond int64 is the same 64 bits.
type IntImm struct {
	Type  Type  // one lane
	Value int64 `tir:"int"`
}

// FloatImm is a constant of floating point numbers. It may be an infinity or no number at all.
type FloatImm struct {
	Type  Type    // one lane
	Value float64 `tir:"float"`
}

// StringImm is text, which only calls take.
type StringImm struct {
	Value string `tir:"text"`
}

// Binary is an operation on two values of one type; comparisons and And and Or give truth values.
type Binary struct {
	Op   BinaryOp
	A, B Expr
	memo typeMemo
}

// BinaryOp is what a Binary does.
type BinaryOp uint8

// The operations. Div and Mod round towards zero as C does, FloorDiv and FloorMod towards minus infinity, so that
// FloorMod has the sign of its second operand. Division by zero is not defined for integers. Overflow of signed
// ones isn't either, in that passes take for granted that there is none; what is then computed wraps around, in
// whatever order they leave sums. And and Or do not look at their second operand where the first decides.
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

// String is the operation as the printer writes it.
func (op BinaryOp) String() string {
	if op >= numBinaryOps {
		return "invalid"
	}
	return binaryNames[op]
}

// IsComparison says whether the operation compares.
func (op BinaryOp) IsComparison() bool { return op >= OpEQ && op <= OpGE }

// IsLogical says whether the operation is And or Or.
func (op BinaryOp) IsLogical() bool { return op == OpAnd || op == OpOr }

// Not is the opposite of a truth value.
type Not struct {
	A    Expr `tir:"not"`
	memo typeMemo
}

// Select is Then where Cond is true, else Else. Both may be computed in any case, so that neither may fail.
type Select struct {
	Cond, Then, Else Expr
	memo             typeMemo
}

// Cast is a value as another type: floats to ints towards zero, to bool by comparison with zero. Lanes stay.
type Cast struct {
	Type  Type
	Value Expr `tir:"cast"`
}

// BufferLoad is the element of a buffer at indices, one for each dimension; with a vector for the last one, several
// elements.
type BufferLoad struct {
	Buffer  *Buffer `tir:"load"`
	Indices []Expr
	memo    typeMemo
}

// Producer is a tensor that has a value before it has a buffer, as those of tensor expressions.
type Producer interface {
	ProducerName() string
	ProducerShape() []Expr
	ProducerDType() Type
}

// ProducerLoad is the element of a producer. Lowering replaces it; no generator sees it.
type ProducerLoad struct {
	Producer Producer
	Indices  []Expr
}

// Ramp is the vector Base, Base+Stride, Base+2*Stride, ….
type Ramp struct {
	Base   Expr `tir:"ramp"` // one lane, as Stride
	Stride Expr
	Lanes  int
}

// Broadcast is a vector whose lanes are all Value.
type Broadcast struct {
	Value Expr `tir:"broadcast"` // one lane
	Lanes int
}

// Shuffle is the lanes of vectors, one after another, picked by Indices.
type Shuffle struct {
	Vectors []Expr `tir:"shuffle"`
	Indices []int  // one a lane of the result
}

// Let is Body where Var has a value.
type Let struct {
	Var   *Var `tir:"let,binds"`
	Value Expr
	Body  Expr `tir:"in,scoped"`
	memo  typeMemo
}

// CallKind says who answers a call.
type CallKind uint8

// Who answers a call.
const (
	CallIntrinsic CallKind = iota // the code generator: see Intrinsics
	CallExtern                    // a C function of the name, with C's convention
	CallPacked                    // a function of the name found at run time, by the tvm-ffi convention
	CallFunc                      // another function of the module
	numCallKinds
)

var callKindNames = [numCallKinds]string{"intrin", "extern", "packed", "func"}

// String is the kind as the printer writes it.
func (k CallKind) String() string {
	if k >= numCallKinds {
		return "invalid"
	}
	return callKindNames[k]
}

// Call is a call, whose value is of a type that the caller says.
type Call struct {
	Kind CallKind
	Name string `tir:"call"`
	Type Type
	Args []Expr
}

// Combiner says how a reduction puts values together: of the variables Left (what has been found) and Right (what comes
// now) are computed the Results, beginning with Identity. All have the same length: one for each value that is reduced
// at once.
type Combiner struct {
	Left, Right []*Var
	Results     []Expr
	Identity    []Expr
}

// Reduce is one of the values that a combiner makes of Sources over all points of Axes where Cond holds. Tensor
// expressions have it; no generator sees it.
type Reduce struct {
	Combiner *Combiner
	Sources  []Expr     `tir:",scoped"`
	Axes     []*IterVar `tir:",binds"`
	Cond     Expr       `tir:",scoped,optional"` // nil: everywhere
	Value    int        // which of the combiner's results
}

// Bad is an expression that could not be made. Whatever is made of it is Bad with the same error.
type Bad struct{ Err error }

// Text is the message of the error; errors that panic when they are asked have a message that says so.
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

// UsableProducer says whether a producer is not nil, and can be compared.
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

// DType is the variable's type.
func (e *Var) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType is the constant's type.
func (e *IntImm) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType is the constant's type.
func (e *FloatImm) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType is Handle.
func (e *StringImm) DType() Type { return Handle }

// DType is the operands' type, or bool with as many lanes.
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

// DType is the operand's type.
func (e *Not) DType() Type {
	if e == nil {
		return Void
	}
	return e.memo.of(func() Type { return partType(e.A) })
}

// DType is the type of Then.
func (e *Select) DType() Type {
	if e == nil {
		return Void
	}
	return e.memo.of(func() Type { return partType(e.Then) })
}

// DType is the type that is cast to.
func (e *Cast) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType is the buffer's type, with the lanes of the last index.
func (e *BufferLoad) DType() Type {
	if e == nil || e.Buffer == nil {
		return Void
	}
	return e.memo.of(func() Type { return lanesOf(e.Buffer.DType, e.Indices) })
}

// DType is the producer's type.
func (e *ProducerLoad) DType() Type {
	if e == nil || e.Producer == nil {
		return Void
	}
	return e.Producer.ProducerDType()
}

// DType is that of Base, as a vector.
func (e *Ramp) DType() Type {
	if e == nil {
		return Void
	}
	return Vector(partType(e.Base), e.Lanes)
}

// DType is that of Value, as a vector.
func (e *Broadcast) DType() Type {
	if e == nil {
		return Void
	}
	return Vector(partType(e.Value), e.Lanes)
}

// DType is that of the vectors, with a lane for each index.
func (e *Shuffle) DType() Type {
	if e == nil || len(e.Vectors) == 0 {
		return Void
	}
	return Vector(partType(e.Vectors[0]), len(e.Indices))
}

// DType is the body's type.
func (e *Let) DType() Type {
	if e == nil {
		return Void
	}
	return e.memo.of(func() Type { return partType(e.Body) })
}

// DType is the type that the caller says.
func (e *Call) DType() Type {
	if e == nil {
		return Void
	}
	return e.Type
}

// DType is that of the source.
func (e *Reduce) DType() Type {
	if e == nil || e.Value < 0 || e.Value >= len(e.Sources) {
		return Void
	}
	return partType(e.Sources[e.Value])
}

// DType is Void.
func (e *Bad) DType() Type { return Void }

// partType is the type of a part, Void of one that is missing.
func partType(e Expr) Type {
	if e == nil {
		return Void
	}
	return e.DType()
}

// lanesOf is an element type with the lanes of the last index.
func lanesOf(t Type, indices []Expr) Type {
	if len(indices) == 0 {
		return t
	}
	if lanes := partType(indices[len(indices)-1]).Lanes; lanes > 1 {
		return Vector(t, int(t.Lanes)*int(lanes))
	}
	return t
}
