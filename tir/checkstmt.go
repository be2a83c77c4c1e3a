package tir

import (
	"slices"

	"tvmgo/tir/internal/path"
	"tvmgo/tir/internal/scopes"
)

// threadNames are the indices of threads that a loop may be bound to.
var threadNames = []string{"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
	"vthread", "vthread.x", "vthread.y",
	"vthread.z"}

// body checks the body of a statement or of a function.
func (c *checker) body(s Stmt) { c.under(path.At("body"), s) }

func (c *checker) under(st path.Step, s Stmt) {
	c.push(st)
	c.stmt(s)
	c.pop()
}

// behind checks a statement that is executed on a condition, or never.
func (c *checker) behind(st path.Step, s Stmt) {
	c.guarded++
	c.under(st, s)
	c.guarded--
}

func (c *checker) stmt(s Stmt) {
	if IsNil(s) {
		c.fail("the statement is nil")
		return
	}
	if !IsNode(s) {
		c.fail("%T is no statement", s)
		return
	}
	f, known := c.memo[s]
	switch {
	case known && f.open:
		c.fail("%s contains itself", NodeName(s))
		return
	case known && f.failed, known && (!f.guarded || c.guarded > 0) && c.Holds(f.Stamp), c.stopped():
		return
	case c.depth == scopes.MaxDepth:
		c.fail("nested more than %d deep", scopes.MaxDepth)
		return
	}
	outer, errors := c.Used, len(c.errs)
	c.Used = 0
	c.depth++
	c.memo[s] = checked{open: true}
	if label := StmtLabel(s); label != "" {
		c.push(path.At(label))
		c.stmtParts(s)
		c.pop()
	} else {
		c.stmtParts(s)
	}
	c.depth--
	c.memo[s] = checked{Stamp: c.Stamp(), failed: len(c.errs) > errors, guarded: c.guarded > 0}
	c.Used |= outer
}

func (c *checker) stmtParts(s Stmt) {
	switch s := s.(type) {
	case *BufferStore:
		t, ok := c.element(s.Buffer, s.Indices)
		ok = c.outsideFragments(s.Buffer) && ok
		v, fine := c.part(path.At("value"), s.Value)
		if ok && fine && t != v {
			c.fail("a value of type %s is stored to buffer %s, whose element is of type %s: cast it", v, s.Buffer.Name, t)
		}
	case *For:
		c.loop(s)
	case *While:
		c.condition(s.Cond)
		c.behind(path.At("body"), s.Body)
	case *If:
		c.condition(s.Cond)
		c.behind(path.At("then"), s.Then)
		if s.Else != nil {
			c.behind(path.At("else"), s.Else)
		}
	case *LetStmt:
		t, ok := c.part(path.At("value"), s.Value)
		c.inside()
		c.bindLet(s.Var, t, ok, s)
		c.body(s.Body)
		c.exit()
	case *Assert:
		c.condition(s.Cond)
		if s.Kind == "" {
			c.fail(`the assertion has no kind of error: set one, such as "ValueError" or "TypeError"`)
		}
	case *Alloc:
		c.inside()
		c.push(path.At("buffer"))
		c.bindBuffer(s.Buffer, nil, s)
		c.pop()
		c.body(s.Body)
		c.exit()
	case *AttrStmt:
		c.attr(s)
	case *Seq:
		for i, x := range s.Stmts {
			c.push(path.AtIndex("", i))
			if inner, ok := x.(*Seq); ok && inner != nil {
				c.fail("a Seq contains a Seq: use Sequence, which flattens them")
			} else {
				c.stmt(x)
			}
			c.pop()
		}
	case *Evaluate:
		c.push(path.At("value"))
		c.evaluate(s.Value)
		c.pop()
	default:
		c.described(s)
	}
}

// condition checks the condition of a statement.
func (c *checker) condition(e Expr) {
	c.push(path.At("cond"))
	if t, ok := c.value(e); ok && t != Bool {
		c.fail("condition of type %s: want bool", t)
	}
	c.pop()
}

func (c *checker) loop(s *For) {
	low, okLow := c.part(path.At("min"), s.Min)
	n, okN := c.part(path.At("extent"), s.Extent)
	c.attrs("annotations", s.Annotations, false)
	c.inside()
	c.bindVar(s.Var, s)
	if s.Var != nil {
		t := s.Var.Type
		switch {
		case !IsInt(t) || t.Lanes != 1:
			c.fail("loop over a variable of type %s: want an integer", t)
		case okLow && low != t:
			c.fail("loop over a variable of type %s from a value of type %s: cast it", t, low)
		case okN && n != t:
			c.fail("loop over a variable of type %s with an extent of type %s: cast it", t, n)
		}
	}
	extent, isConst := s.Extent.(*IntImm)
	isConst = isConst && extent != nil
	switch {
	case s.Kind >= numForKinds:
		c.fail("kind %d of loops does not exist", s.Kind)
	case (s.Kind == Vectorized || s.Kind == Unrolled) && okN && !isConst:
		c.fail("the extent of a loop of kind %s is not constant", s.Kind)
	case s.Kind == Vectorized && okN && (extent.Value < 1 || extent.Value > MaxLanes):
		c.fail("a loop of %d iterations cannot be vectorized: want 1 to %d", extent.Value, MaxLanes)
	case s.Kind == ThreadBind && s.Thread == "":
		c.fail("a loop over threads does not name them: set Thread, for example to threadIdx.x")
	case s.Kind == ThreadBind && !slices.Contains(threadNames, s.Thread):
		c.fail("unknown thread %q: want one of %q", s.Thread, threadNames)
	case s.Kind != ThreadBind && s.Thread != "":
		c.fail("thread %q of a loop of kind %s: only loops of kind thread have one", s.Thread, s.Kind)
	}
	if isConst && extent.Value < 1 {
		c.behind(path.At("body"), s.Body) // it is never executed
	} else {
		c.body(s.Body)
	}
	c.exit()
}

// attr checks an attribute; its value may be text.
func (c *checker) attr(s *AttrStmt) {
	if s.Key == "" {
		c.fail("the attribute has no key")
	}
	if s.Key == AttrView {
		c.view(s)
		return
	}
	c.push(path.At("node"))
	switch n := s.Node.(type) {
	case nil:
	case *Var:
		c.variable(n)
	case *Buffer:
		c.buffer(n)
	case *IterVar:
		if n == nil {
			c.fail("the axis is nil")
			break
		}
		c.push(path.At("var"))
		c.variable(n.Var)
		c.pop()
		c.part(path.At("min"), n.Min)
		c.part(path.At("extent"), n.Extent)
		if n.Kind >= numIterKinds {
			c.fail("kind %d of axes does not exist", n.Kind)
		}
	default:
		c.fail("the attribute is of a %T: want a *Var, *Buffer or *IterVar", n)
	}
	c.pop()
	if text, ok := s.Value.(*StringImm); !ok || text == nil {
		c.part(path.At("value"), s.Value)
	}
	c.body(s.Body)
}

// view checks a buffer over memory that exists already.
func (c *checker) view(s *AttrStmt) {
	b := s.ViewBuffer()
	c.inside()
	c.push(path.At("node"))
	if b == nil {
		c.fail("the attribute %q is of a %T: want the *Buffer that it defines", AttrView, s.Node)
	} else {
		c.bindView(b, s)
	}
	c.pop()
	if v, ok := s.Value.(*Var); b != nil && (!ok || v == nil || v != b.Data) {
		c.push(path.At("value"))
		c.fail("the address of buffer %s is not the memory that it is a view of: make it with View", b.Name)
		c.pop()
	}
	c.body(s.Body)
	c.exit()
}
