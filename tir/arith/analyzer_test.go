package arith

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

func TestAnalyzer_ForgetsAfterScopes(t *testing.T) {
	r := newReader(t)
	a := newCounted()
	i := r.variable("i")
	a.With(r.read("i < 4 && n%%8 == 0 && i < n"), func() {
		require.True(t, a.Prove(r.read("i < 5 && n%%4 == 0 && i*2 < n*2")))
		a.Scope(func() {
			a.Bind(i, tir.I32(6), tir.I32(2)) // a new variable from now on
			require.True(t, a.Prove(r.read("i >= 6")))
			require.False(t, a.Prove(r.read("i < 4")))
			require.False(t, a.Prove(r.read("i < n")))
		})
		require.True(t, a.Prove(r.read("i < 4 && i < n")))
		require.False(t, a.Prove(r.read("i >= 6")))
	})
	for _, s := range []string{"i < 5", "n%%4 == 0", "i < n"} {
		require.False(t, a.Prove(r.read(s)), s)
	}
	require.Empty(t, a.known)
	require.Empty(t, a.mods)
	require.Empty(t, a.facts)
}

func TestAnalyzer_BindOnceIsItsValue(t *testing.T) {
	r := newReader(t)
	a := newCounted()
	a.Scope(func() {
		a.Bind(r.variable("t"), r.read("i*8"), tir.I32(1))
		require.Equal(t, textOf(r.read("i*8 + 3")), textOf(a.Simplify(r.read("t + 3"))))
		a.Scope(func() {
			a.Bind(r.variable("i"), tir.I32(0), tir.I32(4)) // t was defined by another i
			require.Equal(t, "(t + 3)", textOf(a.Simplify(r.read("t + 3"))))
		})
	})
	require.Equal(t, "(t + 3)", textOf(a.Simplify(r.read("t + 3"))))
}

func TestAnalyzer_MemoryIsNoFact(t *testing.T) {
	r := newReader(t)
	a := newCounted()
	a.With(r.read("A[0] < 5 && i < A[1]"), func() {
		require.False(t, a.Prove(r.read("A[0] < 5")))
		require.False(t, a.Prove(r.read("i < A[1]")))
	})
	a.Bind(r.variable("k"), tir.I32(0), r.read("A[0]"))
	require.False(t, a.Prove(r.read("k < A[0]")))
	require.True(t, a.Prove(r.read("k >= 0")))
}

func TestAnalyzer_Modular(t *testing.T) {
	r := newReader(t)
	a := newCounted()
	for _, row := range []struct {
		e          string
		coef, base int64
	}{{"i*8 + 3", 8, 3}, {"i*8 + j*12", 4, 0}, {"5", 0, 5}, {"-3", 0, -3}, {"i", 1, 0}, {"i*4 - 1", 4,
		3}, {"min(i*8, j*4 + 4)", 4, 0}, {"(i*4)*(j*6)", 24, 0},
		{"(i*8 + 2)%%4", 0, 2}, {"select(p, i*6, 3)", 3, 0}, {"int64(i)*4", 4, 0}, {"f", 1, 0},
		{"(i*8 + 6)//4", 2, 1}, {"(i*8 + 6)//4%%2", 0, 1}, {"(i*6 + 4)//4", 1, 0}} {
		coef, base := a.Modular(r.read(row.e))
		require.Equal(t, []int64{row.coef, row.base}, []int64{coef, base}, row.e)
	}
	coef, _ := a.Modular(nil)
	require.EqualValues(t, 1, coef)
}

