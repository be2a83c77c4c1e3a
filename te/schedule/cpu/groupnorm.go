package cpu

import (
	"fmt"
	"slices"

	"tvmgo/te/schedule"
	"tvmgo/tir"
)

func init() {
	if err := schedule.Register("cpu", "groupnorm", scheduleGroupNorm); err != nil {
		panic(fmt.Sprintf("te/schedule/cpu: %v", err)) // another package has registered the key
	}
}

// scheduleGroupNorm computes one group of channels at a time, in parallel. The number of channels of a group must be
// constant: it is how often a value of a group is read along the channels.
func scheduleGroupNorm(g *schedule.Group) (bool, error) {
	parts := g.Parts()
	channels, ok := parts[0].ReduceAxes()[0].Extent.(*tir.IntImm)
	if !ok || channels.Value < 1 {
		return false, nil
	}
	st := g.Schedule.Stage(g.Root)
	axes := st.Axes()
	group, _ := st.Split(axes[1], int(channels.Value))
	group = st.Fuse(axes[0], group)
	if pointsOf(st) >= parallelFrom {
		st.Parallel(group)
	}
	if g.Root != g.Result {
		g.Schedule.Stage(g.Result).ComputeInline()
	}
	for _, p := range slices.Backward(parts) {
		g.Schedule.Stage(p).ComputeAt(st, group)
	}
	if len(axes) > 2 {
		vectorizeLast(st, simdOf(g.Target))
	}
	return true, nil
}
