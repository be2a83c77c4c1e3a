package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// A tensor without dimensions is computed by a kernel of one thread.
func TestUnitAxis(t *testing.T) {
	a := Placeholder(Dims(5), tir.Int32, "A")
	k := axis("k", 0, 5)
	c := Compute(nil, "C", func(...tir.Expr) tir.Expr { return Sum(a.At(k.Var), k) })
	s := schedule(t, c)
	st := s.Stage(c)
	one := st.UnitAxis("one")
	block, thread := st.Split(one, 1)
	st.Bind(block, "blockIdx.x")
	st.Bind(thread, "threadIdx.x")
	require.Equal(t, []*tir.IterVar{block, thread, k}, st.Leaves())
	f := lower(t, s, a, c)
	require.Contains(t, text.Print(f), `in range(1), thread "threadIdx.x"`)
	x, y := fill(tir.Int32, 1, 5), newMemory(tir.Int32)
	require.NoError(t, run(f, 1, x, y))
	sum := int64(0)
	for _, v := range x.vals {
		sum += v.i
	}
	require.Equal(t, sum, y.vals[0].i)

	s = schedule(t, c)
	s.Stage(a).UnitAxis("one")
	require.EqualError(t, s.Err(), "te: unit axis of tensor A: it is an argument, which is not computed")
}

// A loop of variable size has no more parts than iterations, and none is lost.
func TestSplitParts_VariableSize(t *testing.T) {
	n := Var("n")
	a := Placeholder([]tir.Expr{n}, tir.Int32, "A")
	b := Compute([]tir.Expr{n}, "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
	s := schedule(t, b)
	st := s.Stage(b)
	block, again := st.SplitParts(b.Axes()[0], 4)
	st.Bind(block, "blockIdx.x")
	f := lower(t, s, a, b)
	require.Contains(t, text.Print(f), `in range(min(4, n)), thread "blockIdx.x"`)
	_ = again
	for size := int64(0); size < 20; size++ {
		x, y := fill(tir.Int32, 1, size), newMemory(tir.Int32, size)
		require.NoError(t, run(f, 1, x, y), size)
		for i := range x.vals {
			require.Equal(t, x.vals[i].i+1, y.vals[i].i)
		}
	}
}
