package tir

import (
	"fmt"
	"math"
)

// NewVar makes a variable.
func NewVar(name string, t Type) *Var { return &Var{Name: name, Type: t} }

// Const is a constant of a type: of integers, truth values, or floats, and with several lanes a Broadcast of it.
// Floats become the nearest one of the type. It is Bad where the type cannot have the value.
func Const(t Type, v float64) Expr {
	if IsInt(t) || IsBool(t) {
		switch {
		case Element(t) == UInt64 && CheckType(t) == nil && v == math.Trunc(v) && v >= 1<<63 && v < 1<<64:
			return spread(&IntImm{UInt64, int64(uint64(v))}, int(t.Lanes))
		case v != math.Trunc(v) || v < -(1<<63) || v >= 1<<63:
			return bad("constant %v is not of type %s", v, t)
		}
		return IntConst(t, int64(v))
	}
	if err := CheckType(t); err != nil || !IsFloat(t) {
		return bad("constant %v: type %s has no constants", v, t)
	}
	nearest, ok := roundFloat(t, v)
	if !ok {
		return bad("constant %v is not within %s", v, t)
	}
	return spread(&FloatImm{Element(t), nearest}, int(t.Lanes))
}

// IntConst is a constant of integers, of truth values, or of floats that have exactly that value.
func IntConst(t Type, v int64) Expr {
	if IsFloat(t) {
		c := Const(t, float64(v))
		if f, ok := lane(c).(*FloatImm); ok && (f.Value != float64(v) || f.Value >= 1<<63 || int64(f.Value) != v) {
			return bad("constant %d is not exactly of type %s: Const rounds it", v, t)
		}
		return c
	}
	if err := CheckType(t); err != nil || !IsInt(t) && !IsBool(t) {
		return bad("constant %d: type %s has no constants", v, t)
	}
	least, greatest := int64(0), int64(1)
	if IsInt(t) {
		least, greatest = intRange(Element(t))
	}
	if v < least || v > greatest {
		return bad("constant %d is not within %s", v, t)
	}
	return spread(&IntImm{Element(t), v}, int(t.Lanes))
}

// I32 is a constant of type int32.
func I32(v int32) Expr { return &IntImm{Int32, int64(v)} }

// I64 is a constant of type int64.
func I64(v int64) Expr { return &IntImm{Int64, v} }

// F32 is a constant of type float32.
func F32(v float32) Expr { return &FloatImm{Float32, float64(v)} }

// F64 is a constant of type float64.
func F64(v float64) Expr { return &FloatImm{Float64, v} }

// BoolConst is a truth value.
func BoolConst(v bool) Expr {
	if v {
		return &IntImm{Bool, 1}
	}
	return &IntImm{Bool, 0}
}

// Text is a constant of text.
func Text(s string) Expr { return &StringImm{s} }

// lane is what all lanes of a Broadcast are; of another expression it is that.
func lane(e Expr) Expr {
	if b, ok := e.(*Broadcast); ok {
		return b.Value
	}
	return e
}

// spread makes a vector of a scalar.
func spread(e Expr, lanes int) Expr {
	if lanes == 1 {
		return e
	}
	return &Broadcast{e, lanes}
}

func bad(format string, args ...any) Expr { return &Bad{fmt.Errorf("tir: "+format, args...)} }

// firstBad is the first of some expressions that could not be made; a nil one is such, too.
func firstBad(what string, all ...Expr) Expr {
	for _, e := range all {
		if IsNil(e) {
			return bad("%s: an operand is nil", what)
		}
		if b, ok := e.(*Bad); ok {
			return b
		}
	}
	return nil
}

// firstNoValue is the first of some expressions that cannot be computed with.
func firstNoValue(what string, all ...Expr) Expr {
	if b := firstBad(what, all...); b != nil {
		return b
	}
	for _, e := range all {
		if _, isText := e.(*StringImm); isText {
			return bad("%s: text is nothing but an argument of calls", what)
		}
		if t := e.DType(); t == Void {
			return bad("%s: an operand is of type void, and has no value", what)
		} else if err := CheckType(t); err != nil {
			return bad("%s: %v", what, err)
		}
	}
	return nil
}

// Add is a + b. This and the functions below make both operands of one type: a scalar goes with a vector as a
// Broadcast; a constant takes the other's type if that can have it, of two constants the narrower first; of two ints
// that are both signed or both not, or of two floats of one sort, the narrower becomes the wider. All else is Bad: cast
// one.
func Add(a, b Expr) Expr { return NewBinary(OpAdd, a, b) }

// Sub is a - b.
func Sub(a, b Expr) Expr { return NewBinary(OpSub, a, b) }

// Mul is a * b.
func Mul(a, b Expr) Expr { return NewBinary(OpMul, a, b) }

// Div is a / b; of integers rounded towards zero.
func Div(a, b Expr) Expr { return NewBinary(OpDiv, a, b) }

// Mod is the remainder of Div.
func Mod(a, b Expr) Expr { return NewBinary(OpMod, a, b) }

// FloorDiv is a / b rounded towards minus infinity.
func FloorDiv(a, b Expr) Expr { return NewBinary(OpFloorDiv, a, b) }

