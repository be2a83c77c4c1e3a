// Package ops contains the tensor operators of neural networks, written with package te, and schedules for them.
//
//	y := ops.Relu(ops.Add(ops.Matmul(x, w, "product"), bias, "sum"), "y")
//	t, err := target.New("c")
//	s, err := ops.Schedule(t, y)
//	m, err := te.Lower(s, []any{x, w, bias, y}, "dense")
//
// # Operators
//
// Each operator returns a tensor that carries its error, as in package te: the error names the tensor and the axis, and
// every tensor that reads it has the error too. Element types are int8 to int64, uint8 to uint64, float16, bfloat16,
// float32, float64 and bool; operators that only move elements take other types as well. Functions and sums of 16-bit
// floats are computed in float32 and rounded once. Integers wrap. NaN propagates, also through minima, maxima and relu.
// Negative axes count from the end. Sizes may be variables; two sizes that must be equal must be provably so.
//
// # Schedules
//
// An operator says what is computed, not how. Schedule decides how for a target: schedulers are registered for a key of
// targets, and for one operator or for all. The most specific key of the target selects the scheduler
// (RegisterSchedule).
package ops
