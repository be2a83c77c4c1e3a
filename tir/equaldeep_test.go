package tir

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests of size have no clock: what takes time beyond reason does not end.

// nested is x + 1 + 1 …, so many times, or 1 + (1 + …(1 + x)).
func nested(x Expr, depth int, left bool) Expr {
	e := x
	for range depth {
		if left {
			e = &Binary{Op: OpAdd, A: e, B: I32(1)}
		} else {
			e = &Binary{Op: OpAdd, A: I32(1), B: e}
		}
	}
	return e
}

func TestEqual_Deep(t *testing.T) {
	x, y := NewVar("x", Int32), NewVar("y", Int32)
	for _, left := range []bool{true, false} {
		a, b := nested(x, 100_000, left), nested(x, 100_000, left)
		require.True(t, Equal(a, b))
		require.Equal(t, Hash(a), Hash(b))
		b = nested(y, 100_000, left)
		require.False(t, Equal(a, b))
		require.True(t, EqualFree(a, b))
		step := map[bool]string{true: ".a", false: ".b"}[left]
		end := strings.Repeat(step, pathEnds)[1:]
		require.Equal(t, fmt.Sprintf("%s…(%d more)….%s: variable x is not variable y", end, 100_000-2*pathEnds, end), Difference(a, b))
	}
	deeper := nested(x, maxDepth+1, true)
	require.False(t, Equal(deeper, deeper))
	require.Contains(t, Difference(deeper, deeper), "nested more than 200000 deep: not compared")
	require.Equal(t, Hash(deeper), Hash(deeper))
}

func TestEqual_SharedNodes(t *testing.T) {
	x, y := NewVar("x", Int32), NewVar("y", Int32)
	double := func(e Expr) Expr {
		for range 100 {
			e = &Binary{Op: OpAdd, A: e, B: e}
		}
		return e
	}
	require.True(t, Equal(double(x), double(x)))
	require.False(t, Equal(double(x), double(y)))
	require.Equal(t, Hash(double(x)), Hash(double(x)))

	// A shared node is what as many nodes are.
	few := func(share bool) Expr {
		e := Expr(x)
		for range 8 {
			one, other := e, e
			if !share {
				other = (&Mutator{Expr: func(e Expr) Expr {
					if b, ok := e.(*Binary); ok {
						return &Binary{Op: b.Op, A: b.A, B: b.B}
					}
					return e
				}}).MutateExpr(e)
			}
			v := NewVar("v", Int32)
			e = &Let{Var: v, Value: I32(1), Body: &Binary{Op: OpSub, A: &Binary{Op: OpAdd, A: one, B: v}, B: other}}
		}
		return e
	}
	require.True(t, Equal(few(true), few(false)))
	require.Equal(t, Hash(few(true)), Hash(few(false)))
}

// lets nests lets whose value and body are one node: it stands under ever more binders.
func letsShared(depth int) Expr {
	e := Expr(I32(1))
	for range depth {
		e = &Let{Var: NewVar("v", Int32), Value: e, Body: e}
	}
	return e
}

func TestEqual_SharedNodesUnderBinders(t *testing.T) {
	require.True(t, Equal(letsShared(100), letsShared(100)))
	require.Equal(t, Hash(letsShared(100)), Hash(letsShared(100)))
	require.False(t, Equal(letsShared(100), letsShared(101)))

	loops := func() Stmt {
		s := Stmt(&Evaluate{I32(0)})
		for range 60 {
			i, j := NewVar("i", Int32), NewVar("j", Int32)
			s = Sequence(&For{Var: i, Min: I32(0), Extent: I32(2), Body: &If{GT(i, I32(0)), s, nil}},
				&For{Var: j, Min: I32(0), Extent: I32(3), Body: &If{GT(j, I32(0)), s, nil}})
		}
		return s
	}
	a, b := loops(), loops()
	require.True(t, Equal(a, b))
	require.Equal(t, Hash(a), Hash(b))
}

// What was found of a shared node inside of a scope says nothing of it outside.
func TestEqual_SharedNodeLeavesScope(t *testing.T) {
	i, j := NewVar("i", Int32), NewVar("j", Int32)
	use := func(v *Var) (Stmt, Stmt) {
		e := &Evaluate{&Binary{Op: OpAdd, A: v, B: I32(1)}}
		return &For{Var: v, Min: I32(0), Extent: I32(2), Body: e}, e
	}
	inI, outI := use(i)
	inJ, outJ := use(j)
	require.True(t, Equal(inI, inJ))
	require.False(t, Equal(Sequence(inI, outI), Sequence(inJ, outJ)))
	require.False(t, Equal(Sequence(outI, inI), Sequence(outJ, inJ)))
	require.True(t, EqualFree(Sequence(outI, inI), Sequence(outJ, inJ)))
	require.True(t, Equal(Sequence(inI, outI), Sequence(inJ, outI)))
	k := NewVar("k", Int32)
	shadow := func(outer, inner *Var) Stmt {
		body, e := use(inner)
		return &For{Var: outer, Min: I32(0), Extent: I32(2), Body: Sequence(e, body, e)}
	}
	require.True(t, Equal(shadow(i, i), shadow(j, j)), "a loop in a loop of the same variable")
	require.False(t, Equal(shadow(i, i), shadow(j, k)))
	require.Equal(t, Hash(shadow(i, i)), Hash(shadow(j, j)))
}

