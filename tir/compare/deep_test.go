package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirnodes"
	"tvmgo/tir"
	"tvmgo/tir/internal/path"
	"tvmgo/tir/internal/scopes"
)

// Tests of size have no clock: what takes time beyond reason does not end.

func TestEqual_Deep(t *testing.T) {
	x, y := tir.NewVar("x", tir.Int32), tir.NewVar("y", tir.Int32)
	for _, left := range []bool{true, false} {
		a, b := tirnodes.Nested(x, 100_000, left), tirnodes.Nested(x, 100_000, left)
		require.True(t, Equal(a, b))
		require.Equal(t, Hash(a), Hash(b))
		b = tirnodes.Nested(y, 100_000, left)
		require.False(t, Equal(a, b))
		require.True(t, EqualFree(a, b))
		step := map[bool]string{true: ".a", false: ".b"}[left]
		end := strings.Repeat(step, path.Ends)[1:]
		require.Equal(t, fmt.Sprintf("%s…(%d more)….%s: variable x is not variable y", end, 100_000-2*path.Ends, end),
			Difference(a, b))
	}
	deeper := tirnodes.Nested(x, scopes.MaxDepth+1, true)
	require.False(t, Equal(deeper, deeper))
	require.Contains(t, Difference(deeper, deeper), "nested more than 200000 deep: not compared")
	require.Equal(t, Hash(deeper), Hash(deeper))
}

func TestEqual_SharedNodes(t *testing.T) {
	x, y := tir.NewVar("x", tir.Int32), tir.NewVar("y", tir.Int32)
	double := func(e tir.Expr) tir.Expr {
		for range 100 {
			e = &tir.Binary{Op: tir.OpAdd, A: e, B: e}
		}
		return e
	}
	require.True(t, Equal(double(x), double(x)))
	require.False(t, Equal(double(x), double(y)))
	require.Equal(t, Hash(double(x)), Hash(double(x)))

	// A shared node is what as many nodes are.
	few := func(share bool) tir.Expr {
		e := tir.Expr(x)
		for range 8 {
			one, other := e, e
			if !share {
				other = (&tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
					if b, ok := e.(*tir.Binary); ok {
						return &tir.Binary{Op: b.Op, A: b.A, B: b.B}
					}
					return e
				}}).MutateExpr(e)
			}
			v := tir.NewVar("v", tir.Int32)
			e = &tir.Let{Var: v, Value: tir.I32(1), Body: &tir.Binary{Op: tir.OpSub, A: &tir.Binary{Op: tir.OpAdd, A: one,
				B: v}, B: other}}
		}
		return e
	}
	require.True(t, Equal(few(true), few(false)))
	require.Equal(t, Hash(few(true)), Hash(few(false)))
}

func TestEqual_SharedNodesUnderBinders(t *testing.T) {
	require.True(t, Equal(tirnodes.LetsShared(100), tirnodes.LetsShared(100)))
	require.Equal(t, Hash(tirnodes.LetsShared(100)), Hash(tirnodes.LetsShared(100)))
	require.False(t, Equal(tirnodes.LetsShared(100), tirnodes.LetsShared(101)))

	loops := func() tir.Stmt {
		s := tir.Stmt(&tir.Evaluate{Value: tir.I32(0)})
		for range 60 {
			i, j := tir.NewVar("i", tir.Int32), tir.NewVar("j", tir.Int32)
			s = tir.Sequence(&tir.For{Var: i, Min: tir.I32(0), Extent: tir.I32(2), Body: &tir.If{Cond: tir.GT(i, tir.I32(0)),
				Then: s, Else: nil}},
				&tir.For{Var: j, Min: tir.I32(0), Extent: tir.I32(3), Body: &tir.If{Cond: tir.GT(j, tir.I32(0)), Then: s,
					Else: nil}})
		}
		return s
	}
	a, b := loops(), loops()
	require.True(t, Equal(a, b))
	require.Equal(t, Hash(a), Hash(b))
}

