// Package te turns tensor expressions into loops. Formulas say what is computed, a schedule says how, and [Lower] makes
// a function of package tir from both.
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
// A tensor that cannot be made holds an error ([Tensor.Err]), and every tensor that reads it holds the same error.
// [NewSchedule] returns it. A schedule keeps the first error of a primitive, with the name of the primitive, the tensor
// and the axis. Later primitives do nothing, and the axes that they return have no effect. [Schedule.Err] returns the
// error at any time, and so does [Lower]. Therefore you can write a schedule line by line, and check for an error once.
//
// # Axes
//
// An axis is a *tir.IterVar: one of a tensor ([Tensor.Axes]), one of a reduction ([ReduceAxis]), or one made by Split
// or Fuse. Formulas use its variable (k.Var). Sizes may be variables ([Var]); each is defined by the shape of an
// argument, or is an argument itself.
//
// # Guarantees of lowering
//
// A stage that is not attached computes the whole tensor. A stage that is attached to a loop computes at least what is
// read within that loop, found by interval analysis of its readers' indices; if the size of that would differ between
// iterations, it computes the whole dimension. Elements outside of the tensor are never computed: if a split does not
// divide, or a window leaves the tensor, a condition marked likely guards them. Loops of attached stages that are bound
// to the same thread index have the same extent; stages with less work are guarded.
package te
