package c

import (
	"fmt"
	"strconv"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/tir"
)

// Precedences of operators.
const (
	precAssign = iota
	precCond
	precOr
	precAnd
	precBits
	precEqual
	precCompare
	precShift
	precAdd
	precMul
	precUnary
	precAtom
)

// code is an expression in C.
type code struct {
	text string
	prec int
}

func atom(s string) code { return code{s, precAtom} }

// in returns the expression as an operand: in parentheses unless it has at least this precedence.
func (c code) in(prec int) string {
	if c.prec < prec {
		return "(" + c.text + ")"
	}
	return c.text
}

// expr returns a scalar expression. Parts that C cannot express are written before the statement that contains it.
func (w *writer) expr(e tir.Expr) code {
	if t := e.DType(); t.Lanes > 1 {
		w.fail("a vector of type %s stands where %s needs one value", t, w.hooks.language())
		return atom("0")
	}
	return w.lane(e, "")
}

// lane returns lane i of a vector expression, or a scalar expression itself.
func (w *writer) lane(e tir.Expr, i string) code {
	x := w.laneText(e, i)
	x.text = w.long.shorten(x.text)
	return x
}

func (w *writer) laneText(e tir.Expr, i string) code {
	if w.err != nil {
		return atom("0")
	}
	switch e := e.(type) {
	case *tir.Var:
		return w.variable(e, i)
	case *tir.IntImm:
		return w.intConstant(e)
	case *tir.FloatImm:
		return w.floatConstant(e)
	case *tir.StringImm:
		return atom(abi.Literal(e.Value))
	case *tir.Binary:
		return w.binary(e, i)
	case *tir.Not:
		return code{"!" + w.lane(e.A, i).in(precUnary), precUnary}
	case *tir.Select:
		return w.choose(e.Cond, e.Then, e.Else, i)
	case *tir.Cast:
		if tir.Element(e.Type) == tir.Int64 && w.beyond(e.Value) {
			return w.in64(e.Value)
		}
		return w.cast(e.Type, e.Value.DType(), w.lane(e.Value, i))
	case *tir.BufferLoad:
		return w.load(e, i)
	case *tir.Ramp:
		if x, ok := w.rampLane(e, i); ok {
			return x
		}
		t := e.Base.DType()
		base, stride := w.lane(e.Base, ""), w.lane(e.Stride, "")
		step := code{i, precAtom}
		if s, ok := e.Stride.(*tir.IntImm); !ok || s.Value != 1 {
			step = code{i + " * " + stride.in(precUnary), precMul}
		}
		if tir.IsInt(t) && tir.IsSigned(t) && t.Bits >= 32 && w.spanOf(e) == spanOfType(t) {
			return w.wrapping(tir.OpAdd, t, base, w.wrapping(tir.OpMul, t, code{i, precAtom}, stride))
		}
		return w.wrap(t, code{base.in(precAdd) + " + " + step.in(precMul), precAdd})
	case *tir.Broadcast:
		return w.lane(e.Value, "")
	case *tir.Shuffle:
		return w.shuffle(e, i)
	case *tir.Let:
		w.bind(e.Var, e.Value)
		return w.lane(e.Body, i)
	case *tir.Call:
		return w.call(e, i)
	case *tir.Bad:
		w.fail("an expression could not be made: %w", e.Err)
	case *tir.ProducerLoad:
		w.fail("the tensor %s has no buffer: lower the tensor expression first", e.Producer.ProducerName())
	case *tir.Reduce:
		w.fail("a reduction remains: lower the tensor expression first")
	default:
		w.fail("%s has no expression %s: lower it before", w.hooks.language(), tir.NodeName(e))
	}
	return atom("0")
}

