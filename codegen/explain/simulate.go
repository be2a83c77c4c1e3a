package explain

import (
	"strings"

	"tvmgo/tir"
)

// warp executes a kernel for the threads of one warp, as far as indices, conditions and loop bounds need it.
type warp struct {
	k       *simulation
	threads int
	env     map[*tir.Var]lanes
	active  []bool
	weight  float64 // how many executions this one stands for
	samples int     // how many combinations of loop iterations are evaluated
}

// mostSamples are limits of the combinations of loop iterations: three of each loop up to the first, two up to the
// second, then one.
var mostSamples = [2]int{81, 512}

// sample is an iteration that stands for others.
type sample struct {
	at     int64
	weight float64
}

// samplesOf returns up to n iterations of a loop with an extent: the first, the last, and one between them.
func samplesOf(extent int64, n int) []sample {
	switch {
	case extent <= 0:
		return nil
	case n <= 1 && extent > 1:
		return []sample{{extent / 2, float64(extent)}}
	case extent == 1:
		return []sample{{0, 1}}
	case n == 2 || extent == 2:
		return []sample{{0, float64(extent) - 1}, {extent - 1, 1}}
	}
	return []sample{{0, 1}, {extent / 2, float64(extent) - 2}, {extent - 1, 1}}
}

func (w *warp) anyActive() bool {
	for _, a := range w.active {
		if a {
			return true
		}
	}
	return false
}

func (w *warp) activeThreads() (n int64) {
	for _, a := range w.active {
		n += btoi(a)
	}
	return n
}

// where calls f for the active threads for which a condition has the given value. Unknown conditions select all.
func (w *warp) where(c lanes, value bool, f func()) {
	if !c.known {
		w.k.estimated = true
		f()
		return
	}
	if c.each == nil {
		if (c.one != 0) == value {
			f()
		}
		return
	}
	all := w.active
	w.active = make([]bool, w.threads)
	for i := range w.active {
		w.active[i] = all[i] && (c.each[i] != 0) == value
	}
	if w.anyActive() {
		f()
	}
	w.active = all
}

// with calls f while a variable has a value.
func (w *warp) with(v *tir.Var, value lanes, f func()) {
	old, had := w.env[v]
	w.env[v] = value
	f()
	if delete(w.env, v); had {
		w.env[v] = old
	}
}

func (w *warp) stmt(s tir.Stmt) {
	switch s := s.(type) {
	case nil:
	case *tir.Seq:
		for _, x := range s.Stmts {
			w.stmt(x)
		}
	case *tir.For:
		w.loop(s)
	case *tir.While:
		w.k.estimated = true
		w.expr(s.Cond, false)
		w.stmt(s.Body)
	case *tir.If:
		w.expr(s.Cond, false)
		c := w.eval(s.Cond, 0)
		w.where(c, true, func() { w.stmt(s.Then) })
		if s.Else != nil {
			w.where(c, false, func() { w.stmt(s.Else) })
		}
	case *tir.LetStmt:
		w.expr(s.Value, tir.IsFloat(s.Var.Type))
		w.k.multiples.Let(s.Var, s.Value)
		w.with(s.Var, w.eval(s.Value, 0), func() { w.stmt(s.Body) })
	case *tir.BufferStore:
		w.expr(s.Value, true)
		for _, x := range s.Indices {
			w.expr(x, false)
		}
		w.access(s, s.Buffer, s.Indices, true)
	case *tir.Evaluate:
		w.expr(s.Value, true)
	default:
		exprs, stmts := tir.Parts(s)
		for _, e := range exprs {
			w.expr(e, false)
		}
		for _, x := range stmts {
			w.stmt(x)
		}
	}
}

func (w *warp) loop(s *tir.For) {
	w.expr(s.Min, false)
	w.expr(s.Extent, false)
	if _, bound := w.env[s.Var]; bound && s.Kind == tir.ThreadBind { // set by the kernel
		w.stmt(s.Body)
		return
	}
	low, extent := w.eval(s.Min, 0), w.eval(s.Extent, 0)
	if !extent.known {
		w.k.estimated = true
		w.with(s.Var, lanes{}, func() { w.stmt(s.Body) })
		return
	}
	longest := extent.one
	if extent.each != nil {
		longest = 0
		for i, n := range extent.each {
			if w.active[i] {
				longest = max(longest, n)
			}
		}
	}
	n := 1
	switch {
	case w.samples*3 <= mostSamples[0]:
		n = 3
	case w.samples*2 <= mostSamples[1]:
		n = 2
	}
	all := samplesOf(longest, n)
	samples, weight := w.samples, w.weight
	for _, one := range all {
		w.samples, w.weight = samples*len(all), weight*one.weight
		at := same(one.at)
		within := of(at, extent, w.threads, binaries[tir.OpLT])
		w.where(within, true, func() {
			w.with(s.Var, w.combined(tir.OpAdd, low, at), func() { w.stmt(s.Body) })
		})
	}
	w.samples, w.weight = samples, weight
}

