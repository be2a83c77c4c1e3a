package gpu

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// inRegisters makes a kernel whose threads transpose squares in registers; false if there is none for these reads.
func (t *Transpose) inRegisters(s *te.Schedule, st *te.Stage, reads []permutation, l Limits) bool {
	k := t.described(st, reads[0])
	if k == nil {
		return false
	}
	row, column := k.inOrder()[0], k.inSource()[0]
	for i, n := range k.size {
		if k.factor = append(k.factor, 1); i == row || i == column {
			k.factor[i] = t.side(n)
		}
	}
	if !k.suits(reads[0]) {
		return false
	}
	thread := k.squares(st, row, column, l)
	for _, p := range reads {
		if !k.suits(p) {
			continue
		}
		copied := s.Stage(s.CacheRead(p.tensor, "local", p.reader))
		copied.ComputeAt(st, thread)
		axes := copied.Axes()
		var other, along *tir.IterVar
		for d, c := range k.coef {
			if c[column] == 1 {
				along = axes[d]
			} else if c[row] > 0 {
				other = axes[d]
			}
		}
		if other != nil && along != nil {
			copied.Reorder(other, along)
			k.unrolled(copied, other, along, l)
		}
	}
	return true
}

// side returns the side of a square along a dimension of a size: a divisor of it if there is one that is not short.
func (t *Transpose) side(size int64) int64 {
	n := int64(t.Registers)
	if size < 0 {
		return n
	}
	for d := n; d > n/4 && d > 1; d-- {
		if size%d == 0 {
			return d
		}
	}
	return min(n, size)
}

// squares distributes squares over blocks and threads: adjacent blocks read adjacent memory. It returns the loop of a
// thread.
func (k *tile) squares(st *te.Stage, row, column int, l Limits) *tir.IterVar {
	var outer []*tir.IterVar
	var counts []int64 // iterations of outer; -1: unknown
	var inner, sides [2]*tir.IterVar
	var last *tir.IterVar
	lastCount := int64(1)
	for i, a := range k.divided(st) {
		count := k.size[i]
		if i == row || i == column {
			side := 0
			if i == row {
				side = 1
			}
			a, inner[side] = st.Split(a, int(k.factor[i]))
			a, sides[side] = st.Split(a, k.Side)
			count = partsOf(partsOf(count, k.factor[i]), int64(k.Side))
			if i == column {
				last, lastCount = a, count
				continue
			}
		}
		outer, counts = append(outer, a), append(counts, count)
	}
	outer, counts = append(outer, last), append(counts, lastCount)
	st.Reorder(append(append([]*tir.IterVar{}, outer...), sides[0], sides[1], inner[0], inner[1])...)
	bindGrid(st, outer, counts, l)
	thread := st.Fuse(sides[0], sides[1])
	st.Bind(thread, "threadIdx.x")
	k.unrolled(st, inner[0], inner[1], l)
	return thread
}

// unrolled writes out the iterations of two loops, so that the elements of a square are in registers. If threads are
// the lanes of vectors, the inner loop accesses memory by short vectors; otherwise, the compiler chooses vectors. With
// conditions at the edges, which each iteration would repeat, the loops stay: then the square is in the cache.
func (k *tile) unrolled(st *te.Stage, outer, inner *tir.IterVar, l Limits) {
	for i, n := range k.size {
		if n < 0 || n%k.factor[i] != 0 {
			return
		}
	}
	st.Unroll(outer)
	if l.ThreadLanes {
		st.Vectorize(inner)
	} else {
		st.Unroll(inner)
	}
}

// bindGrid binds adjacent loops, whose iterations are counts, to the grid: to one dimension if it has as many blocks,
// otherwise to two. It returns the innermost of them, which repeats the work of a block if there are more.
func bindGrid(st *te.Stage, loops []*tir.IterVar, counts []int64, l Limits) *tir.IterVar {
	product := func(counts []int64) int64 {
		all := int64(1)
		for _, n := range counts {
			if n < 0 || all < 0 || n > 0 && all > (1<<40)/n {
				return -1
			}
			all *= n
		}
		return all
	}
	fits := func(n int64, limit int) bool { return n >= 0 && n <= int64(limit) }
	if n := product(counts); !fits(n, l.Grid[0]) {
		for at := len(loops) - 1; at > 0; at-- {
			if fits(product(counts[at:]), l.Grid[0]) && fits(product(counts[:at]), l.Grid[1]) {
				st.Bind(fuseAll(st, loops[:at]), "blockIdx.y")
				block := fuseAll(st, loops[at:])
				st.Bind(block, "blockIdx.x")
				return block
			}
		}
	}
	again, block := gridLimitedTo(st, fuseAll(st, loops), product(counts), l.Grid[0])
	st.Bind(block, "blockIdx.x")
	if again != nil {
		return again[0]
	}
	return block
}

// partsOf returns how many parts of a size a number of elements has, if that is known.
func partsOf(n, size int64) int64 {
	if n < 0 {
		return -1
	}
	return (n + size - 1) / size
}
