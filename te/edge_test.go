package te

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// A tensor without dimensions has one element.
func TestLower_NoDimensions(t *testing.T) {
	n := tir.NewVar("n", tir.Int64)
	a := Placeholder(dims(n), tir.Int64, "A")
	k := ReduceAxis(tir.I32(0), n, "k")
	sum := Compute(nil, "S", func(...tir.Expr) tir.Expr { return Prod(a.At(k.Var), k) })
	d := Compute(nil, "D", func(...tir.Expr) tir.Expr { return tir.Add(sum.At(), tir.I64(1)) })
	e := Compute(dims(n), "E", func(i ...tir.Expr) tir.Expr { return tir.Add(d.At(), a.At(i...)) })
	s := schedule(t, e)
	st := s.Stage(e)
	outer, inner := st.Split(e.Axes()[0], 2)
	st.Bind(outer, "blockIdx.x")
	st.Bind(inner, "threadIdx.x")
	s.Stage(d).ComputeInline()
	s.Stage(sum).ComputeAt(st, inner)
	s.Stage(sum).Split(k, 4)
	f := lower(t, s, a, e)
	in, out := newMemory(tir.Int64, 3), newMemory(tir.Int64, 3)
	in.vals = []number{{i: 2}, {i: -3}, {i: 5}}
	require.NoError(t, run(f, 1, in, out), text.Print(f))
	require.Equal(t, []int64{-27, -32, -24}, ints(out))
}

// A reduction over no points is the reducer's identity, and a tensor without elements is not computed.
func TestLower_Empty(t *testing.T) {
	n := Var("n")
	a := Placeholder(dims(n, tir.I32(3)), tir.Int32, "A")
	k, l := ReduceAxis(tir.I32(0), n, "k"), axis("l", 0, 0)
	b := Compute(dims(n, tir.I32(3)), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
	c := Compute(Dims(3), "C", func(i ...tir.Expr) tir.Expr { return Min(b.At(k.Var, i[0]), k) })
	d := Compute(Dims(3), "D", func(i ...tir.Expr) tir.Expr {
		return Sum(b.At(tir.Sub(tir.I32(0), tir.Mul(l.Var, tir.I32(4))), i[0]), l)
	})
	own := Compute(Dims(3), "Own", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(tir.I32(0), i[0]), tir.I32(1)) })
	never := Compute(Dims(3), "Never", func(i ...tir.Expr) tir.Expr {
		return Sum(own.At(tir.Add(tir.Mul(l.Var, tir.I32(4)), tir.I32(2))), l)
	})
	e := Compute(Dims(3), "E", func(i ...tir.Expr) tir.Expr {
		return tir.Add(tir.Max(c.At(i...), d.At(i...)), never.At(i...))
	})
	s := schedule(t, e)
	s.Stage(c).ComputeAt(s.Stage(e), e.Axes()[0])
	s.Stage(d).ComputeAt(s.Stage(e), e.Axes()[0])
	s.Stage(own).ComputeAt(s.Stage(never), never.Axes()[0])
	s.Stage(b).ComputeAt(s.Stage(e), e.Axes()[0])
	f := lower(t, s, a, e)
	out := newMemory(tir.Int32, 3)
	require.NoError(t, run(f, 1, newMemory(tir.Int32, 0, 3), out), text.Print(f))
	require.Equal(t, []int64{1<<31 - 1, 1<<31 - 1, 1<<31 - 1}, ints(out))
}

// Attributes of loops are lowered with the loops.
func TestLower_LoopAttributes(t *testing.T) {
	x := newABC(t)
	st := x.s.Stage(x.c)
	i, j := x.c.Axes()[0], x.c.Axes()[1]
	io, ii := st.Split(i, 4)
	st.Parallel(io)
	st.Unroll(ii)
	st.Vectorize(j)
	st.Pragma(io, "grain", 3)
	st.Pragma(x.s.Stage(x.c).Leaves()[1], "name", "inner")
	st.Reorder(io, j, ii)
	x.s.Stage(x.b).Unroll(x.k)
	var got []string
	tir.Walk(lower(t, x.s, x.a, x.c), func(n any) bool {
		if f, ok := n.(*tir.For); ok {
			got = append(got, fmt.Sprint(f.Var.Name, " ", f.Kind, " ", f.Annotations))
		}
		return true
	})
	require.Equal(t, []string{"i0 for map[]", "i1 for map[]", "k unrolled map[]", "i0.outer parallel map[grain:3]",
		"i1 vectorized map[]",
		"i0.inner unrolled map[name:inner]"}, got)
}

