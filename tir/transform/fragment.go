package transform

import (
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/layout"
)

// memoryAccess is a fragment_load or a fragment_store.
type memoryAccess struct{ *tir.FragmentCall }

// fragmentAccess describes a call that loads or stores a fragment; nil for other calls.
func fragmentAccess(c *tir.Call) *memoryAccess {
	if !tir.IsFragmentCall(c) {
		return nil
	}
	f, err := tir.DescribeFragmentCall(c)
	if err != nil || f.Memory == nil {
		return nil
	}
	return &memoryAccess{f}
}

// region returns the indices of the matrix in memory: in two dimensions, one of which has the stride, they are ramps.
// It is nil if the matrix is not such a region.
func (f *memoryAccess) region() []tir.Expr {
	b, at := f.Memory.Buffer, f.Memory.Indices
	strides, err := layout.Strides(b)
	if err != nil || len(at) != len(b.Shape) || len(at) < 2 {
		return nil
	}
	rows, columns := f.Size(f.Fragment.Buffer.StorageScope())
	if f.Layout == tir.ColMajor {
		rows, columns = columns, rows
	}
	last := len(at) - 1
	one, ok := strides[last].(*tir.IntImm)
	if !ok || one.Value != 1 {
		return nil
	}
	for d := last - 1; d >= 0; d-- {
		n, constant := b.Shape[d].(*tir.IntImm)
		if constant && n.Value == 1 {
			continue
		}
		difference := arith.NewAnalyzer().Simplify(tir.Sub(tir.NewCast(tir.Int64, strides[d]),
			tir.NewCast(tir.Int64, f.Stride)))
		if zero, ok := difference.(*tir.IntImm); !ok || zero.Value != 0 {
			return nil
		}
		out := append([]tir.Expr{}, at...)
		out[d] = &tir.Ramp{Base: at[d], Stride: tir.IntConst(at[d].DType(), 1), Lanes: rows}
		out[last] = &tir.Ramp{Base: at[last], Stride: tir.IntConst(at[last].DType(), 1), Lanes: columns}
		return out
	}
	return nil
}
