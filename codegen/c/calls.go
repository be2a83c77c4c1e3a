package c

import (
	"fmt"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// math returns a call of the C library's function for a type.
func (w *writer) math(name string, t tir.Type, args ...code) code {
	name = w.mathName(name, t)
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = a.text
	}
	return atom(name + "(" + strings.Join(list, ", ") + ")")
}

// mathName returns the C library's name of a function for a type.
func (w *writer) mathName(name string, t tir.Type) string {
	switch {
	case w.hooks.Math != nil:
		return w.hooks.Math(name, t)
	case w.valueType(t) != "double":
		return name + "f"
	}
	return name
}

// call returns lane i of the result of a call.
func (w *writer) call(e *tir.Call, i string) code {
	if e.Kind != tir.CallIntrinsic && e.Type.Lanes > 1 {
		w.fail("the call of %s gives a vector of type %s: only intrinsics can", e.Name, e.Type)
		return atom("0")
	}
	switch e.Kind {
	case tir.CallIntrinsic:
		return w.intrinsic(e, i)
	case tir.CallExtern:
		return w.externCall(e)
	case tir.CallFunc:
		return w.functionCall(e)
	case tir.CallPacked:
		return w.packedCall(e)
	}
	w.fail("the call of %s is of kind %d, which does not exist", e.Name, e.Kind)
	return atom("0")
}

