package ops

import (
	"slices"

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

// Windows describes the window of a pooling over one to three spatial dimensions, outermost first, in elements.
type Windows struct {
	Kernel    []int
	Strides   []int  // nil, or 0: those of Kernel
	Dilations []int  // the distance between a window's elements; nil, or 0: 1
	Pads      []int  // before each dimension, then behind each: less than the extent of a window; nil: 0
	Ceil      bool   // a last window may extend beyond the padding if it starts before the end of the tensor
	CountPads bool   // averages count padding as zeros, except what Ceil adds
	Layout    string // channels first, also if empty ("NCW", "NCHW", "NCDHW"), or last ("NWC", "NHWC", "NDHWC")
}

func (w *Window) windows() *Windows {
	return &Windows{Kernel: w.Kernel[:], Strides: w.Strides[:], Dilations: w.Dilations[:], Pads: w.Pads[:], Ceil: w.Ceil,
		CountPads: w.CountPads, Layout: w.Layout}
}

// MaxPool2D is MaxPool over height and width.
func MaxPool2D(x *te.Tensor, name string, w Window) *te.Tensor {
	if bad := check(name, 4, x); bad != nil {
		return bad
	}
	return maxPool("maxpool2d", x, name, w.windows())
}

// AvgPool2D is AvgPool over height and width.
func AvgPool2D(x *te.Tensor, name string, w Window) *te.Tensor {
	if bad := check(name, 4, x); bad != nil {
		return bad
	}
	return avgPool("avgpool2d", x, name, w.windows())
}

// MaxPool is the greatest element of each window, NaN if the window contains one. Padding does not count. The sizes of
// spatial dimensions become the numbers of windows.
func MaxPool(x *te.Tensor, name string, w Windows) *te.Tensor { return maxPool("maxpool", x, name, &w) }

// AvgPool is the mean of each window: of the tensor's elements, and of the padding if CountPads is set. The mean of a
// window without elements is 0.
func AvgPool(x *te.Tensor, name string, w Windows) *te.Tensor { return avgPool("avgpool", x, name, &w) }

func maxPool(kind string, x *te.Tensor, name string, w *Windows) *te.Tensor {
	sides, bad := w.sides(name, x, numbers)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	return w.reduce(kind, x, name, sides, limit(t, false), func(e tir.Expr) tir.Expr { return e }, maxOver)
}

func avgPool(kind string, x *te.Tensor, name string, w *Windows) *te.Tensor {
	sides, bad := w.sides(name, x, floats)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	work := workType(t)
	sum := w.reduce(kind, x, name+".sum", sides, tir.Const(work, 0), func(e tir.Expr) tir.Expr {
		return castTo(work, e)
	}, sumOver)
	return te.Compute(sum.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		n := tir.Expr(nil)
		for _, s := range sides {
			if c := s.count(i[s.axis], w.CountPads); n == nil {
				n = c
			} else {
				n = tir.Mul(n, c)
			}
		}
		n = tir.NewCast(work, tir.Max(simplified(n), like(n, 1)))
		return tir.NewCast(t, tir.Div(sum.At(i...), simplified(n)))
	})
}

// MaxPoolIndices is MaxPool, and the position of the greatest element of each window in the whole tensor as an int64:
// of several, that of the first in row-major order; NaN counts as greater than every number. Positions are row-major,
// or, within the spatial dimensions, column-major if columns is set. A window without elements has the position
// 1<<63-1.
func MaxPoolIndices(x *te.Tensor, name string, w Windows, columns bool) []*te.Tensor {
	sides, bad := w.sides(name, x, numbers)
	if bad != nil {
		return []*te.Tensor{bad, bad}
	}
	s := x.ProducerShape()
	none, nowhere := limit(x.ProducerDType(), false), limit(tir.Int64, true)
	shape, over := windowsOf(x, sides)
	first := positionReducer(tir.OpGT, false)
	found := te.ComputeMulti(shape, name+".found", func(i ...tir.Expr) []tir.Expr {
		at, within := elementOf(i, sides, over)
		position := tir.Expr(tir.I64(0))
		for d, n := range s {
			position = tir.Add(tir.Mul(position, tir.NewCast(tir.Int64, n)), tir.NewCast(tir.Int64, at[d]))
		}
		return first.Over([]tir.Expr{where(within, simplified(position), nowhere), where(within, x.At(at...), none)},
			over...)
	})
	values := Map(found[1], name, func(e tir.Expr) tir.Expr { return e })
	positions := Map(found[0], name+".positions", func(e tir.Expr) tir.Expr {
		if !columns || len(sides) == 1 {
			return e
		}
		// from row-major to column-major: the digits of the spatial dimensions in reverse
		rest, turned, all := e, tir.Expr(tir.I64(0)), tir.Expr(tir.I64(1))
		for _, v := range slices.Backward(sides) {
			n := tir.Max(tir.NewCast(tir.Int64, v.size), tir.I64(1))
			turned = tir.Add(tir.Mul(turned, n), tir.FloorMod(rest, n))
			rest, all = tir.FloorDiv(rest, n), tir.Mul(all, n)
		}
		return tir.NewSelect(tir.EQ(e, nowhere), e, simplified(tir.Add(tir.Mul(rest, all), turned)))
	})
	return []*te.Tensor{values, positions}
}

// LpPool is the p-norm of each window, (Σ|x|ᵖ)^(1/p), with p of 1 or more. Padding counts as zeros.
func LpPool(x *te.Tensor, name string, w Windows, p float64) *te.Tensor {
	sides, bad := w.sides(name, x, floats)
	if bad != nil {
		return bad
	}
	n, bad := newPNorm(name, x, p)
	if bad != nil {
		return bad
	}
	sum := w.reduce("lppool", x, name+".sum", sides, tir.Const(n.work, 0), n.term, sumOver)
	return Map(sum, name, n.root)
}

