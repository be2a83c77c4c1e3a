package compile

import (
	"context"
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/graph/lower"
	"tvmgo/runtime"
	"tvmgo/target"
)

// evaluate runs a function without parameters on this machine, and returns the data of its results.
func evaluate(ctx context.Context, f *graph.Function) ([][]byte, error) {
	t, err := target.New("c")
	if err != nil {
		return nil, err
	}
	targets := []*target.Target{t}
	p, err := lower.Options{}.Model(ctx, targets, f)
	if err != nil {
		return nil, err
	}
	m, err := link(p, targets)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	model, err := runtime.NewModel(m)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	out, err := model.RunFunction(ctx, f.Name, runtime.Ordered{})
	if err != nil {
		return nil, fmt.Errorf("compute constants: %w", err)
	}
	defer out.Close()
	data := make([][]byte, len(f.Results))
	for i := range data {
		x, err := out.Tensor(i)
		if err != nil {
			return nil, err
		}
		n, err := dlpack.DataSize(x.Shape(), x.DType())
		if err != nil {
			return nil, err
		}
		data[i] = make([]byte, n)
		if err := x.CopyToBytes(data[i]); err != nil {
			return nil, err
		}
	}
	return data, nil
}
