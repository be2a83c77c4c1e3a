package ops

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// ResizeAttrs holds the options of Resize. The fields of axes have one number for each of Axes.
type ResizeAttrs struct {
	Axes   []int     // the dimensions to be resized
	Sizes  []int     // their new sizes
	Scales []float64 // how far each is stretched; nil, or 0: the new size divided by the old one
	// Open has the new sizes of axes whose old or new size is no constant, in place of those in Sizes, and nil for other
	// axes; nil if there are none. Such an axis has a scale of 1/1024 to 1024 whose numbers are small, or none.
	Open []tir.Expr

	// Mode is "nearest", the default; "linear"; or "cubic", a convolution with a cubic kernel.
	Mode string
	// Coordinates says which position of x an element of the result is at: "half_pixel", the default;
	// "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric" or "tf_crop_and_resize". See
	// ONNX's operator Resize.
	Coordinates string
	// Nearest says how a position between two elements is rounded: "round_prefer_floor", the default,
	// "round_prefer_ceil", "floor" or "ceil".
	Nearest string

	Cubic          float64      // the coefficient of the cubic kernel; 0: -0.75
	ExcludeOutside bool         // elements outside of x have no weight; otherwise they are those at its edge
	Antialias      bool         // where an axis shrinks, linear and cubic kernels extend over all elements
	Region         [][2]float64 // for "tf_crop_and_resize": the begin and end in x, as fractions of its extent
	Outside        float64      // for "tf_crop_and_resize": the value at positions outside of x
}

// Resize changes the sizes of some dimensions of x, by interpolation between its elements, as ONNX's operator of that
// name does. Positions are computed exactly, as fractions of integers. Floats of 16 bits and integers are computed in
// float32; integers are rounded to nearest, and limited to their type.
func Resize(x *te.Tensor, name string, a ResizeAttrs) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := numbers.of(name, x); bad != nil {
		return bad
	}
	if err := a.check(); err != nil {
		return failed(name, "%w", err)
	}
	axes, bad := a.axes(name, x)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	outside, bad := valueOf(name, t, a.Outside)
	if bad != nil {
		return bad
	}
	from, work := x, floatIn(t)
	if a.Mode == "nearest" {
		work = t
	}
	for n := 0; n < len(axes); {
		// axes with few elements per result are resized together
		end, taps := n+1, axes[n].taps
		for ; end < len(axes) && !a.weighted(axes[n]) && !a.weighted(axes[end]) && taps*axes[end].taps <= 8; end++ {
			taps *= axes[end].taps
		}
		from = a.pass(from, fmt.Sprintf("%s.axis%d", name, axes[n].axis), axes[n:end], work)
		n = end
	}
	out := te.Compute(from.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		e := from.At(i...)
		if a.Mode != "nearest" && e.DType() != t {
			e = rounding(t, e)
		}
		for _, v := range axes {
			if a.Coordinates == "tf_crop_and_resize" {
				p := v.position(i[v.axis])
				beyond := tir.GT(p, simplified(tir.Mul(plus(v.from, -1), v.c)))
				e = tir.NewSelect(tir.Or(tir.LT(p, like(p, 0)), beyond), outside, e)
			}
		}
		return e
	})
	return by(out, &Operator{Kind: "resize", Inputs: []*te.Tensor{x}, Attrs: &a})
}

// check checks the options that have a list of values, and sets their defaults.
func (a *ResizeAttrs) check() error {
	if err := oneOf("mode", &a.Mode, "nearest", "linear", "cubic"); err != nil {
		return err
	}
	if err := oneOf("rounding to the nearest", &a.Nearest, "round_prefer_floor", "round_prefer_ceil", "floor",
		"ceil"); err != nil {
		return err
	}
	if err := oneOf("coordinates", &a.Coordinates, "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
		"align_corners", "asymmetric", "tf_crop_and_resize"); err != nil {
		return err
	}
	if a.Cubic == 0 {
		a.Cubic = -0.75
	}
	if !(math.Abs(a.Cubic) <= 1e6) {
		return fmt.Errorf("the coefficient of the cubic kernel is %v: want a small number", a.Cubic)
	}
	n := len(a.Axes)
	for _, f := range []struct {
		what string
		has  int
	}{{"sizes", len(a.Sizes)}, {"scales", len(a.Scales)}, {"open sizes", len(a.Open)}, {"regions", len(a.Region)}} {
		optional := f.what != "sizes" && (f.what != "regions" || a.Coordinates != "tf_crop_and_resize")
		missing := f.has == 0 && optional
		if f.has != n && !missing {
			return fmt.Errorf("%d %s for %d axes: want one for each", f.has, f.what, n)
		}
	}
	return nil
}

