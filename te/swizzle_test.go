//go:build cgo

package te

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// transposed is a transposition of a [32, 48] tensor by tiles of [16, 16] in shared memory, which 16 threads fill by
// vectors of 4 elements and read by columns; arrange changes the tile's memory.
func transposed(t *testing.T, arrange func(st *Stage)) *tir.PrimFunc {
	a := Placeholder(Dims(32, 48), tir.Int32, "A")
	b := Compute(Dims(48, 32), "B", func(i ...tir.Expr) tir.Expr { return a.At(i[1], i[0]) })
	s := schedule(t, b)
	st := s.Stage(b)
	yo, xo, y, x := st.Tile(b.Axes()[0], b.Axes()[1], 16, 16)
	st.Bind(st.Fuse(yo, xo), "blockIdx.x")
	tile := s.Stage(s.CacheRead(a, "shared", b))
	tile.ComputeAt(st, st.Leaves()[0])
	share := func(st *Stage, all *tir.IterVar) {
		rest, lane := st.Split(all, 4)
		_, thread := st.Split(rest, 16)
		st.Bind(thread, "threadIdx.x")
		st.Vectorize(lane)
	}
	share(st, st.Fuse(y, x))
	share(tile, tile.Fuse(tile.Axes()[0], tile.Axes()[1]))
	arrange(tile)
	return lower(t, s, a, b)
}

func checkTransposed(t *testing.T, f *tir.PrimFunc) {
	t.Helper()
	x, y := fill(tir.Int32, 1, 32, 48), newMemory(tir.Int32, 48, 32)
	require.NoError(t, run(f, 1, x, y), text.Print(f))
	for i := range 48 {
		for j := range 32 {
			require.Equal(t, x.vals[j*48+i].i, y.vals[i*32+j].i)
		}
	}
}

// Groups of a row change places, and stay contiguous: vectors remain vectors, and no barrier is needed between the
// stores of different threads.
func TestStorageSwizzle(t *testing.T) {
	for _, c := range []struct{ width, step int }{{4, 4}, {4, 1}, {1, 1}, {2, 3}, {16, 1}, {8, 1000}} {
		f := transposed(t, func(st *Stage) { st.StorageSwizzle(st.Axes()[0], c.width, c.step) })
		checkTransposed(t, f)
		g := must.Get(deviceForm(f))(t)
		checkTransposed(t, g)
		got := text.Print(g)
		require.Equal(t, 1, strings.Count(got, "storage_sync"), "%v\n%s", c, got)
		if c.width >= 4 {
			require.Regexp(t, `A.shared\[[^=]*ramp\(.*, 1, 4\)\] = A\[`, got)
		}
	}
	f := transposed(t, func(st *Stage) { st.StorageSwizzle(st.Axes()[0], 4, 4) })
	require.Contains(t, text.Print(f), "bitwise_xor(")
	require.Contains(t, text.Print(f), `alloc A.shared: int32[16, 16], scope "shared"`)
}

// Rows that are no power of two of groups are extended. Gaps of storage_align are possible as well.
func TestStorageSwizzle_Extends(t *testing.T) {
	a := Placeholder(Dims(5, 11), tir.Int32, "A")
	b := Compute(Dims(5, 11), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
	c := Compute(Dims(11, 5), "C", func(i ...tir.Expr) tir.Expr { return b.At(i[1], i[0]) })
	for _, gap := range []bool{false, true} {
		s := schedule(t, c)
		s.Stage(b).StorageSwizzle(b.Axes()[0], 2, 1)
		want := "alloc B: int32[5, 16]\n"
		if gap {
			s.Stage(b).StorageAlign(b.Axes()[0], 32, 1)
			want = "alloc B: int32[5, 16], strides [33, 1]\n"
		}
		f := lower(t, s, a, c)
		require.Contains(t, text.Print(f), want)
		x, y := fill(tir.Int32, 1, 5, 11), newMemory(tir.Int32, 11, 5)
		require.NoError(t, run(f, 1, x, y), text.Print(f))
		for i := range 11 {
			for j := range 5 {
				require.Equal(t, x.vals[j*11+i].i+1, y.vals[i*5+j].i)
			}
		}
	}
}

// The memory of arguments, of scans and of extern operations has one order, and rows of a variable size none.
func TestStorageSwizzle_Refused(t *testing.T) {
	n := Var("n")
	a := Placeholder([]tir.Expr{n, n}, tir.Float32, "A")
	b := Compute([]tir.Expr{n, n}, "B", func(i ...tir.Expr) tir.Expr { return a.At(i[1], i[0]) })
	c := Compute([]tir.Expr{n, n}, "C", func(i ...tir.Expr) tir.Expr { return b.At(i...) })
	s := schedule(t, c)
	s.Stage(b).StorageSwizzle(b.Axes()[0], 4, 4)
	_, err := Lower(s, []any{a, c}, "f")
	require.ErrorContains(t, err, "storage_swizzle of tensor B: its last dimension, axis i1, has n elements, and the "+
		"number must be constant")
	_, err = Lower(s, []any{a, b, c}, "f")
	require.ErrorContains(t, err, "the memory of tensor B is the caller's: leave out set_scope, storage_align, "+
		"storage_swizzle and double_buffer")

	x := Placeholder(Dims(4, 8), tir.Float32, "X")
	y := Compute(Dims(4, 8), "Y", func(i ...tir.Expr) tir.Expr { return x.At(i...) })
	z := Extern([]ExternResult{{Shape: Dims(4, 8), Type: tir.Float32}}, []*Tensor{y}, "Z",
		func(ins, outs []*tir.Buffer) tir.Stmt {
			return &tir.BufferStore{Buffer: outs[0], Value: tir.BufferAt(ins[0], tir.I32(0), tir.I32(0)),
				Indices: []tir.Expr{tir.I32(0), tir.I32(0)}}
		})[0]
	s = schedule(t, z)
	s.Stage(y).StorageSwizzle(y.Axes()[0], 4, 1)
	require.ErrorContains(t, s.Err(), "storage_swizzle of tensor Y: axis i0: extern operation Z reads its buffer")
}
