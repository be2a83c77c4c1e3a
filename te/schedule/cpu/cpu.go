// Package cpu registers the default scheduler for CPUs (key "cpu"). Its schedules use the vector registers of the
// target, and threads if there is enough to compute.
package cpu

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/te/schedule/rows"
	"tvmgo/tir"
)

func init() {
	if err := schedule.Register("cpu", "", scheduleCPU); err != nil {
		panic(fmt.Sprintf("te/schedule/cpu: %v", err)) // another package has registered the key
	}
}

// scheduleFast schedules a sum of products, a reduction of rows, a row-wise operator, or a transposition, with the
// vectors of the target. It returns false if the group is none of these, or is too small.
func scheduleFast(g *schedule.Group) bool { return scheduleFor(g, simdOf(g.Target)) }

func scheduleFor(g *schedule.Group, v simd) bool {
	if g.Op != nil && g.Op.Kind == "convblocked" {
		return scheduleBlocked(g.Schedule, g.Result, g.Root, g.Parts(), v)
	}
	if scheduleSquares(g, v) || g.Op != nil && g.Op.Kind == "convwinograd" && scheduleWinograd(g, v) ||
		scheduleDepthwise(g, v) || scheduleAttention(g, v) {
		return true
	}
	if scheduleThin(g.Schedule, g.Result, g.Root, g.Parts(), v) {
		return true
	}
	if scheduleContraction(g.Schedule, g.Result, g.Root, g.Parts(), v) {
		return true
	}
	much := pointsOf(g.Schedule.Stage(g.Result)) >= parallelFrom
	distribute := func(st *te.Stage, rows *tir.IterVar, several bool) *tir.IterVar {
		if several && (much || pointsOf(st) >= parallelFrom) {
			st.Parallel(rows)
		}
		return rows
	}
	by := rows.Scheduler{Lanes: v.lanes, Distribute: distribute, FetchAhead: true}
	if scheduleTotal(g, by) || scheduleGreatest(g, v, by) {
		return true
	}
	if len(g.Parts()) == 0 && by.Sums(g.Schedule, g.Result, g.Root) {
		return true
	}
	inner := g.Parts()
	if g.Result != g.Root {
		inner = append(inner, g.Result)
	}
	inverse := g.Op != nil && g.Op.InverseDivisor
	return by.Operator(g.Schedule, g.Root, inner, inverse)
}
