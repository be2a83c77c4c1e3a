//go:build cgo

package te

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// rowsOf is a reduction of an [n, m] tensor over its last dimension.
type rowsOf struct {
	a, b *Tensor
	outs []*Tensor
	k    *tir.IterVar
}

func newRows(t tir.Type, n, m int32, reduce func(e tir.Expr, k *tir.IterVar) []tir.Expr) *rowsOf {
	x := &rowsOf{a: Placeholder(Dims(n, m), t, "A"), k: axis("k", 0, m)}
	x.outs = ComputeMulti(Dims(n), "B", func(i ...tir.Expr) []tir.Expr { return reduce(x.a.At(i[0], x.k.Var), x.k) })
	x.b = x.outs[0]
	return x
}

func (x *rowsOf) args() []any {
	args := []any{x.a}
	for _, o := range x.outs {
		args = append(args, o)
	}
	return args
}

// reducers are reductions of several kinds: of one value and of two, where the first one of equal values wins.
var reducers = map[string]func(e tir.Expr, k *tir.IterVar) []tir.Expr{
	"sum":    func(e tir.Expr, k *tir.IterVar) []tir.Expr { return []tir.Expr{Sum(e, k)} },
	"max":    func(e tir.Expr, k *tir.IterVar) []tir.Expr { return []tir.Expr{Max(e, k)} },
	"argmax": func(e tir.Expr, k *tir.IterVar) []tir.Expr { return ArgMax(e, k) },
}

// runBoth runs a function as Lower returns it, and with the barriers that ThreadSync inserts.
func runBoth(t *testing.T, f *tir.PrimFunc, check func(), args ...any) {
	t.Helper()
	for seed := range uint64(2) {
		require.NoError(t, run(f, seed, args...), text.Print(f))
		check()
		g := must.Get(deviceForm(f))(t)
		require.NoError(t, runAsIs(g, seed, args...), text.Print(g))
		check()
	}
}

// TestBind_ReductionAxis computes rows by threads in several arrangements, of which most do not divide the sizes.
func TestBind_ReductionAxis(t *testing.T) {
	for name, arrange := range map[string]func(st *Stage, i, k *tir.IterVar){
		"whole axis": func(st *Stage, i, k *tir.IterVar) { st.Bind(k, "threadIdx.x") },
		"inner part": func(st *Stage, i, k *tir.IterVar) {
			_, ki := st.Split(k, 8)
			st.Bind(ki, "threadIdx.x")
		},
		"outer part": func(st *Stage, i, k *tir.IterVar) {
			ko, _ := st.SplitParts(k, 5)
			st.Bind(ko, "threadIdx.y")
		},
		"two indices, rows in a third": func(st *Stage, i, k *tir.IterVar) {
			ko, ki := st.Split(k, 12)
			k1, k0 := st.Split(ki, 4)
			block, row := st.Split(i, 3)
			st.Reorder(block, row, k0, k1, ko)
			st.Bind(block, "blockIdx.x")
			st.Bind(row, "threadIdx.z")
			st.Bind(k1, "threadIdx.y")
			st.Bind(k0, "threadIdx.x")
		},
		"rows between the indices": func(st *Stage, i, k *tir.IterVar) {
			ko, ki := st.Split(k, 6)
			k1, k0 := st.Split(ki, 3)
			block, row := st.Split(i, 2)
			st.Reorder(block, k1, row, k0, ko)
			st.Bind(block, "blockIdx.x")
			st.Bind(row, "threadIdx.y")
			st.Bind(k1, "threadIdx.z")
			st.Bind(k0, "threadIdx.x")
		},
		"several rows per thread": func(st *Stage, i, k *tir.IterVar) {
			ko, ki := st.Split(k, 8)
			block, row := st.Split(i, 4)
			st.Bind(block, "blockIdx.x")
			st.Reorder(block, ki, ko, row)
			st.Bind(ki, "threadIdx.x")
			st.Vectorize(row)
		},
	} {
		for of, reduce := range reducers {
			for _, warp := range []int{0, 2, 4, 32} {
				for _, m := range []int32{0, 7, 33} {
					x := newRows(tir.Int32, 7, m, reduce)
					s := schedule(t, x.outs...)
					st := s.Stage(x.b)
					arrange(st, x.b.Axes()[0], x.k)
					if warp > 0 && name != "outer part" {
						st.ReduceByShuffle(warp)
					}
					f := lower(t, s, x.args()...)
					in := []any{fill(tir.Int32, 1, 7, int64(m))}
					for _, o := range x.outs {
						in = append(in, newMemory(o.typ, 7))
					}
					want := append([]any{in[0]}, newMemory(tir.Int32, 7), newMemory(tir.Int32, 7))[:len(in)]
					y := newRows(tir.Int32, 7, m, reduce)
					require.NoError(t, run(lower(t, schedule(t, y.outs...), y.args()...), 0, want...))
					runBoth(t, f, func() {
						for i := range x.outs {
							require.Equal(t, ints(want[i+1].(*memory)), ints(in[i+1].(*memory)), "%s of %d by %s, warp %d\n%s", of, m, name,
								warp, text.Print(f))
							in[i+1] = newMemory(tir.Int32, 7)
						}
					}, in...)
				}
			}
		}
	}
}

