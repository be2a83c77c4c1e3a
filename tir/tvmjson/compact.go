package tvmjson

import (
	"slices"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// TVM declares the memory of a block for all iterations, though it is allocated within loops. The buffers that place
// allocates get the size that the iterations within the allocation access. Dimensions stay as they are if that is not
// constant.

// use is an access to a buffer that is placed.
type use struct {
	indices []tir.Expr
	frame   *frame
}

// compactor makes the buffers of a placer smaller.
type compactor struct {
	*placer
	analyzer *arith.Analyzer
	threads  []thread              // around and in the statement
	same     map[*tir.Var]tir.Expr // one variable for all loops over the same threads
	inner    map[*tir.Var]bool     // variables that the statement defines, other than those of loops
	offsets  map[*tir.Buffer][]tir.Expr
}

// compact makes buffers smaller, and returns the statement with other accesses to them; s itself if none is smaller.
// sites are the statements around which they are allocated.
func (p *placer) compact(s tir.Stmt, buffers []*tir.Buffer, sites map[*tir.Buffer]*frame, around []thread) tir.Stmt {
	c := &compactor{placer: p, analyzer: arith.NewAnalyzer(), threads: slices.Clone(around),
		same: map[*tir.Var]tir.Expr{}, inner: map[*tir.Var]bool{}, offsets: map[*tir.Buffer][]tir.Expr{}}
	for _, t := range around {
		c.analyzer.Bind(t.v, tir.IntConst(t.v.Type, 0), t.extent)
	}
	tir.Walk(s, func(x any) bool {
		switch x := x.(type) {
		case *tir.For:
			c.analyzer.Bind(x.Var, x.Min, x.Extent)
			if x.Kind == tir.ThreadBind {
				c.threads = append(c.threads, thread{x.Thread, x.Var, x.Extent})
			}
		case *tir.LetStmt:
			c.inner[x.Var] = true
		case *tir.Let:
			c.inner[x.Var] = true
		}
		return true
	})
	first := map[string]thread{}
	for _, t := range c.threads {
		if f, ok := first[t.tag]; ok && f.v.Type == t.v.Type && !strings.HasPrefix(t.tag, "vthread") {
			c.same[t.v] = f.v
		} else {
			first[t.tag] = t
		}
	}
	for _, b := range buffers {
		if sites[b] != nil && !p.whole[b] && b.Strides == nil {
			c.shrink(b, sites[b])
		}
	}
	if len(c.offsets) == 0 {
		return s
	}
	m := &tir.Mutator{}
	m.Expr = func(e tir.Expr) tir.Expr {
		if load, ok := e.(*tir.BufferLoad); ok && c.offsets[load.Buffer] != nil {
			return tir.BufferAt(load.Buffer, c.moved(load.Buffer, load.Indices)...)
		}
		return e
	}
	m.Stmt = func(s tir.Stmt) tir.Stmt {
		if st, ok := s.(*tir.BufferStore); ok && c.offsets[st.Buffer] != nil {
			return &tir.BufferStore{Buffer: st.Buffer, Indices: c.moved(st.Buffer, st.Indices), Value: st.Value}
		}
		return s
	}
	return m.MutateStmt(s)
}

// moved returns the indices of an access to a smaller buffer.
func (c *compactor) moved(b *tir.Buffer, indices []tir.Expr) []tir.Expr {
	out := slices.Clone(indices)
	for d, o := range c.offsets[b] {
		if o != nil {
			out[d] = c.minus(c.canonical(out[d]), o)
		}
	}
	return out
}

func (c *compactor) canonical(e tir.Expr) tir.Expr { return tir.Substitute(e, c.same) }

func (c *compactor) minus(a, b tir.Expr) tir.Expr { return c.analyzer.Simplify(tir.Sub(a, b)) }

// private reports whether each of the threads with a tag has memory of its own in a scope; ok is false for a scope
// that is not known.
func private(scope, tag string) (own, ok bool) {
	switch {
	case strings.HasPrefix(scope, "local"):
		return true, scope == "local"
	case strings.HasPrefix(scope, "shared"):
		return strings.HasPrefix(tag, "blockIdx"), true
	}
	return false, scope == "" || scope == "global"
}

// shrink makes a buffer smaller that is allocated around the statement of a frame.
func (c *compactor) shrink(b *tir.Buffer, site *frame) {
	if _, ok := private(b.Scope, ""); !ok {
		return
	}
	offsets, shape := make([]tir.Expr, len(b.Shape)), slices.Clone(b.Shape)
	found := false
	for d := range b.Shape {
		offset, extent := c.span(b, d, site)
		if offset == nil {
			continue
		}
		if old, isConst := tir.IntValue(b.Shape[d]); isConst && extent >= old || !c.cancels(b, d, offset) {
			continue
		}
		offsets[d], shape[d], found = offset, tir.IntConst(b.Shape[d].DType(), extent), true
	}
	if found {
		c.offsets[b], b.Shape = offsets, shape
	}
}

// span returns the first index that accesses use in a dimension, and the number of indices from there; nil if they are
// not known.
func (c *compactor) span(b *tir.Buffer, d int, site *frame) (first tir.Expr, extent int64) {
	var low, high int64
	for _, u := range c.uses[b] {
		x := u.indices[d]
		if t := x.DType(); t != tir.Int32 && t != tir.Int64 {
			return nil, 0
		}
		domains := map[*tir.Var]arith.Domain{}
		for f := u.frame; f != nil && f.depth >= site.depth; f = f.up {
			if loop, ok := f.s.(*tir.For); ok && loop.Kind != tir.ThreadBind && f != u.frame {
				domains[loop.Var] = domainOf(loop.Min, loop.Extent)
			}
		}
		for _, t := range c.threads {
			if own, _ := private(b.Scope, t.tag); !own {
				domains[t.v] = domainOf(tir.IntConst(t.v.Type, 0), t.extent)
			}
		}
		least, greatest := c.analyzer.EvalInterval(c.canonical(x), domains)
		if least == nil || greatest == nil {
			return nil, 0
		}
		if first == nil {
			first = c.analyzer.Simplify(least)
		}
		if first.DType() != least.DType() {
			return nil, 0
		}
		from, isFrom := tir.IntValue(c.minus(least, first))
		to, isTo := tir.IntValue(c.minus(greatest, first))
		if !isFrom || !isTo {
			return nil, 0
		}
		low, high = min(low, from), max(high, to)
	}
	if first == nil || high-low >= 1<<31 || tir.Contains(first, func(x any) bool {
		v, isVar := x.(*tir.Var)
		_, isLoad := x.(*tir.BufferLoad)
		_, isCall := x.(*tir.Call)
		return isLoad || isCall || isVar && c.inner[v]
	}) {
		return nil, 0
	}
	return c.analyzer.Simplify(tir.Add(first, tir.IntConst(first.DType(), low))), high - low + 1
}

// cancels reports whether no variable of other threads' loops remains in the indices of a dimension.
func (c *compactor) cancels(b *tir.Buffer, d int, offset tir.Expr) bool {
	for _, u := range c.uses[b] {
		x := u.indices[d]
		before := loopVars(x)
		for _, v := range loopVars(c.minus(c.canonical(x), offset)) {
			if !slices.Contains(before, v) && !slices.Contains(loopVars(offset), v) || c.replaced(v, before) {
				return false
			}
		}
	}
	return true
}

// replaced reports whether a variable stands for that of another loop over the same threads.
func (c *compactor) replaced(v *tir.Var, before []*tir.Var) bool {
	return slices.ContainsFunc(before, func(x *tir.Var) bool { return x != v && c.same[x] == tir.Expr(v) })
}

func domainOf(low, extent tir.Expr) arith.Domain {
	return arith.Domain{Min: low, Extent: extent}
}
