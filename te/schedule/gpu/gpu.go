// Package gpu registers the default scheduler for devices with threads (key "gpu"): one thread computes each element.
package gpu

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/te/schedule"
)

func init() {
	if err := schedule.Register("gpu", "", scheduleGPU); err != nil {
		panic(fmt.Sprintf("te/schedule/gpu: %v", err)) // another package took the key
	}
}

// scheduleGPU is the default schedule for devices with threads: each tensor of the group is a kernel, with one thread
// per element.
func scheduleGPU(g *schedule.Group) (bool, error) {
	list := append(g.Parts(), g.Result)
	if g.Root != g.Result {
		list = append(list, g.Root)
	}
	threads := 64
	for _, option := range []string{"max_num_threads", "max_threads_per_block"} {
		if n, ok := g.Target.Attrs()[option].(int64); ok && n > 0 {
			threads = min(threads, int(n))
		}
	}
	for _, t := range list {
		if err := kernel(g.Schedule.Stage(t), threads); err != nil {
			return false, err
		}
	}
	return true, nil
}

func kernel(st *te.Stage, threads int) error {
	axes := st.Axes()
	if len(axes) == 0 {
		return fmt.Errorf("tensor %s has no dimensions, but a kernel needs one to distribute over threads: keep "+
			"one of size 1",
			st.Tensor().ProducerName())
	}
	all := axes[0]
	for _, a := range axes[1:] {
		all = st.Fuse(all, a)
	}
	block, thread := st.Split(all, threads)
	st.Bind(block, "blockIdx.x")
	st.Bind(thread, "threadIdx.x")
	return nil
}
