package arith

import (
	"math"
	"math/bits"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// foldBinary computes an operation on constants; nil if it is undefined, or if machines may compute different results.
func foldBinary(op tir.BinaryOp, x, y tir.Expr) tir.Expr {
	if p, ok := x.(*tir.Broadcast); ok {
		q, ok := y.(*tir.Broadcast)
		if !ok || p.Lanes != q.Lanes {
			return nil
		}
		if r := foldBinary(op, p.Value, q.Value); r != nil {
			return &tir.Broadcast{Value: r, Lanes: p.Lanes}
		}
		return nil
	}
	if p, ok := x.(*tir.FloatImm); ok {
		if q, ok := y.(*tir.FloatImm); ok && p.Type == q.Type {
			return foldFloat(op, p, q)
		}
		return nil
	}
	p, ok1 := tir.IntValue(x)
	q, ok2 := tir.IntValue(y)
	if !ok1 || !ok2 {
		return nil
	}
	t := x.DType()
	if tir.IsBool(t) {
		switch op {
		case tir.OpEQ:
			return makeBool(p == q, t)
		case tir.OpNE:
			return makeBool(p != q, t)
		}
		return nil
	}
	if !tir.IsInt(t) {
		return nil
	}
	if t == tir.UInt64 && (p < 0 || q < 0) { // constants that int64 does not have
		return nil
	}
	if op.IsComparison() {
		return makeBool(compareInts(op, p, q), t)
	}
	v, ok := computeInts(op, p, q)
	if !ok || !point(v).within(typeRange(t)) {
		return nil
	}
	return makeInt(t, v)
}

func compareInts(op tir.BinaryOp, p, q int64) bool {
	switch op {
	case tir.OpEQ:
		return p == q
	case tir.OpNE:
		return p != q
	case tir.OpLT:
		return p < q
	case tir.OpLE:
		return p <= q
	case tir.OpGT:
		return p > q
	}
	return p >= q
}

// computeInts computes an operation, and reports whether the result fits into int64.
func computeInts(op tir.BinaryOp, p, q int64) (int64, bool) {
	switch op {
	case tir.OpAdd:
		return addOK(p, q)
	case tir.OpSub:
		if q == least {
			return 0, false
		}
		return addOK(p, -q)
	case tir.OpMul:
		return mulOK(p, q)
	case tir.OpMin:
		return min(p, q), true
	case tir.OpMax:
		return max(p, q), true
	}
	if q == 0 || p == least && q == -1 {
		return 0, false
	}
	switch op {
	case tir.OpDiv:
		return p / q, true
	case tir.OpMod:
		return p % q, true
	case tir.OpFloorDiv:
		return floorDiv(p, q), true
	case tir.OpFloorMod:
		return floorMod(p, q), true
	}
	return 0, false
}

func foldFloat(op tir.BinaryOp, p, q *tir.FloatImm) tir.Expr {
	x, y := p.Value, q.Value
	if !exact(x, p.Type) || !exact(y, p.Type) {
		return nil
	}
	switch op {
	case tir.OpEQ:
		return makeBool(x == y, p.Type)
	case tir.OpNE:
		return makeBool(x != y, p.Type)
	case tir.OpLT:
		return makeBool(x < y, p.Type)
	case tir.OpLE:
		return makeBool(x <= y, p.Type)
	case tir.OpGT:
		return makeBool(x > y, p.Type)
	case tir.OpGE:
		return makeBool(x >= y, p.Type)
	case tir.OpMin, tir.OpMax:
		switch {
		case math.IsNaN(x) || math.IsNaN(y) || x == 0 && y == 0: // the results differ between machines
			return nil
		case (x < y) == (op == tir.OpMin):
			return p
		}
		return q
	}
	var r float64
	single := func(f func(x, y float64) float64) float64 {
		if p.Type == tir.Float32 { // for these operations, double rounding equals single rounding
			return float64(float32(f(x, y)))
		}
		return f(x, y)
	}
	switch op {
	case tir.OpAdd:
		r = single(func(x, y float64) float64 { return x + y })
	case tir.OpSub:
		r = single(func(x, y float64) float64 { return x - y })
	case tir.OpMul:
		r = single(func(x, y float64) float64 { return x * y })
	case tir.OpDiv:
		if y == 0 {
			return nil
		}
		r = single(func(x, y float64) float64 { return x / y })
	default:
		return nil
	}
	if !normal(x, p.Type) || !normal(y, p.Type) || !normal(r, p.Type) || p.Type != tir.Float32 && p.Type != tir.Float64 {
		return nil
	}
	return &tir.FloatImm{Type: p.Type, Value: r}
}

// exact reports whether a type certainly has a value.
func exact(v float64, t tir.Type) bool {
	switch t {
	case tir.Float64:
		return true
	case tir.Float32:
		return float64(float32(v)) == v || math.IsNaN(v)
	}
	limit := float64(0) // all integers up to this are values of the type
	switch t {
	case tir.Float16:
		limit = 1 << 11
	case tir.BFloat16:
		limit = 1 << 8
	}
	return v == math.Trunc(v) && math.Abs(v) <= limit
}

// normal reports whether all machines compute alike with a value: some flush subnormals to 0, and NaNs differ.
func normal(v float64, t tir.Type) bool {
	smallest := 0x1p-1022
	if t == tir.Float32 {
		smallest = 0x1p-126
	}
	return v == 0 || math.Abs(v) >= smallest && !math.IsInf(v, 0)
}

// floatIdentity applies the rules for floats that preserve each bit.
func (a *Analyzer) floatIdentity(op tir.BinaryOp, x, y tir.Expr) tir.Expr {
	c, right := floatSplat(y)
	d, left := floatSplat(x)
	zero := func(v float64, negative bool) bool { return v == 0 && math.Signbit(v) == negative }
	switch {
	case right && c == 1 && (op == tir.OpMul || op == tir.OpDiv), right && op == tir.OpSub && zero(c, false), right &&
		op == tir.OpAdd && zero(c, true):
		a.hit(ruleFloatIdentity)
		return x
	case left && d == 1 && op == tir.OpMul, left && op == tir.OpAdd && zero(d, true):
		a.hit(ruleFloatIdentity)
		return y
	}
	if a.id(x) == a.id(y) {
		switch op {
		case tir.OpMin, tir.OpMax:
			a.hit(ruleSameOperands)
			return x
		case tir.OpLT, tir.OpGT: // false for NaN, too
			a.hit(ruleSameOperands)
			return makeBool(false, a.info(x).t)
		}
	}
	return nil
}

func floatSplat(e tir.Expr) (float64, bool) {
	if b, ok := e.(*tir.Broadcast); ok {
		e = b.Value
	}
	if f, ok := e.(*tir.FloatImm); ok && f != nil {
		return f.Value, true
	}
	return 0, false
}

// foldIntrinsic computes an intrinsic of constants; nil if it is not known how.
func foldIntrinsic(e *tir.Call) tir.Expr {
	switch e.Name {
	case "isnan", "isinf", "isfinite":
		f, ok := e.Args[0].(*tir.FloatImm)
		if !ok || e.Type != tir.Bool {
			return nil
		}
		switch e.Name {
		case "isnan":
			return tir.BoolConst(math.IsNaN(f.Value))
		case "isinf":
			return tir.BoolConst(math.IsInf(f.Value, 0))
		}
		return tir.BoolConst(!math.IsNaN(f.Value) && !math.IsInf(f.Value, 0))
	}
	var v [2]int64
	if len(e.Args) < 1 || len(e.Args) > 2 || !tir.IsInt(e.Type) || e.Type.Lanes != 1 {
		return nil
	}
	for i, x := range e.Args {
		c, ok := tir.IntValue(x)
		if !ok || x.DType() != e.Type || c < 0 {
			return nil
		}
		v[i] = c
	}
	r := int64(0)
	switch e.Name {
	case "bitwise_and":
		r = v[0] & v[1]
	case "bitwise_or":
		r = v[0] | v[1]
	case "bitwise_xor":
		r = v[0] ^ v[1]
	case "shift_right":
		if v[1] >= int64(e.Type.Bits) {
			return nil
		}
		r = v[0] >> v[1]
	case "shift_left":
		if v[1] >= int64(e.Type.Bits) || v[0] > typeRange(e.Type).hi>>v[1] {
			return nil
		}
		r = v[0] << v[1]
	case "popcount":
		r = int64(bits.OnesCount64(uint64(v[0])))
	case "abs":
		r = v[0]
	default:
		return nil
	}
	return makeInt(e.Type, r)
}

// cast converts a simplified value to another type; it returns old if nothing changes.
func (a *Analyzer) cast(t tir.Type, v tir.Expr, old *tir.Cast) tir.Expr {
	from := a.info(v).t
	if t == from {
		a.hit(ruleCastCast)
		return v
	}
	if r := a.castFrom(t, v, from); r != nil && a.info(v).flags&hasEffect == 0 {
		return r
	}
	if old != nil && v == old.Value {
		return old
	}
	return &tir.Cast{Type: t, Value: v}
}

func (a *Analyzer) castFrom(t tir.Type, v tir.Expr, from tir.Type) tir.Expr {
	switch e := v.(type) {
	case *tir.IntImm:
		if r := castInt(t, e); r != nil {
			a.hit(ruleCastFold)
			return r
		}
	case *tir.FloatImm:
		if r := castFloat(t, e); r != nil {
			a.hit(ruleCastFold)
			return r
		}
	case *tir.Broadcast:
		a.hit(ruleVectorCast)
		return &tir.Broadcast{Value: a.cast(tir.Element(t), e.Value, nil), Lanes: e.Lanes}
	case *tir.Ramp:
		if x := tir.Element(from); isIndex(x) && isIndex(tir.Element(t)) && typeRange(x).within(typeRange(tir.Element(t))) {
			a.hit(ruleVectorCast)
			return &tir.Ramp{Base: a.cast(tir.Element(t), e.Base, nil), Stride: a.cast(tir.Element(t), e.Stride, nil),
				Lanes: e.Lanes}
		}
	case *tir.Cast:
		first := a.info(e.Value).t
		if !whole(t) || !whole(from) || !whole(first) || tir.IsBool(t) || tir.IsBool(from) {
			return nil
		}
		r := a.rangeOf(e.Value)
		if r.within(typeRange(from)) && (first.Code == from.Code || r.finite()) { // the first cast keeps the value
			a.hit(ruleCastCast)
			return a.cast(t, e.Value, nil)
		}
	}
	if tir.IsBool(t) && isIndex(from) {
		a.hit(ruleCastBool)
		return a.make(tir.OpNE, v, makeInt(from, 0))
	}
	return nil
}

func whole(t tir.Type) bool { return tir.IsInt(t) || tir.IsBool(t) }

func castInt(t tir.Type, e *tir.IntImm) tir.Expr {
	if e.Type == tir.UInt64 && e.Value < 0 {
		return nil
	}
	switch {
	case tir.IsBool(t):
		return makeBool(e.Value != 0, t)
	case tir.IsInt(t) && point(e.Value).within(typeRange(t)):
		return makeInt(t, e.Value)
	case tir.IsFloat(t):
		v := float64(e.Value)
		if exact(v, t) && magnitude(e.Value) <= 1<<53 {
			return &tir.FloatImm{Type: t, Value: v}
		}
	}
	return nil
}

func castFloat(t tir.Type, e *tir.FloatImm) tir.Expr {
	v := e.Value
	switch {
	case !exact(v, e.Type) || math.IsNaN(v) || math.IsInf(v, 0) || !normal(v, e.Type):
		return nil
	case tir.IsBool(t):
		return makeBool(v != 0, t)
	case tir.IsInt(t) && t.Code == dlpack.CodeInt && math.Abs(v) < 1<<62:
		if c := int64(v); point(c).within(typeRange(t)) {
			return makeInt(t, c)
		}
	case tir.IsInt(t) && v > -1 && v < 1<<62:
		if c := int64(v); point(c).within(typeRange(t)) {
			return makeInt(t, c)
		}
	case tir.IsFloat(t) && exact(v, t) && normal(v, t):
		return &tir.FloatImm{Type: t, Value: v}
	}
	return nil
}