// axes measures the axes whose elements change, those that shrink first.
func (a *ResizeAttrs) axes(name string, x *te.Tensor) ([]*resizeAxis, *te.Tensor) {
	s := x.ProducerShape()
	if _, bad := axesOf(name, x, append([]int{}, a.Axes...)); bad != nil {
		return nil, bad
	}
	var all []*resizeAxis
	for n, axis := range a.Axes {
		d, _ := axisOf(name, x, axis, len(s))
		size, known := constSize(s[d])
		v := &resizeAxis{axis: d, size: size, out: int64(a.Sizes[n])}
		if len(a.Scales) > 0 {
			v.scale = a.Scales[n]
		}
		if len(a.Open) > 0 && a.Open[n] != nil {
			if err := v.placeOpen(a, s[d], a.Open[n]); err != nil {
				return nil, failed(name, "axis %d of tensor %s of size %s: %w", d, x.ProducerName(), text.Print(s[d]), err)
			}
			v.measure(a)
			all = append(all, v)
			continue
		}
		if !known || size < 1 || v.out < 0 || max(size, v.out) > math.MaxInt32 {
			return nil, failed(name, "axis %d of tensor %s has size %s, and is resized to %d: want a constant size of 1 or "+
				"more, and a new one of 0 or more", d, x.ProducerName(), text.Print(s[d]), v.out)
		}
		if v.scale < 0 || math.IsNaN(v.scale) || math.IsInf(v.scale, 0) || v.scale > 0 && v.scale < 1e-6 || v.scale > 1e9 {
			return nil, failed(name, "axis %d of tensor %s: scale %v: want more than 0", d, x.ProducerName(), v.scale)
		}
		region := [2]float64{0, 1}
		if len(a.Region) > 0 {
			region = a.Region[n]
		}
		if err := v.place(a.Coordinates, region); err != nil {
			return nil, failed(name, "axis %d of tensor %s: %w", d, x.ProducerName(), err)
		}
		v.measure(a)
		if v.same() && !v.wide {
			continue
		}
		all = append(all, v)
	}
	if len(a.Open) == 0 {
		slices.SortStableFunc(all, func(p, q *resizeAxis) int { return int(p.out*q.size - q.out*p.size) })
	}
	return all, nil
}

// weighted reports whether the weights of an axis have to be divided by their sum.
func (a *ResizeAttrs) weighted(v *resizeAxis) bool {
	return v.wide || a.ExcludeOutside && a.Mode != "nearest"
}

// pass resizes axes of a tensor.
func (a *ResizeAttrs) pass(x *te.Tensor, name string, axes []*resizeAxis, work tir.Type) *te.Tensor {
	shape := slices.Clone(x.ProducerShape())
	for _, v := range axes {
		shape[v.axis] = simplified(castIndex(shape[v.axis], v.to))
	}
	if v := axes[0]; a.weighted(v) {
		return v.convolved(a, x, name, shape, work)
	}
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		var read func(at []tir.Expr, rest []*resizeAxis) tir.Expr
		read = func(at []tir.Expr, rest []*resizeAxis) tir.Expr {
			if len(rest) == 0 {
				return tir.NewCast(work, x.At(slices.Clone(at)...))
			}
			v := rest[0]
			at = slices.Clone(at)
			if a.Mode == "nearest" {
				at[v.axis] = v.index(shape, v.nearest(a.Nearest, i[v.axis]))
				return read(at, rest[1:])
			}
			first, f := v.split(i[v.axis], work)
			weights := []tir.Expr{tir.Sub(tir.Const(work, 1), f), f}
			if a.Mode == "cubic" {
				weights = cubicWeights(f, a.Cubic)
			}
			var sum tir.Expr
			for n, w := range weights {
				at[v.axis] = v.index(shape, plus(first, n-len(weights)/2+1))
				if e := tir.Mul(w, read(at, rest[1:])); n == 0 {
					sum = e
				} else {
					sum = tir.Add(sum, e)
				}
			}
			return sum
		}
		return read(i, axes)
	})
}

// cubicWeights returns the weights of the four elements around a position: two at or before it, two behind. f is its
// distance from the second one, of 0 to 1, and a the coefficient of the cubic convolution.
func cubicWeights(f tir.Expr, a float64) []tir.Expr {
	one := tir.Const(f.DType(), 1)
	g := tir.Sub(one, f)
	return []tir.Expr{cubicFar(tir.Add(f, one), a), cubicNear(f, a), cubicNear(g, a), cubicFar(tir.Add(g, one), a)}
}

// cubicNear is the kernel of the cubic convolution at a distance of at most 1: ((a+2)·x - (a+3))·x² + 1.
func cubicNear(x tir.Expr, a float64) tir.Expr {
	t := x.DType()
	return tir.Add(tir.Mul(tir.Sub(tir.Mul(tir.Const(t, a+2), x), tir.Const(t, a+3)), tir.Mul(x, x)), tir.Const(t, 1))
}

// cubicFar is the kernel at a distance from 1 to 2: ((a·x - 5a)·x + 8a)·x - 4a.
func cubicFar(x tir.Expr, a float64) tir.Expr {
	t := x.DType()
	e := tir.Mul(tir.Sub(tir.Mul(tir.Const(t, a), x), tir.Const(t, 5*a)), x)
	return tir.Sub(tir.Mul(tir.Add(e, tir.Const(t, 8*a)), x), tir.Const(t, 4*a))
}

// floatIn returns the type in which floats for elements of a type are computed: float64 for itself, else float32.
func floatIn(t tir.Type) tir.Type {
	if t == tir.Float64 {
		return t
	}
	return tir.Float32
}

// rounding converts a float to an element type; to integers it rounds to nearest, ties to even.
func rounding(t tir.Type, e tir.Expr) tir.Expr {
	if tir.IsInt(t) {
		e = tir.Intrin("nearbyint", e)
	}
	return castTo(t, e)
}

// clampIndex returns v limited to 0 … n-1, an index of a dimension of size n, which is not empty.
func clampIndex(v, n tir.Expr) tir.Expr {
	return tir.Max(tir.IntConst(v.DType(), 0), tir.Min(v, tir.Sub(castIndex(v, n), tir.IntConst(v.DType(), 1))))
}

// oneOf returns an error if an option is none of the known ones; the first one is the default.
func oneOf(what string, value *string, known ...string) error {
	if *value == "" {
		*value = known[0]
	}
	for _, k := range known {
		if *value == k {
			return nil
		}
	}
	return fmt.Errorf("%s %q: want %s", what, *value, strings.Join(known, ", "))
}
