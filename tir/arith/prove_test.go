package arith

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
)

// small is three variables with few values, one of which depends on another.
type small struct {
	world
	all []map[*tir.Var]int64
}

func newSmall(seed uint64) *small {
	s := &small{world: world{r: rand.New(rand.NewPCG(seed, 3)), inner: map[*tir.Var]*tir.Var{}}}
	x, n, j := tir.NewVar("x", tir.Int32), tir.NewVar("n", tir.Int32), tir.NewVar("j", tir.Int32)
	low := s.r.Int64N(9) - 6
	s.vars, s.low, s.count = []*tir.Var{x, n, j}, []int64{low, 1, 0}, []int64{1 + s.r.Int64N(9), 1 + s.r.Int64N(4), 0}
	s.inner[j] = n
	for a := range s.count[0] {
		for b := int64(1); b <= s.count[1]; b++ {
			for c := range b {
				s.all = append(s.all, map[*tir.Var]int64{x: low + a, n: b, j: c})
			}
		}
	}
	return s
}

func (s *small) cond() tir.Expr {
	e := func() tir.Expr { return s.expr(tir.Int32, 1+s.r.IntN(2)) }
	c := tir.NewBinary(tir.OpEQ+tir.BinaryOp(s.r.IntN(6)), e(), e())
	if s.r.IntN(4) == 0 {
		return tir.NewBinary(tir.OpAnd+tir.BinaryOp(s.r.IntN(2)), c, s.cond())
	}
	return c
}

// holds reports whether a condition is true for all values for which it is defined, and returns their number.
func (s *small) holds(cond, given tir.Expr) (all bool, defined int) {
	all = true
	for _, m := range s.all {
		if g, err := (evaluation{values: m, strict: true}).run(given); err != nil || g[0] == 0 {
			continue
		}
		if v, err := (evaluation{values: m, strict: true}).run(cond); err == nil {
			defined++
			all = all && v[0] == 1
		}
	}
	return all, defined
}

func TestProve_Exhaustive(t *testing.T) {
	proved, missed := 0, 0
	for seed := range uint64(6000) {
		s := newSmall(seed)
		a := s.analyzer()
		cond, given := s.cond(), tir.BoolConst(true)
		if s.r.IntN(2) == 0 {
			given = s.cond()
		}
		require.NotEqual(t, tir.Void, cond.DType())
		a.With(given, func() {
			all, defined := s.holds(cond, given)
			switch answer := a.Prove(cond); {
			case answer && defined > 0:
				proved++
				require.True(t, all, "%s is said to hold, given %s", textOf(cond), textOf(given))
			case !answer && all && defined > 0:
				missed++
			}
		})
		require.Empty(t, a.undo)
	}
	t.Logf("%d proved, %d true ones not", proved, missed)
	require.Greater(t, proved, 500)
}

// affine returns a sum of variables times constants.
func affine(w *rand.Rand, vars []*tir.Var) tir.Expr {
	e := tir.IntConst(vars[0].Type, w.Int64N(21)-10)
	for _, v := range vars {
		for range 1 + w.IntN(2) {
			term := tir.Mul(v, tir.IntConst(v.Type, w.Int64N(15)-7))
			if w.IntN(2) == 0 {
				e = tir.Add(e, term)
			} else {
				e = tir.Sub(term, e)
			}
		}
	}
	return e
}

func TestBounds_TightOfSums(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 5))
		x, y := tir.NewVar("x", tir.Int64), tir.NewVar("y", tir.Int64)
		a := newCounted()
		lows, counts := []int64{r.Int64N(20) - 10, r.Int64N(20) - 10}, []int64{1 + r.Int64N(6), 1 + r.Int64N(6)}
		for i, v := range []*tir.Var{x, y} {
			a.Bind(v, tir.I64(lows[i]), tir.I64(counts[i]))
		}
		e := affine(r, []*tir.Var{x, y})
		first, least, most := true, int64(0), int64(0)
		for i := range counts[0] {
			for j := range counts[1] {
				v, err := evaluation{values: map[*tir.Var]int64{x: lows[0] + i, y: lows[1] + j}, strict: true}.run(e)
				require.NoError(t, err)
				if first || v[0] < least {
					least = v[0]
				}
				if first || v[0] > most {
					most = v[0]
				}
				first = false
			}
		}
		lo, hi, ok := a.Bounds(e)
		require.True(t, ok)
		require.Equal(t, []int64{least, most}, []int64{lo, hi}, textOf(e))
	}
}

func TestBounds_Unknown(t *testing.T) {
	a := newCounted()
	for _, e := range []tir.Expr{nil, tir.NewVar("l", tir.Int64), tir.NewVar("f", tir.Float32), tir.Text("x"),
		&tir.Bad{Err: fmt.Errorf("bad")}, tir.NewVar("b", tir.UInt64)} {
		_, _, ok := a.Bounds(e)
		require.False(t, ok, "%T", e)
	}
	lo, hi, ok := a.Bounds(tir.NewVar("i", tir.Int32))
	require.True(t, ok)
	require.Equal(t, []int64{-1 << 31, 1<<31 - 1}, []int64{lo, hi})
}

