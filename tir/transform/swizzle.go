package transform

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// unswizzled returns the indices of an access without the permutation of te's storage_swizzle: a last index
// xor(g, key)·width + rest, where key follows from another index, becomes g·width + rest. by describes the permutation;
// accesses with the same one are to the same element if their unswizzled indices are equal. It is the zero value if the
// indices have another form.
func unswizzled(b *tir.Buffer, at []tir.Expr, r idRanges) (plain []tir.Expr, by permutation) {
	last := len(at) - 1
	if last < 1 || len(b.Shape) != len(at) {
		return at, by
	}
	size, known := b.Shape[last].(*tir.IntImm)
	if !known {
		return at, by
	}
	index := at[last]
	ramp, isRamp := index.(*tir.Ramp)
	if isRamp {
		index = ramp.Base
	}
	var xor *tir.Call
	tir.Walk(index, func(n any) bool {
		if c, ok := n.(*tir.Call); ok && c.Kind == tir.CallIntrinsic && c.Name == "bitwise_xor" && xor == nil {
			xor = c
		}
		return xor == nil
	})
	if xor == nil {
		return at, by
	}
	a := r.analyzer()
	with := func(group tir.Expr) tir.Expr {
		m := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
			if e == tir.Expr(xor) {
				return group
			}
			return e
		}}
		return m.MutateExpr(index)
	}
	t := xor.Type
	rest := a.Simplify(with(tir.IntConst(t, 0)))
	width, isConst := a.Simplify(tir.Sub(with(tir.IntConst(t, 1)), rest)).(*tir.IntImm)
	if !isConst || width.Value < 1 || size.Value%width.Value != 0 || contains(rest, isXor) {
		return at, by
	}
	if isRamp { // the lanes stay within a group
		rest = tir.Add(rest, tir.Mul(ramp.Stride, tir.IntConst(t, int64(ramp.Lanes-1))))
	}
	lo, hi, bounded := a.Bounds(rest)
	if !bounded || lo < 0 || hi >= width.Value {
		return at, by
	}
	groups := size.Value / width.Value
	for d := range last {
		for _, step := range likelySteps(width.Value) {
			key := tir.FloorMod(tir.FloorDiv(at[d], tir.IntConst(at[d].DType(), step)), tir.IntConst(at[d].DType(), groups))
			if at[d].DType() != xor.Args[1].DType() || !a.Prove(tir.EQ(key, xor.Args[1])) {
				continue
			}
			plain = slices.Clone(at)
			plain[last] = with(xor.Args[0])
			if isRamp {
				plain[last] = &tir.Ramp{Base: plain[last], Stride: ramp.Stride, Lanes: ramp.Lanes}
			}
			return plain, permutation{d, step, width.Value}
		}
	}
	return at, by
}

// permutation is a reordering of the groups of width elements of a row: by the index of dimension d divided by step.
type permutation struct {
	d           int
	step, width int64
}

func isXor(node any) bool {
	c, ok := node.(*tir.Call)
	return ok && c.Name == "bitwise_xor"
}

// likelySteps are the steps of a swizzle that are recognized, the most frequent first.
func likelySteps(width int64) []int64 {
	steps := []int64{width}
	for n := int64(1); n <= 1<<12; n *= 2 {
		steps = append(steps, n)
	}
	for n := int64(3); n < 64; n++ {
		steps = append(steps, n)
	}
	return steps
}

// withPosition returns the indices of an access and the position in row-major order, if the sizes are constant: indices
// that are quotients and remainders of one number, as those of fused loops, become that number again.
func withPosition(a sharedAccess, r idRanges) []tir.Expr {
	if len(a.at) < 2 || len(a.at) != len(a.buffer.Shape) {
		return a.at
	}
	flat := a.at[0]
	for d, x := range a.at[1:] {
		size, ok := a.buffer.Shape[d+1].(*tir.IntImm)
		if !ok || x.DType() != flat.DType() || x.DType().Lanes > 1 {
			return a.at
		}
		flat = tir.Add(tir.Mul(flat, tir.IntConst(x.DType(), size.Value)), x)
	}
	return append(slices.Clone(a.at), r.analyzer().Simplify(flat))
}

// analyzer returns an analyzer that knows the ranges.
func (r idRanges) analyzer() *arith.Analyzer {
	a := arith.NewAnalyzer()
	for v, s := range r {
		if s.known() {
			a.Bind(v, tir.IntConst(v.Type, s.lo), tir.IntConst(v.Type, s.hi-s.lo+1))
		}
	}
	return a
}
