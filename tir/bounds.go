package tir

import "tvmgo/tir/internal/path"

// The part of [Check] that checks indices. It rejects an access if its index is outside of the buffer every time that
// the program executes it, and if there are arguments with which the program does execute it. Indices are treated as
// mathematical integers: as sums of products of variables, where any other expression counts as one more variable.
// Package arith proves the opposite, that indices are within their bounds: see transform.Unproven.

// construct is a node that encloses an access: a loop, a variable with its value, or a condition. The zero value stands
// for all others, about which nothing is known.
type construct struct {
	loop  *For
	v     *Var // with value
	value Expr
	cond  Expr
	not   bool // the condition does not hold
}

// boundsWalk walks through a function in which everything but the indices has been checked.
type boundsWalk struct {
	f         *PrimFunc
	module    map[string]*PrimFunc
	path      []path.Step
	enclosing []construct
	lets      map[*Var]Expr // values that may be substituted for their variables
	sizes     map[*Var]bool // variables that are at least 0
	buffers   map[*Var]*Buffer
	seen      map[Expr]bool // expressions of the current statement that were visited under the current conditions
	ends      map[Stmt]bool // results of mayEndFunction
	steps     int
	report    func(path []path.Step, format string, args ...any)
}

// maxBoundSteps limits the work for one function. Accesses that are left when the limit is reached are not rejected.
const maxBoundSteps = 1 << 20

func (w *boundsWalk) spend() bool {
	w.steps++
	return w.steps < maxBoundSteps
}

// bounds checks the indices of a function.
func (c *checker) bounds(f *PrimFunc) {
	w := &boundsWalk{f: f, lets: map[*Var]Expr{}, sizes: map[*Var]bool{}, buffers: map[*Var]*Buffer{},
		seen: map[Expr]bool{}, ends: map[Stmt]bool{}}
	if c.calls != nil {
		w.module = c.calls.functions
	}
	w.report = func(path []path.Step, format string, args ...any) {
		c.path = append(c.path, path...)
		c.fail(format, args...)
		c.path = c.path[:len(c.path)-len(path)]
	}
	for p, b := range f.Buffers {
		w.buffers[p], w.buffers[b.Data] = b, b
		for _, v := range b.SizeVars() {
			w.sizes[v] = true
		}
	}
	w.push(path.At("body"), func() { w.stmt(f.Body) })
}

func (w *boundsWalk) push(s path.Step, walk func()) {
	w.path = append(w.path, s)
	walk()
	w.path = w.path[:len(w.path)-1]
}

// under walks through something that a encloses.
func (w *boundsWalk) under(a construct, walk func()) {
	seen := w.seen
	w.seen = map[Expr]bool{}
	w.enclosing = append(w.enclosing, a)
	walk()
	w.enclosing = w.enclosing[:len(w.enclosing)-1]
	w.seen = seen
}

func (w *boundsWalk) stmt(s Stmt) {
	if !w.spend() {
		return
	}
	w.seen = map[Expr]bool{}
	if label := StmtLabel(s); label != "" {
		w.push(path.At(label), func() { w.stmtParts(s) })
	} else {
		w.stmtParts(s)
	}
}

func (w *boundsWalk) stmtParts(s Stmt) {
	body := func(s Stmt) { w.push(path.At("body"), func() { w.stmt(s) }) }
	switch s := s.(type) {
	case *BufferStore:
		w.exprs("indices", s.Indices)
		w.part(path.At("value"), s.Value)
		w.access(s.Buffer, s.Indices)
	case *For:
		w.part(path.At("min"), s.Min)
		w.part(path.At("extent"), s.Extent)
		w.under(construct{loop: s}, func() { body(s.Body) })
	case *While:
		w.part(path.At("cond"), s.Cond)
		w.under(construct{cond: s.Cond}, func() { body(s.Body) })
	case *If:
		w.part(path.At("cond"), s.Cond)
		w.under(construct{cond: s.Cond}, func() { w.push(path.At("then"), func() { w.stmt(s.Then) }) })
		if s.Else != nil {
			w.under(construct{cond: s.Cond, not: true}, func() { w.push(path.At("else"), func() { w.stmt(s.Else) }) })
		}
	case *LetStmt:
		w.part(path.At("value"), s.Value)
		w.let(s.Var, s.Value, func() { body(s.Body) })
	case *Assert:
		w.part(path.At("cond"), s.Cond)
	case *Alloc:
		w.buffers[s.Buffer.Data] = s.Buffer
		body(s.Body)
	case *AttrStmt:
		if b := s.ViewBuffer(); b != nil {
			w.view(b)
		}
		if _, text := s.Value.(*StringImm); !text {
			w.part(path.At("value"), s.Value)
		}
		body(s.Body)
	case *Seq:
		w.sequence(s.Stmts, 0)
	case *Evaluate:
		w.part(path.At("value"), s.Value)
	default: // a foreign statement: it is not known when its parts are executed
		w.under(construct{}, func() {
			eachPart(s, func(f *Field, index int, part any) {
				if e, ok := part.(Expr); ok {
					w.part(stepTo(f, index), e)
				} else if body, ok := part.(Stmt); ok {
					w.push(stepTo(f, index), func() { w.stmt(body) })
				}
			})
		})
	}
}

