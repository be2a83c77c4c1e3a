package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// tiling is the block structure of a contraction. The rows × cols results of a tile stay in registers while the sum is
// computed; the operands are contiguous in packed panels.
type tiling struct {
	lanes      int
	rows, cols int64 // of a tile
	open       bool  // a size is unknown
	openChunks bool  // also numbers of chunks other than that of rows
	mChunk     int64 // the number of tiles whose left operands stay in the cache
	nChunk     int64
	parallel   bool
}

const (
	// Operands are packed if there are at least packFrom products, and threads are used if there are at least spread.
	packFrom = 1 << 13
	spread   = 1 << 18
	// cached is the number of bytes of left operands that stay in the cache while the right operand is read.
	cached = 512 << 10
)

// tile chooses the tiling of a contraction; false if it would not help: for tiny contractions, and for those with a
// single row or column, unless the columns are constant.
func (c *contraction) tile(v simd) (t tiling, ok bool) {
	if c.words != nil {
		v = v.forDots()
	}
	t.lanes = v.lanes(c.typ)
	m, n, k, b := sizeOf(c.row), sizeOf(c.col), c.depth(), int64(1)
	for _, a := range c.batch {
		b = times(b, sizeOf(a))
	}
	// the panels of constant columns are there: reading them in order is worth it for a vector, too
	prepared := constantFormula(c.right)
	if !prepared && min(m, n, k, b) < 0 {
		return c.openTile(v)
	}
	rows := int64(2)
	if prepared {
		rows = 1
	}
	for _, a := range c.batch[min(1, len(c.batch)):] {
		if sizeOf(a) < 0 {
			return t, false // the loop for threads would be divided by it in each iteration
		}
	}
	t.open = m < 0
	m, b = likely(m), likely(b)
	few := n < int64(max(2, t.lanes/2)) || times(times(m, n), k*c.perStep()) < packFrom
	if t.lanes == 0 || m < rows || k < 2 || b < 1 || few {
		return t, false
	}
	vectors := int64(2)
	switch {
	case n <= int64(t.lanes):
		vectors = 1
	case m == 1: // enough sums that do not wait for each other
		vectors = max(2, min(8, n/int64(t.lanes), int64(v.registers-2)/2))
	}
	t.rows, t.cols = rowsOf(m, min(v.rowsBeside(vectors), 14), vectors), vectors*int64(t.lanes)
	if t.open {
		t.rows, b = openRows(v), 1
	}
	mTiles, nTiles := ceilDiv(m, t.rows), ceilDiv(n, t.cols)
	t.mChunk = max(1, min(16, cached/max(1, times(t.rows*k, int64(c.typ.Bits/8)))))
	if !t.open {
		t.mChunk = min(t.mChunk, mTiles)
	}
	t.nChunk = ceilDiv(nTiles, min(nTiles, 4))
	t.parallel = times(times(times(m, n), k*c.perStep()), b) >= spread
	return t, true
}

// openTile chooses the tiling of a contraction of two operands that each call brings, if sizes are unknown. Those are
// taken to be large; a call with a few rows copies the right operand all the same.
func (c *contraction) openTile(v simd) (t tiling, ok bool) {
	t = tiling{lanes: v.lanes(c.typ), open: true, openChunks: true, mChunk: 1, nChunk: 4, parallel: true}
	m, n := sizeOf(c.row), sizeOf(c.col)
	if k := c.depth(); t.lanes == 0 || m >= 0 && m < 2 || n >= 0 && n < int64(max(2, t.lanes/2)) || k >= 0 && k < 4 {
		return t, false
	}
	vectors := int64(2)
	if n >= 0 && n <= int64(t.lanes) {
		vectors = 1
	}
	most := v.rowsBeside(vectors)
	t.rows, t.cols = min(most, 8), vectors*int64(t.lanes) // sizes are often multiples of 8
	if m >= 0 {
		t.rows = rowsOf(m, min(most, 14), vectors)
	}
	return t, true
}

// rowsBeside returns the number of rows of a tile of some vectors for which there are registers.
func (v simd) rowsBeside(vectors int64) int64 { return (int64(v.registers) - 2 - vectors) / vectors }

