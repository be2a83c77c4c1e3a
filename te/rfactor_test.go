//go:build cgo

package te

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// TestRFactor computes partial results in several arrangements, for each dimension that they may have.
func TestRFactor(t *testing.T) {
	for name, divide := range map[string]func(s *Schedule, st *Stage, k *tir.IterVar) *tir.IterVar{
		"whole axis": func(s *Schedule, st *Stage, k *tir.IterVar) *tir.IterVar { return k },
		"outer part": func(s *Schedule, st *Stage, k *tir.IterVar) *tir.IterVar {
			ko, _ := st.SplitParts(k, 4)
			return ko
		},
		"inner part": func(s *Schedule, st *Stage, k *tir.IterVar) *tir.IterVar {
			_, ki := st.Split(k, 5)
			return ki
		},
		"a middle part, of an axis that was fused": func(s *Schedule, st *Stage, k *tir.IterVar) *tir.IterVar {
			ko, ki := st.Split(k, 6)
			k1, k0 := st.Split(ki, 4)
			st.Reorder(k0, ko, k1)
			return st.Fuse(k0, ko)
		},
	} {
		for of, reduce := range reducers {
			for _, m := range []int32{0, 1, 7, 23} {
				for d := -2; d <= 1; d++ {
					x, y := newRows(tir.Int32, 3, m, reduce), newRows(tir.Int32, 3, m, reduce)
					s := schedule(t, x.outs...)
					st := s.Stage(x.b)
					part := s.RFactor(x.b, divide(s, st, x.k), d)
					require.NoError(t, s.Err())
					require.Len(t, part.shape, 2)
					require.Equal(t, len(x.outs), len(s.Stage(part).op.tensors))
					if m > 0 {
						s.Stage(part).Parallel(s.Stage(part).Axes()[0])
						_, lanes := s.Stage(part).Split(s.Stage(part).Axes()[1], 4)
						s.Stage(part).Reorder(append(s.Stage(part).ReduceAxes(), lanes)...)
						s.Stage(part).Vectorize(lanes)
					}
					if d == 0 {
						s.Stage(part).ComputeAt(st, st.Axes()[0])
					}
					f := lower(t, s, x.args()...)
					got, want := []any{fill(tir.Int32, 1, 3, int64(m))}, []any{fill(tir.Int32, 1, 3, int64(m))}
					for range x.outs {
						got, want = append(got, newMemory(tir.Int32, 3)), append(want, newMemory(tir.Int32, 3))
					}
					require.NoError(t, run(lower(t, schedule(t, y.outs...), y.args()...), 0, want...))
					require.NoError(t, run(f, 1, got...), text.Print(f))
					require.Equal(t, want, got, "%s of %d by %s, dimension %d\n%s", of, m, name, d, text.Print(f))
				}
			}
		}
	}
}

// TestRFactor_TwoKernels reduces everything: many blocks compute partial results, and one block combines them.
func TestRFactor_TwoKernels(t *testing.T) {
	const n = 1000
	a, k := Placeholder(Dims(n), tir.Int64, "A"), axis("k", 0, n)
	b := Compute(nil, "B", func(...tir.Expr) tir.Expr { return Sum(a.At(k.Var), k) })
	s := schedule(t, b)
	st := s.Stage(b)
	block, inner := st.Split(k, 96)
	part := s.RFactor(b, block, 0)
	ps := s.Stage(part)
	ps.Bind(ps.Axes()[0], "blockIdx.x")
	_, thread := ps.Split(ps.ReduceAxes()[0], 32)
	ps.Bind(thread, "threadIdx.x")
	ps.ReduceByShuffle(8)
	_, thread = st.Split(st.ReduceAxes()[0], 8)
	st.Bind(thread, "threadIdx.x")
	require.NoError(t, s.Err())
	require.Equal(t, "k.inner", inner.Var.Name)
	f := lower(t, s, a, b)
	in, out := fill(tir.Int64, 3, n), newMemory(tir.Int64)
	sum := int64(0)
	for _, v := range ints(in) {
		sum += v
	}
	runBoth(t, f, func() {
		require.Equal(t, []int64{sum}, ints(out), text.Print(f))
		out.vals[0].i = unwritten
	}, in, out)
}

func TestRFactor_Errors(t *testing.T) {
	for want, do := range map[string]func(x *abc){
		"te: rfactor of tensor C: axis i0 is not a reduction axis: want one of []": func(x *abc) {
			x.s.RFactor(x.c, x.c.Axes()[0], 0)
		},
		"te: rfactor of tensor B: axis i1 is not a reduction axis: want one of [k]": func(x *abc) {
			x.s.RFactor(x.b, x.b.Axes()[1], 0)
		},
		"te: rfactor of tensor B: axis k: dimension 3 of the partial results: want -3 to 2": func(x *abc) {
			x.s.RFactor(x.b, x.k, 3)
		},
		"te: rfactor of tensor A: it is an argument": func(x *abc) { x.s.RFactor(x.a, x.k, 0) },
		"te: rfactor of tensor B: the axis is nil":   func(x *abc) { x.s.RFactor(x.b, nil, 0) },
		"te: rfactor of tensor B: axis k is already bound to threadIdx.x: call this first": func(x *abc) {
			x.s.Stage(x.b).Bind(x.k, "threadIdx.x")
			x.s.RFactor(x.b, x.k, 0)
		},
		"te: rfactor of tensor B: axis k.inner is already unrolled: call this first": func(x *abc) {
			ko, ki := x.s.Stage(x.b).Split(x.k, 2)
			x.s.Stage(x.b).Unroll(ki)
			x.s.RFactor(x.b, ko, 0)
		},
		"te: rfactor of tensor B: axis k is no longer a loop: it was split": func(x *abc) {
			x.s.Stage(x.b).Split(x.k, 2)
			x.s.RFactor(x.b, x.k, 0)
		},
	} {
		x := newABC(t)
		do(x)
		require.ErrorContains(t, x.s.Err(), want)
		require.ErrorContains(t, must.Fail(Lower(x.s, []any{x.a, x.c}, "f")), want)
	}
}

// The data loops of the stage keep their order and kinds.
func TestRFactor_KeepsDataLoops(t *testing.T) {
	x := newABC(t)
	st := x.s.Stage(x.b)
	_, inner := st.Split(x.b.Axes()[1], 2)
	st.Reorder(x.k, inner)
	st.Unroll(inner)
	part := x.s.RFactor(x.b, x.k, -1)
	require.Equal(t, "[i0 i1.outer k.v i1.inner]", fmt.Sprint(axisNames(st.Leaves())))
	x.s.Stage(part).ComputeAt(st, st.Leaves()[1])
	f := lower(t, x.s, x.a, x.c)
	require.Contains(t, text.Print(f), "unrolled i1.inner in range(2)")
	in, out := fill(tir.Int32, 1, 3, 7, 5), newMemory(tir.Int32, 3, 7)
	require.NoError(t, run(f, 1, in, out))
	for i, v := range ints(out) {
		sum := int64(0)
		for k := range 5 {
			sum += in.vals[5*i+k].i
		}
		require.Equal(t, max(sum, 0), v)
	}
}
