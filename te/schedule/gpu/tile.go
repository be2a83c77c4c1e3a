package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// tile is the part of a result that a block of threads computes, and of the tensors that it reads in another order.
type tile struct {
	*Transpose
	reads  []permutation
	size   []int64   // of each axis of the result; -1: unknown
	factor []int64   // elements of the tile along each axis
	bytes  int       // of an element of the widest type
	store  int       // elements that a thread stores at once
	load   int       // elements that a thread loads at once
	layout layout    // of the copies in shared memory
	coef   [][]int64 // per dimension of the tensor that is read: by how much its index grows along each axis
}

// described returns a tile without factors for a read; nil if there is none.
func (t *Transpose) described(st *te.Stage, p permutation) *tile {
	bits := max(int(st.Tensor().ProducerDType().Bits), int(p.tensor.ProducerDType().Bits))
	if own := int(st.Tensor().ProducerDType().Bits); own < 8 || bits&(bits-1) != 0 {
		return nil // several elements in a byte, or elements that no vector has
	}
	k := &tile{Transpose: t, reads: []permutation{p}, bytes: bits / 8}
	for _, a := range p.axes {
		n := int64(-1)
		if c, ok := a.Extent.(*tir.IntImm); ok {
			n = c.Value
		}
		if n == 0 {
			return nil
		}
		k.size = append(k.size, n)
	}
	k.coef = k.coefficients(p)
	return k
}

// tile returns the tile for a read; nil if there is none.
func (t *Transpose) tile(st *te.Stage, p permutation, l Limits) *tile {
	k := t.described(st, p)
	if k == nil {
		return nil
	}
	row := int64(max(1, t.RowBytes/k.bytes))
	column := max(row, int64(t.TileBytes/t.RowBytes))
	want, limit := int64(t.TileBytes/k.bytes), int64(l.Shared/k.bytes)
	if k.factor = k.factors(row, column, true); 2*k.elements() < want {
		for range 32 { // short dimensions make small tiles
			k.factor = k.factors(row, column, false)
			if n := k.elements(); 2*n > want || 4*n > limit {
				break
			}
			column *= 2
		}
	}
	for k.elements() > limit && row*column > 1 {
		if column > row {
			column /= 2
		} else {
			row /= 2
		}
		k.factor = k.factors(row, column, false)
	}
	if k.elements() > limit || !k.suits(p) {
		return nil
	}
	k.arrange(l)
	return k
}

// elements returns the number of elements of the tile.
func (k *tile) elements() int64 {
	n := int64(1)
	for _, f := range k.factor {
		n *= f
	}
	return n
}

// sharedBytes is the size of a copy of the tile in shared memory.
func (k *tile) sharedBytes() int { return k.layout.elements * k.bytes }

// inOrder returns the axes along which the result is consecutive, the innermost first.
func (k *tile) inOrder() (chain []int) {
	for i := range slices.Backward(k.size) {
		if k.size[i] != 1 {
			chain = append(chain, i)
		}
	}
	return chain
}