// sequence walks through the statements from i on. The statements after an assertion are executed only if its condition
// holds. Those after a statement that may end the function are executed under an unknown condition.
func (w *boundsWalk) sequence(all []Stmt, i int) {
	depth := len(w.enclosing)
	for ; i < len(all); i++ {
		s := all[i]
		w.push(path.AtIndex("", i), func() { w.stmt(s) })
		switch x := s.(type) {
		case *Assert:
			w.enclosing = append(w.enclosing, construct{cond: x.Cond})
		case *If:
			if x.Else == nil && endsFunction(x.Then) {
				w.enclosing = append(w.enclosing, construct{cond: x.Cond, not: true})
			} else if w.mayEndFunction(s) {
				w.enclosing = append(w.enclosing, construct{})
			}
		default:
			if w.mayEndFunction(s) {
				w.enclosing = append(w.enclosing, construct{})
			}
		}
	}
	w.enclosing = w.enclosing[:depth]
}

// endsFunction reports whether a statement always ends the function.
func endsFunction(s Stmt) bool {
	if q, ok := s.(*Seq); ok && len(q.Stmts) > 0 {
		s = q.Stmts[len(q.Stmts)-1]
	}
	e, ok := s.(*Evaluate)
	return ok && isReturn(e.Value)
}

func isReturn(e any) bool {
	c, ok := e.(*Call)
	return ok && c.Kind == CallIntrinsic && (c.Name == "ret" || c.Name == "ret_none")
}

// mayEndFunction reports whether a statement contains a return or an assertion. The result for each statement is kept.
func (w *boundsWalk) mayEndFunction(s Stmt) bool {
	if _, ok := s.(*BufferStore); ok {
		return false
	}
	if found, known := w.ends[s]; known {
		return found
	}
	found := false
	Walk(s, func(node any) bool {
		if inner, ok := node.(Stmt); ok && node != any(s) {
			found = found || w.mayEndFunction(inner)
			return false
		}
		_, assert := node.(*Assert)
		_, isExpr := node.(Expr)
		found = found || assert || isReturn(node) || !isExpr && Opaque(node)
		return !found && !isExpr
	})
	w.ends[s] = found
	return found
}

// let walks through something within which v has the given value.
func (w *boundsWalk) let(v *Var, value Expr, walk func()) {
	if isFixed(value, w.spend) {
		w.lets[v] = value
	}
	w.under(construct{v: v, value: value}, walk)
}

// isFixed reports whether an expression has the same value wherever it is evaluated: it reads no memory and calls only
// intrinsics without effects.
func isFixed(e Expr, spend func() bool) bool {
	if !spend() {
		return false
	}
	switch e := e.(type) {
	case *BufferLoad, *ProducerLoad, *Reduce, *Bad:
		return false
	case *Call:
		if in := intrinsics[e.Name]; e.Kind != CallIntrinsic || in == nil || !in.Pure {
			return false
		}
	default:
		if Opaque(e) {
			return false
		}
	}
	for _, p := range ExprParts(e) {
		if !isFixed(p, spend) {
			return false
		}
	}
	return true
}

func (w *boundsWalk) part(s path.Step, e Expr) { w.push(s, func() { w.expr(e) }) }

func (w *boundsWalk) exprs(name string, all []Expr) {
	for i, e := range all {
		w.part(path.AtIndex(name, i), e)
	}
}

