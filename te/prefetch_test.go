package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// TestPrefetch fetches the rows, or the tiles, that a later iteration reads. Results stay the same.
func TestPrefetch(t *testing.T) {
	a := Placeholder(Dims(40, 32), tir.Int32, "A")
	twice := func() *Tensor {
		return Compute(Dims(39, 32), "out", func(i ...tir.Expr) tir.Expr {
			return tir.Add(a.At(i...), a.At(tir.Add(i[0], tir.I32(1)), i[1]))
		})
	}
	check := func(s *Schedule, out *Tensor, parts ...string) {
		t.Helper()
		f := lower(t, s, a, out)
		for _, p := range parts {
			require.Contains(t, text.Print(f), p)
		}
		A, O := fill(tir.Int32, 1, 40, 32), newMemory(tir.Int32, 39, 32)
		require.NoError(t, run(f, 1, A, O), text.Print(f))
		for p := range O.vals {
			require.Equal(t, A.vals[p].i+A.vals[p+32].i, O.vals[p].i)
		}
	}
	out := twice()
	s := schedule(t, out)
	s.Stage(out).Prefetch(a, out.Axes()[0], 2)
	check(s, out, "i0 + 2 < 39", "for ahead0 in range(2)", "for ahead1 in range(2)", "A[i0 + ahead0 + 2, ahead1 * 16]")

	out = twice()
	s = schedule(t, out)
	x, y, _, _ := s.Stage(out).Tile(out.Axes()[0], out.Axes()[1], 4, 8)
	_ = x
	s.Stage(out).Prefetch(a, y, 1)
	check(s, out, "for ahead0 in range(5)", "A[i0.outer * 4 + ahead0, i1.outer * 8 + 8]")

	out = twice() // each thread fetches what it reads itself
	s = schedule(t, out)
	rows, row := s.Stage(out).Split(out.Axes()[0], 4)
	s.Stage(out).Bind(rows, "blockIdx.x")
	s.Stage(out).Bind(row, "threadIdx.x")
	s.Stage(out).Prefetch(a, out.Axes()[1], 16)
	check(s, out, "if likely(i1 + 16 < 32)", "A[i0.outer * 4 + i0.inner + ahead0, i1 + 16]")
}

