package lower

import (
	"math"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/tir"
	"tvmgo/tir/alias"
	"tvmgo/tir/text"
)

// plan assigns storages to the tensors of a block. A storage is used again by a later tensor of the same size, or, if
// sizes are constant, of a similar one, once no value has its memory. Sizes that have ranges count as constant: their
// storages are for the greatest ones.
type plan struct {
	free []*storage
	of   map[*graph.Value]*storage
	keep map[*graph.Value]bool // values that outlive the block: their memory is their own
	last *plan                 // of the block around it
}

// storage is memory that instructions allocate.
type storage struct {
	register vmcode.Register
	bytes    int64  // -1 if the size is not constant
	key      string // of a size that is not constant
	at       int    // the instruction that allocates it
	users    int    // values that have its memory
}

// newPlan begins the memory of a block.
func (f *function) newPlan(groups []*group, last map[*graph.Value]int) *plan {
	p := &plan{of: map[*graph.Value]*storage{}, keep: map[*graph.Value]bool{}, last: f.plan}
	for v, at := range last {
		if at == len(groups) {
			p.keep[v] = true
		}
	}
	for i := len(groups) - 1; i >= 0; i-- { // a view that is kept keeps what it is a view of
		s := groups[i].steps[0]
		keepResults(s.node, p.keep)
		if len(groups[i].steps) == 1 && (s.node.Op.View || s.node.Op.Control == graph.Elements) && len(s.wants) == 1 &&
			p.keep[s.wants[0]] {
			for _, v := range s.reads {
				p.keep[v] = true
			}
		}
	}
	f.plan = p
	return p
}

// keepResults marks the values that may be results of a node with bodies, and so have their memory: those that bodies
// return, what such values are views of, and the values with which a loop begins.
func keepResults(n *graph.Node, keep map[*graph.Value]bool) {
	var results []*graph.Value
	for _, body := range n.Bodies {
		results = append(results, body.Results...)
		for _, inner := range body.Nodes {
			keepResults(inner, keep)
		}
	}
	if n.Op.Control == graph.Loop {
		results = append(results, n.Inputs[2:]...)
	}
	for _, v := range results {
		for v != nil && !keep[v] {
			keep[v] = true
			if v.Node == nil || !v.Node.Op.View && v.Node.Op.Control != graph.Elements {
				break
			}
			v = v.Node.Inputs[0]
		}
	}
}

func (f *function) endPlan(p *plan) {
	for _, s := range p.free {
		f.emitTo(s.register, f.callee("vm.builtin.null_value"))
	}
	f.plan = p.last
}

// share records that a value has the memory of another one.
func (p *plan) share(of, v *graph.Value) {
	if s := p.of[of]; s != nil {
		s.users++
		p.of[v] = s
	}
}

// release records that a value is no longer read.
func (p *plan) release(v *graph.Value) {
	s := p.of[v]
	if s == nil {
		return
	}
	delete(p.of, v)
	if s.users--; s.users == 0 {
		p.free = append(p.free, s)
	}
}

// overwritten returns an operand of a group that only this group still reads, and of which each element of the only
// result reads the one at its own position and no other, so that the result may be written over it; nil if there is
// none. Kernels of devices read operands through caches that do not see such writes, so this is for CPUs.
func (p *plan) overwritten(g *group, dead func(*graph.Value) bool) *graph.Value {
	if len(g.wants) != 1 || p.keep[g.wants[0]] {
		return nil
	}
	for _, u := range g.reads {
		s := p.of[u]
		if s != nil && s.users == 1 && !p.keep[u] && dead(u) && bytesOf(u) == bytesOf(g.wants[0]) && bytesOf(u) > 0 &&
			g.aligned(u) {
			return u
		}
	}
	return nil
}

// mayOverwrite reports whether functions work if one tensor is passed for two parameters: each element is read before
// it is written.
func mayOverwrite(fns []*tir.PrimFunc, read, written int) bool {
	for _, f := range fns {
		for _, p := range alias.Pairs(nil, f) {
			if p.First == read && p.Second == written && !p.Same {
				return false
			}
		}
	}
	return true
}

// take returns a free storage for a size, or nil. A storage that is too small grows.
func (p *plan) take(bytes int64, key string) *storage {
	best := -1
	for i, s := range p.free {
		if (s.bytes < 0) != (bytes < 0) || s.key != key {
			continue
		}
		if bytes >= 0 && (s.bytes > 2*bytes || bytes > 2*s.bytes) {
			continue
		}
		if best < 0 || distance(s.bytes, bytes) < distance(p.free[best].bytes, bytes) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	s := p.free[best]
	p.free = append(p.free[:best], p.free[best+1:]...)
	return s
}

func distance(a, b int64) int64 {
	if a > b {
		return a - b
	}
	return b - a
}

// bytesOf returns the size of a tensor; -1 if it is not constant.
func bytesOf(v *graph.Value) int64 {
	if shape, ok := v.StaticShape(); ok {
		return bytesIn(shape, v.DType)
	}
	return -1
}

func bytesIn(shape []int64, t tir.Type) int64 {
	n, err := dlpack.DataSize(shape, t)
	if err != nil || n > math.MaxInt64/4 {
		return -1
	}
	return n
}

// mostBytes returns the size of a tensor whose sizes have ranges, for the greatest ones; -1 if one has no range.
func (f *function) mostBytes(v *graph.Value) int64 {
	if shape, ok := f.graph.Largest(v.Shape); ok {
		return bytesIn(shape, v.DType)
	}
	return -1
}

// allocate emits the allocation of a value's tensor.
func (f *function) allocate(v *graph.Value) (vmcode.Register, error) {
	shape, err := f.shapeOf(v.Shape)
	if err != nil {
		return 0, err
	}
	dt := f.dtype(v.DType)
	own := f.plan == nil || f.plan.keep[v]
	bytes, key := bytesOf(v), ""
	if bytes < 0 && !own {
		bytes = f.mostBytes(v)
	}
	if bytes < 0 {
		for _, e := range append([]tir.Expr{tir.I32(int32(v.DType.Bits))}, v.Shape...) {
			key += text.Print(e) + ","
		}
	}
	var s *storage
	if !own {
		s = f.plan.take(bytes, key)
	}
	if s == nil {
		s = &storage{bytes: bytes, key: key}
		size, t := shape, dt
		if bytes >= 0 {
			size, t = f.shape(bytes), f.dtype(tir.UInt8)
		}
		s.register = f.emit("vm.builtin.alloc_storage", register(vmcode.Context), size, number(deviceIndex), t,
			f.text("global"))
		s.at = f.at() - 1
	} else if bytes > s.bytes {
		s.bytes = bytes
		f.code.Code[s.at].Args[1] = f.shape(bytes)
	}
	t := f.emit("vm.builtin.alloc_tensor", register(s.register), number(0), shape, dt)
	f.regs[v] = t
	if own {
		f.emitTo(s.register, f.callee("vm.builtin.null_value"))
	} else {
		s.users = 1
		f.plan.of[v] = s
	}
	return t, nil
}
