package relax

import (
	"math"

	"tvmgo/graph"
)

func init() {
	add("image.resize2d", resize)
	add("image.resize3d", resize)
}

// resize has the operands data and sizes.
func resize(c *call) value {
	a := c.expr.Attrs
	if roi, ok := a.Value("roi").([]any); ok {
		for _, v := range roi {
			if f, ok := v.(float64); ok && f != 0 {
				fail("roi is given: want none")
			}
		}
	}
	sizes := c.ints(1)
	method := a.Text("method")
	out := c.windowed(a.Text("layout"), "", func(x *graph.Value, n int) *graph.Value {
		if len(sizes) != n {
			fail("%d sizes are given: want %d", len(sizes), n)
		}
		switch method {
		case "nearest_neighbor":
			for d, size := range sizes {
				x = c.nearest(x, 2+d, size)
			}
			return x
		case "linear", "cubic":
		default:
			fail("method is %q: want nearest_neighbor, linear or cubic", method)
		}
		return c.node("resize", graph.Attrs{"mode": method, "axes": upTo(n + 2)[2:],
			"coordinate_transformation_mode": a.Text("coordinate_transformation_mode"),
			"cubic_coeff_a":                  a.Float("cubic_alpha"), "exclude_outside": a.Int("cubic_exclude"),
			"extrapolation_value": a.Float("extrapolation_value")}, x, nil, nil, c.list(sizes...))
	})
	return c.as(out, c.dtype("out_dtype"))
}

// nearest gives a dimension a size: each element is the one that is nearest to its place in the data. Among the ways of
// rounding is the one to even numbers, which resize does not have; so the places are constants.
func (c *call) nearest(x *graph.Value, d int, size int64) *graph.Value {
	n := fixed(x.Shape[d])
	if n < 1 || size < 0 || size > mostAveraged {
		fail("%d elements cannot be resized to %d", n, size)
	}
	mode, rounding := c.expr.Attrs.Text("coordinate_transformation_mode"), c.text("rounding_method", "")
	if rounding == "" {
		rounding = "floor"
		if mode == "align_corners" {
			rounding = "round"
		}
	}
	places := make([]int64, size)
	for k := range places {
		at := math.NaN()
		switch i := float32(k); mode {
		case "half_pixel":
			at = float64((i+0.5)*(float32(n)/float32(size)) - 0.5)
		case "pytorch_half_pixel":
			if at = 0; size > 1 {
				at = float64((i+0.5)*(float32(n)/float32(size)) - 0.5)
			}
		case "align_corners":
			if at = 0; size > 1 {
				at = float64(i * (float32(n-1) / float32(size-1)))
			}
		case "asymmetric":
			at = float64(i * (float32(n) / float32(size)))
		case "tf_half_pixel_for_nn":
			at = float64((i + 0.5) * (float32(n) / float32(size)))
		default:
			fail("coordinate_transformation_mode is %q: want half_pixel, pytorch_half_pixel, align_corners, asymmetric or "+
				"tf_half_pixel_for_nn", mode)
		}
		switch rounding {
		case "round":
			at = math.RoundToEven(at)
		case "round_prefer_floor":
			at = math.Ceil(at - 0.5)
		case "round_prefer_ceil":
			at = math.Floor(at + 0.5)
		case "floor":
			at = math.Floor(at + 1e-5)
		case "ceil":
			at = math.Ceil(at - 1e-5)
		default:
			fail("rounding_method is %q: want round, floor, ceil, round_prefer_floor or round_prefer_ceil", rounding)
		}
		places[k] = min(max(int64(at), 0), n-1)
	}
	return c.node("gather", graph.Attrs{"axis": int64(d)}, x, c.list(places...))
}
