package transform

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// ThreadSync inserts barriers where the threads of a block share memory of scope "shared": between a store and a
// load by another thread, a load and a store, and two stores, also from one iteration of a loop to the next. It
// inserts none where each thread uses its own elements, and no barrier twice. A barrier that not all threads of a
// block would reach is an error, also one that the program contains already: below a condition that differs between
// threads, or in a loop of which they run different numbers of iterations. The same holds for shuffles.
//
// Kernels then have one form: loops over threads around everything else, each index once. Programs without loops
// over threads stay as they are. A race within one statement cannot be repaired by a barrier;
// internal/testing/tirrun detects it.
func ThreadSync(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	return mapBodies("thread sync", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		var err error
		body := (&tir.Mutator{PreStmt: func(s tir.Stmt) (tir.Stmt, bool) {
			loop, ok := s.(*tir.For)
			if !ok || loop.Kind != tir.ThreadBind || err != nil {
				return s, err != nil
			}
			k, e := newKernel(loop)
			if e == nil {
				e = k.sync()
			}
			if err = e; err != nil {
				return s, true
			}
			return k.stmt(), true
		}}).MutateStmt(f.Body)
		return body, err
	})
}

// syncStmt waits for all threads of the block.
func syncStmt() tir.Stmt {
	return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "storage_sync", tir.Text("shared"))}
}

// isShuffle reports whether a call moves a value between the threads of a warp, which all have to execute it.
func isShuffle(c *tir.Call) bool {
	return c.Kind == tir.CallIntrinsic && strings.HasPrefix(c.Name, "warp_shuffle") && len(c.Args) == 2
}

// shuffles returns an error if a shuffle within an expression is not executed by all threads.
func (y *syncer) shuffles(e tir.Expr) {
	tir.Walk(e, func(node any) bool {
		switch n := node.(type) {
		case *tir.Call:
			switch {
			case isShuffle(n) && y.diverged != "":
				y.fail("a shuffle (%s) stands %s: all threads of a warp must reach it", n.Name, y.diverged)
			case tir.IsFragmentCall(n) && y.diverged != "":
				y.fail("%s stands %s: all threads of a warp must reach it", n.Name, y.diverged)
			case n.Kind == tir.CallIntrinsic && n.Name == "if_then_else" && len(n.Args) == 3:
				y.shuffles(n.Args[0])
				y.under(n.Args[:1], "below the condition", func() {
					y.shuffles(n.Args[1])
					y.shuffles(n.Args[2])
				})
				return false
			}
		case *tir.Binary:
			if n.Op.IsLogical() { // the second operand is not always computed
				y.shuffles(n.A)
				y.under([]tir.Expr{n.A}, "below the condition", func() { y.shuffles(n.B) })
				return false
			}
		}
		return y.err == nil
	})
}

func isSync(s tir.Stmt) bool {
	e, ok := s.(*tir.Evaluate)
	if !ok {
		return false
	}
	c, ok := e.Value.(*tir.Call)
	return ok && c.Kind == tir.CallIntrinsic && c.Name == "storage_sync"
}

// syncer inserts barriers into a kernel.
type syncer struct {
	k        *kernel
	threads  map[*tir.Var]idRange  // the range of each thread index
	varying  map[*tir.Var]bool     // variables that differ between threads
	lets     map[*tir.Var]tir.Expr // values that are substituted in indices
	opaque   map[*tir.Var]bool     // variables about which nothing is known
	loops    []*tir.For            // around
	conds    []tir.Expr            // that hold
	parts    []idPart              // quotients and remainders that indices contain
	diverged string                // why not all threads get here; "": all do
	err      error
}

// part is what a statement does with shared memory.
type syncPart struct {
	s           tir.Stmt
	first, last []sharedAccess // before the first barrier inside, and after the last
	barrier     bool           // every path has a barrier
	some        bool           // some path has a barrier
}

func (k *kernel) sync() error {
	y := &syncer{k: k, threads: map[*tir.Var]idRange{}, varying: map[*tir.Var]bool{}, lets: map[*tir.Var]tir.Expr{},
		opaque: map[*tir.Var]bool{}}
	for _, a := range k.axes {
		if isBlock(a.tag) {
			continue
		}
		s := idRange{0, unknown}
		if n, ok := a.extent.(*tir.IntImm); ok && n.Value > 0 && n.Value < unknown {
			s.hi = n.Value - 1
		}
		y.threads[a.v] = s
		y.varying[a.v] = s.hi > 0
	}
	tir.Walk(k.body, func(node any) bool {
		switch n := node.(type) {
		case *tir.For:
		case *tir.LetStmt:
			y.opaque[n.Var] = true
		default:
			vars, _ := tir.Bound(n)
			for _, v := range vars {
				y.opaque[v], y.varying[v] = true, true
			}
		}
		return true
	})
	p := y.stmt(k.body)
	if y.err != nil {
		return y.err
	}
	k.body = p.s
	return nil
}

