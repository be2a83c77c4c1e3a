package tir

import "math"

// deeper hashes a node that has parts, and adds it. What was hashed before in the same surroundings is not looked at again.
func (h *hasher) deeper(node any, parts func()) {
	for _, level := range [2]int{-1, len(h.open)} {
		if f, ok := h.memo[hashedAt{node, level}]; ok {
			if f.open {
				h.sum.add(hashEndless)
				return
			}
			if h.holds(f.stamp) {
				h.binds = h.binds || level >= 0
				h.sum.add(uint64(f.sum))
				return
			}
		}
	}
	if h.depth == maxDepth {
		h.sum.add(hashEndless)
		return
	}
	outer, around, binds := h.sum, h.used, h.binds
	h.sum, h.used, h.binds = 0, 0, false
	h.depth++
	being := hashedAt{node, -1}
	h.memo[being] = hashed{open: true}
	parts()
	if h.binds {
		delete(h.memo, being)
		being.level = len(h.open)
	}
	h.memo[being] = hashed{stamp: h.stamp(), sum: h.sum}
	h.depth--
	outer.add(uint64(h.sum))
	h.sum, h.used, h.binds = outer, h.used|around, h.binds || binds
}

func (h *hasher) exprs(all []Expr) {
	h.sum.add(uint64(len(all)))
	for _, e := range all {
		h.expr(e)
	}
}

func (h *hasher) expr(e Expr) {
	if isNil(e) {
		h.sum.add(hashNil)
		return
	}
	if isForeign(e) {
		h.sum.add(hashOther)
		return
	}
	switch e := e.(type) {
	case *Var:
		h.sum.add(hashNodes)
		h.variable(e)
	case *IntImm:
		h.sum.add(hashNodes + 1)
		h.sum.addType(e.Type)
		h.sum.add(uint64(e.Value))
	case *FloatImm:
		h.sum.add(hashNodes + 2)
		h.sum.addType(e.Type)
		h.sum.add(math.Float64bits(e.Value))
	case *StringImm:
		h.sum.add(hashNodes + 3)
		h.sum.addText(e.Value)
	case *Bad:
		h.sum.add(hashNodes + 4)
		h.sum.addText(errorText(e.Err))
	default:
		h.deeper(e, func() { h.exprParts(e) })
	}
}

func (h *hasher) exprParts(e Expr) {
	switch e := e.(type) {
	case *Binary:
		h.sum.add(hashNodes + 5 + uint64(e.Op)<<8)
	case *Not:
		h.sum.add(hashNodes + 6)
	case *Select:
		h.sum.add(hashNodes + 7)
	case *Cast:
		h.sum.add(hashNodes + 8)
		h.sum.addType(e.Type)
	case *BufferLoad:
		h.sum.add(hashNodes + 9)
		h.buffer(e.Buffer)
	case *ProducerLoad:
		h.sum.add(hashNodes + 10)
		if usable(e.Producer) {
			h.sum.addType(e.Producer.ProducerDType())
			h.same(e.Producer)
		}
	case *Ramp:
		h.sum.add(hashNodes + 11 + uint64(e.Lanes)<<8)
	case *Broadcast:
		h.sum.add(hashNodes + 12 + uint64(e.Lanes)<<8)
	case *Shuffle:
		h.sum.add(hashNodes + 13 + uint64(len(e.Indices))<<8)
		for _, i := range e.Indices {
			h.sum.add(uint64(i))
		}
	case *Let:
		h.sum.add(hashNodes + 14)
		h.expr(e.Value)
		h.within(func() {
			h.bindVar(e.Var)
			h.expr(e.Body)
		})
		return
	case *Call:
		h.sum.add(hashNodes + 15 + uint64(e.Kind)<<8)
		h.sum.addText(e.Name)
		h.sum.addType(e.Type)
	case *Reduce:
		h.reduce(e)
		return
	}
	h.exprs(ExprParts(e))
}

func (h *hasher) reduce(e *Reduce) {
	h.sum.add(hashNodes + 16 + uint64(e.Value)<<8)
	if c := e.Combiner; c != nil {
		h.exprs(c.Identity)
		h.within(func() {
			h.sum.add(uint64(len(c.Left)))
			for _, v := range c.Left {
				h.bindVar(v)
			}
			for _, v := range c.Right {
				h.bindVar(v)
			}
			h.exprs(c.Results)
		})
	}
	h.within(func() {
		for _, a := range e.Axes {
			if a == nil {
				h.sum.add(hashNil)
				continue
			}
			h.iterParts(a)
			h.bindVar(a.Var)
		}
		h.exprs(e.Sources)
		h.expr(e.Cond)
	})
}

// iter is where an axis is spoken of.
func (h *hasher) iter(a *IterVar) {
	if a == nil {
		h.sum.add(hashNil)
		return
	}
	h.iterParts(a)
	h.variable(a.Var)
}

func (h *hasher) iterParts(a *IterVar) {
	h.sum.add(uint64(a.Kind))
	h.sum.addText(a.Thread)
	h.expr(a.Min)
	h.expr(a.Extent)
}

func (h *hasher) stmt(s Stmt) {
	if isNil(s) {
		h.sum.add(hashNil)
		return
	}
	if isForeign(s) {
		h.sum.add(hashOther)
		return
	}
	h.deeper(s, func() { h.stmtParts(s) })
}

func (h *hasher) stmtParts(s Stmt) {
	switch s := s.(type) {
	case *BufferStore:
		h.sum.add(hashNodes + 17)
		h.buffer(s.Buffer)
		h.exprs(s.Indices)
		h.expr(s.Value)
	case *For:
		h.sum.add(hashNodes + 18 + uint64(s.Kind)<<8)
		h.sum.addText(s.Thread)
		h.expr(s.Min)
		h.expr(s.Extent)
		h.attrs(s.Annotations)
		h.within(func() {
			h.bindVar(s.Var)
			h.stmt(s.Body)
		})
	case *While:
		h.sum.add(hashNodes + 19)
		h.expr(s.Cond)
		h.stmt(s.Body)
	case *If:
		h.sum.add(hashNodes + 20)
		h.expr(s.Cond)
		h.stmt(s.Then)
		h.stmt(s.Else)
	case *LetStmt:
		h.sum.add(hashNodes + 21)
		h.expr(s.Value)
		h.within(func() {
			h.bindVar(s.Var)
			h.stmt(s.Body)
		})
	case *Assert:
		h.sum.add(hashNodes + 22)
		h.sum.addText(s.Kind)
		h.sum.addText(s.Message)
		h.expr(s.Cond)
	case *Alloc:
		h.sum.add(hashNodes + 23)
		h.within(func() {
			h.bindBuffer(s.Buffer)
			h.stmt(s.Body)
		})
	case *AttrStmt:
		h.sum.add(hashNodes + 24)
		h.sum.addText(s.Key)
		if b := s.view(); b != nil {
			h.within(func() {
				h.bindBuffer(b)
				h.expr(s.Value)
				h.stmt(s.Body)
			})
			return
		}
		switch n := s.Node.(type) {
		case *Var, *Buffer, *IterVar:
			h.any(n)
		default:
			h.sum.add(hashOther)
		}
		h.expr(s.Value)
		h.stmt(s.Body)
	case *Seq:
		h.sum.add(hashNodes + 25 + uint64(len(s.Stmts))<<8)
		for _, x := range s.Stmts {
			h.stmt(x)
		}
	case *Evaluate:
		h.sum.add(hashNodes + 26)
		h.expr(s.Value)
	}
}
