package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// copies returns a function of loops that copies a row of n elements.
func copies(n tir.Expr) *tir.PrimFunc {
	x, y, size := tir.NewVar("x", tir.Handle), tir.NewVar("y", tir.Handle), tir.NewVar("size", tir.Int64)
	in, out := tir.NewBuffer("in", tir.Float32, n), tir.NewBuffer("out", tir.Float32, n)
	i := tir.NewVar("i", tir.Int32)
	return &tir.PrimFunc{Name: "copies", Result: tir.Void, Params: []*tir.Var{x, y, size},
		Buffers: map[*tir.Var]*tir.Buffer{x: in, y: out},
		Body: &tir.For{Var: i, Min: tir.I32(0), Extent: n,
			Body: &tir.BufferStore{Buffer: out, Indices: []tir.Expr{i}, Value: tir.BufferAt(in, i)}}}
}

// A node calls a function of loops with tensors and sizes that fit its parameters.
func TestAddKernel(t *testing.T) {
	f := graph.NewFunction("main")
	n := f.Symbol("n")
	row := func(name string, dt tir.Type, shape ...tir.Expr) *graph.Value {
		return &graph.Value{Name: name, DType: dt, Shape: shape}
	}
	x := f.Param("x", tir.Float32, tir.I32(8))
	k := &graph.Kernel{Func: copies(tir.I32(8)), Sizes: []tir.Expr{tir.Mul(n, tir.I32(2))}}
	node := func(in ...*graph.Value) *graph.Node { return &graph.Node{Inputs: in, Source: "there"} }
	out := must.Get(f.AddKernel(node(x), k, []*graph.Value{row("y", tir.Float32, tir.I32(8))}))(t)
	f.Return(out...)
	require.Equal(t, "y: float32[8]", out[0].String())
	require.Equal(t, []*tir.Var{n}, k.Symbols())
	clone := f.Clone()
	require.Same(t, k, clone.Nodes[0].Kernel)
	require.Equal(t, f.String(), clone.String())
	require.Contains(t, f.String(), `y: float32[8] = kernel(x) {n * 2} calls="copies"`)
	require.ErrorContains(t, must.Fail(graph.Parse(f.Text(), nil)), "which is no part of the text")

	for _, c := range []struct {
		in, out *graph.Value
		sizes   []tir.Expr
		want    string
	}{
		{x, row("y", tir.Float32, tir.I32(9)), k.Sizes, "parameter y is float32[8], and the argument is y: float32[9]"},
		{x, row("y", tir.Int32, tir.I32(8)), k.Sizes, "parameter y is float32[8], and the argument is y: int32[8]"},
		{row("x", tir.Float32), x, k.Sizes, "parameter x is float32[8], and the argument is x: float32[]"},
		{x, x, nil, "the function has 3 parameters, and 2 tensors and 0 sizes are given"},
	} {
		_, err := f.AddKernel(node(c.in), &graph.Kernel{Func: k.Func, Sizes: c.sizes}, []*graph.Value{c.out})
		require.ErrorContains(t, err, "there: call copies: "+c.want)
	}
	_, err := f.AddKernel(&graph.Node{Inputs: []*graph.Value{x, x, x}}, k, nil)
	require.ErrorContains(t, err, "the function has 3 parameters")
	_, err = f.Add("kernel", nil, x)
	require.ErrorContains(t, err, "AddKernel")
}

// The operator sizes makes a tensor of expressions of sizes, whose elements are known.
func TestFunction_Sizes(t *testing.T) {
	f := graph.NewFunction("main")
	n := f.Symbol("n")
	v := must.Get(f.Add("sizes", graph.Attrs{"values": []tir.Expr{tir.Mul(n, tir.I32(2)), tir.I32(3)}}))(t)[0]
	require.Equal(t, ": int64[2]", v.String())
	require.Equal(t, "n * 2", text.Print(graph.Size(v.Elements()[0])))
	require.Equal(t, "3", text.Print(graph.Size(v.Elements()[1])))
	_, err := f.Add("sizes", graph.Attrs{"values": []int64{1}})
	require.ErrorContains(t, err, `attribute "values" is a list of integers: want a list of sizes`)
}