func (w *writer) intrinsic(e *tir.Call, i string) code {
	if w.lacksThreads(e) {
		return atom("0")
	}
	switch e.Name {
	case "bitwise_or":
		if first := w.wordOf(e); first != nil && i == "" {
			w.snippetText("tvmgo_word", wordText)
			return atom("tvmgo_word(&" + w.element(first.Buffer, first.Indices, "") + ")")
		}
	case "if_then_else":
		return w.choose(e.Args[0], e.Args[1], e.Args[2], i)
	case "address_of":
		return w.addressOf(e)
	case "tvm_struct_get":
		return w.structGet(e)
	case transform.CheckIndex:
		return w.checkIndex(e, i)
	case transform.ReportIndex:
		return w.report(e, i)
	case transform.ClearReports, transform.CheckReports:
		return w.reports(e)
	case "ret", "ret_none", "storage_sync", "prefetch":
		if w.hooks.Intrinsic == nil {
			w.fail("intrinsic %s is a statement, and stands within an expression", e.Name)
			return atom("0")
		}
	}
	args := make([]code, len(e.Args))
	texts := make([]string, len(e.Args))
	for k, a := range e.Args {
		args[k] = w.lane(a, i)
		texts[k] = args[k].text
	}
	t := tir.Element(e.Type)
	if e.Type == tir.Void {
		t = tir.Void
	}
	if w.hooks.Intrinsic != nil {
		if w.hooks.Needs != nil {
			w.snippet(w.hooks.Needs(e)...)
		}
		text, err := w.hooks.Intrinsic(e, texts)
		if err != nil {
			w.fail("intrinsic %s: %w", e.Name, err)
		}
		if text != "" {
			return w.wrapFloat(t, atom(text))
		}
	}
	switch e.Name {
	case "rsqrt":
		return w.wrap(t, code{w.one(t) + " / " + w.math("sqrt", t, args[0]).text, precMul})
	case "sigmoid":
		x := code{"-" + args[0].in(precAtom), precUnary}
		one := w.one(t)
		if w.isClass(t) { // rounded once, at the end
			one = w.one(tir.Float32)
		}
		return w.wrap(t, code{one + " / (" + one + " + " + w.math("exp", t, x).text + ")", precMul})
	case "exp10":
		ten := w.floatConstant(&tir.FloatImm{Type: t, Value: 10})
		return w.wrap(t, w.math("pow", t, ten, args[0]))
	case "bitwise_and", "bitwise_or", "bitwise_xor":
		op := map[string]string{"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}[e.Name]
		return w.wrap(t, code{args[0].in(precUnary) + " " + op + " " + args[1].in(precUnary), precBits})
	case "dot4":
		w.snippetText("tvmgo_dot4", fmt.Sprintf(dotText, w.inline(), w.valueType(tir.Int32), w.valueType(tir.UInt8),
			w.valueType(tir.Int8)))
		return atom("tvmgo_dot4(" + texts[0] + ", " + texts[1] + ")")
	case "bitwise_not":
		return w.wrap(t, code{"~" + args[0].in(precUnary), precUnary})
	case "shift_left", "shift_right":
		return w.shift(e, args[0], args[1])
	case "popcount":
		return code{fmt.Sprintf("(%s)__builtin_popcountll((uint%d_t)%s)", w.valueType(t), t.Bits, args[0].in(precUnary)),
			precUnary}
	case "clz":
		w.snippet("clz")
		return code{fmt.Sprintf("(%s)tvmgo_clz((uint%d_t)%s, %d)", w.valueType(t), t.Bits, args[0].in(precUnary), t.Bits),
			precUnary}
	case "abs":
		if !tir.IsSigned(t) {
			return args[0]
		}
		c := w.valueType(t)
		name := "tvmgo_abs_" + strings.TrimSuffix(c, "_t")
		w.snippetText(name, fmt.Sprintf("%sinline %s %s(%s a) { return a < 0 ? (%s)(0 - (%s)a) : a; }\n", w.inline(), c,
			name, c, c, w.valueType(unsignedType(t))))
		return atom(name + "(" + texts[0] + ")")
	case "isnan", "isinf", "isfinite":
		if from := e.Args[0].DType(); !tir.IsFloat(from) {
			return map[bool]code{true: atom("true"), false: atom("false")}[e.Name == "isfinite"]
		}
		return code{e.Name + "(" + w.plainFloat(e.Args[0].DType(), args[0]).text + ") != 0", precEqual}
	case "likely":
		if w.kernels || !tir.IsBool(t) {
			return args[0]
		}
		return code{"__builtin_expect(" + texts[0] + ", 1) != 0", precEqual}
	case "reinterpret":
		return w.reinterpret(e, args[0])
	}
	if in, ok := tir.LookupIntrinsic(e.Name); ok && in.Args >= 0 && tir.IsFloat(t) && len(e.Args) == in.Args {
		return w.wrapFloat(t, w.math(e.Name, t, args...))
	}
	w.fail("intrinsic %s of type %s can't be said in %s", e.Name, e.Type, w.hooks.language())
	return atom("0")
}

// one returns the constant 1 of a float type.
func (w *writer) one(t tir.Type) string {
	return w.floatConstant(&tir.FloatImm{Type: t, Value: 1}).text
}

// reinterpret returns a value whose bits are read as another type.
func (w *writer) reinterpret(e *tir.Call, x code) code {
	from, to := tir.Element(e.Args[0].DType()), tir.Element(e.Type)
	if from.Bits != to.Bits || tir.IsHandle(from) || tir.IsHandle(to) || tir.IsBool(to) {
		w.fail("reinterpret of %s as %s: want numbers of as many bits", e.Args[0].DType(), e.Type)
		return x
	}
	if from == to {
		return x
	}
	if w.isNarrow(from) {
		w.snippet(narrowName(from))
		x, from = atom("tvmgo_to_"+narrowName(from)+"("+x.text+")"), tir.UInt16
	}
	if w.isNarrow(to) {
		w.snippet(narrowName(to))
		return atom("tvmgo_from_" + narrowName(to) + "((uint16_t)" + x.in(precUnary) + ")")
	}
	if !tir.IsFloat(from) && !tir.IsFloat(to) {
		return code{"(" + w.valueType(to) + ")" + x.in(precUnary), precUnary}
	}
	a, b := w.valueType(from), w.valueType(to)
	name := fmt.Sprintf("tvmgo_%s_as_%s", strings.TrimSuffix(a, "_t"), strings.TrimSuffix(b, "_t"))
	w.snippetText(name, fmt.Sprintf("%sinline %s %s(%s x) {\n  union { %s from; %s to; } u = {x};\n  return u.to;\n}\n",
		w.inline(), b, name, a, a, b))
	return atom(name + "(" + x.text + ")")
}

func (w *writer) addressOf(e *tir.Call) code {
	if len(e.Args) == 1 {
		if l, ok := e.Args[0].(*tir.BufferLoad); ok && l.DType().Lanes == 1 {
			if w.hooks.Fragment != nil && tir.IsFragment(l.Buffer.StorageScope()) {
				index := w.address(l.Buffer, l.Indices, "", true)
				return code{w.hooks.Fragment(l.Buffer, w.pointer(l.Buffer), index.text), precUnary}
			}
			return code{"(void*)&" + w.element(l.Buffer, l.Indices, ""), precUnary}
		}
	}
	w.fail("address_of takes one element of a buffer")
	return atom("NULL")
}

// statementCall writes the intrinsics that are statements; it returns false for all others.
func (w *writer) statementCall(e *tir.Call) bool {
	if w.hooks.Intrinsic != nil {
		return false
	}
	if w.lacksThreads(e) {
		return true
	}
	switch e.Name {
	case "ret", "ret_none":
		w.returns(e)
	case "prefetch":
		if len(e.Args) == 0 || !tir.IsHandle(e.Args[0].DType()) {
			w.fail("prefetch takes an address: see address_of")
			return true
		}
		w.line("__builtin_prefetch(%s);", w.expr(e.Args[0]).text)
	default:
		return false
	}
	return true
}

// lacksThreads reports whether the language is C, and only threads of a device execute the intrinsic, an error.
func (w *writer) lacksThreads(e *tir.Call) bool {
	if info, _ := tir.LookupIntrinsic(e.Name); !info.Threads || w.hooks.Intrinsic != nil {
		return false
	}
	w.fail("intrinsic %s is executed by threads of a device, which the CPU lacks: remove it, or build the function for "+
		"a device", e.Name)
	return true
}

// returns ends the function.
func (w *writer) returns(e *tir.Call) {
	if w.inTask {
		w.fail("%s within a parallel loop, whose other iterations run at the same time", e.Name)
		return
	}
	if e.Name == "ret" {
		if !w.fn.hasResult() || e.Args[0].DType() != w.fn.Result {
			w.fail("ret of a value of type %s in a function whose result is of type %q", e.Args[0].DType(), w.fn.Result)
			return
		}
		w.line("*result = %s;", w.expr(e.Args[0]).text)
	}
	if w.leave == nil {
		w.line("return 0;")
		return
	}
	w.snippet("returned")
	w.line("%s", w.leaving("TVMGO_RETURNED"))
}

// externCall returns a call of a C function. The prototype is derived from the call.
func (w *writer) externCall(e *tir.Call) code {
	if !isIdentifier(e.Name) {
		w.fail("the call of the C function %q: that is no name in C", e.Name)
		return atom("0")
	}
	types, args := make([]string, len(e.Args)), make([]string, len(e.Args))
	for k, a := range e.Args {
		if w.isNarrow(a.DType()) || a.DType().Lanes != 1 {
			w.fail("the call of the C function %s passes a value of type %s: cast it", e.Name, a.DType())
			return atom("0")
		}
		if types[k] = w.valueType(a.DType()); tir.IsHandle(a.DType()) {
			if _, text := a.(*tir.StringImm); text {
				types[k] = "const char*"
			}
		}
		args[k] = w.pointerOr(a).text
	}
	if len(types) == 0 {
		types = []string{"void"}
	}
	proto := fmt.Sprintf("extern %s %s(%s);", w.valueType(e.Type), e.Name, strings.Join(types, ", "))
	switch old, known := w.externs[e.Name]; {
	case !known:
		w.externs[e.Name] = proto
		if !declared[e.Name] && (w.hooks.Reserved == nil || !w.hooks.Reserved(e.Name)) {
			w.protos.line("%s", proto)
		}
	case old != proto:
		w.fail("the C function %s is called as %q and as %q: cast the arguments to the same types", e.Name, old, proto)
	}
	return w.result(e.Type, code{e.Name + "(" + strings.Join(args, ", ") + ")", precAtom})
}

// declared are C functions that the headers declare. Those with names that a language reserves are declared, too.
var declared = map[string]bool{"memcpy": true, "memset": true, "memmove": true, "memcmp": true, "strlen": true,
	"printf": true, "puts": true}

func init() {
	for _, i := range tir.Intrinsics() {
		declared[i.Name], declared[i.Name+"f"] = true, true
	}
}

// result writes a call as a statement, so that it runs before the following code.
func (w *writer) result(t tir.Type, call code) code {
	if t == tir.Void {
		w.line("%s;", call.text)
		return code{}
	}
	name := w.temp("got")
	w.line("%s %s = %s;", constant(w.valueType(t)), name, call.text)
	return atom(name)
}

// pointerOr returns an argument; for a tensor, the address of its elements.
func (w *writer) pointerOr(e tir.Expr) code {
	if v, ok := e.(*tir.Var); ok && w.fn.isTensor(v) {
		return w.variable(w.fn.Buffers[v].Data, "")
	}
	return w.expr(e)
}

// functionCall returns a call of another function of the module.
func (w *writer) functionCall(e *tir.Call) code {
	f := w.functions[e.Name]
	if f == nil {
		w.fail("the call of %s: the module has no such function", e.Name)
		return atom("0")
	}
	if len(e.Args) != len(f.params) {
		w.fail("the call of %s passes %d arguments, and it takes %d", e.Name, len(e.Args), len(f.params))
		return atom("0")
	}
	if len(f.extras) > 0 {
		x := f.extras[0]
		w.fail("the call of %s: it takes %s from a tensor's description, and gets addresses from functions of its "+
			"module: make %s a parameter", e.Name, x.name, x.name)
		return atom("0")
	}
	want := f.Result
	if !f.hasResult() {
		want = tir.Void
	}
	if e.Type != want {
		w.fail("the call of %s is of type %q, and its result of type %q", e.Name, e.Type, want)
		return atom("0")
	}
	if w.inTask && w.launches(f.PrimFunc, map[string]bool{}) {
		w.fail("the call of %s, which has a parallel loop, stands within a parallel loop: make one of them serial", e.Name)
		return atom("0")
	}
	args := w.selfArgument(f.PrimFunc)
	for k, a := range e.Args {
		p := f.params[k]
		if a.DType() != p.v.Type {
			w.fail("the call of %s: argument %d is of type %s, and parameter %s of type %s", e.Name, k, a.DType(), p.name,
				p.v.Type)
			return atom("0")
		}
		x := w.pointerOr(a)
		if p.buffer != nil {
			x = code{"(" + strings.TrimSuffix(p.ctype, " restrict") + ")" + x.in(precUnary), precUnary}
		}
		args = append(args, x.text)
	}
	if !f.hasResult() {
		w.try(f.body + "(" + strings.Join(args, ", ") + ")")
		return code{}
	}
	name := w.temp("got")
	w.line("%s %s;", w.valueType(f.Result), name)
	w.try(f.body + "(" + strings.Join(append(args, "&"+name), ", ") + ")")
	return atom(name)
}

// launches reports whether a function, or one that it calls, has a parallel loop.
func (g *generator) launches(f *tir.PrimFunc, seen map[string]bool) bool {
	if seen[f.Name] {
		return false
	}
	seen[f.Name] = true
	return tir.Contains(f.Body, func(node any) bool {
		switch n := node.(type) {
		case *tir.For:
			return n.Kind == tir.Parallel
		case *tir.Call:
			callee := g.module.Func(n.Name)
			return n.Kind == tir.CallFunc && callee != nil && g.launches(callee, seen)
		}
		return false
	})
}
