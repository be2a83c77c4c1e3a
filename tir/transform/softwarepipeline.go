package transform

import (
	"fmt"
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// AnnotationAsync is tir.AttrAsync. Around statements it says that their stores from global to shared memory may be
// asynchronous copies: an async_commit closes their group, and an async_wait precedes the first use. [SoftwarePipeline]
// leaves it for languages that have async_copy.
const AnnotationAsync = tir.AttrAsync

// SoftwarePipeline overlaps the loads of a loop with its computation. If the body of a loop begins with statements that
// fill a buffer with attribute [tir.AttrStages] of value n, the buffer gets n+1 copies, and the statements run n
// iterations ahead: n times before the loop, then in each iteration for the iteration n later. Memory is then filled
// while an earlier copy is used, and one barrier per iteration is enough.
//
// Loads for shared memory go to registers before the computation, and are stored after it, if loops of constant extent
// contain them. In a language with async_copy, buffers that also have attribute [tir.AttrAsync] are filled by
// asynchronous copies instead.
//
// A buffer cannot be filled ahead if the body of the loop computes what its statements read; this is an error.
func SoftwarePipeline(l Language) Pass {
	_, lacks := l.Lacks["async_copy"]
	return func(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
		return mapBodies("software pipeline", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
			p := &pipeliner{async: !lacks, an: arith.NewAnalyzer()}
			m := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
				if loop, ok := s.(*tir.For); ok && p.err == nil && (loop.Kind == tir.Serial || loop.Kind == tir.Unrolled) {
					return p.loop(loop)
				}
				return s
			}}
			return unmarked(m.MutateStmt(f.Body)), p.err
		})
	}
}

// unmarked removes what marks buffers whose loops have a single iteration, or are gone: nothing waits for asynchronous
// copies to them.
func unmarked(s tir.Stmt) tir.Stmt {
	m := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
		if a, ok := s.(*tir.Alloc); ok {
			if extra, _, body := marked(a); extra > 0 {
				return &tir.Alloc{Buffer: a.Buffer, Body: body}
			}
		}
		return s
	}}
	return m.MutateStmt(s)
}

// maxStaged is the greatest number of elements that a thread keeps in registers between their load and their store.
const maxStaged = 128

type pipeliner struct {
	async bool // the language has asynchronous copies
	an    *arith.Analyzer
	err   error
}

// ahead are buffers that are filled in an earlier iteration than the one that uses them, by the same statements.
type ahead struct {
	buffers []*tir.Buffer
	wide    []*tir.Buffer // all copies of each
	extra   int64         // additional copies
	async   bool
	fill    []tir.Stmt
}

// loop overlaps the iterations of a loop.
func (p *pipeliner) loop(s *tir.For) tir.Stmt {
	list, body := p.find(s.Body)
	if n, constant := count(s.Extent); len(list) == 0 || constant && n < 2 {
		return s
	}
	if p.check(s, list, body); p.err != nil {
		return s
	}
	use := map[*tir.Buffer]copies{}
	for i, a := range list {
		for _, b := range a.buffers {
			w := p.widened(b, a.extra)
			list[i].wide = append(list[i].wide, w)
			use[b] = copies{w, a.extra + 1}
		}
	}
	step := tir.Expr(s.Var) // counts from 0
	if low, ok := s.Min.(*tir.IntImm); !ok || low.Value != 0 {
		step = tir.Sub(s.Var, minOf(s))
	}
	filled := func(a ahead, i, step tir.Expr) tir.Stmt {
		x := renamed(tir.Copied(tir.Sequence(a.fill...), map[*tir.Var]tir.Expr{s.Var: i}), use, step)
		if k, ok := step.(*tir.IntImm); ok {
			if n, constant := count(s.Extent); constant && k.Value < n {
				return x
			}
		}
		return &tir.If{Cond: tir.LT(step, tir.NewCast(step.DType(), s.Extent)), Then: x}
	}
	out := p.prologue(s, list, filled)
	var copying, first, last []tir.Stmt
	var staged []*tir.Buffer
	for _, a := range list {
		later := filled(a, plus(s.Var, a.extra), plus(step, a.extra))
		if a.async {
			copying = append(copying, asynchronous(a, later))
		} else if r, load, store := stage(a.wide, later); r != nil {
			staged, first, last = append(staged, r...), append(first, load), append(last, store)
		} else {
			first = append(first, later)
		}
	}
	if len(copying) > 0 {
		copying = append(append([]tir.Stmt{wait(list), syncStmt()}, copying...), commit())
	}
	inner := tir.Sequence(slices.Concat(copying, first, []tir.Stmt{renamed(body, use, step)}, last)...)
	for _, b := range slices.Backward(staged) {
		inner = &tir.Alloc{Buffer: b, Body: inner}
	}
	c := *s
	c.Body = inner
	all := tir.Sequence(append(out, &c)...)
	for _, a := range slices.Backward(list) {
		for _, w := range slices.Backward(a.wide) {
			all = &tir.Alloc{Buffer: w, Body: all}
		}
	}
	return all
}

