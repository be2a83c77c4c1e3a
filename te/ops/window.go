package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

// side describes the windows along one spatial dimension.
type side struct {
	axis                             int      // the tensor's axis
	size                             tir.Expr // the size of the axis
	kernel                           tir.Expr
	stride, dilation, before, behind int
	ceil                             bool
	out                              tir.Expr // the number of windows
}

// windowAxes are the names of the axes over the elements of a window, those of three spatial dimensions.
var windowAxes = [3]string{"r", "p", "q"}

// layouts are the orders of dimensions by the number of spatial ones: channels first, and last.
var layouts = [4][2]string{1: {"NCW", "NWC"}, 2: {"NCHW", "NHWC"}, 3: {"NCDHW", "NDHWC"}}

// layout is an order of dimensions.
type layout struct {
	c     int  // the dimension of channels
	first int  // the first spatial dimension
	last  bool // channels are last
}

// layoutOf returns the layout with a name; channels are first if there is no name.
func layoutOf(name string, spatial int) (layout, error) {
	switch names := layouts[spatial]; name {
	case "", names[0]:
		return layout{c: 1, first: 2}, nil
	case names[1]:
		return layout{c: spatial + 1, first: 1, last: true}, nil
	default:
		return layout{}, fmt.Errorf("layout %q: want %q or %q", name, names[0], names[1])
	}
}

// spatialDims returns the number of dimensions of a tensor besides batch and channels.
func spatialDims(name string, x *te.Tensor) (int, *te.Tensor) {
	if bad := check(name, -1, x); bad != nil {
		return 0, bad
	}
	n := len(x.ProducerShape())
	if n < 3 || n > 5 {
		return 0, failed(name, "tensor %s has %d dimensions: want 3 to 5, for batch, channels and 1 to 3 spatial ones",
			x.ProducerName(), n)
	}
	return n - 2, nil
}

// measure checks the options, and computes the number of windows.
func (s *side) measure(x *te.Tensor) error {
	switch what := fmt.Sprintf("axis %d of tensor %s", s.axis, x.ProducerName()); {
	case s.stride < 1 || s.dilation < 1:
		return fmt.Errorf("%s: stride %d and dilation %d: want 1 or more", what, s.stride, s.dilation)
	case s.before < 0 || s.behind < 0:
		return fmt.Errorf("%s: padding %d and %d: want 0 or more", what, s.before, s.behind)
	case s.stride > 1<<20 || s.dilation > 1<<20 || s.before > 1<<30 || s.behind > 1<<30:
		return fmt.Errorf("%s: stride %d, dilation %d, padding %d and %d: they do not fit into the index type", what,
			s.stride, s.dilation, s.before, s.behind)
	}
	k, constKernel := constSize(s.kernel)
	n, constInput := constSize(s.size)
	if constKernel && k < 1 {
		return fmt.Errorf("axis %d of tensor %s: a window of %d elements: want 1 or more", s.axis, x.ProducerName(), k)
	}
	t := s.size.DType()
	if !constKernel || !constInput {
		reach := plus(tir.Mul(plus(s.kernel, -1), like(s.kernel, s.dilation)), 1)
		left := tir.Sub(plus(s.size, s.before+s.behind), reach)
		if s.ceil {
			left = plus(left, s.stride-1)
		}
		s.out = simplified(tir.Max(like(s.size, 0), plus(tir.FloorDiv(left, like(left, s.stride)), 1)))
		if s.ceil { // excludes a last window that begins after all elements
			s.out = simplified(tir.Min(s.out, tir.FloorDiv(plus(s.size, s.before+s.stride-1), like(s.size, s.stride))))
		}
		return nil
	}
	reach, all := (k-1)*int64(s.dilation)+1, n+int64(s.before+s.behind)
	if n > 0 && reach > all {
		return fmt.Errorf("axis %d of tensor %s has %d elements with its padding, and a window spans %d: want no more",
			s.axis, x.ProducerName(), all, reach)
	}
	left, stride := all-reach, int64(s.stride)
	if s.ceil {
		left += stride - 1
	}
	count := int64(0)
	if left >= 0 {
		count = left/stride + 1
	}
	if s.ceil {
		count = min(count, (n+int64(s.before)+stride-1)/stride)
	}
	s.out = tir.IntConst(t, count)
	return nil
}

// at returns the index of a window's element in the padded tensor.
func (s *side) at(window, element tir.Expr) tir.Expr {
	return simplified(tir.Add(tir.Mul(window, like(window, s.stride)), tir.Mul(element, like(element, s.dilation))))
}

// padded reports whether windows extend beyond the tensor.
func (s *side) padded() bool { return s.before > 0 || s.behind > 0 || s.ceil }

// within returns the conditions under which an index, as returned by at, is inside the tensor without its padding.
func (s *side) within(at tir.Expr) []tir.Expr {
	var all []tir.Expr
	if s.before > 0 {
		all = append(all, tir.GE(at, like(at, s.before)))
	}
	if s.behind > 0 || s.ceil {
		all = append(all, tir.LT(at, plus(s.size, s.before)))
	}
	return all
}