// TestPrefetchAt fetches an element of an input and one of the result, from a stage that is computed inside.
func TestPrefetchAt(t *testing.T) {
	a := Placeholder(Dims(6, 32), tir.Int32, "A")
	b := Compute(Dims(6, 32), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
	out := Compute(Dims(6, 32), "out", func(i ...tir.Expr) tir.Expr { return tir.Mul(b.At(i...), tir.I32(2)) })
	below := func(i ...tir.Expr) []tir.Expr { return []tir.Expr{tir.Add(i[0], tir.I32(1)), i[1]} }
	same := func(i ...tir.Expr) []tir.Expr { return i }
	s := schedule(t, out)
	st := s.Stage(b)
	st.ComputeAt(s.Stage(out), out.Axes()[0])
	vector, lane := st.Split(st.Axes()[1], 16)
	st.Vectorize(lane)
	st.PrefetchAt(a, vector, below)
	st.PrefetchAt(out, vector, same)
	f := lower(t, s, a, out)
	for _, part := range []string{"if likely(i0 + 1 < 6)", "A[i0 + 1, i1.outer * 16]", "out[i0, i1.outer * 16]"} {
		require.Contains(t, text.Print(f), part)
	}
	A, O := fill(tir.Int32, 1, 6, 32), newMemory(tir.Int32, 6, 32)
	require.NoError(t, run(f, 1, A, O), text.Print(f))
	for p := range O.vals {
		require.Equal(t, 2*(A.vals[p].i+1), O.vals[p].i)
	}

	for want, bad := range map[string]func(st *Stage){
		"the tensor or the function of indices is nil": func(st *Stage) { st.PrefetchAt(nil, st.Axes()[0], same) },
		"tensor other is neither an input nor a result": func(st *Stage) {
			st.PrefetchAt(Placeholder(Dims(6, 32), tir.Int32, "other"), st.Axes()[0], same)
		},
		"tensor B is neither an input nor a result": func(st *Stage) { st.PrefetchAt(b, st.Axes()[0], same) },
		"index 1 of tensor A is no integer": func(st *Stage) {
			st.PrefetchAt(a, st.Axes()[0], func(i ...tir.Expr) []tir.Expr { return []tir.Expr{i[0], nil} })
		},
		"index 0 of tensor A is no integer": func(st *Stage) {
			st.PrefetchAt(a, st.Axes()[0], func(i ...tir.Expr) []tir.Expr { return []tir.Expr{tir.F32(1), i[1]} })
		},
		"1 indices of tensor A: want 2": func(st *Stage) {
			st.PrefetchAt(a, st.Axes()[0], func(i ...tir.Expr) []tir.Expr { return i[:1] })
		},
	} {
		s := schedule(t, out)
		bad(s.Stage(out))
		require.ErrorContains(t, s.Err(), want)
	}
}

// TestPrefetch_ComputedInside rejects a fetch of what later iterations have yet to compute.
func TestPrefetch_ComputedInside(t *testing.T) {
	a := Placeholder(Dims(8, 8), tir.Int32, "A")
	b := Compute(Dims(8, 8), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
	out := Compute(Dims(8, 8), "out", func(i ...tir.Expr) tir.Expr { return tir.Mul(b.At(i...), tir.I32(2)) })
	s := schedule(t, out)
	s.Stage(b).ComputeAt(s.Stage(out), out.Axes()[0])
	s.Stage(out).Prefetch(b, out.Axes()[0], 1)
	_, err := Lower(s, []any{a, out}, "f")
	require.ErrorContains(t, err, "prefetch of tensor out: axis i0: tensor B: it is computed inside the axis")

	s = schedule(t, out)
	s.Stage(b).ComputeAt(s.Stage(out), out.Axes()[0])
	s.Stage(out).Prefetch(b, out.Axes()[1], 1)
	require.Contains(t, text.Print(lower(t, s, a, out)), "B[0, i1_1 + 1]")
}

// TestPrefetch_Errors names the stage, the axis and the tensor.
func TestPrefetch_Errors(t *testing.T) {
	a, b := Placeholder(Dims(40, 32), tir.Int32, "A"), Placeholder(Dims(40), tir.Int32, "B")
	other := Placeholder(Dims(4), tir.Int32, "other")
	for want, apply := range map[string]func(st *Stage, i, j *tir.IterVar){
		"te: prefetch of tensor out: axis i0: the tensor is nil": func(st *Stage, i, _ *tir.IterVar) {
			st.Prefetch(nil, i, 1)
		},
		"axis i0: it does not read tensor other": func(st *Stage, i, _ *tir.IterVar) { st.Prefetch(other, i, 1) },
		"tensor A is fetched 0 iterations ahead: want 1 or more": func(st *Stage, i, _ *tir.IterVar) {
			st.Prefetch(a, i, 0)
		},
		"axis i1: tensor B: each iteration reads the same": func(st *Stage, _, j *tir.IterVar) { st.Prefetch(b, j, 1) },
		"axis i1: tensor A: the axis is vectorized": func(st *Stage, _, j *tir.IterVar) {
			st.Vectorize(j)
			st.Prefetch(a, j, 1)
		},
		"axis i0: tensor A: the axis is bound to threadIdx.x": func(st *Stage, i, _ *tir.IterVar) {
			st.Bind(i, "threadIdx.x")
			st.Prefetch(a, i, 1)
		},
	} {
		out := Compute(Dims(40, 32), "out", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), b.At(i[0])) })
		s := schedule(t, out)
		apply(s.Stage(out), out.Axes()[0], out.Axes()[1])
		_, err := Lower(s, []any{a, b, out}, "f")
		require.ErrorContains(t, err, want)
	}
	table := Compute(Dims(40), "out", func(i ...tir.Expr) tir.Expr { return a.At(b.At(i...), tir.I32(0)) })
	s := schedule(t, table)
	s.Stage(table).Prefetch(a, table.Axes()[0], 1)
	_, err := Lower(s, []any{a, b, table}, "f")
	require.ErrorContains(t, err, "which elements of dimension 0 an iteration reads is not known")
}
