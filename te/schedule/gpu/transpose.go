package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Transpose holds the parameters of kernels that read a tensor in another order than they write theirs: transpositions,
// changes of layout, and elementwise operators that read a tensor through one. A block fetches a tile in the order in
// which it is stored, and writes it in the order of the result: both are consecutive memory.
type Transpose struct {
	Threads     int // threads of a block, at most
	RowBytes    int // consecutive bytes of a tile in the result; those in the source are as many or more
	TileBytes   int // bytes of a tile; a multiple of RowBytes
	VectorBytes int // bytes that a thread loads or stores at once

	// Registers is the number of rows and columns that a thread transposes in registers, at most, without shared memory;
	// Side is the number of such squares along each side of a block. Registers 0: blocks transpose tiles in shared
	// memory.
	Registers, Side int
}

// defaultTranspose returns the parameters for a target. Rows of 128 bytes are whole lines of the caches. On a CPU,
// shared memory is not faster than other memory: a thread transposes a square whose rows are lines of the cache, or
// vectors of 16 bytes if the threads of a warp are the lanes of vectors.
func defaultTranspose(l Limits) Transpose {
	t := Transpose{Threads: min(256, l.Threads), RowBytes: 128, TileBytes: 8 << 10, VectorBytes: 16}
	for t.TileBytes > 256 && 4*t.TileBytes > l.Shared { // swizzled and unequal tiles may take twice as much
		t.TileBytes /= 2
	}
	t.RowBytes = min(t.RowBytes, t.TileBytes)
	switch {
	case l.ThreadLanes:
		t.Registers, t.Side = 4, 4
		for t.Side*t.Side > l.Threads {
			t.Side /= 2
		}
	case l.OnCPU:
		t.Registers, t.Side = 16, 1
	}
	return t
}