// softmaxOf is softmax over rows of n elements, with its steps.
type softmaxOf struct{ a, top, e, sum, y *Tensor }

func newSoftmax(rows, n int32) *softmaxOf {
	x := &softmaxOf{a: Placeholder(Dims(rows, n), tir.Float32, "A")}
	k, l := axis("k", 0, n), axis("l", 0, n)
	x.top = Compute(Dims(rows), "Top", func(i ...tir.Expr) tir.Expr { return Max(x.a.At(i[0], k.Var), k) })
	x.e = Compute(Dims(rows, n), "E", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("exp", tir.Sub(x.a.At(i...), x.top.At(i[0])))
	})
	x.sum = Compute(Dims(rows), "S", func(i ...tir.Expr) tir.Expr { return Sum(x.e.At(i[0], l.Var), l) })
	x.y = Compute(Dims(rows, n), "Y", func(i ...tir.Expr) tir.Expr { return tir.Div(x.e.At(i...), x.sum.At(i[0])) })
	return x
}

// TestBind_ResultsWithinABlock computes softmax by a block per few rows: the results of reductions are read by other
// stages of the block, from shared memory or from registers.
func TestBind_ResultsWithinABlock(t *testing.T) {
	for name, where := range map[string]func(s *Schedule, x *softmaxOf, block, row, thread *tir.IterVar){
		"shared memory, one kernel per block": func(s *Schedule, x *softmaxOf, block, row, thread *tir.IterVar) {
			for _, r := range []*Tensor{x.sum, x.e, x.top} {
				s.Stage(r).ComputeAt(s.Stage(x.y), block)
			}
			for _, r := range []*Tensor{x.sum, x.top} {
				_, inner := s.Stage(r).Split(r.ReduceAxes()[0], 8)
				s.Stage(r).Bind(inner, "threadIdx.x")
				s.Stage(r).Bind(r.Axes()[0], "threadIdx.y")
			}
			_, inner := s.Stage(x.e).Split(x.e.Axes()[1], 8)
			s.Stage(x.e).Bind(inner, "threadIdx.x")
		},
		"registers of the threads of a row": func(s *Schedule, x *softmaxOf, block, row, thread *tir.IterVar) {
			for _, r := range []*Tensor{x.sum, x.top} {
				s.Stage(r).ComputeAt(s.Stage(x.y), thread)
				_, inner := s.Stage(r).Split(r.ReduceAxes()[0], 8)
				s.Stage(r).Bind(inner, "threadIdx.x")
				s.Stage(r).ReduceByShuffle(4)
			}
			s.Stage(x.e).ComputeInline()
		},
		"all threads have all rows": func(s *Schedule, x *softmaxOf, block, row, thread *tir.IterVar) {
			for _, r := range []*Tensor{x.sum, x.top} {
				s.Stage(r).ComputeAt(s.Stage(x.y), thread)
				ky, kx := s.Stage(r).Split(r.ReduceAxes()[0], 8)
				_, ky = s.Stage(r).Split(ky, 3)
				s.Stage(r).Bind(kx, "threadIdx.x")
				s.Stage(r).Bind(ky, "threadIdx.y")
			}
			s.Stage(x.e).ComputeInline()
		},
	} {
		for _, n := range []int32{1, 5, 8, 29} {
			x := newSoftmax(7, n)
			s := schedule(t, x.y)
			st := s.Stage(x.y)
			block, row := st.Split(x.y.Axes()[0], 3)
			_, thread := st.Split(x.y.Axes()[1], 5) // fewer threads than the reductions have
			st.Reorder(block, row, thread)
			st.Bind(block, "blockIdx.x")
			st.Bind(row, "threadIdx.y")
			st.Bind(thread, "threadIdx.x")
			where(s, x, block, row, thread)
			f := lower(t, s, x.a, x.y)
			in, out, want := fill(tir.Float32, 1, 7, int64(n)), newMemory(tir.Float32, 7, int64(n)),
				newMemory(tir.Float32, 7, int64(n))
			plain := newSoftmax(7, n)
			require.NoError(t, run(lower(t, schedule(t, plain.y), plain.a, plain.y), 0, in, want))
			runBoth(t, f, func() {
				require.NoError(t, differ(want, out), "%s, %d columns\n%s", name, n, text.Print(f))
				out.vals[0].f = unwritten
			}, in, out)
		}
	}
}