// If a span crosses a multiple of the divisor, its remainders can have any value.
func TestAnalyzer_Divide(t *testing.T) {
	a := newAnalyzer()
	for _, c := range [][6]int64{{8, 12, 0, 1, 0, 9}, {11, 18, 1, 1, 1, 8}, {20, 20, 2, 2, 0, 0}} {
		q, r := a.divide(span{tir.I64(c[0]), tir.I64(c[1])}, tir.I64(10))
		require.Equal(t, span{tir.I64(c[2]), tir.I64(c[3])}, q)
		require.Equal(t, span{tir.I64(c[4]), tir.I64(c[5])}, r)
	}
}

// The thread loops that load data together may have another index type than the thread loops that compute.
func TestLower_ThreadsOfTwoTypes(t *testing.T) {
	n := tir.NewVar("n", tir.Int64)
	a := Placeholder(dims(n), tir.Int32, "A")
	b := Compute(Dims(12), "B", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("if_then_else", tir.LT(i[0], n), a.At(tir.NewCast(tir.Int64, i[0])), tir.I32(7))
	})
	s := schedule(t, b)
	st := s.Stage(b)
	outer, inner := st.Split(b.Axes()[0], 5)
	st.Bind(outer, "blockIdx.x")
	st.Bind(inner, "threadIdx.x")
	shared := s.Stage(s.CacheRead(a, "shared", b))
	shared.ComputeAt(st, inner)
	shared.Bind(shared.Axes()[0], "threadIdx.x")
	f := lower(t, s, a, b)
	in, out := fill(tir.Int32, 1, 9), newMemory(tir.Int32, 12)
	require.NoError(t, run(f, 1, in, out), text.Print(f))
	require.Equal(t, append(ints(in), 7, 7, 7), ints(out))
}

// A reduction with a condition that uses axes, a user-defined reducer, and axes that do not start at 0.
func TestLower_ReduceWhere(t *testing.T) {
	a := Placeholder(Dims(4, 9), tir.Float32, "A")
	k := axis("k", 2, 6)
	last := NewReducer(func(l, r []tir.Expr) []tir.Expr { return []tir.Expr{tir.Add(tir.Add(l[0], r[0]), tir.F32(0))} },
		func([]tir.Type) []tir.Expr { return []tir.Expr{tir.F32(0)} })
	b := Compute(Dims(4), "B", func(i ...tir.Expr) tir.Expr {
		return last.OverWhere(tir.EQ(tir.FloorMod(tir.Add(i[0], k.Var), tir.I32(2)), tir.I32(0)),
			[]tir.Expr{a.At(i[0], k.Var)}, k)[0]
	})
	s := schedule(t, b)
	ko, _ := s.Stage(b).Split(k, 4)
	s.Stage(b).Reorder(ko, b.Axes()[0])
	f := lower(t, s, a, b)
	in, out := fill(tir.Float32, 1, 4, 9), newMemory(tir.Float32, 4)
	require.NoError(t, run(f, 1, in, out), text.Print(f))
	for i := range 4 {
		sum := 0.0
		for k := 2; k < 8; k++ {
			if (i+k)%2 == 0 {
				sum += in.vals[i*9+k].f
			}
		}
		require.Equal(t, sum, out.vals[i].f)
	}
}

