//go:build cgo

package passes_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/graph/passes"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
)

// constants makes a function in which a body and a result need results of nodes with constant operands.
func constants(t *testing.T) *builder {
	b := newBuilder(t)
	r := rand.New(rand.NewPCG(4, 1))
	x := b.input("x", 400)
	w := b.op("exp", b.op("neg", b.weights(r, 400)))
	then, otherwise := b.body(b.Body("then")), b.body(b.Body("else"))
	then.Return(then.op("add", x, then.op("reduce_sum", w)))
	otherwise.Return(otherwise.op("add", x, w))
	cond := b.op("less", b.op("reduce_sum", x), b.scalar(0))
	cond = b.op("reshape", cond, b.Ints("scalar"))
	outs := must.Get(b.AddIf(&graph.Node{}, cond, then.Function, otherwise.Function))(t)
	w.Name = "w"
	b.Return(outs[0], w)
	return b
}

func TestFold(t *testing.T) {
	require.Equal(t, []string{
		"reduce_sum x = v1", "less v1 const[] = v2", "reshape v2 const[0] = v3", "if v3 = v4",
		"add x const[1] = v5", "return v5", "add x const[400] = v6", "return v6", "return v4 const[400]",
	}, trimmed(changed(t, constants(t).Function, "fold")))
}

// Results that are much larger than their operands stay nodes, and so does everything if no code can be run.
func TestFold_Limits(t *testing.T) {
	b := newBuilder(t)
	x := b.input("x", 400, 300)
	small := b.op("exp", b.floats([]int64{1, 2, 1}, 1, 2))
	large := b.op("expand", b.op("reshape", small, b.Ints("shape", 2, 1, 1)), b.Ints("shape", 2, 400, 300))
	b.Return(b.op("add", x, large))
	require.Equal(t, []string{"expand const[2,1,1] const[3] = v1", "add x v1 = v2", "return v2"},
		changed(t, b.Function, "fold"))

	b = constants(t)
	before := listing(b.Function)
	require.NoError(t, pass(t, "fold").Run(context.Background(), b.Function, nil, passes.Options{}))
	require.Equal(t, before, listing(b.Function))
}

// What takes long to compute stays nodes, and so does what comes after many large results: a small file can describe
// any amount of work.
func TestFold_Work(t *testing.T) {
	b := newBuilder(t)
	x := b.input("x", 2)
	w := b.op("expand", b.floats([]int64{1, 1}, 1), b.Ints("shape", 2100, 2100))
	b.Return(b.op("add", x, b.op("reduce_sum", b.op("matmul", w, w))))
	require.Contains(t, changed(t, b.Function, "fold"), "matmul const[2100,2100] const[2100,2100] = v1")

	b = newBuilder(t)
	x = b.input("x", 2000)
	for k := range 100 { // weights of 8 MB
		w := b.op("expand", b.floats([]int64{1, 1}, float64(k)), b.Ints("shape", 2000, 1000))
		b.Results = append(b.Results, b.op("matmul", x, w))
	}
	computed := 0
	zeros := func(_ context.Context, f *graph.Function) (data [][]byte, _ error) {
		for range f.Results {
			data = append(data, make([]byte, 4*2000*1000))
		}
		computed = len(data)
		return data, nil
	}
	require.NoError(t, pass(t, "fold").Run(context.Background(), b.Function, nil, passes.Options{Evaluate: zeros}))
	require.InDelta(t, 33, computed, 2)
}

