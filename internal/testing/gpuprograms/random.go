package gpuprograms

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/te"
	"tvmgo/tir"
)

// RandomProduct is A·B + 1 with a random schedule: tiles, threads, stages in shared memory that blocks load together,
// sums in local memory, and vectors. Tiles need not divide the sizes.
func RandomProduct(t testing.TB, r *rand.Rand) (m *tir.IRModule, rows, inner, cols int64) {
	t.Helper()
	n, l, w := int32(r.IntN(20)+1), int32(r.IntN(20)+1), int32(r.IntN(20)+1)
	a, b := te.Placeholder(te.Dims(n, l), tir.Int32, "A"), te.Placeholder(te.Dims(l, w), tir.Int32, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(l), "k")
	p := te.Compute(te.Dims(n, w), "P",
		func(i ...tir.Expr) tir.Expr { return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k) })
	c := te.Compute(te.Dims(n, w), "C", func(i ...tir.Expr) tir.Expr { return tir.Add(p.At(i...), tir.I32(1)) })
	s := must.Get(te.NewSchedule(c))(t)
	some := func(all ...int) int { return all[r.IntN(len(all))] }
	st := s.Stage(c)
	tileY, tileX := some(2, 4, 5, 8), some(2, 3, 4, 8)
	by, bx, ty, tx := st.Tile(c.Axes()[0], c.Axes()[1], tileY, tileX)
	threads := []string{"threadIdx.y", "threadIdx.x"}
	inside := tx
	if r.IntN(2) == 0 {
		var xi *tir.IterVar
		tx, xi = st.Split(tx, 2)
		st.Reorder(by, bx, ty, tx, xi)
		inside = tx
		switch r.IntN(4) {
		case 0:
			st.Vectorize(xi)
		case 1:
			st.Bind(xi, "vthread")
			st.Reorder(by, bx, xi, ty, tx)
		}
	}
	st.Bind(by, "blockIdx.y")
	st.Bind(bx, "blockIdx.x")
	st.Bind(ty, threads[0])
	st.Bind(tx, threads[1])
	sums := s.Stage(p)
	switch r.IntN(3) {
	case 0: // sums in the memory of a thread
		sums.ComputeAt(st, inside)
	case 1: // sums in the memory of a block, computed by all its threads
		sums.ComputeAt(st, bx)
		sums.SetScope("shared")
		if r.IntN(2) == 0 {
			o, i := sums.Split(p.Axes()[1], some(2, 3))
			sums.Bind(i, "threadIdx.x")
			_ = o
		}
		if r.IntN(2) == 0 {
			sums.Bind(p.Axes()[0], "threadIdx.y")
		}
		ko, _ := sums.Split(k, some(2, 3))
		_ = ko
		require.NoError(t, s.Err())
		return lowered(t, s, a, b, c), int64(n), int64(l), int64(w)
	case 2:
		sums.ComputeAt(st, inside)
		sums.SetScope("local")
	}
	ko, ki := sums.Split(k, some(1, 2, 4))
	sums.Reorder(ko, ki, p.Axes()[0], p.Axes()[1])
	for _, x := range []*te.Tensor{a, b} {
		if r.IntN(4) == 0 {
			continue
		}
		tile := s.CacheRead(x, "shared", p)
		cs := s.Stage(tile)
		cs.ComputeAt(sums, ko)
		if r.IntN(3) > 0 {
			f := cs.Fuse(cs.Axes()[0], cs.Axes()[1])
			fo, fi := cs.Split(f, some(2, 3, 4))
			cs.Bind(fi, threads[r.IntN(2)])
			_ = fo
		} else {
			cs.Bind(cs.Axes()[r.IntN(2)], threads[r.IntN(2)])
		}
		switch r.IntN(3) {
		case 0:
			cs.StorageAlign(cs.Axes()[0], 4, 1)
		case 1:
			cs.StorageSwizzle(cs.Axes()[0], some(1, 2, 4), some(1, 2, 3))
		}
	}
	return lowered(t, s, a, b, c), int64(n), int64(l), int64(w)
}

func lowered(t testing.TB, s *te.Schedule, args ...any) *tir.IRModule {
	t.Helper()
	return must.Get(te.Lower(s, args, "product"))(t)
}

// Product is A·B + 1.
func Product(t testing.TB, a, b *tirrun.Array) []int64 {
	t.Helper()
	x := must.Get(tirrun.Values[int64](a))(t)
	y := must.Get(tirrun.Values[int64](b))(t)
	rows, inner, cols := a.Shape[0], a.Shape[1], b.Shape[1]
	out := make([]int64, rows*cols)
	for i := range rows {
		for j := range cols {
			sum := int64(1)
			for k := range inner {
				sum += x[i*inner+k] * y[k*cols+j]
			}
			out[i*cols+j] = sum
		}
	}
	return out
}

// Array returns random numbers of a type: between -1 and 1, or small integers.
func Array(t testing.TB, r *rand.Rand, typ tir.Type, shape ...int64) *tirrun.Array {
	t.Helper()
	n := must.Get(dlpack.NumElements(shape))(t)
	v := make([]float64, n)
	for i := range v {
		if v[i] = r.Float64()*2 - 1; !tir.IsFloat(typ) {
			v[i] = float64(r.IntN(200) - 100)
		}
		if tir.IsBool(typ) {
			v[i] = float64(r.IntN(2))
		}
	}
	return must.Get(tirrun.From(typ, v, shape...))(t)
}
