package tir

import (
	"fmt"
	"strconv"
	"strings"
)

// maxDepth is how deep nodes may stand within each other for Equal, Hash and Check; deeper ones are most likely endless.
const maxDepth = 200_000

// step is one step of a path from a function to a node within it: a name, or the place in a list.
type step struct {
	name  string
	index int // -1: none
}

func at(name string) step                 { return step{name, -1} }
func atIndex(name string, index int) step { return step{name, index} }

// pathText writes a path: main.body[0].for(i).body.value.a
func pathText(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		if b.Len() > 0 && s.name != "" {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
		if s.index >= 0 {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	return b.String()
}

// pathEnds is how many steps an error says of each end of a long path.
const pathEnds = 16

// shortPath is the path of an error: of a long one the ends, so that the reason behind it is seen.
func shortPath(steps []step) string {
	if len(steps) <= 2*pathEnds+1 {
		return pathText(steps)
	}
	return fmt.Sprintf("%s…(%d more)….%s", pathText(steps[:pathEnds]), len(steps)-2*pathEnds, pathText(steps[len(steps)-pathEnds:]))
}

// partStep is the step from an expression to one of its parts, as [ExprParts] lists them.
func partStep(e Expr, part int) step {
	switch e := e.(type) {
	case *Binary:
		return at([]string{"a", "b"}[part])
	case *Not:
		return at("a")
	case *Select:
		return at([]string{"cond", "then", "else"}[part])
	case *Cast, *Broadcast:
		return at("value")
	case *BufferLoad, *ProducerLoad:
		return atIndex("indices", part)
	case *Ramp:
		return at([]string{"base", "stride"}[part])
	case *Shuffle:
		return atIndex("vectors", part)
	case *Let:
		return at([]string{"value", "body"}[part])
	case *Call:
		return atIndex("args", part)
	case *Reduce:
		if part == len(e.Sources) {
			return at("cond")
		}
		return atIndex("sources", part)
	}
	return atIndex("part", part)
}

// stmtStep is the step into a statement that is not only known by its place.
func stmtStep(s Stmt) (step, bool) {
	switch s := s.(type) {
	case *For:
		return at("for(" + varName(s.Var) + ")"), true
	case *LetStmt:
		return at("let(" + varName(s.Var) + ")"), true
	case *Alloc:
		return at("alloc(" + bufferName(s.Buffer) + ")"), true
	case *AttrStmt:
		return at("attr(" + s.Key + ")"), true
	case *While:
		return at("while"), true
	case *If:
		return at("if"), true
	}
	return step{}, false
}

func varName(v *Var) string {
	if v == nil {
		return "nil"
	}
	return v.Name
}

func bufferName(b *Buffer) string {
	if b == nil {
		return "nil"
	}
	return b.Name
}

// nodeName says what sort of node it is: "Binary", "For", ….
func nodeName(node any) string {
	if isNil(node) {
		return "nil"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", node), "*tir.")
}

// WalkPaths is [Walk] of a function, with the path to each node as [Check] writes it, as in "body[0].for(i).body.value".
func WalkPaths(f *PrimFunc, visit func(node any, path func() string) bool) {
	if f == nil {
		return
	}
	w := &pathWalker{visit: visit}
	w.in(at("body"), f.Body)
}

// pathWalker is where a walk is.
type pathWalker struct {
	visit func(node any, path func() string) bool
	path  []step
}

// in walks through a part of the node that the walk is at.
func (w *pathWalker) in(s step, node any) {
	if isNil(node) {
		return
	}
	w.path = append(w.path, s)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	if x, ok := node.(Stmt); ok {
		if own, some := stmtStep(x); some {
			w.path = append(w.path, own)
			defer func() { w.path = w.path[:len(w.path)-1] }()
		}
	}
	if !w.visit(node, func() string { return shortPath(w.path) }) {
		return
	}
	switch n := node.(type) {
	case Expr:
		for i, part := range ExprParts(n) {
			w.in(partStep(n, i), part)
		}
	case Stmt:
		w.stmt(n)
	}
}

func (w *pathWalker) stmt(s Stmt) {
	switch s := s.(type) {
	case *BufferStore:
		for i, x := range s.Indices {
			w.in(atIndex("indices", i), x)
		}
		w.in(at("value"), s.Value)
	case *For:
		w.in(at("min"), s.Min)
		w.in(at("extent"), s.Extent)
		w.in(at("body"), s.Body)
	case *While:
		w.in(at("cond"), s.Cond)
		w.in(at("body"), s.Body)
	case *If:
		w.in(at("cond"), s.Cond)
		w.in(at("then"), s.Then)
		w.in(at("else"), s.Else)
	case *LetStmt:
		w.in(at("value"), s.Value)
		w.in(at("body"), s.Body)
	case *Assert:
		w.in(at("cond"), s.Cond)
	case *Alloc:
		w.in(at("body"), s.Body)
	case *AttrStmt:
		w.in(at("value"), s.Value)
		w.in(at("body"), s.Body)
	case *Seq:
		for i, x := range s.Stmts {
			w.in(atIndex("", i), x)
		}
	case *Evaluate:
		w.in(at("value"), s.Value)
	}
}
