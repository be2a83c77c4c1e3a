package te

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// shapes returns the shapes of all allocations of a function.
func shapes(f *tir.PrimFunc) map[string]string {
	all := map[string]string{}
	tir.Walk(f, func(n any) bool {
		if a, ok := n.(*tir.Alloc); ok {
			s := []string{}
			for _, d := range a.Buffer.Shape {
				s = append(s, text.Print(d))
			}
			all[a.Buffer.Name] = fmt.Sprint(s)
		}
		return true
	})
	return all
}

// TestInfer_Sizes checks that an attached stage computes only what is read; computing too much would not change
// results.
func TestInfer_Sizes(t *testing.T) {
	n := Var("n")
	i32 := func(v int32) tir.Expr { return tir.I32(v) }
	for name, c := range map[string]struct {
		shape, of []tir.Expr // shapes of the reader and of the tensor that it reads
		index     func(i []tir.Expr, k *tir.Var) []tir.Expr
		attach    func(s *Stage) *tir.IterVar
		want      string
	}{
		"one point": {dims(n), dims(n), func(i []tir.Expr, _ *tir.Var) []tir.Expr { return i },
			func(s *Stage) *tir.IterVar { return s.Axes()[0] }, "[1]"},
		"a split's inner axis": {dims(n), dims(n), func(i []tir.Expr, _ *tir.Var) []tir.Expr { return i },
			func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Axes()[0], 4); return o }, "[4]"},
		"a strided part of a tile": {Dims(128), Dims(8, 2, 4, 2), func(i []tir.Expr, _ *tir.Var) []tir.Expr {
			in := tir.FloorMod(i[0], i32(16))
			return dims(tir.FloorDiv(i[0], i32(16)), tir.FloorDiv(in, i32(8)),
				tir.FloorDiv(tir.FloorMod(in, i32(8)), i32(2)), tir.FloorMod(in, i32(2)))
		}, func(s *Stage) *tir.IterVar {
			tile, in := s.Split(s.Axes()[0], 16)
			piece, in := s.Split(in, 8)
			thread, run := s.Split(in, 2)
			s.Reorder(tile, thread, piece, run)
			return thread
		}, "[1 2 1 2]"},
		"all of a split": {Dims(10), Dims(30), func(i []tir.Expr, _ *tir.Var) []tir.Expr { return i },
			func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Axes()[0], 16); return o }, "[10]"},
		"the outer axis within": {dims(n), dims(n), func(i []tir.Expr, _ *tir.Var) []tir.Expr { return i },
			func(s *Stage) *tir.IterVar { o, i := s.Split(s.Axes()[0], 4); s.Reorder(i, o); return i },
			"[floordiv(n + 3, 4) * 4 - 3]"},
		"a window": {Dims(20), Dims(22), func(i []tir.Expr, k *tir.Var) []tir.Expr { return dims(tir.Add(i[0], k)) },
			func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Axes()[0], 4); return o }, "[6]"},
		"a window with strides": {Dims(20), Dims(60), func(i []tir.Expr, k *tir.Var) []tir.Expr {
			return dims(tir.Add(tir.Mul(i[0], i32(2)), tir.Mul(k, i32(3))))
		}, func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Axes()[0], 4); return o }, "[13]"},
		"a window backwards": {dims(n), dims(tir.Add(n, i32(2))), func(i []tir.Expr, k *tir.Var) []tir.Expr {
			return dims(tir.Sub(tir.Add(n, i32(1)), tir.Add(i[0], k)))
		}, func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Axes()[0], 4); return o }, "[6]"},
		"one iteration of the reduction": {dims(n, n), dims(n, i32(9)), func(i []tir.Expr, k *tir.Var) []tir.Expr {
			return dims(i[0], k)
		},
			func(s *Stage) *tir.IterVar { k := s.ReduceAxes()[0]; s.Reorder(k, s.Axes()[0], s.Axes()[1]); return k }, "[n 1]"},
		"one iteration of a fused loop": {dims(n, n), dims(n, n), func(i []tir.Expr, _ *tir.Var) []tir.Expr { return i },
			func(s *Stage) *tir.IterVar { return s.Fuse(s.Axes()[0], s.Axes()[1]) }, "[1 1]"},
		"part of a fusion": {Dims(6, 10), Dims(6, 10), func(i []tir.Expr, _ *tir.Var) []tir.Expr { return i },
			func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Fuse(s.Axes()[0], s.Axes()[1]), 5); return o }, "[1 5]"},
		"part of a fusion that divides nothing": {Dims(6, 10), Dims(6, 10), func(i []tir.Expr, _ *tir.Var) []tir.Expr {
			return i
		},
			func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Fuse(s.Axes()[0], s.Axes()[1]), 7); return o }, "[2 10]"},
		"remainder": {Dims(40), Dims(10, 4), func(i []tir.Expr, _ *tir.Var) []tir.Expr {
			return dims(tir.FloorDiv(i[0], i32(4)), tir.FloorMod(i[0], i32(4)))
		}, func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Axes()[0], 8); return o }, "[2 4]"},
		"nothing that can be known": {Dims(40), Dims(10), func(i []tir.Expr, _ *tir.Var) []tir.Expr {
			return dims(tir.FloorMod(tir.Mul(i[0], i[0]), i32(10)))
		}, func(s *Stage) *tir.IterVar { o, _ := s.Split(s.Axes()[0], 8); return o }, "[10]"},
	} {
		t.Run(name, func(t *testing.T) {
			a := Placeholder(c.of, tir.Int32, "A")
			b := Compute(c.of, "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
			k := axis("k", 0, 3)
			r := Compute(c.shape, "R", func(i ...tir.Expr) tir.Expr { return Sum(b.At(c.index(i, k.Var)...), k) })
			s := schedule(t, r)
			s.Stage(b).ComputeAt(s.Stage(r), c.attach(s.Stage(r)))
			f := lower(t, s, a, r)
			require.Equal(t, c.want, shapes(f)["B"], text.Print(f))
		})
	}
}

// A stage with local memory inside a stage that threads compute together must compute what its thread needs.
func TestInfer_OwnWithinShared(t *testing.T) {
	a := Placeholder(Dims(64), tir.Int32, "A")
	b := Compute(Dims(64), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(1)) })
	c := Compute(Dims(64), "C", func(i ...tir.Expr) tir.Expr { return tir.Mul(b.At(i...), b.At(i...)) })
	d := Compute(Dims(64), "D", func(i ...tir.Expr) tir.Expr { return tir.Add(c.At(i...), tir.I32(2)) })
	s := schedule(t, d)
	st := s.Stage(d)
	bx, tx := st.Split(d.Axes()[0], 16)
	st.Bind(bx, "blockIdx.x")
	st.Bind(tx, "threadIdx.x")
	cs := s.Stage(c)
	cs.SetScope("shared")
	cs.ComputeAt(st, tx)
	co, ci := cs.Split(c.Axes()[0], 8)
	cs.Bind(ci, "threadIdx.x")
	s.Stage(b).ComputeAt(cs, co)
	f := lower(t, s, a, d)
	require.Equal(t, map[string]string{"C": "[16]", "B": "[1]"}, shapes(f), text.Print(f))
	in, out := fill(tir.Int32, 1, 64), newMemory(tir.Int32, 64)
	require.NoError(t, run(f, 1, in, out), text.Print(f))
	for i, v := range ints(in) {
		require.Equal(t, (v+1)*(v+1)+2, out.vals[i].i)
	}
}
