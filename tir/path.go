package tir

import (
	"fmt"
	"strings"

	"tvmgo/tir/internal/path"
)

// stepTo returns the step from a node to one of its parts: see eachPart. A list of statements has no name in paths.
func stepTo(f *Field, index int) path.Step {
	if f.part == partStmts {
		return path.AtIndex("", index)
	}
	return path.Step{Name: f.Name, Index: index}
}

// partStep returns the step from an expression to one of its parts, as [ExprParts] lists them.
func partStep(e Expr, part int) (s path.Step) {
	n := 0
	eachPart(e, func(f *Field, index int, _ any) {
		if n == part {
			s = stepTo(f, index)
		}
		n++
	})
	return s
}

// StmtLabel returns the label of a statement in paths, such as "for(i)"; "" if paths contain only the statement's
// index.
func StmtLabel(s Stmt) string {
	switch s := s.(type) {
	case *For:
		return "for(" + NameOf(s.Var) + ")"
	case *LetStmt:
		return "let(" + NameOf(s.Var) + ")"
	case *Alloc:
		return "alloc(" + NameOf(s.Buffer) + ")"
	case *AttrStmt:
		return "attr(" + s.Key + ")"
	case *While, *If:
		return TypeOf(s).Key
	}
	return ""
}

// NameOf returns the name of a variable or a buffer; "nil" if it is nil.
func NameOf[T Var | Buffer](what *T) string {
	switch x := any(what).(type) {
	case *Var:
		if x != nil {
			return x.Name
		}
	case *Buffer:
		if x != nil {
			return x.Name
		}
	}
	return "nil"
}

// NodeName returns the name of a node's type: "Binary", "For", ….
func NodeName(node any) string {
	if IsNil(node) {
		return "nil"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", node), "*tir.")
}

// WalkPaths is [Walk] for a function, with the path to each node in the form of [Check], such as
// "body[0].for(i).body.value".
func WalkPaths(f *PrimFunc, visit func(node any, path func() string) bool) {
	if f == nil {
		return
	}
	w := &pathWalker{visit: visit}
	w.in(path.At("body"), f.Body)
}

// pathWalker is the state of a walk: the current path.
type pathWalker struct {
	visit func(node any, path func() string) bool
	path  []path.Step
}

// in walks through a part of the current node.
func (w *pathWalker) in(s path.Step, node any) {
	if IsNil(node) {
		return
	}
	w.path = append(w.path, s)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	if x, ok := node.(Stmt); ok {
		if label := StmtLabel(x); label != "" {
			w.path = append(w.path, path.At(label))
			defer func() { w.path = w.path[:len(w.path)-1] }()
		}
	}
	if !w.visit(node, func() string { return path.Short(w.path) }) {
		return
	}
	eachPart(node, func(f *Field, index int, part any) { w.in(stepTo(f, index), part) })
}
