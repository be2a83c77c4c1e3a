package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// swizzling is the order of the elements of a row in memory: see StorageSwizzle.
type swizzling struct {
	axis        *tir.IterVar // nil: the order of their indices
	width, step int64
}

// StorageSwizzle changes the order in which the rows of the innermost dimension are stored, so that the elements of a
// column are in different memory banks, without the gaps of StorageAlign: the group of width elements at position g of
// a row is stored at position g XOR (i / step), where i is the index of axis. Elements of a group stay contiguous and
// aligned, so that a vector of width elements is one access. width is a power of two; rows are extended to a number of
// groups that is a power of two, too. For vectors of n elements that are read across n rows of shared memory, width and
// step are n.
func (st *Stage) StorageSwizzle(axis *tir.IterVar, width, step int) {
	const primitive = "storage_swizzle"
	if !st.stored(primitive) {
		return
	}
	i := slices.Index(st.axes, axis)
	switch {
	case axis == nil:
		st.fail(primitive, "the axis is nil")
	case st.op.kind != opCompute:
		st.fail(primitive, "axis %s: it is not computed by loops, and its memory is accessed as a whole", axis.Var.Name)
	case i < 0:
		st.fail(primitive, "axis %s is not one of its dimensions %v", axis.Var.Name, axisNames(st.axes))
	case i == len(st.axes)-1:
		st.fail(primitive, "axis %s is the last dimension, whose elements are reordered by the index of another one: take "+
			"an earlier one", axis.Var.Name)
	case width < 1 || width&(width-1) != 0 || width > 1<<20 || step < 1 || step > 1<<30:
		st.fail(primitive, "axis %s: width %d and step %d: want a power of two up to 1048576, and 1 to 1073741824",
			axis.Var.Name, width, step)
	case st.swizzle.axis != nil:
		st.fail(primitive, "axis %s: it is already swizzled, by axis %s", axis.Var.Name, st.swizzle.axis.Var.Name)
	default:
		if o := st.externReader(); o != nil {
			st.fail(primitive, "axis %s: extern operation %s reads its buffer: use storage_align", axis.Var.Name, o.op.name)
			return
		}
		st.swizzle = swizzling{axis, int64(width), int64(step)}
	}
}

// externReader returns an extern operation that reads the stage's tensors; nil if there is none.
func (st *Stage) externReader() *Stage {
	for _, o := range st.s.stages {
		if o.op.kind == opExtern && slices.ContainsFunc(o.reads(), func(t *Tensor) bool { return t.op == st.op }) {
			return o
		}
	}
	return nil
}

// rowGroups returns the number of groups of a row in swizzled memory, a power of two.
func (n *nest) rowGroups() (int64, error) {
	size := n.size[len(n.size)-1]
	c, known := constant(size)
	if !known {
		return 0, fmt.Errorf("storage_swizzle of tensor %s: its last dimension, axis %s, has %s elements, and the number "+
			"must be constant: compute it at an axis where it is, or use storage_align", n.st.op.name,
			n.st.axes[len(n.st.axes)-1].Var.Name, text.Print(size))
	}
	groups, width := int64(1), n.st.swizzle.width
	for groups*width < c && groups < 1<<40 {
		groups *= 2
	}
	return groups, nil
}

// memory returns the shape of the memory of a nest's tensors.
func (n *nest) memory() ([]tir.Expr, error) {
	if n.st.swizzle.axis == nil {
		return n.size, nil
	}
	groups, err := n.rowGroups()
	if err != nil {
		return nil, err
	}
	shape, last := slices.Clone(n.size), len(n.size)-1
	shape[last] = tir.IntConst(shape[last].DType(), groups*n.st.swizzle.width)
	return shape, nil
}

// place returns the indices in memory of the element with the indices at, counted from the start of the region.
func (l *lowering) place(n *nest, at []tir.Expr) []tir.Expr {
	s := n.st.swizzle
	if s.axis == nil {
		return at
	}
	groups, err := n.rowGroups()
	if err != nil || groups == 1 {
		return at // allocate returns the error
	}
	last := len(at) - 1
	t := at[last].DType()
	row := widen(at[slices.Index(n.st.axes, s.axis)], t)
	c := func(n int64) tir.Expr { return tir.IntConst(t, n) }
	group := l.a.Simplify(tir.FloorDiv(at[last], c(s.width)))
	key := l.a.Simplify(tir.FloorMod(tir.FloorDiv(row, c(s.step)), c(groups)))
	out := slices.Clone(at)
	out[last] = l.a.Simplify(tir.Add(tir.Mul(tir.Intrin("bitwise_xor", group, key), c(s.width)),
		tir.FloorMod(at[last], c(s.width))))
	return out
}

// placed returns the function place for a nest whose memory is swizzled, for tiles of intrinsics; nil for others.
func (l *lowering) placed(n *nest) func(at []tir.Expr) []tir.Expr {
	if n.st.swizzle.axis == nil {
		return nil
	}
	return func(at []tir.Expr) []tir.Expr { return l.place(n, at) }
}

// arranged reports whether storage_align or storage_swizzle changed where elements are in memory.
func (st *Stage) arranged() bool { return len(st.aligns) > 0 || st.swizzle.axis != nil }
