package transform

import (
	"slices"

	"tvmgo/tir"
)

// lockstep vectorizes the code that depends on a loop's variable.
type lockstep struct {
	v       *tir.Var
	base    tir.Expr // the variable's value in lane 0
	lanes   int
	vars    map[*tir.Var]*tir.Var // variables of lets that have become vectors
	differ  map[tir.Expr]bool
	vectors int // stores of vectors
	failed  bool
	device  bool // a kernel, which gets vectors also where only some lanes of the last one are within bounds
}

func newLockstep(v *tir.Var, base tir.Expr, lanes int, device bool) *lockstep {
	return &lockstep{v: v, base: base, lanes: lanes, device: device, vars: map[*tir.Var]*tir.Var{},
		differ: map[tir.Expr]bool{}}
}

// eachIteration returns a loop over the lanes.
func (z *lockstep) eachIteration(s tir.Stmt) tir.Stmt {
	v := tir.NewVar(z.v.Name, z.v.Type)
	return &tir.For{Var: v, Min: z.base, Extent: sized(v.Type, int64(z.lanes)),
		Body: tir.Copied(s, map[*tir.Var]tir.Expr{z.v: v})}
}

// serial runs a statement iteration by iteration; false if it needs variables that are vectors here.
func (z *lockstep) serial(s tir.Stmt) (tir.Stmt, bool) {
	if len(z.vars) > 0 && contains(s, func(node any) bool { v, ok := node.(*tir.Var); return ok && z.vars[v] != nil }) {
		return nil, false
	}
	return z.eachIteration(s), true
}

// stmt runs a statement for all lanes; false if only a statement around it can be run iteration by iteration.
func (z *lockstep) stmt(s tir.Stmt) (tir.Stmt, bool) {
	r, ok := z.vector(s)
	if !ok {
		return z.serial(s)
	}
	return r, true
}

// value returns an expression for all lanes, as a vector if they differ; false if it cannot be a vector.
func (z *lockstep) value(e tir.Expr) (tir.Expr, bool) {
	z.failed = false
	r := z.expr(e)
	_, isBad := r.(*tir.Bad)
	return r, !z.failed && !isBad
}

// same reports whether all expressions are scalars that are equal in all lanes.
func (z *lockstep) same(all ...tir.Expr) bool {
	return !slices.ContainsFunc(all, z.differs)
}

func (z *lockstep) vector(s tir.Stmt) (tir.Stmt, bool) {
	switch s := s.(type) {
	case *tir.BufferStore:
		return z.store(s)
	case *tir.For:
		if !z.same(s.Min, s.Extent) {
			return nil, false
		}
		before := z.vectors
		body, ok := z.stmt(s.Body)
		n := *s
		n.Body = body
		return &n, ok && z.vectors > before // otherwise it is better inside the loop over the lanes
	case *tir.If:
		return z.branch(s)
	case *tir.LetStmt:
		return z.let(s)
	case *tir.Alloc: // its buffer has an element for each lane
		body, ok := z.stmt(s.Body)
		return &tir.Alloc{Buffer: s.Buffer, Body: body}, ok
	case *tir.AttrStmt:
		if !z.same(s.Value) {
			return nil, false
		}
		body, ok := z.stmt(s.Body)
		return &tir.AttrStmt{Key: s.Key, Node: s.Node, Value: s.Value, Body: body}, ok
	case *tir.Seq:
		var all []tir.Stmt
		for _, x := range s.Stmts {
			r, ok := z.stmt(x)
			if !ok {
				return nil, false
			}
			all = append(all, r)
		}
		return tir.Sequence(all...), true
	}
	return nil, false
}

func (z *lockstep) store(s *tir.BufferStore) (tir.Stmt, bool) {
	d := len(s.Indices) - 1
	if s.Buffer.DType.Lanes != 1 || d >= 0 && !z.same(s.Indices[:d]...) || s.Value.DType().Lanes != 1 {
		return nil, false
	}
	if d < 0 || !z.differs(s.Indices[d]) {
		return s, z.same(s.Value) // one value at one position is stored once
	}
	if z.device {
		if guarded, ok := z.guardedStore(s); ok {
			return guarded, true
		}
	}
	value, ok := z.value(s.Value)
	if !ok {
		return nil, false
	}
	last, ok := z.value(s.Indices[d])
	if !ok {
		return nil, false
	}
	z.vectors++
	return &tir.BufferStore{Buffer: s.Buffer, Value: z.wide(value),
		Indices: append(append([]tir.Expr{}, s.Indices[:d]...), last)}, true
}

