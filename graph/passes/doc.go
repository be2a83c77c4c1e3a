// Package passes makes models faster before package lower makes code of them. A pass changes a graph.Function, and
// keeps its parameters, the names of its results and what it computes: floats may differ by rounding.
//
//	err := passes.Run(ctx, f, t, passes.Options{})
//
// Pipeline lists the passes in their order. compile.Function runs them on a copy of each function.
package passes
