package tvmjson

import (
	"tvmgo/tir"
)

// frame is a statement, with the statements around it.
type frame struct {
	up    *frame
	depth int
	s     tir.Stmt
	owns  []*tir.Buffer // which are allocated around it
}

// placer finds the smallest statement around all accesses to buffers.
type placer struct {
	lowest map[*tir.Buffer]*frame
	data   map[*tir.Var]*tir.Buffer
	frames map[tir.Stmt]*frame
	uses   map[*tir.Buffer][]use
	whole  map[*tir.Buffer]bool // whose address is used
}

// place allocates buffers in the smallest statements of s around all their accesses, with the size that they need
// there. Buffers without accesses are not allocated.
func (r *reader) place(s tir.Stmt, buffers []*tir.Buffer) tir.Stmt {
	if len(buffers) == 0 {
		return s
	}
	p, sites := r.sites(s, buffers)
	if smaller := p.compact(s, buffers, sites, r.threads); smaller != s {
		s = smaller
		p, sites = r.sites(s, buffers)
	}
	for _, b := range buffers {
		if at := sites[b]; at != nil {
			at.owns = append(at.owns, b)
		}
	}
	return p.rebuild(s)
}

// sites finds the statements around which buffers are allocated; nil for those without accesses.
func (r *reader) sites(s tir.Stmt, buffers []*tir.Buffer) (*placer, map[*tir.Buffer]*frame) {
	p := &placer{lowest: map[*tir.Buffer]*frame{}, data: map[*tir.Var]*tir.Buffer{}, frames: map[tir.Stmt]*frame{},
		uses: map[*tir.Buffer][]use{}, whole: map[*tir.Buffer]bool{}}
	for _, b := range buffers {
		p.lowest[b] = nil
		p.data[b.Data] = b
	}
	p.visit(s, nil)
	sites := map[*tir.Buffer]*frame{}
	for _, b := range buffers {
		at := p.lowest[b]
		for f := at; f != nil; f = f.up {
			if loop, ok := f.s.(*tir.For); ok && loop.Kind != tir.ThreadBind && r.carried[b][loop.Var] {
				at = f
			}
		}
		sites[b] = at
	}
	return p, sites
}

// visit notes the accesses in a statement.
func (p *placer) visit(s tir.Stmt, up *frame) {
	f := &frame{up: up, s: s}
	if up != nil {
		f.depth = up.depth + 1
	}
	p.frames[s] = f
	if st, ok := s.(*tir.BufferStore); ok {
		p.accessed(st.Buffer, f)
		p.uses[st.Buffer] = append(p.uses[st.Buffer], use{st.Indices, f})
	}
	if a, ok := s.(*tir.AttrStmt); ok {
		if b, ok := a.Node.(*tir.Buffer); ok {
			p.accessed(b, f)
			p.whole[b] = true
		}
	}
	exprs, stmts := tir.Parts(s)
	for _, e := range exprs {
		tir.Walk(e, func(x any) bool {
			switch x := x.(type) {
			case *tir.BufferLoad:
				p.accessed(x.Buffer, f)
				p.uses[x.Buffer] = append(p.uses[x.Buffer], use{x.Indices, f})
			case *tir.Call:
				if load, ok := firstLoad(x); ok && x.Name == "address_of" {
					p.whole[load.Buffer] = true
				}
			case *tir.Var:
				if b := p.data[x]; b != nil {
					p.accessed(b, f)
					p.whole[b] = true
				}
			}
			return true
		})
	}
	for _, part := range stmts {
		p.visit(part, f)
	}
}

func firstLoad(c *tir.Call) (*tir.BufferLoad, bool) {
	if len(c.Args) == 0 {
		return nil, false
	}
	load, ok := c.Args[0].(*tir.BufferLoad)
	return load, ok
}

// accessed moves the place of a buffer to the smallest statement that also has the access in f.
func (p *placer) accessed(b *tir.Buffer, f *frame) {
	old, ours := p.lowest[b]
	if !ours {
		if b = p.data[b.Data]; b == nil { // a view
			return
		}
		p.whole[b] = true
		old = p.lowest[b]
	}
	if old == nil {
		p.lowest[b] = f
		return
	}
	for old != f {
		if old.depth < f.depth {
			f = f.up
		} else {
			old = old.up
		}
	}
	p.lowest[b] = f
}

// rebuild returns a statement with the allocations around it and in it.
func (p *placer) rebuild(s tir.Stmt) tir.Stmt {
	m := &tir.Mutator{}
	m.PreStmt = func(s tir.Stmt) (tir.Stmt, bool) {
		f := p.frames[s]
		if f == nil || len(f.owns) == 0 {
			return s, false
		}
		own := f.owns
		f.owns = nil
		out := m.MutateStmt(s)
		for i := len(own) - 1; i >= 0; i-- {
			out = &tir.Alloc{Buffer: own[i], Body: out}
		}
		return out, true
	}
	return m.MutateStmt(s)
}
