package tirrun

import (
	"fmt"
	"reflect"

	"tvmgo/tir"
)

// call compiles a call.
func (c *compiler) call(e *tir.Call) value {
	switch e.Kind {
	case tir.CallIntrinsic:
		return c.intrinsic(e)
	case tir.CallExtern, tir.CallPacked:
		return c.outside(e)
	case tir.CallFunc:
		return c.inside(e)
	}
	c.fail("call of %s: kind %d does not exist", e.Name, e.Kind)
	return value{}
}

// result returns the value that a call left in f.ri and f.rf.
func (c *compiler) result(t tir.Type, do func(*frame)) value {
	switch {
	case t == tir.Void:
		return value{t: t, i: func(f *frame) int64 { do(f); return 0 }}
	case tir.IsFloat(t):
		return floatValue(t, func(f *frame) float64 { do(f); return f.rf })
	}
	return intValue(t, func(f *frame) int64 { do(f); return f.ri })
}

// inside compiles a call of a function in the module.
func (c *compiler) inside(e *tir.Call) value {
	fn := c.p.funcs[e.Name]
	if fn == nil {
		c.fail("call of function %s: the module has none of this name", e.Name)
	}
	src, at := fn.source, c.at
	if len(e.Args) != len(src.Params) {
		c.fail("call of function %s: %d arguments for %d parameters", e.Name, len(e.Args), len(src.Params))
	}
	if want := noResult(src.Result); e.Type != want {
		c.fail("call of function %s as %s: it returns %s", e.Name, e.Type, want)
	}
	args := make([]value, len(e.Args))
	for n, x := range e.Args {
		if args[n] = c.expr(x); args[n].t != src.Params[n].Type || args[n].vector() {
			c.fail("call of function %s: argument %d of type %s for parameter %s of type %s", e.Name, n, args[n].t,
				src.Params[n].Name, src.Params[n].Type)
		}
	}
	return c.result(e.Type, func(f *frame) {
		f.step(at)
		g := fn.frame(f.x)
		g.levels, g.kernel, g.dims, g.barrier = f.levels, f.kernel, f.dims, f.barrier
		g.caller, g.calledAt, g.depth = f, at, f.depth+1
		if g.depth > maxCallDepth {
			f.fail(at, ErrLimit, "call of function %s: more than %d nested calls", e.Name, maxCallDepth)
		}
		for n, a := range args {
			switch slot := fn.params[n].slot; {
			case a.x != nil:
				g.f[slot] = a.x(f)
			case a.h != nil:
				g.h[slot] = a.h(f)
			default:
				g.i[slot] = a.i(f)
			}
		}
		for _, bind := range fn.bind {
			bind(g)
		}
		for _, check := range fn.check {
			check(g)
		}
		if fn.body(g) == proceed && e.Type != tir.Void {
			g.fail(nil, ErrInvalid, "the function ended without a result: want %s", e.Type)
		}
		f.ri, f.rf = g.ri, g.rf
	})
}

// outside compiles a call of a function of Options.Funcs.
func (c *compiler) outside(e *tir.Call) value {
	at := c.at
	if e.Type != tir.Void && (!validType(e.Type) || e.Type.Lanes != 1) {
		c.fail("call of %s: results of type %s can't be taken", e.Name, e.Type)
	}
	fn := c.p.options.Funcs[e.Name]
	args := make([]func(*frame) any, len(e.Args))
	for n, x := range e.Args {
		args[n] = c.expr(x).boxed()
	}
	do := func(f *frame) any {
		if fn == nil {
			f.fail(at, ErrCall, "call of %s function %s: Options.Funcs has none of this name", e.Kind, e.Name)
		}
		list := make([]any, len(args))
		var given []*memory
		for n, a := range args {
			list[n] = a(f)
			if p, ok := list[n].(*pointer); ok {
				list[n] = p.view()
				given = append(given, p.m)
			}
		}
		r, err := protected(fn, list)
		if err != nil {
			panic(&Fault{Func: f.name, Sort: ErrCall, Text: fmt.Sprintf("call of %s: %v", e.Name, err),
				Path: at.path(f), Err: err})
		}
		for _, m := range given {
			m.allWritten()
		}
		return r
	}
	if tir.IsHandle(e.Type) {
		return value{t: e.Type, h: func(f *frame) any {
			r := do(f)
			if a, ok := r.(*Array); ok {
				if err := a.check(); err != nil {
					f.fail(at, ErrCall, "call of %s: its result: %v", e.Name, err)
				}
				return &pointer{m: f.x.memoryOf(e.Name, a), array: a}
			}
			return r
		}}
	}
	return c.result(e.Type, func(f *frame) {
		r := do(f)
		if e.Type == tir.Void {
			return
		}
		var err error
		if f.ri, f.rf, err = fromGo(e.Type, r); err != nil {
			f.fail(at, ErrCall, "call of %s: its result: %v", e.Name, err)
		}
	})
}

// protected calls a function, and converts a panic to an error.
func protected(fn func([]any) (any, error), args []any) (r any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn(args)
}

// view returns memory as an Array for functions of Options.Funcs.
func (p *pointer) view() *Array {
	if p.array != nil {
		return p.array
	}
	data := p.m.data[min(max(p.base, 0), int64(len(p.m.data))):]
	return &Array{DType: tir.UInt8, Shape: []int64{int64(len(data))}, Data: data}
}

// boxed converts a value to Go; a vector becomes a slice.
func (v value) boxed() func(*frame) any {
	t := v.t
	switch {
	case v.h != nil:
		return v.h
	case v.vector():
		return func(f *frame) any {
			v.v(f)
			var s reflect.Value
			for l := range int(t.Lanes) {
				var one any
				if tir.IsFloat(t) {
					one = f.f[v.off+l]
				} else {
					one = toGo(t, f.i[v.off+l], 0)
				}
				if l == 0 {
					s = reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(one)), 0, int(t.Lanes))
				}
				s = reflect.Append(s, reflect.ValueOf(one))
			}
			return s.Interface()
		}
	case v.x != nil:
		return func(f *frame) any { return v.x(f) }
	case t == tir.Void:
		return func(f *frame) any { v.i(f); return nil }
	}
	return func(f *frame) any { return toGo(t, v.i(f), 0) }
}

// Eval computes an expression. The values of variables are as for parameters. The address of a buffer is an *Array
// whose Offset is ignored: the buffer determines where its elements are. The result is int64, uint64, float64, bool,
// string, or a slice of those for a vector.
func Eval(e tir.Expr, vars map[*tir.Var]any) (result any, err error) {
	return EvalWith(e, vars, Options{})
}

// EvalWith is Eval with options.
func EvalWith(e tir.Expr, vars map[*tir.Var]any, o Options) (result any, err error) {
	defer func() {
		if err != nil {
			result = nil
		}
	}()
	defer func() { caught(recover(), "expression", &err) }()
	p, err := Compile(&tir.IRModule{}, o)
	if err != nil {
		return nil, err
	}
	fn := &function{name: "expression", source: &tir.PrimFunc{Result: tir.Void}}
	c := &compiler{p: p, fn: fn, slots: map[*tir.Var]int{}, bound: map[*tir.Var]bool{}}
	for v := range vars {
		c.define(v)
	}
	box := c.expr(e).boxed()
	f := fn.frame(p.newRun())
	for v, x := range vars {
		if err := f.set(v, c.slots[v], x); err != nil {
			f.fail(nil, ErrArgument, "variable %s: %v", v.Name, err)
		}
	}
	r := box(f)
	if q, ok := r.(*pointer); ok {
		return q.view(), nil
	}
	return r, nil
}
