package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// TestLower_SharedTiles is a matrix product as on a GPU: blocks of threads load tiles together, and each thread
// accumulates in local memory. The tile sizes divide no dimension, and loading uses more threads than computing.
func TestLower_SharedTiles(t *testing.T) {
	const N, M, K = 13, 11, 10
	a, b := Placeholder(Dims(N, K), tir.Int32, "A"), Placeholder(Dims(K, M), tir.Int32, "B")
	k := axis("k", 0, K)
	c := Compute(Dims(N, M), "C", func(i ...tir.Expr) tir.Expr {
		return Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k)
	})
	s := schedule(t, c)
	local := s.CacheWrite(c, "local")
	as, bs := s.CacheRead(a, "shared", local), s.CacheRead(b, "shared", local)
	st := s.Stage(c)
	by, bx, ty, tx := st.Tile(c.Axes()[0], c.Axes()[1], 6, 4)
	tx2, xi := st.Split(tx, 2)
	st.Reorder(by, bx, ty, tx2, xi)
	st.Bind(by, "blockIdx.y")
	st.Bind(bx, "blockIdx.x")
	st.Bind(ty, "threadIdx.y")
	st.Bind(tx2, "threadIdx.x")
	lst := s.Stage(local)
	lst.ComputeAt(st, tx2)
	ko, ki := lst.Split(k, 4)
	lst.Reorder(ko, ki, lst.Axes()[0], lst.Axes()[1])
	for _, x := range []*Tensor{as, bs} {
		cs := s.Stage(x)
		cs.ComputeAt(lst, ko)
		f := cs.Fuse(cs.Axes()[0], cs.Axes()[1])
		fo, fi := cs.Split(f, 8)
		cs.Bind(fo, "threadIdx.x")
		cs.Bind(fi, "threadIdx.y")
		cs.StorageAlign(cs.Axes()[0], 8, 1)
	}
	s.Stage(as).DoubleBuffer()
	f := lower(t, s, a, b, c)
	x, y, z := fill(tir.Int32, 1, N, K), fill(tir.Int32, 2, K, M), newMemory(tir.Int32, N, M)
	require.NoError(t, run(f, 1, x, y, z), text.Print(f))
	require.Contains(t, text.Print(f), `alloc A.shared: int32[6, 4], strides [9, 1], scope "shared"`)
	require.Contains(t, text.Print(f), `attr "double_buffer_scope" buffer A.shared = 1`)
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
