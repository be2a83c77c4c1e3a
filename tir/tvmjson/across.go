package tvmjson

import (
	"slices"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// nest is loops within each other around one block whose reduction threads compute together.
type nest struct {
	loops  []node
	reduce []bool // per loop: the reduction depends on it
	block  node
}

// reductionOf returns the loops that begin with n, if they are those of a reduction across threads.
func (r *reader) reductionOf(n node) (x nest, ok bool) {
	at := n
	for at.Name() == "For" {
		x.loops = append(x.loops, at)
		at = at.At("body")
	}
	if name := at.Name(); name != "BlockRealize" && name != "SBlockRealize" {
		return x, false
	}
	x.block = at
	b := at.At("block")
	if _, ok := b.Maybe("init"); !ok {
		return x, false
	}
	axes, values := b.At("iter_vars").List(), at.At("iter_values").List()
	of := map[int]bool{}
	for i, a := range axes {
		if i < len(values) && a.Int("iter_type") == axisReduce {
			variables(values[i], of)
		}
	}
	for i, l := range x.loops {
		x.reduce = append(x.reduce, of[l.At("loop_var").Index()])
		if x.reduce[i] && l.Int("kind") == loopThread &&
			strings.HasPrefix(l.At("thread_binding").TextAt("thread_tag"), "threadIdx.") {
			ok = true
		}
	}
	return x, ok && x.reduce[0]
}

// variables collects the variables in an expression.
func variables(n node, into map[int]bool) {
	switch n.Name() {
	case "Var", "SizeVar":
		into[n.Index()] = true
	default:
		for _, field := range []string{"a", "b", "value", "condition", "true_value", "false_value"} {
			if n.Has(field) && n.Name() != "IntImm" && n.Name() != "FloatImm" && n.Name() != "StringImm" {
				variables(n.Ref(field), into)
			}
		}
		if n.Name() == "Call" {
			for _, a := range n.At("args").List() {
				variables(a, into)
			}
		}
	}
}

// acrossThreads reads loops around a block whose reduction threads compute together. Each thread accumulates its part;
// then they combine the parts in shared memory, in steps with barriers between them, and the result is stored.
func (r *reader) acrossThreads(n node) (tir.Stmt, bool) {
	if n.Int("kind") != loopSerial && n.Int("kind") != loopThread && n.Int("kind") != loopUnrolled {
		return nil, false
	}
	x, ok := r.reductionOf(n)
	if !ok {
		return nil, false
	}
	var around []func(tir.Stmt) tir.Stmt // from the outermost
	var serial []func(tir.Stmt) tir.Stmt
	var undo []func()
	outer := len(r.threads)
	var combined []*tir.Var // indices of threads that have parts
	reduced := map[*tir.Var]bool{}
	for i, l := range x.loops {
		v := l.At("loop_var")
		low := r.expr(l.At("min"))
		if l.Int("kind") == loopThread {
			t := r.threadOf(l, l.At("thread_binding"), v, l.At("extent"))
			if o := r.outer(l, t); o != nil {
				t = *o
			} else {
				r.threads = append(r.threads, t)
				around = append(around, func(s tir.Stmt) tir.Stmt {
					return &tir.For{Kind: tir.ThreadBind, Thread: t.tag, Var: t.v, Min: tir.IntConst(t.v.Type, 0),
						Extent: t.extent, Body: s}
				})
			}
			if x.reduce[i] {
				combined = append(combined, t.v)
				reduced[t.v] = true
			}
			undo = append(undo, r.set(v, sum(l, low, good(l, tir.NewCast(low.DType(), t.v)))))
			continue
		}
		extent := r.expr(l.At("extent"))
		if count, isConst := tir.IntValue(extent); isConst && count == 1 {
			undo = append(undo, r.set(v, low))
			continue
		}
		if !x.reduce[i] {
			l.Unsupported("a loop over data in the loops of a reduction across threads")
		}
		own := tir.NewVar(nameOf(v), r.typeOf(v))
		reduced[own] = true
		serial = append(serial, func(s tir.Stmt) tir.Stmt {
			return &tir.For{Var: own, Min: low, Extent: extent, Body: s}
		})
		undo = append(undo, r.set(v, own))
	}
	s := r.combine(x.block, combined, reduced, serial)
	for _, f := range slices.Backward(undo) {
		f()
	}
	r.threads = r.threads[:outer]
	for _, f := range slices.Backward(around) {
		s = f(s)
	}
	return s, true
}

// combine returns the statements of all threads of a reduction across threads.
func (r *reader) combine(n node, combined []*tir.Var, reduced map[*tir.Var]bool,
	serial []func(tir.Stmt) tir.Stmt) tir.Stmt {
	b := n.At("block")
	axes, values := b.At("iter_vars").List(), n.At("iter_values").List()
	if len(axes) != len(values) {
		n.Fail("%d values for the %d variables of the block", len(values), len(axes))
	}
	var undo []func()
	for i, a := range axes {
		undo = append(undo, r.set(a.At("var"), good(a, tir.NewCast(r.typeOf(a.At("var")), r.expr(values[i])))))
	}
	defer func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}()
	if len(b.At("alloc_buffers").List())+len(b.At("match_buffers").List()) > 0 {
		b.Unsupported("a reduction across threads that has memory of its own")
	}
	var always, data tir.Expr
	for _, c := range conjunction(r.condition(n.At("predicate"))) {
		if one, isConst := tir.IntValue(c); isConst && one == 1 {
			continue
		}
		always = both(always, c)
		if !slices.ContainsFunc(loopVars(c), func(v *tir.Var) bool { return reduced[v] }) {
			data = both(data, c)
		}
	}
	red := r.recognize(b, reduced)
	if red == nil {
		return &tir.Seq{}
	}
	return r.threadsTogether(n, red, combined, serial, always, data)
}

