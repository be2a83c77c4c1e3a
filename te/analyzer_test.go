package te

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/tirrun"
	"tvmgo/tir"
)

// formulas draws expressions of whole numbers over some variables.
type formulas struct {
	*rand.Rand
	vars, sizes []*tir.Var
}

func (f *formulas) draw(depth int) tir.Expr {
	if depth == 0 || f.IntN(6) == 0 {
		if f.IntN(3) == 0 {
			return tir.I32(int32(f.IntN(9) - 3))
		}
		return f.vars[f.IntN(len(f.vars))]
	}
	a := f.draw(depth - 1)
	divisor := tir.Expr(tir.I32(int32(1 + f.IntN(5))))
	if f.IntN(3) == 0 {
		divisor = f.sizes[f.IntN(len(f.sizes))]
	}
	switch f.IntN(11) {
	case 0, 1, 2:
		return tir.Add(a, f.draw(depth-1))
	case 3:
		return tir.Sub(a, f.draw(depth-1))
	case 4:
		return tir.Mul(a, f.draw(depth-1))
	case 5:
		return tir.FloorDiv(a, divisor)
	case 6:
		return tir.FloorMod(a, divisor)
	case 7:
		return tir.Div(a, divisor)
	case 8:
		return tir.Mod(a, divisor)
	case 9:
		return tir.Min(a, f.draw(depth-1))
	}
	return tir.Max(a, f.draw(depth-1))
}

// TestAnalyzer compares what is said of expressions with their values at all points of their loops.
func TestAnalyzer(t *testing.T) {
	n, m, p, x, y, z := Var("n"), Var("m"), Var("p"), Var("x"), Var("y"), Var("z")
	known, nonNegative, shorter := 0, 0, 0
	for seed := range uint64(600) {
		f := &formulas{rand.New(rand.NewPCG(seed, 7)), []*tir.Var{n, m, p, x, y, z}, []*tir.Var{n, m}}
		a := newAnalyzer()
		a.sizes[n], a.sizes[m] = true, true
		a.loops = map[*tir.Var]tir.Expr{x: n, y: tir.I32(4), z: tir.Mul(n, m)}
		e := f.draw(4)
		simple := a.simplify(e)
		if len(exprKey(simple)) < len(exprKey(e)) {
			shorter++
		}
		s := a.spanOf(a.poly(e), a.loopSpan)
		positive := a.nonNegative(a.poly(e))
		if s.known() {
			known++
		}
		if positive {
			nonNegative++
		}
		what := fmt.Sprintf("seed %d: %s, simplified %s", seed, tir.Print(e), tir.Print(simple))
		for range 12 {
			nv, mv := 1+f.Int64N(4), 1+f.Int64N(3)
			at := map[*tir.Var]any{n: nv, m: mv, p: f.Int64N(9) - 4, x: f.Int64N(nv), y: f.Int64N(4), z: f.Int64N(nv * mv)}
			value := func(e tir.Expr) int64 {
				v, err := tirrun.Eval(e, at)
				require.NoError(t, err, what)
				return v.(int64)
			}
			v := value(e)
			require.Equal(t, v, value(simple), "%s at %v", what, at)
			require.True(t, !positive || v >= 0, "%s is said not to be negative, at %v", what, at)
			if s.lo != nil {
				require.LessOrEqual(t, value(s.lo.expr()), v, "%s: from %s on, at %v", what, tir.Print(s.lo.expr()), at)
			}
			if s.hi != nil {
				require.GreaterOrEqual(t, value(s.hi.expr()), v, "%s: up to %s, at %v", what, tir.Print(s.hi.expr()), at)
			}
		}
	}
	t.Logf("of 600 expressions: %d with known ends, %d not negative, %d shorter", known, nonNegative, shorter)
	require.Greater(t, known, 150)
	require.Greater(t, nonNegative, 60)
	require.Greater(t, shorter, 300)
}

// What fusions of axes of any size need.
func TestAnalyzer_Fusion(t *testing.T) {
	n, m, f := Var("n"), Var("m"), Var("f")
	a := newAnalyzer()
	a.sizes[n], a.sizes[m] = true, true
	a.loops[f] = tir.Mul(n, m)
	for e, want := range map[tir.Expr]string{
		tir.FloorDiv(f, m): "n - 1",
		tir.FloorMod(f, m): "m - 1",
		tir.FloorDiv(tir.Add(tir.Mul(tir.FloorDiv(f, m), tir.I32(4)), tir.I32(3)), tir.I32(4)): "n - 1",
	} {
		s := a.spanOf(a.poly(e), a.loopSpan)
		require.True(t, s.known())
		require.True(t, s.lo.is(0))
		require.Equal(t, want, tir.Print(s.hi.expr()))
	}
}
