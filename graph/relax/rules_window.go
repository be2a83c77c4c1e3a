package relax

import (
	"slices"
	"strings"

	"tvmgo/graph"
	"tvmgo/tir"
)

// places returns the permutation that brings the dimensions of one layout, such as NHWC, into the order of another one.
func places(from, to string) []int64 {
	perm := make([]int64, len(to))
	for d, r := range to {
		at := strings.IndexRune(from, r)
		if len(from) != len(to) || at < 0 || strings.Count(from, string(r)) != 1 {
			fail("layout %s is not supported: want the dimensions %s in any order", from, to)
		}
		perm[d] = int64(at)
	}
	return perm
}

// inner is the order of the spatial dimensions that operators of package graph have.
func inner(n int) string { return []string{"", "W", "HW", "DHW"}[min(n, 3)] }

// windowed calls f for data with the dimensions batch, channel and space, and returns its result in the layout out.
func (c *call) windowed(layout, out string, f func(x *graph.Value, n int) *graph.Value) *graph.Value {
	x := c.t(0)
	n := len(x.Shape) - 2
	if n < 1 || n > 3 {
		fail("the data has %d dimensions: want 3 to 5", len(x.Shape))
	}
	plain := "NC" + inner(n)
	if out == "" {
		out = layout
	}
	return c.perm(f(c.perm(x, places(layout, plain)), n), places(plain, out))
}

// conv is the rule for convolutions; op is conv or conv_transpose, and weights begin with the dimensions of kernel.
func conv(op, kernel string) rule {
	return func(c *call) value {
		a := c.expr.Attrs
		t := c.dtype("out_dtype")
		return c.windowed(a.Text("data_layout"), a.Text("out_layout"), func(x *graph.Value, n int) *graph.Value {
			w := c.perm(c.t(1), places(a.Text("kernel_layout"), kernel+inner(n)))
			attrs := graph.Attrs{"strides": c.numbers("strides", n), "dilations": c.numbers("dilation", n),
				"pads": c.pads(n), "group": a.Int("groups")}
			if a.Has("output_padding") {
				attrs["output_padding"] = c.numbers("output_padding", n)
			}
			return c.node(op, attrs, c.as(x, t), c.as(w, t))
		})
	}
}

// numbers returns an attribute with a number for each of n dimensions, or one for all.
func (c *call) numbers(name string, n int) []int64 {
	list := c.expr.Attrs.Ints(name)
	if len(list) == 1 {
		list = slices.Repeat(list, n)
	}
	if len(list) != n {
		fail("attribute %q has %d numbers: want %d", name, len(list), n)
	}
	return list
}

// pads returns the padding before each of n dimensions, and then behind each.
func (c *call) pads(n int) []int64 {
	list := c.expr.Attrs.Ints("padding")
	switch len(list) {
	case 1:
		return slices.Repeat(list, 2*n)
	case n:
		return append(slices.Clone(list), list...)
	case 2 * n:
		return list
	}
	fail("attribute %q has %d numbers: want %d", "padding", len(list), 2*n)
	return nil
}

func pool(op string) rule {
	return func(c *call) value {
		a := c.expr.Attrs
		return c.windowed(a.Text("layout"), a.Text("out_layout"), func(x *graph.Value, n int) *graph.Value {
			attrs := graph.Attrs{"kernel_shape": c.numbers("pool_size", n), "strides": c.numbers("strides", n),
				"dilations": c.numbers("dilation", n), "pads": c.pads(n), "ceil_mode": a.Int("ceil_mode")}
			if op == "average_pool" {
				attrs["count_include_pad"] = c.int("count_include_pad", 0)
			}
			return c.node(op, attrs, x)
		})
	}
}

// adaptivePool averages windows that cover the data, so that the result has given sizes. These windows are rectangles:
// each dimension is averaged on its own, by a product with a constant matrix.
func adaptivePool(c *call) value {
	a := c.expr.Attrs
	return c.windowed(a.Text("layout"), a.Text("out_layout"), func(x *graph.Value, n int) *graph.Value {
		sizes := make([]int64, n)
		if wanted := a.Ints("output_size"); wanted != nil {
			sizes = c.numbers("output_size", n)
		} else {
			for d := range sizes {
				sizes[d] = fixed(x.Shape[2+d])
			}
		}
		for d, size := range sizes {
			x = c.averaged(x, 2+d, size)
		}
		return x
	})
}