// FloorMod is the remainder of FloorDiv.
func FloorMod(a, b Expr) Expr { return NewBinary(OpFloorMod, a, b) }

// Min is the lesser of a and b.
func Min(a, b Expr) Expr { return NewBinary(OpMin, a, b) }

// Max is the greater of a and b.
func Max(a, b Expr) Expr { return NewBinary(OpMax, a, b) }

// EQ is whether a and b are equal.
func EQ(a, b Expr) Expr { return NewBinary(OpEQ, a, b) }

// NE is whether a and b differ.
func NE(a, b Expr) Expr { return NewBinary(OpNE, a, b) }

// LT is whether a is less than b.
func LT(a, b Expr) Expr { return NewBinary(OpLT, a, b) }

// LE is whether a is at most b.
func LE(a, b Expr) Expr { return NewBinary(OpLE, a, b) }

// GT is whether a is greater than b.
func GT(a, b Expr) Expr { return NewBinary(OpGT, a, b) }

// GE is whether a is at least b.
func GE(a, b Expr) Expr { return NewBinary(OpGE, a, b) }

// And is whether both hold.
func And(a, b Expr) Expr { return NewBinary(OpAnd, a, b) }

// Or is whether one of both holds.
func Or(a, b Expr) Expr { return NewBinary(OpOr, a, b) }

// Negate is -a; of floats -0 - a, so that it is -0 for 0.
func Negate(a Expr) Expr {
	if b := firstNoValue("negate", a); b != nil {
		return b
	}
	zero := 0.0
	if IsFloat(a.DType()) {
		zero = math.Copysign(0, -1)
	}
	return Sub(Const(a.DType(), zero), a)
}

// NewBinary is an operation on two values. Constants are not computed: the simplifier does that.
func NewBinary(op BinaryOp, a, b Expr) Expr {
	if op >= numBinaryOps {
		return bad("operation %d does not exist", op)
	}
	if e := firstNoValue(op.String(), a, b); e != nil {
		return e
	}
	a, b, err := match(a, b)
	if err != nil {
		return bad("%s: %v", op, err)
	}
	if err := operandError(op, a.DType()); err != nil {
		return bad("%v", err)
	}
	return &Binary{Op: op, A: a, B: b}
}

// operandError says why an operation does not take operands of a type.
func operandError(op BinaryOp, t Type) error {
	if err := CheckType(t); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	switch {
	case op.IsLogical() && !IsBool(t):
		return fmt.Errorf("%s of type %s: want bool, as comparisons give it", op, TypeName(t))
	case (op == OpEQ || op == OpNE) && t != Void:
	case IsBool(t) && !op.IsLogical(), IsHandle(t), t == Void:
		return fmt.Errorf("%s of type %s", op, TypeName(t))
	}
	return nil
}

// match makes two operands of one type.
func match(a, b Expr) (Expr, Expr, error) {
	x, y := a.DType(), b.DType()
	switch {
	case x.Lanes == y.Lanes:
	case x.Lanes == 1:
		a, x = &Broadcast{a, int(y.Lanes)}, Vector(x, int(y.Lanes))
	case y.Lanes == 1:
		b, y = &Broadcast{b, int(x.Lanes)}, Vector(y, int(x.Lanes))
	default:
		return nil, nil, fmt.Errorf("vectors of %d and %d lanes", x.Lanes, y.Lanes)
	}
	if x == y {
		return a, b, nil
	}
	sameSort := IsInt(x) && IsInt(y) && x.Code == y.Code || x.Code == y.Code && IsFloat(x) && IsFloat(y)
	if c := ConstantAs(a, y); c != nil && !(sameSort && x.Bits > y.Bits && ConstantAs(b, x) != nil) {
		return c, b, nil
	}
	if c := ConstantAs(b, x); c != nil {
		return a, c, nil
	}
	if !sameSort {
		return nil, nil, fmt.Errorf("operands of types %s and %s: cast one", x, y)
	}
	if x.Bits < y.Bits {
		return &Cast{y, a}, b, nil
	}
	return a, &Cast{x, b}, nil
}

// ConstantAs is a constant as another type; nil if the expression is no constant, or the type cannot have its value.
// Ints become floats, and not the other way round.
func ConstantAs(e Expr, t Type) Expr {
	lanes := int(t.Lanes)
	var c Expr
	switch e := lane(e).(type) {
	case *IntImm:
		if IsBool(e.Type) || !IsInt(t) && !IsFloat(t) {
			return nil
		}
		c = IntConst(Element(t), e.Value)
		if v := uint64(e.Value); e.Type == UInt64 && e.Value < 0 { // beyond int64
			c = Const(Element(t), float64(v))
			if f, ok := c.(*FloatImm); !ok || f.Value >= 1<<64 || uint64(f.Value) != v {
				return nil
			}
		}
	case *FloatImm:
		if !IsFloat(t) {
			return nil
		}
		c = Const(Element(t), e.Value)
	default:
		return nil
	}
	if _, isBad := c.(*Bad); isBad {
		return nil
	}
	return spread(c, lanes)
}