// The barriers that Lower puts between the steps are necessary.
func TestBind_BarriersAreNeeded(t *testing.T) {
	x := newRows(tir.Int32, 2, 32, reducers["sum"])
	s := schedule(t, x.b)
	s.Stage(x.b).Bind(x.k, "threadIdx.x")
	f := lower(t, s, x.args()...)
	barriers := strings.Count(text.Print(f), "storage_sync")
	require.Equal(t, 5, barriers, "one after the parts, and one between each two of five steps\n%s", text.Print(f))
	for drop := range barriers {
		n := 0
		g := *f
		g.Body = (&tir.Mutator{Stmt: func(st tir.Stmt) tir.Stmt {
			if e, ok := st.(*tir.Evaluate); ok && strings.Contains(text.Print(e), "storage_sync") {
				if n++; n == drop+1 {
					return &tir.Seq{}
				}
			}
			return st
		}}).MutateStmt(f.Body)
		err := runAsIs(&g, 1, fill(tir.Int32, 1, 2, 32), newMemory(tir.Int32, 2))
		require.True(t, errors.Is(err, tirrun.ErrRace) || errors.Is(err, tirrun.ErrUninitialized), "without barrier %d: %v",
			drop, err)
	}
}

// One barrier is enough for a block of several warps: each combines the parts of all warps.
func TestReduceByShuffle_OneBarrier(t *testing.T) {
	for threads, barriers := range map[int32]int{4: 0, 32: 0, 96: 1, 1024: 1, 31: 5} {
		x := newRows(tir.Int32, 2, threads, reducers["argmax"])
		s := schedule(t, x.b)
		s.Stage(x.b).Bind(x.k, "threadIdx.x")
		s.Stage(x.b).ReduceByShuffle(32)
		source := text.Print(lower(t, s, x.args()...))
		require.Equal(t, barriers, strings.Count(source, "storage_sync"), "%d threads\n%s", threads, source)
	}
}

func TestBind_ReductionErrors(t *testing.T) {
	args := func(x *abc) []any { return []any{x.a, x.c} }
	for want, do := range map[string]func(x *abc){
		"te: bind of tensor B: axis k is a reduction axis, whose parts only the threads of threadIdx combine": func(x *abc) {
			x.s.Stage(x.b).Bind(x.k, "vthread")
		},
		"te: reduce_by_shuffle of tensor C: it is not a reduction": func(x *abc) { x.s.Stage(x.c).ReduceByShuffle(32) },
		"te: reduce_by_shuffle of tensor B: 12 threads: want a power of two": func(x *abc) {
			x.s.Stage(x.b).ReduceByShuffle(12)
		},
		"reduce_by_shuffle of tensor B: none of its reduction axes [k] is bound to threadIdx": func(x *abc) {
			x.s.Stage(x.b).ReduceByShuffle(32)
		},
		"reduce_by_shuffle of tensor B: axis k is bound to threadIdx.y, and a warp consists of neighbors": func(x *abc) {
			x.s.Stage(x.b).Bind(x.k, "threadIdx.y")
			x.s.Stage(x.b).ReduceByShuffle(32)
		},
		"tensor B in scope local: axis k is bound to threadIdx.x, and each iteration has separate local": func(x *abc) {
			x.s.Stage(x.c).Bind(x.c.Axes()[0], "blockIdx.x")
			x.s.Stage(x.b).ComputeAt(x.s.Stage(x.c), x.c.Axes()[0])
			x.s.Stage(x.b).Bind(x.k, "threadIdx.x")
			x.s.Stage(x.b).SetScope("local")
		},
		"tensor B: axis k is bound to threadIdx.x inside axis i0, which is bound to vthread, whose iterat": func(x *abc) {
			x.s.Stage(x.b).Bind(x.b.Axes()[0], "vthread")
			x.s.Stage(x.b).Bind(x.k, "threadIdx.x")
		},
		"tensor B: axis i0 is bound to blockIdx.x inside axis k.outer of the reduction: reorder them": func(x *abc) {
			ko, ki := x.s.Stage(x.b).Split(x.k, 2)
			x.s.Stage(x.b).Reorder(ko, x.b.Axes()[0], ki)
			x.s.Stage(x.b).Bind(x.b.Axes()[0], "blockIdx.x")
			x.s.Stage(x.b).Bind(ki, "threadIdx.x")
		},
		"tensor B: axis i0 is bound to threadIdx.y, and has n iterations: the number of threads": func(x *abc) {
			x.s.Stage(x.b).Bind(x.b.Axes()[0], "threadIdx.y")
			x.s.Stage(x.b).Bind(x.k, "threadIdx.x")
		},
		"compute_at of tensor A.shared at axis k.outer of tensor B: axis k.inner, which is bound to": func(x *abc) {
			ko, ki := x.s.Stage(x.b).Split(x.k, 2)
			x.s.Stage(x.b).Bind(x.b.Axes()[0], "blockIdx.x")
			x.s.Stage(x.b).Bind(ki, "threadIdx.x")
			x.s.Stage(x.s.CacheRead(x.a, "shared", x.b)).ComputeAt(x.s.Stage(x.b), ko)
		},
	} {
		x := newABC(t)
		do(x)
		require.ErrorContains(t, must.Fail(Lower(x.s, args(x), "f")), want)
	}
}
