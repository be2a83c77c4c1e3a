package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// direct computes a convolution as it is defined: each thread sums up a tile of results in registers.
type direct struct {
	*convolution
	*Convolution
	l        Limits
	tile     map[*tir.IterVar]int64 // results of a thread along an axis; no entry: 1
	lanes    int64                  // of a vector along the last axis
	phases   int64                  // the columns of the image's copy are divided by their remainder modulo this number
	outer    bool                   // the copy is a kernel of its own; otherwise each thread has its part in registers
	unrolled bool                   // the loops over the elements of a window are written out
}

// direct schedules a group.
func (c *Convolution) direct(conv *convolution, l Limits) {
	d := &direct{convolution: conv, Convolution: c, l: l, tile: map[*tir.IterVar]int64{}, lanes: 1, phases: 1}
	d.choose()
	image := d.copy()
	sums := d.sums(image)
	at := d.kernel(sums)
	d.inside(sums, image, at)
	if image != nil && d.outer {
		d.fill(d.s.Stage(image))
	}
}

// choose chooses the tile.
func (d *direct) choose() {
	t, bytes := d.Dense, d.ColumnBytes
	if d.depthwise {
		t = d.Depthwise
	}
	if d.channelsLast {
		bytes = d.ChannelBytes
	}
	d.outer = d.l.OnCPU
	column := d.windows[len(d.windows)-1]
	bits := max(8, int(d.image.DType().Bits))
	d.lanes = max(1, min(maxLanes, int64(bytes*8/bits)))
	set := func(a *tir.IterVar, most, size int64) { d.tile[a] = balanced(size, most) }
	if d.channelsLast {
		n := d.perGroup
		if d.depthwise && d.perGroup == 1 {
			n = d.outs
		}
		for d.lanes > 1 && n%d.lanes != 0 {
			d.lanes /= 2
		}
		vectors := int64(t.Vectors)
		for vectors > 1 && n%(d.lanes*vectors) != 0 {
			vectors--
		}
		d.tile[d.out] = d.lanes * vectors
		set(column.axis, int64(t.Across), column.size)
	} else {
		for d.lanes > 1 && (roundUp(column.size, d.lanes)-roundUp(column.size, d.lanes/2))*4 > column.size {
			d.lanes /= 2 // rather than compute a quarter in vain
		}
		vectors := (column.size + d.lanes - 1) / d.lanes
		d.tile[column.axis] = d.lanes * balanced(vectors, int64(t.Vectors))
		across := balanced(d.perGroup, int64(t.Across))
		for d.perGroup < d.outs && d.perGroup%across != 0 {
			across--
		}
		d.tile[d.out] = across
		if d.lanes > 1 {
			d.phases = column.stride
		}
	}
	if len(d.windows) > 1 {
		row := d.windows[len(d.windows)-2]
		set(row.axis, int64(t.Rows), row.size)
		for d.tile[row.axis] > 1 && (d.values() > int64(d.Registers) || d.threads() < int64(d.Blocks*d.Threads)) {
			d.tile[row.axis] = (d.tile[row.axis] + 1) / 2
		}
	}
	products := int64(1)
	for _, w := range d.windows {
		products *= w.elements
	}
	for _, n := range d.tile {
		products *= n
	}
	d.unrolled = d.depthwise && products/d.lanes <= int64(d.Unrolled)
}

// balanced returns the size of tiles along an axis of a size: as many as of size most, of equal sizes if possible.
func balanced(size, most int64) int64 {
	tiles := max(1, (size+most-1)/most)
	return max(1, (size+tiles-1)/tiles)
}

// values is the number of values that a thread keeps in registers.
func (d *direct) values() int64 {
	results, image := int64(1), int64(1)
	for _, n := range d.tile {
		results *= n
	}
	if d.outer {
		return results
	}
	for _, w := range d.windows {
		image *= w.reach(max(1, d.tile[w.axis]))
	}
	if d.channelsLast {
		image *= d.lanes
	}
	return results + image
}

// threads is the number of threads of all blocks, for one image.
func (d *direct) threads() int64 {
	n := int64(1)
	for _, a := range d.axes() {
		if size, known := extentOf(a); known {
			n *= (size + max(1, d.tile[a]) - 1) / max(1, d.tile[a])
		}
	}
	return n
}

func (d *direct) axes() []*tir.IterVar { return d.s.Stage(d.result).Axes() }

// padded is the number of results along an axis that are computed: a multiple of the tile.
func (d *direct) padded(a *tir.IterVar) tir.Expr {
	if n, known := extentOf(a); known {
		return tir.IntConst(a.Extent.DType(), roundUp(n, max(1, d.tile[a])))
	}
	return a.Extent
}

