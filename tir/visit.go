package tir

// Walk visits an expression or a statement and all that is within, each before its parts, in the order in which they are run or
// computed. Where visit answers false, the parts are left out. A node that stands in several places is visited in each. nil is not
// visited.
//
// Variables are visited where they are used, not where they are bound. Of reductions the sources and the condition are visited, the combiner
// and the axes are not; of buffers neither the shape nor the address.
func Walk(node any, visit func(node any) bool) {
	w := walker{visit}
	switch n := node.(type) {
	case Expr:
		w.expr(n)
	case Stmt:
		w.stmt(n)
	case *PrimFunc:
		if n != nil {
			w.stmt(n.Body)
		}
	case *IRModule:
		if n != nil {
			for _, f := range n.Funcs {
				if f != nil {
					w.stmt(f.Body)
				}
			}
		}
	}
}

type walker struct{ visit func(any) bool }

func (w walker) exprs(all []Expr) {
	for _, e := range all {
		w.expr(e)
	}
}

func (w walker) expr(e Expr) {
	if isNil(e) || !w.visit(e) {
		return
	}
	w.exprs(ExprParts(e))
}

func (w walker) stmt(s Stmt) {
	if isNil(s) || !w.visit(s) {
		return
	}
	switch s := s.(type) {
	case *BufferStore:
		w.exprs(s.Indices)
		w.expr(s.Value)
	case *For:
		w.expr(s.Min)
		w.expr(s.Extent)
		w.stmt(s.Body)
	case *While:
		w.expr(s.Cond)
		w.stmt(s.Body)
	case *If:
		w.expr(s.Cond)
		w.stmt(s.Then)
		w.stmt(s.Else)
	case *LetStmt:
		w.expr(s.Value)
		w.stmt(s.Body)
	case *Assert:
		w.expr(s.Cond)
	case *Alloc:
		w.stmt(s.Body)
	case *AttrStmt:
		w.expr(s.Value)
		w.stmt(s.Body)
	case *Seq:
		for _, x := range s.Stmts {
			w.stmt(x)
		}
	case *Evaluate:
		w.expr(s.Value)
	}
}

// ExprParts are the expressions that an expression is made of, in the order in which they are computed.
func ExprParts(e Expr) []Expr {
	switch e := e.(type) {
	case *Binary:
		return []Expr{e.A, e.B}
	case *Not:
		return []Expr{e.A}
	case *Select:
		return []Expr{e.Cond, e.Then, e.Else}
	case *Cast:
		return []Expr{e.Value}
	case *BufferLoad:
		return e.Indices
	case *ProducerLoad:
		return e.Indices
	case *Ramp:
		return []Expr{e.Base, e.Stride}
	case *Broadcast:
		return []Expr{e.Value}
	case *Shuffle:
		return e.Vectors
	case *Let:
		return []Expr{e.Value, e.Body}
	case *Call:
		return e.Args
	case *Reduce:
		if e.Cond == nil {
			return e.Sources
		}
		return append(append([]Expr{}, e.Sources...), e.Cond)
	}
	return nil
}

// isForeign says whether an expression or a statement is none of this package, by embedding one. What has no comparison may be
// among them, so that they are no keys of maps.
func isForeign(node any) bool {
	switch node.(type) {
	case *Var, *IntImm, *FloatImm, *StringImm, *Binary, *Not, *Select, *Cast, *BufferLoad, *ProducerLoad, *Ramp, *Broadcast, *Shuffle, *Let, *Call,
		*Reduce, *Bad, *BufferStore, *For, *While, *If, *LetStmt, *Assert, *Alloc, *AttrStmt, *Seq, *Evaluate, nil:
		return false
	}
	return true
}

// isNil tells nil pointers within an interface, too.
func isNil(node any) bool {
	switch n := node.(type) {
	case nil:
		return true
	case *Var:
		return n == nil
	case *IntImm:
		return n == nil
	case *FloatImm:
		return n == nil
	case *StringImm:
		return n == nil
	case *Binary:
		return n == nil
	case *Not:
		return n == nil
	case *Select:
		return n == nil
	case *Cast:
		return n == nil
	case *BufferLoad:
		return n == nil
	case *ProducerLoad:
		return n == nil
	case *Ramp:
		return n == nil
	case *Broadcast:
		return n == nil
	case *Shuffle:
		return n == nil
	case *Let:
		return n == nil
	case *Call:
		return n == nil
	case *Reduce:
		return n == nil
	case *Bad:
		return n == nil
	case *BufferStore:
		return n == nil
	case *For:
		return n == nil
	case *While:
		return n == nil
	case *If:
		return n == nil
	case *LetStmt:
		return n == nil
	case *Assert:
		return n == nil
	case *Alloc:
		return n == nil
	case *AttrStmt:
		return n == nil
	case *Seq:
		return n == nil
	case *Evaluate:
		return n == nil
	}
	return false
}
