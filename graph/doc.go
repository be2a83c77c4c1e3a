// Package graph describes whole models: functions whose nodes apply operators to tensors.
//
// A Function has parameters, nodes and results. Every value knows its element type and its shape, whose dimensions are
// expressions of package tir: constants, or formulas of variables that stand for sizes which are known at run time. A
// small tensor may also know its elements, as expressions of the same variables: so shapes that a model computes by
// operators, such as the operand of a reshape, are resolved when the model is compiled.
//
//	f := graph.NewFunction("main")
//	x := f.Param("x", tir.Float32, f.Symbol("n"), tir.I32(8))
//	w, err := f.Const("w", tir.Float32, []int64{8, 4}, data)
//	y, err := f.Add("matmul", nil, x, w)
//	z, err := f.Add("relu", nil, y[0])
//	f.Return(z[0])
//
// Function.String prints this function, and Parse reads such a text.
//
// An operator is one entry of the table that Register fills. Its Compute makes tensor expressions from the operands:
// the same formulas give the shape and the type of the results, the elements of small tensors, and the code. Operators
// of the usual models are in package graph/operators, which registers them when it is imported.
package graph
