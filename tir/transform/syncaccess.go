package transform

import (
	"maps"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/compare"
)

// sharedAccess is an access by a thread to an element of shared memory.
type sharedAccess struct {
	buffer *tir.Buffer
	at     []tir.Expr // nil: anywhere
	write  bool
	loops  []*tir.For // around, outermost first
	conds  []tir.Expr // that hold
}

// unknown is a bound beyond which nothing is known.
const unknown = int64(1) << 40

// idRange is the integers from lo to hi; -unknown or unknown is an unknown bound.
type idRange struct{ lo, hi int64 }

func (a idRange) known() bool { return a.lo > -unknown && a.hi < unknown }

// scaled returns the range of c times a number of the idRange.
func (a idRange) scaled(c int64) idRange {
	if c == 0 {
		return idRange{}
	}
	if !a.known() || c >= 1<<20 && a.hi-a.lo >= 1<<20 || c <= -1<<20 && a.hi-a.lo >= 1<<20 {
		return idRange{-unknown, unknown}
	}
	return clipped(idRange{min(a.lo*c, a.hi*c), max(a.lo*c, a.hi*c)})
}

func clipped(a idRange) idRange { return idRange{max(a.lo, -unknown), min(a.hi, unknown)} }

func (a idRange) plus(b idRange) idRange {
	if !a.known() || !b.known() {
		return idRange{-unknown, unknown}
	}
	return clipped(idRange{a.lo + b.lo, a.hi + b.hi})
}

func (y *syncer) access(b *tir.Buffer, at []tir.Expr, write bool) sharedAccess {
	a := sharedAccess{buffer: b, write: write, loops: slices.Clone(y.loops), conds: slices.Clone(y.conds)}
	for _, i := range at {
		a.at = append(a.at, tir.Substitute(i, y.lets))
	}
	return a
}

// reads returns the loads of shared memory within an expression. Memory whose address is taken may be stored to as
// well.
func (y *syncer) reads(e tir.Expr) (all []sharedAccess) {
	y.shuffles(e)
	tir.Walk(e, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferLoad:
			if isShared(n.Buffer.StorageScope()) {
				all = append(all, y.access(n.Buffer, n.Indices, false))
			}
		case *tir.Call:
			if f := fragmentAccess(n); f != nil {
				if isShared(f.Memory.Buffer.StorageScope()) {
					all = append(all, y.access(f.Memory.Buffer, f.region(), f.Name == "fragment_store"))
				}
				for _, e := range append(slices.Clone(f.Memory.Indices), f.Stride) {
					all = append(all, y.reads(e)...)
				}
				return false
			}
			if n.Kind == tir.CallIntrinsic && n.Name == "address_of" && len(n.Args) == 1 {
				if l, ok := n.Args[0].(*tir.BufferLoad); ok && isShared(l.Buffer.StorageScope()) {
					all = append(all, sharedAccess{buffer: l.Buffer, write: true, loops: slices.Clone(y.loops)})
				}
			}
		case *tir.Var:
			for _, b := range y.k.shared {
				if b.Data == n {
					all = append(all, sharedAccess{buffer: b, write: true, loops: slices.Clone(y.loops)})
				}
			}
		default:
			if tir.Opaque(n) {
				all = append(all, y.anything()...)
			}
		}
		return true
	})
	return all
}

// anything returns the possible accesses of an opaque node: stores to any element of all shared memory.
func (y *syncer) anything() (all []sharedAccess) {
	for _, b := range y.k.shared {
		all = append(all, sharedAccess{buffer: b, write: true, loops: slices.Clone(y.loops)})
	}
	return all
}

// conflict finds two accesses, one by a thread and a later one by another thread, that must happen in this order. With
// carried, the second one is in a later iteration of that loop.
func (y *syncer) conflict(first, second []sharedAccess, carried *tir.For) (a, b sharedAccess, found bool) {
	if !slices.ContainsFunc(y.k.axes, func(a axis) bool { return y.threads[a.v].hi > 0 }) {
		return a, b, false
	}
	for _, a := range first {
		for _, b := range second {
			if (a.write || b.write) && a.buffer.Data == b.buffer.Data && y.meet(a, b, carried) {
				return a, b, true
			}
		}
	}
	return a, b, false
}

