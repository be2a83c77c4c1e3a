package operators

import (
	"math"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
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
	shape := constShape(c, 0)
	old := make([]int, len(axes))
	for k, d := range axes {
		old[k] = shape[d]
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
		if sizes[k] == old[k] && scales[k] == 1 && !crop {
			continue // unchanged
		}
		a.Axes, a.Sizes, a.Scales = append(a.Axes, d), append(a.Sizes, sizes[k]), append(a.Scales, scales[k])
		if crop {
			a.Region = append(a.Region, [2]float64{region[k], region[len(axes)+k]})
		}
	}
	if len(a.Axes) == 0 {
		return copied(c.In(0), c.Name)
	}
	return ops.Resize(c.In(0), c.Name, a)
}

// newSizes returns the new sizes of axes, and by how much each is stretched.
func newSizes(c *graph.Call, old []int) (sizes []int, scales []float64) {
	scales = make([]float64, len(old))
	switch {
	case c.Has(3):
		if sizes = append([]int{}, c.IntsOf(3)...); len(sizes) != len(old) {
			c.Fail("%d sizes are given for %d axes", len(sizes), len(old))
		}
		for k := range old {
			scales[k] = float64(sizes[k]) / float64(old[k])
		}
		keepRatio(c, old, sizes, scales)
	case c.Has(2):
		if scales = append([]float64{}, c.FloatsOf(2)...); len(scales) != len(old) {
			c.Fail("%d scales are given for %d axes", len(scales), len(old))
		}
		for k := range old {
			sizes = append(sizes, int(math.Floor(float64(old[k])*scales[k])))
		}
	default:
		c.Fail("scales or sizes have to be given")
	}
	return sizes, scales
}

// keepRatio changes sizes so that all axes are stretched equally.
func keepRatio(c *graph.Call, old, sizes []int, scales []float64) {
	pick := math.Min
	switch policy := c.Text("keep_aspect_ratio_policy"); policy {
	case "stretch":
		return
	case "not_larger":
	case "not_smaller":
		pick = math.Max
	default:
		c.Fail("keep_aspect_ratio_policy is %q: want stretch, not_larger or not_smaller", policy)
	}
	scale := scales[0]
	for _, s := range scales {
		scale = pick(scale, s)
	}
	for k := range sizes {
		scales[k] = scale
		sizes[k] = int(math.Floor(scale*float64(old[k]) + 0.5))
	}
}
