package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/graph"
)

// edges is a graph with an input that is an output, an output that occurs twice, a reshaped input as an output, an
// input that nothing reads, a scalar, and data without elements.
func edges(t testing.TB) string {
	return graphText(t, []node{
		{name: "x", out: f32(0, 2, 2)},
		{name: "unread", out: []entry{{"int8", []int64{3}, 1, dlpack.CPU}}},
		{name: "none", out: f32(2, 0, 4)},
		{name: "scalar", out: f32(3, []int64{}...)},
		{name: "y", fn: "double", in: []ref{{0, 0}}, out: f32(4, 2, 2)},
		{name: "flat", fn: "__nop", in: []ref{{0, 0}}, out: f32(0, 4)},
		{name: "empty", fn: "double", in: []ref{{2, 0}}, out: f32(5, 0, 4)},
		{name: "s", fn: "double", in: []ref{{3, 0}}, out: f32(6, []int64{}...)},
		{name: "copy", fn: "__copy", in: []ref{{7, 0}}, out: f32(7, []int64{}...)},
	}, ref{0, 0}, ref{4, 0}, ref{4, 0}, ref{5, 0}, ref{6, 0}, ref{8, 0}, ref{7, 0})
}

// Executors and models agree on outputs that are inputs, that occur twice, or that have no elements.
func TestGraph_Edges(t *testing.T) {
	noLeaks(t)
	lib := doubles(t)
	x := modules.Tensor(t, []float32{1, 2, 3, 4}, 2, 2)
	unread := modules.Tensor(t, []int8{1, 2, 3}, 3)
	none := modules.Empty(t, dlpack.Float32, 0, 4)
	scalar := modules.Empty(t, dlpack.Float32, []int64{}...)
	require.NoError(t, runtime.CopyFrom(scalar, []float32{5}))
	want := [][]float32{{1, 2, 3, 4}, {2, 4, 6, 8}, {2, 4, 6, 8}, {1, 2, 3, 4}, {}, {10}, {10}}

	s := create(t, edges(t), lib, cpu)
	require.EqualValues(t, 4, call(t, s, "get_num_inputs"))
	require.EqualValues(t, 7, call(t, s, "get_num_outputs"))
	require.EqualValues(t, 2, call(t, s, "get_input_index", "none"))
	require.EqualValues(t, -1, call(t, s, "get_input_index", "y"), "no input")
	require.EqualValues(t, 1, call(t, s, "get_output_index", "y"))
	for _, setter := range []string{"set_input", "set_input_zero_copy"} {
		for i, in := range []*runtime.Tensor{x, unread, none, scalar} {
			call(t, s, setter, i, in)
		}
		call(t, s, "run")
		for i, w := range want {
			require.Equal(t, w, append([]float32{}, output[float32](t, s, i)...), "%s %d", setter, i)
		}
	}
	require.ErrorContains(t, fails(t, s, "set_output_zero_copy", 0, x), "an input of the graph")
	require.ErrorContains(t, fails(t, s, "set_output_zero_copy", 2, x), "the same data as another output")
	require.ErrorContains(t, fails(t, s, "set_output_zero_copy", 3, x), "an input of the graph")
	call(t, s, "set_output_zero_copy", 4, modules.Empty(t, dlpack.Float32, 0, 4))
	into := modules.Empty(t, dlpack.Float32, []int64{}...)
	call(t, s, "set_output_zero_copy", "copy", into)
	call(t, s, "run")
	require.Equal(t, []float32{10}, modules.Slice[float32](t, into))

	m := must.Open(graph.NewModel(edges(t), lib, cpu))(t)
	for range 2 {
		results := call(t, m, "main", x, unread, none, scalar).([]any)
		require.Len(t, results, len(want))
		for i, w := range want {
			r := results[i].(*runtime.Tensor)
			require.Equal(t, w, append([]float32{}, modules.Slice[float32](t, r)...), "model %d", i)
			for k, other := range []*runtime.Tensor{x, scalar} {
				require.True(t, r.Size() == 0 || address(r) != address(other), "result %d is input %d", i, k)
			}
			r.Close()
		}
	}
}
