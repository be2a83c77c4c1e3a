package arith

import (
	"math/bits"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// rangeOf returns an interval that contains e, in all its lanes, for all values of its variables.
func (a *Analyzer) rangeOf(e tir.Expr) interval {
	if r, ok := a.ranges[e]; ok {
		return r
	}
	i := a.info(e)
	if i.flags&malformed != 0 || !a.spend() {
		return everything
	}
	full := typeRange(i.t)
	a.depth++
	r := a.partsRange(e, i.t)
	a.depth--
	if !r.within(full) {
		if isIndex(tir.Element(i.t)) || tir.IsBool(i.t) {
			r = r.intersect(full) // no overflow
		} else {
			r = full // may wrap
		}
	}
	if i.flags&hasEffect == 0 && (tir.IsInt(i.t) || tir.IsBool(i.t)) {
		if k, ok := a.known[a.id(e)]; ok {
			r = r.intersect(k)
		}
	}
	a.ranges[e] = r
	return r
}

func (a *Analyzer) sumRange(s sum) interval {
	if s.over {
		return everything
	}
	r := point(s.c)
	for _, t := range s.terms {
		r = r.add(a.rangeOf(t.atom).scale(t.coef))
	}
	return r
}

func (a *Analyzer) partsRange(e tir.Expr, t tir.Type) interval {
	full := typeRange(t)
	switch e := e.(type) {
	case *tir.IntImm:
		if t == tir.UInt64 && e.Value < 0 {
			return interval{greatest, greatest}
		}
		return point(e.Value)
	case *tir.Binary:
		return a.binaryRange(e, t)
	case *tir.Select:
		return a.rangeOf(e.Then).union(a.rangeOf(e.Else))
	case *tir.Cast:
		from := a.info(e.Value).t
		if !tir.IsInt(t) || !tir.IsInt(from) && !tir.IsBool(from) {
			return full
		}
		if r := a.rangeOf(e.Value); r.within(full) && (r.finite() || from.Bits == t.Bits && from.Code == t.Code) {
			return r
		}
	case *tir.Ramp:
		return a.rangeOf(e.Base).add(a.rangeOf(e.Stride).mul(interval{0, int64(e.Lanes - 1)}))
	case *tir.Broadcast:
		return a.rangeOf(e.Value)
	case *tir.Call:
		if e.Kind == tir.CallIntrinsic {
			return a.callRange(e, t)
		}
	}
	return full
}

func (a *Analyzer) callRange(e *tir.Call, t tir.Type) interval {
	full := typeRange(t)
	if !tir.IsInt(t) && !tir.IsBool(t) {
		return full
	}
	switch e.Name {
	case "likely":
		return a.rangeOf(e.Args[0])
	case "if_then_else":
		return a.rangeOf(e.Args[1]).union(a.rangeOf(e.Args[2]))
	case "abs":
		if r := a.rangeOf(e.Args[0]); t.Code == dlpack.CodeInt && r.lo > full.lo {
			if r.lo >= 0 {
				return r
			}
			return interval{0, max(-r.lo, r.hi)}
		}
	case "bitwise_and":
		x, y := a.rangeOf(e.Args[0]), a.rangeOf(e.Args[1])
		switch {
		case x.lo >= 0 && y.lo >= 0:
			return interval{0, min(x.hi, y.hi)}
		case x.lo >= 0:
			return interval{0, x.hi}
		case y.lo >= 0:
			return interval{0, y.hi}
		}
	case "bitwise_or", "bitwise_xor": // no bit above the highest of either
		x, y := a.rangeOf(e.Args[0]), a.rangeOf(e.Args[1])
		if x.lo >= 0 && y.lo >= 0 {
			return interval{0, int64(1)<<bits.Len64(uint64(max(x.hi, y.hi))) - 1}
		}
	case "popcount":
		return interval{0, int64(t.Bits)}
	}
	return full
}

func (a *Analyzer) binaryRange(e *tir.Binary, t tir.Type) interval {
	if !tir.IsInt(t) && !tir.IsBool(t) || tir.IsFloat(a.info(e.A).t) {
		return typeRange(t)
	}
	if e.Op.IsComparison() {
		return interval{0, 1}
	}
	if e.Op <= tir.OpMul && isIndex(t) {
		s := a.sumOf(e, t)
		if len(s.terms) != 1 || s.terms[0].coef != 1 || s.c != 0 {
			return a.sumRange(s)
		}
	}
	x, y := a.rangeOf(e.A), a.rangeOf(e.B)
	switch e.Op {
	case tir.OpAdd:
		return x.add(y)
	case tir.OpSub:
		return x.add(y.negate())
	case tir.OpMul:
		if isIndex(t) && a.id(e.A) == a.id(e.B) && a.info(e).flags&hasEffect == 0 { // a square
			r := x.mul(x)
			if r.lo < 0 {
				r.lo = 0
			}
			return r
		}
		return x.mul(y)
	case tir.OpDiv:
		return x.divide(y, func(n, d int64) int64 { return n / d })
	case tir.OpFloorDiv:
		return x.divide(y, floorDiv)
	case tir.OpMod:
		return x.truncMod(y)
	case tir.OpFloorMod:
		if m := a.modular(e); m.coef == 0 {
			return point(m.base)
		}
		return x.floorMod(y)
	case tir.OpMin:
		return interval{min(x.lo, y.lo), min(x.hi, y.hi)}
	case tir.OpMax:
		return interval{max(x.lo, y.lo), max(x.hi, y.hi)}
	case tir.OpAnd:
		return interval{min(x.lo, y.lo), min(x.hi, y.hi)}
	case tir.OpOr:
		return interval{max(x.lo, y.lo), max(x.hi, y.hi)}
	}
	return typeRange(t)
}
