package c

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"tvmgo/tir"
)

// Integers wrap around at the width of their type, also signed ones, whose overflow C leaves undefined: then passes may
// reorder sums. Operations that cannot overflow are written as C operators. Otherwise arithmetic of indices is written
// in 64 bits, and other arithmetic by functions that compute with unsigned integers. Division by 0 gives 0, and the
// dividend as the remainder; a shift by more bits than the type has gives the same as shifting all bits out.

// maxSize is the largest extent of a tensor's dimension; the checks of arguments enforce it.
const maxSize = 1 << 48

// span is the range of values that an integer may have.
type span struct{ lo, hi int64 }

// spanOfType returns the range of a type; unknown for uint64, which exceeds int64.
func spanOfType(t tir.Type) span {
	t = tir.Element(t)
	switch {
	case tir.IsBool(t):
		return span{0, 1}
	case !tir.IsInt(t) || t.Bits > 64:
		return span{math.MinInt64, math.MaxInt64}
	case tir.IsSigned(t):
		return span{-1 << (t.Bits - 1), 1<<(t.Bits-1) - 1}
	case t.Bits == 64:
		return span{0, math.MaxInt64}
	}
	return span{0, 1<<t.Bits - 1}
}

func (s span) within(o span) bool { return s.lo >= o.lo && s.hi <= o.hi }

// exact returns the mathematical result of an operation; false if it does not fit 64 bits.
func exact(op tir.BinaryOp, a, b span) (span, bool) {
	switch op {
	case tir.OpAdd:
		lo, x := add64(a.lo, b.lo)
		hi, y := add64(a.hi, b.hi)
		return span{lo, hi}, x && y
	case tir.OpSub:
		if b.lo == math.MinInt64 {
			return span{}, false
		}
		return exact(tir.OpAdd, a, span{-b.hi, -b.lo})
	case tir.OpMul:
		r := span{math.MaxInt64, math.MinInt64}
		for _, x := range []int64{a.lo, a.hi} {
			for _, y := range []int64{b.lo, b.hi} {
				p, ok := mul64(x, y)
				if !ok {
					return span{}, false
				}
				r = span{min(r.lo, p), max(r.hi, p)}
			}
		}
		return r, true
	}
	return span{}, false
}