// copy returns a copy of the image with its padding, as long as the tiles need it. It returns nil if the threads can
// read the image in place.
func (d *direct) copy() *te.Tensor {
	x := d.read.Producer.(*te.Tensor)
	shape := slices.Clone(x.ProducerShape())
	longer := map[int]tir.Expr{}
	column := d.windows[len(d.windows)-1]
	for _, w := range d.windows {
		n := w.reach(roundUp(w.size, max(1, d.tile[w.axis])))
		old, known := shape[w.dim].(*tir.IntImm)
		if !known || n > old.Value {
			longer[w.dim] = shape[w.dim]
		}
		shape[w.dim] = tir.IntConst(shape[w.dim].DType(), n)
	}
	if d.outer && len(longer) == 0 && len(d.parts) == 0 && d.phases == 1 {
		return nil
	}
	for _, p := range d.parts {
		d.s.Stage(p).ComputeInline()
	}
	zero := tir.Const(x.ProducerDType(), 0)
	if d.phases > 1 {
		n := shape[column.dim].(*tir.IntImm)
		shape[column.dim] = tir.IntConst(n.Type, d.phases)
		longer[column.dim] = x.ProducerShape()[column.dim]
		shape = slices.Insert(shape, column.dim+1, tir.Expr(tir.IntConst(n.Type, (n.Value+d.phases-1)/d.phases)))
	}
	return te.Compute(shape, d.result.ProducerName()+".image", func(i ...tir.Expr) tir.Expr {
		if d.phases > 1 {
			at := tir.Add(tir.Mul(i[column.dim+1], tir.IntConst(i[column.dim].DType(), d.phases)), i[column.dim])
			i = slices.Delete(slices.Clone(i), column.dim+1, column.dim+2)
			i[column.dim] = at
		}
		value := x.At(i...)
		for _, dim := range slices.Sorted(keys(longer)) {
			value = tir.Intrin("if_then_else", tir.LT(i[dim], longer[dim]), value, zero)
		}
		return value
	})
}

// keys iterates over the keys of a map.
func keys[V any](m map[int]V) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// sums returns the tensor of results, also of those that the tiles have in addition. image is nil if the sums read the
// image in place.
func (d *direct) sums(image *te.Tensor) *te.Tensor {
	var shape []tir.Expr
	for _, a := range d.axes() {
		shape = append(shape, d.padded(a))
	}
	last := len(shape) - 1
	if d.lanes > 1 { // a dimension of its own, so that vectors are whole
		shape[last] = tir.FloorDiv(shape[last], tir.IntConst(shape[last].DType(), d.lanes))
		shape = append(shape, tir.IntConst(shape[last].DType(), d.lanes))
	}
	column := d.windows[len(d.windows)-1]
	sums := te.Compute(shape, d.result.ProducerName()+".sums", func(i ...tir.Expr) tir.Expr {
		if d.lanes > 1 {
			i[last] = tir.Add(tir.Mul(i[last], tir.IntConst(i[last].DType(), d.lanes)), i[last+1])
		}
		to, of := map[*tir.Var]tir.Expr{}, map[*tir.Var]tir.Expr{}
		for n, a := range d.axes() {
			to[a.Var], of[a.Var] = i[n], i[n]
		}
		if d.outs%max(1, d.tile[d.out]) != 0 { // filters beyond the last one have the values of the last one
			of[d.out.Var] = tir.Min(of[d.out.Var], tir.IntConst(d.out.Var.Type, d.outs-1))
		}
		at := substituted(d.read.Indices, to)
		if d.phases > 1 {
			element := tir.Mul(column.kernel.Var, tir.IntConst(column.kernel.Var.Type, column.dilation))
			phases := tir.IntConst(element.DType(), d.phases)
			at[column.dim] = tir.FloorMod(element, phases)
			at = slices.Insert(at, column.dim+1, tir.Add(to[column.axis.Var], tir.FloorDiv(element, phases)))
		}
		from := d.read.Producer.(*te.Tensor)
		if image != nil {
			from = image
		}
		product := tir.Mul(cast(d.image, from.At(at...)),
			cast(d.weight, d.filter.Producer.(*te.Tensor).At(substituted(d.filter.Indices, of)...)))
		return &tir.Reduce{Combiner: d.sum.Combiner, Sources: []tir.Expr{product}, Axes: d.sum.Axes}
	})
	by := te.Compute(d.result.ProducerShape(), d.result.ProducerName()+".all", func(i ...tir.Expr) tir.Expr {
		if d.lanes > 1 {
			lanes := tir.IntConst(i[last].DType(), d.lanes)
			i = append(slices.Clone(i[:last]), tir.FloorDiv(i[last], lanes), tir.FloorMod(i[last], lanes))
		}
		return sums.At(i...)
	})
	d.s.Replace(d.result, by)
	if d.root != d.result {
		d.s.Stage(d.result).ComputeInline()
	}
	return sums
}

