//go:build cgo

package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/te/schedule/cpu"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// openProduct is a product of two inputs with dimensions that calls decide: x of [rows, depth] and y of
// [depth, columns], with batches before them; 0 is open.
type openProduct struct {
	batch, rows, columns, depth int
	batches                     bool
	options                     []ops.MatmulOption
	turnedX, turnedY            bool
	slow                        bool // expects the default schedule
}

// Products of two inputs of unknown sizes compute what serial loops do, for sizes around those of tiles: with the
// interpreter, which finds every index out of bounds, after the passes for the host, and compiled for one
// of the machines.
func TestFast_OpenProducts(t *testing.T) {
	x, y := ops.TransposeX(), ops.TransposeY()
	for i, c := range []openProduct{
		{},
		{options: []ops.MatmulOption{x}, turnedX: true},
		{options: []ops.MatmulOption{y}, turnedY: true},
		{options: []ops.MatmulOption{x, y}, turnedX: true, turnedY: true},
		{batches: true},
		{batches: true, batch: 2},
		{rows: 20},
		{columns: 40},
		{columns: 9},
		{depth: 33},
		{rows: 5, columns: 70},
		{rows: 1, slow: true},
		{columns: 1, slow: true},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(testseed.Of(t), uint64(i)))
			build := r.IntN(len(machines))
			for j, v := range machines {
				c.run(t, v, j == build, r)
			}
		})
	}
}

func (c *openProduct) run(t *testing.T, v cpu.SIMD, build bool, r *rand.Rand) {
	size := func(name string, n int) tir.Expr {
		if n == 0 {
			return te.Var(name)
		}
		return tir.I32(int32(n))
	}
	b, m, n, k := size("b", c.batch), size("m", c.rows), size("n", c.columns), size("k", c.depth)
	shape := func(turned bool, p, q tir.Expr) []tir.Expr {
		if turned {
			p, q = q, p
		}
		if c.batches {
			return []tir.Expr{b, p, q}
		}
		return []tir.Expr{p, q}
	}
	x := te.Placeholder(shape(c.turnedX, m, k), tir.Float32, "X")
	y := te.Placeholder(shape(c.turnedY, k, n), tir.Float32, "Y")
	out := ops.Relu(ops.Matmul(x, y, "M", c.options...), "R")
	require.NoError(t, out.Err())
	f := fastCase{ins: []*te.Tensor{x, y}, out: out}
	plain := compiled(t, must.Get(te.NewSchedule(out))(t), x, y, out)
	s, fast := f.schedule(t, v)
	require.Equal(t, !c.slow, fast, "%v", v)
	lowered := f.lower(t, s, "f")
	program := must.Get(tirrun.Compile(lowered, tirrun.Options{}))(t)
	final := must.Get(transform.ForHost().Run(lowered, newTarget(t, "c")))(t)
	passed := must.Get(tirrun.Compile(final, tirrun.Options{}))(t)
	var built *runtime.Function
	if build {
		built = must.Open(must.Open(codegen.Build(lowered, newTarget(t, "c")))(t).Function("f"))(t)
	}
	for _, size := range [][4]int{{2, 0, 5, 3}, {1, 3, 0, 4}, {1, 4, 5, 0}, {3, 1, 1, 1}, {2, 7, 33, 2}, {1, 8, 32, 16},
		{1, 9, 65, 17}, {2, 15, 31, 33}, {1, 64, 64, 5}, {1, 3, 130, 20}, {0, 3, 3, 3}} {
		pick := func(fixed, n int) int {
			if fixed != 0 {
				return fixed
			}
			return n
		}
		b, m, n, k := pick(c.batch, size[0]), pick(c.rows, size[1]), pick(c.columns, size[2]), pick(c.depth, size[3])
		dims := func(turned bool, p, q int) []int {
			if turned {
				p, q = q, p
			}
			if c.batches {
				return []int{b, p, q}
			}
			return []int{p, q}
		}
		xs, ys, zs := dims(c.turnedX, m, k), dims(c.turnedY, k, n), dims(false, m, n)
		left, right := array(t, xs, numbers(r, xs)), array(t, ys, numbers(r, ys))
		want := array(t, zs, make([]float64, elements(zs)))
		must.Get(plain.Call("f", left, right, want))(t)
		for _, p := range []*tirrun.Program{program, passed} {
			got := array(t, zs, make([]float64, elements(zs)))
			must.Get(p.Call("f", left, right, got))(t)
			require.Equal(t, must.Get(tirrun.Values[float64](want))(t), must.Get(tirrun.Values[float64](got))(t), "%v, %v",
				v, size)
		}
		if !build {
			continue
		}
		got := tensorOfArray(t, array(t, zs, make([]float64, elements(zs))))
		_, err := built.Call(tensorOfArray(t, left), tensorOfArray(t, right), got)
		require.NoError(t, err)
		require.Equal(t, must.Get(tirrun.Values[float64](want))(t), valuesOf(t, got, want), "compiled: %v, %v", v, size)
	}
}
