package tir_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirnodes"
	. "tvmgo/tir"
	"tvmgo/tir/compare"
)

func TestWalk_Order(t *testing.T) {
	w := newWellFormed()
	var got []string
	Walk(w.main, func(node any) bool {
		switch n := node.(type) {
		case *Var:
			got = append(got, n.Name)
		case *IntImm:
			got = append(got, fmt.Sprint(n.Value))
		case *FloatImm:
			got = append(got, fmt.Sprint(n.Value))
		default:
			got = append(got, NodeName(n))
		}
		return node != w.branch && node != w.while && node != w.vector
	})
	require.Equal(t, []string{"For", "0", "rows", "Alloc", "Seq",
		"LetStmt", "Binary", "i", "n", "BufferStore", "Binary", "x", "4", "Let", "2", "Binary", "y", "BufferLoad", "i",
		"Binary", "x", "4",
		"Assert", "Binary", "i", "rows", "If", "While",
		"AttrStmt", "1", "BufferStore", "i", "0", "Binary", "Call", "BufferLoad", "3", "Call", "Cast", "n", "BufferStore",
		"Evaluate", "Call"}, got)
}

func TestWalk_Nothing(t *testing.T) {
	never := func(node any) bool {
		require.Fail(t, "visited", "%T", node)
		return true
	}
	for _, n := range []any{nil, (*Var)(nil), (*For)(nil), (*PrimFunc)(nil), (*IRModule)(nil),
		&IRModule{Funcs: []*PrimFunc{nil}}, &PrimFunc{}, 1} {
		Walk(n, never)
	}
	count := 0
	x := NewVar("x", Int32)
	Walk(&Binary{Op: OpAdd, A: x, B: x}, func(any) bool { count++; return true })
	require.Equal(t, 3, count, "a shared node in each place")
}

// Every kind of node is walked, and its parts are those that the mutator replaces.
func TestMutator_EveryPart(t *testing.T) {
	for _, root := range tirnodes.EveryNode() {
		var leaves []*IntImm
		Walk(root, func(n any) bool {
			if k, ok := n.(*IntImm); ok {
				leaves = append(leaves, k)
			}
			return true
		})
		require.NotEmpty(t, leaves, "%T", root)
		for _, k := range leaves {
			m := &Mutator{Expr: func(e Expr) Expr {
				if e == Expr(k) {
					return &IntImm{k.Type, k.Value + 100}
				}
				return e
			}}
			var out any
			if e, ok := root.(Expr); ok {
				out = m.MutateExpr(e)
			} else {
				out = m.MutateStmt(root.(Stmt))
			}
			require.NotSame(t, root, out)
			require.Contains(t, compare.Difference(root, out), fmt.Sprintf("value %d is not %d", k.Value, k.Value+100), "%T",
				root)
			k.Value += 100
			require.Equal(t, "", compare.Difference(root, out), "nothing but the part is another")
			k.Value -= 100
		}
	}
}

func TestMutator_SharesWhatStays(t *testing.T) {
	calls := 0
	m := &Mutator{Expr: func(e Expr) Expr { calls++; return e }, Stmt: func(s Stmt) Stmt { calls++; return s }}
	for _, root := range tirnodes.EveryNode() {
		if e, ok := root.(Expr); ok {
			require.Same(t, root, m.MutateExpr(e))
		} else {
			require.Same(t, root, m.MutateStmt(root.(Stmt)))
		}
	}
	require.Greater(t, calls, 60)
	w := newWellFormed()
	out := (&Mutator{Stmt: func(s Stmt) Stmt {
		if s == Stmt(w.store) {
			return w.evaluate
		}
		return s
	}}).MutateStmt(w.loop).(*For)
	require.NotSame(t, w.loop, out)
	for i, s := range out.Body.(*Alloc).Body.(*Seq).Stmts {
		if i == 0 {
			require.Equal(t, &LetStmt{w.x, w.let.Value, w.evaluate}, s)
			require.Same(t, w.let.Value, s.(*LetStmt).Value)
		} else {
			require.Same(t, w.seq.Stmts[i], s)
		}
	}
	require.Equal(t, w.loop.Annotations, out.Annotations)
	require.Same(t, w.let.Body, w.store, "the old program stays")
}

