package gpu

import (
	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Convolution holds the parameters of convolutions whose threads sum up tiles of results directly from the image.
type Convolution struct {
	Depthwise ConvolutionTile // each filter reads one channel
	Dense     ConvolutionTile // filters read several channels
	All       bool            // dense convolutions are computed directly, too

	ColumnBytes  int // bytes of a vector, if the columns of an image are adjacent
	ChannelBytes int // bytes of a vector, if its channels are adjacent
	Threads      int // threads of a block
	Blocks       int // blocks that are enough: with fewer, tiles have fewer rows
	Registers    int // values of a thread: with more, tiles have fewer rows
	Unrolled     int // products of a thread that are written out, in vectors
}

// ConvolutionTile is the part of the results that a thread computes.
type ConvolutionTile struct {
	Vectors int // along the last dimension
	Across  int // filters, if the last dimension is that of columns; otherwise columns
	Rows    int
}

// defaultConvolution returns the parameters for a target. On a GPU, adjacent threads read adjacent columns. On a CPU,
// a thread has as many results as vector registers.
func defaultConvolution(l Limits) Convolution {
	if l.OnCPU {
		return Convolution{Depthwise: ConvolutionTile{2, 1, 4}, Dense: ConvolutionTile{2, 8, 1}, All: true,
			ColumnBytes: 64, ChannelBytes: 64, Threads: 1, Blocks: 16, Registers: 1 << 10, Unrolled: 128}
	}
	return Convolution{Depthwise: ConvolutionTile{1, 1, 8}, Dense: ConvolutionTile{1, 1, 1},
		ColumnBytes: 1, ChannelBytes: 16, Threads: min(128, l.Threads), Blocks: 256, Registers: 128, Unrolled: 512}
}

func (c *Convolution) check(l Limits) error {
	for _, t := range []struct {
		name string
		ConvolutionTile
	}{{"Depthwise", c.Depthwise}, {"Dense", c.Dense}} {
		for _, err := range []error{
			between(t.name+".Vectors", t.Vectors, 1, 16, "each is a copy of the code"),
			between(t.name+".Across", t.Across, 1, 64, "each is a copy of the code"),
			between(t.name+".Rows", t.Rows, 1, 64, "each is a copy of the code"),
		} {
			if err != nil {
				return err
			}
		}
	}
	for _, err := range []error{
		between("ColumnBytes", c.ColumnBytes, 1, 128, "16 values of 8 bytes"),
		between("ChannelBytes", c.ChannelBytes, 1, 128, "16 values of 8 bytes"),
		between("Threads", c.Threads, 1, l.Threads, "the target's max_threads_per_block"),
		between("Blocks", c.Blocks, 1, 1<<31-1, "a grid has no more"),
		between("Registers", c.Registers, 1, 1<<10, "more are not registers"),
		between("Unrolled", c.Unrolled, 0, 1<<12, "each is a copy of the code"),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// group schedules a convolution; false if the group is something else, or has no sizes that a schedule fits.
func (c *Convolution) group(g *schedule.Group, m *Matmul, t *TensorCore, e *Elementwise, l Limits) bool {
	conv := convolutionOf(g)
	if conv == nil || !conv.depthwise && !c.All {
		return c.gemm(g, m, t, e, l)
	}
	c.direct(conv, l)
	return true
}

// convolution is a convolution, analyzed: each result is a sum of products of an element of an image and one of a
// filter. The image is padded already, and all sizes are constant except those of batches.
type convolution struct {
	s             *te.Schedule
	result, root  *te.Tensor
	parts         []*te.Tensor // of the operator: the padded image
	sum           *tir.Reduce
	image, weight tir.Expr          // the factors: loads, possibly inside casts
	read, filter  *tir.ProducerLoad // of the image, of the filters
	batch         []*tir.IterVar    // axes that only the image has
	out           *tir.IterVar      // the filters
	channel       *tir.IterVar      // the channels of a group, summed up
	channels      int               // the image's dimension of channels
	windows       []window          // the spatial dimensions, outermost first
	last          *tir.IterVar      // the last axis of the result
	channelsLast  bool              // last is out
	depthwise     bool              // each filter reads one channel
	outs          int64             // the number of filters
	perGroup      int64             // filters of a group: of those that read the same channels
}

// window is a spatial dimension of a convolution.
type window struct {
	axis, kernel     *tir.IterVar // over windows, and over the elements of one
	size, elements   int64        // their extents
	dim              int          // the dimension of the image
	stride, dilation int64
}

// reach is the number of elements from the first to the last one that n windows read.
func (w window) reach(n int64) int64 { return (n-1)*w.stride + (w.elements-1)*w.dilation + 1 }

// convolutionOf analyzes the result of a group; nil if it is not a convolution of known sizes.
func convolutionOf(g *schedule.Group) *convolution {
	st := g.Schedule.Stage(g.Result)
	formulas, axes := st.Formulas(), st.Axes()
	if len(formulas) != 1 || len(axes) == 0 {
		return nil
	}
	sum, ok := formulas[0].(*tir.Reduce)
	if !ok || sum.Cond != nil || len(sum.Sources) != 1 {
		return nil
	}
	product, ok := sum.Sources[0].(*tir.Binary)
	if !ok || product.Op != tir.OpMul {
		return nil
	}
	for _, f := range [][2]tir.Expr{{product.A, product.B}, {product.B, product.A}} {
		c := &convolution{s: g.Schedule, result: g.Result, root: g.Root, parts: g.Parts(), sum: sum, image: f[0],
			weight: f[1], last: axes[len(axes)-1]}
		var filters bool
		c.read, ok = loadOf(c.image)
		c.filter, filters = loadOf(c.weight)
		if ok && filters && c.roles(axes, st.ReduceAxes()) {
			return c
		}
	}
	return nil
}

// loadOf returns the load that a formula consists of, possibly inside a cast.
func loadOf(formula tir.Expr) (*tir.ProducerLoad, bool) {
	if c, ok := formula.(*tir.Cast); ok {
		formula = c.Value
	}
	load, ok := formula.(*tir.ProducerLoad)
	return load, ok
}

// roles finds out what each axis stands for; false if an index is not that of a convolution.
func (c *convolution) roles(axes, reduce []*tir.IterVar) bool {
	for _, x := range c.filter.Indices {
		for _, a := range axes {
			if x == tir.Expr(a.Var) {
				c.out = a
			}
		}
	}
	if c.out == nil {
		return false
	}
	for d, x := range c.read.Indices {
		var own, summed *tir.IterVar
		for _, a := range axes {
			if uses(x, a) && a != c.out {
				own = a
			}
		}
		for _, a := range reduce {
			if uses(x, a) {
				summed = a
			}
		}
		switch {
		case own != nil && summed != nil:
			w := window{axis: own, kernel: summed, dim: d}
			if !w.measure(x) {
				return false
			}
			c.windows = append(c.windows, w)
		case summed != nil:
			c.channel, c.channels = summed, d
		case own != nil && x == tir.Expr(own.Var):
			c.batch = append(c.batch, own)
		default:
			return false
		}
	}
	n := len(c.windows)
	if c.channel == nil || n == 0 || n+len(c.batch)+1 != len(axes) || n+1 != len(reduce) {
		return false
	}
	outs, known := extentOf(c.out)
	k, constant := extentOf(c.channel)
	if !known || !constant || outs < 1 || k < 1 {
		return false
	}
	c.outs, c.perGroup, c.channelsLast = outs, outs, c.last == c.out
	if index := c.read.Indices[c.channels]; uses(index, c.out) {
		size, known := c.read.Producer.ProducerShape()[c.channels].(*tir.IntImm)
		if !known || size.Value < k || size.Value%k != 0 {
			return false
		}
		c.perGroup = outs / (size.Value / k)
		c.depthwise = k == 1
	}
	return true
}

// measure finds the sizes, the stride and the dilation of a window from an index of the image.
func (w *window) measure(index tir.Expr) bool {
	var known, constant bool
	w.size, known = extentOf(w.axis)
	w.elements, constant = extentOf(w.kernel)
	if !known || !constant || w.size < 1 || w.elements < 1 {
		return false
	}
	at := func(window, element int64) (int64, bool) {
		v, ok := arith.NewAnalyzer().Simplify(tir.Substitute(index, map[*tir.Var]tir.Expr{
			w.axis.Var:   tir.IntConst(w.axis.Var.Type, window),
			w.kernel.Var: tir.IntConst(w.kernel.Var.Type, element)})).(*tir.IntImm)
		if !ok {
			return 0, false
		}
		return v.Value, true
	}
	first, ok := at(0, 0)
	w.stride, known = at(1, 0)
	w.dilation, constant = at(0, 1)
	return ok && known && constant && first == 0 && w.stride > 0 && w.dilation > 0
}

// extentOf returns the extent of an axis, if it is constant.
func extentOf(a *tir.IterVar) (int64, bool) {
	n, ok := a.Extent.(*tir.IntImm)
	if !ok {
		return 0, false
	}
	return n.Value, true
}

// roundUp returns the least multiple of m that is at least n.
func roundUp(n, m int64) int64 { return (n + m - 1) / m * m }