// TestAnalyzer_ModularOfDivisions analyzes divisions as they are written: simplification would remove exact ones.
func TestAnalyzer_ModularOfDivisions(t *testing.T) {
	r := newReader(t)
	floor := func(op tir.BinaryOp, a, b string) tir.Expr { return &tir.Binary{Op: op, A: r.read(a), B: r.read(b)} }
	for _, row := range []struct {
		e          tir.Expr
		coef, base int64
	}{
		{floor(tir.OpFloorDiv, "i*8 + 6", "4"), 2, 1},
		{&tir.Binary{Op: tir.OpFloorMod, A: floor(tir.OpFloorDiv, "i*8 + 6", "4"), B: tir.I32(2)}, 0, 1},
		{floor(tir.OpFloorDiv, "i*24 - 1", "4"), 6, 5},
		{floor(tir.OpFloorDiv, "i*24 + j*16 + 7", "4"), 2, 1},
		{floor(tir.OpFloorDiv, "i*6 + 4", "4"), 1, 0}, // 4 does not divide 6
		{floor(tir.OpFloorDiv, "i*8", "j"), 1, 0},
		{floor(tir.OpFloorDiv, "-7", "4"), 0, -2},
		{floor(tir.OpFloorMod, "i*24 + 7", "16"), 8, 7},
	} {
		a := newCounted()
		a.begin()
		m := a.modular(row.e)
		a.end()
		require.Equal(t, modulus{row.coef, row.base}, m, text.Print(row.e))
	}
}

// TestAnalyzer_BoundsOfAbs has ranges on both sides of zero, in which either end may have the greater magnitude.
func TestAnalyzer_BoundsOfAbs(t *testing.T) {
	for _, c := range [][4]int64{{-9, 3, 0, 9}, {-3, 9, 0, 9}, {2, 7, 2, 7}, {-7, -2, 0, 7}, {0, 0, 0, 0},
		{math.MinInt32 + 1, 1, 0, math.MaxInt32}} {
		a, x := NewAnalyzer(), tir.NewVar("x", tir.Int32)
		a.Bind(x, tir.I32(int32(c[0])), tir.I32(int32(min(c[1]-c[0]+1, math.MaxInt32))))
		lo, hi, ok := a.Bounds(tir.Intrin("abs", x))
		require.True(t, ok)
		require.LessOrEqual(t, lo, c[2], "%v", c)
		require.GreaterOrEqual(t, hi, c[3], "%v", c)
		require.LessOrEqual(t, hi, max(c[3], -c[0]), "%v", c)
	}
}

// Deep, shared and long expressions are handled quickly, and stay the same if the steps run out.
func TestSimplify_EndsSoon(t *testing.T) {
	x, y := tir.NewVar("x", tir.Int32), tir.NewVar("y", tir.Int32)
	shared := map[string]func(e tir.Expr) tir.Expr{
		"sum":     func(e tir.Expr) tir.Expr { return tir.Add(e, e) },
		"product": func(e tir.Expr) tir.Expr { return tir.Mul(e, tir.Add(e, y)) },
		"div":     func(e tir.Expr) tir.Expr { return tir.Add(tir.FloorDiv(e, tir.I32(3)), tir.FloorMod(e, tir.I32(5))) },
		"min":     func(e tir.Expr) tir.Expr { return tir.Min(e, tir.Max(y, tir.Sub(e, y))) },
		"select":  func(e tir.Expr) tir.Expr { return tir.NewSelect(tir.LT(e, y), e, tir.Sub(e, x)) },
		"cond": func(e tir.Expr) tir.Expr {
			return tir.NewCast(tir.Int32, tir.And(tir.LT(e, y), tir.Or(tir.LT(x, e), tir.EQ(e, y))))
		},
		"let": func(e tir.Expr) tir.Expr {
			v := tir.NewVar("t", tir.Int32)
			return &tir.Let{Var: v, Value: e, Body: tir.Mul(v, e)}
		},
		"cast": func(e tir.Expr) tir.Expr { return tir.NewCast(tir.Int32, tir.NewCast(tir.UInt8, tir.Add(e, e))) },
	}
	for name, f := range shared {
		for _, depth := range []int{60, 6000} {
			t.Run(fmt.Sprint(name, depth), func(t *testing.T) {
				var e tir.Expr = x
				for range depth {
					e = f(e)
				}
				a := newCounted()
				a.Bind(y, tir.I32(0), tir.I32(7))
				got := a.Simplify(e)
				if depth > maxHeight {
					require.Same(t, e, got, "too deep to look at")
				} else {
					require.Equal(t, tir.Int32, a.info(got).t)
				}
				a.Bounds(e)
				a.Prove(tir.LT(e, y))
				a.Modular(e)
				a.EvalInterval(e, map[*tir.Var]Domain{y: {tir.I32(0), x}})
				a.With(&tir.Binary{Op: tir.OpLT, A: e, B: y}, func() { a.Simplify(e) })
			})
		}
	}
	t.Run("long sum", func(t *testing.T) {
		var e tir.Expr = x
		for i := range 3000 {
			e = tir.Add(e, tir.Mul(tir.NewVar("x", tir.Int32), tir.I32(int32(i))))
		}
		newCounted().Simplify(e)
	})
}