// meet reports whether two different threads may access the same element.
func (y *syncer) meet(a, b sharedAccess, carried *tir.For) bool {
	if a.at == nil || b.at == nil || len(a.at) != len(b.at) || a.buffer != b.buffer {
		return true
	}
	common := map[*tir.Var]bool{} // loops in which both are in the same iteration
	for i := 0; i < len(a.loops) && i < len(b.loops) && a.loops[i] == b.loops[i] && a.loops[i] != carried; i++ {
		common[a.loops[i].Var] = true
	}
	left, right := y.ranges(a), y.ranges(b)
	if p, by := unswizzled(a.buffer, a.at, left); by.width > 0 {
		if q, other := unswizzled(b.buffer, b.at, right); other == by {
			a.at, b.at = p, q
		}
	}
	if p, q := withPosition(a, left), withPosition(b, right); len(p) == len(q) {
		a.at, b.at = p, q
	}
	same := map[*tir.Var]bool{} // thread indices that must be equal if both access one element
	for v, s := range y.threads {
		l, r := left.of(v, s), right.of(v, s)
		same[v] = s.hi == 0 || l.lo == l.hi && l == r
	}
	for d := range a.at {
		if y.otherCopy(a.at[d], b.at[d], common) {
			return false
		}
		p, q := y.linear(a.at[d], left, common), y.linear(b.at[d], right, common)
		apart, equal := y.compare(p, q, left, right, common)
		if apart || disjoint(y.limited(p, a.conds, left, common), y.limited(q, b.conds, right, common)) {
			return false
		}
		for _, v := range equal {
			same[v] = true
		}
	}
	y.wholes(same, left, right, common)
	if carried != nil && same[carried.Var] { // it differs in a later iteration
		return false
	}
	for v := range y.threads {
		if !same[v] {
			return true
		}
	}
	return false
}

// otherCopy reports whether two indices are remainders of numbers whose difference excludes that they are equal, as
// those of the copies of a buffer that [SoftwarePipeline] makes.
func (y *syncer) otherCopy(a, b tir.Expr, common map[*tir.Var]bool) bool {
	x, n, ok := remainder(a)
	z, m, too := remainder(b)
	if !ok || !too || n != m || !y.isFixed(x, common) || !y.isFixed(z, common) {
		return false
	}
	d, constant := arith.NewAnalyzer().Simplify(tir.Sub(x, z)).(*tir.IntImm)
	return constant && d.Value%n != 0
}

// remainder returns x and n if e is floormod(x, n) with a constant n > 0.
func remainder(e tir.Expr) (x tir.Expr, n int64, ok bool) {
	b, is := e.(*tir.Binary)
	if !is || b.Op != tir.OpFloorMod {
		return nil, 0, false
	}
	c, constant := b.B.(*tir.IntImm)
	if !constant || c.Value <= 0 {
		return nil, 0, false
	}
	return b.A, c.Value, true
}

// idRanges are the ranges of variables at an access.
type idRanges map[*tir.Var]idRange

func (r idRanges) of(v *tir.Var, otherwise idRange) idRange {
	if s, ok := r[v]; ok {
		return s
	}
	return otherwise
}

func (y *syncer) ranges(a sharedAccess) idRanges {
	r := idRanges{}
	maps.Copy(r, y.threads)
	for _, l := range a.loops {
		r[l.Var] = idRange{-unknown, unknown}
		low, ok := l.Min.(*tir.IntImm)
		n, fine := l.Extent.(*tir.IntImm)
		if ok && fine && n.Value > 0 {
			r[l.Var] = clipped(idRange{low.Value, low.Value + n.Value - 1})
		}
	}
	for _, c := range a.conds {
		r.assume(c)
	}
	return r
}

// disjoint reports whether no number is in both ranges.
func disjoint(a, b idRange) bool { return a.known() && b.known() && (a.lo > b.hi || b.lo > a.hi) }

