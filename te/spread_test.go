//go:build cgo

package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// spreading is C[i, j] = A[i, j] - the sum of A[i, :], whose threads keep the elements of A.
type spreading struct {
	a, sum, c, kept *Tensor
	k               *tir.IterVar
	s               *Schedule
}

func newSpreading(t *testing.T, n, m int32) *spreading {
	x := &spreading{a: Placeholder(Dims(n, m), tir.Int32, "A"), k: axis("k", 0, m)}
	x.sum = Compute(Dims(n), "S", func(i ...tir.Expr) tir.Expr { return Sum(x.a.At(i[0], x.k.Var), x.k) })
	x.c = Compute(Dims(n, m), "C", func(i ...tir.Expr) tir.Expr { return tir.Sub(x.a.At(i...), x.sum.At(i[0])) })
	x.s = schedule(t, x.c)
	return x
}

// keep distributes the elements of A in the same way as those of C, and the reduction. divide splits and binds the loop
// over the elements of a row; it returns the new loops, of which the first ones are bound to threads.
func (x *spreading) keep(rows int, divide func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar)) {
	x.kept = x.s.CacheRead(x.a, "local", x.sum, x.c)
	st := x.s.Stage(x.c)
	block, own := st.Split(x.c.Axes()[0], rows)
	threads, rest := divide(st, x.c.Axes()[1])
	st.Reorder(append(append([]*tir.IterVar{block, own}, threads...), rest...)...)
	st.Bind(block, "blockIdx.x")
	st.Bind(own, "threadIdx.z")
	at := threads[len(threads)-1]
	for _, part := range []*Tensor{x.sum, x.kept} {
		p := x.s.Stage(part)
		p.ComputeAt(st, at)
		k := x.k
		if part == x.kept {
			k = p.Axes()[1]
		}
		threads, rest := divide(p, k)
		p.Reorder(append(threads, rest...)...)
	}
}

func (x *spreading) args() []any { return []any{x.a, x.c} }

// Threads keep the elements of a row that they compute, in several arrangements, of which some do not divide the sizes.
func TestBind_Distributes(t *testing.T) {
	for name, divide := range map[string]func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar){
		"neighbors": func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar) {
			o, x := st.Split(k, 4)
			st.Bind(x, "threadIdx.x")
			return []*tir.IterVar{x}, []*tir.IterVar{o}
		},
		"parts": func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar) {
			x, o := st.SplitParts(k, 4)
			st.Bind(x, "threadIdx.x")
			return []*tir.IterVar{x}, []*tir.IterVar{o}
		},
		"vectors": func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar) {
			k, v := st.Split(k, 2)
			o, x := st.Split(k, 4)
			st.Bind(x, "threadIdx.x")
			return []*tir.IterVar{x}, []*tir.IterVar{o, v}
		},
		"two indices": func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar) {
			o, k := st.Split(k, 6)
			y, x := st.Split(k, 3)
			st.Bind(x, "threadIdx.x")
			st.Bind(y, "threadIdx.y")
			return []*tir.IterVar{y, x}, []*tir.IterVar{o}
		},
		"an element each": func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar) {
			st.Bind(k, "threadIdx.x")
			return []*tir.IterVar{k}, nil
		},
	} {
		for _, m := range []int32{1, 8, 13, 24} {
			x := newSpreading(t, 5, m)
			x.keep(2, divide)
			f := lower(t, x.s, x.args()...)
			in := []any{fill(tir.Int32, 1, 5, int64(m)), newMemory(tir.Int32, 5, int64(m))}
			want := newMemory(tir.Int32, 5, int64(m))
			y := newSpreading(t, 5, m)
			require.NoError(t, run(lower(t, y.s, y.args()...), 0, in[0], want))
			runBoth(t, f, func() {
				require.Equal(t, ints(want), ints(in[1].(*memory)), "%s, %d\n%s", name, m, text.Print(f))
				in[1] = newMemory(tir.Int32, 5, int64(m))
			}, in...)
			require.NotContains(t, text.Print(f), "A.local: int32[1, ", "the memory has the elements of one thread")
		}
	}
}

// A thread that would read the elements of another one is an error, and so is a use of the tensor's memory as a whole.
func TestBind_DistributesErrors(t *testing.T) {
	by := func(n int) func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar) {
		return func(st *Stage, k *tir.IterVar) (threads, rest []*tir.IterVar) {
			o, x := st.Split(k, n)
			st.Bind(x, "threadIdx.x")
			return []*tir.IterVar{x}, []*tir.IterVar{o}
		}
	}
	for want, do := range map[string]func(x *spreading){
		"tensor C: it reads tensor A.local in scope local, whose elements are distributed over threadIdx.x: thread " +
			"i1.inner needs an element of thread": func(x *spreading) {
			x.keep(2, by(4))
			st := x.s.Stage(x.kept)
			st.leaves, st.rels, st.attrs = st.op.axes, nil, map[*tir.IterVar]*loopAttrs{}
			o, p := st.SplitParts(st.op.axes[1], 4)
			st.Reorder(o, p)
			st.Bind(o, "threadIdx.x")
		},
		"its elements are distributed over threadIdx.x, and storage_align of it": func(x *spreading) {
			x.keep(2, by(4))
			x.s.Stage(x.kept).StorageAlign(x.kept.Axes()[0], 32, 1)
		},
		"its elements are distributed over threadIdx.x, and double_buffer of it": func(x *spreading) {
			x.keep(2, by(4))
			x.s.Stage(x.kept).DoubleBuffer()
		},
		"tensor A.local in scope local: axis i1.inner is bound to threadIdx.y, and each": func(x *spreading) {
			x.keep(2, by(4))
			st := x.s.Stage(x.kept)
			st.leaves, st.rels, st.attrs = st.op.axes, nil, map[*tir.IterVar]*loopAttrs{}
			_, p := st.Split(st.op.axes[1], 4)
			st.Bind(p, "threadIdx.y")
		},
	} {
		x := newSpreading(t, 5, 16)
		do(x)
		require.ErrorContains(t, must.Fail(Lower(x.s, x.args(), "f")), want)
	}
}
