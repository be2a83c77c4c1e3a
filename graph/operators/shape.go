package operators

import (
	"fmt"
	"math"
	"slices"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

func simplify(e tir.Expr) tir.Expr { return arith.NewAnalyzer().Simplify(e) }

// listOf makes a tensor of one dimension from expressions.
func listOf(t tir.Type, values []tir.Expr, name string) *te.Tensor {
	return te.Compute(te.Dims(int32(len(values))), name, func(i ...tir.Expr) tir.Expr {
		out := tir.Const(t, 0)
		for k := len(values) - 1; k >= 0; k-- {
			v := tir.NewCast(t, values[k])
			if k == len(values)-1 {
				out = v
			} else {
				out = tir.NewSelect(tir.EQ(i[0], tir.I32(int32(k))), v, out)
			}
		}
		return out
	})
}

func view(op *graph.Op) *graph.Op {
	op.View = true
	return op
}

func init() {
	register(
		with("shape", 1, 1, func(c *graph.Call) *te.Tensor {
			r := c.Rank(0)
			start, end := clampAxis(c.Int("start"), r), r
			if e := c.Int("end"); e != math.MaxInt64 {
				end = clampAxis(e, r)
			}
			return listOf(tir.Int64, c.Shape(0)[start:max(start, end)], c.Name)
		}, integer("start", 0), integer("end", math.MaxInt64)),
		with("sizes", 0, 0, func(c *graph.Call) *te.Tensor { return listOf(tir.Int64, c.Exprs("values"), c.Name) },
			graph.Attr{Name: "values", Default: []tir.Expr(nil)}),
		simple("size", 1, func(c *graph.Call) *te.Tensor {
			n := tir.Expr(tir.I64(1))
			for _, d := range c.Shape(0) {
				n = tir.Mul(n, tir.NewCast(tir.Int64, d))
			}
			return te.Compute(nil, c.Name, func(...tir.Expr) tir.Expr { return n })
		}),
		view(with("reshape", 2, 2, reshape, integer("allowzero", 0))),
		view(with("flatten", 1, 1, flatten, integer("axis", 1))),
		view(with("squeeze", 1, 2, squeeze)),
		view(with("unsqueeze", 2, 2, unsqueeze)),
		with("transpose", 1, 1, transpose, integers("perm")),
		with("concat", 1, -1, func(c *graph.Call) *te.Tensor {
			axis := axisOf(c, c.Int("axis"), c.Rank(0))
			in := append([]*te.Tensor{}, c.All()...)
			for k, t := range in {
				for d := range c.Rank(0) {
					if d != axis && t != nil && c.Rank(k) == c.Rank(0) {
						rule := fmt.Sprintf("dimension %d of operand %d has to be that of operand 0", d, k)
						in[k] = sized(c, in[k], d, c.Shape(0)[d], rule)
					}
				}
			}
			return ops.Concat(c.Name, axis, in...)
		}, integer("axis", 0)),
		&graph.Op{Name: "split", In: [2]int{1, 2}, Out: [2]int{1, -1}, Attrs: []graph.Attr{integer("axis", 0),
			integer("num_outputs", 0)}, Compute: split},
		with("slice", 3, 5, slice),
		with("expand", 2, 2, expand),
		with("tile", 2, 2, func(c *graph.Call) *te.Tensor { return ops.Tile(c.In(0), c.Name, c.Sizes(1)...) }),
		with("trilu", 1, 2, func(c *graph.Call) *te.Tensor {
			k := tir.Expr(tir.I64(0))
			if c.Has(1) {
				k = scalar(c, 1)
			}
			return ops.Trilu(c.In(0), c.Name, k, c.Flag("upper"))
		}, integer("upper", 1)),
		with("reverse_sequence", 2, 2, func(c *graph.Call) *te.Tensor {
			return ops.ReverseSequence(c.In(0), c.In(1), c.Name, c.Int("batch_axis"), c.Int("time_axis"))
		}, integer("batch_axis", 1), integer("time_axis", 0)),
		with("pad", 2, 4, pad, word("mode", "constant")),
		with("eye_like", 1, 1, func(c *graph.Call) *te.Tensor {
			if c.Rank(0) != 2 {
				c.Fail("the operand has %d dimensions: want 2", c.Rank(0))
			}
			t := c.Type("dtype")
			if t == (tir.Type{}) {
				t = c.DType(0)
			}
			return te.Compute(c.Shape(0), c.Name, func(i ...tir.Expr) tir.Expr {
				on := tir.EQ(tir.Sub(i[1], i[0]), tir.I32(int32(c.Int("k"))))
				return tir.NewSelect(on, tir.Const(t, 1), tir.Const(t, 0))
			})
		}, integer("k", 0), typed("dtype")),
		with("constant_of_shape", 2, 2, func(c *graph.Call) *te.Tensor {
			return te.Compute(c.Sizes(0), c.Name, func(...tir.Expr) tir.Expr { return scalar(c, 1) })
		}),
		with("range", 3, 3, rangeOf),
	)
}

func clampAxis(a, rank int) int {
	if a < 0 {
		a += rank
	}
	return min(max(a, 0), rank)
}

// product returns the number of elements of a shape.
func product(shape []tir.Expr) tir.Expr {
	n := tir.Expr(tir.I32(1))
	for _, d := range shape {
		n = tir.Mul(n, d)
	}
	return simplify(n)
}

func reshape(c *graph.Call) *te.Tensor {
	shape := append([]tir.Expr{}, c.Sizes(1)...)
	free := -1
	var open []int // sizes that may turn out to be -1 or 0
	for d, n := range shape {
		v, ok := tir.IntValue(n)
		switch {
		case ok && v == 0 && !c.Flag("allowzero"):
			if d >= c.Rank(0) {
				c.Fail("size %d of the shape is 0, and the operand has no dimension %d to copy", d, d)
			}
			shape[d] = c.Shape(0)[d]
		case ok && v == -1:
			if free >= 0 {
				c.Fail("sizes %d and %d of the shape are both -1: want one", free, d)
			}
			free = d
		case ok && v < 0:
			c.Fail("size %d of the shape is %d", d, v)
		case c.Read(n):
			open = append(open, d)
		}
	}
	if len(open) == 0 {
		return reshaped(c, shape, free)
	}
	rest := tir.Expr(tir.I32(1)) // the product of the sizes that are given
	for d, n := range shape {
		if slices.Contains(open, d) {
			if !c.Flag("allowzero") && d < c.Rank(0) {
				n = tir.NewSelect(tir.EQ(n, tir.I32(0)), c.Shape(0)[d], n)
			}
			shape[d] = n
			n = tir.NewSelect(tir.LT(n, tir.I32(0)), tir.I32(1), n)
		}
		if d != free {
			rest = tir.Mul(rest, n)
		}
	}
	follows := tir.FloorDiv(product(c.Shape(0)), tir.Max(rest, tir.I32(1)))
	for _, d := range open {
		shape[d] = simplify(tir.NewSelect(tir.LT(shape[d], tir.I32(0)), follows, shape[d]))
	}
	if free >= 0 {
		shape[free] = simplify(follows)
	}
	return reshaped(c, shape, -1)
}

// reshaped gives operand 0 a shape, in which size free follows from the others. Sizes that are only known at run time
// are taken to fit: the call fails otherwise.
func reshaped(c *graph.Call, shape []tir.Expr, free int) *te.Tensor {
	if free >= 0 {
		shape[free] = tir.I32(1)
		rest := product(shape)
		if v, ok := tir.IntValue(rest); ok && v == 0 {
			shape[free] = tir.I32(0)
		} else {
			shape[free] = simplify(tir.FloorDiv(product(c.Shape(0)), rest))
		}
	}
	have, want := product(c.Shape(0)), product(shape)
	n, fixed := tir.IntValue(have)
	m, alsoFixed := tir.IntValue(want)
	if fixed && alsoFixed && n != m {
		c.Fail("the operand has %d elements, and the shape %d", n, m)
	}
	x := c.In(0)
	return te.Compute(shape, c.Name, func(i ...tir.Expr) tir.Expr {
		if fixed && n == 0 || alsoFixed && m == 0 {
			return tir.Const(x.ProducerDType(), 0)
		}
		place := tir.Expr(tir.I32(0))
		for d := range shape {
			place = tir.Add(tir.Mul(place, shape[d]), i[d])
		}
		at := make([]tir.Expr, c.Rank(0))
		for d := len(at) - 1; d >= 0; d-- {
			at[d] = place
			if d > 0 {
				at[d] = tir.FloorMod(place, c.Shape(0)[d])
				place = tir.FloorDiv(place, c.Shape(0)[d])
			}
			at[d] = simplify(at[d])
		}
		return x.At(at...)
	})
}

func flatten(c *graph.Call) *te.Tensor {
	axis := c.Int("axis")
	if axis != c.Rank(0) {
		axis = axisOf(c, axis, c.Rank(0))
	}
	return reshaped(c, []tir.Expr{product(c.Shape(0)[:axis]), product(c.Shape(0)[axis:])}, -1)
}

func squeeze(c *graph.Call) *te.Tensor {
	drop := map[int]bool{}
	if c.Has(1) {
		for _, a := range axesOf(c, c.IntsOf(1), c.Rank(0)) {
			drop[a] = true
		}
	}
	var shape []tir.Expr
	for d, n := range c.Shape(0) {
		v, ok := tir.IntValue(n)
		switch {
		case drop[d] && ok && v != 1:
			c.Fail("dimension %d has size %d: only dimensions of size 1 can be removed", d, v)
		case !c.Has(1) && ok && v == 1, drop[d]:
		default:
			shape = append(shape, n)
		}
	}
	return reshaped(c, shape, -1)
}

func unsqueeze(c *graph.Call) *te.Tensor {
	axes := c.IntsOf(1)
	rank := c.Rank(0) + len(axes)
	added := map[int]bool{}
	for _, a := range axesOf(c, axes, rank) {
		added[a] = true
	}
	shape, rest := []tir.Expr{}, c.Shape(0)
	for d := range rank {
		if added[d] {
			shape = append(shape, tir.I32(1))
		} else {
			shape, rest = append(shape, rest[0]), rest[1:]
		}
	}
	return reshaped(c, shape, -1)
}

func transpose(c *graph.Call) *te.Tensor {
	perm := c.Ints("perm")
	if perm == nil {
		for d := c.Rank(0) - 1; d >= 0; d-- {
			perm = append(perm, d)
		}
	}
	if len(perm) != c.Rank(0) {
		c.Fail("perm has %d entries, and the operand %d dimensions", len(perm), c.Rank(0))
	}
	return ops.Transpose(c.In(0), c.Name, axesOf(c, perm, c.Rank(0))...)
}

// split divides an axis: by the sizes of operand 1, by num_outputs, or into equal parts.
const mostParts = 1 << 16

func split(c *graph.Call) []*te.Tensor {
	axis := axisOf(c, c.Int("axis"), c.Rank(0))
	n := c.Shape(0)[axis]
	var sizes []tir.Expr
	if c.Has(1) {
		sizes = c.Sizes(1)
	} else {
		parts := c.Int("num_outputs")
		if parts == 0 {
			parts = c.Results()
		}
		if parts <= 0 {
			c.Fail("the number of parts is not known: give num_outputs or the sizes")
		}
		if parts > mostParts {
			c.Fail("num_outputs is %d: want at most %d", parts, mostParts)
		}
		count := tir.I32(int32(parts))
		each := simplify(tir.FloorDiv(tir.Add(n, tir.I32(int32(parts-1))), count))
		for k := range parts {
			size := each
			if k == parts-1 {
				size = simplify(tir.Sub(n, tir.Mul(each, tir.I32(int32(parts-1)))))
			}
			sizes = append(sizes, size)
		}
	}
	var outs []*te.Tensor
	begin := tir.Expr(tir.I32(0))
	for _, size := range sizes {
		from := begin
		shape := append([]tir.Expr{}, c.Shape(0)...)
		shape[axis] = size
		outs = append(outs, te.Compute(shape, c.Name, func(i ...tir.Expr) tir.Expr {
			if isZero(size) || isZero(n) {
				return tir.Const(c.DType(0), 0) // no elements
			}
			at := append([]tir.Expr{}, i...)
			at[axis] = tir.Add(at[axis], from)
			return c.In(0).At(at...)
		}))
		begin = simplify(tir.Add(begin, size))
	}
	c.Require(begin, n, "the sizes of the parts have to add up to that of axis %d", axis)
	return outs
}

// slice has the operands data, starts, ends, axes and steps.
func slice(c *graph.Call) *te.Tensor {
	starts, ends := c.Sizes(1), c.Sizes(2)
	axes, steps := make([]int, len(starts)), repeat(1, len(starts))
	for d := range axes {
		axes[d] = d
	}
	if c.Has(3) {
		axes = axesOf(c, c.IntsOf(3), c.Rank(0))
	}
	if c.Has(4) {
		steps = c.IntsOf(4)
	}
	if len(starts) != len(ends) || len(axes) != len(starts) || len(steps) != len(starts) {
		c.Fail("%d starts, %d ends, %d axes and %d steps are given: want one of each per axis", len(starts), len(ends),
			len(axes), len(steps))
	}
	ranges := make([]ops.OpenRange, len(axes))
	for k, d := range axes {
		if steps[k] == 0 {
			c.Fail("step %d is 0", k)
		}
		ranges[k] = ops.OpenRange{Axis: d, Begin: bound(starts[k], steps[k]), End: bound(ends[k], -steps[k]),
			Step: min(max(steps[k], -math.MaxInt32), math.MaxInt32)}
	}
	return ops.OpenSlice(c.In(0), c.Name, ranges...)
}

// bound returns an end of a range; nil if it is the greatest integer, or the least, and lies beyond all elements on the
// side that the direction points away from.
func bound(e tir.Expr, direction int) tir.Expr {
	v, ok := tir.IntValue(e)
	if ok && (direction < 0 && v == math.MaxInt32 || direction > 0 && v == math.MinInt32) {
		return nil
	}
	return e
}

func isZero(n tir.Expr) bool {
	v, ok := tir.IntValue(n)
	return ok && v == 0
}

// isEmpty reports whether a tensor of a shape certainly has no element: code must not read it.
func isEmpty(shape []tir.Expr) bool { return slices.ContainsFunc(shape, isZero) }

func isOne(n tir.Expr) bool {
	v, ok := tir.IntValue(n)
	return ok && v == 1
}

// rangeOf has the operands start, limit and delta.
func rangeOf(c *graph.Call) *te.Tensor {
	start, limit, delta := c.Elems(0), c.Elems(1), c.Elems(2)
	if len(start) != 1 || len(limit) != 1 || len(delta) != 1 {
		c.Fail("start, limit and delta must have one element each")
	}
	t := c.DType(0)
	var n tir.Expr
	if tir.IsFloat(t) {
		a, b, d := c.FloatOf(0), c.FloatOf(1), c.FloatOf(2)
		count := max(0, math.Ceil((b-a)/d))
		if !(count <= math.MaxInt32) { // or no number
			c.Fail("%g to %g by %g has %g elements: want at most %d", a, b, d, count, math.MaxInt32)
		}
		n = tir.I32(int32(count))
	} else {
		a, b := c.Sizes(0)[0], c.Sizes(1)[0]
		d := c.IntOf(2)
		if d == 0 {
			c.Fail("delta is 0")
		}
		length := tir.Sub(b, a)
		if d < 0 {
			length, d = tir.Sub(a, b), -d
		}
		n = simplify(tir.Max(tir.FloorDiv(tir.Add(length, tir.I32(int32(d-1))), tir.I32(int32(d))), tir.I32(0)))
	}
	return te.Compute([]tir.Expr{n}, c.Name, func(i ...tir.Expr) tir.Expr {
		return tir.Add(tir.NewCast(t, start[0]), tir.Mul(tir.NewCast(t, i[0]), tir.NewCast(t, delta[0])))
	})
}

// pad has the operands data, pads (before each axis, then behind each), value and axes.
func pad(c *graph.Call) *te.Tensor {
	axes := make([]int, c.Rank(0))
	for d := range axes {
		axes[d] = d
	}
	if c.Has(3) {
		axes = axesOf(c, c.IntsOf(3), c.Rank(0))
	}
	pads := c.IntsOf(1)
	if len(pads) != 2*len(axes) {
		c.Fail("%d pads are given for %d axes: want two for each", len(pads), len(axes))
	}
	before, after := make([]int, c.Rank(0)), make([]int, c.Rank(0))
	for k, d := range axes {
		before[d], after[d] = pads[k], pads[len(axes)+k]
	}
	mode := c.Text("mode")
	for d, n := range c.Shape(0) {
		if most := max(before[d], after[d]); most > 0 && mode != "constant" {
			if mode != "reflect" {
				most = 0
			}
			least := tir.I32(int32(min(most+1, math.MaxInt32)))
			if _, ok := tir.IntValue(n); !ok {
				c.Require(simplify(tir.Min(n, least)), least, "dimension %d has too few elements for padding by %s", d, mode)
			}
		}
	}
	switch mode {
	case "constant":
		if !c.Has(2) {
			return ops.Pad(c.In(0), c.Name, before, after)
		}
		return padWith(c, before, after, scalar(c, 2))
	case "edge":
		return ops.Pad(c.In(0), c.Name, before, after, ops.PadEdge())
	case "reflect":
		return ops.Pad(c.In(0), c.Name, before, after, ops.PadReflect())
	case "wrap":
		return ops.Pad(c.In(0), c.Name, before, after, ops.PadWrap())
	default:
		c.Fail("mode is %q: want constant, edge, reflect or wrap", mode)
		return nil
	}
}

// padWith pads with an element of a tensor.
func padWith(c *graph.Call, before, after []int, value tir.Expr) *te.Tensor {
	shape := make([]tir.Expr, c.Rank(0))
	for d, n := range c.Shape(0) {
		shape[d] = simplify(tir.Add(n, tir.I32(int32(before[d]+after[d]))))
	}
	return te.Compute(shape, c.Name, func(i ...tir.Expr) tir.Expr {
		inside := tir.BoolConst(true)
		at := make([]tir.Expr, len(i))
		for d, n := range c.Shape(0) {
			if at[d] = i[d]; before[d] == 0 && after[d] <= 0 {
				continue
			}
			at[d] = simplify(tir.Sub(i[d], tir.I32(int32(before[d]))))
			inside = tir.And(inside, tir.And(tir.GE(at[d], tir.I32(0)), tir.LT(at[d], n)))
		}
		return tir.Intrin("if_then_else", simplify(inside), c.In(0).At(at...), value)
	})
}
