package tir

import (
	"fmt"
	"math"
)

// NewVar returns a new variable. Variables are compared by pointer, so that two with the same name are different.
func NewVar(name string, t Type) *Var { return &Var{Name: name, Type: t} }

// Const returns a constant of an integer, boolean or float type, and a Broadcast of it if the type has several lanes.
// Floats are rounded to the nearest value of the type. The result is Bad if the value is outside of the type's range.
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

// IntValue returns the value of a constant integer.
func IntValue(e Expr) (int64, bool) {
	c, ok := e.(*IntImm)
	if !ok || c == nil {
		return 0, false
	}
	return c.Value, true
}

// IntConst is like Const, but does not round: the result is Bad if a float type cannot represent the value exactly.
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

// I32 returns a constant of type int32.
func I32(v int32) Expr { return &IntImm{Int32, int64(v)} }

// I64 returns a constant of type int64.
func I64(v int64) Expr { return &IntImm{Int64, v} }

// F32 returns a constant of type float32.
func F32(v float32) Expr { return &FloatImm{Float32, float64(v)} }

// F64 returns a constant of type float64.
func F64(v float64) Expr { return &FloatImm{Float64, v} }

// BoolConst returns a constant of type bool.
func BoolConst(v bool) Expr {
	if v {
		return &IntImm{Bool, 1}
	}
	return &IntImm{Bool, 0}
}

// Text returns a string constant, which can only be an argument of a call.
func Text(s string) Expr { return &StringImm{s} }

// lane returns the value of all lanes of a Broadcast; other expressions are returned as they are.
func lane(e Expr) Expr {
	if b, ok := e.(*Broadcast); ok {
		return b.Value
	}
	return e
}

// spread broadcasts a scalar to the given number of lanes.
func spread(e Expr, lanes int) Expr {
	if lanes == 1 {
		return e
	}
	return &Broadcast{e, lanes}
}

func bad(format string, args ...any) Expr { return &Bad{fmt.Errorf("tir: "+format, args...)} }

// firstBad returns the first of the expressions that is nil or Bad, as a Bad; nil if there is none.
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

// firstNoValue returns a Bad for the first of the expressions that is text or has no value; nil if there is none.
func firstNoValue(what string, all ...Expr) Expr {
	if b := firstBad(what, all...); b != nil {
		return b
	}
	for _, e := range all {
		if _, isText := e.(*StringImm); isText {
			return bad("%s: text can only be an argument of a call", what)
		}
		if t := e.DType(); t == Void {
			return bad("%s: an operand is of type void, and has no value", what)
		} else if err := CheckType(t); err != nil {
			return bad("%s: %v", what, err)
		}
	}
	return nil
}

// Add returns a + b. Add and the functions below first convert both operands to one type. If one is a scalar and the
// other a vector, the scalar is broadcast. A constant is converted to the other operand's type if that can represent
// it; of two constants, the narrower is tried first. Of two integers of the same signedness, and of two floats of the
// same family, the narrower is widened. In all other cases the result is Bad: cast one operand.
func Add(a, b Expr) Expr { return NewBinary(OpAdd, a, b) }

// Sub returns a - b.
func Sub(a, b Expr) Expr { return NewBinary(OpSub, a, b) }

// Mul returns a * b.
func Mul(a, b Expr) Expr { return NewBinary(OpMul, a, b) }

// Div returns a / b; a quotient of integers is rounded towards zero.
func Div(a, b Expr) Expr { return NewBinary(OpDiv, a, b) }

// Mod returns the remainder of Div, which has the sign of a.
func Mod(a, b Expr) Expr { return NewBinary(OpMod, a, b) }

// FloorDiv returns a / b rounded towards minus infinity.
func FloorDiv(a, b Expr) Expr { return NewBinary(OpFloorDiv, a, b) }

// FloorMod returns the remainder of FloorDiv, which has the sign of b.
func FloorMod(a, b Expr) Expr { return NewBinary(OpFloorMod, a, b) }

// Min returns the lesser of a and b.
func Min(a, b Expr) Expr { return NewBinary(OpMin, a, b) }

// Max returns the greater of a and b.
func Max(a, b Expr) Expr { return NewBinary(OpMax, a, b) }

// EQ returns the comparison a == b.
func EQ(a, b Expr) Expr { return NewBinary(OpEQ, a, b) }

// NE returns the comparison a != b.
func NE(a, b Expr) Expr { return NewBinary(OpNE, a, b) }

// LT returns the comparison a < b.
func LT(a, b Expr) Expr { return NewBinary(OpLT, a, b) }

// LE returns the comparison a <= b.
func LE(a, b Expr) Expr { return NewBinary(OpLE, a, b) }

// GT returns the comparison a > b.
func GT(a, b Expr) Expr { return NewBinary(OpGT, a, b) }

// GE returns the comparison a >= b.
func GE(a, b Expr) Expr { return NewBinary(OpGE, a, b) }

// And returns a && b: b is not evaluated if a is false.
func And(a, b Expr) Expr { return NewBinary(OpAnd, a, b) }

// Or returns a || b: b is not evaluated if a is true.
func Or(a, b Expr) Expr { return NewBinary(OpOr, a, b) }

// Negate returns -a. For floats that is -0 - a, so that the result for 0 is -0.
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

// NewBinary returns an operation on two values, whose types are converted as by [Add]. It does not fold constants; the
// simplifier does.
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

// operandError returns an error if an operation does not take operands of the given type.
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

// match converts two operands to one type.
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

// ConstantAs converts a constant to another type. It returns nil if e is not a constant, or if the type cannot
// represent its value. Integers can become floats; floats do not become integers.
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

// NewNot returns the negation of a truth value.
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

// NewSelect returns then where cond is true, otherwise elsewhere. Both may be evaluated in any case.
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

// NewCast converts a value to another type. If t has one lane, it is applied to each lane of v. A value that has the
// type already is returned as it is.
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

// NewExplicitCast is like NewCast, but also creates a cast to the type that the value already has.
func NewExplicitCast(t Type, v Expr) Expr {
	e := NewCast(t, v)
	if _, isBad := e.(*Bad); !isBad && e == v {
		return &Cast{v.DType(), v}
	}
	return e
}

// castError returns an error if a type cannot be cast to t.
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
		return fmt.Errorf("cast of %s to %s: only 64-bit integers can be cast to or from an address", from, t)
	}
	return nil
}

// BufferAt returns a load of an element of a buffer.
func BufferAt(b *Buffer, indices ...Expr) Expr {
	if b == nil {
		return bad("load: the buffer is nil")
	}
	if e := checkIndices("buffer "+b.Name, len(b.Shape), indices); e != nil {
		return e
	}
	if n := len(indices); n > 0 && int(b.DType.Lanes)*int(indices[n-1].DType().Lanes) > MaxLanes {
		return bad("buffer %s: %d elements of type %s have more than %d lanes", b.Name, indices[n-1].DType().Lanes, b.DType,
			MaxLanes)
	}
	return &BufferLoad{Buffer: b, Indices: indices}
}

// ProducerAt returns a load of an element of a producer.
func ProducerAt(p Producer, indices ...Expr) Expr {
	if !UsableProducer(p) {
		return bad("load: the producer is nil or its Go type is not comparable")
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

// NewCall returns a call of the given kind, with a result of type t: of a C function, a packed function, another
// function of the module, or an intrinsic. The arguments of intrinsics are checked against [Intrinsics].
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
