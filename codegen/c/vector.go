package c

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Vectors describes the vectors of a language. Bools are lanes of int8, 0 or 1, except in Load and Store.
type Vectors interface {
	// Type returns the name of a vector type; false: the language lacks it, and it becomes a loop over lanes.
	Type(t tir.Type) (string, bool)
	// List returns a vector of these lanes.
	List(t tir.Type, lanes []string) string
	// Load returns the vector of consecutive elements at an address, Store the statement that writes it. The address
	// has the alignment of one element. Bools in memory are uint8 of any value.
	Load(t tir.Type, address string) string
	Store(t tir.Type, address, value string) string
	// Convert converts a vector to another type.
	Convert(t tir.Type, value string) string
	// Blend returns a in the lanes in which all bits of the mask are set, and b in the lanes in which none is. The mask
	// has signed lanes as wide as those of t.
	Blend(t tir.Type, mask, a, b string) string
	// Has reports whether an intrinsic, or a function of the language, takes vectors; Call calls it.
	Has(call *tir.Call) bool
	Call(call *tir.Call, args []string) string
}

// OwnVectors is implemented by Vectors of a language whose functions for vectors at any address keep compilers from
// holding a thread's own memory in registers. In the memory of a thread (scope "local"), whole vectors at multiples of
// their lanes are accessed by pointers instead.
type OwnVectors interface {
	// Own returns the vector at an address in a thread's own memory, which Hooks.Alloc aligns to vectors.
	Own(t tir.Type, address string) string
}

// own returns the vector of an access to a thread's own memory; false if it is to other memory, or not aligned.
func (w *writer) own(t tir.Type, b *tir.Buffer, indices []tir.Expr) (vector string, ok bool) {
	v, has := w.hooks.Vectors.(OwnVectors)
	if !has || b.StorageScope() != "local" || b.Offset != nil || tir.IsBool(t) || len(indices) != 1 {
		return "", false
	}
	r, ok := indices[0].(*tir.Ramp)
	if !ok || w.multiples.Of(r.Base)%int64(t.Lanes) != 0 {
		return "", false
	}
	return v.Own(t, w.addressOfVector(b, indices)), true
}

// nativeTree reports whether the compiler has all vector types that an expression uses.
func (w *writer) nativeTree(e tir.Expr) bool {
	if w.bundles(e.DType()) {
		return true
	}
	ok := true
	tir.Walk(e, func(node any) bool {
		x := node.(tir.Expr)
		if _, is := w.widened(x); is {
			return false
		}
		if t := x.DType(); t.Lanes > 1 {
			v, isVar := x.(*tir.Var)
			ok = ok && w.isNative(t) && !(isVar && w.arrays[v])
		}
		_, isLoad := x.(*tir.BufferLoad) // indices are not computed by vectors
		return ok && !isLoad
	})
	return ok
}

// vec returns a vector of the compiler.
func (w *writer) vec(e tir.Expr) code {
	x := w.vecText(e)
	x.text = w.long.shorten(x.text)
	return x
}

