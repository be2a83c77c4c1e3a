package ops

import (
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/te/schedule/cpu"
	"tvmgo/te/schedule/gpu"
	"tvmgo/tir"
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

// ChannelBlock returns the number of channels of a block that ConvBlocked computes fastest: those of a vector of a CPU;
// 0 for other targets, and for types without vectors.
func ChannelBlock(t *target.Target, dtype tir.Type) int {
	if t.DeviceType() != dlpack.CPU {
		return 0
	}
	return cpu.Lanes(t, dtype)
}

// Config holds the parameters of the schedules for devices with threads: threads per block, elements per thread, tiles.
type Config = gpu.Config

// DefaultConfig returns the parameters that Schedule uses for a target, as a start for others.
func DefaultConfig(t *target.Target) (*Config, error) {
	if err := hasConfig(t); err != nil {
		return nil, fmt.Errorf("ops: default config: %w", err)
	}
	return gpu.DefaultConfig(t), nil
}

// ScheduleWith is Schedule with other parameters for the default schedulers of devices with threads. It returns an
// error that names the field and the limit if kernels with these parameters would not fit the target.
func ScheduleWith(t *target.Target, config *Config, outs ...*te.Tensor) (*te.Schedule, error) {
	if err := hasConfig(t); err != nil {
		return nil, fmt.Errorf("ops: schedule with a config: %w", err)
	}
	if config == nil {
		return nil, fmt.Errorf("ops: schedule with a config: it is nil: start from ops.DefaultConfig")
	}
	if err := config.Check(t); err != nil {
		return nil, fmt.Errorf("ops: schedule with a config for kind %q: %w", t.Kind(), err)
	}
	return schedule.ForWith(t, config, outs...)
}

// hasConfig returns an error for targets whose schedules have no Config.
func hasConfig(t *target.Target) error {
	switch {
	case t == nil || t.Kind() == nil:
		return fmt.Errorf("the target is nil: make one by target.New, as in target.New(\"opencl\")")
	case t.Kind().IsComposite():
		return fmt.Errorf("the targets of kind %q are composite: schedule for each member", t.Kind())
	}
	switch t.DeviceType() {
	case dlpack.CPU, dlpack.Hexagon, dlpack.ExtDev:
		return fmt.Errorf("kind %q runs on no device with threads, and its schedules have no parameters: use "+
			"ops.Schedule", t.Kind())
	}
	return nil
}
