// Package schedule makes schedules of tensors for targets: it divides them into groups, and asks the schedulers that
// are registered for a target's keys. Package te/ops describes its operators to schedulers by [Operator], and is the
// API of this package for programs: ops.Schedule, ops.RegisterSchedule.
//
// The default schedulers are in te/schedule/cpu and te/schedule/gpu, which register themselves. They know no operator:
// they look at formulas, and at what operators say of themselves.
package schedule