// conjunction returns the conditions that And connects.
func conjunction(e tir.Expr) []tir.Expr {
	if b, ok := e.(*tir.Binary); ok && b.Op == tir.OpAnd {
		return append(conjunction(b.A), conjunction(b.B)...)
	}
	return []tir.Expr{e}
}

// reduction is a block that accumulates values.
type reduction struct {
	stores      []*tir.BufferStore // of the results
	identity    []tir.Expr
	update      []tir.Expr // the new parts, from left and what this iteration adds
	combined    []tir.Expr // the combination of two parts: left and right
	left, right []*tir.Var
}

// recognize finds how a block combines values; nil, after a note about what is not supported, if it does not know.
func (r *reader) recognize(b node, reduced map[*tir.Var]bool) *reduction {
	inits, stores := r.stores(b.At("init")), r.stores(b.At("body"))
	refuse := func(why string) *reduction {
		b.Unsupported("a reduction across threads of which %s", why)
		return nil
	}
	if len(stores) == 0 || len(inits) != len(stores) {
		return refuse("the statements are not one store for each result")
	}
	red := &reduction{stores: stores}
	for i, s := range stores {
		at := slices.IndexFunc(inits, func(x *tir.BufferStore) bool { return x.Buffer == s.Buffer })
		if at < 0 || len(loopVars(inits[at].Value)) > 0 {
			return refuse("the first value is not constant")
		}
		for _, x := range s.Indices {
			if slices.ContainsFunc(loopVars(x), func(v *tir.Var) bool { return reduced[v] }) {
				return refuse("the results depend on the axes of the reduction")
			}
		}
		red.identity = append(red.identity, inits[at].Value)
		red.left = append(red.left, tir.NewVar(s.Buffer.Name+".left", s.Buffer.DType))
		red.right = append(red.right, tir.NewVar(s.Buffer.Name+".right", s.Buffer.DType))
		if i > 0 && slices.ContainsFunc(stores[:i], func(x *tir.BufferStore) bool { return x.Buffer == s.Buffer }) {
			return refuse("two results are in one buffer")
		}
	}
	mark := &tir.Mutator{PreExpr: func(e tir.Expr) (tir.Expr, bool) {
		if load, ok := e.(*tir.BufferLoad); ok {
			for i, s := range stores {
				if load.Buffer == s.Buffer && sameIndices(load.Indices, s.Indices) {
					return red.left[i], true
				}
			}
		}
		return e, false
	}}
	added := make([]tir.Expr, len(stores))
	for i, s := range stores {
		e := mark.MutateExpr(s.Value)
		red.update = append(red.update, e)
		if added[i] = red.added(i, e); added[i] == nil {
			return refuse("it is not known how it combines values")
		}
	}
	replace := &tir.Mutator{PreExpr: func(e tir.Expr) (tir.Expr, bool) {
		for i, a := range added {
			if compare.Equal(e, a) {
				return red.right[i], true
			}
		}
		return e, false
	}}
	for _, e := range red.update {
		c := replace.MutateExpr(e)
		if tir.Contains(c, func(x any) bool {
			v, isVar := x.(*tir.Var)
			_, isLoad := x.(*tir.BufferLoad)
			return isLoad || isVar && !slices.Contains(red.left, v) && !slices.Contains(red.right, v)
		}) {
			return refuse("it is not known how it combines values")
		}
		red.combined = append(red.combined, c)
	}
	return red
}

func sameIndices(a, b []tir.Expr) bool {
	return slices.EqualFunc(a, b, func(x, y tir.Expr) bool { return compare.Equal(x, y) })
}

// added returns what an update adds to part i: the operand, or the choice, that is not the part itself.
func (red *reduction) added(i int, e tir.Expr) tir.Expr {
	var a, b tir.Expr
	switch e := e.(type) {
	case *tir.Binary:
		if e.Op.IsComparison() || e.Op == tir.OpSub || e.Op == tir.OpDiv || e.Op == tir.OpMod {
			return nil
		}
		a, b = e.A, e.B
	case *tir.Select:
		a, b = e.Then, e.Else
	case *tir.Call:
		if e.Kind != tir.CallIntrinsic || e.Name != "if_then_else" {
			return nil
		}
		a, b = e.Args[1], e.Args[2]
	default:
		return nil
	}
	if b == tir.Expr(red.left[i]) {
		a, b = b, a
	}
	if a != tir.Expr(red.left[i]) || slices.ContainsFunc(loopVars(b), func(v *tir.Var) bool {
		return slices.Contains(red.left, v)
	}) {
		return nil
	}
	return b
}

// stores returns the stores that a statement consists of, with the values of its variables in their places; nil if it
// does not consist of stores.
func (r *reader) stores(n node) []*tir.BufferStore {
	var out []*tir.BufferStore
	values := map[*tir.Var]tir.Expr{}
	ok := true
	var visit func(s tir.Stmt)
	visit = func(s tir.Stmt) {
		switch s := s.(type) {
		case *tir.BufferStore:
			indices := make([]tir.Expr, len(s.Indices))
			for i, x := range s.Indices {
				indices[i] = tir.Substitute(x, values)
			}
			out = append(out, &tir.BufferStore{Buffer: s.Buffer, Indices: indices, Value: tir.Substitute(s.Value, values)})
		case *tir.Seq:
			for _, part := range s.Stmts {
				visit(part)
			}
		case *tir.LetStmt:
			values[s.Var] = tir.Substitute(s.Value, values)
			visit(s.Body)
		default:
			ok = false
		}
	}
	visit(r.statement(n))
	if !ok {
		return nil
	}
	return out
}