func (w *writer) variable(v *tir.Var, i string) code {
	name, ok := w.vars[v]
	if !ok && w.spreads[v] == nil {
		w.fail("variable %s has no value here: it is neither a parameter, nor bound by a loop, a let or a shape", v.Name)
		return atom("0")
	}
	if v.Type.Lanes > 1 {
		if i == "" {
			w.fail("the vector %s stands where C needs one value", v.Name)
		}
		if all := w.spreads[v]; all != nil {
			if k, err := strconv.Atoi(i); err == nil && k < len(all) {
				return atom(all[k])
			}
		}
		if k, err := strconv.Atoi(i); err == nil && w.bundles(v.Type) && !w.arrays[v] {
			return atom(w.hooks.Vectors.(Components).Lane(vectorOf(v.Type), name, k))
		}
		if w.hooks.Vectors != nil && !w.arrays[v] && i != "" { // such vectors cannot be indexed
			spread := w.temp(v.Name + "_lanes")
			w.line("%s %s[%d];", w.storageLane(v.Type), spread, v.Type.Lanes)
			w.line("%s;", w.hooks.Vectors.Store(vectorOf(v.Type), spread, name))
			name = spread
		}
		return atom(name + "[" + i + "]")
	}
	return atom(name)
}

// storageLane returns the type of a vector's lane in an array.
func (w *writer) storageLane(t tir.Type) string { return w.valueType(tir.Element(vectorOf(t))) }

// wrap converts an arithmetic result to its type: C computes small integers as int, and 16-bit floats are float here.
func (w *writer) wrap(t tir.Type, c code) code {
	t = tir.Element(t)
	switch {
	case w.isNarrow(t):
		w.snippet(narrowName(t))
		return atom("tvmgo_round_" + narrowName(t) + "(" + c.text + ")")
	case w.isClass(t):
		return w.asClass(t, c)
	case tir.IsInt(t) && t.Bits < 32:
		return code{"(" + w.valueType(t) + ")" + c.in(precUnary), precUnary}
	}
	return c
}

// asClass converts a number to a float type that is a class.
func (w *writer) asClass(t tir.Type, c code) code {
	name := w.valueType(t)
	for _, made := range []string{name, name + "::of_bits"} { // it is one already
		if strings.HasPrefix(c.text, made+"(") && c.prec == precAtom && closes(c.text, len(made)) == len(c.text)-1 {
			return c
		}
	}
	return atom(name + "(" + c.text + ")")
}

// closes returns the index of the parenthesis that closes the one at an index.
func closes(text string, at int) int {
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return at
			}
		}
	}
	return -1
}

// plainFloat returns a float that may be of a class as a number of the language.
func (w *writer) plainFloat(t tir.Type, c code) code {
	if w.isClass(t) {
		return code{"(float)" + c.in(precUnary), precUnary}
	}
	return c
}

var infix = map[tir.BinaryOp]struct {
	text string
	prec int
}{
	tir.OpAdd: {"+", precAdd}, tir.OpSub: {"-", precAdd}, tir.OpMul: {"*", precMul}, tir.OpDiv: {"/", precMul},
	tir.OpMod: {"%", precMul},
	tir.OpEQ:  {"==", precEqual}, tir.OpNE: {"!=", precEqual}, tir.OpLT: {"<", precCompare}, tir.OpLE: {"<=", precCompare},
	tir.OpGT: {">", precCompare}, tir.OpGE: {">=", precCompare}, tir.OpAnd: {"&&", precAnd}, tir.OpOr: {"||", precOr},
}

func (w *writer) binary(e *tir.Binary, i string) code {
	t := tir.Element(e.A.DType())
	if e.Op.IsLogical() {
		return w.logical(e, i)
	}
	if x, done := w.arithmetic(e, i); done {
		return x
	}
	a, b := w.lane(e.A, i), w.lane(e.B, i)
	op := e.Op
	if tir.IsSigned(t) && (op == tir.OpFloorDiv || op == tir.OpFloorMod) && w.spanOf(e.A).lo >= 0 &&
		w.spanOf(e.B).lo >= 0 {
		op = map[tir.BinaryOp]tir.BinaryOp{tir.OpFloorDiv: tir.OpDiv, tir.OpFloorMod: tir.OpMod}[op]
	}
	return w.operate(op, t, a, b)
}