// expr finds the accesses of an expression, and counts its operations if it is a value and not an index.
func (w *warp) expr(e tir.Expr, value bool) {
	switch e := e.(type) {
	case *tir.BufferLoad:
		for _, x := range e.Indices {
			w.expr(x, false)
		}
		w.access(e, e.Buffer, e.Indices, false)
		return
	case *tir.Let:
		w.expr(e.Value, tir.IsFloat(e.Var.Type))
		w.k.multiples.Let(e.Var, e.Value)
		w.with(e.Var, w.eval(e.Value, 0), func() { w.expr(e.Body, value) })
		return
	case *tir.Call:
		if w.intrinsic(e, value) {
			return
		}
	case *tir.Binary:
		if value && !e.Op.IsComparison() && !e.Op.IsLogical() {
			w.operations(e.DType(), 1)
		}
		value = value && !e.Op.IsLogical() && !(e.Op.IsComparison() && tir.IsInt(e.A.DType()))
	case *tir.Select:
		w.expr(e.Cond, false)
		w.expr(e.Then, value)
		w.expr(e.Else, value)
		return
	}
	for _, x := range tir.ExprParts(e) {
		w.expr(x, value)
	}
}

// intrinsic handles the calls that do not just compute a value of their arguments.
func (w *warp) intrinsic(e *tir.Call, value bool) bool {
	if e.Kind != tir.CallIntrinsic {
		return false
	}
	switch e.Name {
	case "if_then_else":
		w.expr(e.Args[0], false)
		c := w.eval(e.Args[0], 0)
		w.where(c, true, func() { w.expr(e.Args[1], value) })
		w.where(c, false, func() { w.expr(e.Args[2], value) })
		return true
	case "address_of", "storage_sync", "prefetch":
		return true // no access
	case "async_copy":
		bytes, constant := e.Args[2].(*tir.IntImm)
		for i, store := range []bool{true, false} {
			if load := addressed(e.Args[i]); load != nil && constant {
				w.copied(load, bytes.Value, store)
			}
		}
		return true
	case "fragment_fill", "fragment_load", "fragment_mma", "fragment_store":
		w.fragments(e)
		return true
	case "fma":
		if value {
			w.operations(e.Type, 2)
		}
	default:
		if i, known := tir.LookupIntrinsic(e.Name); value && known && i.Pure && i.Takes != tir.TakesAny {
			w.operations(e.Type, 1)
		}
	}
	return false
}

// addressed returns the element whose address an expression is; nil if it is none.
func addressed(e tir.Expr) *tir.BufferLoad {
	if c, ok := e.(*tir.Call); ok && c.Name == "address_of" && len(c.Args) > 0 {
		load, _ := c.Args[0].(*tir.BufferLoad)
		return load
	}
	return nil
}

// operations counts operations on values of a type by the active threads.
func (w *warp) operations(t tir.Type, n float64) {
	w.k.operations[tir.Element(t).String()] += n * float64(max(t.Lanes, 1)) * float64(w.activeThreads()) * w.weight
}

// offset returns the position of an element in bytes, for a lane of its indices.
func (w *warp) offset(b *tir.Buffer, indices []tir.Expr, lane int) lanes {
	if len(indices) != len(b.Shape) {
		return lanes{}
	}
	at, stride := same(0), same(1)
	if b.Offset != nil {
		at = w.eval(b.Offset, 0)
	}
	for d := len(indices) - 1; d >= 0; d-- {
		if b.Strides != nil {
			stride = w.eval(b.Strides[d], 0)
		}
		at = w.combined(tir.OpAdd, at, w.combined(tir.OpMul, w.eval(indices[d], lane), stride))
		if b.Strides == nil && d > 0 {
			stride = of(stride, w.eval(b.Shape[d], 0), w.threads, multiply)
		}
	}
	return w.combined(tir.OpMul, at, same(elementBytes(b)))
}

func elementBytes(b *tir.Buffer) int64 {
	return max(1, int64(b.DType.Bits)*int64(max(b.DType.Lanes, 1))/8)
}

// watched reports whether a report has accesses to a scope.
func watched(scope string) bool {
	return isShared(scope) || scope == "global" || strings.HasPrefix(scope, "global.")
}

func isShared(scope string) bool { return scope == "shared" || strings.HasPrefix(scope, "shared.") }
