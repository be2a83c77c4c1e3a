package tir

import "math"

// span is the range from lo to hi, both included; infinite and -infinite mean that there is no bound.
type span struct{ lo, hi int64 }

const infinite = math.MaxInt64 / 4

// satAdd and satMul saturate at infinite and -infinite.
func satAdd(x, y int64) int64 {
	switch {
	case x >= infinite || y >= infinite:
		return infinite
	case x <= -infinite || y <= -infinite:
		return -infinite
	}
	return min(max(x+y, -infinite), infinite)
}

func satMul(x, y int64) int64 {
	switch f := float64(x) * float64(y); {
	case x == 0 || y == 0:
		return 0
	case f >= infinite:
		return infinite
	case f <= -infinite:
		return -infinite
	}
	return x * y
}

func (s span) add(o span) span { return span{addLow(s.lo, o.lo), addHigh(s.hi, o.hi)} }
func (s span) neg() span       { return span{-s.hi, -s.lo} }

func addLow(x, y int64) int64 {
	if x <= -infinite || y <= -infinite {
		return -infinite
	}
	return satAdd(x, y)
}

func addHigh(x, y int64) int64 {
	if x >= infinite || y >= infinite {
		return infinite
	}
	return satAdd(x, y)
}

func (s span) mul(o span) span {
	a, b, c, d := satMul(s.lo, o.lo), satMul(s.lo, o.hi), satMul(s.hi, o.lo), satMul(s.hi, o.hi)
	return span{min(a, b, c, d), max(a, b, c, d)}
}

func (s span) union(o span) span { return span{min(s.lo, o.lo), max(s.hi, o.hi)} }

func typeSpan(t Type) span {
	switch {
	case IsBool(t):
		return span{0, 1}
	case !IsInt(t) || t.Bits >= 62 && IsSigned(t):
		return span{-infinite, infinite}
	case IsSigned(t):
		return span{-1 << (t.Bits - 1), 1<<(t.Bits-1) - 1}
	case t.Bits >= 62:
		return span{0, infinite}
	}
	return span{0, 1<<t.Bits - 1}
}

// span returns a range that contains all values of a scalar expression. Variables of types int32 and int64 are
// mathematical integers: their type does not bound them.
func (p *indexProof) span(e Expr) span {
	all := span{-infinite, infinite}
	if e == nil || !p.w.spend() {
		return all
	}
	t := e.DType()
	if t != Int32 && t != Int64 {
		all = typeSpan(t)
	}
	switch e := e.(type) {
	case *IntImm:
		if e.Value >= -infinite && e.Value <= infinite {
			return span{e.Value, e.Value}
		}
	case *Var:
		if r, ok := p.ranges[e]; ok {
			return r
		}
		if p.w.sizes[e] {
			return span{0, all.hi}
		}
	case *Cast:
		if r := p.span(e.Value); IsInt(t) && (IsInt(e.Value.DType()) || IsBool(e.Value.DType())) && r.lo >= all.lo &&
			r.hi <= all.hi {
			return r
		}
	case *Select:
		return p.span(e.Then).union(p.span(e.Else))
	case *Call:
		if e.Kind == CallIntrinsic && e.Name == "if_then_else" {
			return p.span(e.Args[1]).union(p.span(e.Args[2]))
		}
	case *Binary:
		if t == Int32 || t == Int64 {
			return p.binarySpan(e)
		}
	}
	return all
}

func (p *indexProof) binarySpan(e *Binary) span {
	x, y := p.span(e.A), p.span(e.B)
	positive := y.lo >= 1 && y.lo < infinite
	switch e.Op {
	case OpAdd:
		return x.add(y)
	case OpSub:
		return x.add(y.neg())
	case OpMul:
		return x.mul(y)
	case OpMin:
		return span{min(x.lo, y.lo), min(x.hi, y.hi)}
	case OpMax:
		return span{max(x.lo, y.lo), max(x.hi, y.hi)}
	case OpFloorMod:
		if positive {
			if x.lo >= 0 {
				return span{0, min(x.hi, addHigh(y.hi, -1))}
			}
			return span{0, addHigh(y.hi, -1)}
		}
	case OpMod:
		if positive && x.lo >= 0 {
			return span{0, min(x.hi, addHigh(y.hi, -1))}
		}
	case OpFloorDiv, OpDiv:
		if positive && x.lo >= 0 {
			r := span{0, x.hi}
			if x.hi < infinite {
				r.hi = x.hi / y.lo
			}
			if y.hi < infinite && x.lo < infinite {
				r.lo = x.lo / y.hi
			}
			return r
		}
	}
	return span{-infinite, infinite}
}
