package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// Window describes the window of a pooling over height and width, in elements.
type Window struct {
	Kernel    [2]int // height and width
	Strides   [2]int // 0: those of Kernel
	Dilations [2]int // the distance between a window's elements; 0: 1
	Pads      [4]int // above, left, below, right: each less than the extent of a window
	Ceil      bool   // a last window may extend beyond the padding if it starts before the end of the tensor
	CountPads bool   // averages count padding as zeros, except what Ceil adds
	Layout    string // "NCHW", also if empty, or "NHWC"
}

// MaxPool2D is the greatest element of each window, NaN if the window contains one. Padding does not count.
func MaxPool2D(x *te.Tensor, name string, w Window) *te.Tensor {
	h, v, bad := w.sides(name, x, numbers)
	if bad != nil {
		return bad
	}
	none := limit(x.ProducerDType(), false)
	out := w.reduce(x, name, h, v, x.ProducerDType(), none, maxOver)
	return by(out, &Operator{Kind: "maxpool2d", Inputs: []*te.Tensor{x}, Attrs: &w})
}

// AvgPool2D is the mean of each window: of the tensor's elements, and of the padding if CountPads is set. The mean of a
// window without elements is 0.
func AvgPool2D(x *te.Tensor, name string, w Window) *te.Tensor {
	h, v, bad := w.sides(name, x, floats)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	work := workType(t)
	sum := w.reduce(x, name+".sum", h, v, work, tir.Const(work, 0), func(e tir.Expr, k ...*tir.IterVar) tir.Expr {
		return te.Sum(e, k...)
	})
	sum = by(sum, &Operator{Kind: "avgpool2d", Inputs: []*te.Tensor{x}, Attrs: &w})
	return te.Compute(sum.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		n := tir.Mul(h.count(i[h.axis], w.CountPads), v.count(i[v.axis], w.CountPads))
		n = tir.NewCast(work, tir.Max(simplified(n), like(n, 1)))
		return tir.NewCast(t, tir.Div(sum.At(i...), simplified(n)))
	})
}

// GlobalMaxPool2D is the greatest element of each channel; height and width become 1.
func GlobalMaxPool2D(x *te.Tensor, name, layout string) *te.Tensor {
	axes, bad := imageAxes(name, x, layout)
	if bad != nil {
		return bad
	}
	return Max(x, name, axes, true)
}

// GlobalAvgPool2D is the mean of each channel; height and width become 1.
func GlobalAvgPool2D(x *te.Tensor, name, layout string) *te.Tensor {
	axes, bad := imageAxes(name, x, layout)
	if bad != nil {
		return bad
	}
	return Mean(x, name, axes, true)
}

func imageAxes(name string, x *te.Tensor, layout string) ([]int, *te.Tensor) {
	if bad := check(name, 4, x); bad != nil {
		return nil, bad
	}
	l, ok := layouts[layout]
	if !ok {
		return nil, failed(name, "layout %q: want \"NCHW\" or \"NHWC\"", layout)
	}
	return []int{l.h, l.w}, nil
}

// sides checks the window and measures it in both dimensions.
func (w *Window) sides(name string, x *te.Tensor, c class) (h, v *side, bad *te.Tensor) {
	axes, bad := imageAxes(name, x, w.Layout)
	if bad != nil {
		return nil, nil, bad
	}
	if bad := c.of(name, x); bad != nil {
		return nil, nil, bad
	}
	var all [2]*side
	for d, axis := range axes {
		n := x.ProducerShape()[axis]
		if w.Strides[d] == 0 {
			w.Strides[d] = w.Kernel[d]
		}
		if w.Dilations[d] == 0 {
			w.Dilations[d] = 1
		}
		if k := w.Kernel[d]; k < 1 || k > 1<<20 {
			return nil, nil, failed(name, "axis %d of tensor %s: a window of %d elements: want 1 or more", axis,
				x.ProducerName(), k)
		}
		s := &side{axis: axis, size: n, kernel: like(n, w.Kernel[d]), stride: w.Strides[d], dilation: w.Dilations[d],
			before: w.Pads[d], behind: w.Pads[d+2],
			ceil: w.Ceil}
		if err := s.measure(x); err != nil {
			return nil, nil, failed(name, "%w", err)
		}
		if reach := (w.Kernel[d]-1)*s.dilation + 1; s.before >= reach || s.behind >= reach {
			return nil, nil, failed(name, "axis %d of tensor %s: padding %d and %d of a window that spans %d "+
				"elements: want less",
				axis, x.ProducerName(), s.before, s.behind, reach)
		}
		all[d] = s
	}
	return all[0], all[1], nil
}

// reduce reduces the elements of each window; elements outside of the tensor have the value none.
func (w *Window) reduce(x *te.Tensor, name string, h, v *side, t tir.Type, none tir.Expr, r reduction) *te.Tensor {
	shape := append([]tir.Expr{}, x.ProducerShape()...)
	shape[h.axis], shape[v.axis] = h.out, v.out
	p, q := reduceAxis(h.kernel, "p"), reduceAxis(v.kernel, "q")
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		y, z := h.at(i[h.axis], p.Var), v.at(i[v.axis], q.Var)
		at[h.axis], at[v.axis] = plus(y, -h.before), plus(z, -v.before)
		return r(where(append(h.within(y), v.within(z)...), castTo(t, x.At(at...)), none), p, q)
	})
}

// count returns the number of a window's elements that are in the tensor, or in the padded tensor.
func (s *side) count(window tir.Expr, pads bool) tir.Expr {
	if !s.padded() || pads && !s.ceil {
		return s.kernel
	}
	from := tir.Mul(window, like(window, s.stride))
	first, end := like(from, 0), plus(s.size, s.before+s.behind)
	if !pads {
		// the first element inside the tensor: (before - from) / dilation, rounded up
		first = tir.Max(first, tir.FloorDiv(plus(tir.Sub(like(from, s.before), from), s.dilation-1), like(from, s.dilation)))
		end = plus(s.size, s.before)
	}
	last := tir.FloorDiv(plus(tir.Sub(end, from), s.dilation-1), like(from, s.dilation))
	return tir.Max(like(from, 0), tir.Sub(tir.Min(s.kernel, last), first))
}