func (w *writer) vecText(e tir.Expr) code {
	if w.err != nil {
		return atom("0")
	}
	t := e.DType()
	if w.bundles(t) {
		return w.bundle(e)
	}
	switch e := e.(type) {
	case *tir.Var:
		if name := w.vars[e]; name != "" {
			return atom(name)
		}
		return w.variable(e, "0")
	case *tir.Broadcast:
		return w.broadcast(t, w.expr(e.Value))
	case *tir.Ramp:
		if tir.IsSigned(t) && w.spanOf(e) == spanOfType(t) {
			return w.gathered(e) // it may wrap around
		}
		steps := make([]string, e.Lanes)
		for i := range steps {
			steps[i] = fmt.Sprint(i)
		}
		x := w.list(t, steps)
		if s, ok := e.Stride.(*tir.IntImm); !ok || s.Value != 1 {
			x = code{w.broadcast(t, w.expr(e.Stride)).text + " * " + x.text, precMul}
		}
		return code{w.broadcast(t, w.expr(e.Base)).text + " + " + x.in(precMul), precAdd}
	case *tir.BufferLoad:
		if !arith.Contiguous(e.Buffer, e.Indices) {
			if x, ok := w.everySecond(e); ok {
				return x
			}
			return w.gathered(e)
		}
		if own, ok := w.own(t, e.Buffer, e.Indices); ok {
			return code{own, precUnary}
		}
		if w.hooks.Vectors != nil {
			x := atom(w.hooks.Vectors.Load(t, "&"+w.pointer(e.Buffer)+"["+w.address(e.Buffer, e.Indices, "", true).text+"]"))
			if tir.IsBool(t) {
				return code{fmt.Sprintf("-(%s != %s)", x.text, w.broadcast(t, atom("0")).text), precUnary}
			}
			return x
		}
		x := code{fmt.Sprintf("*(%s const*)&%s[%s]", w.memoryVector(t), w.pointer(e.Buffer),
			w.address(e.Buffer, e.Indices, "", true).text), precUnary}
		if tir.IsBool(t) {
			return code{fmt.Sprintf("-(%s != %s)", x.text, w.broadcast(t, atom("0")).text), precUnary}
		}
		return x
	case *tir.Let:
		w.bind(e.Var, e.Value)
		return w.vec(e.Body)
	case *tir.Shuffle:
		if all, ok := w.scalars(e); ok {
			return w.list(t, all)
		}
		if x, ok := w.vecShuffle(e); ok {
			return x
		}
	case *tir.Not:
		return code{w.broadcast(t, atom("1")).text + " - " + w.vec(e.A).in(precMul), precAdd}
	case *tir.Cast:
		from := e.Value.DType()
		if load, is := w.widened(e); is {
			return w.widen(t, load)
		}
		if tir.IsFloat(from) && tir.IsInt(t) {
			return w.gathered(e)
		}
		switch x := w.vec(e.Value); {
		case tir.IsBool(t):
			return w.truth(t, code{x.in(precEqual) + " != " + w.broadcast(from, atom("0")).text, precEqual})
		default:
			return w.convert(t, x)
		}
	case *tir.Call:
		if e.Kind == tir.CallIntrinsic && e.Name == "if_then_else" && e.Args[0].DType().Lanes == 1 {
			return w.vecChoose(t, e.Args[0], e.Args[1], e.Args[2])
		}
		if w.hooks.Vectors != nil {
			if x, ok := w.vecCall(e); ok {
				return x
			}
			break
		}
		if x, ok := w.vectorCall(e); ok {
			return x
		}
	case *tir.Select:
		return w.blend(t, w.maskOf(t, e.Cond), w.vec(e.Then), w.vec(e.Else))
	case *tir.Binary:
		return w.vecBinary(e)
	}
	return w.gathered(e)
}

// vecCall returns a call of an intrinsic, or of a function of the language, that the language has for vectors.
func (w *writer) vecCall(e *tir.Call) (x code, ok bool) {
	known := e.Kind == tir.CallIntrinsic || e.Kind == tir.CallExtern
	if w.hooks.Vectors == nil || !known || !w.hooks.Vectors.Has(e) {
		return code{}, false
	}
	args := make([]string, len(e.Args))
	for _, a := range e.Args {
		if n := a.DType().Lanes; n != e.Type.Lanes && n != 1 && e.Type != tir.Void {
			return code{}, false
		}
	}
	for i, a := range e.Args {
		if a.DType().Lanes == 1 {
			args[i] = w.expr(a).text
		} else if w.nativeTree(a) {
			args[i] = w.vec(a).text
		} else {
			args[i] = w.gathered(a).text
		}
	}
	return atom(w.hooks.Vectors.Call(e, args)), true
}

// list returns a vector of these lanes.
func (w *writer) list(t tir.Type, lanes []string) code {
	if w.hooks.Vectors != nil {
		return atom(w.hooks.Vectors.List(vectorOf(t), lanes))
	}
	return atom(fmt.Sprintf("(%s){%s}", w.vectorType(t), strings.Join(lanes, ", ")))
}

// convert converts a vector to another type with as many lanes.
func (w *writer) convert(t tir.Type, x code) code {
	if w.hooks.Vectors != nil {
		return atom(w.hooks.Vectors.Convert(vectorOf(t), x.text))
	}
	return atom(fmt.Sprintf("__builtin_convertvector(%s, %s)", x.text, w.vectorType(t)))
}