// Steps of weights that no other node reads are not stored, and do not count as constants; a step may be large.
func TestFold_Steps(t *testing.T) {
	folded := func(b *builder) []string {
		zeros := func(_ context.Context, f *graph.Function) (data [][]byte, _ error) {
			for _, v := range f.Results {
				shape, _ := v.StaticShape()
				data = append(data, make([]byte, must.Get(dlpack.DataSize(shape, v.DType))(t)))
			}
			return data, nil
		}
		require.NoError(t, pass(t, "fold").Run(context.Background(), b.Function, nil, passes.Options{Evaluate: zeros}))
		return listing(b.Function)
	}
	float64s, float32s := graph.Attrs{"to": tir.Float64}, graph.Attrs{"to": tir.Float32}

	b := newBuilder(t)
	x := b.input("x", 200)
	w := must.Get(b.Const("w", tir.Float32, []int64{200, 10000}, make([]byte, 8000000)))(t)
	for range 40 { // weights of 8 MB, by way of two steps of 16 MB
		wide := b.op("exp", b.with("cast", float64s, w))
		b.Results = append(b.Results, b.op("matmul", x, b.with("cast", float32s, wide)))
	}
	require.Len(t, folded(b), 41, "40 products")

	b = newBuilder(t)
	wide := b.with("cast", float64s, b.op("expand", b.floats([]int64{1, 1}, 1), b.Ints("shape", 3000, 3000))) // 72 MB
	b.Return(b.op("matmul", b.input("x", 3000), b.with("cast", float32s, wide)))
	require.Equal(t, []string{"matmul x const[3000,3000] = v1", "return v1"}, folded(b))
}

// Weights are computed whatever they are made of.
func TestFold_Weights(t *testing.T) {
	b := newBuilder(t)
	x := b.input("x", 1, 300)
	w := b.op("exp", b.op("constant_of_shape", b.Ints("shape", 300, 200), b.scalar(0.5)))
	b.Return(b.op("matmul", x, b.op("identity", w)))
	require.Equal(t, []string{"matmul x const[300,200] = v1", "return v1"}, changed(t, b.Function, "fold"))
}

// An error of the code is reported with the pass, and leaves the function as it was.
func TestFold_Errors(t *testing.T) {
	for _, c := range []struct {
		data [][]byte
		err  error
		want string
	}{
		{nil, errors.New("disk full"), `pass fold of function "main": disk full`},
		{[][]byte{make([]byte, 4)}, nil, "1 constants are computed: want 2"},
		{[][]byte{make([]byte, 4), make([]byte, 5)}, nil, "has 4 bytes: want 1600"},
	} {
		b := constants(t)
		names := len(listing(b.Function))
		err := passes.Run(context.Background(), b.Function, must.Get(target.New("c"))(t), passes.Options{
			Evaluate: func(context.Context, *graph.Function) ([][]byte, error) { return c.data, c.err }})
		require.ErrorContains(t, err, c.want)
		require.Len(t, listing(b.Function), names)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, passes.Run(ctx, constants(t).Function, nil, passes.Options{}), context.Canceled)
}

// Constants are compared by their contents, and large ones by their memory. Types and shapes differ, too.
func TestCommon_Constants(t *testing.T) {
	b := newBuilder(t)
	x := b.Param("x", tir.Float32, tir.I32(2), tir.I32(20000))
	data := make([]byte, 80000)
	large := func(data []byte) *graph.Value {
		return must.Get(b.Const("w", tir.Float32, []int64{20000}, data))(t)
	}
	y := b.op("add", b.op("sub", x, large(data)), b.op("sub", x, large(data)))
	y = b.op("add", y, b.op("sub", x, large(make([]byte, 80000))))
	z := b.op("add", b.op("mul", x, b.floats([]int64{1}, 2)), b.op("mul", x, b.floats([]int64{1, 1}, 2)))
	b.Return(b.op("add", y, b.op("add", z, b.op("mul", x, b.floats([]int64{1}, 2)))))
	require.Equal(t, []string{
		"sub x const[20000] = v1", "add v1 v1 = v2", "sub x const[20000] = v3", "add v2 v3 = v4",
		"mul x const[1] = v5", "mul x const[1,1] = v6", "add v5 v6 = v7", "add v7 v5 = v8", "add v4 v8 = v9", "return v9",
	}, changed(t, b.Function, "common", "dead"))
}