func add64(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func mul64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// spanOf returns the range of values of an expression, after wrapping to its type.
func (w *writer) spanOf(e tir.Expr) span {
	switch e.(type) {
	case *tir.IntImm, *tir.Var:
		return w.findSpan(e)
	}
	s, ok := w.facts.spans[e]
	if !ok {
		s = w.findSpan(e)
		w.facts.spans[e] = s
	}
	return s
}

// facts caches results about expressions, which may share parts.
type facts struct {
	spans         map[tir.Expr]span
	index, leaves map[tir.Expr]bool
}

func newFacts() *facts { return &facts{map[tir.Expr]span{}, map[tir.Expr]bool{}, map[tir.Expr]bool{}} }

func (w *writer) findSpan(e tir.Expr) span {
	all := spanOfType(e.DType())
	var s span
	switch e := e.(type) {
	case *tir.IntImm:
		if e.Type == tir.UInt64 && e.Value < 0 {
			return all
		}
		return span{e.Value, e.Value}
	case *tir.Var:
		known, ok := w.spans[e]
		if !ok {
			return all
		}
		s = known
	case *tir.Broadcast:
		return w.spanOf(e.Value)
	case *tir.Ramp:
		steps, ok := exact(tir.OpMul, w.spanOf(e.Stride), span{0, int64(e.Lanes - 1)})
		if ok {
			s, ok = exact(tir.OpAdd, w.spanOf(e.Base), steps)
		}
		if !ok {
			return all
		}
	case *tir.Select:
		a, b := w.spanOf(e.Then), w.spanOf(e.Else)
		s = span{min(a.lo, b.lo), max(a.hi, b.hi)}
	case *tir.Cast:
		if from := e.Value.DType(); !tir.IsInt(from) || from == tir.UInt64 {
			return all
		}
		s = w.spanOf(e.Value)
	case *tir.Call:
		switch {
		case e.Kind == tir.CallIntrinsic && e.Name == "likely" && len(e.Args) == 1:
			return w.spanOf(e.Args[0])
		case e.Kind == tir.CallIntrinsic && e.Name == "bitwise_xor" && len(e.Args) == 2: // of swizzled indices
			a, b := w.spanOf(e.Args[0]), w.spanOf(e.Args[1])
			if a.lo >= 0 && b.lo >= 0 { // no bit above the highest of either
				return span{0, 1<<bits.Len64(uint64(max(a.hi, b.hi))) - 1}
			}
		}
		return all
	case *tir.Binary:
		if !tir.IsInt(e.A.DType()) || e.A.DType() == tir.UInt64 {
			return all
		}
		var ok bool
		if s, ok = w.spanOfBinary(e); !ok {
			return all
		}
	default:
		return all
	}
	if !s.within(all) {
		return all // it wraps around
	}
	return s
}

func (w *writer) spanOfBinary(e *tir.Binary) (span, bool) {
	a, b := w.spanOf(e.A), w.spanOf(e.B)
	switch e.Op {
	case tir.OpAdd, tir.OpSub, tir.OpMul:
		return exact(e.Op, a, b)
	case tir.OpMin:
		return span{min(a.lo, b.lo), min(a.hi, b.hi)}, true
	case tir.OpMax:
		return span{max(a.lo, b.lo), max(a.hi, b.hi)}, true
	case tir.OpDiv, tir.OpFloorDiv: // by 1 or more: towards 0, or one further
		if b.lo < 1 {
			return span{}, false
		}
		return span{min(a.lo, 0), max(a.hi, 0)}.divided(a, b), true
	case tir.OpFloorMod:
		if b.lo < 1 {
			return span{}, false
		}
		return span{0, b.hi - 1}, true
	case tir.OpMod:
		if b.lo < 1 {
			return span{}, false
		}
		s := span{0, b.hi - 1}
		if a.lo < 0 {
			s.lo = -s.hi
		}
		return s, true
	}
	return span{}, false
}

// divided narrows the range of a quotient if the divisor is constant.
func (s span) divided(a, b span) span {
	if b.lo != b.hi {
		return s
	}
	floor := func(x int64) int64 {
		q := x / b.lo
		if x%b.lo < 0 {
			q--
		}
		return q
	}
	return span{floor(a.lo), floor(a.hi) + 1}
}

// fits reports whether a sum, difference or product cannot overflow its type.
func (w *writer) fits(e *tir.Binary) bool {
	s, ok := exact(e.Op, w.spanOf(e.A), w.spanOf(e.B))
	return ok && s.within(spanOfType(e.DType()))
}

func isSum(op tir.BinaryOp) bool { return op == tir.OpAdd || op == tir.OpSub || op == tir.OpMul }

func isDivision(op tir.BinaryOp) bool { return op >= tir.OpDiv && op <= tir.OpFloorMod }

// beyond reports whether an intermediate value of an index may overflow 32 bits: for expressions of loop variables and
// sizes alone, whose value is exact in 64 bits.
func (w *writer) beyond(e tir.Expr) bool {
	return !w.kernels && e.DType() == tir.Int32 && w.isIndex(e) && w.leaves(e)
}

// isIndex reports whether an expression consists of constants and of variables with a known range.
func (w *writer) isIndex(e tir.Expr) bool {
	switch e := e.(type) {
	case *tir.IntImm:
		return true
	case *tir.Var:
		_, known := w.spans[e]
		return known
	case *tir.Select:
		return w.isIndex(e.Then) && w.isIndex(e.Else)
	case *tir.Binary:
		is, ok := w.facts.index[e]
		if !ok {
			is = e.Op <= tir.OpMax && w.isIndex(e.A) && w.isIndex(e.B)
			w.facts.index[e] = is
		}
		return is
	}
	return false
}

// leaves reports whether a part of an index may overflow its type.
func (w *writer) leaves(e tir.Expr) bool {
	b, ok := e.(*tir.Binary)
	if !ok {
		return false
	}
	does, ok := w.facts.leaves[e]
	if !ok {
		does = isSum(b.Op) && !w.fits(b) || w.leaves(b.A) || w.leaves(b.B)
		w.facts.leaves[e] = does
	}
	return does
}

// in64 returns a 32-bit index computed in 64 bits.
func (w *writer) in64(e tir.Expr) code {
	x := w.in64Text(e)
	x.text = w.long.shorten(x.text)
	return x
}

func (w *writer) in64Text(e tir.Expr) code {
	switch e := e.(type) {
	case *tir.IntImm:
		return w.intConstant(&tir.IntImm{Type: tir.Int64, Value: e.Value})
	case *tir.Binary:
		a, b := w.in64(e.A), w.in64(e.B)
		if isSum(e.Op) {
			if _, ok := exact(e.Op, w.spanOf(e.A), w.spanOf(e.B)); !ok {
				return w.wrapping(e.Op, tir.Int64, a, b)
			}
		}
		if isDivision(e.Op) && w.spanOf(e.B).lo < 1 {
			return w.division(e.Op, tir.Int64, a, b)
		}
		return w.operate(e.Op, tir.Int64, a, b)
	}
	return code{"(" + w.valueType(tir.Int64) + ")" + w.lane(e, "").in(precUnary), precUnary}
}

// arithmetic returns an operation on integers whose result C leaves undefined; false if C defines it.
func (w *writer) arithmetic(e *tir.Binary, i string) (code, bool) {
	t := tir.Element(e.A.DType())
	if !tir.IsInt(t) {
		return code{}, false
	}
	if e.Op.IsComparison() {
		if x, y := w.beyond(e.A), w.beyond(e.B); x || y {
			o := infix[e.Op]
			side := func(e tir.Expr, wide bool) string {
				if wide {
					return w.in64(e).in(precShift)
				}
				return w.lane(e, i).in(precShift)
			}
			return code{side(e.A, x) + " " + o.text + " " + side(e.B, y), o.prec}, true
		}
		return code{}, false
	}
	if w.beyond(e) {
		return code{"(" + w.valueType(t) + ")" + w.in64(e).in(precUnary), precUnary}, true
	}
	switch {
	case isSum(e.Op) && tir.IsSigned(t) && t.Bits >= 32 && !w.fits(e):
		return w.wrapping(e.Op, t, w.lane(e.A, i), w.lane(e.B, i)), true
	case isDivision(e.Op) && !w.divides(e):
		return w.division(e.Op, t, w.lane(e.A, i), w.lane(e.B, i)), true
	}
	return code{}, false
}

// divides reports whether C divides as tir does: the divisor is not 0, and the quotient does not overflow.
func (w *writer) divides(e *tir.Binary) bool {
	b := w.spanOf(e.B)
	if n, ok := e.B.(*tir.IntImm); ok && n.Value < 0 {
		return n.Value < -1 || !tir.IsSigned(n.Type)
	}
	return b.lo > 0 || b.hi < -1
}

// unsignedType returns the unsigned type of the same width, at least 32 bits, because C computes smaller ones in int.
func unsignedType(t tir.Type) tir.Type {
	if t.Bits <= 32 {
		return tir.UInt32
	}
	return tir.UInt64
}

func shortName(c string) string {
	return strings.ReplaceAll(strings.TrimSuffix(c, "_t"), " ", "_")
}

// wrapping returns a sum, difference or product of signed integers that wraps around.
func (w *writer) wrapping(op tir.BinaryOp, t tir.Type, a, b code) code {
	c, u := w.valueType(t), w.valueType(unsignedType(t))
	word := map[tir.BinaryOp]string{tir.OpAdd: "add", tir.OpSub: "sub", tir.OpMul: "mul"}[op]
	name := "tvmgo_" + word + "_" + shortName(c)
	w.snippetText(name, fmt.Sprintf("%sinline %s %s(%s a, %s b) { return (%s)((%s)a %s (%s)b); }\n", w.inline(), c, name,
		c, c, c, u, infix[op].text, u))
	return atom(name + "(" + a.text + ", " + b.text + ")")
}

// division returns a division whose divisor may be 0 or -1.
func (w *writer) division(op tir.BinaryOp, t tir.Type, a, b code) code {
	c, u := w.valueType(t), w.valueType(unsignedType(t))
	signed := tir.IsSigned(t)
	word := map[tir.BinaryOp]string{tir.OpDiv: "div", tir.OpMod: "mod", tir.OpFloorDiv: "floordiv",
		tir.OpFloorMod: "floormod"}[op]
	if !signed && op >= tir.OpFloorDiv { // floor division equals division for unsigned types
		word = word[len("floor"):]
	}
	name := "tvmgo_any_" + word + "_" + shortName(c)
	var text string
	switch quotient := word == "div" || word == "floordiv"; {
	case quotient && !signed:
		text = fmt.Sprintf("return b == 0 ? 0 : (%s)(a / b);", c)
	case !quotient && !signed:
		text = fmt.Sprintf("return b == 0 ? a : (%s)(a %% b);", c)
	case quotient:
		text = fmt.Sprintf("return b == 0 ? 0 : b == -1 ? (%s)(0 - (%s)a) : %s;", c, u, w.plainly(op, t))
	default:
		text = fmt.Sprintf("return b == 0 ? a : b == -1 ? 0 : %s;", w.plainly(op, t))
	}
	w.snippetText(name, fmt.Sprintf("/* Division by 0: 0, and the dividend as the remainder. */\n"+
		"%sinline %s %s(%s a, %s b) { %s }\n",
		w.inline(), c, name, c, c, text))
	return atom(name + "(" + a.text + ", " + b.text + ")")
}

// plainly returns the C operator on a and b, for operands for which it is defined.
func (w *writer) plainly(op tir.BinaryOp, t tir.Type) string {
	return w.operate(op, t, atom("a"), atom("b")).in(precCond + 1)
}

// shift returns a shift by any number of bits.
func (w *writer) shift(e *tir.Call, a, b code) code {
	t := tir.Element(e.Type)
	c, u := w.valueType(t), w.valueType(unsignedType(t))
	left := e.Name == "shift_left"
	if s := w.spanOf(e.Args[1]); s.lo >= 0 && s.hi < int64(t.Bits) {
		if left { // C does not define it for negative numbers
			return code{"(" + c + ")((" + u + ")" + a.in(precUnary) + " << " + b.in(precUnary) + ")", precUnary}
		}
		return w.wrap(t, code{a.in(precUnary) + " >> " + b.in(precUnary), precShift})
	}
	name := "tvmgo_" + e.Name + "_" + shortName(c)
	gone := "0"
	if !left && tir.IsSigned(t) {
		gone = "a < 0 ? -1 : 0"
	}
	beyond := fmt.Sprintf("b >= %d", t.Bits)
	if tir.IsSigned(t) {
		beyond = "b < 0 || " + beyond
	}
	text := fmt.Sprintf("(%s)(a >> b)", c)
	if left {
		text = fmt.Sprintf("(%s)((%s)a << b)", c, u)
	}
	w.snippetText(name, fmt.Sprintf("/* A negative count, or one of at least the number of bits, shifts all bits out. "+
		"*/\n%sinline %s %s(%s a, %s b) {\n  if (%s) return (%s)(%s);\n  "+
		"return %s;\n}\n", w.inline(), c, name, c, c, beyond, c, gone, text))
	return atom(name + "(" + a.text + ", " + b.text + ")")
}

// fromFloat converts a float to an integer: towards 0, saturating at the limits of the type; NaN becomes 0.
func (w *writer) fromFloat(to, from tir.Type, x code) code {
	c, f := w.valueType(to), w.valueType(from)
	name := "tvmgo_" + shortName(f) + "_to_" + shortName(c)
	suffix := ""
	if f != "double" {
		suffix = "f"
	}
	power := func(n int) string { return fmt.Sprintf("0x1p%d%s", n, suffix) }
	var text string
	if tir.IsSigned(to) {
		n := int(to.Bits) - 1
		most, least := fmt.Sprintf("INT%d_MAX", to.Bits), fmt.Sprintf("INT%d_MIN", to.Bits)
		if w.kernels {
			most, least = fmt.Sprint(int64(1)<<n-1), fmt.Sprintf("(-%d - 1)", int64(1)<<n-1)
		}
		text = fmt.Sprintf("return x >= %s ? (%s)%s : x <= -%s ? (%s)%s : x == x ? (%s)x : 0;", power(n), c, most, power(n),
			c, least, c)
	} else {
		most := fmt.Sprintf("UINT%d_MAX", to.Bits)
		if w.kernels {
			most = "-1"
		}
		text = fmt.Sprintf("return x >= %s ? (%s)%s : x > 0 ? (%s)x : 0;", power(int(to.Bits)), c, most, c)
	}
	w.snippetText(name, fmt.Sprintf("%sinline %s %s(%s x) { %s }\n", w.inline(), c, name, f, text))
	return atom(name + "(" + x.text + ")")
}

// learnSizes records the range of the sizes of a function's tensors.
func (w *writer) learnSizes() {
	w.spans = map[*tir.Var]span{}
	w.facts = newFacts()
	for _, p := range w.fn.params {
		if p.buffer == nil {
			continue
		}
		for _, e := range p.buffer.Shape {
			if v, ok := e.(*tir.Var); ok && tir.IsInt(v.Type) {
				w.spans[v] = span{0, min(maxSize, spanOfType(v.Type).hi)}
			}
		}
	}
	for _, p := range w.fn.params {
		if _, known := w.spans[p.v]; !known && p.buffer == nil && tir.IsInt(p.v.Type) && p.v.Type != tir.UInt64 {
			w.spans[p.v] = spanOfType(p.v.Type)
		}
	}
}

// learnLoop records the range of a loop variable.
func (w *writer) learnLoop(s *tir.For) {
	low, extent := w.spanOf(s.Min), w.spanOf(s.Extent)
	r := spanOfType(s.Var.Type)
	r.lo = max(r.lo, low.lo)
	if last, ok := exact(tir.OpAdd, low, extent); ok && last.hi > r.lo {
		r.hi = min(r.hi, last.hi-1)
	}
	w.spans[s.Var] = r
}
