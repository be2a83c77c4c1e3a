package tirrun

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"tvmgo/tir"
)

// Names of the indices of blocks and threads.
var dimNames = [...]string{"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
	"vthread.x", "vthread.y", "vthread.z",
	"vthread", "cthread"}

const (
	numDims      = len(dimNames)
	firstThread  = 3 // earlier dimensions are of blocks
	firstVThread = 6 // dimensions from here on are virtual threads, which share a device thread
)

// kernel is the state of a nest of ThreadBind loops.
type kernel struct {
	threads    int                      // the level of the block's threads; that of the blocks precedes it
	extents    [numDims]int64           // of the loops executed so far in this block; 0: none
	shared     map[*tir.Alloc]*memory   // of the block, allocated inside a loop over threads
	iterations map[[numDims]int64]int32 // numbers of blocks and threads by their indices
	dims       [][numDims]int64         // indices by number
	warps      map[warpKey]*warp        // of the block
	progress   int                      // grows when a thread does anything but wait

	flights map[[numDims]int64]*flight // of the block, by thread
}

// iteration numbers a block or a thread.
func (k *kernel) iteration(dims [numDims]int64) int32 {
	n, ok := k.iterations[dims]
	if !ok {
		k.dims = append(k.dims, dims)
		n = int32(len(k.dims))
		k.iterations[dims] = n
	}
	return n
}

// name describes a block or a thread by its indices.
func (k *kernel) name(iteration int32) string {
	var s []string
	for d, v := range k.dims[iteration-1] {
		if v >= 0 {
			s = append(s, fmt.Sprintf("%s=%d", dimNames[d], v))
		}
	}
	if len(s) == 0 {
		return "the block outside of its threads"
	}
	return strings.Join(s, " ")
}

// inThread reports whether the frame executes a thread, not the block as a whole.
func (f *frame) inThread() bool {
	for _, v := range f.dims[firstThread:] {
		if v >= 0 {
			return true
		}
	}
	return false
}

// threads compiles a loop over blocks or threads.
func (c *compiler) threads(s *tir.For, slot int, bounds func(*frame) (int64, int64)) func(*frame) control {
	dim := slices.Index(dimNames[:], s.Thread)
	if dim < 0 {
		c.fail("loop %s is bound to %q: want one of %v", s.Var.Name, s.Thread, dimNames)
	}
	at, parallels := c.at, c.parallels
	c.loops++
	c.parallels = 0
	body := c.stmt(s.Body)
	c.loops--
	c.parallels = parallels
	var own []int // buffers of which each iteration has a copy
	for _, l := range c.local {
		if l.scope == scopeLocal || dim < firstThread {
			own = append(own, l.slot)
		}
	}
	barrier := dim >= firstThread && c.hasBarrier(s.Body)
	iteration := func(f *frame, i int64) {
		f.i[slot] = i
		f.step(at)
		f.enter(at, dim, i, own)
		body(f)
	}
	return func(f *frame) control {
		lo, n := bounds(f)
		if lo < 0 {
			f.fail(at.up, ErrArgument, "loop %s begins at %d: indices of %s are not negative", s.Var.Name, lo, s.Thread)
		}
		began := f.kernel == nil
		if began {
			f.begin()
		}
		f.sameExtent(at.up, s, dim, n)
		order := f.x.order(n)
		dims, levels := f.dims, slices.Clone(f.levels)
		memory := make([]any, len(own))
		for k, o := range own {
			memory[k] = f.h[o]
		}
		if barrier {
			f.together(at, n, func(g *frame, k int64) { iteration(g, lo+k) })
		} else {
			for k := range n {
				iteration(f, lo+order(k))
				for k, o := range own {
					f.h[o] = memory[k]
				}
			}
		}
		f.dims = dims
		copy(f.levels, levels)
		if began {
			f.landed(at)
			f.kernel = nil
			f.levels = f.levels[:len(f.levels)-2]
		}
		return proceed
	}
}

