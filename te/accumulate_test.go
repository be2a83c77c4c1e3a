package te

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// A thread of a device accumulates in registers, whichever order its loops have, and stores each result once.
func TestLower_Registers(t *testing.T) {
	const N, M, K = 6, 11, 7
	for name, row := range map[string]struct {
		schedule  func(s *Schedule, c *Tensor, k *tir.IterVar)
		registers string // the allocation; "" if there is none
	}{
		"one element": {func(s *Schedule, c *Tensor, k *tir.IterVar) {
			s.Stage(c).Bind(c.Axes()[0], "blockIdx.x")
			s.Stage(c).Bind(c.Axes()[1], "threadIdx.x")
		}, "C.acc: int32[1]"},
		"a tile that does not divide, inside the reduction": {func(s *Schedule, c *Tensor, k *tir.IterVar) {
			st := s.Stage(c)
			y, x, yi, xi := st.Tile(c.Axes()[0], c.Axes()[1], 4, 2)
			ko, ki := st.Split(k, 3)
			st.Reorder(y, x, ko, yi, ki, xi)
			st.Bind(y, "blockIdx.x")
			st.Bind(x, "threadIdx.x")
			st.Vectorize(xi)
		}, "C.acc: int32[4, 2]"},
		"threads inside the reduction": {func(s *Schedule, c *Tensor, k *tir.IterVar) {
			st := s.Stage(c)
			st.Reorder(c.Axes()[0], k, c.Axes()[1])
			st.Bind(c.Axes()[0], "blockIdx.x")
			st.Bind(c.Axes()[1], "threadIdx.x")
		}, ""},
		"all elements of a thread at once": {func(s *Schedule, c *Tensor, k *tir.IterVar) {
			st := s.Stage(c)
			u := st.UnitAxis("u")
			f := st.Fuse(c.Axes()[0], c.Axes()[1])
			o, i := st.SplitParts(f, 1)
			st.Reorder(u, o, k, i)
			st.Bind(u, "blockIdx.x")
			st.Bind(o, "threadIdx.x")
		}, "C.acc: int32[66]"},
		"no threads": {func(s *Schedule, c *Tensor, k *tir.IterVar) {}, ""},
		"registers already": {func(s *Schedule, c *Tensor, k *tir.IterVar) {
			local := s.CacheWrite(c, "local")
			s.Stage(c).Bind(c.Axes()[0], "blockIdx.x")
			s.Stage(c).Bind(c.Axes()[1], "threadIdx.x")
			s.Stage(local).ComputeAt(s.Stage(c), c.Axes()[1])
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Placeholder(Dims(N, K), tir.Int32, "A"), Placeholder(Dims(K, M), tir.Int32, "B")
			k := axis("k", 0, K)
			c := Compute(Dims(N, M), "C", func(i ...tir.Expr) tir.Expr {
				return Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k)
			})
			s := schedule(t, c)
			row.schedule(s, c, k)
			f := lower(t, s, a, b, c)
			loops := text.Print(f)
			require.Equal(t, row.registers != "", strings.Contains(loops, ".acc"), loops)
			if row.registers != "" {
				require.Contains(t, loops, "alloc "+row.registers+`, scope "local"`)
				require.NotContains(t, loops, "= C[", "an accumulator in global memory")
				require.Equal(t, 1, strings.Count(loops, " C["), "C is stored once: %s", loops)
			}
			x, y, z := fill(tir.Int32, 1, N, K), fill(tir.Int32, 2, K, M), newMemory(tir.Int32, N, M)
			require.NoError(t, run(f, 1, x, y, z), loops)
			for i := range N {
				for j := range M {
					sum := int64(0)
					for k := range K {
						sum += x.vals[i*K+k].i * y.vals[k*M+j].i
					}
					require.Equal(t, sum, z.vals[i*M+j].i)
				}
			}
		})
	}
}

// Each result of a reduction to several has registers. A number of elements that is not known or too large for
// registers has none.
func TestLower_RegistersOfSeveral(t *testing.T) {
	m := tir.NewVar("m", tir.Int32)
	for name, row := range map[string]struct {
		columns tir.Expr
		want    []string
	}{
		"two results":       {tir.I32(maxRegisters), []string{"alloc Y.v0.acc: int32[128]", "alloc Y.v1.acc: int32[128]"}},
		"too many":          {tir.I32(maxRegisters + 1), nil},
		"an unknown number": {m, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := Placeholder([]tir.Expr{tir.I32(3), row.columns, tir.I32(5)}, tir.Int32, "X")
			k := axis("k", 0, 5)
			y := ComputeMulti([]tir.Expr{tir.I32(3), row.columns}, "Y", func(i ...tir.Expr) []tir.Expr {
				return ArgMax(x.At(i[0], i[1], k.Var), k)
			})
			s := schedule(t, y[0])
			st := s.Stage(y[0])
			st.Reorder(y[0].Axes()[0], k, y[0].Axes()[1])
			st.Bind(y[0].Axes()[0], "threadIdx.x")
			args := []any{x, y[0], y[1]}
			if row.columns == tir.Expr(m) {
				args = append(args, m)
			}
			loops := text.Print(lower(t, s, args...))
			for _, want := range row.want {
				require.Contains(t, loops, want)
			}
			require.Equal(t, len(row.want) > 0, strings.Contains(loops, ".acc"), loops)
		})
	}
}
