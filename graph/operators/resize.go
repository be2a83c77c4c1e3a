package operators

import (
	"math"
	"slices"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

func init() {
	register(with("resize", 1, 4, resize, integer("antialias", 0), integers("axes"),
		word("coordinate_transformation_mode", "half_pixel"), float("cubic_coeff_a", -0.75), integer("exclude_outside", 0),
		float("extrapolation_value", 0), word("keep_aspect_ratio_policy", "stretch"), word("mode", "nearest"),
		word("nearest_mode", "round_prefer_floor")))
}

// resize has the operands data, region, scales and sizes; one of the last two is given.
func resize(c *graph.Call) *te.Tensor {
	axes := c.Ints("axes")
	if axes == nil {
		for d := range c.Rank(0) {
			axes = append(axes, d)
		}
	}
	axes = axesOf(c, axes, c.Rank(0))
	old := make([]tir.Expr, len(axes))
	for k, d := range axes {
		old[k] = c.Shape(0)[d]
	}
	sizes, scales := newSizes(c, old)
	a := ops.ResizeAttrs{Mode: c.Text("mode"), Coordinates: c.Text("coordinate_transformation_mode"),
		Nearest: c.Text("nearest_mode"), Cubic: c.Float("cubic_coeff_a"), ExcludeOutside: c.Flag("exclude_outside"),
		Antialias: c.Flag("antialias"), Outside: c.Float("extrapolation_value")}
	crop := a.Coordinates == "tf_crop_and_resize"
	var region []float64
	if crop {
		if region = c.FloatsOf(1); len(region) != 2*len(axes) {
			c.Fail("the region has %d numbers: want %d", len(region), 2*len(axes))
		}
	}
	for k, d := range axes {
		if (scales[k] == 1 || scales[k] == 0) && !crop && arith.ProveEqual(sizes[k], old[k]) {
			continue // unchanged
		}
		n, ok1 := tir.IntValue(old[k])
		m, ok2 := tir.IntValue(sizes[k])
		if ok1 && ok2 {
			if scales[k] == 0 {
				scales[k] = float64(m) / float64(n)
			}
			a.Open = append(a.Open, nil)
		} else {
			a.Open = append(a.Open, sizes[k])
			one := tir.I32(1)
			some := simplify(tir.Min(sizes[k], one)) // a result without elements needs none
			c.Require(simplify(tir.Min(some, old[k])), some, "dimension %d has no elements, and is to be resized", d)
		}
		a.Axes, a.Sizes, a.Scales = append(a.Axes, d), append(a.Sizes, int(m)), append(a.Scales, scales[k])
		if crop {
			a.Region = append(a.Region, [2]float64{region[k], region[len(axes)+k]})
		}
	}
	if !slices.ContainsFunc(a.Open, func(n tir.Expr) bool { return n != nil }) {
		a.Open = nil
	}
	if len(a.Axes) == 0 {
		return copied(c.In(0), c.Name)
	}
	return ops.Resize(c.In(0), c.Name, a)
}

// newSizes returns the new sizes of axes, and by how much each is stretched; 0 if that follows from the sizes.
func newSizes(c *graph.Call, old []tir.Expr) (sizes []tir.Expr, scales []float64) {
	scales = make([]float64, len(old))
	switch {
	case c.Has(3):
		if sizes = c.Sizes(3); len(sizes) != len(old) {
			c.Fail("%d sizes are given for %d axes", len(sizes), len(old))
		}
		if c.Text("keep_aspect_ratio_policy") != "stretch" {
			keepRatio(c, old, sizes, scales)
		}
	case c.Has(2):
		if scales = append([]float64{}, c.FloatsOf(2)...); len(scales) != len(old) {
			c.Fail("%d scales are given for %d axes", len(scales), len(old))
		}
		for k, n := range old {
			if v, ok := tir.IntValue(n); ok {
				to := math.Floor(float64(v) * scales[k])
				if !(to >= 0 && to <= math.MaxInt32) {
					c.Fail("axis %d of size %d has the scale %g: want a size from 0 to %d", k, v, scales[k], math.MaxInt32)
				}
				sizes = append(sizes, tir.I32(int32(to)))
				continue
			}
			p, q := fraction(scales[k])
			if q == 0 {
				c.Fail("axis %d has a size that is only known at run time, and the scale %g: want a fraction of numbers from 1 "+
					"to 1024", k, scales[k])
			}
			scales[k] = float64(p) / float64(q)
			sizes = append(sizes, simplify(tir.FloorDiv(tir.Mul(n, tir.I32(p)), tir.I32(q))))
		}
	default:
		c.Fail("scales or sizes have to be given")
	}
	return sizes, scales
}

// fraction returns the simplest fraction p/q of numbers from 1 to 1024 that is a number in float32; 0, 0 if there is
// none.
func fraction(f float64) (p, q int32) {
	for q := range int32(1024) {
		p := math.Round(f * float64(q+1))
		if p >= 1 && p <= 1024 && float32(p/float64(q+1)) == float32(f) {
			return int32(p), q + 1
		}
	}
	return 0, 0
}

// keepRatio changes sizes so that all axes are stretched equally.
func keepRatio(c *graph.Call, old, sizes []tir.Expr, scales []float64) {
	pick := math.Min
	switch policy := c.Text("keep_aspect_ratio_policy"); policy {
	case "not_larger":
	case "not_smaller":
		pick = math.Max
	default:
		c.Fail("keep_aspect_ratio_policy is %q: want stretch, not_larger or not_smaller", policy)
	}
	scale := 0.0
	for k := range sizes {
		n, ok1 := tir.IntValue(old[k])
		m, ok2 := tir.IntValue(sizes[k])
		if !ok1 || !ok2 || n == 0 {
			c.Fail("keep_aspect_ratio_policy needs constant sizes, of 1 or more")
		}
		if s := float64(m) / float64(n); k == 0 {
			scale = s
		} else {
			scale = pick(scale, s)
		}
	}
	for k := range sizes {
		n, _ := tir.IntValue(old[k])
		scales[k] = scale
		sizes[k] = tir.I32(int32(min(max(math.Floor(scale*float64(n)+0.5), 0), math.MaxInt32)))
	}
}