// openRows returns the height of tiles if the number of rows is unknown: enough that the sums of a tile need not wait
// for each other, and few enough that a call with one row, for which the others are computed in vain, takes about the
// time in which the right operand is read.
func openRows(v simd) int64 {
	if v.bytes > 16 {
		return 6
	}
	return 4
}

// likely returns a size to decide with: an unknown one is taken for that of a batch.
func likely(n int64) int64 {
	if n < 0 {
		return 16
	}
	return n
}

// tiles returns the number of tiles of an axis.
func tiles(axis *tir.IterVar, width int64) tir.Expr {
	t := axis.Var.Type
	if n := sizeOf(axis); n >= 0 {
		return tir.IntConst(t, ceilDiv(n, width))
	}
	return tir.FloorDiv(tir.Add(axis.Extent, tir.IntConst(t, width-1)), tir.IntConst(t, width))
}

// constantFormula reports whether a formula reads constants alone.
func constantFormula(e tir.Expr) bool {
	reads, others := false, false
	tir.Walk(e, func(n any) bool {
		if l, ok := n.(*tir.ProducerLoad); ok {
			reads = true
			others = others || l.Producer.(*te.Tensor).Data() == nil
		}
		return true
	})
	return reads && !others
}

// rowsOf returns the tile height that wastes the least of the last tile.
func rowsOf(m, most, vectors int64) int64 {
	if m <= most {
		return m
	}
	best, cost := most, int64(1)<<62
	for rows := most; 2*rows > most; rows-- {
		if c := ceilDiv(m, rows) * (rows*vectors + 4); c < cost {
			best, cost = rows, c
		}
	}
	return best
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// times multiplies sizes, saturating at 62 bits; -1 if a factor is unknown.
func times(a, b int64) int64 {
	switch {
	case a < 0 || b < 0:
		return -1
	case a > 0 && b > (1<<62)/a:
		return 1 << 62
	}
	return a * b
}

// scheduleContraction computes a sum of products from panels: operands are copied in the order in which the loops of a
// tile read them, and padded with zeros to whole tiles, so that the loops need no conditions. root is the result, or an
// elementwise tensor of its shape that is its only reader. It returns false, without a change, if the result is not a
// contraction, or too small.
func scheduleContraction(s *te.Schedule, result, root *te.Tensor, parts []*te.Tensor, v simd) bool {
	c := contractionOf(s.Stage(result))
	if c == nil {
		return false
	}
	t, ok := tiling{}, false
	if w := c.ofWords(s, v); w != nil {
		if t, ok = w.tile(v); ok {
			c = w
			c.readInPlace(&t)
		}
	}
	if !ok {
		if t, ok = c.tile(v); !ok {
			return false
		}
	}
	c.image = c.imageOf(t)
	if c.image == nil && (len(parts) > 0 || t.open && c.windowed(c.left, c.row)) {
		return false
	}
	var left *te.Tensor
	if !c.leftInPlace() {
		left = te.Prepare(c.panels("left", c.left, c.row, t.rows))
	}
	right := te.Prepare(c.panels("right", c.right, c.col, t.cols))
	sums := c.sums(t, left, right)
	var fix correction
	if c.words != nil {
		fix = c.correction(t, left, right)
	}
	at := c.position(s.Stage(result).Axes())
	s.Replace(result, te.Compute(result.ProducerShape(), result.ProducerName()+".unpacked", func(i ...tir.Expr) tir.Expr {
		row, col := i[at.row], i[at.col]
		index := make([]tir.Expr, 0, len(i)+2)
		for _, b := range at.batch {
			index = append(index, i[b])
		}
		batch := slices.Clone(index)
		value := sums.At(append(index, over(row, t.rows), over(col, t.cols), rest(row, t.rows), rest(col, t.cols))...)
		if c.words == nil {
			return value
		}
		return fix.of(c, value, batch, row, col, t)
	}))
	if result != root {
		s.Stage(result).ComputeInline()
	}
	c.scheduleRoot(s.Stage(root), s.Stage(sums), at, t)
	c.scheduleSums(s.Stage(sums), t)
	if c.image != nil {
		c.image.schedule(s, parts, t.parallel, 0)
	} else if left != nil {
		schedulePanels(s.Stage(left), c.leftElements(), c.row, c.reduce, c.along(), t)
	}
	schedulePanels(s.Stage(right), c.rightElements(), c.col, c.reduce, c.along(), t)
	fix.schedule(s, t)
	return s.Err() == nil
}

// over returns the tile of an index, and rest the index within the tile.
func over(i tir.Expr, n int64) tir.Expr { return tir.FloorDiv(i, tir.IntConst(i.DType(), n)) }
func rest(i tir.Expr, n int64) tir.Expr { return tir.FloorMod(i, tir.IntConst(i.DType(), n)) }

// position holds the dimensions of the result that belong to the contraction's axes.
type position struct {
	batch    []int
	row, col int
}

func (c *contraction) position(axes []*tir.IterVar) (p position) {
	for d, a := range axes {
		switch a {
		case c.row:
			p.row = d
		case c.col:
			p.col = d
		default:
			p.batch = append(p.batch, d)
		}
	}
	return p
}

// panels is an operand in the order of the sums: [batch, tile, reduction, lane of the tile].
func (c *contraction) panels(name string, formula tir.Expr, axis *tir.IterVar, width int64) *te.Tensor {
	batch := among(formula, c.batch)
	var shape []tir.Expr
	for _, a := range batch {
		shape = append(shape, a.Extent)
	}
	shape = append(shape, tiles(axis, width))
	for _, a := range c.reduce {
		shape = append(shape, a.Extent)
	}
	shape = append(shape, tir.IntConst(axis.Var.Type, width))
	return te.Compute(shape, c.result.ProducerName()+"."+name, func(i ...tir.Expr) tir.Expr {
		to := map[*tir.Var]tir.Expr{}
		for n, a := range batch {
			to[a.Var] = i[n]
		}
		for n, a := range c.reduce {
			to[a.Var] = i[len(batch)+1+n]
			if low, ok := a.Min.(*tir.IntImm); !ok || low.Value != 0 {
				to[a.Var] = tir.Add(to[a.Var], a.Min)
			}
		}
		tile, lane := i[len(batch)], i[len(i)-1]
		at := tir.Add(tir.Mul(tile, tir.IntConst(tile.DType(), width)), lane)
		to[axis.Var] = at
		value := tir.Substitute(formula, to)
		size := sizeOf(axis)
		if size >= 0 && size%width == 0 {
			return value
		}
		value = tir.Intrin("if_then_else", tir.LT(at, axis.Extent), value, tir.Const(value.DType(), 0))
		if size < 0 || size >= width { // only the last tile needs a condition for each lane
			value = tir.Intrin("if_then_else", tir.LT(tile, over(axis.Extent, width)), tir.Substitute(formula, to), value)
		}
		return value
	})
}

// sums is the tensor of results, tile by tile: [batch, row tile, column tile, row, column].
func (c *contraction) sums(t tiling, left, right *te.Tensor) *te.Tensor {
	var shape []tir.Expr
	for _, a := range c.batch {
		shape = append(shape, a.Extent)
	}
	shape = append(shape, tiles(c.row, t.rows), tiles(c.col, t.cols), tir.IntConst(c.row.Var.Type, t.rows),
		tir.IntConst(c.col.Var.Type, t.cols))
	var reduce []*tir.IterVar
	for _, a := range c.reduce {
		reduce = append(reduce, te.ReduceAxis(tir.IntConst(a.Var.Type, 0), a.Extent, a.Var.Name))
	}
	return te.Compute(shape, c.result.ProducerName()+".sums", func(i ...tir.Expr) tir.Expr {
		n := len(c.batch)
		if c.image == nil && c.leftInPlace() {
			row := tir.Add(tir.Mul(i[n], tir.IntConst(c.row.Var.Type, t.rows)), i[n+2])
			return te.Sum(c.times(c.leftWord(i, row, reduce[0].Var), c.readPanel(right, c.right, i, reduce, i[n+1], i[n+3])),
				reduce...)
		}
		if c.image != nil {
			to := map[*tir.Var]tir.Expr{c.row.Var: tir.Add(tir.Mul(i[n], tir.IntConst(c.row.Var.Type, t.rows)), i[n+2])}
			for b, a := range c.batch {
				to[a.Var] = i[b]
			}
			for k, a := range c.reduce {
				to[a.Var] = reduce[k].Var
			}
			return te.Sum(tir.Mul(c.image.read(to), c.readPanel(right, c.right, i, reduce, i[n+1], i[n+3])), reduce...)
		}
		return te.Sum(c.times(c.readPanel(left, c.left, i, reduce, i[n], i[n+2]), c.readPanel(right, c.right, i, reduce,
			i[n+1], i[n+3])), reduce...)
	})
}

// readPanel returns an element of a panel: i begins with the batch axes that the operand has; the others are the tile,
// the reduction axes and the lane.
func (c *contraction) readPanel(x *te.Tensor, formula tir.Expr, i []tir.Expr, reduce []*tir.IterVar, tile,
	lane tir.Expr) tir.Expr {
	var at []tir.Expr
	for b, a := range c.batch {
		if uses(formula, a.Var) {
			at = append(at, i[b])
		}
	}
	at = append(at, tile)
	for _, a := range reduce {
		at = append(at, a.Var)
	}
	return x.At(append(at, lane)...)
}

// scheduleRoot stores tile by tile, and computes the sums of a tile right before it is stored. Threads process blocks
// of tiles.
func (c *contraction) scheduleRoot(root, sums *te.Stage, at position, t tiling) {
	axes := root.Axes()
	rows, row := root.Split(axes[at.row], int(t.rows))
	cols, col := root.Split(axes[at.col], int(t.cols))
	rowChunk, rowTile := root.Split(rows, int(t.mChunk))
	colChunk, colTile := root.Split(cols, int(t.nChunk))
	vector, lane := root.Split(col, t.lanes)
	var order []*tir.IterVar
	for _, b := range at.batch {
		order = append(order, axes[b])
	}
	several := len(order)        // loops around those for threads
	if t.open && !t.openChunks { // the fused loop is divided by the constant number of chunks of columns
		order = append(order, rowChunk, colChunk)
	} else {
		order, several = append(order, colChunk, rowChunk), 0
	}
	if at.col == len(axes)-1 {
		root.Reorder(append(order, colTile, rowTile, row, vector, lane)...)
		root.Vectorize(lane)
	} else {
		root.Reorder(append(order, colTile, rowTile, vector, lane, row)...)
	}
	sums.ComputeAt(root, rowTile)
	if t.parallel {
		fuseAll(root, order[several:])
	}
}

// fuseAll fuses several loops into one for threads.
func fuseAll(st *te.Stage, axes []*tir.IterVar) { st.Parallel(fused(st, axes)) }

// fused fuses axes.
func fused(st *te.Stage, axes []*tir.IterVar) *tir.IterVar {
	one := axes[0]
	for _, a := range axes[1:] {
		one = st.Fuse(one, a)
	}
	return one
}

// scheduleSums keeps a tile in registers.
func (c *contraction) scheduleSums(sums *te.Stage, t tiling) {
	axes := sums.Axes()
	row, col := axes[len(axes)-2], axes[len(axes)-1]
	vector, lane := sums.Split(col, t.lanes)
	sums.Reorder(append(sums.ReduceAxes(), row, vector, lane)...)
	sums.Unroll(row)
	sums.Unroll(vector)
	sums.Vectorize(lane)
	sums.SetScope("local")
}

// blockOfLines is the number of elements that are copied from a row before the next row: those of a cache line.
const blockOfLines = 16

// schedulePanels copies an operand. If consecutive values of the reduction are adjacent in memory, it reads cache line
// by cache line. formula is that of elements, along the innermost axis of the reduction that it uses.
func schedulePanels(st *te.Stage, formula tir.Expr, axis *tir.IterVar, reduce []*tir.IterVar, along *tir.IterVar,
	t tiling) {
	if st.IsPlaceholder() { // prepared before the call
		return
	}
	axes := st.Axes()
	last := axes[len(axes)-1]
	inner := axes[len(axes)-2] // the innermost reduction axis
	switch {
	case contiguous(formula, along):
		outer, elements := st.Split(inner, blockOfLines)
		st.Reorder(outer, last, elements)
	case contiguous(formula, axis) && sizeOf(last)%int64(t.lanes) == 0:
		_, lane := st.Split(last, t.lanes)
		st.Vectorize(lane)
	}
	outer := axes[:len(axes)-1-len(reduce)]
	if t.open && !t.openChunks {
		outer = outer[len(outer)-1:]
	}
	if t.parallel {
		fuseAll(st, outer)
	}
}