func (w *boundsWalk) expr(e Expr) {
	if e == nil || w.seen[e] || !w.spend() {
		return
	}
	w.seen[e] = true
	part := func(i int, e Expr, parent Expr) { w.part(partStep(parent, i), e) }
	guarded := func(i int, e, parent, cond Expr, not bool) {
		w.under(construct{cond: cond, not: not}, func() { part(i, e, parent) })
	}
	switch x := e.(type) {
	case *Var, *IntImm, *FloatImm, *StringImm:
		return
	case *BufferLoad:
		w.exprs("indices", x.Indices)
		w.access(x.Buffer, x.Indices)
		return
	case *Select: // generators may compute only one of its branches
		part(0, x.Cond, x)
		guarded(1, x.Then, x, x.Cond, false)
		guarded(2, x.Else, x, x.Cond, true)
		return
	case *Let:
		part(0, x.Value, x)
		w.let(x.Var, x.Value, func() { part(1, x.Body, x) })
		return
	case *Binary:
		if x.Op.IsLogical() {
			part(0, x.A, x)
			guarded(1, x.B, x, x.A, x.Op == OpOr)
			return
		}
	case *Call:
		switch {
		case x.Kind == CallIntrinsic && x.Name == "if_then_else":
			part(0, x.Args[0], x)
			guarded(1, x.Args[1], x, x.Args[0], false)
			guarded(2, x.Args[2], x, x.Args[0], true)
			return
		case x.Kind == CallIntrinsic && x.Name == "address_of": // the address may be that of the end of a buffer
			for i, index := range x.Args[0].(*BufferLoad).Indices {
				w.part(path.AtIndex("args[0].indices", i), index)
			}
			return
		case x.Kind == CallFunc:
			w.passed(x)
		}
	}
	rest := func() {
		for i, p := range ExprParts(e) {
			part(i, p, e)
		}
	}
	if vars, _ := Bound(e); Opaque(e) || vars != nil { // nothing is known of when its parts are computed
		w.under(construct{}, rest)
		return
	}
	rest()
}

// passed checks that the buffers passed to a function of the module are at least as large as that function's
// parameters.
func (w *boundsWalk) passed(e *Call) {
	g := w.module[e.Name]
	if g == nil || len(g.Params) != len(e.Args) {
		return
	}
	for i, a := range e.Args {
		v, ok := a.(*Var)
		if !ok {
			continue
		}
		have, want := w.buffers[v], g.Buffers[g.Params[i]]
		if have == nil || want == nil {
			continue
		}
		n, known := constantBytes(have)
		if m, ok := constantBytes(want); ok && known && m > n {
			w.push(path.AtIndex("args", i), func() {
				w.report(w.path, "function %s uses %d bytes of buffer %s, and is passed buffer %s of %d bytes: "+
					"pass a larger one, or declare %s smaller", e.Name, m, want.Name, have.Name, n, want.Name)
			})
		}
	}
}

// view checks that a view of a buffer does not extend beyond the buffer.
func (w *boundsWalk) view(b *Buffer) {
	if memory := w.buffers[b.Data]; memory != nil {
		n, known := constantBytes(memory)
		if m, ok := constantBytes(b); ok && known && m > n {
			w.report(w.path, "buffer %s spans %d bytes of the memory of buffer %s, which has %d: make its shape smaller",
				b.Name, m, memory.Name, n)
		}
	}
}

// constantBytes returns the number of bytes that a buffer spans from its address on. The result is false if the number
// is not constant, or if elements do not consist of whole bytes.
func constantBytes(b *Buffer) (int64, bool) {
	bits := int64(b.DType.Bits) * int64(b.DType.Lanes)
	if IsBool(b.DType) {
		bits = 8 * int64(b.DType.Lanes)
	}
	last := int64(0)
	if b.Offset != nil {
		k, ok := b.Offset.(*IntImm)
		if !ok {
			return 0, false
		}
		last = k.Value
	}
	step := int64(1)
	for d := len(b.Shape) - 1; d >= 0; d-- {
		n, ok := b.Shape[d].(*IntImm)
		if !ok || n.Value > 1<<40 {
			return 0, false
		}
		if n.Value == 0 {
			return 0, true
		}
		if b.Strides != nil {
			k, ok := b.Strides[d].(*IntImm)
			if !ok || k.Value < 0 || k.Value > 1<<40 {
				return 0, false
			}
			step = k.Value
		}
		if last += (n.Value - 1) * step; last > 1<<50 || (n.Value-1)*step > 1<<50 {
			return 0, false
		}
		if b.Strides == nil {
			if step *= n.Value; step > 1<<50 {
				return 0, false
			}
		}
	}
	return (last + 1) * bits / 8, bits%8 == 0
}