// TestProve_NarrowedValue uses no fact about the operand of a cast that may change the value.
func TestProve_NarrowedValue(t *testing.T) {
	a, x, y := newCounted(), tir.NewVar("x", tir.Int64), tir.NewVar("y", tir.Int64)
	a.Bind(x, tir.I64(0), tir.I64(1<<33))
	a.Bind(y, tir.I64(0), tir.I64(100))
	wraps, keeps := tir.NewCast(tir.Int32, x), tir.NewCast(tir.Int32, y)
	require.False(t, a.Prove(tir.GE(wraps, tir.I32(0))), "x may be 1<<31")
	require.True(t, a.Prove(tir.GE(keeps, tir.I32(0))))
}

// intervals checks EvalInterval of e, with domains for x and j and a fixed n. For sums the ends must be exact.
func (s *small) intervals(t require.TestingT, e tir.Expr, tight bool) int {
	x, n, j := s.vars[0], s.vars[1], s.vars[2]
	a := newCounted()
	a.Bind(n, tir.I32(1), tir.IntConst(tir.Int32, s.count[1]))
	domains := map[*tir.Var]Domain{x: {tir.IntConst(tir.Int32, s.low[0]), tir.IntConst(tir.Int32, s.count[0])},
		j: {tir.I32(0), n}}
	low, high := a.EvalInterval(e, domains)
	least, most := map[int64]int64{}, map[int64]int64{}
	for _, m := range s.all {
		v, err := evaluation{values: m, strict: true}.run(e)
		if err != nil {
			continue
		}
		if old, seen := least[m[n]]; !seen || v[0] < old {
			least[m[n]] = v[0]
		}
		if old, seen := most[m[n]]; !seen || v[0] > old {
			most[m[n]] = v[0]
		}
	}
	if tight {
		require.NotNil(t, low, textOf(e))
		require.NotNil(t, high, textOf(e))
	}
	found := 0
	for k := range least {
		outside := evaluation{values: map[*tir.Var]int64{n: k}, strict: true} // the ends contain neither x nor j
		if low != nil {
			v, err := outside.run(low)
			require.NoError(t, err, textOf(low))
			require.LessOrEqual(t, v[0], least[k], "%s from %s, n=%d", textOf(e), textOf(low), k)
			require.True(t, !tight || v[0] == least[k], "%s from %s, n=%d", textOf(e), textOf(low), k)
			found++
		}
		if high != nil {
			v, err := outside.run(high)
			require.NoError(t, err, textOf(high))
			require.GreaterOrEqual(t, v[0], most[k], "%s to %s, n=%d", textOf(e), textOf(high), k)
			require.True(t, !tight || v[0] == most[k], "%s to %s, n=%d", textOf(e), textOf(high), k)
		}
	}
	return found
}

func TestEvalInterval_Exhaustive(t *testing.T) {
	found := 0
	for seed := range uint64(4000) {
		s := newSmall(seed)
		found += s.intervals(t, s.expr(tir.Int32, 3), false)
		s.intervals(t, affine(s.r, s.vars), true)
	}
	require.Greater(t, found, 4000)
}

func TestEvalInterval_Table(t *testing.T) {
	for _, row := range []struct{ e, min, max string }{
		{"i*8 + j", "i*8", "i*8 + 7"},
		{"i*8 - j", "i*8 - 7", "i*8"},
		{"(i*8 + j)*n", "i*n*8", "n*(i*8 + 7)"},
		{"(i*8 + j)//4", "i*2", "i*2 + 1"},
		{"(i*8 + j)%%4", "0", "3"},
		{"(i*8 + j)%%8", "0", "7"},
		{"min(i*8 + j, n)", "min(i*8, n)", "min(i*8 + 7, n)"},
		{"max(j, 3)", "3", "7"},
		{"int64(i*8 + j)", "int64(i*8)", "int64(i*8 + 7)"},
		{"select(p, j, j + i)", "0", "i + 7"},
		{"i", "i", "i"},
		{"j*j", "0", "49"},
		{"i*4 + k*2", "i*4", "i*4 + n*2 - 2"},
		{"k//n", "0", "0"},
		{"j//n", "0", "7//n"},
		{"A[i]", "A[i]", "A[i]"},
		{"A[j]", "", ""},
		{"A[j]%%4", "0", "3"},
		{"extern(j)", "", ""},
	} {
		r := newReader(t)
		a := newCounted()
		i, n := r.variable("i"), r.variable("n")
		a.Bind(i, tir.I32(0), tir.I32(16))
		a.Bind(n, tir.I32(1), tir.I32(100))
		low, high := a.EvalInterval(r.read(row.e), map[*tir.Var]Domain{r.variable("j"): {tir.I32(0), tir.I32(8)},
			r.variable("k"): {tir.I32(0), n}})
		for _, x := range []struct {
			want string
			got  tir.Expr
		}{{row.min, low}, {row.max, high}} {
			if x.want == "" {
				require.Nil(t, x.got, row.e)
				continue
			}
			require.NotNil(t, x.got, row.e)
			require.Equal(t, textOf(r.read(x.want)), textOf(x.got), row.e)
		}
	}
}

func TestEvalInterval_NoDomain(t *testing.T) {
	a := newCounted()
	x, y := tir.NewVar("x", tir.Int64), tir.NewVar("y", tir.Int64)
	for name, d := range map[string]Domain{"nil": {}, "of another type": {tir.F32(1), tir.F32(2)},
		"of one another": {y, y}} {
		low, high := a.EvalInterval(x, map[*tir.Var]Domain{x: d, y: {tir.I64(0), x}})
		require.Nil(t, low, name)
		require.Nil(t, high, name)
	}
	low, high := a.EvalInterval(nil, nil)
	require.Nil(t, low)
	require.Nil(t, high)
}