// Two analyzers give the same answers.
func TestSimplify_Deterministic(t *testing.T) {
	for seed := range uint64(300) {
		w := newWorld(seed)
		e := w.expr(tir.Int32, 5)
		require.Equal(t, textOf(w.analyzer().Simplify(e)), textOf(w.analyzer().Simplify(e)))
	}
}

func TestSimplify_UnchangedIsShared(t *testing.T) {
	r := newReader(t)
	for _, s := range []string{"i*8 + j", "i < n", "min(i, j)", "select(i < n, i, j)", "A[i*8 + j]",
		"if_then_else(p, A[i], 0)", "ramp(i, 1, 4)", "f*g"} {
		e := r.read(s)
		require.Same(t, e, newCounted().Simplify(e), s)
	}
}

// Trees that package tir does not build are left unchanged.
func TestSimplify_Malformed(t *testing.T) {
	x, f := tir.NewVar("x", tir.Int32), tir.NewVar("f", tir.Float32)
	a := newCounted()
	for _, e := range []tir.Expr{
		nil, (*tir.Binary)(nil), &tir.Bad{Err: fmt.Errorf("bad")}, &tir.Binary{}, &tir.Binary{Op: tir.OpAdd,
			A: x}, &tir.Binary{Op: tir.OpAdd, A: x, B: f},
		&tir.Binary{Op: 200, A: x, B: x}, &tir.Not{A: x}, &tir.Not{}, &tir.Select{Cond: x, Then: x, Else: x}, &tir.Cast{
			Type: tir.Int32}, &tir.Ramp{Base: f, Stride: f, Lanes: 4},
		&tir.Ramp{Base: x, Stride: x, Lanes: -1}, &tir.Broadcast{Value: x}, &tir.Shuffle{}, &tir.Let{Body: x,
			Value: x}, &tir.Let{}, &tir.BufferLoad{}, &tir.ProducerLoad{},
		&tir.Reduce{}, &tir.Reduce{Sources: []tir.Expr{x}, Value: 3}, &tir.Call{Kind: tir.CallIntrinsic,
			Name: "likely"}, &tir.Call{Kind: tir.CallIntrinsic, Name: "if_then_else"},
		&tir.Cast{Type: tir.Vector(tir.Int32, 4), Value: x},
		&tir.Binary{Op: tir.OpFloorDiv, A: x, B: &tir.IntImm{Type: tir.Int32}}, &tir.Binary{Op: tir.OpDiv, A: x,
			B: &tir.IntImm{Type: tir.Int32}},
		&tir.Binary{Op: tir.OpFloorMod, A: x, B: &tir.IntImm{Type: tir.Int32, Value: -1 << 63}},
	} {
		require.NotPanics(t, func() {
			require.Equal(t, e, a.Simplify(e))
			a.Prove(e)
			a.Bounds(e)
			a.Modular(e)
			a.EvalInterval(e, map[*tir.Var]Domain{x: {x, x}})
			a.With(e, func() {})
			a.Bind(x, e, e)
			a.Bind(nil, e, e)
		}, "%T", e)
	}
}