// vecBinary returns an operation on vectors.
func (w *writer) vecBinary(e *tir.Binary) code {
	from, t := e.A.DType(), e.DType()
	float := tir.IsFloat(from)
	switch e.Op {
	case tir.OpAdd, tir.OpSub, tir.OpMul:
		if sum, dot, ok := w.addsDot(e); ok {
			return w.vectorDot(t, w.vec(sum), dot)
		}
		o := infix[e.Op]
		a, b := w.vec(e.A), w.vec(e.B)
		if w.hooks.Vectors == nil && tir.IsInt(from) && tir.IsSigned(from) && !w.fits(e) {
			u := w.vectorType(tir.Type{Code: dlpack.CodeUInt, Bits: t.Bits, Lanes: t.Lanes})
			return code{fmt.Sprintf("(%s)((%s)%s %s (%s)%s)", w.vectorType(t), u, a.in(precUnary), o.text, u, b.in(precUnary)),
				precUnary}
		}
		return code{a.in(o.prec) + " " + o.text + " " + b.in(o.prec+1), o.prec}
	case tir.OpDiv:
		if float {
			a, b := w.vec(e.A), w.vec(e.B)
			return code{a.in(precMul) + " / " + b.in(precUnary), precMul}
		}
	case tir.OpEQ, tir.OpNE, tir.OpLT, tir.OpLE, tir.OpGT, tir.OpGE:
		o := infix[e.Op]
		a, b := w.vec(e.A), w.vec(e.B)
		return w.truth(t, code{a.in(o.prec+1) + " " + o.text + " " + b.in(o.prec+1), o.prec})
	case tir.OpAnd, tir.OpOr:
		a, b := w.vec(e.A), w.vec(e.B)
		return code{a.in(precUnary) + map[tir.BinaryOp]string{tir.OpAnd: " & ", tir.OpOr: " | "}[e.Op] + b.in(precUnary),
			precBits}
	case tir.OpMin, tir.OpMax:
		sign := map[tir.BinaryOp]string{tir.OpMin: "<", tir.OpMax: ">"}[e.Op]
		a, b := w.keep(t, w.vec(e.A)), w.keep(t, w.vec(e.B))
		if helper := w.extreme(e.Op, t); helper != "" {
			name := w.temp("value")
			w.line("%s %s;", w.vectorType(t), name)
			w.line("%s(&%s, &%s, &%s);", helper, name, a.text, b.text)
			return atom(name)
		}
		return w.blend(t, code{a.text + " " + sign + " " + b.text, precCompare}, a, b)
	}
	return w.gathered(e)
}

// vecChoose returns one of two vectors, and evaluates only that one.
func (w *writer) vecChoose(t tir.Type, cond, then, other tir.Expr) code {
	c := w.expr(cond)
	name := w.temp("chosen")
	w.line("%s %s;", w.vectorType(t), name)
	w.line("if (%s) {", c.text)
	w.indented(func() { w.line("%s = %s;", name, w.vec(then).text) })
	w.line("} else {")
	w.indented(func() { w.line("%s = %s;", name, w.vec(other).text) })
	w.line("}")
	return atom(name)
}

// splatLanes is the number of lanes above which a macro makes a vector of equal lanes.
const splatLanes = 4

// broadcast returns a vector whose lanes are all x.
func (w *writer) broadcast(t tir.Type, x code) code {
	if w.hooks.Vectors != nil {
		return w.list(t, slices.Repeat([]string{x.text}, int(t.Lanes)))
	}
	vector, n := w.vectorType(t), int(t.Lanes)
	each := func(x string) string {
		return "(" + vector + "){" + strings.TrimSuffix(strings.Repeat(x+", ", n), ", ") + "}"
	}
	if x.text == "0" || x.text == "0.0f" || x.text == "0.0" {
		return atom("(" + vector + "){" + x.text + "}")
	}
	if strings.ContainsAny(x.text, "([ +*/") && x.text[0] != '-' {
		name := w.temp("scalar")
		w.line("const %s %s = %s;", w.valueType(t), name, x.text)
		x = atom(name)
	}
	if n > splatLanes { // not a function: the convention for vector results depends on the CPU
		name := "tvmgo_splat_" + vector
		w.snippetText(name, fmt.Sprintf("#define %s(x) (%s)\n", name, each("x")))
		return atom(name + "(" + x.text + ")")
	}
	return atom(each(x.text))
}

// keep assigns a value to a variable, so that it is computed once.
func (w *writer) keep(t tir.Type, x code) code {
	if isIdentifier(x.text) {
		return x
	}
	name := w.temp("value")
	w.line("const %s %s = %s;", w.vectorType(t), name, x.text)
	return atom(name)
}

// truth converts the result of a comparison, which is -1 if it holds, to bools.
func (w *writer) truth(t tir.Type, comparison code) code {
	return code{"-" + w.convert(t, comparison).text, precUnary}
}

// mask returns lanes of t with all bits set where a bool is true.
func (w *writer) mask(t tir.Type, truth code) code {
	return code{"-" + w.convert(signedMask(t), truth).text, precUnary}
}

// maskOf returns the mask of a condition. A comparison of elements as wide as those of t is one.
func (w *writer) maskOf(t tir.Type, cond tir.Expr) code {
	c, ok := cond.(*tir.Binary)
	if !ok || w.hooks.Vectors != nil || !c.Op.IsComparison() || c.A.DType().Bits != t.Bits || tir.IsBool(c.A.DType()) ||
		!w.isNative(c.A.DType()) {
		return w.mask(t, w.vec(cond))
	}
	o := infix[c.Op]
	a, b := w.vec(c.A), w.vec(c.B)
	return code{a.in(o.prec+1) + " " + o.text + " " + b.in(o.prec+1), o.prec}
}

