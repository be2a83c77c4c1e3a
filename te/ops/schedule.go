package ops

import (
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/schedule"
	_ "tvmgo/te/schedule/cpu" // the default schedulers
	_ "tvmgo/te/schedule/gpu"
)

// Operator describes the operator that made a tensor, for schedulers.
type Operator = schedule.Operator

// Group is a set of tensors that are scheduled together: the result of an operator, its parts, and at most one
// elementwise tensor that reads the result.
type Group = schedule.Group

// Scheduler schedules a group: the loops of its root, its result and its operator's parts, and no others. It returns
// false if it does not handle the group; then it must leave the schedule unchanged, and the next more general scheduler
// is tried.
type Scheduler = schedule.Scheduler

// OperatorOf returns the operator that made a tensor; nil for a placeholder, and for a tensor made by te.Compute.
func OperatorOf(t *te.Tensor) *Operator { return schedule.Of(t) }

// by sets the operator that made a tensor.
func by(t *te.Tensor, o *Operator) *te.Tensor { return schedule.By(t, o) }

// RegisterSchedule registers a scheduler for an operator (Operator.Kind) and for targets with a key. With an empty op
// it handles all operators without a scheduler for that key. Registering a pair twice is an error. It is safe for
// concurrent use, and may be called from init functions.
func RegisterSchedule(key, op string, s Scheduler) error { return schedule.Register(key, op, s) }

// Schedule makes a schedule of tensors for a target. Cheap elementwise tensors are computed inline. Each remaining
// group goes to the scheduler registered for the most specific of the target's keys; for a key, the operator's
// scheduler is tried before the general one. You may extend the schedule afterwards.
func Schedule(t *target.Target, outs ...*te.Tensor) (*te.Schedule, error) {
	return schedule.For(t, outs...)
}