// substituted replaces the axes in indices.
func substituted(indices []tir.Expr, to map[*tir.Var]tir.Expr) []tir.Expr {
	at := make([]tir.Expr, len(indices))
	for n, x := range indices {
		at[n] = tir.Substitute(x, to)
	}
	return at
}

// cast converts a value as a factor of the convolution is.
func cast(factor, value tir.Expr) tir.Expr { return tir.NewCast(factor.DType(), value) }

// kernel distributes the tiles of the root over threads, which store the results. It returns the innermost loop outside
// of a tile.
func (d *direct) kernel(sums *te.Tensor) *tir.IterVar {
	st := d.s.Stage(d.root)
	var outer, inner []*tir.IterVar
	var counts []int64
	var lane *tir.IterVar
	for n, a := range st.Axes() {
		own := d.axes()[n]
		size, known := extentOf(a)
		tile := max(1, d.tile[own])
		if !known {
			size = -1
		}
		if tile > 1 {
			o, i := st.Split(a, int(tile))
			if own == d.last && d.lanes > 1 {
				lanes := d.lanes
				for size%lanes != 0 {
					lanes /= 2
				}
				i, lane = st.Split(i, int(lanes))
			}
			inner = append(inner, i)
			a, size = o, (size+tile-1)/tile
		}
		outer, counts = append(outer, a), append(counts, size)
	}
	order := append(slices.Clone(outer), inner...)
	if lane != nil {
		order = append(order, lane)
	}
	st.Reorder(order...)
	rest, all := fused(st, outer, counts)
	order = d.bind(st, rest, all)
	at := order[len(order)-1]
	st.Reorder(append(order, inner...)...)
	d.unroll(st, inner...)
	if lane != nil {
		st.Vectorize(lane)
	}
	d.s.Stage(sums).ComputeAt(st, at)
	return at
}

// bind distributes the iterations of a loop over blocks and threads, and those of rest, if there is one, over another
// dimension of blocks. It returns the loops in their order.
func (d *direct) bind(st *te.Stage, rest, all *tir.IterVar) []*tir.IterVar {
	var thread *tir.IterVar
	if d.Threads > 1 {
		all, thread = st.Split(all, d.Threads)
		st.Bind(thread, "threadIdx.x")
	}
	again, block := gridLimited(st, all, d.l.Grid[0])
	st.Bind(block, "blockIdx.x")
	order := []*tir.IterVar{block}
	if rest != nil {
		more, rest := gridLimited(st, rest, d.l.Grid[1])
		st.Bind(rest, "blockIdx.y")
		order, again = append([]*tir.IterVar{rest}, order...), append(more, again...)
	}
	if thread != nil {
		order = append(order, thread)
	}
	return append(order, again...)
}

// inside schedules the sums of a thread.
func (d *direct) inside(sums, image *te.Tensor, at *tir.IterVar) {
	st := d.s.Stage(sums)
	st.SetScope("local")
	reduce := st.ReduceAxes()
	if d.channelsLast { // the channels are contiguous
		reduce = append(reduce[1:len(reduce):len(reduce)], reduce[0])
	}
	order := slices.Clone(reduce)
	data := st.Axes()
	order = append(order, data...)
	st.Reorder(order...)
	for n, a := range d.axes() {
		if d.tile[a] > 1 && (a != d.last || d.tile[a] > d.lanes) {
			d.unroll(st, data[n])
		}
	}
	if d.lanes > 1 {
		st.Vectorize(data[len(data)-1])
	}
	if d.unrolled {
		d.unroll(st, reduce...)
	}
	if image == nil || d.outer {
		return
	}
	im := d.s.Stage(image)
	if d.unrolled {
		im.ComputeAt(d.s.Stage(d.root), at)
	} else {
		im.ComputeAt(st, reduce[len(reduce)-2])
	}
	im.SetScope("local")
	axes := im.Axes()
	for _, w := range d.windows {
		d.unroll(im, axes[w.dim])
	}
	if d.channelsLast && d.lanes > 1 && d.perGroup == 1 {
		im.Vectorize(axes[len(axes)-1])
	}
}

// fill makes the kernel that copies the image. Each thread copies a row.
func (d *direct) fill(st *te.Stage) {
	axes := st.Axes()
	axes = axes[:len(axes)-1]
	counts := make([]int64, len(axes))
	for n, a := range axes {
		counts[n] = -1
		if size, known := extentOf(a); known {
			counts[n] = size
		}
	}
	rest, all := fused(st, axes, counts)
	st.Reorder(d.bind(st, rest, all)...)
}

// unroll writes out the iterations of loops, or lets the compiler of the kernels do that if it does it as well.
func (d *direct) unroll(st *te.Stage, axes ...*tir.IterVar) {
	for _, a := range axes {
		st.Unroll(a)
		if !d.l.OnCPU {
			st.Pragma(a, "unroll_explicit", false)
		}
	}
}
