package cpu

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// wordBytes is the number of bytes in a word of panels for dot4.
const wordBytes = 4

// words says how a contraction of bytes is computed by dot4, whose operands are words of four values of the sum: one
// with unsigned, and one with signed bytes. If both operands are signed or both are unsigned, the left one is moved by
// 128 to the other range.
//
//	Σ (a - p)·(b - q) = Σ a'·b - f·Σ b - q·(Σ a' - f·K), where a' = a + move, f = p + move
type words struct {
	left, right bytesOf
	k           *tir.IterVar // of the bytes
	move        int64
	inPlace     bool // the left operand is read without a copy
}

// bytesOf is an operand: elements of 8 bits less a zero point, which may be nil, and does not depend on the axis of the
// sum.
type bytesOf struct {
	value, zero tir.Expr
}

func (b bytesOf) signed() bool { return tir.IsSigned(b.value.DType()) }

// ofWords returns the contraction as one of words; nil if it is not one of bytes along a single axis, or the CPU has no
// suitable instructions.
func (c *contraction) ofWords(s *te.Schedule, v simd) *contraction {
	if !v.dots || c.typ != tir.Int32 || len(c.reduce) != 1 || c.windowed(c.left, c.row) || c.windowed(c.right, c.col) {
		return nil
	}
	k := c.reduce[0]
	if low, ok := tir.IntValue(k.Min); !ok || low != 0 {
		return nil
	}
	w := &words{k: k}
	var ok [2]bool
	w.left, ok[0] = readBytes(s, c.left, k)
	w.right, ok[1] = readBytes(s, c.right, k)
	if !ok[0] || !ok[1] {
		return nil
	}
	if w.left.signed() == w.right.signed() {
		w.move = 128
		if !w.left.signed() {
			w.move = -128
		}
	}
	out := *c
	four := tir.IntConst(k.Var.Type, wordBytes)
	n := tir.FloorDiv(tir.Add(k.Extent, tir.IntConst(k.Var.Type, wordBytes-1)), four)
	if size := sizeOf(k); size >= 0 {
		n = tir.IntConst(k.Var.Type, ceilDiv(size, wordBytes))
	}
	word := te.ReduceAxis(tir.IntConst(k.Var.Type, 0), n, k.Var.Name+".word")
	out.words, out.reduce = w, []*tir.IterVar{word}
	out.left, out.right = wordOf(w.left.value, k, word.Var, w.move != 0), wordOf(w.right.value, k, word.Var, false)
	return &out
}

// readBytes analyzes an operand of int32.
func readBytes(s *te.Schedule, formula tir.Expr, k *tir.IterVar) (b bytesOf, ok bool) {
	if load, is := formula.(*tir.ProducerLoad); is {
		from := s.Stage(load.Producer.(*te.Tensor))
		if from == nil || !from.IsInlined() || len(from.Formulas()) != 1 {
			return b, false
		}
		to := map[*tir.Var]tir.Expr{}
		for d, a := range from.Axes() {
			to[a.Var] = load.Indices[d]
		}
		return readBytes(s, tir.Substitute(from.Formulas()[0], to), k)
	}
	if d, is := formula.(*tir.Binary); is && d.Op == tir.OpSub {
		if b, ok = readBytes(s, d.A, k); !ok || b.zero != nil || uses(d.B, k.Var) {
			return b, false
		}
		if !isZero(d.B) {
			b.zero = d.B
		}
		return b, true
	}
	cast, is := formula.(*tir.Cast)
	if !is || cast.Type != tir.Int32 {
		return b, false
	}
	t := cast.Value.DType()
	return bytesOf{value: cast.Value}, t == tir.Int8 || t == tir.UInt8
}

// isZero reports whether a number is known to be 0, for example an element of a constant tensor of zeros.
func isZero(e tir.Expr) bool {
	if c, ok := e.(*tir.Cast); ok {
		e = c.Value
	}
	load, ok := e.(*tir.ProducerLoad)
	if !ok {
		n, known := tir.IntValue(e)
		return known && n == 0
	}
	data := load.Producer.(*te.Tensor).Data()
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return len(data) > 0
}

