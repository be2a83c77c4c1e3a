// Package cpu registers the default scheduler for CPUs (key "cpu"). Its schedules fit the vector registers of the target
// and run on threads where there is enough to compute.
package cpu

import (
	"fmt"

	"tvmgo/te/schedule"
)

func init() {
	if err := schedule.Register("cpu", "", scheduleCPU); err != nil {
		panic(fmt.Sprintf("te/schedule/cpu: %v", err)) // another package took the key
	}
}

// scheduleFast gives a group the schedule of its shape, for the vectors that the target has: that of sums of products,
// of reductions of rows, or of what is made row by row. False: it has none, or is too small for it.
func scheduleFast(g *schedule.Group) bool { return scheduleFor(g, simdOf(g.Target)) }

func scheduleFor(g *schedule.Group, v simd) bool {
	if scheduleContraction(g.Schedule, g.Result, g.Root, g.Parts(), v) {
		return true
	}
	if len(g.Parts()) == 0 && scheduleRowSums(g.Schedule, g.Result, g.Root, v) {
		return true
	}
	inner := g.Parts()
	if g.Result != g.Root {
		inner = append(inner, g.Result)
	}
	inverse := g.Op != nil && g.Op.InverseDivisor
	return scheduleRows(g.Schedule, g.Root, inner, inverse, v)
}
