package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
)

// workload is a computation, with arguments to call it with.
type workload struct {
	name  string
	build func() (outs []*Tensor, args []any)
	// call makes the arguments; results are not filled.
	call func() []any
	// results are the indices of results among the arguments.
	results []int
}

func dims(n ...tir.Expr) []tir.Expr { return n }

func axis(name string, lo, n int32) *tir.IterVar { return ReduceAxis(tir.I32(lo), tir.I32(n), name) }

// guardedAt reads a tensor at indices within bounds; elsewhere it is 0.
func guardedAt(t *Tensor, at ...tir.Expr) tir.Expr {
	cond := tir.BoolConst(true)
	for d, x := range at {
		cond = tir.And(cond, tir.And(tir.GE(x, tir.I32(0)), tir.LT(x, t.shape[d])))
	}
	return tir.Intrin("if_then_else", cond, t.At(at...), tir.Const(t.typ, 0))
}

var workloads = []workload{
	{
		name: "elementwise", results: []int{1, 3},
		build: func() ([]*Tensor, []any) {
			n := Var("n")
			a := Placeholder(dims(n), tir.Int32, "A")
			b := Compute(dims(n), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(3)) })
			c := Compute(dims(n), "C", func(i ...tir.Expr) tir.Expr { return tir.Mul(b.At(i...), a.At(i...)) })
			d := Compute(dims(n), "D", func(i ...tir.Expr) tir.Expr { return tir.Sub(b.At(i...), c.At(i...)) })
			return []*Tensor{d, b}, []any{a, d, n, b}
		},
		call: func() []any {
			return []any{fill(tir.Int32, 1, 23), newMemory(tir.Int32, 23), int64(23), newMemory(tir.Int32, 23)}
		},
	},
	{
		name: "broadcast", results: []int{2},
		build: func() ([]*Tensor, []any) {
			n, m := Var("n"), Var("m")
			a, b := Placeholder(dims(n), tir.Int32, "A"), Placeholder(dims(m), tir.Int32, "B")
			c := Compute(dims(n, m), "C", func(i ...tir.Expr) tir.Expr { return tir.Mul(a.At(i[0]), b.At(i[1])) })
			d := Compute(dims(n, m), "D", func(i ...tir.Expr) tir.Expr { return tir.Add(c.At(i...), tir.I32(1)) })
			e := Compute(dims(m, n), "E", func(i ...tir.Expr) tir.Expr {
				return tir.Add(d.At(i[1], i[0]), c.At(tir.Sub(tir.Sub(n, i[1]), tir.I32(1)), i[0]))
			})
			return []*Tensor{e}, []any{a, b, e}
		},
		call: func() []any { return []any{fill(tir.Int32, 1, 7), fill(tir.Int32, 2, 5), newMemory(tir.Int32, 5, 7)} },
	},
	{
		name: "matmul", results: []int{2},
		build: func() ([]*Tensor, []any) {
			a, b := Placeholder(Dims(7, 9), tir.Int32, "A"), Placeholder(Dims(9, 5), tir.Int32, "B")
			k := axis("k", 0, 9)
			c := Compute(Dims(7, 5), "C", func(i ...tir.Expr) tir.Expr {
				return Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k)
			})
			d := Compute(Dims(7, 5), "D", func(i ...tir.Expr) tir.Expr { return tir.Max(c.At(i...), tir.I32(0)) })
			return []*Tensor{d}, []any{a, b, d}
		},
		call: func() []any {
			return []any{fill(tir.Int32, 1, 7, 9), fill(tir.Int32, 2, 9, 5), newMemory(tir.Int32, 7, 5)}
		},
	},
	{
		name: "matmul of any size", results: []int{2},
		build: func() ([]*Tensor, []any) {
			n, m, d := Var("n"), Var("m"), Var("d")
			a, b := Placeholder(dims(n, d), tir.Int32, "A"), Placeholder(dims(d, m), tir.Int32, "B")
			k := ReduceAxis(tir.I32(0), d, "k")
			b2 := Compute(dims(m, d), "T", func(i ...tir.Expr) tir.Expr { return tir.Add(b.At(i[1], i[0]), tir.I32(1)) })
			c := Compute(dims(n, m), "C", func(i ...tir.Expr) tir.Expr {
				return Sum(tir.Mul(a.At(i[0], k.Var), b2.At(i[1], k.Var)), k)
			})
			return []*Tensor{c}, []any{a, b, c}
		},
		call: func() []any {
			return []any{fill(tir.Int32, 1, 5, 7), fill(tir.Int32, 2, 7, 6), newMemory(tir.Int32, 5, 6)}
		},
	},
	{
		name: "convolution", results: []int{2},
		build: func() ([]*Tensor, []any) {
			x, w := Placeholder(Dims(2, 7, 6), tir.Int32, "X"), Placeholder(Dims(3, 2, 3, 3), tir.Int32, "W")
			pad := Compute(Dims(2, 9, 8), "Pad", func(i ...tir.Expr) tir.Expr {
				return guardedAt(x, i[0], tir.Sub(i[1], tir.I32(1)), tir.Sub(i[2], tir.I32(1)))
			})
			c, p, q := axis("c", 0, 2), axis("p", 0, 3), axis("q", 0, 3)
			y := Compute(Dims(3, 4, 6), "Y", func(i ...tir.Expr) tir.Expr {
				h := tir.Add(tir.Mul(i[1], tir.I32(2)), p.Var)
				return Sum(tir.Mul(pad.At(c.Var, h, tir.Add(i[2], q.Var)), w.At(i[0], c.Var, p.Var, q.Var)), c, p, q)
			})
			z := Compute(Dims(3, 4, 6), "Z", func(i ...tir.Expr) tir.Expr { return tir.Max(y.At(i...), tir.I32(1)) })
			return []*Tensor{z}, []any{x, w, z}
		},
		call: func() []any {
			return []any{fill(tir.Int32, 1, 2, 7, 6), fill(tir.Int32, 2, 3, 2, 3, 3), newMemory(tir.Int32, 3, 4, 6)}
		},
	},
	{
		name: "windows", results: []int{1},
		build: func() ([]*Tensor, []any) {
			n := Var("n")
			a := Placeholder(dims(n), tir.Int32, "A")
			b := Compute(dims(n), "B", func(i ...tir.Expr) tir.Expr { return tir.Mul(a.At(i[0]), tir.I32(2)) })
			k := axis("k", -1, 4)
			c := Compute(dims(n), "C", func(i ...tir.Expr) tir.Expr { return Sum(guardedAt(b, tir.Sub(i[0], k.Var)), k) })
			d := Compute(dims(n), "D", func(i ...tir.Expr) tir.Expr {
				back := tir.Sub(tir.Sub(n, tir.I32(1)), i[0])
				return tir.Add(tir.Add(c.At(back), guardedAt(b, tir.Mul(i[0], tir.I32(3)))), c.At(tir.FloorDiv(i[0], tir.I32(2))))
			})
			return []*Tensor{d}, []any{a, d}
		},
		call: func() []any { return []any{fill(tir.Int32, 1, 13), newMemory(tir.Int32, 13)} },
	},
	{
		name: "reshape", results: []int{1},
		build: func() ([]*Tensor, []any) {
			a := Placeholder(Dims(6, 5), tir.Int32, "A")
			b := Compute(Dims(6, 5), "B", func(i ...tir.Expr) tir.Expr { return tir.Sub(a.At(i...), tir.I32(4)) })
			flat := Compute(Dims(30), "F", func(i ...tir.Expr) tir.Expr {
				return b.At(tir.FloorDiv(i[0], tir.I32(5)), tir.FloorMod(i[0], tir.I32(5)))
			})
			c := Compute(Dims(3, 10), "C", func(i ...tir.Expr) tir.Expr {
				return tir.Mul(flat.At(tir.Add(tir.Mul(i[0], tir.I32(10)), i[1])), tir.I32(2))
			})
			d := Compute(Dims(15, 2), "D", func(i ...tir.Expr) tir.Expr {
				f := tir.Add(tir.Mul(i[0], tir.I32(2)), i[1])
				return tir.Add(c.At(tir.Div(f, tir.I32(10)), tir.Mod(f, tir.I32(10))),
					flat.At(tir.Min(tir.Mul(f, tir.I32(2)), tir.I32(29))))
			})
			return []*Tensor{d}, []any{a, d}
		},
		call: func() []any { return []any{fill(tir.Int32, 1, 6, 5), newMemory(tir.Int32, 15, 2)} },
	},
	{
		name: "softmax", results: []int{1},
		build: func() ([]*Tensor, []any) {
			n := Var("n")
			a := Placeholder(dims(n, tir.I32(7)), tir.Float32, "A")
			k, l := axis("k", 0, 7), axis("k", 0, 7)
			top := Compute(dims(n), "Top", func(i ...tir.Expr) tir.Expr { return Max(a.At(i[0], k.Var), k) })
			e := Compute(dims(n, tir.I32(7)), "E", func(i ...tir.Expr) tir.Expr {
				return tir.Intrin("exp", tir.Sub(a.At(i...), top.At(i[0])))
			})
			sum := Compute(dims(n), "S", func(i ...tir.Expr) tir.Expr { return Sum(e.At(i[0], l.Var), l) })
			y := Compute(dims(n, tir.I32(7)), "Y", func(i ...tir.Expr) tir.Expr { return tir.Div(e.At(i...), sum.At(i[0])) })
			return []*Tensor{y}, []any{a, y}
		},
		call: func() []any { return []any{fill(tir.Float32, 1, 5, 7), newMemory(tir.Float32, 5, 7)} },
	},
	{
		name: "argmax", results: []int{1},
		build: func() ([]*Tensor, []any) {
			n := Var("n")
			a := Placeholder(dims(n, tir.I32(6)), tir.Int32, "A")
			b := Compute(dims(n, tir.I32(6)), "B", func(i ...tir.Expr) tir.Expr { return tir.Mul(a.At(i...), tir.I32(-3)) })
			k := axis("k", 0, 6)
			top := ComputeMulti(dims(n), "Top", func(i ...tir.Expr) []tir.Expr { return ArgMax(b.At(i[0], k.Var), k) })
			y := Compute(dims(n), "Y", func(i ...tir.Expr) tir.Expr {
				return tir.Add(top[0].At(i...), tir.Mul(top[1].At(i...), b.At(i[0], top[0].At(i...))))
			})
			return []*Tensor{y}, []any{a, y}
		},
		call: func() []any { return []any{fill(tir.Int32, 1, 11, 6), newMemory(tir.Int32, 11)} },
	},
	{
		name: "several results", results: []int{1, 2},
		build: func() ([]*Tensor, []any) {
			a := Placeholder(Dims(5, 6), tir.Int64, "A")
			k := axis("k", 0, 6)
			two := ComputeMulti(Dims(5, 6), "P", func(i ...tir.Expr) []tir.Expr {
				return []tir.Expr{tir.Add(a.At(i...), tir.I64(1)), tir.NewCast(tir.Int32, a.At(i...))}
			})
			sum := Compute(Dims(5), "S", func(i ...tir.Expr) tir.Expr {
				return Sum(tir.Add(two[0].At(i[0], k.Var), tir.NewCast(tir.Int64, two[1].At(i[0], k.Var))), k)
			})
			d := Compute(Dims(5, 6), "D", func(i ...tir.Expr) tir.Expr { return tir.Sub(two[0].At(i...), sum.At(i[0])) })
			return []*Tensor{sum, d}, []any{a, sum, d}
		},
		call: func() []any {
			return []any{fill(tir.Int64, 1, 5, 6), newMemory(tir.Int64, 5), newMemory(tir.Int64, 5, 6)}
		},
	},
	{
		name: "extern", results: []int{1},
		build: func() ([]*Tensor, []any) {
			n := Var("n")
			a := Placeholder(dims(n), tir.Int32, "A")
			b := Compute(dims(n), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.I32(2)) })
			turned := Extern([]ExternResult{{dims(n), tir.Int32}}, []*Tensor{b}, "R", func(ins, outs []*tir.Buffer) tir.Stmt {
				i := tir.NewVar("i", tir.Int32)
				return &tir.For{Var: i, Min: tir.I32(0), Extent: n, Body: &tir.BufferStore{Buffer: outs[0], Indices: dims(i),
					Value: tir.BufferAt(ins[0], tir.Sub(tir.Sub(n, i), tir.I32(1)))}}
			})[0]
			c := Compute(dims(n), "C", func(i ...tir.Expr) tir.Expr { return tir.Mul(turned.At(i...), tir.I32(3)) })
			d := Compute(dims(n), "D", func(i ...tir.Expr) tir.Expr { return tir.Sub(c.At(i...), b.At(i...)) })
			return []*Tensor{d}, []any{a, d}
		},
		call: func() []any { return []any{fill(tir.Int32, 1, 17), newMemory(tir.Int32, 17)} },
	},
}

// unscheduled computes a workload by a schedule without primitives.
func unscheduled(t *testing.T, w workload) []any {
	t.Helper()
	outs, args := w.build()
	in := w.call()
	require.NoError(t, run(lower(t, schedule(t, outs...), args...), 1, in...))
	return in
}
