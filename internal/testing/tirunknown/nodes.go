package tirunknown

import (
	"tvmgo/internal/nodehook"
	"tvmgo/tir"
)

// Value is an opaque expression. Its value is A. It calls "value" with A, and with V if that is not nil.
type Value struct {
	tir.Expr
	A tir.Expr
	V *tir.Var `tir:",optional"`
}

// DType is the type of A.
func (e *Value) DType() tir.Type { return typeOf(e.A) }

// Pure is a pure expression: A.
type Pure struct {
	tir.Expr
	A tir.Expr
}

// DType is the type of A.
func (e *Pure) DType() tir.Type { return typeOf(e.A) }

// Sum is a pure expression that binds a variable: Body, with First as the value of Var.
type Sum struct {
	tir.Expr
	Var   *tir.Var `tir:",binds"`
	First tir.Expr
	Body  tir.Expr `tir:",scoped"`
}

// DType is the type of Body.
func (e *Sum) DType() tir.Type { return typeOf(e.Body) }

// Event is an opaque statement. It calls "event" with Note, with V if that is not nil, and with the element At of
// Buffer if that is not nil.
type Event struct {
	tir.Stmt
	Note   tir.Expr
	V      *tir.Var    `tir:",optional"`
	Buffer *tir.Buffer `tir:",optional"`
	At     []tir.Expr  `tir:",optional"`
}

// Block is an opaque statement with bodies. It executes Body Count times, with Var counting from 0 and memory for
// Buffer, and then Rest and Other.
type Block struct {
	tir.Stmt
	Count  tir.Expr
	Var    *tir.Var    `tir:",binds"`
	Buffer *tir.Buffer `tir:",binds"`
	Body   tir.Stmt    `tir:",scoped"`
	Rest   []tir.Stmt  `tir:",optional"`
	Other  tir.Stmt    `tir:",optional"`
}

// Fields is an opaque statement with fields of all Go types that have a text and a JSON form.
type Fields struct {
	tir.Stmt
	Type    tir.Type
	Op      tir.BinaryOp
	Call    tir.CallKind `tir:"callkind"`
	For     tir.ForKind  `tir:"forkind"`
	Text    string       `tir:"name"`
	Int     int          `tir:"whole"`
	List    []int
	Long    int64
	Float   float64        `tir:"number"`
	Attrs   map[string]any `tir:"attrs,optional"`
	Node    any            `tir:",optional"`
	Missing tir.Expr       `tir:",optional"`
}

func typeOf(e tir.Expr) tir.Type {
	if e == nil {
		return tir.Void
	}
	return e.DType()
}

func init() {
	nodehook.Describe("test.value", false, func() any { return &Value{} })
	nodehook.Describe("test.pure", true, func() any { return &Pure{} })
	nodehook.Describe("test.sum", true, func() any { return &Sum{} })
	nodehook.Describe("test.event", false, func() any { return &Event{} })
	nodehook.Describe("test.block", false, func() any { return &Block{} })
	nodehook.Describe("test.fields", false, func() any { return &Fields{} })
}

// Lower replaces the nodes of this package by their meaning.
func Lower(m *tir.IRModule) *tir.IRModule {
	call := func(name string, t tir.Type, args ...tir.Expr) tir.Expr {
		return &tir.Call{Kind: tir.CallPacked, Name: name, Type: t, Args: args}
	}
	by := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		switch e := e.(type) {
		case *Value:
			if e.V != nil {
				return call("value", e.DType(), e.A, e.V)
			}
			return call("value", e.DType(), e.A)
		case *Pure:
			return e.A
		case *Sum:
			return &tir.Let{Var: e.Var, Value: e.First, Body: e.Body}
		}
		return e
	}, Stmt: func(s tir.Stmt) tir.Stmt {
		switch s := s.(type) {
		case *Event:
			args := []tir.Expr{s.Note}
			if s.V != nil {
				args = append(args, s.V)
			}
			if s.Buffer != nil {
				args = append(args, &tir.BufferLoad{Buffer: s.Buffer, Indices: s.At})
			}
			return &tir.Evaluate{Value: call("event", tir.Void, args...)}
		case *Block:
			all := []tir.Stmt{&tir.For{Var: s.Var, Min: tir.I32(0), Extent: s.Count,
				Body: &tir.Alloc{Buffer: s.Buffer, Body: s.Body}}}
			return tir.Sequence(append(append(all, s.Rest...), s.Other)...)
		}
		return s
	}}
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		c := *f
		c.Body = by.MutateStmt(f.Body)
		out.Funcs = append(out.Funcs, &c)
	}
	return out
}
