//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tvmgo/te"
	"tvmgo/tir"
)

// positionBy returns the position of an element of the result by the definitions of ONNX.
func positionBy(mode string, i int, scale float64, size, out int, region [2]float64) float64 {
	x, n, length := float64(i), float64(size), scale*float64(size)
	switch mode {
	case "align_corners":
		if length == 1 {
			return 0
		}
		return x * (n - 1) / (length - 1)
	case "asymmetric":
		return x / scale
	case "tf_crop_and_resize":
		if length == 1 {
			return (region[0] + region[1]) * (n - 1) / 2
		}
		return region[0]*(n-1) + x*(region[1]-region[0])*(n-1)/(length-1)
	case "pytorch_half_pixel":
		if length == 1 {
			return -0.5
		}
	case "half_pixel_symmetric":
		return n/2*(1-float64(out)/length) + (x+0.5)/scale - 0.5
	}
	return (x+0.5)/scale - 0.5
}

// resizedBy resizes one axis by the definition: a weighted mean of all elements, those outside being the nearest.
func resizedBy(x *nd, axis, out int, scale float64, region [2]float64, a ResizeAttrs) *nd {
	size := x.shape[axis]
	if scale == 0 {
		scale = float64(out) / float64(size)
	}
	shape := slices.Clone(x.shape)
	shape[axis] = out
	if a.Cubic == 0 {
		a.Cubic = -0.75
	}
	stretch := 1.0
	if a.Antialias {
		stretch = math.Min(1, scale)
	}
	kernel := func(d float64) float64 {
		d = math.Abs(d) * stretch
		if a.Mode == "linear" {
			return math.Max(0, 1-d)
		}
		switch c := a.Cubic; {
		case d <= 1:
			return (c+2)*d*d*d - (c+3)*d*d + 1
		case d < 2:
			return c*d*d*d - 5*c*d*d + 8*c*d - 4*c
		}
		return 0
	}
	return each(tir.Float64, shape, func(i []int) float64 {
		p := positionBy(a.Coordinates, i[axis], scale, size, out, region)
		if a.Coordinates == "tf_crop_and_resize" && (p < 0 || p > float64(size-1)) {
			return math.NaN()
		}
		at := slices.Clone(i)
		read := func(n int) float64 {
			at[axis] = min(max(n, 0), size-1)
			return x.at(at...)
		}
		if a.Mode == "nearest" || a.Mode == "" {
			switch a.Nearest {
			case "floor":
				return read(int(math.Floor(p)))
			case "ceil":
				return read(int(math.Ceil(p)))
			case "round_prefer_ceil":
				return read(int(math.Floor(p + 0.5)))
			}
			return read(int(math.Ceil(p - 0.5)))
		}
		sum, weights := 0.0, 0.0
		for n := int(math.Floor(p)) - 20; n < int(p)+21; n++ {
			if w := kernel(float64(n) - p); !a.ExcludeOutside || n >= 0 && n < size {
				sum += w * read(n)
				weights += w
			}
		}
		return sum / weights
	})
}

var _ = valueCases("resize", resizeCases)

