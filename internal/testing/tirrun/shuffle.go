package tirrun

import (
	"math"
	"strings"

	"tvmgo/tir"
)

// warpSize is the number of threads of a warp without Options.Warp.
const warpSize = 32

// passing is a value that a thread of a warp passes to a shuffle, or gets from it.
type passing struct {
	i int64
	f float64
}

// warp is the state of what the threads of a warp do together. It takes place when all of them have arrived at it.
type warp struct {
	threads int
	call    *tir.Call
	arrived map[int]bool
	lanes   map[int]fragmentLane // by the index of the thread in the warp
	passed  map[int]passing
	from    map[int]int     // the thread whose value each thread wants
	got     map[int]passing // results that threads have not taken yet
}

// warpKey identifies a warp of a block.
type warpKey struct {
	virtual [numDims - firstVThread]int64
	index   int64
}

// ofWarp reports whether all threads of a warp execute a call together: a shuffle, or an intrinsic of fragments.
func ofWarp(call *tir.Call) bool {
	return call != nil && call.Kind == tir.CallIntrinsic && strings.HasPrefix(call.Name, "warp_shuffle") ||
		tir.IsFragmentCall(call)
}

// place returns the warp of a thread and its index within.
func (f *frame) place() (*warp, int) {
	size := int64(f.x.p.options.Warp)
	if size == 0 {
		size = warpSize
	}
	linear, total := int64(0), int64(1)
	for d := firstThread; d < firstVThread; d++ {
		if f.dims[d] >= 0 {
			linear += f.dims[d] * total
			total *= f.kernel.extents[d]
		}
	}
	key := warpKey{index: linear / size}
	copy(key.virtual[:], f.dims[firstVThread:])
	w := f.kernel.warps[key]
	if w == nil {
		w = &warp{threads: int(min(size, total-key.index*size)), arrived: map[int]bool{}, lanes: map[int]fragmentLane{},
			passed: map[int]passing{}, from: map[int]int{}, got: map[int]passing{}}
		if f.kernel.warps == nil {
			f.kernel.warps = map[warpKey]*warp{}
		}
		f.kernel.warps[key] = w
	}
	return w, int(linear % size)
}

// shuffle passes a value to the threads of the warp, waits for all of them, and returns the value of another one.
func (f *frame) shuffle(at *position, e *tir.Call, v passing, operand int64) (passing, bool) {
	if f.kernel == nil {
		f.fail(at, ErrSync, "%s outside of blocks and threads", e.Name)
	}
	w, me := f.place()
	from := operand
	switch e.Name {
	case "warp_shuffle_xor":
		from = int64(me) ^ operand
	case "warp_shuffle_down":
		from = int64(me) + operand
	}
	if from < 0 || from >= int64(w.threads) {
		from = -1
	}
	w.passed[me], w.from[me] = v, int(from)
	got := f.arrive(at, e, w, me, func() {
		for t := range w.arrived {
			if from := w.from[t]; from >= 0 {
				w.got[t] = w.passed[from]
			} else {
				w.got[t] = passing{}
				delete(w.from, t)
			}
		}
	})
	_, defined := w.from[me]
	return got, defined
}

// arrive waits until all threads of a warp have arrived at a call. The last one calls all, which sets what each thread
// gets.
func (f *frame) arrive(at *position, e *tir.Call, w *warp, me int, all func()) passing {
	if w.call != nil && w.call != e {
		f.fail(at, ErrSync, "threads of a warp are at different calls, %s and %s: all threads of a warp execute the same",
			w.call.Name, e.Name)
	}
	w.call, w.arrived[me] = e, true
	f.kernel.progress++
	if len(w.arrived) == w.threads {
		all()
		w.call = nil
		clear(w.arrived)
	}
	for {
		if got, ok := w.got[me]; ok {
			delete(w.got, me)
			f.kernel.progress++
			return got
		}
		if f.barrier == nil {
			f.fail(at, ErrSync, "%s is executed by one of %d threads of a warp: all of them must", e.Name, w.threads)
		}
		f.barrier(e)
	}
}

// warpShuffle compiles a shuffle. A thread beyond the warp has the value NaN, or 0x5a….
func (c *compiler) warpShuffle(e *tir.Call) value {
	if c.parallels > 0 {
		c.fail("%s is inside a parallel loop", e.Name)
	}
	if len(e.Args) != 2 {
		c.fail("%s takes 2 arguments, found %d", e.Name, len(e.Args))
	}
	x, operand, at := c.expr(e.Args[0]), c.expr(e.Args[1]), c.at
	if x.t != e.Type || x.vector() || tir.IsHandle(x.t) || operand.t != tir.Int32 {
		c.fail("%s of %s takes a value of this type and an int32", e.Name, e.Type)
	}
	if x.x != nil {
		return floatValue(e.Type, func(f *frame) float64 {
			got, defined := f.shuffle(at, e, passing{f: x.x(f)}, operand.i(f))
			if !defined {
				return math.NaN()
			}
			return got.f
		})
	}
	garbage := int64(0x5a5a5a5a5a5a5a5a)
	wrap := func(v int64) int64 { return v & 1 }
	if tir.IsInt(e.Type) {
		wrap = wrapper(e.Type)
	}
	return intValue(e.Type, func(f *frame) int64 {
		got, defined := f.shuffle(at, e, passing{i: x.i(f)}, operand.i(f))
		if !defined {
			return wrap(garbage)
		}
		return got.i
	})
}