func (y *syncer) fail(format string, args ...any) {
	if y.err == nil {
		y.err = fmt.Errorf(format, args...)
	}
}

func (y *syncer) stmt(s tir.Stmt) syncPart {
	if y.err != nil {
		return syncPart{s: s}
	}
	switch s := s.(type) {
	case *tir.Seq:
		return y.seq(s)
	case *tir.For:
		return y.loop(s)
	case *tir.While:
		return y.while(s)
	case *tir.If:
		return y.branch(s)
	case *tir.LetStmt:
		p := syncPart{first: y.reads(s.Value)}
		p.last = p.first
		y.varying[s.Var] = !y.uniform(s.Value)
		if !hasLoad(s.Value) {
			y.lets[s.Var] = tir.Substitute(s.Value, y.lets)
		}
		body := y.stmt(s.Body)
		if y.follow(&p, body) {
			body.s = tir.Sequence(syncStmt(), body.s)
		}
		p.s = &tir.LetStmt{Var: s.Var, Value: s.Value, Body: body.s}
		return p
	case *tir.AttrStmt:
		p := y.stmt(s.Body)
		p.s = &tir.AttrStmt{Key: s.Key, Node: s.Node, Value: s.Value, Body: p.s}
		return p
	case *tir.Alloc:
		p := y.stmt(s.Body)
		p.s = &tir.Alloc{Buffer: s.Buffer, Body: p.s}
		return p
	case *tir.BufferStore:
		var list []sharedAccess
		for _, i := range s.Indices {
			list = append(list, y.reads(i)...)
		}
		list = append(list, y.reads(s.Value)...)
		if isShared(s.Buffer.StorageScope()) {
			list = append(list, y.access(s.Buffer, s.Indices, true))
		}
		return syncPart{s: s, first: list, last: list}
	case *tir.Evaluate:
		if isSync(s) {
			if y.diverged != "" {
				y.fail("a barrier (storage_sync) stands %s: all threads must reach it", y.diverged)
			}
			return syncPart{s: s, barrier: true, some: true}
		}
		list := y.reads(s.Value)
		return syncPart{s: s, first: list, last: list}
	case *tir.Assert:
		list := y.reads(s.Cond)
		return syncPart{s: s, first: list, last: list}
	}
	exprs, inner := tir.Parts(s)
	if len(inner) > 0 {
		y.fail("%w", tir.NotKnown(s, "has statements within, in a kernel"))
	}
	list := y.anything()
	for _, e := range exprs {
		list = append(list, y.reads(e)...)
	}
	return syncPart{s: s, first: list, last: list}
}

// follow appends the next part to a part, and reports whether a barrier is needed between both.
func (y *syncer) follow(p *syncPart, next syncPart) (between bool) {
	if a, b, found := y.conflict(p.last, next.first, nil); found {
		between = true
		y.needed(a, b)
		p.last, p.barrier, p.some = nil, true, true
	}
	if !p.barrier {
		p.first = append(p.first[:len(p.first):len(p.first)], next.first...)
	}
	if next.barrier {
		p.last = next.last
	} else {
		p.last = append(p.last[:len(p.last):len(p.last)], next.last...)
	}
	p.barrier = p.barrier || next.barrier
	p.some = p.some || next.some
	return between
}

// needed reports an error if a barrier that two accesses need cannot be inserted here.
func (y *syncer) needed(a, b sharedAccess) {
	if y.diverged == "" {
		return
	}
	verb := map[bool]string{false: "reads", true: "stores to"}
	y.fail("a thread %s buffer %s after another one %s it, which takes a barrier between, and both stand %s: put the "+
		"condition around each of them", verb[b.write],
		a.buffer.Name, verb[a.write], y.diverged)
}

func (y *syncer) seq(s *tir.Seq) syncPart {
	var p syncPart
	var out []tir.Stmt
	for _, x := range s.Stmts {
		next := y.stmt(x)
		if y.follow(&p, next) {
			out = append(out, syncStmt())
		}
		if isSync(next.s) && len(out) > 0 && isSync(out[len(out)-1]) {
			continue
		}
		out = append(out, next.s)
	}
	p.s = tir.Sequence(out...)
	return p
}

// under calls do for code that not all threads execute if the value of e differs between them.
func (y *syncer) under(e []tir.Expr, what string, do func()) {
	outer := y.diverged
	for _, x := range e {
		if !y.uniform(x) && y.diverged == "" {
			y.diverged = fmt.Sprintf("%s %s, which is not the same for all threads of a block", what, text.Print(x))
		}
	}
	do()
	y.diverged = outer
}

