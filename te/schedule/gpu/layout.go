package gpu

import (
	"slices"

	"tvmgo/te"
)

// layout is the place of the elements of a tile in shared memory: rows of the innermost dimension, whose groups are
// swizzled, or whose strides are padded.
type layout struct {
	dims     []int64 // elements along each dimension of the tensor that is read
	swizzle  int     // the dimension whose index reorders the groups of a row; -1: none
	width    int     // elements of a group
	padded   int     // the dimension whose stride is padded; -1: none
	padding  int64   // elements
	row      int64   // elements of 128 bytes, which are in different banks
	elements int     // that the memory has
}

// strides returns the strides of the dimensions, in elements, and the number of elements of the memory.
func (y *layout) strides() (stride []int64, total int64) {
	stride = make([]int64, len(y.dims))
	next := int64(1)
	for d := range slices.Backward(y.dims) {
		if d == y.padded {
			next += y.padding
		}
		stride[d] = next
		n := y.dims[d]
		if d == len(y.dims)-1 && y.swizzle >= 0 {
			n = int64(y.width) * powerAbove((n+int64(y.width)-1)/int64(y.width))
		}
		next *= n
	}
	return stride, next
}

// apply gives the layout to a stage.
func (y *layout) apply(st *te.Stage) {
	axes := st.Axes()
	if y.swizzle >= 0 {
		st.StorageSwizzle(axes[y.swizzle], y.width, y.width)
	}
	if y.padded >= 0 && y.padding > 0 {
		stride, _ := y.strides()
		factor := max(y.row, 1)
		st.StorageAlign(axes[y.padded], int(factor), int(stride[y.padded]%factor))
	}
}

// position returns a function from the indices of an element in the tile to its position in memory.
func (y *layout) position() func(at []int64) int64 {
	stride, _ := y.strides()
	last := len(y.dims) - 1
	groups := int64(1)
	if y.swizzle >= 0 {
		groups = powerAbove((y.dims[last] + int64(y.width) - 1) / int64(y.width))
	}
	return func(at []int64) int64 {
		n := int64(0)
		for d, x := range at {
			if d == last && y.swizzle >= 0 {
				w := int64(y.width)
				x = (x/w^at[y.swizzle]/w%groups)*w + x%w
			}
			n += x * stride[d]
		}
		return n
	}
}

// arrange chooses how many elements threads load and store at once, and the layout in shared memory: the longest
// vectors that have no bank conflicts; if there are none, those with the fewest.
func (k *tile) arrange(l Limits) {
	p := k.reads[0]
	mostStore := k.vector(k.inOrder(), k.ownStrides(), 0)
	mostLoad := k.vector(k.inSource(), p.stride, p.start)
	var best tile
	fewest := 0
	for store := mostStore; store >= 1 && fewest != 1; store /= 2 {
		for load := mostLoad; load >= 1 && fewest != 1; load /= 2 {
			k.store, k.load = store, load
			for _, y := range k.layouts(int64(l.Shared / k.bytes)) {
				if ways := k.conflicts(&y, fewest); fewest == 0 || ways < fewest {
					fewest, k.layout = ways, y
					best = *k
				}
				if fewest == 1 {
					break
				}
			}
		}
	}
	*k = best
}

// layouts returns the layouts to choose from, those without unused memory first.
func (k *tile) layouts(limit int64) (all []layout) {
	plain := layout{swizzle: -1, padded: -1, row: int64(max(1, 128/k.bytes))}
	for _, row := range k.coef {
		n := int64(1)
		for i, c := range row {
			if c > 0 {
				n *= k.factor[i]
			}
		}
		plain.dims = append(plain.dims, n)
	}
	add := func(y layout) {
		if _, n := y.strides(); n <= limit {
			y.elements = int(n)
			all = append(all, y)
		}
	}
	add(plain)
	last := len(plain.dims) - 1
	for d := range last {
		if plain.dims[d] > 1 && k.load <= k.store && plain.dims[last]%int64(k.load) == 0 {
			y := plain
			y.swizzle, y.width = d, k.store
			add(y)
		}
	}
	run, inner := k.run(k.inSource()), int64(1)
	for d := last - 1; d >= 0; d-- {
		inner *= plain.dims[d+1]
		if plain.dims[d] == 1 || inner < run && inner > 1 {
			continue // the elements of a run stay consecutive
		}
		for padding := int64(k.load); padding < plain.row; padding += int64(k.load) {
			y := plain
			y.padded, y.padding = d, padding
			add(y)
		}
	}
	return all
}

// conflicts returns the greatest number of elements of one bank, but of different words, that a warp accesses at once;
// it may stop at enough, unless that is 0.
func (k *tile) conflicts(y *layout, enough int) int {
	place := y.position()
	worst, n, threads := 1, k.elements(), int64(k.threads())
	inSource := func(flat int64) int64 { return place(unflatten(flat, y.dims)) }
	at := make([]int64, len(y.dims))
	inResult := func(flat int64) int64 {
		own := unflatten(flat, k.factor)
		for d := range at {
			at[d] = 0
			for i, c := range k.coef[d] {
				at[d] += c * own[i]
			}
		}
		return place(at)
	}
	note := func(step, lane int64, lanes int, order func(flat int64) int64) {
		each := n / step
		for from := int64(0); from < each && (enough == 0 || worst < enough); from += 32 {
			if from >= 2*threads && from < each-2*threads {
				continue // alike
			}
			var all []int64
			for t := from; t < min(from+32, each, (from/threads+1)*threads); t++ {
				all = append(all, order(t*step+lane))
			}
			worst = max(worst, k.ways(all, lanes))
		}
	}
	note(int64(k.load), 0, k.load, inSource)
	for lane := range int64(k.store) { // each lane is an access of its own: adjacent elements are in different rows
		note(int64(k.store), lane, 1, inResult)
	}
	return worst
}

// ways returns how many different words of one bank a request of a warp has: the positions of the first of several
// consecutive elements of each thread.
func (k *tile) ways(at []int64, elements int) int {
	bytes := int64(elements * k.bytes)
	most := 1
	for part := range slices.Chunk(at, int(min(32, max(1, 128/max(4, bytes))))) {
		var words []int64
		for _, x := range part {
			for b := x * int64(k.bytes); b < x*int64(k.bytes)+bytes; b += 4 {
				words = append(words, b/4)
			}
		}
		slices.Sort(words)
		var used [32]int
		for _, w := range slices.Compact(words) {
			used[w%32]++
			most = max(most, used[w%32])
		}
	}
	return most
}

// unflatten returns the indices of an element with a position in row-major order.
func unflatten(flat int64, sizes []int64) []int64 {
	at := make([]int64, len(sizes))
	for d, n := range slices.Backward(sizes) {
		at[d], flat = flat%n, flat/n
	}
	return at
}