func resizeCases() (cases []opCase) {
	add := func(t tir.Type, shape []int, a ResizeAttrs) {
		x := sample(t, shape...)
		want := &nd{tir.Float64, x.shape, x.v}
		for n, axis := range a.Axes {
			scale, region := 0.0, [2]float64{}
			if a.Scales != nil {
				scale = a.Scales[n]
			}
			if a.Region != nil {
				region = a.Region[n]
			}
			want = resizedBy(want, (axis+len(shape))%len(shape), a.Sizes[n], scale, region, a)
		}
		tol := 4 * tolerance(t)
		switch {
		case t == tir.Float32:
			tol = 1e-5
		case tir.IsInt(t) && a.Mode != "nearest":
			tol = 0.15 // devices round ties in either direction: by 1 of at most 10
		}
		for i, v := range want.v {
			if v != v {
				v = a.Outside
			}
			if tir.IsInt(t) {
				limit := limitOf(t, true)
				v = math.Min(limit, math.Max(limitOf(t, false), math.RoundToEven(v)))
			}
			want.v[i] = rounded16(t, v)
		}
		want.t = t
		cases = append(cases, opCase{name: fmt.Sprintf("%+v of %v of %s", a, shape, t), ins: []*nd{x}, tol: tol, want: want,
			make: func(x []*te.Tensor) *te.Tensor { return Resize(x[0], "Y", a) }})
	}
	image := []int{2, 3, 4, 5}
	both := []int{2, 3}
	modes := []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
		"tf_crop_and_resize"}
	region := [][2]float64{{0.25, 0.75}, {-0.25, 1.25}}
	for k, c := range modes {
		r := region
		if c != "tf_crop_and_resize" {
			r = nil
		}
		for n, m := range []string{"nearest", "linear", "cubic"} {
			rounds := []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}
			a := ResizeAttrs{Axes: both, Sizes: []int{7, 3}, Mode: m, Coordinates: c, Nearest: rounds[(k+n)%4],
				Region: r, Outside: 10, ExcludeOutside: m == "cubic" && k%2 == 1}
			add(tir.Float32, image, a)
			a.Sizes, a.Scales = []int{2, 12}, []float64{0.6, 2.5}
			add(tir.Float32, image, a)
			a.Sizes, a.Scales, a.Nearest = []int{8, 1}, nil, rounds[(k+n+1)%4]
			add(tir.Float32, image, a)
		}
	}
	for _, m := range []string{"linear", "cubic"} {
		add(tir.Float32, image, ResizeAttrs{Axes: both, Sizes: []int{2, 3}, Mode: m, Antialias: true})
		add(tir.Float32, []int{2, 17, 9}, ResizeAttrs{Axes: []int{-2, 2}, Sizes: []int{5, 20}, Mode: m, Antialias: true,
			ExcludeOutside: true, Cubic: -0.5})
	}
	for n, t := range []tir.Type{tir.Float16, tir.BFloat16, tir.Float64, tir.UInt8, tir.Int8, tir.Int64} {
		add(t, image, ResizeAttrs{Axes: both, Sizes: []int{6, 7}, Mode: []string{"linear", "nearest", "cubic"}[n%3]})
	}
	add(tir.UInt8, image, ResizeAttrs{Axes: both, Sizes: []int{6, 7}, Mode: "cubic", Cubic: -2})
	add(tir.Float32, []int{3, 4, 2, 5}, ResizeAttrs{Axes: []int{3, 0, 1}, Sizes: []int{4, 5, 9}, Mode: "linear"})
	add(tir.Float32, image, ResizeAttrs{Axes: both, Sizes: []int{4, 5}})
	add(tir.Float32, image, ResizeAttrs{Axes: both, Sizes: []int{0, 5}, Mode: "linear"})
	add(tir.Float32, image, ResizeAttrs{Axes: both, Sizes: []int{8, 10}, Scales: []float64{2, 2}})
	return cases
}

var _ = anySizeCase("resize", func() openCase {
	o := openCase{sizes: []string{"n c"}}
	for _, s := range [][2]int{{2, 3}, {0, 4}, {5, 33}} {
		x := sample(tir.Float32, s[0], s[1], 4)
		a := ResizeAttrs{Axes: []int{2}, Sizes: []int{6}, Mode: "linear"}
		want := resizedBy(x, 2, 6, 0, [2]float64{}, a)
		want.t = x.t
		o.calls = append(o.calls, opCase{name: "resize", ins: []*nd{x}, tol: 1e-6, want: want,
			make: func(x []*te.Tensor) *te.Tensor { return Resize(x[0], "Y", a) }})
	}
	return o
})

// Axes whose sizes are no constants, by the new size, which is that of another tensor, and by a scale.
var _ = anySizeCase("resizeopen", func() openCase {
	o := openCase{sizes: []string{"n h", "m"}}
	for k, s := range [][3]int{{2, 3, 5}, {0, 4, 2}, {3, 33, 8}, {2, 1, 1}, {1, 5, 5}, {1, 4, 1}, {2, 1, 3}} {
		x, y := sample(tir.Float32, s[0], s[1]), sample(tir.Float32, s[2])
		want := &nd{tir.Float32, []int{s[0], s[2]}, make([]float64, s[0]*s[2])}
		var attrs []ResizeAttrs
		for n, c := range []string{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"} {
			mode := []string{"linear", "cubic", "nearest", "linear"}[n]
			attrs = append(attrs, ResizeAttrs{Axes: []int{1}, Sizes: []int{0}, Mode: mode, Coordinates: c,
				ExcludeOutside: n == 1, Nearest: "floor"})
			part := resizedBy(x, 1, s[2], 0, [2]float64{}, attrs[n])
			for i := range want.v {
				want.v[i] += part.v[i]
			}
		}
		for i := range want.v {
			want.v[i] += y.v[i%s[2]]
		}
		o.calls = append(o.calls, opCase{name: fmt.Sprint("resize", k), ins: []*nd{x, y}, tol: 1e-5, want: want,
			make: func(x []*te.Tensor) *te.Tensor {
				out := x[1]
				for n, a := range attrs {
					a.Open = []tir.Expr{x[1].ProducerShape()[0]}
					out = Add(Resize(x[0], fmt.Sprint("R", n), a), out, fmt.Sprint("Y", n))
				}
				return out
			}})
	}
	return o
})

