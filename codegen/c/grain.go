package c

import (
	"fmt"
	"strconv"
	"strings"

	"tvmgo/tir"
)

// grain is the number of steps below which the threads of a launch cost more time than they save: 2^14 additions of
// vectors take about as long as the launch. A call of an intrinsic counts as callSteps.
const (
	grain     = 1 << 14
	callSteps = 16
)

// tasks returns a C expression for the number of tasks of a launch of a loop: 0 for all threads, or 1, which makes the
// launch a call. A loop whose sizes are constant gets all threads, because whoever made it parallel knew them.
func (w *writer) tasks(s *tir.For) string {
	work, ok := w.steps(s)
	if !ok || work.text == "" {
		return "0"
	}
	return fmt.Sprintf("%v < %d.0 ? 1 : 0", work, grain)
}

// estimate is a number that is computed in floating point, so that no product overflows: factor * text, or the factor
// alone.
type estimate struct {
	factor float64
	text   string
}

func (e estimate) String() string {
	f := strconv.FormatFloat(e.factor, 'f', -1, 64)
	if !strings.Contains(f, ".") {
		f += ".0"
	}
	switch {
	case e.text == "":
		return f
	case e.factor == 1:
		return e.text
	}
	return f + " * " + e.text
}

func (e estimate) plus(o estimate) estimate {
	if e == (estimate{}) {
		return o
	}
	if e.text == "" && o.text == "" {
		return estimate{factor: e.factor + o.factor}
	}
	return estimate{1, "(" + e.String() + " + " + o.String() + ")"}
}

func (e estimate) times(o estimate) estimate {
	text := e.text
	if text == "" {
		text = o.text
	} else if o.text != "" {
		text += " * " + o.text
	}
	return estimate{e.factor * o.factor, text}
}

// steps estimates the number of elements that a statement computes. ok is false if that is unknown: then it may be
// large.
func (w *writer) steps(s tir.Stmt) (total estimate, ok bool) {
	switch s := s.(type) {
	case *tir.For:
		n, known := w.count(s.Extent)
		body, ok := w.steps(s.Body)
		return n.times(body), known && ok
	case *tir.Seq:
		for _, part := range s.Stmts {
			n, ok := w.steps(part)
			if !ok {
				return estimate{}, false
			}
			total = total.plus(n)
		}
		return total, true
	case *tir.If:
		total, ok = w.steps(s.Then)
		if s.Else != nil && ok {
			var n estimate
			n, ok = w.steps(s.Else)
			total = total.plus(n)
		}
		return total, ok
	case *tir.LetStmt:
		return w.steps(s.Body)
	case *tir.Alloc:
		return w.steps(s.Body)
	case *tir.AttrStmt:
		return w.steps(s.Body)
	case *tir.BufferStore:
		steps := 1
		ok := !tir.Contains(s, func(n any) bool {
			call, is := n.(*tir.Call)
			if is {
				steps += callSteps
			}
			return is && call.Kind != tir.CallIntrinsic
		})
		return estimate{factor: float64(steps * int(s.Value.DType().Lanes))}, ok
	}
	return estimate{}, false
}

// count estimates the extent of a loop outside of it, from the variables that are known there.
func (w *writer) count(e tir.Expr) (n estimate, ok bool) {
	switch e := e.(type) {
	case *tir.IntImm:
		return estimate{factor: float64(e.Value)}, true
	case *tir.Var:
		name, ok := w.vars[e]
		return estimate{1, "(double)" + name}, ok && e.Type.Lanes == 1
	case *tir.Cast:
		return w.count(e.Value)
	case *tir.Binary:
		a, ok := w.count(e.A)
		if !ok {
			return n, false
		}
		b, ok := w.count(e.B)
		if !ok {
			return n, false
		}
		switch constant := b.text == ""; {
		case e.Op == tir.OpAdd:
			return a.plus(b), true
		case e.Op == tir.OpSub:
			return a.plus(estimate{factor: -1}.times(b)), true
		case e.Op == tir.OpMul:
			return a.times(b), true
		case (e.Op == tir.OpDiv || e.Op == tir.OpFloorDiv) && constant && b.factor > 0:
			return a.times(estimate{factor: 1 / b.factor}), true
		}
	}
	return n, false
}