// inSource returns the axes along which the tensor that is read is consecutive, the innermost first.
func (k *tile) inSource() (chain []int) {
	stride := k.reads[0].stride
	for next := int64(1); next > 0; {
		at := -1
		for i, s := range stride {
			if k.size[i] != 1 && s == next && !slices.Contains(chain, i) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		chain = append(chain, at)
		if next *= k.size[at]; k.size[at] < 0 {
			break
		}
	}
	return chain
}

// factors returns the elements of a tile along each axis: as many as are consecutive in the result, and in the tensor
// that is read. With powers, rows have a power of two of elements, which has no bank conflicts, also if the whole
// dimension is a little longer.
func (k *tile) factors(row, column int64, powers bool) []int64 {
	const sector = 32 // bytes, of which memory is fetched at least
	f := make([]int64, len(k.size))
	for i := range f {
		f[i] = 1
	}
	vector := int64(max(1, k.VectorBytes/k.bytes))
	take := func(chain []int, want int64) {
		for at, i := range chain {
			if want <= 1 {
				return
			}
			n := k.size[i]
			if n < 0 || n > want {
				if d := want; at > 0 && n >= 0 { // parts of one size, so that vectors end with them
					for d > want/2 && n%d != 0 {
						d--
					}
					if n%d == 0 {
						want = d
					}
				}
				f[i] = max(f[i], want)
				return
			}
			if p := int64(powerBelow(int(n))); powers && at == 0 && p < n && int(p)*k.bytes >= sector && n%vector == 0 {
				f[i] = max(f[i], p)
				return
			}
			f[i] = n
			want = (want + n - 1) / n
		}
	}
	take(k.inOrder(), row)
	take(k.inSource(), column)
	return f
}

// run returns how many elements of the tile are consecutive in a chain of axes.
func (k *tile) run(chain []int) int64 {
	n := int64(1)
	for _, i := range chain {
		n *= k.factor[i]
		if k.factor[i] != k.size[i] {
			break
		}
	}
	return n
}

// vector returns the number of elements, at most those of VectorBytes, so that vectors along a chain of axes begin at a
// multiple of their length in memory. stride are the strides of the axes in that memory.
func (k *tile) vector(chain []int, stride []int64, start int64) int {
	n := int64(max(1, k.VectorBytes/k.bytes))
	divides := func(x int64) bool { return x >= 0 && x%n == 0 }
	inside := func() bool { // vectors end with the tile, and with the tensor
		length := int64(1)
		for _, i := range chain {
			if k.factor[i] != k.size[i] { // a condition at the end of the tensor is the same for all elements of a vector
				return divides(length*k.factor[i]) && k.size[i] >= 0 &&
					(k.size[i]%k.factor[i] == 0 || length == 1 && divides(k.size[i]) || divides(length))
			}
			length *= k.size[i]
		}
		return divides(length)
	}
	aligned := func() bool {
		if !divides(start) {
			return false
		}
		length := int64(1) // of the run of whole dimensions that begins at each element
		for _, i := range chain {
			length *= k.factor[i]
			if k.factor[i] != k.size[i] {
				break
			}
		}
		for i, s := range stride {
			if k.size[i] == 1 || s >= 0 && s < length && slices.Contains(chain, i) && k.factor[i] == k.size[i] {
				continue // within the run
			}
			step := s
			if s >= 0 && s < length && slices.Contains(chain, i) {
				step = s * k.factor[i] // from one tile to the next
			}
			if !divides(step) {
				return false
			}
		}
		return true
	}
	for n > 1 && (!inside() || !aligned()) {
		n /= 2
	}
	return int(n)
}

// ownStrides returns the strides of the axes in the result; -1: unknown.
func (k *tile) ownStrides() []int64 {
	out, next := make([]int64, len(k.size)), int64(1)
	for i := range slices.Backward(out) {
		if out[i] = next; next > 0 {
			if next *= k.size[i]; k.size[i] < 0 {
				next = -1
			}
		}
	}
	return out
}

// suits reports whether the tile needs a tile without gaps of the tensor that an access reads, in the order of the
// first read.
func (k *tile) suits(p permutation) bool {
	if int(p.tensor.ProducerDType().Bits) > 8*k.bytes || !slices.Equal(p.split, k.reads[0].split) {
		return false
	}
	coef := k.coefficients(p)
	for d, row := range coef {
		covered, all := int64(1), int64(1)
		for i, c := range row {
			if c > 0 {
				covered += c * (k.factor[i] - 1)
				all *= k.factor[i]
			}
		}
		if covered != all || len(coef) != len(k.coef) || !slices.Equal(row, k.coef[d]) {
			return false
		}
	}
	return true
}

// coefficients returns, for each index of a read, by how much it grows from one value of each axis to the next.
func (k *tile) coefficients(p permutation) [][]int64 {
	all := make([][]int64, len(p.indices))
	for d, x := range p.indices {
		all[d] = make([]int64, len(p.axes))
		for i, a := range p.axes {
			if k.size[i] != 1 {
				all[d][i], _ = coefficient(x, a)
			}
		}
	}
	return all
}

// schedule makes the kernel.
func (k *tile) schedule(s *te.Schedule, st *te.Stage, l Limits) {
	var outer, inner []*tir.IterVar
	var counts []int64 // iterations of outer; -1: unknown
	for i, a := range k.divided(st) {
		counts = append(counts, partsOf(k.size[i], k.factor[i]))
		if k.factor[i] == 1 {
			outer = append(outer, a)
			continue
		}
		o, n := st.Split(a, int(k.factor[i]))
		outer, inner = append(outer, o), append(inner, n)
	}
	st.Reorder(append(slices.Clone(outer), inner...)...)
	block := bindGrid(st, outer, counts, l)
	threads := k.threads()
	k.spread(st, fuseAll(st, inner), k.store, threads)
	for _, p := range k.reads {
		copied := s.Stage(s.CacheRead(p.tensor, "shared", p.reader))
		copied.ComputeAt(st, block)
		k.layout.apply(copied)
		k.spread(copied, fuseAll(copied, copied.Axes()), k.load, threads)
	}
}

// divided divides the axes of the stage as its reads need it, and returns them.
func (k *tile) divided(st *te.Stage) (axes []*tir.IterVar) {
	for i, a := range st.Axes() {
		if by := k.reads[0].split[i]; by > 0 {
			quotient, rest := st.Split(a, int(by))
			axes = append(axes, quotient, rest)
		} else {
			axes = append(axes, a)
		}
	}
	return axes
}

// threads returns the number of threads of a block: no more than there are vectors.
func (k *tile) threads() int {
	n := k.elements() / int64(max(k.store, k.load))
	return int(max(1, min(int64(k.Threads), powerAbove(n))))
}

// spread distributes the elements of a tile over the threads of a block: adjacent threads have adjacent vectors.
func (k *tile) spread(st *te.Stage, all *tir.IterVar, lanes, threads int) {
	var lane *tir.IterVar
	if lanes > 1 {
		all, lane = st.Split(all, lanes)
	}
	each, thread := st.Split(all, threads)
	st.Bind(thread, "threadIdx.x")
	st.Unroll(each)
	st.Pragma(each, "unroll_explicit", false)
	if lane != nil {
		st.Vectorize(lane)
	}
}