var _ = anySizeCase("resizescaled", func() openCase {
	o := openCase{sizes: []string{"n h"}}
	for _, s := range [][2]int{{2, 3}, {0, 4}, {3, 33}, {2, 1}} {
		x := sample(tir.Float32, s[0], s[1])
		var attrs []ResizeAttrs
		to := s[1] * 3 / 2
		want := &nd{tir.Float32, []int{s[0], to}, make([]float64, s[0]*to)}
		for _, c := range []string{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"} {
			a := ResizeAttrs{Axes: []int{1}, Sizes: []int{0}, Mode: "linear", Coordinates: c, Scales: []float64{1.5}}
			attrs = append(attrs, a)
			part := resizedBy(x, 1, to, 1.5, [2]float64{}, a)
			for i := range want.v {
				want.v[i] += part.v[i]
			}
		}
		o.calls = append(o.calls, opCase{name: "resize", ins: []*nd{x}, tol: 1e-5, want: want,
			make: func(x []*te.Tensor) *te.Tensor {
				h := x[0].ProducerShape()[1]
				var out *te.Tensor
				for n, a := range attrs {
					a.Open = []tir.Expr{tir.FloorDiv(tir.Mul(h, tir.I32(3)), tir.I32(2))}
					if r := Resize(x[0], fmt.Sprint("R", n), a); n == 0 {
						out = r
					} else {
						out = Add(out, r, fmt.Sprint("Y", n))
					}
				}
				return out
			}})
	}
	return o
})

func TestResize_Errors(t *testing.T) {
	x := placeholder("x", 2, 3, 4)
	open := te.Placeholder([]tir.Expr{te.Var("k")}, tir.Float32, "open")
	one, two := []int{2}, []int{2, 2}
	refused(t, []refusal{
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: two}), "2 sizes for 1 axes: want one for each"},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Scales: []float64{1, 1}}), "2 scales for 1 axes"},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Coordinates: "tf_crop_and_resize"}), "0 regions for 1 axes"},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Mode: "area"}), `mode "area": want nearest, linear, cubic`},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Nearest: "even"}), `rounding to the nearest "even": want`},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Coordinates: "c"}), `coordinates "c": want half_pixel, `},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: []int{-1}}), "axis 2 of tensor x has size 4, and is resized to -1"},
		{Resize(open, "y", ResizeAttrs{Axes: []int{0}, Sizes: one}), "axis 0 of tensor open has size k, and is resized " +
			"to 2: want a constant size of 1 or more, and a new one of 0 or more"},
		{Resize(open, "y", ResizeAttrs{Axes: []int{0}, Sizes: one, Open: []tir.Expr{tir.I32(7)}, Scales: []float64{0.3141}}),
			"scale 0.3141: want a fraction of numbers from 1 to 1024"},
		{Resize(open, "y", ResizeAttrs{Axes: []int{0}, Sizes: one, Open: []tir.Expr{tir.I32(7)}, Mode: "cubic",
			Antialias: true}), "antialiasing needs a constant scale"},
		{Resize(open, "y", ResizeAttrs{Axes: []int{0}, Sizes: one, Open: []tir.Expr{tir.I32(7)},
			Coordinates: "tf_crop_and_resize", Region: [][2]float64{{0, 1}}}), "tf_crop_and_resize needs constant sizes"},
		{Resize(x, "y", ResizeAttrs{Axes: []int{3}, Sizes: one}), "axis 3 of tensor x does not exist"},
		{Resize(x, "y", ResizeAttrs{Axes: two, Sizes: two}), "axis 2 of tensor x is given twice"},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Scales: []float64{-1}}), "scale -1: want more than 0"},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Cubic: math.NaN()}), "the coefficient of the cubic kernel is NaN"},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Coordinates: "tf_crop_and_resize",
			Region: [][2]float64{{0, math.Inf(1)}}}), "the region is 0 to +Inf: want small numbers"},
		{Resize(x, "y", ResizeAttrs{Axes: one, Sizes: one, Outside: 1e300}), "value 1e+300"},
		{Resize(te.Placeholder(te.Dims(2), tir.Bool, "b"), "y", ResizeAttrs{}), "tensor b has type bool: want numbers"},
	})
}