// operate returns a binary operation on values of one type.
func (w *writer) operate(op tir.BinaryOp, t tir.Type, a, b code) code {
	o := infix[op]
	switch {
	case op.IsComparison() && tir.IsBool(t): // compilers warn about comparisons of bools
		return code{a.in(precAtom) + " " + o.text + " " + b.in(precAtom), o.prec}
	case op.IsComparison():
		return code{a.in(precShift) + " " + o.text + " " + b.in(precShift), o.prec}
	case op == tir.OpFloorDiv && tir.IsFloat(t):
		return w.wrap(t, w.math("floor", t, code{a.in(precMul) + " / " + b.in(precUnary), precMul}))
	case op == tir.OpMod && tir.IsFloat(t):
		return w.wrap(t, w.math("fmod", t, a, b))
	case op == tir.OpMin, op == tir.OpMax, op == tir.OpFloorDiv && tir.IsSigned(t), op == tir.OpFloorMod &&
		(tir.IsSigned(t) || tir.IsFloat(t)):
		result := atom(w.typed(op, t) + "(" + a.text + ", " + b.text + ")")
		if w.isClass(t) {
			return result
		}
		return w.wrapFloat(t, result)
	case op == tir.OpFloorDiv:
		o = infix[tir.OpDiv]
	case op == tir.OpFloorMod:
		o = infix[tir.OpMod]
	case t == tir.UInt16 && op == tir.OpMul: // C multiplies as int, which overflows
		a = code{"(" + w.valueType(tir.UInt32) + ")" + a.in(precUnary), precUnary}
	}
	result := code{a.in(o.prec) + " " + o.text + " " + b.in(o.prec+1), o.prec}
	if w.isClass(t) { // the operator rounds
		return result
	}
	return w.wrap(t, result)
}

// wrapFloat is wrap for the result of a function that already has the type.
func (w *writer) wrapFloat(t tir.Type, c code) code {
	if w.isNarrow(t) || w.isClass(t) {
		return w.wrap(t, c)
	}
	return c
}

// typed returns the name of the function of an operation for one type.
func (w *writer) typed(op tir.BinaryOp, t tir.Type) string {
	c := w.valueType(t)
	short := strings.ReplaceAll(strings.TrimSuffix(c, "_t"), " ", "_")
	switch op {
	case tir.OpMin, tir.OpMax:
		sign := map[tir.BinaryOp]string{tir.OpMin: "<", tir.OpMax: ">"}[op]
		name := fmt.Sprintf("tvmgo_%s_%s", op, short)
		w.snippetText(name, fmt.Sprintf("%sinline %s %s(%s a, %s b) { return a %s b ? a : b; }\n", w.inline(), c, name, c, c,
			sign))
		return name
	case tir.OpFloorDiv:
		name := "tvmgo_floordiv_" + short
		w.snippetText(name, fmt.Sprintf("%sinline %s %s(%s a, %s b) { return (%s)(a / b - (a %% b != 0 && (a < 0) != "+
			"(b < 0))); }\n", w.inline(), c, name, c, c, c))
		return name
	}
	name := "tvmgo_floormod_" + short
	if tir.IsFloat(t) {
		fmod := w.mathName("fmod", t)
		rest := w.wrapFloat(t, atom(fmod+"(a, b)")).text
		w.snippetText(name, fmt.Sprintf("%sinline %s %s(%s a, %s b) {\n  const %s r = %s;\n  return r != 0 && "+
			"(r < 0) != (b < 0) ? r + b : r;\n}\n", w.inline(), c, name, c, c, c, rest))
		return name
	}
	w.snippetText(name, fmt.Sprintf("%sinline %s %s(%s a, %s b) {\n  const %s r = (%s)(a %% b);\n  return r != 0 && "+
		"(r < 0) != (b < 0) ? (%s)(r + b) : r;\n}\n", w.inline(), c, name, c, c, c, c, c))
	return name
}

