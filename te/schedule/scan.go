package schedule

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// scanThreads is the number of threads of a block that computes steps of a scan.
const scanThreads = 64

// scheduleScans schedules the updates of scans, and puts what reads earlier steps inside their loops over time. Axes
// that are independent over time are outside of it: parallel on a CPU, and bound to threads on a device. Without such
// axes, each step is a kernel.
func scheduleScans(s *te.Schedule, keys []string) {
	stages := s.Stages()
	for _, st := range slices.Backward(stages) { // readers first
		update := st.ScanUpdate()
		if update == nil || st.IsPlaceholder() {
			continue
		}
		time, independent := update.ScanTime()
		switch {
		case st != update && len(st.ReduceAxes()) == 0 && len(st.Tensor().Bodies()) == 1:
			st.ComputeInline()
		case st != update && len(independent) == 0 && slices.Contains(keys, "gpu"):
			st.ComputeAt(update, time)
			bindScan(st, nil)
		case st != update:
			st.ComputeAt(update, time)
		case slices.Contains(keys, "gpu"):
			bindScan(st, independent)
		case len(independent) > 0:
			outer := independent[0]
			st.Reorder(append(slices.Clone(independent), time)...)
			st.Parallel(outer)
		}
	}
}

// bindScan binds a step's axes to threads: those that are independent over time if there are any, else all, inside the
// loop over time.
func bindScan(st *te.Stage, independent []*tir.IterVar) {
	axes := st.Axes()
	if len(independent) > 0 {
		st.Reorder(append(slices.Clone(independent), slices.DeleteFunc(slices.Clone(axes), func(x *tir.IterVar) bool {
			return slices.Contains(independent, x)
		})...)...)
		axes = independent
	} else {
		axes = axes[1:]
	}
	if len(axes) == 0 { // a scan of numbers: one thread computes all steps
		block, thread := st.Split(st.UnitAxis("one"), 1)
		st.Reorder(append([]*tir.IterVar{block, thread}, st.Axes()...)...)
		st.Bind(block, "blockIdx.x")
		st.Bind(thread, "threadIdx.x")
		return
	}
	all := axes[0]
	for _, x := range axes[1:] {
		all = st.Fuse(all, x)
	}
	block, thread := st.Split(all, scanThreads)
	st.Bind(block, "blockIdx.x")
	st.Bind(thread, "threadIdx.x")
}