// What was found of a shared node inside of a scope says nothing of it outside.
func TestEqual_SharedNodeLeavesScope(t *testing.T) {
	i, j := tir.NewVar("i", tir.Int32), tir.NewVar("j", tir.Int32)
	use := func(v *tir.Var) (tir.Stmt, tir.Stmt) {
		e := &tir.Evaluate{Value: &tir.Binary{Op: tir.OpAdd, A: v, B: tir.I32(1)}}
		return &tir.For{Var: v, Min: tir.I32(0), Extent: tir.I32(2), Body: e}, e
	}
	inI, outI := use(i)
	inJ, outJ := use(j)
	require.True(t, Equal(inI, inJ))
	require.False(t, Equal(tir.Sequence(inI, outI), tir.Sequence(inJ, outJ)))
	require.False(t, Equal(tir.Sequence(outI, inI), tir.Sequence(outJ, inJ)))
	require.True(t, EqualFree(tir.Sequence(outI, inI), tir.Sequence(outJ, inJ)))
	require.True(t, Equal(tir.Sequence(inI, outI), tir.Sequence(inJ, outI)))
	k := tir.NewVar("k", tir.Int32)
	shadow := func(outer, inner *tir.Var) tir.Stmt {
		body, e := use(inner)
		return &tir.For{Var: outer, Min: tir.I32(0), Extent: tir.I32(2), Body: tir.Sequence(e, body, e)}
	}
	require.True(t, Equal(shadow(i, i), shadow(j, j)), "a loop in a loop of the same variable")
	require.False(t, Equal(shadow(i, i), shadow(j, k)))
	require.Equal(t, Hash(shadow(i, i)), Hash(shadow(j, j)))
}

// What holds a shared node depends on what that depends on, also where it was found before.
func TestEqual_AroundSharedNodeLeavesScope(t *testing.T) {
	program := func(v, after *tir.Var) tir.Stmt {
		e := &tir.Binary{Op: tir.OpAdd, A: v, B: tir.I32(1)}
		around := &tir.Binary{Op: tir.OpMul, A: e, B: tir.I32(2)}
		loop := &tir.For{Var: v, Min: tir.I32(0), Extent: tir.I32(2), Body: tir.Sequence(&tir.Evaluate{Value: e},
			&tir.Evaluate{Value: around})}
		if v == after {
			return tir.Sequence(loop, &tir.Evaluate{Value: around})
		}
		return tir.Sequence(loop, &tir.Evaluate{Value: &tir.Binary{Op: tir.OpMul, A: &tir.Binary{Op: tir.OpAdd, A: after,
			B: tir.I32(1)}, B: tir.I32(2)}})
	}
	i, j := tir.NewVar("i", tir.Int32), tir.NewVar("j", tir.Int32)
	require.False(t, Equal(program(i, i), program(j, j)))
	require.True(t, EqualFree(program(i, i), program(j, j)))
	k := tir.NewVar("k", tir.Int32)
	require.True(t, EqualFree(program(i, i), program(j, k)),
		"after the loop it comes from outside, whatever it was within")
	require.Equal(t, Hash(program(i, i)), Hash(program(j, k)))
	err := tir.CheckFunc(&tir.PrimFunc{Name: "f", Result: tir.Void, Body: program(i, i)})
	require.EqualError(t, err, "tir: check f.body[1].value.a.a: variable i is used outside of its scope")
}

