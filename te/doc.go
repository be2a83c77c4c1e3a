// Package te makes loops of tensor expressions: what is computed is written as formulas, how it is computed as a schedule, and [Lower]
// makes a function of package tir of both.
//
//	n := te.Var("n")
//	a := te.Placeholder([]tir.Expr{n}, tir.Float32, "A")
//	b := te.Compute([]tir.Expr{n}, "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), tir.F32(1)) })
//	s, err := te.NewSchedule(b)
//	outer, inner := s.Stage(b).Split(b.Axes()[0], 4)
//	m, err := te.Lower(s, []any{a, b}, "add_one")
//
// # Errors
//
// Formulas carry their errors: a tensor that cannot be made has one ([Tensor.Err]), and so has whatever reads it, up to [NewSchedule],
// which gives it back. A schedule keeps the first error of a primitive, with the primitive's name, the tensor and the axis; primitives after it do
// nothing, and axes that they give stand for nothing. [Schedule.Err] tells it at any time, and [Lower] gives it back. So schedules are
// written line by line, and checked once.
//
// # Axes
//
// An axis is a *tir.IterVar: of a tensor's own ([Tensor.Axes]), of a reduction ([ReduceAxis]), or made by Split and Fuse. In formulas its variable is
// used (k.Var). Sizes may be variables ([Var]); each is given by the shape of an argument, or is one itself.
//
// # What lowering promises
//
// A stage that is not attached computes the whole tensor. One that is attached to a loop computes at least what is read within that loop, by interval
// analysis of its readers' indices; where that would be of another size in every turn, the whole dimension. Points beyond the tensor are never
// computed: where a split does not divide, or a window leaves the tensor, a condition marked likely guards them.
// The loops of attached stages that are bound to the same index of threads are of one length; those that have less to do are guarded.
package te
