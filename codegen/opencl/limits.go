package opencl

import (
	"fmt"

	"tvmgo/target"
	"tvmgo/tir"
)

// checkLimits compares what a kernel asks for with what the target has.
func checkLimits(f *tir.PrimFunc, t *target.Target) error {
	attrs := t.Attrs()
	threads, shared := int64(1), int64(0)
	tir.Walk(f.Body, func(node any) bool {
		switch n := node.(type) {
		case *tir.For:
			if e, ok := n.Extent.(*tir.IntImm); ok && n.Kind == tir.ThreadBind && len(n.Thread) > 6 && n.Thread[:6] == "thread" {
				threads *= max(e.Value, 1)
			}
		case *tir.Alloc:
			if s := n.Buffer.StorageScope(); s == "shared" || s == "shared.dyn" {
				shared += bytesOf(n.Buffer)
			}
		}
		return true
	})
	for _, l := range []struct {
		option, what string
		has          int64
	}{{"max_num_threads", "threads in a block", threads}, {"max_threads_per_block", "threads in a block", threads},
		{"max_shared_memory_per_block", "bytes of shared memory", shared}, {"max_function_args", "arguments", int64(len(f.Params))}} {
		if most, ok := attrs[l.option].(int64); ok && l.has > most {
			return fmt.Errorf("kernel %s has %d %s, and the target %d: change the schedule, or set the target's %s", f.Name, l.has, l.what, most, l.option)
		}
	}
	return nil
}

// bytesOf is how many bytes a buffer spans, as far as its sizes are constant.
func bytesOf(b *tir.Buffer) int64 {
	size := int64(b.DType.Bits+7) / 8
	for i, e := range b.Shape {
		n, ok := e.(*tir.IntImm)
		if b.Strides != nil {
			s, fine := b.Strides[i].(*tir.IntImm)
			if !ok || !fine {
				return 0
			}
			return size * n.Value * s.Value // the outermost has all others within
		}
		if !ok {
			return 0
		}
		size *= n.Value
	}
	return size
}
