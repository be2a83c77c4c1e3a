package te_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/te"
	"tvmgo/tir"
)

// TestReplace computes a matrix product from a transposed copy of an operand.
func TestReplace(t *testing.T) {
	make3 := func() (a, b, twice, c, d *te.Tensor) {
		a, b = te.Placeholder(te.Dims(3, 4), tir.Float32, "A"), te.Placeholder(te.Dims(4, 5), tir.Float32, "B")
		twice = te.Compute(te.Dims(4, 5), "twice", func(i ...tir.Expr) tir.Expr { return tir.Mul(b.At(i...), tir.F32(2)) })
		k := te.ReduceAxis(tir.I32(0), tir.I32(4), "k")
		c = te.Compute(te.Dims(3, 5), "C", func(i ...tir.Expr) tir.Expr {
			return te.Sum(tir.Mul(a.At(i[0], k.Var), twice.At(k.Var, i[1])), k)
		})
		d = te.Compute(te.Dims(3, 5), "D", func(i ...tir.Expr) tir.Expr { return tir.Add(c.At(i...), tir.F32(1)) })
		return a, b, twice, c, d
	}
	other := func(a, b *te.Tensor) (transposed, by *te.Tensor) {
		transposed = te.Compute(te.Dims(5, 4), "transposed", func(i ...tir.Expr) tir.Expr {
			return tir.Mul(b.At(i[1], i[0]), tir.F32(2))
		})
		k := te.ReduceAxis(tir.I32(0), tir.I32(4), "k")
		return transposed, te.Compute(te.Dims(3, 5), "by", func(i ...tir.Expr) tir.Expr {
			return te.Sum(tir.Mul(a.At(i[0], k.Var), transposed.At(i[1], k.Var)), k)
		})
	}
	run := func(s *te.Schedule, a, b, d *te.Tensor) []float64 {
		m := must.Get(te.Lower(s, []any{a, b, d}, "f"))(t)
		require.NoError(t, tir.Check(m))
		var given []any
		for _, shape := range [][]int64{{3, 4}, {4, 5}, {3, 5}} {
			v := make([]float64, shape[0]*shape[1])
			for i := range v {
				v[i] = float64(i*5%7) - 3
			}
			x := must.Get(tirrun.From(tir.Float32, v, shape...))(t)
			given = append(given, x)
		}
		require.NoError(t, tirrun.Run(m, "f", given...))
		return must.Get(tirrun.Values[float64](given[2].(*tirrun.Array)))(t)
	}
	a, b, twice, c, d := make3()
	s := must.Get(te.NewSchedule(d))(t)
	want := run(s, a, b, d)
	transposed, by := other(a, b)
	s.Replace(c, by)
	require.NoError(t, s.Err())
	require.Equal(t, want, run(s, a, b, d))
	var names []string
	for _, st := range s.Stages() {
		names = append(names, st.Tensor().ProducerName())
	}
	require.Equal(t, []string{"A", "B", "transposed", "C", "D"}, names) // without twice, which nothing reads any more
	s.Stage(transposed).ComputeAt(s.Stage(c), s.Stage(c).Axes()[1])
	require.NoError(t, s.Err())
	require.Equal(t, want, run(s, a, b, d))
	s.Stage(twice)
	require.ErrorContains(t, s.Err(), "the schedule has no such tensor")

	for message, spoil := range map[string]func(s *te.Schedule, a, b, c, d *te.Tensor){
		"the replacement is nil":              func(s *te.Schedule, a, b, c, d *te.Tensor) { s.Replace(c, nil) },
		"it is an argument":                   func(s *te.Schedule, a, b, c, d *te.Tensor) { s.Replace(a, c) },
		"tensor D is already in the schedule": func(s *te.Schedule, a, b, c, d *te.Tensor) { s.Replace(c, d) },
		"tensor by reads tensor D, which is not computed": func(s *te.Schedule, a, b, c, d *te.Tensor) {
			s.Replace(c, plusOne(d))
		},
		"has type float64 and 2 dimensions: want float32 and 2": func(s *te.Schedule, a, b, c, d *te.Tensor) {
			s.Replace(c, plusOne(te.Placeholder(te.Dims(3, 5), tir.Float64, "X")))
		},
		"dimension 1 of tensor by is 6: want 5": func(s *te.Schedule, a, b, c, d *te.Tensor) {
			s.Replace(c, plusOne(te.Placeholder(te.Dims(3, 6), tir.Float32, "X")))
		},
		"tensor twice is computed at one of its axes: call this first": func(s *te.Schedule, a, b, c, d *te.Tensor) {
			s.Stage(s.Stages()[2].Tensor()).ComputeAt(s.Stage(c), c.Axes()[0])
			s.Replace(c, plusOne(te.Placeholder(te.Dims(3, 5), tir.Float32, "X")))
		},
	} {
		a, b, _, c, d := make3()
		s := must.Get(te.NewSchedule(d))(t)
		spoil(s, a, b, c, d)
		require.ErrorContains(t, s.Err(), message)
	}
	for name, change := range map[string]func(st *te.Stage, c *te.Tensor){
		"split":           func(st *te.Stage, c *te.Tensor) { st.Split(c.Axes()[0], 2) },
		"unroll":          func(st *te.Stage, c *te.Tensor) { st.Unroll(c.Axes()[0]) },
		"storage_align":   func(st *te.Stage, c *te.Tensor) { st.StorageAlign(c.Axes()[0], 8, 0) },
		"storage_swizzle": func(st *te.Stage, c *te.Tensor) { st.StorageSwizzle(c.Axes()[0], 2, 1) },
		"reorder":         func(st *te.Stage, c *te.Tensor) { st.Reorder(c.Axes()[1], c.Axes()[0]) },
	} {
		_, _, _, c, d := make3()
		s := must.Get(te.NewSchedule(d))(t)
		change(s.Stage(c), c)
		require.NoError(t, s.Err(), name)
		s.Replace(c, plusOne(te.Placeholder(te.Dims(3, 5), tir.Float32, "X")))
		require.ErrorContains(t, s.Err(), "its loops have been changed: call this first", name)
	}
	// Operations with several tensors and extern operations are not formulas.
	pair := func() []*te.Tensor {
		x := te.Placeholder(te.Dims(3, 5), tir.Float32, "X")
		return te.ComputeMulti(te.Dims(3, 5), "pair", func(i ...tir.Expr) []tir.Expr {
			return []tir.Expr{x.At(i...), tir.Add(x.At(i...), tir.F32(1))}
		})
	}
	extern := te.Extern([]te.ExternResult{{Shape: te.Dims(3, 5), Type: tir.Float32}}, nil, "foreign",
		func(_, outs []*tir.Buffer) tir.Stmt {
			return &tir.Evaluate{Value: tir.I32(0)}
		})[0]
	for _, by := range []*te.Tensor{pair()[0], extern, te.Placeholder(te.Dims(3, 5), tir.Float32, "X")} {
		_, _, _, c, d := make3()
		s := must.Get(te.NewSchedule(d))(t)
		s.Replace(c, by)
		require.ErrorContains(t, s.Err(), "want formulas of one tensor each")
	}
	both := pair()
	s = must.Get(te.NewSchedule(both...))(t)
	s.Replace(both[0], plusOne(te.Placeholder(te.Dims(3, 5), tir.Float32, "X")))
	require.ErrorContains(t, s.Err(), "want formulas of one tensor each")
}

