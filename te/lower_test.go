package te

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// fill returns memory with small integers, whose sums and products are exact.
func fill(t tir.Type, seed uint64, shape ...int64) *memory {
	r := rand.New(rand.NewPCG(seed, 1))
	m := newMemory(t, shape...)
	for i := range m.vals {
		m.vals[i] = m.number(float64(r.Int64N(15) - 7))
	}
	return m
}

func lower(t *testing.T, s *Schedule, args ...any) *tir.PrimFunc {
	t.Helper()
	m := must.Get(Lower(s, args, "f"))(t)
	return m.Func("f")
}

func schedule(t *testing.T, outs ...*Tensor) *Schedule {
	t.Helper()
	return must.Get(NewSchedule(outs...))(t)
}

func TestLower_Elementwise(t *testing.T) {
	n := Var("n")
	a := Placeholder([]tir.Expr{n}, tir.Int32, "A")
	b := Compute([]tir.Expr{n}, "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
	c := Compute([]tir.Expr{n}, "C", func(i ...tir.Expr) tir.Expr { return tir.Mul(b.At(i...), a.At(i...)) })
	f := lower(t, schedule(t, c), a, c)
	in, out := fill(tir.Int32, 1, 9), newMemory(tir.Int32, 9)
	require.NoError(t, run(f, 1, in, out))
	for i, v := range ints(in) {
		require.Equal(t, (v+1)*v, out.vals[i].i)
	}
}

func TestLower_Matmul(t *testing.T) {
	const N, M, K = 5, 7, 6
	a, b := Placeholder(Dims(N, K), tir.Int32, "A"), Placeholder(Dims(K, M), tir.Int32, "B")
	k := ReduceAxis(tir.I32(0), tir.I32(K), "k")
	c := Compute(Dims(N, M), "C", func(i ...tir.Expr) tir.Expr {
		return Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k)
	})
	s := schedule(t, c)
	st := s.Stage(c)
	io, jo, ii, ji := st.Tile(c.Axes()[0], c.Axes()[1], 2, 4)
	ko, ki := st.Split(k, 4)
	st.Reorder(io, jo, ko, ii, ki, ji)
	st.Vectorize(ji)
	st.Unroll(ki)
	st.Parallel(st.Fuse(io, jo))
	f := lower(t, s, a, b, c)
	x, y, z := fill(tir.Int32, 1, N, K), fill(tir.Int32, 2, K, M), newMemory(tir.Int32, N, M)
	require.NoError(t, run(f, 1, x, y, z))
	for i := range N {
		for j := range M {
			sum := int64(0)
			for k := range K {
				sum += x.vals[i*K+k].i * y.vals[k*M+j].i
			}
			require.Equal(t, sum, z.vals[i*M+j].i)
		}
	}
}

func TestLower_ArgMax(t *testing.T) {
	a := Placeholder(Dims(4, 3, 5), tir.Float32, "A")
	j, k := ReduceAxis(tir.I32(0), tir.I32(3), "j"), ReduceAxis(tir.I32(1), tir.I32(4), "k")
	for name, c := range map[string]struct {
		reduce func(tir.Expr, ...*tir.IterVar) []tir.Expr
		better func(a, b float64) bool
	}{
		"max": {ArgMax, func(a, b float64) bool { return a > b }},
		"min": {ArgMin, func(a, b float64) bool { return a < b }},
	} {
		t.Run(name, func(t *testing.T) {
			out := ComputeMulti(Dims(4), "M", func(i ...tir.Expr) []tir.Expr { return c.reduce(a.At(i[0], j.Var, k.Var), j, k) })
			s := schedule(t, out...)
			s.Stage(out[0]).Reorder(k, j)
			f := lower(t, s, a, out[0], out[1])
			x, at, v := fill(tir.Float32, 3, 4, 3, 5), newMemory(tir.Int32, 4), newMemory(tir.Float32, 4)
			require.NoError(t, run(f, 1, x, at, v))
			for i := range 4 {
				best, where := 0.0, -1
				for j := range 3 {
					for k := range 4 {
						if y := x.vals[i*15+j*5+k+1].f; where < 0 || c.better(y, best) {
							best, where = y, j*4+k
						}
					}
				}
				require.Equal(t, int64(where), at.vals[i].i)
				require.Equal(t, best, v.vals[i].f)
			}
		})
	}
}