// GlobalMaxPool2D is the greatest element of each channel; height and width become 1.
func GlobalMaxPool2D(x *te.Tensor, name, layout string) *te.Tensor {
	if bad := check(name, 4, x); bad != nil {
		return bad
	}
	return GlobalMaxPool(x, name, layout)
}

// GlobalAvgPool2D is the mean of each channel; height and width become 1.
func GlobalAvgPool2D(x *te.Tensor, name, layout string) *te.Tensor {
	if bad := check(name, 4, x); bad != nil {
		return bad
	}
	return GlobalAvgPool(x, name, layout)
}

// GlobalMaxPool is the greatest element of each channel; the one to three spatial dimensions become 1. The layout is as
// for Windows.
func GlobalMaxPool(x *te.Tensor, name, layout string) *te.Tensor {
	axes, bad := spatialAxes(name, x, layout)
	if bad != nil {
		return bad
	}
	return Max(x, name, axes, true)
}

// GlobalAvgPool is the mean of each channel, as for GlobalMaxPool.
func GlobalAvgPool(x *te.Tensor, name, layout string) *te.Tensor {
	axes, bad := spatialAxes(name, x, layout)
	if bad != nil {
		return bad
	}
	return Mean(x, name, axes, true)
}

// GlobalLpPool is the p-norm of each channel, as for LpPool and GlobalMaxPool.
func GlobalLpPool(x *te.Tensor, name, layout string, p float64) *te.Tensor {
	axes, bad := spatialAxes(name, x, layout)
	if bad != nil {
		return bad
	}
	return pNormOf(x, name, axes, p)
}

func spatialAxes(name string, x *te.Tensor, layout string) ([]int, *te.Tensor) {
	spatial, bad := spatialDims(name, x)
	if bad != nil {
		return nil, bad
	}
	l, err := layoutOf(layout, spatial)
	if err != nil {
		return nil, failed(name, "%w", err)
	}
	axes := make([]int, spatial)
	for d := range axes {
		axes[d] = l.first + d
	}
	return axes, nil
}

// sides checks the window and measures it in all dimensions.
func (w *Windows) sides(name string, x *te.Tensor, c class) ([]*side, *te.Tensor) {
	axes, bad := spatialAxes(name, x, w.Layout)
	if bad != nil {
		return nil, bad
	}
	if bad := c.of(name, x); bad != nil {
		return nil, bad
	}
	spatial := len(axes)
	for _, f := range []struct {
		what    string
		numbers []int
		want    int
	}{{"window sizes", w.Kernel, spatial}, {"strides", w.Strides, spatial}, {"dilations", w.Dilations, spatial},
		{"pads", w.Pads, 2 * spatial}} {
		if n := len(f.numbers); n != f.want && (n > 0 || f.what == "window sizes") {
			return nil, failed(name, "%d %s for %d spatial dimensions: want %d", n, f.what, spatial, f.want)
		}
	}
	// number returns one of the numbers, or another if it is 0 or missing.
	number := func(numbers []int, d, other int) int {
		if len(numbers) == 0 || numbers[d] == 0 {
			return other
		}
		return numbers[d]
	}
	all := make([]*side, spatial)
	for d, axis := range axes {
		n, k := x.ProducerShape()[axis], w.Kernel[d]
		if k < 1 || k > 1<<20 {
			return nil, failed(name, "axis %d of tensor %s: a window of %d elements: want 1 or more", axis,
				x.ProducerName(), k)
		}
		s := &side{axis: axis, size: n, kernel: like(n, k), stride: number(w.Strides, d, k),
			dilation: number(w.Dilations, d, 1), before: number(w.Pads, d, 0), behind: number(w.Pads, spatial+d, 0),
			ceil: w.Ceil}
		if err := s.measure(x); err != nil {
			return nil, failed(name, "%w", err)
		}
		if reach := (k-1)*s.dilation + 1; s.before >= reach || s.behind >= reach {
			return nil, failed(name, "axis %d of tensor %s: padding %d and %d of a window that spans %d elements: want "+
				"less", axis, x.ProducerName(), s.before, s.behind, reach)
		}
		all[d] = s
	}
	return all, nil
}

// windowsOf returns the shape of one value per window, and the axes over the elements of a window.
func windowsOf(x *te.Tensor, sides []*side) (shape []tir.Expr, over []*tir.IterVar) {
	shape = slices.Clone(x.ProducerShape())
	for d, s := range sides {
		shape[s.axis] = s.out
		over = append(over, reduceAxis(s.kernel, windowAxes[3-len(sides)+d]))
	}
	return shape, over
}

// elementOf returns the indices of an element of the window at indices i, and the conditions under which it is in the
// tensor.
func elementOf(i []tir.Expr, sides []*side, over []*tir.IterVar) (at, within []tir.Expr) {
	at = slices.Clone(i)
	for d, s := range sides {
		padded := s.at(i[s.axis], over[d].Var)
		at[s.axis] = plus(padded, -s.before)
		within = append(within, s.within(padded)...)
	}
	return at, within
}

// reduce reduces f of the elements of each window; elements outside of the tensor have the value none.
func (w *Windows) reduce(kind string, x *te.Tensor, name string, sides []*side, none tir.Expr,
	f func(tir.Expr) tir.Expr, r reduction) *te.Tensor {
	shape, over := windowsOf(x, sides)
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at, within := elementOf(i, sides, over)
		return r(where(within, f(x.At(at...)), none), over...)
	})
	return by(out, &Operator{Kind: kind, Inputs: []*te.Tensor{x}, Attrs: w})
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