// blend returns a where the mask is set, else b.
func (w *writer) blend(t tir.Type, mask, a, b code) code {
	if w.hooks.Vectors != nil {
		return atom(w.hooks.Vectors.Blend(vectorOf(t), mask.text, a.text, b.text))
	}
	m := signedMask(t)
	bits := w.vectorType(m)
	name := w.temp("mask")
	w.line("const %s %s = (%s)%s;", bits, name, bits, mask.in(precUnary))
	if signedMask(t) == t || tir.IsBool(t) {
		return code{fmt.Sprintf("(%s & %s) | (~%s & %s)", name, a.in(precUnary), name, b.in(precUnary)), precBits}
	}
	return code{fmt.Sprintf("(%s)((%s & (%s)%s) | (~%s & (%s)%s))", w.vectorType(t), name, bits, a.in(precUnary), name,
		bits, b.in(precUnary)), precUnary}
}

// gathered assembles a vector lane by lane, in memory: some compilers fail on code that sets single lanes of a
// variable.
func (w *writer) gathered(e tir.Expr) code {
	t := e.DType()
	e = w.hoist(e)
	name := w.temp("value")
	if w.hooks.Vectors != nil {
		w.line("%s %s[%d];", w.storageLane(t), name, t.Lanes)
		w.overLanes(t, func() {
			x := w.lane(e, "lane")
			w.line("%s[lane] = %s;", name, x.text)
		})
		return atom(w.hooks.Vectors.Load(vectorOf(t), name))
	}
	element := t
	if tir.IsBool(t) {
		element = tir.Int8
	}
	w.line("%s %s[%d];", w.valueType(element), name, t.Lanes)
	w.overLanes(t, func() {
		x := w.lane(e, "lane")
		w.line("%s[lane] = %s;", name, x.text)
	})
	return code{fmt.Sprintf("*(%s const*)%s", w.memoryVector(t), name), precUnary}
}

// scalars returns the lanes of a shuffle of scalars.
func (w *writer) scalars(e *tir.Shuffle) ([]string, bool) {
	for _, v := range e.Vectors {
		if v.DType().Lanes != 1 {
			return nil, false
		}
	}
	all := make([]string, len(e.Indices))
	for k, n := range e.Indices {
		if n < 0 || n >= len(e.Vectors) {
			return nil, false
		}
		all[k] = w.expr(e.Vectors[n]).text
	}
	return all, true
}

// vecShuffle returns a shuffle of two vectors to as many lanes, for which the compiler has a function.
func (w *writer) vecShuffle(e *tir.Shuffle) (code, bool) {
	t := e.DType()
	if w.hooks.Vectors != nil || len(e.Vectors) != 2 || tir.IsBool(t) || e.Vectors[0].DType() != t ||
		e.Vectors[1].DType() != t || t.Lanes&(t.Lanes-1) != 0 {
		return code{}, false
	}
	lanes := make([]string, len(e.Indices))
	for k, n := range e.Indices {
		lanes[k] = fmt.Sprint(n)
	}
	vector := w.vectorType(t)
	name := "tvmgo_shuffle_" + vector
	w.snippetText(name, fmt.Sprintf(shuffleText, name, w.vectorType(signedMask(t))))
	return atom(fmt.Sprintf("%s(%s, %s, %s)", name, w.vec(e.Vectors[0]).text, w.vec(e.Vectors[1]).text,
		strings.Join(lanes, ", "))), true
}

// shuffleText is a macro that makes a vector of lanes of two others. Its arguments: its name, and the type of masks.
const shuffleText = `#if defined(__clang__) || __GNUC__ >= 12
#define %[1]s(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define %[1]s(a, b, ...) __builtin_shuffle(a, b, (%[2]s){__VA_ARGS__})
#endif
`

// shuffle returns lane i of a shuffle.
func (w *writer) shuffle(e *tir.Shuffle, i string) code {
	if len(e.Vectors) == 0 || len(e.Indices) == 0 {
		w.fail("a shuffle of %d vectors to %d lanes", len(e.Vectors), len(e.Indices))
		return atom("0")
	}
	t := tir.Element(e.Vectors[0].DType())
	var all []string
	for _, v := range e.Vectors {
		if v.DType().Lanes == 1 {
			all = append(all, w.expr(v).text)
			continue
		}
		name := w.lanes(v)
		for k := range int(v.DType().Lanes) {
			all = append(all, fmt.Sprintf("%s[%d]", name, k))
		}
	}
	picked := make([]string, len(e.Indices))
	for k, n := range e.Indices {
		if n < 0 || n >= len(all) {
			w.fail("a shuffle picks lane %d of %d", n, len(all))
			return atom("0")
		}
		picked[k] = all[n]
	}
	if len(picked) == 1 {
		return atom("(" + picked[0] + ")")
	}
	name := w.temp("picked")
	w.line("const %s %s[%d] = {%s};", w.valueType(t), name, len(picked), strings.Join(picked, ", "))
	return atom(name + "[" + i + "]")
}
