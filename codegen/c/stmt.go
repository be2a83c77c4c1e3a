package c

import (
	"fmt"
	"slices"

	"tvmgo/codegen/abi"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

func (w *writer) line(format string, args ...any) { w.out.line(format, args...) }

// indented writes a block. Names that are assigned inside it are free again after it.
func (w *writer) indented(write func()) {
	taken := len(w.names.order)
	w.out.depth++
	write()
	w.out.depth--
	w.names.giveBack(taken)
}

// capture returns what write writes, optionally indented by one level.
func (w *writer) capture(write func()) string {
	outer := w.out
	w.out = &text{depth: outer.depth}
	write()
	s := w.long.shorten(w.out.String())
	w.out = outer
	return s
}

func (w *writer) stmt(s tir.Stmt) {
	if w.err != nil {
		return
	}
	switch s := s.(type) {
	case *tir.Seq:
		for _, x := range s.Stmts {
			w.stmt(x)
		}
	case *tir.BufferStore:
		w.store(s)
	case *tir.For:
		w.loop(s)
	case *tir.While:
		w.while(s)
	case *tir.If:
		w.line("if (%s) {", w.expr(s.Cond).text)
		w.indented(func() { w.stmt(s.Then) })
		if s.Else != nil {
			w.line("} else {")
			w.indented(func() { w.stmt(s.Else) })
		}
		w.line("}")
	case *tir.LetStmt:
		if s.Var.Type == tir.Int32 && w.isIndex(s.Value) {
			w.spans[s.Var] = w.spanOf(s.Value)
		}
		w.bind(s.Var, s.Value)
		w.stmt(s.Body)
	case *tir.Assert:
		w.assert(s)
	case *tir.Alloc:
		w.alloc(s)
	case *tir.AttrStmt:
		if s.Key == "thread_extent" && !w.kernels {
			w.fail("thread_extent needs threads of a device: this code is for the CPU: do not bind the loop, or build the " +
				"function for a device")
		}
		if s.Key == "device_id" && !w.kernels {
			outer := w.deviceID
			id := w.expr(s.Value)
			w.deviceID = id.text
			w.stmt(s.Body)
			w.deviceID = outer
			return
		}
		if b, ok := s.Node.(*tir.Buffer); ok && s.Key == tir.AttrNonTemporal {
			w.pastCaches(b, s.Body)
			return
		}
		w.stmt(s.Body)
	case *tir.Evaluate:
		w.evaluate(s.Value)
	default:
		w.fail("%s has no statement %s: lower it before", w.hooks.language(), tir.NodeName(s))
	}
}

// bind gives a variable a value from here to the end of the block.
func (w *writer) bind(v *tir.Var, value tir.Expr) {
	if v.Type != value.DType() {
		w.fail("variable %s of type %s gets a value of type %s: cast it", v.Name, v.Type, value.DType())
		return
	}
	if w.hooks.Vectors != nil {
		w.multiples.Let(v, value)
	}
	switch {
	case v.Type.Lanes > 1 && w.isNative(v.Type) && w.nativeTree(value):
		x := w.vec(value)
		w.line("const %s %s = %s;", w.vectorType(v.Type), w.define(v), x.text)
	case v.Type.Lanes > 1:
		x := w.lanes(value)
		w.arrays[v] = true
		w.vars[v] = x
	default:
		x := w.expr(value)
		if tir.IsHandle(v.Type) {
			w.line("void* const %s = %s;", w.define(v), x.text)
		} else {
			w.line("const %s %s = %s;", w.valueType(v.Type), w.define(v), x.text)
			if s := w.spanOf(value); tir.IsInt(v.Type) && s.within(spanOfType(v.Type)) && s != spanOfType(v.Type) {
				w.spans[v] = s
			}
		}
	}
	if !w.fn.used[v] {
		w.line("(void)%s;", w.vars[v])
	}
}

// define names a variable.
func (w *writer) define(v *tir.Var) string {
	name := w.names.pick(v.Name)
	w.vars[v] = name
	return name
}

// temp names a variable that is not in the program.
func (w *writer) temp(name string) string { return w.names.pick(name) }

// maxUnrolled is the largest extent of an unrolled loop whose iterations are written out.
const maxUnrolled = 64

func (w *writer) loop(s *tir.For) {
	extent, constant := s.Extent.(*tir.IntImm)
	switch s.Kind {
	case tir.Parallel:
		if w.kernels {
			w.fail("a parallel loop over %s on a device: bind it to threads", s.Var.Name)
			return
		}
		if !w.inTask {
			w.parallel(s)
			return
		}
	case tir.ThreadBind:
		w.threads(s)
		return
	case tir.Vectorized, tir.Unrolled:
		if !constant {
			w.fail("the loop over %s is %s, and its extent is not constant", s.Var.Name, s.Kind)
			return
		}
		if s.Kind == tir.Unrolled && extent.Value <= maxUnrolled {
			w.unrolled(s, extent.Value)
			return
		}
	}
	low := w.as(s.Var.Type, s.Min)
	end := w.loopEnd(s)
	name := w.define(s.Var)
	w.learnLoop(s)
	w.askUnroll(s)
	w.line("for (%s %s = %s; %s < %s; ++%s) {", w.valueType(s.Var.Type), name, low.text, name, end.in(precShift), name)
	w.indented(func() { w.stmt(s.Body) })
	w.line("}")
	delete(w.names.taken, name)
}

// askUnroll asks the compiler to unroll the next loop if it has the annotation.
func (w *writer) askUnroll(s *tir.For) {
	n, asked := s.Annotations[transform.AnnotationUnroll].(int64)
	switch {
	case !asked || n < 2:
	case !w.kernels:
		w.snippet("unroll")
		w.line("tvmgo_unroll(%d)", min(n, 1<<15))
	case w.hooks.Unroll != nil:
		w.line("%s", w.hooks.Unroll(min(n, 1<<15)))
	}
}

// as returns an integer expression in another type.
func (w *writer) as(t tir.Type, e tir.Expr) code {
	if e.DType() == t {
		return w.expr(e)
	}
	if i, ok := e.(*tir.IntImm); ok {
		return w.expr(&tir.IntImm{Type: t, Value: i.Value})
	}
	return w.expr(&tir.Cast{Type: t, Value: e})
}

// loopEnd returns the end of a loop's range, exclusive. It is computed once.
func (w *writer) loopEnd(s *tir.For) code {
	t := s.Var.Type
	a, isConst := s.Min.(*tir.IntImm)
	if n, ok := s.Extent.(*tir.IntImm); ok && isConst {
		return w.expr(&tir.IntImm{Type: t, Value: a.Value + n.Value})
	}
	_, simple := s.Extent.(*tir.Var)
	if isConst && a.Value == 0 && simple {
		return w.as(t, s.Extent)
	}
	last := s.Extent
	if !isConst || a.Value != 0 {
		last = tir.Add(sameType(t, s.Min), sameType(t, s.Extent))
	}
	end := w.temp(s.Var.Name + "_end")
	w.line("const %s %s = %s;", w.valueType(t), end, w.as(t, last).text)
	return atom(end)
}

// sameType converts an integer expression to a type.
func sameType(t tir.Type, e tir.Expr) tir.Expr {
	if i, ok := e.(*tir.IntImm); ok {
		return &tir.IntImm{Type: t, Value: i.Value}
	}
	return tir.NewCast(t, e)
}

func (w *writer) unrolled(s *tir.For, extent int64) {
	start, isConst := s.Min.(*tir.IntImm)
	for i := range extent {
		var iteration tir.Expr = &tir.IntImm{Type: s.Var.Type, Value: i}
		if isConst {
			iteration = &tir.IntImm{Type: s.Var.Type, Value: start.Value + i}
		} else {
			iteration = tir.Add(sameType(s.Var.Type, s.Min), iteration)
		}
		value := w.expr(iteration).text
		w.line("{")
		w.indented(func() {
			w.line("const %s %s = %s;", w.valueType(s.Var.Type), w.define(s.Var), value)
			w.learnLoop(s)
			if !w.fn.used[s.Var] {
				w.line("(void)%s;", w.vars[s.Var])
			}
			w.stmt(s.Body)
		})
		w.line("}")
	}
}

// threads writes the iteration of a loop over threads that belongs to the current thread.
func (w *writer) threads(s *tir.For) {
	if w.hooks.ThreadIndex == nil {
		w.fail("the loop over %s is bound to %s, which the CPU lacks: do not bind it, or build the function for a device",
			s.Var.Name, s.Thread)
		return
	}
	index, err := w.hooks.ThreadIndex(s.Thread)
	if err != nil {
		w.fail("the loop over %s: %w", s.Var.Name, err)
		return
	}
	if a, ok := s.Min.(*tir.IntImm); !ok || a.Value != 0 {
		index = w.as(s.Var.Type, s.Min).in(precAdd) + " + " + index
	}
	w.line("const %s %s = %s;", w.valueType(s.Var.Type), w.define(s.Var), index)
	w.learnLoop(s)
	if !w.fn.used[s.Var] {
		w.line("(void)%s;", w.vars[s.Var])
	}
	w.stmt(s.Body)
}

func (w *writer) while(s *tir.While) {
	var cond code
	w.out.depth++
	before := w.capture(func() { cond = w.expr(s.Cond) })
	w.out.depth--
	if before == "" {
		w.line("while (%s) {", cond.text)
	} else {
		w.line("for (;;) {")
		w.out.WriteString(before)
		w.line("  if (!%s) break;", cond.in(precUnary))
	}
	w.indented(func() { w.stmt(s.Body) })
	w.line("}")
}

var errorKinds = []string{"ValueError", "TypeError", "RuntimeError", "InternalError", "AttributeError", "IndexError",
	"KeyError", "MemoryError",
	"AssertionError", "NotImplementedError", "OverflowError", "ZeroDivisionError"}

func (w *writer) assert(s *tir.Assert) {
	if w.kernels {
		w.fail("an assertion (%s) on a device, which has no errors: assert on the host", s.Message)
		return
	}
	kind := s.Kind
	if kind == "" {
		kind = "AssertionError"
	}
	if !slices.Contains(errorKinds, kind) {
		w.fail("an assertion's kind is %q: known are %v", kind, errorKinds)
		return
	}
	w.snippet("raise")
	cond := w.expr(s.Cond)
	w.line("if (!%s) %s", cond.in(precUnary),
		w.leaving(fmt.Sprintf("tvmgo_raise(%s, \"%%s: %%s\", %s, %s)", abi.Literal(kind), w.self(), abi.Literal(s.Message))))
}

func (w *writer) evaluate(e tir.Expr) {
	if c, ok := e.(*tir.Call); ok && c.Kind == tir.CallIntrinsic && w.statementCall(c) {
		return
	}
	t := e.DType()
	if c, ok := e.(*tir.Call); ok && t == tir.Void {
		if x, ok := w.vecCall(c); ok {
			w.line("%s;", x.text)
			return
		}
	}
	switch {
	case t.Lanes > 1 && w.isNative(t) && w.nativeTree(e):
		w.line("(void)%s;", w.vec(e).in(precUnary))
	case t.Lanes > 1:
		w.line("(void)%s;", w.lanes(e))
	default:
		if x := w.expr(e); t == tir.Void && x.text != "" {
			w.line("%s;", x.text)
		} else if !isConstant(e) && x.text != "" {
			w.line("(void)%s;", x.in(precUnary))
		}
	}
}

func isConstant(e tir.Expr) bool {
	switch e.(type) {
	case *tir.IntImm, *tir.FloatImm, *tir.StringImm:
		return true
	}
	return false
}

// cleanup is a label to which errors jump to free memory.
type cleanup struct {
	label string
	used  bool
}

// leaving returns a statement that ends the function with a code.
func (w *writer) leaving(rc string) string {
	if w.kernels {
		w.fail("a statement that may fail, on a device")
	}
	if w.leave == nil {
		return "return " + rc + ";"
	}
	w.usesRC, w.leave.used = true, true
	return fmt.Sprintf("{ rc = %s; goto %s; }", rc, w.leave.label)
}

// try runs a call that may fail.
func (w *writer) try(call string) {
	if w.kernels {
		w.fail("a call of the runtime on a device: %s", call)
	}
	w.usesRC = true
	w.line("rc = %s;", call)
	if w.leave == nil {
		w.line("if (rc != 0) return rc;")
		return
	}
	w.leave.used = true
	w.line("if (rc != 0) goto %s;", w.leave.label)
}
