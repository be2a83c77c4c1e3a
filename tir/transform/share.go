package transform

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/layout"
)

// slot is the memory of one allocation, and the buffers that share it one after the other.
type slot struct {
	host    *life
	members []*life // including the host
	bytes   int64   // unknownBytes: that of the host
	storage *tir.Buffer
}

// share lets allocations of a body use the memory of earlier ones. That memory grows if a later buffer is larger,
// unless this would increase the memory that is allocated at the same time.
func (r *reuser) share(s tir.Stmt, at standing) tir.Stmt {
	shared := r.shareAs(s, at, true)
	if shared != s && needsMore(shared, s) {
		return r.shareAs(s, at, false)
	}
	return shared
}

// needsMore reports whether a statement has a larger peak of allocated memory than another one.
func needsMore(s, than tir.Stmt) bool {
	return peak(s, 0) > peak(than, 0) || peak(s, unknownBytes) > peak(than, unknownBytes)
}

func (r *reuser) shareAs(s tir.Stmt, at standing, grow bool) tir.Stmt {
	b := livesOf(s)
	var slots []*slot
	changed := false
	for _, l := range b.lives {
		l.last = min(l.last, l.end)
		if l.first > l.last && !l.own {
			l.removed, changed = true, true
			continue
		}
		if l.own {
			continue
		}
		var best *slot
		for _, x := range slots {
			if (grow || l.bytes <= x.bytes) && r.fits(b, x, l, at) && (best == nil || better(x, best, l)) {
				best = x
			}
		}
		if best == nil {
			l.slot = &slot{host: l, bytes: l.bytes}
			slots = append(slots, l.slot)
		} else {
			l.slot, changed = best, true
			if at.kernel && best.host.buffer.StorageScope() != "local" && !b.synced(best, l, at) {
				b.separate(best, l)
			}
			best.bytes = max(best.bytes, l.bytes)
		}
		l.slot.members = append(l.slot.members, l)
	}
	if !changed {
		return s
	}
	for _, x := range slots {
		x.settle()
	}
	return realize(s, b)
}

// fits reports whether a buffer may share the memory of a slot.
func (r *reuser) fits(b *bodyLives, x *slot, l *life, at standing) bool {
	host := x.host.buffer
	if x.host.end < l.first || host.StorageScope() != l.buffer.StorageScope() { // it ends earlier, or has another scope
		return false
	}
	for _, other := range x.members {
		if !livesApart(other, l) {
			return false
		}
	}
	scope := host.StorageScope()
	one := host.DType == l.buffer.DType
	if !one && (scope == "local" || host.DType.Bits < 8 || l.buffer.DType.Bits < 8) {
		return false
	}
	if r.fixed && scarce(scope) && host.DType.Bits != l.buffer.DType.Bits {
		return false
	}
	if at.kernel && scope != "local" && !b.synced(x, l, at) && !b.separable(x, l, at) {
		return false
	}
	mine := l.bytes
	if mine == unknownBytes || x.host.bytes == unknownBytes {
		return r.noLarger(l.buffer, host)
	}
	small := mine <= smallBytes
	return scarce(scope) || small == (x.bytes <= smallBytes) && !(small && r.apart)
}

// synced reports whether there are barriers between the life of a buffer and those of the buffers that share the memory
// before and after it.
func (b *bodyLives) synced(x *slot, l *life, at standing) bool {
	all := append(slices.Clone(x.members), l)
	slices.SortFunc(all, func(p, q *life) int { return p.first - q.first })
	for i := 1; i < len(all); i++ {
		if !b.waits(all[i-1].last, all[i].first) {
			return false
		}
	}
	return !at.loop || b.waits(all[len(all)-1].last, b.now+1) || b.waits(0, all[0].first)
}

// largeShared is the size in bytes from which buffers share memory at the cost of a barrier, outside of loops.
const largeShared = 4096

// separable reports whether barriers between the lives of large buffers in shared memory may be added: all threads of
// a block execute the statements of the body, once.
func (b *bodyLives) separable(x *slot, l *life, at standing) bool {
	if at.loop || at.branch || !scarce(x.host.buffer.StorageScope()) || l.bytes == unknownBytes ||
		x.bytes == unknownBytes || min(l.bytes, x.bytes) < largeShared {
		return false
	}
	for _, m := range append(slices.Clone(x.members), l) {
		if s := b.events[m.first-1]; tir.Opaque(s) {
			return false
		}
	}
	return true
}

// separate adds the missing barriers between the lives of a buffer and of those that share the memory.
func (b *bodyLives) separate(x *slot, l *life) {
	all := append(slices.Clone(x.members), l)
	slices.SortFunc(all, func(p, q *life) int { return p.first - q.first })
	for i := 1; i < len(all); i++ {
		if !b.waits(all[i-1].last, all[i].first) {
			if b.before == nil {
				b.before = map[tir.Stmt]bool{}
			}
			b.before[b.events[all[i].first-1]] = true
		}
	}
}

