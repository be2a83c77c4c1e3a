package suite

import (
	"tvmgo/bench"
	"tvmgo/target"
	"tvmgo/tir"
)

// loopLimit is the number of iterations after which lavapipe ends all loops of a thread, without an error.
const loopLimit = 65535

// needLoops returns an ErrNotMeasured if a device is known to end the loops of a program before they are done.
func needLoops(on *bench.Device, to *target.Target, program *tir.IRModule) error {
	if to.Kind().Name() != "vulkan" || to.Attrs()["driver_name"] != "llvmpipe" {
		return nil
	}
	for _, f := range program.Funcs {
		if n := iterations(f.Body); n > loopLimit {
			return notMeasured("a thread of %s executes %d iterations of loops, and the driver of %s, lavapipe, ends the loops "+
				"of a thread after %d without an error: the result would be wrong", f.Name, n, on.Name, loopLimit)
		}
	}
	return nil
}

// iterations returns how many iterations of loops a thread of a statement executes at least, as far as their extents
// are constants. Of several kernels, the one with the most counts.
func iterations(s tir.Stmt) int64 {
	_, parts := tir.Parts(s)
	var sum, most int64
	for _, p := range parts {
		if p == nil {
			continue
		}
		n := iterations(p)
		sum, most = sum+n, max(most, n)
	}
	switch s := s.(type) {
	case *tir.Seq:
		if tir.Contains(s, isThread) { // kernels, one after the other
			return most
		}
	case *tir.If:
		return 0 // a thread may execute none
	case *tir.While:
		return 0
	case *tir.For:
		n, constant := s.Extent.(*tir.IntImm)
		switch {
		case s.Kind == tir.ThreadBind:
			return sum
		case !constant:
			return 0
		case s.Kind == tir.Serial:
			return n.Value * (1 + sum)
		}
		return n.Value * sum // it is written out
	}
	return sum
}

func isThread(node any) bool {
	s, ok := node.(*tir.For)
	return ok && s.Kind == tir.ThreadBind
}