// begin makes the frame that of a kernel.
func (f *frame) begin() {
	k := &kernel{threads: len(f.levels) + 1, shared: map[*tir.Alloc]*memory{}, iterations: map[[numDims]int64]int32{}}
	f.kernel = k
	f.levels = append(f.levels,
		level{&iterations{f.x.newEpoch(), "blocks", k.name}, k.iteration(f.dims)},
		level{&iterations{f.x.newEpoch(), "threads between barriers", k.name}, k.iteration(f.dims)})
}

// sameExtent fails if two loops over the same index of a kernel have different extents.
func (f *frame) sameExtent(at *position, s *tir.For, dim int, n int64) {
	k := f.kernel
	if n <= 0 {
		return
	}
	if f.dims[dim] >= 0 {
		f.fail(at, ErrInvalid, "loop %s over %s is inside another loop over it", s.Var.Name, s.Thread)
	}
	if dim < firstThread && f.inThread() {
		f.fail(at, ErrInvalid, "loop %s over %s is inside a loop over threads: move it outside", s.Var.Name, s.Thread)
	}
	if old := k.extents[dim]; old != 0 && old != n && dim < firstVThread {
		f.fail(at, ErrInvalid, "loop %s over %s has %d iterations, another loop of the kernel has %d: a launch "+
			"has one extent",
			s.Var.Name, s.Thread, n, old)
	}
	k.extents[dim] = n
}

// enter makes the frame that of a block or a thread.
func (f *frame) enter(at *position, dim int, i int64, own []int) {
	k := f.kernel
	if dim < firstThread {
		f.landed(at)
	}
	f.dims[dim] = i
	threads := &f.levels[k.threads]
	if dim < firstThread {
		f.levels[k.threads-1].iteration = k.iteration(f.dims)
		threads.epoch = f.x.newEpoch()
		clear(k.shared)
		clear(k.warps)
	}
	threads.iteration = k.iteration(f.dims)
	depth := private
	for _, slot := range own {
		if p, ok := f.h[slot].(*pointer); ok {
			if dim < firstThread {
				depth = k.threads
			}
			f.h[slot] = &pointer{m: p.m.copyFor(copyKey{dim, i}, depth), base: p.base}
		}
	}
}

// maxTogether limits the number of threads that wait for each other.
const maxTogether = 1 << 14

// errAbandoned ends threads for which nothing waits.
var errAbandoned = errors.New("abandoned")

// together runs all iterations of a loop from barrier to barrier, each in a separate frame.
func (f *frame) together(at *position, n int64, iteration func(g *frame, i int64)) {
	if n > maxTogether {
		f.fail(at.up, ErrLimit, "%d threads with barriers: the limit is %d", n, maxTogether)
	}
	threads := make([]suspended, max(n, 0))
	for i := range threads {
		g := f.fork()
		next, stop := iter.Pull(func(yield func(*tir.Call) bool) {
			defer func() {
				if r := recover(); r != nil && r != errAbandoned {
					panic(r)
				}
			}()
			g.barrier = func(call *tir.Call) {
				if !yield(call) {
					panic(errAbandoned)
				}
			}
			iteration(g, int64(i))
		})
		defer stop()
		threads[i].resume = next
	}
	for {
		before := f.kernel.progress
		order := f.x.order(n)
		for k := range n {
			if t := &threads[order(k)]; !t.ended && (t.at == nil || ofWarp(t.at)) {
				call, waits := t.resume()
				t.at, t.ended = call, !waits
				if !waits || !ofWarp(call) {
					f.kernel.progress++
				}
			}
		}
		if f.settled(at, threads) {
			return
		}
		if f.kernel.progress == before {
			f.stuck(at, threads)
		}
	}
}

// suspended is a thread that runs until it has to wait.
type suspended struct {
	resume func() (*tir.Call, bool)
	at     *tir.Call // where it waits
	ended  bool
}