// limited returns the range of an index where conditions hold that limit the same sum of variables, such as
// 4·threadIdx.y + threadIdx.x.
func (y *syncer) limited(f idForm, conds []tir.Expr, r idRanges, common map[*tir.Var]bool) idRange {
	if len(f.fixed) > 0 || !f.rest.known() {
		return idRange{-unknown, unknown}
	}
	sum := idRange{}
	for v, by := range f.factor {
		sum = sum.plus(r.of(v, idRange{-unknown, unknown}).scaled(by))
	}
	for len(conds) > 0 {
		c := conds[0]
		conds = conds[1:]
		if call, ok := c.(*tir.Call); ok && call.Kind == tir.CallIntrinsic && call.Name == "likely" && len(call.Args) == 1 {
			conds = append(conds[:len(conds):len(conds)], call.Args[0])
		}
		b, ok := c.(*tir.Binary)
		if !ok {
			continue
		}
		if b.Op == tir.OpAnd {
			conds = append(conds[:len(conds):len(conds)], b.A, b.B)
			continue
		}
		n, constant := b.B.(*tir.IntImm)
		if !constant || b.Op != tir.OpLT && b.Op != tir.OpEQ || n.Value >= unknown || n.Value <= -unknown {
			continue
		}
		g := y.linear(b.A, r, common)
		if len(g.fixed) > 0 || !g.rest.known() || g.rest.lo != g.rest.hi || !maps.Equal(f.factor, g.factor) {
			continue
		}
		if b.Op == tir.OpLT {
			sum.hi = min(sum.hi, n.Value-1-g.rest.lo)
		} else {
			sum.lo, sum.hi = max(sum.lo, n.Value-g.rest.lo), min(sum.hi, n.Value-g.rest.lo)
		}
	}
	return sum.plus(f.rest)
}

// assume uses a condition on variables alone.
func (r idRanges) assume(cond tir.Expr) {
	switch c := cond.(type) {
	case *tir.Call:
		if c.Kind == tir.CallIntrinsic && c.Name == "likely" && len(c.Args) == 1 {
			r.assume(c.Args[0])
		}
	case *tir.Binary:
		if c.Op == tir.OpAnd {
			r.assume(c.A)
			r.assume(c.B)
			return
		}
		v, ok := c.A.(*tir.Var)
		n, constant := c.B.(*tir.IntImm)
		if !ok || !constant || n.Value <= -unknown || n.Value >= unknown {
			return
		}
		s := r.of(v, idRange{-unknown, unknown})
		switch c.Op {
		case tir.OpEQ:
			s = idRange{n.Value, n.Value}
		case tir.OpLT:
			s.hi = min(s.hi, n.Value-1)
		case tir.OpLE:
			s.hi = min(s.hi, n.Value)
		case tir.OpGT:
			s.lo = max(s.lo, n.Value+1)
		case tir.OpGE:
			s.lo = max(s.lo, n.Value)
		}
		r[v] = s
	}
}

// idForm is an index as a sum of variables times factors, of terms that are the same for all threads in the same
// iterations, and of a rest.
type idForm struct {
	factor map[*tir.Var]int64
	fixed  []idTerm
	rest   idRange
}

type idTerm struct {
	e      tir.Expr
	factor int64
}

func (y *syncer) linear(e tir.Expr, r idRanges, common map[*tir.Var]bool) idForm {
	f := idForm{factor: map[*tir.Var]int64{}}
	y.addTo(&f, e, 1, r, common)
	return f
}

func (y *syncer) addTo(f *idForm, e tir.Expr, by int64, r idRanges, common map[*tir.Var]bool) {
	if by > 1<<30 || by < -1<<30 {
		f.rest = idRange{-unknown, unknown}
		return
	}
	switch e := e.(type) {
	case *tir.IntImm:
		f.rest = f.rest.plus(clipped(idRange{e.Value, e.Value}).scaled(by))
		return
	case *tir.Cast:
		if tir.IsInt(e.Type) && tir.IsInt(e.Value.DType()) && e.Type.Bits >= e.Value.DType().Bits &&
			tir.IsSigned(e.Value.DType()) {
			y.addTo(f, e.Value, by, r, common)
			return
		}
	case *tir.Ramp:
		y.addTo(f, e.Base, by, r, common)
		if s, ok := e.Stride.(*tir.IntImm); ok && s.Value < unknown && s.Value > -unknown {
			f.rest = f.rest.plus(idRange{0, int64(e.Lanes - 1)}.scaled(s.Value).scaled(by))
		} else {
			f.rest = idRange{-unknown, unknown}
		}
		return
	case *tir.Var:
		if _, known := r[e]; known {
			f.factor[e] += by
			return
		}
	case *tir.Binary:
		a, aConst := e.A.(*tir.IntImm)
		b, bConst := e.B.(*tir.IntImm)
		switch {
		case e.Op == tir.OpAdd:
			y.addTo(f, e.A, by, r, common)
			y.addTo(f, e.B, by, r, common)
			return
		case e.Op == tir.OpSub:
			y.addTo(f, e.A, by, r, common)
			y.addTo(f, e.B, -by, r, common)
			return
		case e.Op == tir.OpMul && bConst && b.Value < 1<<30 && b.Value > -1<<30:
			y.addTo(f, e.A, by*b.Value, r, common)
			return
		case e.Op == tir.OpMul && aConst && a.Value < 1<<30 && a.Value > -1<<30:
			y.addTo(f, e.B, by*a.Value, r, common)
			return
		case (e.Op == tir.OpFloorDiv || e.Op == tir.OpFloorMod) && bConst && b.Value > 0 && !y.isFixed(e, common):
			if bounds := boundsOf(e, r); bounds.known() {
				v := y.partOf(e, b.Value)
				r[v] = bounds
				f.factor[v] += by
				return
			}
		}
	}
	if y.isFixed(e, common) {
		f.fixed = append(f.fixed, idTerm{e, by})
		return
	}
	f.rest = f.rest.plus(boundsOf(e, r).scaled(by))
}

