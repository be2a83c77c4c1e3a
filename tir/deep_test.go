package tir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "tvmgo/tir"
)

// counted is an expression that counts how often its type is asked for.
type counted struct {
	Expr
	asked *int
}

func (c counted) DType() Type {
	*c.asked++
	return Int32
}

// Chains of every sort are made in a number of steps that grows with their length, not with its square.
func TestDType_DeepChains(t *testing.T) {
	const links = 5000
	x, a := NewVar("x", Int32), NewBuffer("A", Int32, I32(4))
	for name, link := range map[string]func(Expr) Expr{
		"sum":    func(e Expr) Expr { return Add(e, x) },
		"right":  func(e Expr) Expr { return Sub(x, e) },
		"square": func(e Expr) Expr { return Mul(e, e) },
		"select": func(e Expr) Expr { return NewSelect(LT(x, I32(0)), e, x) },
		"let":    func(e Expr) Expr { return Add(&Let{Var: NewVar("y", Int32), Value: x, Body: e}, x) },
		"load":   func(e Expr) Expr { return &BufferLoad{Buffer: a, Indices: []Expr{e}} },
		"not":    func(e Expr) Expr { return NewCast(Int32, NewNot(NewNot(NE(e, x)))) },
	} {
		asked := 0
		e := Expr(counted{asked: &asked})
		for range links {
			e = link(e)
		}
		require.Equal(t, Int32, e.DType(), name)
		require.Less(t, asked, 12, "%s: the type of what is deepest was asked for again and again", name)
	}
	// without constructors, from the top
	asked := 0
	e := Expr(counted{asked: &asked})
	for range links {
		e = &Binary{Op: OpAdd, A: e, B: x}
	}
	for range 3 {
		require.Equal(t, Int32, e.DType())
	}
	require.Equal(t, 1, asked)
}

// What stands in several places is replaced once, and stands in several places again.
func TestSubstitute_SharedParts(t *testing.T) {
	const levels = 60 // 2^60 paths
	x, y := NewVar("x", Int32), NewVar("y", Int32)
	var e Expr = x
	for range levels {
		e = Add(e, Mul(e, e))
	}
	r := Substitute(e, map[*Var]Expr{x: y})
	nodes := map[any]bool{}
	Walk(r, func(n any) bool {
		if nodes[n] {
			return false
		}
		nodes[n] = true
		require.NotSame(t, x, n)
		return true
	})
	require.Len(t, nodes, 2*levels+1)
	require.Same(t, e, Substitute(e, map[*Var]Expr{y: x}), "nothing to replace")

	steps := 0
	m := &Mutator{Memo: map[Expr]Expr{}, Expr: func(e Expr) Expr { steps++; return e }}
	require.Same(t, e, m.MutateExpr(e))
	require.Equal(t, 2*levels+1, steps)
}
