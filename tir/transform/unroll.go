package transform

import (
	"maps"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
)

// MaxUnrolled is the greatest number of statements of an unrolled loop. A loop that would have more stays a loop.
const MaxUnrolled = 4096

// Unroll unrolls loops of kind unrolled, the innermost first, if the result has at most MaxUnrolled statements;
// others become serial.
//
// Pragmas on a loop, or attributes around statements, apply to their contents until another one replaces them. Under
// auto_unroll_max_step, serial loops of constant extent are unrolled if the result has at most that many statements;
// under auto_unroll_max_extent, if they have at most that many iterations. Under unroll_explicit with 0 or false,
// loops that would be unrolled become serial loops with [AnnotationUnroll]. The keys may have the prefix "pragma_".
func Unroll(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	return mapBodies("unroll", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		u := &unroller{}
		u.m = &tir.Mutator{PreStmt: u.pre}
		return u.m.MutateStmt(f.Body), nil
	})
}

// AnnotationUnroll is the annotation of loops that the C compiler is asked to unroll. Its value is the number of
// iterations.
const AnnotationUnroll = "unroll"

// unrolling contains the settings of pragmas.
type unrolling struct {
	steps, extent int64
	leave         bool // to the C compiler
}

type unroller struct {
	m   *tir.Mutator
	now unrolling
}

// pragma records a pragma; false if the key is not one of these.
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

// loop unrolls a loop whose body is already processed, if it should be; old is the original.
func (u *unroller) loop(old, s *tir.For) tir.Stmt {
	iterations, constant := count(s.Extent)
	asked := s.Kind == tir.Unrolled
	limit := int64(MaxUnrolled)
	auto := false
	if s.Kind == tir.Serial && constant && (u.now.steps > 0 || u.now.extent > 0) {
		auto = u.now.extent > 0 && iterations <= u.now.extent
		if size := statements(s.Body); u.now.steps > 0 && size*iterations <= min(u.now.steps, limit) {
			auto = true
		}
	}
	switch {
	case !asked && !auto:
		if s.Body == old.Body && len(s.Annotations) == len(old.Annotations) {
			return old
		}
		return s
	case u.now.leave && constant && iterations > 1:
		notes := map[string]any{AnnotationUnroll: iterations}
		maps.Copy(notes, s.Annotations)
		s.Kind, s.Annotations = tir.Serial, notes
		return s
	case !constant || iterations > limit || iterations*max(statements(s.Body), 1) > limit:
		s.Kind = tir.Serial
		return s
	}
	low := minOf(s)
	var all []tir.Stmt
	for k := range iterations {
		all = append(all, tir.Copied(s.Body, map[*tir.Var]tir.Expr{s.Var: plus(low, k)}))
	}
	return tir.Sequence(all...)
}

// statements counts the stores, calls and other effects of a statement.
func statements(s tir.Stmt) int64 {
	n := int64(0)
	tir.Walk(s, func(node any) bool {
		switch node.(type) {
		case *tir.Seq, *tir.AttrStmt:
		case tir.Stmt:
			n++
		default:
			return false
		}
		return true
	})
	return n
}