// wordOf returns four bytes of an operand as a word, the first in the lowest bits. moved: the highest bit of each is
// inverted. Behind the end of the sum a word has zeros.
func wordOf(value tir.Expr, k *tir.IterVar, word *tir.Var, moved bool) tir.Expr {
	t := k.Var.Type
	each := func(guarded bool) tir.Expr {
		var all tir.Expr
		for i := range int64(wordBytes) {
			at := tir.Add(tir.Mul(word, tir.IntConst(t, wordBytes)), tir.IntConst(t, i))
			b := tir.Substitute(value, map[*tir.Var]tir.Expr{k.Var: at})
			if guarded {
				none := tir.Const(b.DType(), 0)
				if moved && tir.IsSigned(b.DType()) {
					none = tir.Const(b.DType(), -128)
				} else if moved {
					none = tir.Const(b.DType(), 128)
				}
				b = tir.Intrin("if_then_else", tir.LT(at, k.Extent), b, none)
			}
			b = tir.NewCast(tir.Int32, tir.NewCast(tir.UInt8, b))
			if i == 0 {
				all = b
			} else {
				all = tir.Intrin("bitwise_or", all, tir.Intrin("shift_left", b, tir.I32(int32(8*i))))
			}
		}
		if moved {
			all = tir.Intrin("bitwise_xor", all, tir.I32(-0x7F7F7F80))
		}
		return all
	}
	switch n := sizeOf(k); {
	case n >= 0 && n%wordBytes == 0:
		return each(false)
	case n >= 0 && n < wordBytes:
		return each(true)
	}
	return tir.Intrin("if_then_else", tir.LT(word, over(k.Extent, wordBytes)), each(false), each(true))
}

const (
	// Rows whose distance in memory is a multiple of aliasing bytes compete for the same places of the first-level cache,
	// of which at most aliased are used.
	aliasing = 4096
	aliased  = 4
	// inPlaceRows is the least height of tiles that read their rows in place.
	inPlaceRows = 6
)

// readInPlace changes a tiling so that the left operand is read without a copy to panels, if its words are used as they
// are, whole tiles have all rows, and the rows do not compete for places in the cache.
func (c *contraction) readInPlace(t *tiling) {
	w := c.words
	load, ok := w.left.value.(*tir.ProducerLoad)
	m, k := sizeOf(c.row), sizeOf(w.k)
	if !ok || w.move != 0 || w.right.zero != nil || t.open || k < wordBytes || k%wordBytes != 0 ||
		!contiguous(load, w.k) {
		return
	}
	if own, known := sizeOfLast(load); !known || own != k {
		return
	}
	for rows := min(t.rows, m); rows >= min(inPlaceRows, m); rows-- {
		step := int64(aliasing)
		for k%step != 0 {
			step /= 2
		}
		if m%rows == 0 && rows*step <= aliased*aliasing {
			w.inPlace, t.rows = true, rows
			return
		}
	}
}

// leftInPlace reports whether the left operand is read without a copy to panels.
func (c *contraction) leftInPlace() bool { return c.image != nil || c.words != nil && c.words.inPlace }

// sizeOfLast returns the size of the last dimension of a tensor that is read, whose rows are contiguous.
func sizeOfLast(load *tir.ProducerLoad) (int64, bool) {
	shape := load.Producer.ProducerShape()
	return tir.IntValue(shape[len(shape)-1])
}

// leftWord is a word of the left operand that is read in place, for a row and a step of the sum.
func (c *contraction) leftWord(i []tir.Expr, row tir.Expr, word *tir.Var) tir.Expr {
	to := map[*tir.Var]tir.Expr{c.row.Var: row, c.reduce[0].Var: word}
	for b, a := range c.batch {
		to[a.Var] = i[b]
	}
	return tir.Substitute(c.left, to)
}

// times multiplies an element of the left with one of the right panel.
func (c *contraction) times(left, right tir.Expr) tir.Expr {
	switch {
	case c.words == nil:
		return tir.Mul(left, right)
	case c.words.right.signed():
		return tir.Intrin("dot4", left, right)
	}
	return tir.Intrin("dot4", right, left)
}

// ones is a word of four bytes of 1.
func ones() tir.Expr { return tir.I32(0x01010101) }

// leftElements and rightElements are the formulas of elements along an axis of the sum.
func (c *contraction) leftElements() tir.Expr {
	if c.words != nil {
		return c.words.left.value
	}
	return c.left
}

func (c *contraction) rightElements() tir.Expr {
	if c.words != nil {
		return c.words.right.value
	}
	return c.right
}

func (c *contraction) along() *tir.IterVar {
	if c.words != nil {
		return c.words.k
	}
	return c.reduce[len(c.reduce)-1]
}

// correction are the sums of an operand's elements that the results of words need; nil if they do not.
type correction struct {
	rows    *te.Tensor // of the left panels
	columns *te.Tensor // of the right operand
}

// correction computes the sums that the zero points, and the move of an operand, need.
func (c *contraction) correction(t tiling, left, right *te.Tensor) (fix correction) {
	w, name := c.words, c.result.ProducerName()
	if w.move != 0 || w.left.zero != nil {
		if constantFormula(w.right.value) {
			fix.columns = te.Prepare(c.constantSums(name+".columns", t.cols))
		} else {
			fix.columns = c.panelSums(name+".columns", right, c.col, t.cols, c.right, false)
		}
	}
	if w.right.zero != nil {
		fix.rows = c.panelSums(name+".rows", left, c.row, t.rows, c.left, true)
	}
	return fix
}