// If a tensor provides the indices of a read, the region that is read is unknown until the function runs.
func TestLower_IndicesFromTensors(t *testing.T) {
	at, a := Placeholder(Dims(1), tir.Int32, "At"), Placeholder(Dims(9), tir.Int32, "A")
	b := Compute(Dims(9), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
	c := Compute(Dims(4), "C", func(i ...tir.Expr) tir.Expr { return tir.Add(b.At(at.At(tir.I32(0))), i[0]) })
	s := schedule(t, c)
	s.Stage(b).ComputeAt(s.Stage(c), c.Axes()[0])
	f := lower(t, s, at, a, c)
	place, in, out := newMemory(tir.Int32, 1), fill(tir.Int32, 1, 9), newMemory(tir.Int32, 4)
	place.vals[0].i = 7
	require.NoError(t, run(f, 1, place, in, out), text.Print(f))
	v := in.vals[7].i + 1
	require.Equal(t, []int64{v, v + 1, v + 2, v + 3}, ints(out))
	require.ErrorContains(t, Compute(dims(at.At(tir.I32(0))), "D", func(...tir.Expr) tir.Expr { return tir.I32(1) }).Err(),
		"the size reads a tensor")
}

// The time to lower a chain of stages, each of which reads the previous ones, does not grow exponentially.
func TestLower_LongChain(t *testing.T) {
	n := Var("n")
	a := Placeholder(dims(n), tir.Int32, "A")
	all := []*Tensor{a, a}
	for i := range 60 {
		all = append(all, Compute(dims(n), fmt.Sprintf("B%d", i), func(x ...tir.Expr) tir.Expr {
			return tir.Sub(all[i].At(x...), all[i+1].At(x...))
		}))
	}
	out := all[len(all)-1]
	s := schedule(t, out)
	outer, _ := s.Stage(out).Split(out.Axes()[0], 4)
	for _, x := range all[2 : len(all)-1] {
		s.Stage(x).ComputeAt(s.Stage(out), outer)
	}
	f := lower(t, s, a, out)
	in, got := fill(tir.Int32, 1, 6), newMemory(tir.Int32, 6)
	require.NoError(t, run(f, 1, in, got))
	for i, v := range ints(in) {
		x, y := int32(v), int32(v)
		for range 60 {
			x, y = y, x-y
		}
		require.Equal(t, int64(y), got.vals[i].i)
	}
}

// A schedule can be lowered several times, and changed in between.
func TestLower_Again(t *testing.T) {
	x := newABC(t)
	first := lower(t, x.s, x.a, x.c)
	require.Equal(t, text.Print(first), text.Print(lower(t, x.s, x.a, x.c)))
	x.s.Stage(x.b).ComputeAt(x.s.Stage(x.c), x.c.Axes()[1])
	require.NotEqual(t, text.Print(first), text.Print(lower(t, x.s, x.a, x.c)))
	x.s.Stage(x.b).ComputeRoot()
	require.Equal(t, text.Print(first), text.Print(lower(t, x.s, x.a, x.c)))
}

// A loop's extent is known to be at least 1 only inside the loop. Code after it must still handle an empty tensor.
func TestLower_OtherLoopsMayBeEmpty(t *testing.T) {
	n, m := Var("n"), Var("m")
	a, at := Placeholder(dims(n), tir.Int32, "A"), Placeholder(dims(m), tir.Int32, "at")
	twice := Compute(dims(n), "twice", func(i ...tir.Expr) tir.Expr { return tir.Mul(a.At(i...), tir.I32(2)) })
	k := ReduceAxis(tir.I32(0), n, "k")
	total := Compute(dims(m), "total", func(i ...tir.Expr) tir.Expr { return Sum(twice.At(k.Var), k) })
	out := Compute(dims(m), "out", func(i ...tir.Expr) tir.Expr {
		size := tir.Max(n, tir.I32(1))
		element := tir.Intrin("if_then_else", tir.GT(n, tir.I32(0)), twice.At(tir.FloorMod(at.At(i...), size)), tir.I32(-1))
		return tir.Add(tir.Add(element, total.At(i...)), tir.FloorDiv(tir.I32(60), size))
	})
	for _, attached := range []bool{false, true} {
		s := schedule(t, out)
		if attached {
			s.Stage(total).ComputeAt(s.Stage(out), out.Axes()[0])
		}
		f := lower(t, s, a, at, out)
		for size, want := range map[int64]int64{0: 59, 3: 2*5 + 2*(3+4+5) + 20} {
			in, index, got := newMemory(tir.Int32, size), newMemory(tir.Int32, 2), newMemory(tir.Int32, 2)
			for i := range in.vals {
				in.vals[i] = in.number(float64(i) + 3)
			}
			index.vals[0], index.vals[1] = index.number(2), index.number(5)
			require.NoError(t, run(f, 1, in, index, got), text.Print(f))
			require.Equal(t, []int64{want, want}, ints(got), text.Print(f))
		}
	}
}