func (y *syncer) loop(s *tir.For) syncPart {
	p := syncPart{first: append(y.reads(s.Min), y.reads(s.Extent)...)}
	p.last = p.first
	y.varying[s.Var] = !y.uniform(s.Min)
	n, constant := s.Extent.(*tir.IntImm)
	var body syncPart
	y.under([]tir.Expr{s.Min, s.Extent}, "in a loop whose iterations depend on", func() {
		y.loops = append(y.loops, s)
		body = y.stmt(s.Body)
		y.loops = y.loops[:len(y.loops)-1]
		if constant && n.Value <= 1 {
			return
		}
		if a, b, found := y.conflict(body.last, body.first, s); found {
			y.needed(a, b)
			body = syncPart{tir.Sequence(syncStmt(), body.s), nil, body.last, true, true}
		}
	})
	if !constant || n.Value < 1 {
		body.barrier = false // it may have no iteration
	}
	c := *s
	if y.follow(&p, body) {
		p.s = tir.Sequence(syncStmt(), &c)
	} else {
		p.s = &c
	}
	c.Body = body.s
	return p
}

func (y *syncer) while(s *tir.While) syncPart {
	p := syncPart{first: y.reads(s.Cond)}
	p.last = p.first
	var body syncPart
	y.under([]tir.Expr{s.Cond}, "in a loop on the condition", func() {
		iteration := &tir.For{Var: tir.NewVar("iteration", tir.Int64), Min: tir.I64(0),
			Extent: tir.NewVar("iterations", tir.Int64)}
		y.loops = append(y.loops, iteration)
		body = y.stmt(s.Body)
		y.loops = y.loops[:len(y.loops)-1]
		whole := syncPart{first: p.first, last: p.last}
		if y.follow(&whole, body) {
			body.s = tir.Sequence(syncStmt(), body.s)
		}
		// the condition of the next iteration follows the body, and so does the next iteration's body
		if a, b, found := y.conflict(whole.last, whole.first, iteration); found {
			y.needed(a, b)
			body.s = tir.Sequence(body.s, syncStmt())
			whole.last, whole.some = p.first, true
		}
		whole.barrier = false
		whole.s = body.s
		body = whole
	})
	return syncPart{&tir.While{Cond: s.Cond, Body: body.s}, body.first, slices.Concat(p.last, body.last), false,
		body.some}
}

func (y *syncer) branch(s *tir.If) syncPart {
	p := syncPart{first: y.reads(s.Cond)}
	p.last = p.first
	var then, other syncPart
	y.under([]tir.Expr{s.Cond}, "below the condition", func() {
		y.conds = append(y.conds, tir.Substitute(s.Cond, y.lets))
		then = y.stmt(s.Then)
		y.conds = y.conds[:len(y.conds)-1]
		if s.Else != nil {
			other = y.stmt(s.Else)
		}
	})
	both := syncPart{first: append(then.first[:len(then.first):len(then.first)], other.first...),
		last:    append(then.last[:len(then.last):len(then.last)], other.last...),
		barrier: then.barrier && other.barrier, some: then.some || other.some}
	c := &tir.If{Cond: s.Cond, Then: then.s, Else: other.s}
	p.s = c
	if !y.follow(&p, both) {
		return p
	}
	// A branch stores to memory that the condition reads. This is valid only if the condition is the same for all
	// threads.
	if y.uniform(s.Cond) {
		c.Then = tir.Sequence(syncStmt(), c.Then)
		if c.Else != nil {
			c.Else = tir.Sequence(syncStmt(), c.Else)
		}
		if c.Else == nil { // not every path executes the branch
			p.last, p.barrier = slices.Concat(p.last, p.first), false
		}
		return p
	}
	cond := tir.NewVar("holds", tir.Bool)
	c.Cond = cond
	p.s = &tir.LetStmt{Var: cond, Value: s.Cond, Body: tir.Sequence(syncStmt(), c)}
	return p
}

// uniform reports whether an expression is the same for all threads of a block.
func (y *syncer) uniform(e tir.Expr) bool {
	same := true
	tir.Walk(e, func(node any) bool {
		switch n := node.(type) {
		case *tir.Var:
			same = same && !y.varying[n]
		case *tir.BufferLoad:
			scope := n.Buffer.StorageScope()
			same = same && (scope == "global" || isShared(scope))
		case *tir.Call:
			i, _ := tir.LookupIntrinsic(n.Name)
			same = same && n.Kind == tir.CallIntrinsic && i.Pure
		default:
			same = same && !tir.Opaque(n)
		}
		return same
	})
	return same
}

func hasLoad(e tir.Expr) bool {
	return tir.Contains(e, func(node any) bool {
		_, load := node.(*tir.BufferLoad)
		return load || tir.Opaque(node)
	})
}
