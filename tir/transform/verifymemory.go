package transform

import (
	"fmt"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
)

// VerifyMemory rejects functions for a device whose host code would access the device's memory: loads and stores
// outside of all loops over its blocks or threads. Devices that work on the host's memory have no such restriction.
// A function's own target (attribute "target") takes precedence over t. Functions that only kernels call belong to
// the kernels. The function is not changed.
func VerifyMemory(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	inKernels := calledByKernels(m)
	return mapFuncs("verify memory", m, func(f *tir.PrimFunc) (*tir.PrimFunc, error) {
		own := targetOf(f, t)
		if own == nil || !own.DeviceType().HasOwnMemory() || inKernels[f.Name] {
			return f, nil
		}
		return f, hostAccess(f, own)
	})
}

// targetOf returns the target of a function.
func targetOf(f *tir.PrimFunc, t *target.Target) *target.Target {
	if own, ok := f.Attrs["target"].(*target.Target); ok && own != nil {
		return own
	}
	return t
}

// isBound reports whether a statement runs its body on the device.
func isBound(s tir.Stmt) bool {
	switch s := s.(type) {
	case *tir.For:
		return s.Kind == tir.ThreadBind && (strings.HasPrefix(s.Thread, "blockIdx.") ||
			strings.HasPrefix(s.Thread, "threadIdx."))
	case *tir.AttrStmt:
		return s.Key == "thread_extent"
	}
	return false
}

// hostAccess returns an error for the first load or store outside of loops over threads.
func hostAccess(f *tir.PrimFunc, t *target.Target) (err error) {
	refuse := func(verb string, b *tir.Buffer, path func() string) {
		err = fmt.Errorf("buffer %s, in memory of %s, is %s by the host, at %s: bind a loop around it to blocks or "+
			"threads (blockIdx.x, threadIdx.x), or "+
			"build the function for the CPU", b.Name, t.Kind(), verb, path())
	}
	tir.WalkPaths(f, func(node any, path func() string) bool {
		if s, ok := node.(tir.Stmt); ok && isBound(s) {
			if loop, isLoop := s.(*tir.For); isLoop && err == nil { // the host computes the extent
				err = hostReads(loop.Min, loop.Extent, t, path)
			}
			return false
		}
		switch n := node.(type) {
		case *tir.BufferStore:
			if err == nil {
				refuse("written", n.Buffer, path)
			}
		case *tir.BufferLoad:
			if err == nil {
				refuse("read", n.Buffer, path)
			}
		case *tir.Call:
			if n.Kind == tir.CallIntrinsic && n.Name == "address_of" {
				return false
			}
		default:
			if _, buffers := tir.Named(n); err == nil && len(buffers) > 0 && tir.Opaque(n) {
				refuse("named", buffers[0], path)
			}
		}
		return err == nil
	})
	return err
}

// hostReads returns an error if the extent of a loop over threads is read from device memory.
func hostReads(low, extent tir.Expr, t *target.Target, path func() string) (err error) {
	for _, e := range []tir.Expr{low, extent} {
		tir.Walk(e, func(node any) bool {
			if load, ok := node.(*tir.BufferLoad); ok && err == nil {
				err = fmt.Errorf("buffer %s, in memory of %s, is read by the host, at %s: the range of threads is computed "+
					"before they start: pass it as a parameter",
					load.Buffer.Name, t.Kind(), path())
			}
			return err == nil
		})
	}
	return err
}

// calledByKernels returns the functions that are called by kernels only.
func calledByKernels(m *tir.IRModule) map[string]bool {
	if m == nil {
		return nil
	}
	// inside: the callers of each function, "" for a kernel; outside: functions that the host calls
	inside, outside := map[string][]string{}, map[string]bool{}
	for _, f := range m.Funcs {
		if f == nil {
			continue
		}
		bound := false
		var visit func(node any) bool
		visit = func(node any) bool {
			if s, ok := node.(tir.Stmt); ok && !bound && isBound(s) {
				bound = true
				tir.Walk(s, visit)
				bound = false
				return false
			}
			if c, ok := node.(*tir.Call); ok && c.Kind == tir.CallFunc {
				if bound {
					inside[c.Name] = append(inside[c.Name], "")
				} else {
					inside[c.Name] = append(inside[c.Name], f.Name)
				}
			}
			return true
		}
		tir.Walk(f, visit)
	}
	// A call outside of threads belongs to the host, unless its caller is called by kernels only.
	for again := true; again; {
		again = false
		for name, callers := range inside {
			for _, by := range callers {
				if by != "" && !outside[name] && (len(inside[by]) == 0 || outside[by]) {
					outside[name], again = true, true
				}
			}
		}
	}
	found := map[string]bool{}
	for name := range inside {
		found[name] = !outside[name]
	}
	return found
}