// prologue fills the copies for the first iterations.
func (p *pipeliner) prologue(s *tir.For, list []ahead, filled func(a ahead, i, step tir.Expr) tir.Stmt) []tir.Stmt {
	most, async := int64(0), false
	for _, a := range list {
		most, async = max(most, a.extra), async || a.async
	}
	var out []tir.Stmt
	n, constant := count(s.Extent)
	for k := range most {
		for _, a := range list {
			if k >= a.extra || constant && k >= n {
				continue
			}
			now := filled(a, plus(minOf(s), k), sized(s.Var.Type, k))
			if a.async {
				now = asynchronous(a, now)
			}
			out = append(out, now)
		}
		if async { // a group for each iteration, even if it is empty
			out = append(out, commit())
		}
	}
	return out
}

// widened returns a buffer with additional copies, as its first dimension.
func (p *pipeliner) widened(b *tir.Buffer, extra int64) *tir.Buffer {
	wide := *b
	wide.Shape = append([]tir.Expr{sized(tir.Int32, extra+1)}, b.Shape...)
	if len(b.Strides) > 0 {
		whole := p.an.Simplify(tir.Mul(b.Strides[0], tir.NewCast(b.Strides[0].DType(), b.Shape[0])))
		wide.Strides = append([]tir.Expr{whole}, b.Strides...)
	}
	return &wide
}

// asynchronous marks statements that fill a buffer as asynchronous copies.
func asynchronous(a ahead, fill tir.Stmt) tir.Stmt {
	return &tir.AttrStmt{Key: AnnotationAsync, Node: a.wide[0], Value: tir.I32(1), Body: fill}
}

func commit() tir.Stmt {
	return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "async_commit")}
}

// wait waits until the copies that an iteration uses have arrived. The groups of later iterations may be in flight.
func wait(list []ahead) tir.Stmt {
	least := int64(1) << 8
	for _, a := range list {
		if a.async {
			least = min(least, a.extra)
		}
	}
	return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "async_wait", tir.I32(int32(least-1)))}
}

// find returns the buffers that the body of a loop fills first, and the body without their allocations and the
// statements that fill them.
func (p *pipeliner) find(s tir.Stmt) (list []ahead, rest tir.Stmt) {
	switch s := s.(type) {
	case *tir.Alloc:
		extra, async, body := marked(s)
		inner, rest := p.find(body)
		if extra == 0 || s.Buffer.StorageScope() == "global" {
			return inner, &tir.Alloc{Buffer: s.Buffer, Body: rest}
		}
		stmts := []tir.Stmt{rest}
		if q, ok := rest.(*tir.Seq); ok {
			stmts = q.Stmts
		}
		end := 0
		for i, x := range stmts {
			if storesTo(x, s.Buffer) {
				end = i + 1
			}
		}
		if end > 0 {
			own := ahead{buffers: []*tir.Buffer{s.Buffer}, extra: extra, async: async && p.async, fill: stmts[:end]}
			return append([]ahead{own}, inner...), tir.Sequence(stmts[end:]...)
		}
		for i, o := range inner { // several buffers that the same statements fill
			if storesTo(tir.Sequence(o.fill...), s.Buffer) && o.extra == extra {
				inner[i].buffers = append([]*tir.Buffer{s.Buffer}, o.buffers...)
				return inner, rest
			}
		}
		return inner, &tir.Alloc{Buffer: s.Buffer, Body: rest}
	case *tir.Seq:
		if len(s.Stmts) > 0 {
			end := len(s.Stmts) - 1
			list, rest = p.find(s.Stmts[end])
			if len(list) > 0 {
				return list, tir.Sequence(append(slices.Clone(s.Stmts[:end]), rest)...)
			}
		}
	}
	return nil, s
}

