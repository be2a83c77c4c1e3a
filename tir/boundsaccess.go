package tir

import (
	"fmt"
	"strings"

	"tvmgo/tir/internal/path"
	"tvmgo/tir/internal/printer"
)

// access checks the indices of one access.
func (w *boundsWalk) access(b *Buffer, indices []Expr) {
	for d, x := range indices {
		if d < len(b.Shape) {
			w.push(path.AtIndex("indices", d), func() { w.index(b, d, x) })
		}
	}
}

// index rejects an index that is outside of its dimension in some iteration of the enclosing loops, whatever the
// function's arguments are, provided that some arguments make the program execute the access.
func (w *boundsWalk) index(b *Buffer, d int, x Expr) {
	size := b.Shape[d]
	t := Element(x.DType())
	if t != Int32 && t != Int64 || !w.spend() {
		return
	}
	p := &indexProof{w: w, ranges: map[*Var]span{}}
	var lane *For
	switch v := x.(type) {
	case *Broadcast:
		x = v.Value
	case *Ramp: // its lanes are the iterations of a loop
		lane = &For{Var: NewVar("lane", t), Min: &IntImm{t, 0}, Extent: &IntImm{t, int64(v.Lanes)}}
		x = &Binary{Op: OpAdd, A: v.Base, B: &Binary{Op: OpMul, A: lane.Var, B: v.Stride}}
	}
	if x.DType().Lanes != 1 {
		return
	}
	p.enclosing = w.enclosing
	if lane != nil {
		p.enclosing = append(p.enclosing[:len(p.enclosing):len(p.enclosing)], construct{loop: lane})
	}
	p.learn()
	if p.isWithin(x, size) {
		return
	}
	env, ok := p.violation(x, size)
	if !ok {
		return
	}
	n, _ := p.eval(size, env)
	i, _ := p.eval(x, env)
	w.report(w.path, "index %s is outside of dimension %d of buffer %s: it is %d%s, and the dimension has %d: shorten "+
		"the loop, make the buffer longer, or put "+
		"the access behind a condition", shortText(x), d, b.Name, i, env.where(p.mentioned(x, size)), n)
}

// shortText returns an expression as text if that is short, or else its type of node.
func shortText(e Expr) string {
	nodes := 0
	Walk(e, func(any) bool { nodes++; return nodes < 40 })
	if nodes >= 40 || printer.Print == nil {
		return "of " + NodeName(e)
	}
	return printer.Print(e)
}

// values maps variables to their values.
type values map[*Var]int64

