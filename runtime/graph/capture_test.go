package graph_test

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A recorded run is launched again with other inputs, without calling the functions of the graph.
func TestCapture(t *testing.T) {
	t.Setenv("TVMGO_CUDA_LIBRARY", fakecuda.Build(t))
	dev := needDevice(t, dlpack.CUDA)
	goruntime.LockOSThread() // devices may record by thread
	defer goruntime.UnlockOSThread()
	on := func(sid int) []entry { return []entry{{"float32", []int64{8}, sid, dlpack.CUDA}} }
	text := graphText(t, []node{
		{name: "x", out: on(0)},
		{name: "y", fn: "__copy", in: []ref{{0, 0}}, out: on(1)},
		{name: "z", fn: "__copy", in: []ref{{1, 0}}, out: on(2)},
	}, ref{2, 0})
	lib := doubles(t)
	create := must.Open(runtime.Global("tvm.graph_executor_cuda_graph.create"))(t)
	s := must.Open(must.Get(create.Call(text, lib, int(dlpack.CUDA), 0))(t).(*runtime.Module), nil)(t)

	require.ErrorContains(t, fails(t, s, "run_cuda_graph"), "no run was recorded")
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	call(t, s, "set_input", "x", gputest.Tensor(t, dev, x))
	call(t, s, "run")
	require.Equal(t, x, output[float32](t, s, 0))
	call(t, s, "start_capture")
	require.ErrorContains(t, fails(t, s, "start_capture"), "a run is being recorded")
	call(t, s, "run")
	call(t, s, "end_capture")
	for range 3 {
		x[2]++
		call(t, s, "set_input", "x", modules.Tensor(t, x))
		call(t, s, "run_cuda_graph")
		require.Equal(t, x, output[float32](t, s, 0))
	}
	call(t, s, "start_capture") // again, and left in progress
}
