package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// access is a load by a stage, also through tensors that are computed inline.
type access struct {
	tensor  *te.Tensor
	indices []tir.Expr // over the axes of the stage
}

// accesses returns the loads of a stage.
func accesses(s *te.Schedule, st *te.Stage) []access {
	var all []access
	schedule.EachRead(s, st, func(t *te.Tensor, at []tir.Expr) { all = append(all, access{t, at}) })
	return all
}

// offset returns the position in a compact tensor, in elements, as an int64.
func (a access) offset() tir.Expr {
	var at tir.Expr = tir.I64(0)
	for d, n := range a.tensor.ProducerShape() {
		at = tir.Add(tir.Mul(at, long(n)), long(a.indices[d]))
	}
	return at
}

// elements returns the number of elements of the tensor; -1: unknown.
func (a access) elements() int64 {
	n := int64(1)
	for _, size := range a.tensor.ProducerShape() {
		product(&n, size)
	}
	return n
}

// long converts an index to int64. Sums, products and quotients are converted by their operands, so that offsets can be
// compared.
func long(e tir.Expr) tir.Expr {
	if b, ok := e.(*tir.Binary); ok && tir.IsInt(e.DType()) {
		switch b.Op {
		case tir.OpAdd, tir.OpSub, tir.OpMul, tir.OpFloorDiv, tir.OpFloorMod:
			return tir.NewBinary(b.Op, long(b.A), long(b.B))
		}
	}
	return tir.NewCast(tir.Int64, e)
}

// steps says how the position of an access changes from one value of an axis to the next.
type steps int

const (
	scattered  steps = iota // by more than one element, or by an unknown number
	constant                // not at all
	contiguous              // by one element
	indirect                // as other data say
)

// along returns how the position of an access changes along an axis of the stage.
func (a access) along(axis *tir.IterVar) steps {
	reads := false
	for _, x := range a.indices {
		reads = reads || tir.Contains(x, func(n any) bool { _, load := n.(*tir.ProducerLoad); return load })
	}
	if reads {
		return indirect
	}
	switch a.step(axis) {
	case 0:
		return constant
	case 1:
		return contiguous
	}
	return scattered
}

// step returns by how many elements the position of an access grows from one value of an axis to the next; -1 if that
// is negative, not a constant or unknown.
func (a access) step(axis *tir.IterVar) int64 {
	next := a.with(map[*tir.Var]tir.Expr{axis.Var: tir.Add(axis.Var, tir.IntConst(axis.Var.Type, 1))})
	difference, known := arith.NewAnalyzer().Simplify(tir.Sub(next.offset(), a.offset())).(*tir.IntImm)
	if !known || difference.Value < 0 {
		return -1
	}
	return difference.Value
}

// with returns the access for other values of the axes.
func (a access) with(values map[*tir.Var]tir.Expr) access {
	at := access{a.tensor, make([]tir.Expr, len(a.indices))}
	for d, x := range a.indices {
		at.indices[d] = tir.Substitute(x, values)
	}
	return at
}

// same reports whether an access reads, for each element of a stage, the element at the same position.
func (a access) same(st *te.Stage) bool {
	axes := st.Axes()
	own := make([]tir.Expr, len(axes))
	for d, x := range axes {
		own[d] = x.Var
	}
	return arith.ProveEqual(a.offset(), access{st.Tensor(), own}.offset())
}

// aligned reports whether all contiguous loads of n elements along an axis, from a multiple of n on, begin at a
// multiple of n in their tensors.
func aligned(reads []access, axis *tir.IterVar, n int) bool {
	for _, a := range reads {
		if a.along(axis) != contiguous {
			continue
		}
		to := map[*tir.Var]tir.Expr{axis.Var: tir.Mul(axis.Var, tir.IntConst(axis.Var.Type, int64(n)))}
		if coef, base := arith.NewAnalyzer().Modular(a.with(to).offset()); coef%int64(n) != 0 || base%int64(n) != 0 {
			return false
		}
	}
	return true
}

// vectors reports whether every n elements along an axis, from a multiple of n on, are adjacent in their tensor, and
// begin at a multiple of n there.
func (a access) vectors(axis *tir.IterVar, n int) bool {
	switch a.along(axis) {
	case contiguous:
		return aligned([]access{a}, axis, n)
	case indirect:
		return false
	}
	at := func(i int) tir.Expr {
		first := tir.Mul(axis.Var, tir.IntConst(axis.Var.Type, int64(n)))
		return a.with(map[*tir.Var]tir.Expr{axis.Var: tir.Add(first, tir.IntConst(axis.Var.Type, int64(i)))}).offset()
	}
	an := arith.NewAnalyzer()
	if coef, base := an.Modular(at(0)); coef%int64(n) != 0 || base%int64(n) != 0 {
		return false
	}
	for i := 1; i < n; i++ {
		if d, known := an.Simplify(tir.Sub(at(i), at(0))).(*tir.IntImm); !known || d.Value != int64(i) {
			return false
		}
	}
	return true
}

// spread estimates how many sectors of memory 32 neighbors along fused axes touch, of which the last one that has
// several iterations is the innermost.
func (a access) spread(axes []*tir.IterVar) float64 {
	const neighbors, sector = 32, 32
	bits := float64(a.tensor.ProducerDType().Bits)
	run, step := 1.0, int64(-1) // neighbors at equal distances
	for _, x := range slices.Backward(axes) {
		size := constantSize(x.Extent)
		if size == 1 {
			continue
		}
		by := a.step(x)
		if step >= 0 && by != step*int64(run) {
			break
		}
		if step < 0 {
			if step = by; by < 0 {
				break
			}
		}
		if run *= float64(size); run >= neighbors {
			break
		}
	}
	if step < 0 {
		return neighbors
	}
	run = min(run, neighbors)
	each := min(run, 1+(run-1)*float64(step)*bits/8/sector)
	return each * neighbors / run
}