// fixed returns a size that has to be a constant.
func fixed(e tir.Expr) int64 {
	n, ok := tir.IntValue(e)
	if !ok {
		fail("the size of a dimension has to be known when the model is compiled: give it, as in --dim n=4")
	}
	return n
}

// mostAveraged limits the elements of the matrix of an average.
const mostAveraged = 1 << 22 // and those of lists that are made here

// averaged gives a dimension a size, by averages of its elements.
func (c *call) averaged(x *graph.Value, d int, size int64) *graph.Value {
	if size == 1 {
		return c.node("reduce_mean", nil, x, c.list(int64(d)))
	}
	n := fixed(x.Shape[d])
	if size < 1 || n < 1 || size > mostAveraged/n {
		fail("the dimension has %d elements, and %d averages are wanted", n, size)
	}
	weights := make([]float64, n*size) // of [element, average]
	for k := range size {
		begin, end := k*n/size, ((k+1)*n+size-1)/size
		for e := begin; e < end; e++ {
			weights[e*size+k] = 1 / float64(end-begin)
		}
	}
	last := int64(len(x.Shape) - 1)
	perm := []int64{}
	for k := range last + 1 {
		perm = append(perm, k)
	}
	perm[d], perm[last] = last, int64(d) // its own inverse
	out := c.node("matmul", nil, c.perm(x, perm), c.numbersOf(x.DType, []int64{n, size}, weights))
	return c.perm(out, perm)
}

func init() {
	for _, n := range []string{"1d", "2d", "3d"} {
		add("nn.conv"+n, conv("conv", "OI"))
		add("nn.conv"+n+"_transpose", conv("conv_transpose", "IO"))
		add("nn.max_pool"+n, pool("max_pool"))
		add("nn.avg_pool"+n, pool("average_pool"))
		add("nn.adaptive_avg_pool"+n, adaptivePool)
	}
	add("nn.pad", pad)
	add("nn.pixel_shuffle", func(c *call) value {
		return c.node("depth_to_space", graph.Attrs{"blocksize": c.int("upscale_factor", 1), "mode": "CRD"}, c.t(0))
	})
	add("image.affine_grid", func(c *call) value { // whose result has the coordinates in dimension 1
		x := c.t(0)
		sizes := append([]int64{fixed(x.Shape[0]), 1}, c.ints(1)...)
		grid := c.node("affine_grid", graph.Attrs{"align_corners": c.int("align_corners", 1)}, x, c.list(sizes...))
		n := len(grid.Shape)
		return c.perm(grid, slices.Insert(upTo(n-1), 1, int64(n-1)))
	})
	add("image.grid_sample", func(c *call) value {
		a := c.expr.Attrs
		mode := map[string]string{"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}[a.Text("method")]
		return c.windowed(a.Text("layout"), "", func(x *graph.Value, n int) *graph.Value {
			grid := c.t(1) // the coordinates are dimension 1 here, and the last one of the operator
			perm := []int64{0}
			for d := range n {
				perm = append(perm, int64(2+d))
			}
			return c.node("grid_sample", graph.Attrs{"mode": mode, "padding_mode": a.Text("padding_mode"),
				"align_corners": a.Int("align_corners")}, x, c.perm(grid, append(perm, 1)))
		})
	})
}

// pad has the padding before and behind each dimension.
func pad(c *call) value {
	x := c.t(0)
	widths := c.expr.Attrs.Ints("pad_width")
	if len(widths) != 2*len(x.Shape) {
		fail("attribute %q has %d numbers: want %d", "pad_width", len(widths), 2*len(x.Shape))
	}
	var before, behind []int64
	for d := 0; d < len(widths); d += 2 {
		before, behind = append(before, widths[d]), append(behind, widths[d+1])
	}
	mode := c.text("pad_mode", "constant")
	switch mode {
	case "constant", "reflect", "edge":
	case "replicate":
		mode = "edge"
	case "circular":
		mode = "wrap"
	default:
		fail("pad_mode is %q: want constant, reflect, replicate or circular", mode)
	}
	pads := c.list(append(before, behind...)...)
	switch {
	case mode != "constant":
		return c.node("pad", graph.Attrs{"mode": mode}, x, pads)
	case c.has(1):
		return c.node("pad", nil, x, pads, c.as(c.t(1), x.DType))
	}
	return c.node("pad", nil, x, pads, c.number(x.DType, c.expr.Attrs.Float("pad_value")))
}
