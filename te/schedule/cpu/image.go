package cpu

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// image is an operand that is read in place instead of from packed panels, because the windows of the sum overlap.
type image struct {
	tensor  *te.Tensor
	indices []tir.Expr // over the axes of the contraction
	own     bool       // it is a copy, padded for the last tile or converted to the type of the computation
}

// imageOf returns the image of a windowed left operand, long enough for whole tiles; nil if the operand is not
// windowed, or its sizes are unknown.
func (c *contraction) imageOf(t tiling) *image {
	if t.open || !c.windowed(c.left, c.row) {
		return nil
	}
	load, _ := loadOf(c.left)
	converted := c.left != tir.Expr(load)
	x, ok := load.Producer.(*te.Tensor)
	if !ok {
		return nil
	}
	last := map[*tir.Var]tir.Expr{c.row.Var: tir.IntConst(c.row.Var.Type, ceilDiv(sizeOf(c.row), t.rows)*t.rows-1)}
	for _, a := range c.reduce {
		if low, zero := a.Min.(*tir.IntImm); !zero || low.Value != 0 {
			return nil
		}
		last[a.Var] = tir.IntConst(a.Var.Type, sizeOf(a)-1)
	}
	shape := append([]tir.Expr{}, x.ProducerShape()...)
	for d, at := range load.Indices {
		if !uses(at, c.row.Var) {
			continue
		}
		end, known := simplified(tir.Substitute(at, last)).(*tir.IntImm)
		size, constant := shape[d].(*tir.IntImm)
		if !known || !constant {
			return nil
		}
		stands := end.Value >= size.Value
		if !stands && !converted {
			return &image{tensor: x, indices: load.Indices}
		}
		if stands {
			shape[d] = tir.IntConst(size.Type, end.Value+1)
		}
		longer := te.Compute(shape, c.result.ProducerName()+".image", func(i ...tir.Expr) tir.Expr {
			value := tir.NewCast(c.typ, x.At(i...))
			if !stands {
				return value
			}
			return tir.Intrin("if_then_else", tir.LT(i[d], size), value, tir.Const(c.typ, 0))
		})
		return &image{tensor: longer, indices: load.Indices, own: true}
	}
	return nil
}

// read returns an element of the image for given values of the axes.
func (m *image) read(to map[*tir.Var]tir.Expr) tir.Expr {
	at := make([]tir.Expr, len(m.indices))
	for d, x := range m.indices {
		at[d] = tir.Substitute(x, to)
	}
	return m.tensor.At(at...)
}

// schedule makes threads compute the image together with the padding that it is a copy of.
func (m *image) schedule(s *te.Schedule, padding []*te.Tensor, parallel bool, lanes int) {
	st := s.Stage(m.tensor)
	if st.IsPlaceholder() {
		return
	}
	if m.own {
		for _, p := range padding {
			s.Stage(p).ComputeInline()
		}
	}
	axes := st.Axes()
	if last := axes[len(axes)-1]; len(st.ReduceAxes()) == 0 && lanes > 0 && sizeOf(last)%int64(lanes) == 0 &&
		len(axes) == 5 {
		_, lane := st.Split(last, lanes) // of the channels in blocks, which are not padded
		st.Vectorize(lane)
	}
	if parallel && len(st.ReduceAxes()) == 0 && (m.own || len(padding) > 0) && len(axes) > 1 {
		fuseAll(st, axes[:min(3, len(axes)-1)])
	}
}