// inline precedes the word inline of a function.
func (g *generator) inline() string {
	if g.hooks.Inline != "" {
		return g.hooks.Inline
	}
	if g.kernels {
		return ""
	}
	return "static "
}

// logical does not evaluate its second operand if the first decides.
func (w *writer) logical(e *tir.Binary, i string) code {
	a := w.lane(e.A, i)
	var b code
	w.out.depth++
	before := w.capture(func() { b = w.lane(e.B, i) })
	w.out.depth--
	o := infix[e.Op]
	if before == "" {
		return code{a.in(precEqual) + " " + o.text + " " + b.in(precEqual), o.prec}
	}
	name := w.temp("holds")
	w.line("bool %s = %s;", name, a.text)
	not := ""
	if e.Op == tir.OpOr {
		not = "!"
	}
	w.line("if (%s%s) {", not, name)
	w.out.WriteString(before)
	w.line("  %s = %s;", name, b.text)
	w.line("}")
	return atom(name)
}

// choose returns one of two values, and evaluates only that one.
func (w *writer) choose(cond, then, other tir.Expr, i string) code {
	c := w.lane(cond, i)
	var a, b code
	w.out.depth++
	first := w.capture(func() { a = w.lane(then, i) })
	second := w.capture(func() { b = w.lane(other, i) })
	w.out.depth--
	if first == "" && second == "" {
		x := code{c.in(precOr) + " ? " + a.in(precCond) + " : " + b.in(precCond), precCond}
		if t := tir.Element(then.DType()); tir.IsInt(t) && t.Bits < 32 {
			return w.wrap(t, x)
		}
		return x
	}
	name := w.temp("chosen")
	w.line("%s %s;", w.valueType(then.DType()), name)
	w.line("if (%s) {", c.text)
	w.out.WriteString(first)
	w.line("  %s = %s;", name, a.text)
	w.line("} else {")
	w.out.WriteString(second)
	w.line("  %s = %s;", name, b.text)
	w.line("}")
	return atom(name)
}

// cast converts a value to another type.
func (w *writer) cast(to, from tir.Type, c code) code {
	to, from = tir.Element(to), tir.Element(from)
	switch {
	case to == from:
		return c
	case w.isClass(from):
		return w.cast(to, tir.Float32, w.plainFloat(from, c))
	case w.isClass(to):
		return w.asClass(to, c)
	case tir.IsBool(to):
		return code{c.in(precCompare) + " != 0", precEqual}
	// no float type can hold all digits of the intermediate value
	case to == tir.BFloat16 && tir.IsInt(from) && (from.Bits == 64 || w.kernels && from.Bits == 32):
		w.snippet("bfloat16")
		w.snippet("bfloat16_of_int")
		name := "tvmgo_round_bfloat16_of_int("
		if !tir.IsSigned(from) {
			name = "tvmgo_round_bfloat16_of_uint("
		}
		return atom(name + c.text + ")")
	// the value must not be rounded to float first
	case w.isNarrow(to) && (from == tir.Float64 || !w.kernels && tir.IsInt(from) && from.Bits > 16):
		w.snippet(narrowName(to))
		w.snippet(narrowName(to) + "_of_double")
		return atom("tvmgo_round_" + narrowName(to) + "_of_double(" + c.text + ")")
	case w.isNarrow(to):
		w.snippet(narrowName(to))
		return atom("tvmgo_round_" + narrowName(to) + "(" + c.text + ")")
	case tir.IsHandle(to):
		return code{"(void*)(uintptr_t)" + c.in(precUnary), precUnary}
	case tir.IsHandle(from):
		return code{"(" + w.valueType(to) + ")(uintptr_t)" + c.in(precUnary), precUnary}
	case w.valueType(to) == w.valueType(from):
		return c
	case tir.IsFloat(from) && tir.IsInt(to):
		return w.fromFloat(to, from, c)
	}
	return code{"(" + w.valueType(to) + ")" + c.in(precUnary), precUnary}
}
