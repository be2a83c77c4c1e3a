package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// A tile of a matrix product becomes vectors in memory with constant indices, which compilers keep in registers.
func TestForHost_TileOfMatmul(t *testing.T) {
	const n = 96
	a, b := te.Placeholder(te.Dims(n, n), tir.Float32, "A"), te.Placeholder(te.Dims(n, n), tir.Float32, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(n), "k")
	r := te.Compute(te.Dims(n, n), "C",
		func(i ...tir.Expr) tir.Expr { return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k) })
	s := must.Get(te.NewSchedule(r))(t)
	acc := s.CacheWrite(r, "local")
	st := s.Stage(r)
	_, yo, xi, yi := st.Tile(r.Axes()[0], r.Axes()[1], 6, 32)
	st.Unroll(xi)
	st.Vectorize(yi)
	l := s.Stage(acc)
	l.ComputeAt(st, yo)
	ko, ki := l.Split(l.ReduceAxes()[0], 4)
	l.Reorder(ko, ki, l.Axes()[0], l.Axes()[1])
	l.Unroll(l.Axes()[0])
	l.Vectorize(l.Axes()[1])
	m := must.Get(te.Lower(s, []any{a, b, r}, "matmul"))(t)
	for _, p := range transform.ForHost() {
		m = must.Get(p.Pass(m, nil))(t)
		require.NoError(t, tir.Check(m))
	}
	stores := 0
	tir.Walk(m, func(node any) bool {
		switch n := node.(type) {
		case *tir.For:
			require.Equal(t, tir.Serial, n.Kind)
		case *tir.BufferStore:
			require.Equal(t, tir.Vector(tir.Float32, 16), n.Value.DType())
			stores++
		}
		return true
	})
	require.Equal(t, 3*6*2, stores, "zeros, sums and results: two per row")
}

// The length of vectors depends on the target's CPU.
func TestVectorize_Width(t *testing.T) {
	for options, want := range map[string]int{
		"c": 16, "c -march=x86-64-v4": 16, "c -march=skylake-avx512": 16, "c -march=x86-64-v3": 8,
		"c -march=znver3": 8, "c -march=x86-64": 4,
		"llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu":           8,
		"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+avx2": 8,
		"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72":         4, "llvm -vector-width=256": 8,
		"c -mcpu=haswell": 16,
	} {
		t.Run(options, func(t *testing.T) {
			if strings.HasPrefix(options, "c -march=") { // target c is for this machine
				machine.NeedX86(t)
			}
			k, err := target.New(options)
			require.NoError(t, err, options)
			m := must.Get(text.Parse(`func f(a: handle) {
  buffer A: float32[32], param a
  vectorized i in range(32) {
    A[i] = 1.0
  }
}`))(t)
			m = must.Get(transform.Vectorize(m, k))(t)
			stores := 0
			tir.Walk(m, func(node any) bool {
				if s, ok := node.(*tir.BufferStore); ok {
					require.Equal(t, want, int(s.Value.DType().Lanes), options)
					stores++
				}
				return true
			})
			require.Equal(t, 32/want, stores, options)
		})
	}
}

// Pragmas of schedules apply to their loops.
func TestUnroll_PragmaOfSchedule(t *testing.T) {
	for step, want := range map[int]int{0: 1, 11: 1, 12: 12, 100: 12} {
		a := te.Placeholder(te.Dims(5, 12), tir.Float32, "A")
		r := te.Compute(te.Dims(5, 12), "R", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.F32(1)) })
		s := must.Get(te.NewSchedule(r))(t)
		s.Stage(r).Pragma(r.Axes()[1], "auto_unroll_max_step", step)
		m := must.Get(te.Lower(s, []any{a, r}, "f"))(t)
		m = must.Get(transform.ForHost().Run(m, nil))(t)
		stores := 0
		tir.Walk(m, func(node any) bool {
			if _, ok := node.(*tir.BufferStore); ok {
				stores++
			}
			return true
		})
		require.Equal(t, want, stores, "auto_unroll_max_step %d", step)
	}
}

// At most MaxPartitioned statements are copied, and at most MaxUnrolled are unrolled.
func TestPasses_Limits(t *testing.T) {
	body := "A[floormod(o * 3 + i + o_1, 64)] = 1.0"
	for k := range 14 {
		v := fmt.Sprintf("o_%d", k)
		body = fmt.Sprintf("for %s in range(3) {\n  for j%d in range(3) {\n    if likely(%s * 3 + j%d < 8) "+
			"{\n%s\n}\n}\n}", v, k, v, k, body)
	}
	m := function(t, "for o in range(3) {\n  for i in range(3) {\n    if likely(o * 3 + i < 8) {\n"+body+"\n}\n}\n}")
	m = must.Get(transform.LoopPartition(m, nil))(t)
	require.NoError(t, tir.Check(m))
	nodes := 0
	tir.Walk(m, func(node any) bool {
		if _, ok := node.(tir.Stmt); ok {
			nodes++
		}
		return true
	})
	require.Less(t, nodes, 2*transform.MaxPartitioned)
	require.Greater(t, nodes, transform.MaxPartitioned/8, "loops are split up to the limit")
}

// A statement that occurs twice has separate variables in each copy.
func TestUnroll_SharedStatement(t *testing.T) {
	m := function(t, "for i in range(2) {\n  A[i] = B[i + 1]\n}")
	f := *m.Funcs[0]
	k := tir.NewVar("k", tir.Int32)
	f.Body = &tir.For{Kind: tir.Unrolled, Var: k, Min: tir.I32(0), Extent: tir.I32(2),
		Body: &tir.Seq{Stmts: []tir.Stmt{f.Body, f.Body}}}
	m = &tir.IRModule{Funcs: []*tir.PrimFunc{&f}}
	require.NoError(t, tir.Check(m))
	m = must.Get(transform.Unroll(m, nil))(t)
	require.NoError(t, tir.Check(m), text.Print(m))
	require.Equal(t, 4, survey(m).loops)
}

// A loop with exactly the maximal number of iterations is unrolled; a longer one stays a loop.
func TestUnroll_Limit(t *testing.T) {
	for more, loops := range map[int]int{0: 0, 1: 1} {
		m := function(t, fmt.Sprintf("unrolled i in range(%d) {\n  A[floormod(i, 4)] = 1.0\n}",
			transform.MaxUnrolled+more))
		m = must.Get(transform.Unroll(m, nil))(t)
		require.Equal(t, loops, survey(m).loops, "%d more", more)
	}
}