// noLarger reports whether a buffer without a constant size certainly needs no more memory than another one.
func (r *reuser) noLarger(x, than *tir.Buffer) bool {
	p, err := layout.Size(x)
	q, err2 := layout.Size(than)
	if err != nil || err2 != nil {
		return false
	}
	width := func(b *tir.Buffer) tir.Expr { return tir.I64(int64(b.DType.Bits) * int64(b.DType.Lanes)) }
	if bytesOf(x) != unknownBytes {
		return false // nothing is known about the other one
	}
	if compare.Equal(r.a.Simplify(p), r.a.Simplify(q)) {
		return int64(x.DType.Bits)*int64(x.DType.Lanes) <= int64(than.DType.Bits)*int64(than.DType.Lanes)
	}
	holds := false
	r.a.Scope(func() {
		for _, n := range append(slices.Clone(x.Shape), than.Shape...) {
			if v, ok := n.(*tir.Var); ok { // otherwise the buffer is empty
				r.a.Bind(v, tir.IntConst(v.Type, 0), tir.IntConst(v.Type, 1<<31-1))
			}
		}
		holds = r.a.Prove(tir.LE(layout.Product(p, width(x)), layout.Product(q, width(than))))
	})
	return holds
}

// better reports whether the size of a slot suits a buffer better than that of another slot.
func better(x, than *slot, l *life) bool {
	need := l.bytes
	if (x.bytes >= need) != (than.bytes >= need) {
		return x.bytes >= need
	}
	if x.bytes >= need {
		return x.bytes < than.bytes
	}
	return x.bytes > than.bytes
}

// settle creates the memory of a slot, and the views of its members.
func (x *slot) settle() {
	if len(x.members) == 1 {
		return
	}
	h := x.host.buffer
	alignment := 0
	for _, l := range x.members {
		alignment = max(alignment, l.buffer.Alignment, int(l.buffer.DType.Bits)/8*int(l.buffer.DType.Lanes))
	}
	natural := max(h.Alignment, int(h.DType.Bits)/8*int(h.DType.Lanes))
	layout := h
	for _, l := range x.members {
		if bytesOf(l.buffer) > bytesOf(layout) {
			layout = l.buffer
		}
	}
	if x.storage = h; layout != h || alignment > natural {
		storage := *layout
		storage.Name, storage.Data, storage.Alignment = h.Name, h.Data, h.Alignment
		if alignment > max(h.Alignment, int(layout.DType.Bits)/8*int(layout.DType.Lanes)) {
			storage.Alignment = powerOfTwo(alignment)
		}
		x.storage = &storage
	}
	for _, l := range x.members {
		if sameLayout(l.buffer, x.storage) {
			l.view = x.storage
			continue
		}
		view := *l.buffer
		view.Data = x.storage.Data
		l.view = &view
	}
}

// powerOfTwo returns the least power of two that is not less than n.
func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// sameLayout reports whether two buffers have the same elements at the same indices.
func sameLayout(x, y *tir.Buffer) bool {
	if x.DType != y.DType || len(x.Shape) != len(y.Shape) || len(x.Strides) != len(y.Strides) {
		return false
	}
	for d := range x.Shape {
		if !compare.Equal(x.Shape[d], y.Shape[d]) || x.Strides != nil && !compare.Equal(x.Strides[d], y.Strides[d]) {
			return false
		}
	}
	return true
}

// realize rewrites the body with the shared memory.
func realize(s tir.Stmt, b *bodyLives) tir.Stmt {
	buffers, vars, lives := map[*tir.Buffer]*tir.Buffer{}, map[*tir.Var]*tir.Var{}, map[*tir.Alloc]*life{}
	for _, l := range b.lives {
		lives[l.node] = l
		if l.view != nil && l.view != l.buffer {
			buffers[l.buffer] = l.view
			vars[l.buffer.Data] = l.view.Data
		}
	}
	m := &tir.Mutator{}
	m.Expr = func(e tir.Expr) tir.Expr {
		switch e := e.(type) {
		case *tir.Var:
			if v := vars[e]; v != nil {
				return v
			}
		case *tir.BufferLoad:
			if x := buffers[e.Buffer]; x != nil {
				return &tir.BufferLoad{Buffer: x, Indices: e.Indices}
			}
		}
		return e
	}
	m.Stmt = func(s tir.Stmt) tir.Stmt {
		switch w := s.(type) {
		case *tir.BufferStore:
			if x := buffers[w.Buffer]; x != nil {
				return &tir.BufferStore{Buffer: x, Value: w.Value, Indices: w.Indices}
			}
		case *tir.AttrStmt:
			if old, ok := w.Node.(*tir.Buffer); ok && w.Key == AnnotationAsync && buffers[old] != nil {
				return &tir.AttrStmt{Key: w.Key, Node: buffers[old], Value: w.Value, Body: w.Body}
			}
		}
		return s
	}
	m.PreStmt = func(s tir.Stmt) (tir.Stmt, bool) {
		if b.before[s] {
			delete(b.before, s)
			return tir.Sequence(syncStmt(), m.MutateStmt(s)), true
		}
		a, ok := s.(*tir.Alloc)
		l := lives[a]
		if !ok || l == nil || !l.removed && (l.slot == nil || l.slot.storage == nil) {
			return nil, false
		}
		inner := m.MutateStmt(a.Body)
		if inner == nil || l.removed {
			return inner, true
		}
		if l.view != l.slot.storage {
			inner = tir.View(l.view, inner)
		}
		if l.slot.host == l {
			return &tir.Alloc{Buffer: l.slot.storage, Body: inner}, true
		}
		return inner, true
	}
	if s = m.MutateStmt(s); s == nil {
		return &tir.Seq{}
	}
	return s
}
