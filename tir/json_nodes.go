package tir

import "strconv"

func (w *jsonWriter) exprs(all []Expr) {
	w.raw("[")
	for i, e := range all {
		w.comma(i)
		w.expr(e)
	}
	w.raw("]")
}

func (w *jsonWriter) expr(e Expr) {
	if isNil(e) {
		w.fail("an expression is nil")
		return
	}
	switch e := e.(type) {
	case *Var:
		w.raw(`{"var":`)
		w.variable(e)
	case *IntImm:
		w.raw(`{"int":`)
		if e.Type == UInt64 {
			w.raw(strconv.FormatUint(uint64(e.Value), 10))
		} else {
			w.number(e.Value)
		}
		w.field("type")
		w.typ(e.Type)
	case *FloatImm:
		w.raw(`{"float":`)
		w.float(e.Value)
		w.field("type")
		w.typ(e.Type)
	case *StringImm:
		w.raw(`{"text":`)
		w.text(e.Value)
	case *Binary:
		w.raw(`{"op":`)
		w.word(e.Op)
		w.field("a")
		w.expr(e.A)
		w.field("b")
		w.expr(e.B)
	case *Not:
		w.raw(`{"not":`)
		w.expr(e.A)
	case *Select:
		w.raw(`{"select":`)
		w.exprs([]Expr{e.Cond, e.Then, e.Else})
	case *Cast:
		w.raw(`{"cast":`)
		w.expr(e.Value)
		w.field("type")
		w.typ(e.Type)
	case *BufferLoad:
		w.raw(`{"load":`)
		w.bufferRef(e.Buffer)
		w.field("indices")
		w.exprs(e.Indices)
	case *Ramp:
		w.raw(`{"ramp":`)
		w.expr(e.Base)
		w.field("stride")
		w.expr(e.Stride)
		w.field("lanes")
		w.number(int64(e.Lanes))
	case *Broadcast:
		w.raw(`{"broadcast":`)
		w.expr(e.Value)
		w.field("lanes")
		w.number(int64(e.Lanes))
	case *Shuffle:
		w.raw(`{"shuffle":`)
		w.exprs(e.Vectors)
		w.field("indices")
		w.raw("[")
		for i, x := range e.Indices {
			w.comma(i)
			w.number(int64(x))
		}
		w.raw("]")
	case *Let:
		w.raw(`{"let":`)
		w.variable(e.Var)
		w.field("value")
		w.expr(e.Value)
		w.field("in")
		w.expr(e.Body)
	case *Call:
		w.raw(`{"call":`)
		w.text(e.Name)
		w.field("kind")
		w.word(e.Kind)
		w.field("type")
		w.typ(e.Type)
		w.field("args")
		w.exprs(e.Args)
	case *Bad:
		w.fail("an expression could not be made: %w", e.Err)
		return
	default:
		w.fail("a %T is of no finished module: lower it first", e)
		return
	}
	w.raw("}")
}

func (w *jsonWriter) stmt(s Stmt) {
	if isNil(s) {
		w.fail("a statement is nil")
		return
	}
	switch s := s.(type) {
	case *BufferStore:
		w.raw(`{"store":`)
		w.bufferRef(s.Buffer)
		w.field("indices")
		w.exprs(s.Indices)
		w.field("value")
		w.expr(s.Value)
	case *For:
		w.raw(`{"for":`)
		w.variable(s.Var)
		w.field("kind")
		w.word(s.Kind)
		w.field("min")
		w.expr(s.Min)
		w.field("extent")
		w.expr(s.Extent)
		if s.Thread != "" {
			w.field("thread")
			w.text(s.Thread)
		}
		w.attrs(s.Annotations)
		w.body(s.Body)
	case *While:
		w.raw(`{"while":`)
		w.expr(s.Cond)
		w.body(s.Body)
	case *If:
		w.raw(`{"if":`)
		w.expr(s.Cond)
		w.field("then")
		w.stmt(s.Then)
		if !isNil(s.Else) {
			w.field("else")
			w.stmt(s.Else)
		}
	case *LetStmt:
		w.raw(`{"let":`)
		w.variable(s.Var)
		w.field("value")
		w.expr(s.Value)
		w.body(s.Body)
	case *Assert:
		w.raw(`{"assert":`)
		w.expr(s.Cond)
		w.field("kind")
		w.text(s.Kind)
		w.field("message")
		w.text(s.Message)
	case *Alloc:
		w.raw(`{"alloc":`)
		w.bufferRef(s.Buffer)
		w.body(s.Body)
	case *AttrStmt:
		w.raw(`{"attr":`)
		w.text(s.Key)
		w.node(s.Node)
		if !isNil(s.Value) {
			w.field("value")
			w.expr(s.Value)
		}
		w.body(s.Body)
	case *Seq:
		w.raw("[")
		for i, x := range s.Stmts {
			w.comma(i)
			w.stmt(x)
		}
		w.raw("]")
		return
	case *Evaluate:
		w.raw(`{"eval":`)
		w.expr(s.Value)
	default:
		w.fail("a %T is no statement", s)
		return
	}
	w.raw("}")
}

func (w *jsonWriter) body(s Stmt) {
	w.field("body")
	w.stmt(s)
}

// node writes what an attribute speaks of.
func (w *jsonWriter) node(node any) {
	if node == nil {
		return
	}
	w.field("node")
	switch n := node.(type) {
	case *Var:
		w.raw(`{"var":`)
		w.variable(n)
	case *Buffer:
		w.raw(`{"buffer":`)
		w.bufferRef(n)
	case *IterVar:
		if n == nil {
			w.fail("an axis is nil")
			return
		}
		w.raw(`{"iter":`)
		w.variable(n.Var)
		if !isNil(n.Min) || !isNil(n.Extent) {
			w.field("min")
			w.expr(n.Min)
			w.field("extent")
			w.expr(n.Extent)
		}
		w.field("kind")
		w.word(n.Kind)
		if n.Thread != "" {
			w.field("thread")
			w.text(n.Thread)
		}
	default:
		w.fail("an attribute speaks of a %T: want *Var, *Buffer or *IterVar", n)
		return
	}
	w.raw("}")
}
