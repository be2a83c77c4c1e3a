// Package ops has tensors that networks are made of, written with package te, and schedules for them.
//
//	y := ops.Relu(ops.Add(ops.Matmul(x, w, "product"), bias, "sum"), "y")
//	t, err := target.New("c")
//	s, err := ops.Schedule(t, y)
//	m, err := te.Lower(s, []any{x, w, bias, y}, "dense")
//
// # Operators
//
// Each gives a tensor that carries its error, as those of package te do: the error names the tensor and the axis, and whatever reads the tensor has it, too.
// Elements are of int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64 or bool; what moves elements takes other types as well. Functions and
// sums of floats of 16 bits are computed in float32, and rounded once. Whole numbers wrap. What is no number stays that: in minima, maxima and relu, too. Axes
// count from the end where they are negative. Sizes may be variables; two that have to be equal must be surely so.
//
// # Schedules
//
// An operator says what it computes, not how. Schedule says how for a target: schedulers are registered under a key of targets, and for an operator or for
// all, and the most special key that a target has decides (RegisterSchedule).
package ops