// marked returns the number of additional copies of an allocation, whether they may be filled by asynchronous copies,
// and its body without these attributes.
func marked(s *tir.Alloc) (extra int64, async bool, body tir.Stmt) {
	body = s.Body
	for {
		a, ok := body.(*tir.AttrStmt)
		if b, is := nodeOf(a); !ok || !is || b != s.Buffer {
			return extra, async, body
		}
		n, constant := a.Value.(*tir.IntImm)
		switch {
		case a.Key == tir.AttrStages && constant && n.Value > 0 && n.Value < 1<<8:
			extra = n.Value
		case a.Key == AnnotationAsync:
			async = true
		default:
			return extra, async, body
		}
		body = a.Body
	}
}

func nodeOf(a *tir.AttrStmt) (*tir.Buffer, bool) {
	if a == nil {
		return nil, false
	}
	b, ok := a.Node.(*tir.Buffer)
	return b, ok
}

func storesTo(s tir.Stmt, b *tir.Buffer) bool {
	return contains(s, func(node any) bool {
		x, ok := node.(*tir.BufferStore)
		return ok && x.Buffer.Data == b.Data
	})
}

// check records an error if the statements that fill a buffer depend on what the body of the loop computes.
func (p *pipeliner) check(s *tir.For, list []ahead, body tir.Stmt) {
	stored := map[*tir.Var]string{}
	note := func(x tir.Stmt) {
		tir.Walk(x, func(node any) bool {
			switch n := node.(type) {
			case *tir.BufferStore:
				stored[n.Buffer.Data] = n.Buffer.Name
			case *tir.Alloc:
				stored[n.Buffer.Data] = n.Buffer.Name
			}
			return true
		})
	}
	note(body)
	for i, a := range list {
		own := map[*tir.Var]string{}
		for j, o := range list {
			if i == j {
				continue
			}
			for _, x := range o.fill {
				tir.Walk(x, func(node any) bool {
					if n, ok := node.(*tir.BufferStore); ok {
						own[n.Buffer.Data] = n.Buffer.Name
					}
					return true
				})
			}
		}
		for _, x := range a.fill {
			tir.Walk(x, func(node any) bool {
				var data *tir.Var
				switch n := node.(type) {
				case *tir.BufferLoad:
					data = n.Buffer.Data
				case *tir.BufferStore:
					data = n.Buffer.Data
				}
				name := stored[data]
				if name == "" {
					name = own[data]
				}
				if data != nil && name != "" && p.err == nil {
					p.err = fmt.Errorf("buffer %s cannot be filled in an earlier iteration of loop %s: this takes buffer %s, "+
						"which the loop computes", a.buffers[0].Name, s.Var.Name, name)
				}
				return true
			})
		}
	}
}

// copies are the copies of a buffer, and their number.
type copies struct {
	wide *tir.Buffer
	n    int64
}

// renamed replaces buffers by the copy of a step.
func renamed(s tir.Stmt, use map[*tir.Buffer]copies, step tir.Expr) tir.Stmt {
	copyOf := func(b *tir.Buffer, at []tir.Expr) (*tir.Buffer, []tir.Expr, bool) {
		a, ok := use[b]
		if !ok {
			return nil, nil, false
		}
		index := tir.FloorMod(step, sized(step.DType(), a.n))
		if c, fixed := step.(*tir.IntImm); fixed {
			index = sized(c.Type, c.Value%a.n)
		}
		return a.wide, append([]tir.Expr{index}, at...), true
	}
	m := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		if l, ok := e.(*tir.BufferLoad); ok {
			if b, at, ok := copyOf(l.Buffer, l.Indices); ok {
				return &tir.BufferLoad{Buffer: b, Indices: at}
			}
		}
		return e
	}, Stmt: func(s tir.Stmt) tir.Stmt {
		if x, ok := s.(*tir.BufferStore); ok {
			if b, at, ok := copyOf(x.Buffer, x.Indices); ok {
				return &tir.BufferStore{Buffer: b, Value: x.Value, Indices: at}
			}
		}
		return s
	}}
	if s = m.MutateStmt(s); s == nil {
		return &tir.Seq{}
	}
	return s
}