// branch handles a condition that is equal in all lanes. Conjuncts that are equal in all lanes are checked first, if
// the order does not matter. Where bounds hold in all lanes, the statement is vectorized.
func (z *lockstep) branch(s *tir.If) (tir.Stmt, bool) {
	if z.same(s.Cond) {
		then, ok := z.stmt(s.Then)
		if !ok || s.Else == nil {
			return &tir.If{Cond: s.Cond, Then: then}, ok
		}
		other, ok := z.stmt(s.Else)
		return &tir.If{Cond: s.Cond, Then: then, Else: other}, ok
	}
	var first, rest tir.Expr
	for _, c := range conjuncts(s.Cond) {
		to := &rest
		if z.same(c) && !mayFail(c) {
			to = &first
		}
		if *to == nil {
			*to = c
		} else {
			*to = tir.And(*to, c)
		}
	}
	if s.Else != nil {
		return nil, false
	}
	then, ok := z.edges(rest, s.Then)
	if first == nil || !ok {
		return then, ok
	}
	return &tir.If{Cond: first, Then: then}, ok
}

// conjuncts returns the operands of a conjunction.
func conjuncts(e tir.Expr) []tir.Expr {
	if b, ok := e.(*tir.Binary); ok && b.Op == tir.OpAnd {
		return append(conjuncts(b.A), conjuncts(b.B)...)
	}
	return []tir.Expr{e}
}

func (z *lockstep) let(s *tir.LetStmt) (tir.Stmt, bool) {
	if !z.differs(s.Value) {
		body, ok := z.stmt(s.Body)
		return &tir.LetStmt{Var: s.Var, Value: s.Value, Body: body}, ok
	}
	value, ok := z.value(s.Value)
	if !ok {
		return nil, false
	}
	if _, line := value.(*tir.Ramp); line { // an index, which is substituted where it is used
		return z.stmt(tir.Copied(s.Body, map[*tir.Var]tir.Expr{s.Var: s.Value}))
	}
	v := z.bind(s.Var)
	defer delete(z.vars, s.Var)
	body, ok := z.stmt(s.Body)
	return &tir.LetStmt{Var: v, Value: z.wide(value), Body: body}, ok
}

// bind creates the vector variable that replaces a variable of a let.
func (z *lockstep) bind(v *tir.Var) *tir.Var {
	n := tir.NewVar(v.Name, tir.Vector(v.Type, z.lanes))
	z.vars[v] = n
	return n
}

// spreadAllocs gives memory inside a loop's body an element for each iteration, as its last dimension; false if it is
// used for more than loads and stores.
func spreadAllocs(s *tir.For, iterations int64) (tir.Stmt, bool) {
	own, addresses, ok := map[*tir.Buffer]*tir.Buffer{}, map[*tir.Var]bool{}, true
	tir.Walk(s.Body, func(node any) bool {
		a, isAlloc := node.(*tir.Alloc)
		if !isAlloc {
			return true
		}
		b := a.Buffer
		ok = ok && b.Strides == nil && b.Offset == nil && b.DType.Lanes == 1
		for _, n := range b.Shape {
			ok = ok && !contains(n, func(node any) bool { return node == any(s.Var) })
		}
		wide := *b
		wide.Shape = append(append([]tir.Expr{}, b.Shape...), sized(s.Var.Type, iterations))
		wide.Data = tir.NewVar(b.Data.Name, b.Data.Type)
		own[b], addresses[b.Data] = &wide, true
		return true
	})
	if len(own) == 0 || !ok {
		return s.Body, ok
	}
	iteration := tir.Expr(s.Var)
	if k, isConst := s.Min.(*tir.IntImm); !isConst || k.Value != 0 {
		iteration = tir.Sub(s.Var, minOf(s))
	}
	at := func(indices []tir.Expr) []tir.Expr { return append(append([]tir.Expr{}, indices...), iteration) }
	m := &tir.Mutator{
		Expr: func(e tir.Expr) tir.Expr {
			switch e := e.(type) {
			case *tir.Var:
				ok = ok && !addresses[e]
			case *tir.BufferLoad:
				if b := own[e.Buffer]; b != nil {
					ok = ok && lanesOfIndices(e.Indices) == 1
					return &tir.BufferLoad{Buffer: b, Indices: at(e.Indices)}
				}
			default:
				_, buffers := tir.Named(e)
				ok = ok && !slices.ContainsFunc(buffers, func(b *tir.Buffer) bool { return own[b] != nil })
			}
			return e
		},
		Stmt: func(s tir.Stmt) tir.Stmt {
			switch s := s.(type) {
			case *tir.BufferStore:
				if b := own[s.Buffer]; b != nil {
					ok = ok && lanesOfIndices(s.Indices) == 1
					return &tir.BufferStore{Buffer: b, Value: s.Value, Indices: at(s.Indices)}
				}
			case *tir.Alloc:
				return &tir.Alloc{Buffer: own[s.Buffer], Body: s.Body}
			case *tir.AttrStmt:
				if b, isBuffer := s.Node.(*tir.Buffer); isBuffer && own[b] != nil {
					return &tir.AttrStmt{Key: s.Key, Node: own[b], Value: s.Value, Body: s.Body}
				}
			}
			return s
		}}
	body := m.MutateStmt(s.Body)
	return body, ok && body != nil
}

func lanesOfIndices(indices []tir.Expr) int {
	if len(indices) == 0 {
		return 1
	}
	return int(indices[len(indices)-1].DType().Lanes)
}