// NewNot is the opposite of a truth value.
func NewNot(a Expr) Expr {
	if e := firstNoValue("not", a); e != nil {
		return e
	}
	if err := notError(a.DType()); err != nil {
		return bad("%v", err)
	}
	return &Not{A: a}
}

func notError(t Type) error {
	if !IsBool(t) {
		return fmt.Errorf("not of type %s: want bool", t)
	}
	return nil
}

// NewSelect is then where cond is true, else otherwise.
func NewSelect(cond, then, otherwise Expr) Expr {
	if e := firstNoValue("select", cond, then, otherwise); e != nil {
		return e
	}
	if !IsBool(cond.DType()) {
		return bad("select by type %s: want bool", cond.DType())
	}
	then, otherwise, err := match(then, otherwise)
	if err != nil {
		return bad("select: %v", err)
	}
	if c, t := cond.DType().Lanes, then.DType().Lanes; c != t {
		switch {
		case c == 1:
			cond = &Broadcast{cond, int(t)}
		case t == 1:
			then, otherwise = &Broadcast{then, int(c)}, &Broadcast{otherwise, int(c)}
		default:
			return bad("select: %d truth values for %d lanes", c, t)
		}
	}
	if err := CheckType(then.DType()); err != nil {
		return bad("select: %v", err)
	}
	return &Select{Cond: cond, Then: then, Else: otherwise}
}

// NewCast is a value as another type, of whose lanes only one need be said. A value of the type itself stays what it
// is.
func NewCast(t Type, v Expr) Expr {
	if e := firstNoValue("cast", v); e != nil {
		return e
	}
	from := v.DType()
	if t.Lanes == 1 {
		t.Lanes = from.Lanes
	}
	if err := castError(t, from); err != nil {
		return bad("%v", err)
	}
	if t == from {
		return v
	}
	return &Cast{t, v}
}

// NewExplicitCast is NewCast, but keeps a cast to the type that the value has already.
func NewExplicitCast(t Type, v Expr) Expr {
	e := NewCast(t, v)
	if _, isBad := e.(*Bad); !isBad && e == v {
		return &Cast{v.DType(), v}
	}
	return e
}

// castError says why a type cannot be cast to t.
func castError(t, from Type) error {
	if err := CheckType(t); err != nil {
		return fmt.Errorf("cast: %w", err)
	}
	switch {
	case t == Void || from == Void:
		return fmt.Errorf("cast of %s to %s", TypeName(from), TypeName(t))
	case t.Lanes != from.Lanes:
		return fmt.Errorf("cast of %s to %s: the lanes differ", from, t)
	case IsHandle(t) != IsHandle(from) && !(IsInt(t) && t.Bits == 64) && !(IsInt(from) && from.Bits == 64):
		return fmt.Errorf("cast of %s to %s: an address goes with ints of 64 bits alone", from, t)
	}
	return nil
}

// BufferAt is an element of a buffer.
func BufferAt(b *Buffer, indices ...Expr) Expr {
	if b == nil {
		return bad("load: the buffer is nil")
	}
	if e := checkIndices("buffer "+b.Name, len(b.Shape), indices); e != nil {
		return e
	}
	if n := len(indices); n > 0 && int(b.DType.Lanes)*int(indices[n-1].DType().Lanes) > MaxLanes {
		return bad("buffer %s: %d elements of type %s are more than %d lanes", b.Name, indices[n-1].DType().Lanes, b.DType,
			MaxLanes)
	}
	return &BufferLoad{Buffer: b, Indices: indices}
}

// ProducerAt is an element of a producer.
func ProducerAt(p Producer, indices ...Expr) Expr {
	if !UsableProducer(p) {
		return bad("load: the producer is nil, or not one that can be compared")
	}
	if e := checkIndices("tensor "+p.ProducerName(), len(p.ProducerShape()), indices); e != nil {
		return e
	}
	return &ProducerLoad{p, indices}
}

func checkIndices(what string, dims int, indices []Expr) Expr {
	if e := firstNoValue(what, indices...); e != nil {
		return e
	}
	if len(indices) != dims {
		return bad("%s has %d dimensions, and %d indices", what, dims, len(indices))
	}
	for i, x := range indices {
		if t := x.DType(); !IsInt(t) || t.Lanes > 1 && i < dims-1 {
			return bad("%s: index %d is of type %s: want an integer", what, i, t)
		}
	}
	return nil
}

// NewCall is a call of a C function (CallExtern), of a packed function or one of the module's, or of an intrinsic,
// whose arguments are checked against Intrinsics.
func NewCall(kind CallKind, t Type, name string, args ...Expr) Expr {
	if e := firstBad("call of "+name, args...); e != nil {
		return e
	}
	if kind >= numCallKinds {
		return bad("call of %s: kind %d does not exist", name, kind)
	}
	if err := CheckType(t); err != nil {
		return bad("call of %s: %v", name, err)
	}
	c := &Call{kind, name, t, args}
	if err := c.check(); err != nil {
		return &Bad{fmt.Errorf("tir: %w", err)}
	}
	return c
}
