package compile

import (
	"context"

	"tvmgo/codegen"
	"tvmgo/graph"
	"tvmgo/graph/lower"
	"tvmgo/runtime"
	"tvmgo/runtime/vm"
	"tvmgo/target"
)

// Graph compiles the functions of a model for a target. The caller closes the module. The data of constants is shared
// with the graph, and must not be changed or unmapped before the module is closed. The program must import the code
// generator of the target (tvmgo/codegen/all).
func Graph(ctx context.Context, t *target.Target, functions ...*graph.Function) (*runtime.Module, error) {
	p, err := lower.Model(t, functions...)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := vm.New(p.Code)
	if err != nil {
		return nil, err
	}
	if len(p.Kernels.Funcs) == 0 {
		return m, nil
	}
	kernels, err := codegen.Build(p.Kernels, t)
	if err != nil {
		m.Close()
		return nil, err
	}
	defer kernels.Close()
	if err := m.Import(kernels); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}
