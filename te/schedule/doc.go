// Package schedule makes schedules of tensors for targets: it divides them into groups, and calls the schedulers that
// are registered for a target's keys. Package te/ops describes its operators to schedulers by [Operator], and is the
// API of this package for programs: ops.Schedule, ops.RegisterSchedule.
//
// The default schedulers are in te/schedule/cpu and te/schedule/gpu, which register themselves. They do not know
// operators: they analyze formulas, and use the properties in [Operator].
package schedule