func TestMutator_TakesAway(t *testing.T) {
	gone := &Evaluate{I32(1)}
	stays := &Evaluate{I32(2)}
	m := &Mutator{Stmt: func(s Stmt) Stmt {
		if s == Stmt(gone) {
			return nil
		}
		return s
	}}
	v, b, c := NewVar("v", Int32), NewBuffer("b", Int32), BoolConst(true)
	for _, x := range []struct{ in, want Stmt }{
		{gone, nil},
		{&For{Var: v, Min: I32(0), Extent: I32(1), Body: gone}, nil},
		{&LetStmt{v, I32(0), gone}, nil},
		{&Alloc{b, gone}, nil},
		{&AttrStmt{"k", nil, I32(0), gone}, nil},
		{&While{c, gone}, &While{c, &Seq{}}}, // it may not end
		{&If{c, gone, nil}, nil},
		{&If{c, gone, gone}, nil},
		{&If{c, stays, gone}, &If{c, stays, nil}},
		{&If{c, gone, stays}, &If{c, &Seq{}, stays}},
		{&Seq{[]Stmt{gone, gone}}, nil},
		{&Seq{[]Stmt{gone, stays}}, stays},
		{&Seq{[]Stmt{stays, gone, stays}}, &Seq{[]Stmt{stays, stays}}},
		{&Seq{}, &Seq{}},
		{(*For)(nil), nil},
	} {
		got := m.MutateStmt(x.in)
		if x.want == nil {
			require.Nil(t, got)
			continue
		}
		require.Equal(t, "", compare.Difference(x.want, got))
	}
	several := &Mutator{PreStmt: func(s Stmt) (Stmt, bool) {
		return &Seq{[]Stmt{stays, gone}}, s == Stmt(gone)
	}}
	require.Len(t, several.MutateStmt(&Seq{[]Stmt{gone, stays}}).(*Seq).Stmts, 3, "no Seq in a Seq")
}

func TestMutator_Before(t *testing.T) {
	x := NewVar("x", Int32)
	seen := 0
	m := &Mutator{
		PreExpr: func(e Expr) (Expr, bool) { _, isNot := e.(*Not); return I32(7), isNot },
		Expr:    func(e Expr) Expr { seen++; return e },
	}
	got := m.MutateExpr(Add(&Not{A: x}, x))
	require.Equal(t, "", compare.Difference(&Binary{Op: OpAdd, A: I32(7), B: x}, got))
	require.Equal(t, 2, seen, "the sum and x: neither what was replaced nor its parts")
	require.Nil(t, m.MutateExpr(nil))
}

func TestSubstitute(t *testing.T) {
	x, y := NewVar("x", Int32), NewVar("y", Int32)
	e := Add(Mul(x, y), I32(1))
	require.Equal(t, "", compare.Difference(Add(Mul(Add(y, I32(2)), x), I32(1)), Substitute(e, map[*Var]Expr{x: Add(y,
		I32(2)), y: x})), "all at once")
	require.Same(t, e, Substitute(e, map[*Var]Expr{NewVar("x", Int32): y}))
	b := NewBuffer("b", Int32, I32(4))
	s := &BufferStore{b, x, []Expr{x}}
	require.Equal(t, "", compare.Difference(&BufferStore{b, y, []Expr{y}}, SubstituteStmt(s, map[*Var]Expr{x: y})))
	require.Same(t, s.Value, x, "the old program stays")
}

func TestSequence(t *testing.T) {
	a, b := &Evaluate{I32(1)}, &Evaluate{I32(2)}
	require.Same(t, a, Sequence(nil, a, (*For)(nil), (*Seq)(nil), &Seq{}))
	require.Equal(t, &Seq{[]Stmt{a, b, a}}, Sequence(&Seq{[]Stmt{a, b}}, a))
	require.Equal(t, &Seq{}, Sequence())
}
