package operators

import (
	"math"
	"slices"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// windowAttrs are the attributes of operators that move a window over the spatial dimensions.
func windowAttrs(more ...graph.Attr) []graph.Attr {
	return append([]graph.Attr{integers("kernel_shape"), integers("strides"), integers("dilations"), integers("pads"),
		word("auto_pad", "NOTSET")}, more...)
}

// window reads the attributes of a window over n spatial dimensions. sizes are those of the data.
type window struct {
	kernel, strides, dilations, pads []int
	open                             map[int][2]tir.Expr // pads of dimensions whose size is no constant
}

// padded returns data with the pads that are no constants.
func (w window) padded(x *te.Tensor, value tir.Expr) *te.Tensor {
	if len(w.open) == 0 {
		return x
	}
	old := x.ProducerShape()
	shape := append([]tir.Expr{}, old...)
	for d, p := range w.open {
		shape[d+2] = simplify(tir.Add(tir.Add(old[d+2], p[0]), p[1]))
	}
	return te.Compute(shape, x.ProducerName(), func(i ...tir.Expr) tir.Expr {
		at, inside := append([]tir.Expr{}, i...), tir.BoolConst(true)
		for d := range old {
			if p, ok := w.open[d-2]; ok {
				at[d] = simplify(tir.Sub(i[d], p[0]))
				inside = tir.And(inside, tir.And(tir.GE(at[d], tir.I32(0)), tir.LT(at[d], old[d])))
			}
		}
		return tir.Intrin("if_then_else", simplify(inside), x.At(at...), value)
	})
}

func repeat(v, n int) []int { return slices.Repeat([]int{v}, n) }

func listAttr(c *graph.Call, name string, n, otherwise int) []int {
	list := c.Ints(name)
	if list == nil {
		return repeat(otherwise, n)
	}
	if len(list) != n {
		c.Fail("attribute %q has %d numbers: want %d", name, len(list), n)
	}
	return list
}

func spatial(c *graph.Call) []tir.Expr {
	if c.Rank(0) < 3 {
		c.Fail("the data has %d dimensions: want a batch, channels and at least one more", c.Rank(0))
	}
	return c.Shape(0)[2:]
}

func windowOf(c *graph.Call, kernel []int) window {
	sizes := spatial(c)
	if kernel != nil {
		sizes = sizes[:len(kernel)] // channels in blocks are behind
	}
	n := len(sizes)
	w := window{kernel: kernel, strides: listAttr(c, "strides", n, 1), dilations: listAttr(c, "dilations", n, 1),
		pads: listAttr(c, "pads", 2*n, 0)}
	if w.kernel == nil {
		w.kernel = listAttr(c, "kernel_shape", n, 1)
	}
	auto := c.Text("auto_pad")
	switch auto {
	case "NOTSET", "":
		return w
	case "VALID":
		w.pads = repeat(0, 2*n)
		return w
	case "SAME_UPPER", "SAME_LOWER":
	default:
		c.Fail("auto_pad is %q: want NOTSET, VALID, SAME_UPPER or SAME_LOWER", auto)
	}
	w.pads = repeat(0, 2*n)
	for d, size := range sizes {
		v, ok := tir.IntValue(size)
		extent := (w.kernel[d]-1)*w.dilations[d] + 1
		total := extent - 1 // for a stride of 1
		if w.strides[d] != 1 {
			if !ok {
				stride := tir.I32(int32(w.strides[d]))
				out := tir.FloorDiv(tir.Add(size, tir.I32(int32(w.strides[d]-1))), stride)
				all := tir.Sub(tir.Add(tir.Mul(tir.Sub(out, tir.I32(1)), stride), tir.I32(int32(extent))), size)
				all = simplify(tir.Max(all, tir.I32(0)))
				half := simplify(tir.FloorDiv(all, tir.I32(2)))
				if w.open == nil {
					w.open = map[int][2]tir.Expr{}
				}
				if w.open[d] = [2]tir.Expr{half, simplify(tir.Sub(all, half))}; auto == "SAME_LOWER" {
					w.open[d] = [2]tir.Expr{w.open[d][1], half}
				}
				continue
			}
			out := (int(v) + w.strides[d] - 1) / w.strides[d]
			total = max(0, (out-1)*w.strides[d]+extent-int(v))
		}
		small := total / 2
		w.pads[d], w.pads[n+d] = small, total-small
		if auto == "SAME_LOWER" {
			w.pads[d], w.pads[n+d] = total-small, small
		}
	}
	return w
}

func constShape(c *graph.Call, i int) []int {
	out := make([]int, c.Rank(i))
	for d, n := range c.Shape(i) {
		v, ok := tir.IntValue(n)
		if !ok {
			c.Fail("dimension %d of operand %d is not known when the model is compiled", d, i)
		}
		out[d] = int(v)
	}
	return out
}

// kernelOf returns the sizes of a window from the shape of the weights, operand 1.
func kernelOf(c *graph.Call) []int {
	if c.Rank(1) != c.Rank(0) {
		c.Fail("the weights have %d dimensions, and the data %d: want equal numbers", c.Rank(1), c.Rank(0))
	}
	return constShape(c, 1)[2:]
}

func conv(c *graph.Call) *te.Tensor {
	spatial(c)
	w := windowOf(c, kernelOf(c))
	options := []ops.ConvOption{ops.Strides(w.strides...), ops.Dilations(w.dilations...), ops.Pads(w.pads...),
		ops.Groups(c.Int("group"))}
	if c.Has(2) {
		options = append(options, ops.Bias(c.In(2)))
	}
	return ops.Conv(w.padded(c.In(0), tir.Const(c.DType(0), 0)), c.In(1), c.Name, options...)
}

// blockedConv is a convolution of images in blocks, as ops.ConvBlocked describes it. A pass makes it.
func blockedConv(c *graph.Call) *te.Tensor {
	if c.Rank(0) < 4 || c.Rank(1) < 4 {
		c.Fail("the operands have %d and %d dimensions: want 4 or more", c.Rank(0), c.Rank(1))
	}
	kernel := constShape(c, 1)
	if len(kernel) == 4 {
		kernel = kernel[1:3]
	} else {
		kernel = kernel[2:4]
	}
	w := windowOf(c, kernel)
	return ops.ConvBlocked(c.In(0), c.In(1), c.Name, ops.Strides(w.strides...), ops.Dilations(w.dilations...),
		ops.Pads(w.pads...), ops.Groups(c.Int("group")))
}

// winogradConv is a convolution of images in blocks, as ops.ConvWinograd describes it. A pass makes it.
func winogradConv(c *graph.Call) *te.Tensor {
	if c.Rank(0) != 5 {
		c.Fail("the image has %d dimensions: want 5", c.Rank(0))
	}
	w := windowOf(c, []int{3, 3})
	return ops.ConvWinograd(c.In(0), c.In(1), c.Name, ops.Strides(w.strides...), ops.Dilations(w.dilations...),
		ops.Pads(w.pads...))
}

func convTranspose(c *graph.Call) *te.Tensor {
	sizes := spatial(c)
	n := len(sizes)
	kernel := kernelOf(c)
	strides, dilations := listAttr(c, "strides", n, 1), listAttr(c, "dilations", n, 1)
	extra := listAttr(c, "output_padding", n, 0)
	pads := listAttr(c, "pads", 2*n, 0)
	wanted, auto := c.Ints("output_shape"), c.Text("auto_pad")
	if len(wanted) == n+2 {
		wanted = wanted[2:]
	}
	if wanted != nil || auto == "SAME_UPPER" || auto == "SAME_LOWER" {
		for d, size := range sizes {
			v, ok := tir.IntValue(size)
			if !ok {
				c.Fail("the size of dimension %d is not known: give pads", d+2)
			}
			out := int(v) * strides[d]
			if wanted != nil {
				out = wanted[d]
			}
			total := strides[d]*(int(v)-1) + extra[d] + (kernel[d]-1)*dilations[d] + 1 - out
			if total < 0 { // the result is longer than all contributions
				extra[d], total = extra[d]-total, 0
			}
			pads[d], pads[n+d] = total-total/2, total/2
			if auto == "SAME_UPPER" {
				pads[d], pads[n+d] = total/2, total-total/2
			}
		}
	}
	options := []ops.ConvOption{ops.Strides(strides...), ops.Dilations(dilations...), ops.Pads(pads...),
		ops.OutputPadding(extra...), ops.Groups(c.Int("group"))}
	if c.Has(2) {
		options = append(options, ops.Bias(c.In(2)))
	}
	return ops.ConvTranspose(c.In(0), c.In(1), c.Name, options...)
}

func pooling(c *graph.Call) (window, ops.Windows) {
	w := windowOf(c, nil)
	return w, ops.Windows{Kernel: w.kernel, Strides: w.strides, Dilations: w.dilations, Pads: w.pads,
		Ceil: c.Flag("ceil_mode")}
}

func averagePool(c *graph.Call) *te.Tensor {
	w, windows := pooling(c)
	if len(w.open) == 0 {
		windows.CountPads = c.Flag("count_include_pad")
		return ops.AvgPool(c.In(0), c.Name, windows)
	}
	t := c.DType(0)
	windows.CountPads = true
	average := func(x *te.Tensor) *te.Tensor { return ops.AvgPool(w.padded(x, tir.Const(t, 0)), c.Name, windows) }
	sums := average(c.In(0))
	if c.Flag("count_include_pad") {
		return sums
	}
	return ops.Divide(sums, average(ops.Map(c.In(0), c.Name, func(e tir.Expr) tir.Expr { return of(e, 1) })), c.Name)
}

// least is a value that no element of a type is less than.
func least(t tir.Type) tir.Expr {
	switch {
	case tir.IsFloat(t):
		return tir.Const(t, math.Inf(-1))
	case tir.IsSigned(t):
		return tir.IntConst(t, -1<<(t.Bits-1))
	}
	return tir.IntConst(t, 0)
}

func maxPool(c *graph.Call) []*te.Tensor {
	w, windows := pooling(c)
	if c.Results() > 1 {
		if len(w.open) > 0 {
			c.Fail("auto_pad is %s, and sizes are not known, which does not go with indices: give pads", c.Text("auto_pad"))
		}
		return ops.MaxPoolIndices(c.In(0), c.Name, windows, c.Flag("storage_order"))
	}
	return one(ops.MaxPool(w.padded(c.In(0), least(c.DType(0))), c.Name, windows))
}

func init() {
	register(
		with("conv", 2, 3, conv, windowAttrs(integer("group", 1))...),
		with("blocked_conv", 2, 2, blockedConv, windowAttrs(integer("group", 1))...),
		with("winograd_conv", 2, 2, winogradConv, windowAttrs()...),
		with("conv_transpose", 2, 3, convTranspose, windowAttrs(integer("group", 1), integers("output_padding"),
			integers("output_shape"))...),
		with("average_pool", 1, 1, averagePool, windowAttrs(integer("ceil_mode", 0), integer("count_include_pad", 0))...),
		&graph.Op{Name: "max_pool", In: count(1), Out: [2]int{1, 2}, Attrs: windowAttrs(integer("ceil_mode", 0),
			integer("storage_order", 0)), Compute: maxPool},
		with("lp_pool", 1, 1, func(c *graph.Call) *te.Tensor {
			w, windows := pooling(c)
			return ops.LpPool(w.padded(c.In(0), tir.Const(c.DType(0), 0)), c.Name, windows, float64(c.Int("p")))
		}, windowAttrs(integer("ceil_mode", 0), integer("p", 2))...),
		simple("global_average_pool", 1, func(c *graph.Call) *te.Tensor { return ops.GlobalAvgPool(c.In(0), c.Name, "") }),
		simple("global_max_pool", 1, func(c *graph.Call) *te.Tensor { return ops.GlobalMaxPool(c.In(0), c.Name, "") }),
		with("global_lp_pool", 1, 1, func(c *graph.Call) *te.Tensor {
			return ops.GlobalLpPool(c.In(0), c.Name, "", float64(c.Int("p")))
		}, integer("p", 2)),
	)
}