// shapeOf returns the shape of the sums of an operand: [batch, tile, lane].
func (c *contraction) shapeOf(formula tir.Expr, axis *tir.IterVar, width int64) (shape []tir.Expr) {
	for _, a := range among(formula, c.batch) {
		shape = append(shape, a.Extent)
	}
	return append(shape, tiles(axis, width), tir.IntConst(axis.Var.Type, width))
}

// panelSums adds the elements of panels.
func (c *contraction) panelSums(name string, panel *te.Tensor, axis *tir.IterVar, width int64, formula tir.Expr,
	left bool) *te.Tensor {
	k := te.ReduceAxis(tir.IntConst(c.reduce[0].Var.Type, 0), c.reduce[0].Extent, c.reduce[0].Var.Name)
	return te.Compute(c.shapeOf(formula, axis, width), name, func(i ...tir.Expr) tir.Expr {
		n := len(i) - 1
		at := append(append([]tir.Expr{}, i[:n]...), k.Var, i[n])
		if left {
			return te.Sum(c.times(panel.At(at...), ones()), k)
		}
		return te.Sum(c.times(ones(), panel.At(at...)), k)
	})
}

// constantSums adds the elements of constant columns.
func (c *contraction) constantSums(name string, width int64) *te.Tensor {
	w := c.words
	k := te.ReduceAxis(tir.IntConst(w.k.Var.Type, 0), w.k.Extent, w.k.Var.Name)
	batch := among(c.right, c.batch)
	return te.Compute(c.shapeOf(c.right, c.col, width), name, func(i ...tir.Expr) tir.Expr {
		to := map[*tir.Var]tir.Expr{w.k.Var: k.Var}
		for n, a := range batch {
			to[a.Var] = i[n]
		}
		tile, lane := i[len(batch)], i[len(i)-1]
		at := tir.Add(tir.Mul(tile, tir.IntConst(tile.DType(), width)), lane)
		to[c.col.Var] = at
		value := tir.NewCast(tir.Int32, tir.Substitute(w.right.value, to))
		return te.Sum(tir.Intrin("if_then_else", tir.LT(at, c.col.Extent), value, tir.I32(0)), k)
	})
}

// of corrects a result at some indices, of which batch has those of all axes of batches.
func (fix correction) of(c *contraction, value tir.Expr, batch []tir.Expr, row, col tir.Expr, t tiling) tir.Expr {
	w := c.words
	to := map[*tir.Var]tir.Expr{c.row.Var: row, c.col.Var: col}
	for b, a := range c.batch {
		to[a.Var] = batch[b]
	}
	sum := func(x *te.Tensor, formula, i tir.Expr, width int64) tir.Expr {
		var at []tir.Expr
		for b, a := range c.batch {
			if uses(formula, a.Var) {
				at = append(at, batch[b])
			}
		}
		return x.At(append(at, over(i, width), rest(i, width))...)
	}
	var factor tir.Expr = tir.I32(int32(w.move))
	if w.left.zero != nil {
		factor = tir.Substitute(w.left.zero, to)
		if w.move != 0 {
			factor = tir.Add(factor, tir.I32(int32(w.move)))
		}
	}
	if fix.columns != nil {
		value = tir.Sub(value, tir.Mul(factor, sum(fix.columns, c.right, col, t.cols)))
	}
	if fix.rows != nil {
		of := sum(fix.rows, c.left, row, t.rows)
		if fix.columns != nil {
			of = tir.Sub(of, tir.Mul(factor, tir.NewCast(tir.Int32, w.k.Extent)))
		}
		value = tir.Sub(value, tir.Mul(tir.Substitute(w.right.zero, to), of))
	}
	return value
}

// schedule adds the columns of a tile by vectors, and its rows one by one.
func (fix correction) schedule(s *te.Schedule, t tiling) {
	for _, x := range []*te.Tensor{fix.columns, fix.rows} {
		if x == nil || s.Stage(x).IsPlaceholder() {
			continue
		}
		st := s.Stage(x)
		axes := st.Axes()
		lane := axes[len(axes)-1]
		if sizeOf(lane)%int64(t.lanes) == 0 {
			vector, inner := st.Split(lane, t.lanes)
			st.Reorder(append(st.ReduceAxes(), vector, inner)...)
			st.Unroll(vector)
			st.Vectorize(inner)
		} else {
			st.Reorder(append(st.ReduceAxes(), lane)...)
		}
		if outer := axes[:len(axes)-1]; t.parallel {
			if t.open && !t.openChunks {
				outer = outer[len(outer)-1:]
			}
			fuseAll(st, outer)
		}
	}
}
