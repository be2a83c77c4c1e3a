package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A factory is a model like any other: with named inputs, batches and sessions, which are executors.
func TestModel_OfAFactory(t *testing.T) {
	noLeaks(t)
	ctx := context.Background()
	of := loadMLP(t)
	m := must.Open(runtime.LoadModel(ctx, artifacts+"graph_mlp.so", runtime.WithMemoryLimit(1<<30)))(t)
	info := m.Functions()[0]
	require.Equal(t, "data", info.Params[0].Name)
	require.Equal(t, of.in.Shape(), info.Params[0].Shape)
	for _, inputs := range []runtime.Inputs{runtime.Ordered{of.in}, runtime.Named{"data": of.in}} {
		out := must.Get(m.Run(ctx, inputs))(t)
		require.InDeltaSlice(t, of.want, modules.Slice[float32](t, must.Get(out.Tensor(0))(t)), 1e-5)
		require.NoError(t, out.Close())
		for _, out := range must.Get(m.RunBatch(ctx, []runtime.Inputs{inputs, inputs}))(t) {
			require.InDeltaSlice(t, of.want, modules.Slice[float32](t, must.Get(out.Tensor(0))(t)), 1e-5)
			require.NoError(t, out.Close())
		}
	}
	require.ErrorContains(t, must.Fail(m.Run(ctx, runtime.Named{"dat": of.in})), `did you mean "data"?`)
	require.ErrorContains(t, must.Fail(m.Run(ctx, runtime.Ordered{modules.Tensor(t, []float32{1})})),
		"parameter data: expected float32[")
	require.Equal(t, int64(1<<30), must.Get(m.Memory())(t).Limit)
	s := must.Open(m.Session())(t)
	of.check(t, s)
}