// The hash of a node with binders within is that of its place, also where the node stands in several.
func TestHash_SharedBindersAtTwoDepths(t *testing.T) {
	inner := func() tir.Expr {
		u := tir.NewVar("u", tir.Int32)
		return &tir.Let{Var: u, Value: tir.I32(1), Body: &tir.Binary{Op: tir.OpAdd, A: u, B: tir.I32(1)}}
	}
	v, w, e := tir.NewVar("v", tir.Int32), tir.NewVar("w", tir.Int32), inner()
	shared, copied := &tir.Let{Var: v, Value: e, Body: &tir.Binary{Op: tir.OpAdd, A: e, B: v}}, &tir.Let{Var: w,
		Value: inner(), Body: &tir.Binary{Op: tir.OpAdd, A: inner(), B: w}}
	require.True(t, Equal(shared, copied))
	require.Equal(t, Hash(shared), Hash(copied))

	around := func(e func() tir.Expr) func() tir.Expr { return func() tir.Expr { return &tir.Not{A: e()} } }
	program := func(e, around func() tir.Expr) tir.Expr {
		return &tir.Binary{Op: tir.OpAdd, A: &tir.Binary{Op: tir.OpAdd, A: e(), B: around()},
			B: &tir.Let{Var: tir.NewVar("v", tir.Int32), Value: tir.I32(1), Body: around()}}
	}
	p := around(func() tir.Expr { return e })()
	require.Equal(t, Hash(program(func() tir.Expr { return e }, func() tir.Expr { return p })), Hash(program(inner,
		around(inner))))
}

// A variable that is bound again within its scope is the inner one there, in shared nodes, too.
func TestEqual_Shadowing(t *testing.T) {
	x, y, z := tir.NewVar("x", tir.Int32), tir.NewVar("y", tir.Int32), tir.NewVar("z", tir.Int32)
	let := func(v *tir.Var, body tir.Expr) tir.Expr { return &tir.Let{Var: v, Value: tir.I32(1), Body: body} }
	require.False(t, Equal(let(x, let(y, x)), let(z, let(z, z))), "the outer one is out of reach")
	require.True(t, Equal(let(x, let(y, y)), let(z, let(z, z))))
	require.Equal(t, Hash(let(x, let(y, y))), Hash(let(z, let(z, z))))
	require.NotEqual(t, Hash(let(x, let(y, x))), Hash(let(z, let(z, z))))

	twice := func(outer, inner *tir.Var) tir.Expr { // of one node, that uses the outer variable
		e := &tir.Binary{Op: tir.OpAdd, A: outer, B: tir.I32(1)}
		return let(outer, &tir.Binary{Op: tir.OpMul, A: &tir.Binary{Op: tir.OpSub, A: e, B: let(inner, e)}, B: e})
	}
	require.False(t, Equal(twice(x, x), twice(y, z)))
	require.False(t, Equal(twice(y, z), twice(x, x)))
	require.True(t, Equal(twice(x, x), twice(y, y)))
	require.Equal(t, Hash(twice(x, x)), Hash(twice(y, y)))
	require.NotEqual(t, Hash(twice(x, x)), Hash(twice(y, z)))
}

// Graphs that contain themselves are no programs; nothing hangs over them.
func TestEqual_Endless(t *testing.T) {
	endless := func() tir.Expr {
		b := &tir.Binary{Op: tir.OpAdd, A: nil, B: tir.I32(1)}
		b.A = &tir.Not{A: &tir.Let{Var: tir.NewVar("x", tir.Int32), Value: tir.I32(1), Body: b}}
		return b
	}
	a, b := endless(), endless()
	require.True(t, Equal(a, b))
	require.Equal(t, Hash(a), Hash(b))
	s := &tir.Seq{Stmts: make([]tir.Stmt, 1)}
	s.Stmts[0] = &tir.For{Var: tir.NewVar("i", tir.Int32), Min: tir.I32(0), Extent: tir.I32(1), Body: s}
	require.True(t, Equal(s, s))
	Hash(s)
}

func BenchmarkEqual(b *testing.B) {
	x := tir.NewVar("x", tir.Int32)
	l, r := tirnodes.Nested(x, 1000, true), tirnodes.Nested(x, 1000, true)
	for b.Loop() {
		if !Equal(l, r) {
			b.Fatal("they differ")
		}
	}
}

func BenchmarkHash(b *testing.B) {
	e := tirnodes.Nested(tir.NewVar("x", tir.Int32), 1000, true)
	for b.Loop() {
		Hash(e)
	}
}