func plusOne(x *te.Tensor) *te.Tensor {
	return te.Compute(x.ProducerShape(), "by", func(i ...tir.Expr) tir.Expr {
		return tir.Add(x.At(i...), tir.Const(x.ProducerDType(), 1))
	})
}

// TestLower_GuardsOutside expects a guard that does not depend on the reduction's loops outside of them.
func TestLower_GuardsOutside(t *testing.T) {
	a := te.Placeholder(te.Dims(10, 64), tir.Float32, "A")
	k := te.ReduceAxis(tir.I32(0), tir.I32(64), "k")
	b := te.Compute(te.Dims(10), "B", func(i ...tir.Expr) tir.Expr { return te.Sum(a.At(i[0], k.Var), k) })
	s := must.Get(te.NewSchedule(b))(t)
	s.Stage(b).Split(b.Axes()[0], 4)
	m := must.Get(te.Lower(s, []any{a, b}, "f"))(t)
	inSum := false
	tir.Walk(m.Funcs[0].Body, func(n any) bool {
		if f, ok := n.(*tir.For); ok && f.Var.Name == "k" {
			tir.Walk(f.Body, func(n any) bool {
				_, guard := n.(*tir.If)
				inSum = inSum || guard
				return true
			})
		}
		return true
	})
	require.False(t, inSum, "%s", m)
}
