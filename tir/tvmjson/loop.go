package tvmjson

import (
	"strings"

	"tvmgo/tir"
)

// thread is a loop over threads that is around the statement which is read.
type thread struct {
	tag    string
	v      *tir.Var
	extent tir.Expr
}

// Kinds of loops.
const (
	loopSerial = iota
	loopParallel
	loopVectorized
	loopUnrolled
	loopThread
)

func (r *reader) loop(n node) tir.Stmt {
	if s, ok := r.acrossThreads(n); ok {
		return s
	}
	body := func() tir.Stmt { return r.statement(n.At("body")) }
	kind := n.Int("kind")
	v := n.At("loop_var")
	low := r.expr(n.At("min"))
	if kind == loopThread {
		return r.threadLoop(n, v, n.At("thread_binding"), low, n.At("extent"), body)
	}
	x := tir.NewVar(nameOf(v), r.typeOf(v))
	f := &tir.For{Var: x, Min: good(n, tir.NewCast(x.Type, low)),
		Extent: good(n, tir.NewCast(x.Type, r.expr(n.At("extent"))))}
	var value tir.Expr = x
	if step, ok := n.Maybe("step"); ok {
		by := good(n, tir.NewCast(x.Type, r.expr(step)))
		if c, isConst := tir.IntValue(by); !isConst || c != 1 {
			one := tir.IntConst(x.Type, 1)
			f.Extent = good(n, tir.FloorDiv(tir.Sub(tir.Add(f.Extent, by), one), by))
			value = good(n, tir.Add(f.Min, tir.Mul(x, by)))
			f.Min = tir.IntConst(x.Type, 0)
		}
	}
	extent, isConst := tir.IntValue(f.Extent)
	switch {
	case kind == loopSerial:
	case kind == loopParallel:
		f.Kind = tir.Parallel
	case kind == loopVectorized && isConst && extent >= 1 && extent <= tir.MaxLanes:
		f.Kind = tir.Vectorized
	case kind == loopUnrolled && isConst:
		f.Kind = tir.Unrolled
	case kind < loopSerial || kind > loopThread:
		n.Fail("there is no kind %d of loops", kind)
	}
	r.within(v, value, func() { f.Body = body() })
	if f.Body == nil {
		return nil
	}
	return f
}

// threadLoop reads a loop over threads. One inside another over the same threads is that one.
func (r *reader) threadLoop(n, v, axis node, low tir.Expr, extentNode node, body func() tir.Stmt) (s tir.Stmt) {
	t := r.threadOf(n, axis, v, extentNode)
	value := sum(n, low, good(n, tir.NewCast(low.DType(), t.v)))
	value = good(n, tir.NewCast(r.typeOf(v), value))
	if t.tag == "" { // it has one iteration
		r.within(v, value, func() { s = body() })
		return s
	}
	if outer := r.outer(n, t); outer != nil {
		value = good(n, tir.NewCast(r.typeOf(v), sum(n, low, good(n, tir.NewCast(low.DType(), outer.v)))))
		r.within(v, value, func() { r.alias(axis, value, func() { s = body() }) })
		return s
	}
	f := &tir.For{Kind: tir.ThreadBind, Thread: t.tag, Var: t.v, Min: tir.IntConst(t.v.Type, 0), Extent: t.extent}
	r.threads = append(r.threads, t)
	r.within(v, value, func() { r.alias(axis, value, func() { f.Body = body() }) })
	r.threads = r.threads[:len(r.threads)-1]
	if f.Body == nil {
		return nil
	}
	return f
}

// alias defines the variable of the axis of a loop over threads, which may be one of its own.
func (r *reader) alias(axis node, value tir.Expr, body func()) {
	v, ok := axis.Maybe("var")
	if !ok {
		body()
		return
	}
	r.within(v, value, body)
}

// threadOf returns the threads of a loop.
func (r *reader) threadOf(n, axis, v node, extentNode node) thread {
	t := thread{tag: axis.TextAt("thread_tag"), v: tir.NewVar(nameOf(v), r.typeOf(v))}
	t.extent = good(n, tir.NewCast(t.v.Type, r.expr(extentNode)))
	switch t.tag {
	case "vthread", "vthread.x", "vthread.y", "vthread.z", "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x",
		"threadIdx.y", "threadIdx.z":
	case "cthread":
		t.tag = "vthread"
	default:
		axis.Unsupported("threads %q", t.tag)
	}
	return t
}

// outer returns the loop over the same threads around the statement; nil if there is none.
func (r *reader) outer(n node, t thread) *thread {
	for i := range r.threads {
		o := &r.threads[i]
		if o.tag != t.tag || strings.HasPrefix(t.tag, "vthread") {
			continue
		}
		a, isA := tir.IntValue(o.extent)
		b, isB := tir.IntValue(t.extent)
		if isA && isB && a != b {
			n.Fail("a loop over %s with %d iterations is in one with %d", t.tag, b, a)
		}
		return o
	}
	return nil
}
