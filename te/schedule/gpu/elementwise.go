package gpu

import (
	"fmt"

	"tvmgo/te"
)

// Elementwise holds the parameters of kernels in which each thread computes elements of its own: elementwise
// operators, broadcasts, casts, joins, slices, gathers, pooling.
type Elementwise struct {
	Threads int // threads of a block
}

func defaultElementwise(l Limits) Elementwise {
	return Elementwise{Threads: min(64, l.Threads)}
}

func (e *Elementwise) check(l Limits) error {
	return between("Threads", e.Threads, 1, l.Threads, "the target's max_threads_per_block")
}

// perElement computes one element per thread.
func (e *Elementwise) perElement(st *te.Stage) error {
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
	block, thread := st.Split(all, e.Threads)
	st.Bind(block, "blockIdx.x")
	st.Bind(thread, "threadIdx.x")
	return nil
}