// isFixed reports whether an expression is the same for all threads that are in the same iterations of the common
// loops.
func (y *syncer) isFixed(e tir.Expr, common map[*tir.Var]bool) bool {
	fixed := true
	tir.Walk(e, func(node any) bool {
		switch n := node.(type) {
		case *tir.Var:
			_, thread := y.threads[n]
			fixed = fixed && !thread && !y.opaque[n] && (common[n] || !y.isLoop(n))
		case *tir.BufferLoad, *tir.Call:
			fixed = false
		default:
			fixed = fixed && !tir.Opaque(n)
		}
		return fixed
	})
	return fixed
}

// isLoop reports whether v is the variable of a loop of the kernel.
func (y *syncer) isLoop(v *tir.Var) bool {
	return tir.Contains(y.k.body, func(node any) bool {
		l, ok := node.(*tir.For)
		return ok && l.Var == v
	})
}

// boundsOf returns the range of an expression.
func boundsOf(e tir.Expr, r idRanges) idRange {
	if lo, hi, ok := r.analyzer().Bounds(e); ok {
		return clipped(idRange{lo, hi})
	}
	return idRange{-unknown, unknown}
}

// compare reports whether two indices are never equal, and which thread indices and iterations are equal if they are.
func (y *syncer) compare(p, q idForm, left, right idRanges, common map[*tir.Var]bool) (apart bool, equal []*tir.Var) {
	rest := p.rest.plus(q.rest.scaled(-1))
	fixed := append(slices.Clone(p.fixed), q.fixed...)
	for i := range fixed[len(p.fixed):] {
		fixed[len(p.fixed)+i].factor *= -1
	}
	for i, t := range fixed { // terms that occur on both sides cancel
		sum := t.factor
		for j := i + 1; j < len(fixed); j++ {
			if fixed[j].factor != 0 && compare.EqualFree(t.e, fixed[j].e) {
				sum += fixed[j].factor
				fixed[j].factor = 0
			}
		}
		if sum != 0 {
			rest = rest.plus(boundsOf(t.e, left).scaled(sum))
		}
	}
	type candidate struct {
		v    *tir.Var
		step int64
		most int64 // the greatest difference between two threads
	}
	var steps []candidate
	all := rest
	for v := range merged(p.factor, q.factor) {
		a, b := p.factor[v], q.factor[v]
		l, r := left.of(v, idRange{-unknown, unknown}), right.of(v, idRange{-unknown, unknown})
		if common[v] {
			rest, all = rest.plus(l.scaled(a-b)), all.plus(l.scaled(a-b))
			continue
		}
		both := l.scaled(a).plus(r.scaled(-b))
		all = all.plus(both)
		if a == b && a != 0 {
			steps = append(steps, candidate{v, max(a, -a), max(l.hi-r.lo, r.hi-l.lo)})
			continue
		}
		rest = rest.plus(both)
	}
	if all.known() && (all.lo > 0 || all.hi < 0) {
		return true, nil
	}
	if !rest.known() {
		return false, nil
	}
	slices.SortFunc(steps, func(a, b candidate) int { return int(a.step - b.step) })
	reach := max(rest.hi, -rest.lo) // the range of all smaller terms
	for _, c := range steps {
		if c.step > reach {
			equal = append(equal, c.v)
		} else { // the terms can cancel each other
			equal = nil
		}
		if c.most >= unknown {
			reach = unknown
		} else {
			reach = min(unknown, reach+c.step*max(c.most, 0))
		}
	}
	return false, equal
}

func merged(a, b map[*tir.Var]int64) map[*tir.Var]bool {
	all := map[*tir.Var]bool{}
	for v := range a {
		all[v] = true
	}
	for v := range b {
		all[v] = true
	}
	return all
}