// settled reports whether all threads have ended. If all wait at a barrier, they pass it.
func (f *frame) settled(at *position, threads []suspended) bool {
	var met *tir.Call
	first, ended := -1, -1
	for i, t := range threads {
		switch {
		case t.ended:
			ended = i
		case ofWarp(t.at): // the other threads of its warp may not have arrived yet
			return false
		case met != nil && met != t.at:
			f.fail(at.up, ErrSync, "iterations %d and %d of loop %s are at different barriers: all threads must reach the same",
				first, i, at.name)
		default:
			met, first = t.at, i
		}
	}
	if met == nil {
		return true
	}
	if ended >= 0 {
		f.fail(at.up, ErrSync, "iteration %d of loop %s waits at a barrier that iteration %d does not reach: move it where "+
			"all threads reach it", first, at.name, ended)
	}
	f.meet(met)
	for i := range threads {
		threads[i].at = nil
	}
	return false
}

// stuck lets other threads of the block run, because those of this loop wait at shuffles. It fails if there are none.
func (f *frame) stuck(at *position, threads []suspended) {
	shuffle, other := -1, -1
	for i, t := range threads {
		if ofWarp(t.at) {
			shuffle = i
		} else {
			other = i
		}
	}
	if f.barrier == nil {
		such := ""
		if other >= 0 {
			such = fmt.Sprintf(", such as iteration %d", other)
		}
		f.fail(at.up, ErrSync, "iteration %d of loop %s waits at %s, which another thread of its warp does not reach%s: "+
			"move it where all threads of a warp reach it", shuffle, at.name, threads[shuffle].at.Name, such)
	}
	f.barrier(threads[shuffle].at)
}

// fork makes the frame of a new thread.
func (f *frame) fork() *frame {
	g := *f
	g.i, g.f, g.h, g.levels, g.allocs = slices.Clone(f.i), slices.Clone(f.f), slices.Clone(f.h), slices.Clone(
		f.levels), nil
	return &g
}

// meet executes a barrier: it waits for the threads of the block, if this is one of several.
func (f *frame) meet(call *tir.Call) {
	if f.barrier != nil {
		f.barrier(call)
		return
	}
	f.levels[f.kernel.threads].epoch = f.x.newEpoch()
}

// barrier compiles storage_sync.
func (c *compiler) barrier(e *tir.Call) value {
	if len(e.Args) != 1 {
		c.fail("storage_sync takes a scope, found %d arguments", len(e.Args))
	}
	text, ok := e.Args[0].(*tir.StringImm)
	if !ok || text.Value != "shared" && text.Value != "warp" {
		c.fail("storage_sync of %v: want the text \"shared\" or \"warp\"", e.Args[0])
	}
	if c.parallels > 0 {
		c.fail("storage_sync is inside a parallel loop")
	}
	at := c.at
	return value{t: tir.Void, i: func(f *frame) int64 {
		if f.kernel == nil {
			f.fail(at, ErrSync, "storage_sync outside of blocks and threads")
		}
		if text.Value == "warp" {
			n := int64(1)
			for _, x := range f.kernel.extents[firstThread:firstVThread] {
				n *= max(x, 1)
			}
			if n > 32 {
				f.fail(at, ErrInvalid, "storage_sync(\"warp\") in a block of %d threads: at most 32 are supported", n)
			}
		}
		f.meet(e)
		return 0
	}}
}

// hasBarrier reports whether a statement reaches a barrier or a call of warps, directly or in functions that it calls.
func (c *compiler) hasBarrier(s tir.Stmt) bool {
	found := false
	tir.Walk(s, func(node any) bool {
		if call, ok := node.(*tir.Call); ok {
			switch call.Kind {
			case tir.CallIntrinsic:
				found = found || call.Name == "storage_sync" || ofWarp(call)
			case tir.CallFunc:
				fn := c.p.funcs[call.Name]
				found = found || fn != nil && fn.hasBarrier
			}
		}
		return !found
	})
	return found
}

// findBarriers returns the functions that reach a barrier or a call of warps.
func findBarriers(m *tir.IRModule) map[string]bool {
	found := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for _, f := range m.Funcs {
			if f == nil || found[f.Name] {
				continue
			}
			tir.Walk(f, func(node any) bool {
				call, ok := node.(*tir.Call)
				if ok && (call.Kind == tir.CallIntrinsic && (call.Name == "storage_sync" || ofWarp(call)) ||
					call.Kind == tir.CallFunc && found[call.Name]) {
					found[f.Name], changed = true, true
				}
				return !found[f.Name]
			})
		}
	}
	return found
}