// where lists those of the variables that have a value, as text for a message.
func (env values) where(vars []*Var) string {
	var parts []string
	for _, v := range vars {
		if n, ok := env[v]; ok {
			parts = append(parts, fmt.Sprintf("%s = %d", v.Name, n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " where " + strings.Join(parts, ", ")
}

// indexProof looks for a way to violate the bounds by one index.
type indexProof struct {
	w         *boundsWalk
	enclosing []construct
	ranges    map[*Var]span // from loops and conditions
	atoms     []Expr        // the atoms of polynomials, by number
}

// learn derives ranges of variables from the enclosing loops and conditions.
func (p *indexProof) learn() {
	for _, a := range p.enclosing {
		switch {
		case a.loop != nil:
			low := p.span(p.plain(a.loop.Min))
			r := span{low.lo, infinite}
			if n := p.span(p.plain(a.loop.Extent)); n.hi != infinite && low.hi != infinite {
				r.hi = satAdd(low.hi, n.hi-1)
			}
			p.narrow(a.loop.Var, r)
			if v, ok := p.plain(a.loop.Extent).(*Var); ok { // the loop has an iteration
				p.narrow(v, span{1, infinite})
			}
		case a.cond != nil:
			p.assume(p.plain(a.cond), !a.not)
		}
	}
}

func (p *indexProof) narrow(v *Var, r span) {
	old := p.span(v)
	p.ranges[v] = span{max(old.lo, r.lo), min(old.hi, r.hi)}
}

// assume derives ranges of single variables from a condition that holds, or does not hold.
func (p *indexProof) assume(e Expr, holds bool) {
	switch e := e.(type) {
	case *Not:
		p.assume(e.A, !holds)
	case *Call:
		if e.Name == "likely" && e.Kind == CallIntrinsic {
			p.assume(e.Args[0], holds)
		}
	case *Binary:
		op := e.Op
		if op.IsLogical() {
			if (op == OpAnd) == holds {
				p.assume(e.A, holds)
				p.assume(e.B, holds)
			}
			return
		}
		if !op.IsComparison() {
			return
		}
		if !holds {
			op = opposites[op]
		}
		p.compare(op, e.A, e.B)
		p.compare(mirrored[op], e.B, e.A)
	}
}

var opposites = map[BinaryOp]BinaryOp{OpEQ: OpNE, OpNE: OpEQ, OpLT: OpGE, OpGE: OpLT, OpGT: OpLE, OpLE: OpGT}
var mirrored = map[BinaryOp]BinaryOp{OpEQ: OpEQ, OpNE: OpNE, OpLT: OpGT, OpGT: OpLT, OpLE: OpGE, OpGE: OpLE}

func (p *indexProof) compare(op BinaryOp, x, y Expr) {
	v, ok := x.(*Var)
	if !ok || v.Type != Int32 && v.Type != Int64 {
		return
	}
	r := p.span(y)
	switch op {
	case OpEQ:
		p.narrow(v, r)
	case OpLT:
		p.narrow(v, span{-infinite, satAdd(r.hi, -1)})
	case OpLE:
		p.narrow(v, span{-infinite, r.hi})
	case OpGT:
		p.narrow(v, span{satAdd(r.lo, 1), infinite})
	case OpGE:
		p.narrow(v, span{r.lo, infinite})
	}
}

// plain returns an expression in which variables of lets are replaced by their values.
func (p *indexProof) plain(e Expr) Expr {
	for range 8 { // of lets within lets
		some := false
		for _, v := range variables(e, p.w.spend) {
			_, is := p.w.lets[v]
			some = some || is
		}
		if !some {
			break
		}
		e = Substitute(e, p.w.lets)
	}
	return e
}

// variables lists the variables of an expression, each once, in the order in which they occur.
func variables(e Expr, spend func() bool) []*Var {
	var all []*Var
	seen := map[Expr]bool{}
	var visit func(e Expr)
	visit = func(e Expr) {
		if e == nil || seen[e] || !spend() {
			return
		}
		seen[e] = true
		if v, ok := e.(*Var); ok {
			all = append(all, v)
		}
		for _, x := range ExprParts(e) {
			visit(x)
		}
	}
	visit(e)
	return all
}

// mentioned returns the variables on which the given expressions depend.
func (p *indexProof) mentioned(all ...Expr) []*Var {
	var list []*Var
	for _, e := range all {
		for _, v := range variables(p.plain(e), p.w.spend) {
			known := false
			for _, old := range list {
				known = known || old == v
			}
			if !known && v.Name != "lane" {
				list = append(list, v)
			}
		}
	}
	return list
}

// isWithin reports whether ranges alone show that an index is within its dimension for all values of the variables.
func (p *indexProof) isWithin(x, size Expr) bool {
	i := p.span(p.plain(x))
	n := p.span(p.plain(size))
	if i.lo >= 0 && i.hi < n.lo {
		return true
	}
	for _, a := range p.enclosing { // the guard of a loop that was split
		c := a.cond
		if l, ok := c.(*Call); ok && l.Kind == CallIntrinsic && l.Name == "likely" {
			c = l.Args[0]
		}
		if b, ok := c.(*Binary); ok && !a.not && b.Op == OpLT && i.lo >= 0 && (b.A == x || same(b.A, x)) && (b.B == size ||
			same(b.B, size)) {
			return true
		}
	}
	return false
}
