//go:build cgo

package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/te/schedule/cpu"
	"tvmgo/tir"
)

// openCase is an operator with dimensions that calls decide, and weights that are constant.
type openCase struct {
	name    string
	x       []int // the shape of the input: 0 is open, each dimension by itself
	weights []int
	out     func(x, w *te.Tensor) *te.Tensor
	slow    bool // expects the default schedule
}

// Schedules for sizes that calls decide compute what serial loops do, for numbers of rows around those of tiles and of
// blocks of tiles; the interpreter finds every index out of bounds.
func TestFast_OpenSizes(t *testing.T) {
	product := func(x, w *te.Tensor) *te.Tensor { return ops.Relu(ops.Matmul(x, w, "M"), "R") }
	turned := func(x, w *te.Tensor) *te.Tensor { return ops.Matmul(x, w, "M", ops.TransposeY()) }
	conv := func(x, w *te.Tensor) *te.Tensor { return ops.Conv2D(x, w, "C", 1, 1) }
	for _, c := range []openCase{
		{"rows", []int{0, 33}, []int{33, 70}, product, false},
		{"rows, weights transposed", []int{0, 32}, []int{64, 32}, turned, false},
		{"rows in constant batches", []int{2, 0, 32}, []int{32, 40}, product, false},
		{"rows in open batches", []int{0, 0, 32}, []int{32, 40}, product, false},
		{"open batches of rows", []int{0, 5, 32}, []int{32, 70}, product, false},
		{"two open batches", []int{0, 0, 5, 32}, []int{32, 70}, product, true},
		{"few products", []int{0, 4}, []int{4, 8}, product, true},
		{"images", []int{0, 4, 7, 8}, []int{16, 4, 3, 3}, conv, true},
		{"images of many channels", []int{0, 16, 5, 9}, []int{24, 16, 3, 3}, conv, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, v := range machines {
				c.run(t, v, rand.New(rand.NewPCG(testseed.Of(t), 0)))
			}
		})
	}
}

func (c *openCase) run(t *testing.T, v cpu.SIMD, r *rand.Rand) {
	var shape []tir.Expr
	for d, n := range c.x {
		if n == 0 {
			shape = append(shape, te.Var(fmt.Sprintf("n%d", d)))
		} else {
			shape = append(shape, tir.I32(int32(n)))
		}
	}
	x := te.Placeholder(shape, tir.Float32, "X")
	weights := numbers(r, c.weights)
	var data []byte
	for _, v := range weights {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	w := te.Const(holder(tir.Float32, "W", c.weights...).ProducerShape(), tir.Float32, "W", data)
	out := c.out(x, w)
	require.NoError(t, out.Err())
	f := fastCase{name: c.name, ins: []*te.Tensor{x}, out: out}
	plain := compiled(t, must.Get(te.NewSchedule(out))(t), x, w, out)
	s, fast := f.schedule(t, v)
	require.Equal(t, !c.slow, fast, "%v", v)
	args := []*te.Tensor{x}
	given := []*tirrun.Array{}
	for _, p := range s.Constants() {
		args = append(args, p)
		if p.Prepared() == nil {
			given = append(given, array(t, c.weights, weights))
			continue
		}
		panel := must.Get(tirrun.From(tir.Float32, make([]float64, elements(sizes(p))), sizes(p)...))(t)
		prepare := compiled(t, must.Get(te.NewSchedule(p.Prepared()))(t), w, p.Prepared())
		must.Get(prepare.Call("f", array(t, c.weights, weights), panel))(t)
		given = append(given, panel)
	}
	program := compiled(t, s, append(args, out)...)
	for _, n := range []int{0, 1, 3, 4, 5, 6, 7, 12, 13, 63, 64, 65, 96, 97, 103} {
		if n > 13 && len(c.x) > 2 || n > 3 && len(c.x) > 3 { // the interpreter is slow
			break
		}
		in, result := slices.Clone(c.x), []int64{}
		for d := range in {
			if in[d] == 0 {
				in[d] = max(n-2*d, min(n, 1))
			}
		}
		to := map[*tir.Var]tir.Expr{}
		for d, e := range shape {
			if v, ok := e.(*tir.Var); ok {
				to[v] = tir.I32(int32(in[d]))
			}
		}
		for _, e := range out.ProducerShape() {
			size, known := tir.IntValue(tir.Substitute(e, to))
			require.True(t, known)
			result = append(result, size)
		}
		values := numbers(r, in)
		want := must.Get(tirrun.From(tir.Float32, make([]float64, elements(result)), result...))(t)
		got := must.Get(tirrun.From(tir.Float32, make([]float64, elements(result)), result...))(t)
		must.Get(plain.Call("f", array(t, in, values), array(t, c.weights, weights), want))(t)
		call := []any{array(t, in, values)}
		for _, a := range given {
			call = append(call, a)
		}
		must.Get(program.Call("f", append(call, got)...))(t)
		require.Equal(t, must.Get(tirrun.Values[float64](want))(t), must.Get(tirrun.Values[float64](got))(t), "%v, %v", v, in)
	}
}

func compiled(t *testing.T, s *te.Schedule, args ...*te.Tensor) *tirrun.Program {
	t.Helper()
	var list []any
	for _, a := range args {
		list = append(list, a)
	}
	return must.Get(tirrun.Compile(must.Get(te.Lower(s, list, "f"))(t), tirrun.Options{}))(t)
}

// numbers are small integers, whose sums of products are the same in any order.
func numbers(r *rand.Rand, shape []int) []float64 {
	list := make([]float64, elements(shape))
	for i := range list {
		list[i] = float64(r.IntN(9) - 4)
	}
	return list
}

func elements[T int | int64](shape []T) int {
	n := 1
	for _, d := range shape {
		n *= int(d)
	}
	return n
}

func sizes(x *te.Tensor) (list []int64) {
	for _, e := range x.ProducerShape() {
		n, _ := tir.IntValue(e)
		list = append(list, n)
	}
	return list
}

func array(t *testing.T, shape []int, values []float64) *tirrun.Array {
	t.Helper()
	var dims []int64
	for _, n := range shape {
		dims = append(dims, int64(n))
	}
	return must.Get(tirrun.From(tir.Float32, values, dims...))(t)
}
