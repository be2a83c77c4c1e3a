package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// TestNonTemporal marks the stores of a result, by vectors, by an intrinsic and at edges. Results stay the same.
func TestNonTemporal(t *testing.T) {
	a := Placeholder(Dims(6, 40), tir.Int32, "A")
	twice := func(x *Tensor, name string) *Tensor {
		return Compute(Dims(6, 40), name, func(i ...tir.Expr) tir.Expr { return tir.Mul(x.At(i...), tir.I32(2)) })
	}
	b := twice(a, "B")
	out := twice(b, "out")
	s := schedule(t, out)
	_, lane := s.Stage(out).Split(out.Axes()[1], 16)
	s.Stage(out).Vectorize(lane)
	s.Stage(out).Parallel(out.Axes()[0])
	s.Stage(out).NonTemporal()
	f := lower(t, s, a, out)
	marked := 0
	tir.Walk(f.Body, func(node any) bool {
		if x, ok := node.(*tir.AttrStmt); ok && x.Key == tir.AttrNonTemporal {
			require.Equal(t, "out", x.Node.(*tir.Buffer).Name)
			marked++
		}
		return true
	})
	require.Positive(t, marked, text.Print(f))
	A, O := fill(tir.Int32, 1, 6, 40), newMemory(tir.Int32, 6, 40)
	require.NoError(t, run(f, 1, A, O), text.Print(f))
	for p := range O.vals {
		require.Equal(t, 4*A.vals[p].i, O.vals[p].i)
	}

	s = schedule(t, twice(b, "out"))
	s.Stage(b).NonTemporal()
	require.ErrorContains(t, s.Err(), "nontemporal of tensor B: it is not a result of the schedule")
	k := ReduceAxis(tir.I32(0), tir.I32(40), "k")
	sum := Compute(Dims(6), "sum", func(i ...tir.Expr) tir.Expr { return Sum(a.At(i[0], k.Var), k) })
	s = schedule(t, sum)
	s.Stage(sum).NonTemporal()
	require.ErrorContains(t, s.Err(), "nontemporal of tensor sum: it does not store each element of one tensor once")
}