func (t *Transpose) check(l Limits) error {
	for _, err := range []error{
		between("Threads", t.Threads, 1, l.Threads, "the target's max_threads_per_block"),
		powerOfTwo("RowBytes", t.RowBytes, 8, 1024, "a tile has as many columns"),
		powerOfTwo("TileBytes", t.TileBytes, t.RowBytes, max(256, l.Shared), "RowBytes, and the target's "+
			"max_shared_memory_per_block"),
		powerOfTwo("VectorBytes", t.VectorBytes, 1, 16, "the longest access of any language"),
		between("Registers", t.Registers, 0, maxLanes, "lanes of a vector"),
		between("Side", t.Side, 0, 1<<15, "of a block"),
		between("Side × Side", t.Side*t.Side, 0, l.Threads, "the target's max_threads_per_block"),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// permutation is a read of a stage in another order than that in which the stage's tensor is stored.
type permutation struct {
	access            // over axes
	reader *te.Tensor // whose formula has the read: the stage's tensor, or one that is computed inline
	axes   []*tir.IterVar
	split  []int64 // per axis of the stage: into which parts axes has it, so that indices are sums; 0: as a whole
	stride []int64 // of each of axes, in elements of the tensor that is read; -1: unknown
	start  int64   // the position of the first element; -1: unknown
}

// group schedules a group that reads a tensor in another order; false if it is not such a group.
func (t *Transpose) group(g *schedule.Group, l Limits) bool {
	s := g.Schedule
	st := s.Stage(g.Root)
	if g.Root != g.Result || len(g.Parts()) > 0 || len(st.ReduceAxes()) > 0 || len(g.Root.Bodies()) != 1 {
		return false
	}
	reads := permutations(s, st)
	if len(reads) == 0 {
		return false
	}
	if t.Registers > 0 {
		return t.inRegisters(s, st, reads, l)
	}
	tile := t.tile(st, reads[0], l)
	if tile == nil {
		return false
	}
	for _, p := range reads[1:] { // those that the same tile suits
		if tile.suits(p) && (len(tile.reads)+1)*tile.sharedBytes() <= l.Shared {
			tile.reads = append(tile.reads, p)
		}
	}
	tile.schedule(s, st, l)
	return true
}

// permutations returns the reads of a stage in another order than that of its tensor. If the tensor that is read is
// computed inline, its elements are consecutive in the order of its own dimensions.
func permutations(s *te.Schedule, root *te.Stage) (found []permutation) {
	var look func(st *te.Stage, to map[*tir.Var]tir.Expr)
	look = func(st *te.Stage, to map[*tir.Var]tir.Expr) {
		schedule.EachLoad(st, func(load *tir.ProducerLoad) {
			a := access{load.Producer.(*te.Tensor), make([]tir.Expr, len(load.Indices))}
			for d, x := range load.Indices {
				a.indices[d] = arith.NewAnalyzer().Simplify(tir.Substitute(x, to))
			}
			from := s.Stage(a.tensor)
			p := permutation{access: a, reader: st.Tensor()}
			switch {
			case p.describe(root.Axes()) && readInOrder(s, from) && soleReader(s, st, root):
				found = append(found, p)
			case from.IsInlined():
				inner := map[*tir.Var]tir.Expr{}
				for d, axis := range from.Axes() {
					inner[axis.Var] = a.indices[d]
				}
				look(from, inner)
			}
		})
	}
	own := map[*tir.Var]tir.Expr{}
	for _, a := range root.Axes() {
		own[a.Var] = a.Var
	}
	look(root, own)
	return slices.DeleteFunc(found, func(p permutation) bool { // the copy has one order, and whole bytes
		bits := int(p.tensor.ProducerDType().Bits)
		return bits < 8 || bits&(bits-1) != 0 || slices.ContainsFunc(found, func(o permutation) bool {
			return o.tensor == p.tensor && o.reader == p.reader && !slices.Equal(o.stride, p.stride)
		})
	})
}

// innermost returns the last axis with several iterations; nil if there is none.
func innermost(axes []*tir.IterVar) *tir.IterVar {
	for _, a := range slices.Backward(axes) {
		if n, ok := a.Extent.(*tir.IntImm); !ok || n.Value > 1 {
			return a
		}
	}
	return nil
}

// readInOrder reports whether a tensor is stored, or is computed inline from tensors that it reads in its own order.
func readInOrder(s *te.Schedule, st *te.Stage) bool {
	if !st.IsInlined() {
		return true
	}
	last := innermost(st.Axes())
	return last != nil && len(st.ReduceAxes()) == 0 && !slices.ContainsFunc(accesses(s, st), func(a access) bool {
		return a.along(last) == scattered || a.along(last) == indirect
	})
}

// soleReader reports whether a stage is root, or is computed inline in it and in nothing else.
func soleReader(s *te.Schedule, st, root *te.Stage) bool {
	if st == root {
		return true
	}
	if !st.IsInlined() {
		return false
	}
	for _, o := range s.Stages() {
		reads := false
		if len(o.Tensor().Inputs()) == 0 && !o.IsPlaceholder() {
			schedule.EachLoad(o, func(l *tir.ProducerLoad) { reads = reads || s.Stage(l.Producer.(*te.Tensor)) == st })
		}
		if reads && !soleReader(s, o, root) {
			return false
		}
	}
	return true
}

// describe sets the axes and strides of a read if it is in another order than that of the stage with these axes, and if
// its indices are sums of axes, so that a tile of the stage's tensor needs a tile of the tensor that is read.
func (p *permutation) describe(axes []*tir.IterVar) bool {
	if slices.ContainsFunc(p.indices, func(x tir.Expr) bool {
		return tir.Contains(x, func(n any) bool { _, load := n.(*tir.ProducerLoad); return load })
	}) {
		return false
	}
	p.divide(axes)
	last := innermost(p.axes)
	if last == nil || p.along(last) != scattered {
		return false
	}
	used := map[*tir.IterVar]int{}
	for _, x := range p.indices {
		for _, a := range p.axes {
			if !tir.Contains(x, func(n any) bool { return n == any(a.Var) }) {
				continue
			}
			if c, ok := coefficient(x, a); !ok || c < 1 {
				return false
			}
			used[a]++
		}
	}
	consecutive := false
	p.stride = make([]int64, len(p.axes))
	first := map[*tir.Var]tir.Expr{}
	for i, a := range p.axes {
		first[a.Var] = tir.IntConst(a.Var.Type, 0)
		if size, ok := a.Extent.(*tir.IntImm); ok && size.Value == 1 {
			continue
		}
		if used[a] > 1 {
			return false // a diagonal
		}
		p.stride[i] = p.step(a)
		consecutive = consecutive || p.stride[i] == 1
	}
	p.start = -1
	if c, ok := arith.NewAnalyzer().Simplify(p.with(first).offset()).(*tir.IntImm); ok {
		p.start = c.Value
	}
	return consecutive
}

// divide replaces axes of a stage that the indices divide by a number, by two axes each: the quotient and the
// remainder.
func (p *permutation) divide(axes []*tir.IterVar) {
	p.axes, p.split = nil, make([]int64, len(axes))
	to := map[*tir.Var]tir.Expr{}
	an := arith.NewAnalyzer()
	for i, a := range axes {
		by, several := int64(0), false
		for _, x := range p.indices {
			tir.Walk(x, func(n any) bool {
				if b, ok := n.(*tir.Binary); ok && (b.Op == tir.OpFloorDiv || b.Op == tir.OpFloorMod) && b.A == tir.Expr(a.Var) {
					c, known := b.B.(*tir.IntImm)
					several = several || !known || by > 0 && by != c.Value
					if known {
						by = c.Value
					}
				}
				return true
			})
		}
		n, known := a.Extent.(*tir.IntImm)
		if several || by < 2 || !known || n.Value <= by || n.Value%by != 0 {
			p.axes = append(p.axes, a)
			continue
		}
		p.split[i] = by
		part := func(name string, size int64) *tir.IterVar {
			v := tir.NewVar(a.Var.Name+name, a.Var.Type)
			x := &tir.IterVar{Var: v, Kind: a.Kind, Min: tir.IntConst(v.Type, 0), Extent: tir.IntConst(v.Type, size)}
			an.Bind(v, x.Min, x.Extent)
			p.axes = append(p.axes, x)
			return x
		}
		quotient, rest := part(".quotient", n.Value/by), part(".rest", by)
		to[a.Var] = tir.Add(tir.Mul(quotient.Var, tir.IntConst(a.Var.Type, by)), rest.Var)
	}
	for d, x := range p.indices {
		p.indices[d] = an.Simplify(tir.Substitute(x, to))
	}
}

// coefficient returns by how much an expression grows from one value of an axis to the next; false if that is not a
// constant.
func coefficient(e tir.Expr, axis *tir.IterVar) (int64, bool) {
	next := tir.Substitute(e, map[*tir.Var]tir.Expr{axis.Var: tir.Add(axis.Var, tir.IntConst(axis.Var.Type, 1))})
	c, ok := arith.NewAnalyzer().Simplify(tir.Sub(next, e)).(*tir.IntImm)
	if !ok {
		return 0, false
	}
	return c.Value, true
}