// What holds a shared node depends on what that depends on, also where it was found before.
func TestEqual_AroundSharedNodeLeavesScope(t *testing.T) {
	program := func(v, after *Var) Stmt {
		e := &Binary{Op: OpAdd, A: v, B: I32(1)}
		around := &Binary{Op: OpMul, A: e, B: I32(2)}
		loop := &For{Var: v, Min: I32(0), Extent: I32(2), Body: Sequence(&Evaluate{e}, &Evaluate{around})}
		if v == after {
			return Sequence(loop, &Evaluate{around})
		}
		return Sequence(loop, &Evaluate{&Binary{Op: OpMul, A: &Binary{Op: OpAdd, A: after, B: I32(1)}, B: I32(2)}})
	}
	i, j := NewVar("i", Int32), NewVar("j", Int32)
	require.False(t, Equal(program(i, i), program(j, j)))
	require.True(t, EqualFree(program(i, i), program(j, j)))
	k := NewVar("k", Int32)
	require.True(t, EqualFree(program(i, i), program(j, k)), "after the loop it comes from outside, whatever it was within")
	require.Equal(t, Hash(program(i, i)), Hash(program(j, k)))
	err := CheckFunc(&PrimFunc{Name: "f", Result: Void, Body: program(i, i)})
	require.EqualError(t, err, "tir: check f.body[1].value.a.a: variable i is used outside of its scope")
}

// The hash of a node with binders within is that of its place, also where the node stands in several.
func TestHash_SharedBindersAtTwoDepths(t *testing.T) {
	inner := func() Expr {
		u := NewVar("u", Int32)
		return &Let{Var: u, Value: I32(1), Body: &Binary{Op: OpAdd, A: u, B: I32(1)}}
	}
	v, w, e := NewVar("v", Int32), NewVar("w", Int32), inner()
	shared, copied := &Let{Var: v, Value: e, Body: &Binary{Op: OpAdd, A: e, B: v}}, &Let{Var: w, Value: inner(), Body: &Binary{Op: OpAdd, A: inner(), B: w}}
	require.True(t, Equal(shared, copied))
	require.Equal(t, Hash(shared), Hash(copied))

	around := func(e func() Expr) func() Expr { return func() Expr { return &Not{A: e()} } }
	program := func(e, around func() Expr) Expr {
		return &Binary{Op: OpAdd, A: &Binary{Op: OpAdd, A: e(), B: around()}, B: &Let{Var: NewVar("v", Int32), Value: I32(1), Body: around()}}
	}
	p := around(func() Expr { return e })()
	require.Equal(t, Hash(program(func() Expr { return e }, func() Expr { return p })), Hash(program(inner, around(inner))))
}

// A variable that is bound again within its scope is the inner one there, in shared nodes, too.
func TestEqual_Shadowing(t *testing.T) {
	x, y, z := NewVar("x", Int32), NewVar("y", Int32), NewVar("z", Int32)
	let := func(v *Var, body Expr) Expr { return &Let{Var: v, Value: I32(1), Body: body} }
	require.False(t, Equal(let(x, let(y, x)), let(z, let(z, z))), "the outer one is out of reach")
	require.True(t, Equal(let(x, let(y, y)), let(z, let(z, z))))
	require.Equal(t, Hash(let(x, let(y, y))), Hash(let(z, let(z, z))))
	require.NotEqual(t, Hash(let(x, let(y, x))), Hash(let(z, let(z, z))))

	twice := func(outer, inner *Var) Expr { // of one node, that uses the outer variable
		e := &Binary{Op: OpAdd, A: outer, B: I32(1)}
		return let(outer, &Binary{Op: OpMul, A: &Binary{Op: OpSub, A: e, B: let(inner, e)}, B: e})
	}
	require.False(t, Equal(twice(x, x), twice(y, z)))
	require.False(t, Equal(twice(y, z), twice(x, x)))
	require.True(t, Equal(twice(x, x), twice(y, y)))
	require.Equal(t, Hash(twice(x, x)), Hash(twice(y, y)))
	require.NotEqual(t, Hash(twice(x, x)), Hash(twice(y, z)))
}

// Graphs that contain themselves are no programs; nothing hangs over them.
func TestEqual_Endless(t *testing.T) {
	endless := func() Expr {
		b := &Binary{Op: OpAdd, A: nil, B: I32(1)}
		b.A = &Not{A: &Let{Var: NewVar("x", Int32), Value: I32(1), Body: b}}
		return b
	}
	a, b := endless(), endless()
	require.True(t, Equal(a, b))
	require.Equal(t, Hash(a), Hash(b))
	s := &Seq{make([]Stmt, 1)}
	s.Stmts[0] = &For{Var: NewVar("i", Int32), Min: I32(0), Extent: I32(1), Body: s}
	require.True(t, Equal(s, s))
	Hash(s)
}

func BenchmarkEqual(b *testing.B) {
	x := NewVar("x", Int32)
	l, r := nested(x, 1000, true), nested(x, 1000, true)
	for b.Loop() {
		if !Equal(l, r) {
			b.Fatal("they differ")
		}
	}
}

func BenchmarkHash(b *testing.B) {
	e := nested(NewVar("x", Int32), 1000, true)
	for b.Loop() {
		Hash(e)
	}
}
