package transform

import (
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
)

// MaxUnrolled is how many stores, calls and the like a loop is at most when it is written out. One that would be more stays a loop.
const MaxUnrolled = 4096

// Unroll writes out the turns of loops of kind unrolled, of within each other the innermost first, as long as that makes no more than MaxUnrolled
// statements; others become serial.
//
// Pragmas on a loop, or attributes around statements, speak of what is within, until another one says otherwise: under auto_unroll_max_step serial loops
// of constant extent are written out if they make no more than so many statements; auto_unroll_max_extent has those written out that run no more often
// than that. Under unroll_explicit with 0 or false loops that would be written out become serial ones with the annotation unroll, a number of turns, which asks the C compiler for it. A
// prefix "pragma_" of the keys may be there or not.
func Unroll(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	return mapBodies("unroll", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		u := &unroller{}
		u.m = &tir.Mutator{PreStmt: u.pre}
		return u.m.MutateStmt(f.Body), nil
	})
}

// AnnotationUnroll is on loops that the C compiler is asked to write out, so many turns of them.
const AnnotationUnroll = "unroll"

// unrolling is what pragmas say.
type unrolling struct {
	steps, extent int64
	leave         bool // to the C compiler
}

type unroller struct {
	m   *tir.Mutator
	now unrolling
}

// pragma notes what a key says; false if it is none of these.
func (u *unrolling) pragma(key string, value any) bool {
	n, isInt := value.(int64)
	if b, isBool := value.(bool); isBool {
		n, isInt = 0, true
		if b {
			n = 1
		}
	}
	if !isInt {
		return false
	}
	switch strings.TrimPrefix(key, "pragma_") {
	case "auto_unroll_max_step":
		u.steps = n
	case "auto_unroll_max_extent":
		u.extent = n
	case "unroll_explicit":
		u.leave = n == 0
	default:
		return false
	}
	return true
}

func (u *unroller) pre(s tir.Stmt) (tir.Stmt, bool) {
	before := u.now
	defer func() { u.now = before }()
	switch s := s.(type) {
	case *tir.AttrStmt:
		if c, ok := s.Value.(*tir.IntImm); ok && u.now.pragma(s.Key, c.Value) {
			return u.m.MutateStmt(s.Body), true
		}
	case *tir.For:
		rest := map[string]any{}
		for k, v := range s.Annotations {
			if !u.now.pragma(k, v) {
				rest[k] = v
			}
		}
		n := *s
		if len(rest) != len(s.Annotations) {
			n.Annotations = rest
		}
		if n.Body = u.m.MutateStmt(s.Body); n.Body == nil {
			n.Body = &tir.Seq{}
		}
		return u.loop(s, &n), true
	}
	return s, false
}

// loop is what becomes of a loop whose body is done; old is what it was.
func (u *unroller) loop(old, s *tir.For) tir.Stmt {
	turns, constant := count(s.Extent)
	asked := s.Kind == tir.Unrolled
	limit := int64(MaxUnrolled)
	auto := false
	if s.Kind == tir.Serial && constant && (u.now.steps > 0 || u.now.extent > 0) {
		auto = u.now.extent > 0 && turns <= u.now.extent
		if size := statements(s.Body); u.now.steps > 0 && size*turns <= min(u.now.steps, limit) {
			auto = true
		}
	}
	switch {
	case !asked && !auto:
		if s.Body == old.Body && len(s.Annotations) == len(old.Annotations) {
			return old
		}
		return s
	case u.now.leave && constant && turns > 1:
		notes := map[string]any{AnnotationUnroll: turns}
		for k, v := range s.Annotations {
			notes[k] = v
		}
		s.Kind, s.Annotations = tir.Serial, notes
		return s
	case !constant || turns > limit || turns*max(statements(s.Body), 1) > limit:
		s.Kind = tir.Serial
		return s
	}
	low := minOf(s)
	var all []tir.Stmt
	for k := range turns {
		all = append(all, copied(s.Body, map[*tir.Var]tir.Expr{s.Var: plus(low, k)}))
	}
	return tir.Sequence(all...)
}

// statements is how many stores, calls and the like a statement has.
func statements(s tir.Stmt) int64 {
	n := int64(0)
	tir.Walk(s, func(node any) bool {
		switch node.(type) {
		case *tir.BufferStore, *tir.Evaluate, *tir.Assert, *tir.LetStmt, *tir.For, *tir.While, *tir.If, *tir.Alloc:
			n++
		case tir.Expr:
			return false
		}
		return true
	})
	return n
}
