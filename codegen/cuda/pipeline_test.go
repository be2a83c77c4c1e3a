package cuda_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
)

// asyncProduct is a product of n × inner and inner × n numbers whose tiles of A are copied asynchronously, two
// iterations ahead. Each block computes a row.
func asyncProduct(t *testing.T, name string, n, inner int32) *tir.IRModule {
	t.Helper()
	a, b := te.Placeholder(te.Dims(n, inner), tir.Float32, "A"), te.Placeholder(te.Dims(inner, n), tir.Float32, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(inner), "k")
	c := te.Compute(te.Dims(n, n), "C",
		func(i ...tir.Expr) tir.Expr { return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k) })
	return gpuprograms.Scheduled(t, name, []any{a, b, c}, c)(func(s *te.Schedule) {
		local := s.CacheWrite(c, "local")
		tile := s.CacheRead(a, "shared", local)
		st := s.Stage(c)
		st.Bind(c.Axes()[0], "blockIdx.x")
		st.Bind(c.Axes()[1], "threadIdx.x")
		sums := s.Stage(local)
		sums.ComputeAt(st, c.Axes()[1])
		ko, ki := sums.Split(k, 8)
		sums.Reorder(ko, ki)
		copies := s.Stage(tile)
		copies.ComputeAt(sums, ko)
		_, lane := copies.Split(tile.Axes()[1], 8)
		copies.Bind(lane, "threadIdx.x")
		copies.PipelineAsync(3)
	})
}

// A product whose tiles of A are copied asynchronously, two iterations ahead, is correct when it is executed with the
// checks of package cudarun: no access before a copy has arrived, and no race.
func TestRun_AsyncPipeline(t *testing.T) {
	const n, inner = 32, 40
	m := asyncProduct(t, "product", n, inner)
	code := source(t, m)
	require.Contains(t, code, "tvmgo_cp_async_4(", code)
	require.Equal(t, 1, strings.Count(code, "tvmgo_cp_async_wait<1>()"), code)
	for _, arch := range archs {
		compiled(t, code, arch)
	}
	library := must.Get(cudarun.Compile(code, cudarun.Options{Arch: 80}))(t)
	x, y, got := make([]float32, n*inner), make([]float32, inner*n), make([]float32, n*n)
	for i := range x {
		x[i], y[i] = float32(rand.IntN(9)-4), float32(rand.IntN(9)-4)
	}
	require.NoError(t, library.Launch("product_kernel", cudarun.Grid{Blocks: cudarun.Dim{n}, Threads: cudarun.Dim{n}},
		x, y, got))
	for i := range n {
		for j := range n {
			sum := float32(0)
			for l := range inner {
				sum += x[i*inner+l] * y[l*n+j]
			}
			require.Equal(t, sum, got[i*n+j])
		}
	}
}
