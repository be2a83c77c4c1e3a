package compile_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// Sizes that have to fit each other, and are only known when the model runs, are checked then. The error names the node
// and the sizes.
func TestFunction_SizesThatDiffer(t *testing.T) {
	sizes := func(f *graph.Function, names ...string) (dims []tir.Expr) {
		for _, n := range names {
			dims = append(dims, f.Symbol(n))
		}
		return dims
	}
	for _, c := range []struct {
		op           string
		attrs        graph.Attrs
		x, y         []string
		good         [][2][]int64 // shapes of x and y
		want         [][]int64    // of the results
		bad          [2][]int64
		wrong, sizes string
	}{
		{op: "add", x: []string{"n"}, y: []string{"m"}, good: [][2][]int64{{{3}, {3}}, {{1}, {4}}, {{4}, {1}}, {{0}, {0}},
			{{1}, {0}}}, want: [][]int64{{3}, {4}, {4}, {0}, {0}}, bad: [2][]int64{{3}, {5}},
			wrong: `has to be 1 or the size of the others`, sizes: "is 3, expected 5"},
		{op: "mod", x: []string{"n"}, y: []string{"m"}, good: [][2][]int64{{{3}, {1}}}, want: [][]int64{{3}},
			bad: [2][]int64{{2}, {5}}, wrong: `has to be 1 or the size of the others`, sizes: "is 2, expected 5"},
		{op: "matmul", x: []string{"n", "k"}, y: []string{"l", "m"}, good: [][2][]int64{{{2, 3}, {3, 4}}, {{2, 0}, {0, 4}}},
			want: [][]int64{{2, 4}, {2, 4}}, bad: [2][]int64{{2, 3}, {4, 4}},
			wrong: "the rows of operand 1 have to be equally many", sizes: "is 4, expected 3"},
		{op: "gemm", attrs: graph.Attrs{"transB": int64(1)}, x: []string{"n", "k"}, y: []string{"m", "l"},
			good: [][2][]int64{{{2, 3}, {4, 3}}}, want: [][]int64{{2, 4}}, bad: [2][]int64{{2, 3}, {4, 4}},
			wrong: "the rows of operand 1 have to be equally many", sizes: "is 4, expected 3"},
		{op: "concat", x: []string{"n", "k"}, y: []string{"m", "l"}, good: [][2][]int64{{{2, 3}, {4, 3}}, {{0, 3}, {4, 3}}},
			want: [][]int64{{6, 3}, {4, 3}}, bad: [2][]int64{{2, 3}, {2, 4}},
			wrong: "dimension 1 of operand 1 has to be that of operand 0", sizes: "is 4, expected 3"},
	} {
		t.Run(c.op, func(t *testing.T) {
			f := graph.NewFunction("main")
			x := f.Param("x", tir.Float32, sizes(f, c.x...)...)
			y := f.Param("y", tir.Float32, sizes(f, c.y...)...)
			n := &graph.Node{Op: graph.LookupOp(c.op), Attrs: c.attrs, Inputs: []*graph.Value{x, y}, Source: "node 7"}
			f.Return(must.Get(f.AddNode(n, c.op))(t)...)
			model := must.Get(runtime.LoadModel(t.Context(), library(t, f)))(t)
			defer model.Close()
			run := func(shapes [2][]int64) ([]int64, error) {
				var args runtime.Ordered
				for _, s := range shapes {
					args = append(args, must.Get(runtime.NewTensor(tir.Float32, s, runtime.CPU))(t))
				}
				out, err := model.Run(t.Context(), args)
				if err != nil {
					return nil, err
				}
				defer out.Close()
				return must.Get(out.Tensor(0))(t).Shape(), nil
			}
			for k, shapes := range c.good {
				require.Equal(t, c.want[k], must.Get(run(shapes))(t), fmt.Sprint(shapes))
			}
			err := must.Fail(run(c.bad))
			require.ErrorContains(t, err, "node 7: ")
			require.ErrorContains(t, err, c.wrong+": dimension")
			require.ErrorContains(t, err, c.sizes)
		})
	}
}

// Sizes that are known to differ are an error of the model.
func TestAdd_SizesThatDiffer(t *testing.T) {
	f := graph.NewFunction("main")
	x := f.Param("x", tir.Float32, f.Symbol("n"), tir.I32(3))
	y := f.Param("y", tir.Float32, f.Symbol("m"), tir.I32(4))
	require.ErrorContains(t, must.Fail(f.Add("add", nil, x, y)), "dimension 1 of operand 1 has to be 1 or the size of "+
		"the others: it is 4, and not 3")
}
