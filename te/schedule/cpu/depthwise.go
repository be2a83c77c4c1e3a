package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// depthwise is a convolution of images [batch, channel, height, width] whose filters read one channel each. A thread
// copies a channel with its padding, so that no sum needs a condition. A tile is the results of some rows, a vector
// wide: they stay in registers while the sums are computed.
type depthwise struct {
	result  *te.Tensor
	from    *te.Tensor // the image without padding
	before  [2]int64   // zeros above and on the left
	channel tir.Expr   // of the image, over the axes
	filters *tir.ProducerLoad
	axes    []*tir.IterVar
	reduce  []*tir.IterVar
	along   [2]span // height and width
}

// span describes the windows along a dimension of the image.
type span struct {
	size, stride, dilation, kernel int64
	tile                           int64 // neighbouring results that are computed together
}

// needs returns how many elements of the padded image whole tiles read.
func (p span) needs() int64 {
	return (ceilDiv(p.size, p.tile)*p.tile-1)*p.stride + (p.kernel-1)*p.dilation + 1
}

const (
	channelBytes = 256 << 10 // limits the copy of a channel, which should stay in the cache
	mostTaps     = 49        // of a filter
	mostProducts = 128       // for each column of a tile
	leastLanes   = 4         // of a tile

	longestCopied = 512 // limits the vectors that copy a row, which are written out
)

// depthwiseOf analyzes a group; nil if it is no depthwise convolution of float32 or float64, its sizes are unknown, or
// a channel is large.
func depthwiseOf(g *schedule.Group, v simd) *depthwise {
	s := g.Schedule
	st := s.Stage(g.Result)
	formulas, axes := st.Formulas(), st.Axes()
	if g.Op == nil || g.Op.Kind != "conv2d" && g.Op.Kind != "conv" || len(formulas) != 1 || len(axes) != 4 {
		return nil
	}
	r, ok := formulas[0].(*tir.Reduce)
	if !ok || len(r.Axes) != 3 || sizeOf(r.Axes[0]) != 1 || !isSum(r.Combiner) || r.Cond != nil {
		return nil
	}
	p, ok := r.Sources[0].(*tir.Binary)
	if !ok || p.Op != tir.OpMul {
		return nil
	}
	image, isLoad := p.A.(*tir.ProducerLoad)
	filters, areLoaded := p.B.(*tir.ProducerLoad)
	if !isLoad || !areLoaded || v.lanes(p.DType()) == 0 || !uses(image.Indices[1], axes[1].Var) {
		return nil
	}
	d := &depthwise{result: g.Result, filters: filters, axes: axes, reduce: r.Axes}
	d.channel = tir.Substitute(image.Indices[1], map[*tir.Var]tir.Expr{r.Axes[0].Var: zeroOf(r.Axes[0])})
	if !d.unpadded(s, image.Producer.(*te.Tensor), g.Parts()) {
		return nil
	}
	for k := range d.along {
		out, over, at := axes[2+k], r.Axes[1+k], image.Indices[2+k]
		start, known := valueAt(at, out, 0, over, 0)
		next, knownNext := valueAt(at, out, 1, over, 0)
		far, knownFar := valueAt(at, out, 0, over, 1)
		d.along[k] = span{size: sizeOf(out), stride: next, dilation: far, kernel: sizeOf(over)}
		if !known || !knownNext || !knownFar || start != 0 || next < 1 || far < 1 || sizeOf(out) < 1 ||
			sizeOf(over) < 1 {
			return nil
		}
	}
	d.along[0].tile = tileRows(d.along[0].size, d.along[0].kernel*d.along[1].kernel)
	d.along[1].tile = int64(v.lanes(p.DType()))
	for d.along[1].tile > d.along[1].size { // less than a tile would be computed by several shorter vectors
		d.along[1].tile /= 2
	}
	if d.along[1].tile < leastLanes {
		return nil
	}
	copied := times(d.along[0].needs(), d.along[1].needs())
	if copied < 0 || copied*int64(p.DType().Bits)/8 > channelBytes || d.along[0].kernel*d.along[1].kernel > mostTaps {
		return nil
	}
	return d
}

// tileRows returns the number of rows of a tile: neighbouring rows read almost the same rows of the image.
func tileRows(size, taps int64) int64 {
	for _, n := range []int64{4, 7, 6, 5, 3, 2} {
		if size%n == 0 && n*taps <= mostProducts {
			return n
		}
	}
	return min(size, 2)
}

func simplified(e tir.Expr) tir.Expr { return arith.NewAnalyzer().Simplify(e) }

func zeroOf(a *tir.IterVar) tir.Expr { return tir.IntConst(a.Var.Type, 0) }

// valueAt returns the value of an index for numbers of two axes.
func valueAt(e tir.Expr, a *tir.IterVar, x int64, b *tir.IterVar, y int64) (int64, bool) {
	return tir.IntValue(simplified(tir.Substitute(e, map[*tir.Var]tir.Expr{
		a.Var: tir.IntConst(a.Var.Type, x), b.Var: tir.IntConst(b.Var.Type, y)})))
}

// unpadded finds the image that is padded with zeros; false if padding is of another kind.
func (d *depthwise) unpadded(s *te.Schedule, x *te.Tensor, parts []*te.Tensor) bool {
	d.from = x
	if !slices.Contains(parts, x) {
		return len(parts) == 0
	}
	st := s.Stage(x)
	choice, ok := st.Formulas()[0].(*tir.Call)
	if len(parts) != 1 || !ok || choice.Name != "if_then_else" {
		return false
	}
	load, ok := choice.Args[1].(*tir.ProducerLoad)
	if !ok {
		return false
	}
	d.from = load.Producer.(*te.Tensor)
	axes := st.Axes()
	for k := range d.before {
		at, known := valueAt(load.Indices[2+k], axes[2+k], 0, axes[3-k], 0)
		if d.before[k] = -at; !known || at > 0 {
			return false
		}
	}
	return load.Indices[0] == tir.Expr(axes[0].Var) && load.Indices[1] == tir.Expr(axes[1].Var)
}

// scheduleDepthwise schedules a depthwise convolution. It returns false, without a change, if the group is none.
func scheduleDepthwise(g *schedule.Group, v simd) bool {
	d := depthwiseOf(g, v)
	if d == nil {
		return false
	}
	s := g.Schedule
	rows, columns := d.along[0].tile, d.along[1].tile
	image := d.padded()
	sums := d.sums(image)
	s.Replace(g.Result, te.Compute(g.Result.ProducerShape(), g.Result.ProducerName()+".tiles",
		func(i ...tir.Expr) tir.Expr {
			return sums.At(i[0], i[1], over(i[2], rows), over(i[3], columns), rest(i[2], rows), rest(i[3], columns))
		}))
	if s.Err() != nil {
		return false
	}
	if g.Result != g.Root {
		s.Stage(g.Result).ComputeInline()
	}
	st := s.Stage(g.Root)
	axes := st.Axes()
	much := pointsOf(st) >= parallelFrom || pointsOf(s.Stage(sums)) >= parallelFrom
	outer, row := st.Split(axes[2], int(rows))
	vector, lane := st.Split(axes[3], int(columns))
	st.Reorder(axes[0], axes[1], outer, vector, row, lane)
	st.Unroll(row)
	st.Vectorize(lane)
	channel := st.Fuse(axes[0], axes[1])
	if much {
		st.Parallel(channel)
	}
	s.Stage(image).ComputeAt(st, channel)
	s.Stage(image).SetScope("local")
	if d.along[1].needs() <= longestCopied { // its part inside the image becomes vectors of its own
		s.Stage(image).Vectorize(s.Stage(image).Axes()[3])
	}
	s.Stage(sums).ComputeAt(st, vector)
	d.scheduleSums(s.Stage(sums))
	return s.Err() == nil
}

// padded is a channel with its padding, and with what whole tiles read beyond it.
func (d *depthwise) padded() *te.Tensor {
	shape := slices.Clone(d.result.ProducerShape())
	for k, p := range d.along {
		shape[2+k] = tir.IntConst(shape[2+k].DType(), p.needs())
	}
	size := d.from.ProducerShape()
	return te.Compute(shape, d.result.ProducerName()+".channel", func(i ...tir.Expr) tir.Expr {
		at := []tir.Expr{i[0], tir.Substitute(d.channel, map[*tir.Var]tir.Expr{d.axes[1].Var: i[1]}), i[2], i[3]}
		var within tir.Expr
		require := func(c tir.Expr) {
			if c = tir.Intrin("likely", c); within == nil {
				within = c
			} else {
				within = tir.And(within, c)
			}
		}
		for k, p := range d.along {
			if at[2+k] = tir.Sub(i[2+k], tir.IntConst(i[2+k].DType(), d.before[k])); d.before[k] > 0 {
				require(tir.GE(i[2+k], tir.IntConst(i[2+k].DType(), d.before[k])))
			}
			if n, known := tir.IntValue(size[2+k]); !known || p.needs()-d.before[k] > n {
				require(tir.LT(i[2+k], simplified(tir.Add(size[2+k], tir.IntConst(size[2+k].DType(), d.before[k])))))
			}
		}
		value := d.from.At(at...)
		if within == nil {
			return value
		}
		return tir.Intrin("if_then_else", within, value, tir.Const(value.DType(), 0))
	})
}

// sums is the tensor of results, tile by tile: [batch, channel, tile of rows, tile of columns, row, column].
func (d *depthwise) sums(image *te.Tensor) *te.Tensor {
	shape := []tir.Expr{d.axes[0].Extent, d.axes[1].Extent}
	for k, p := range d.along {
		shape = append(shape, tir.IntConst(d.axes[2+k].Var.Type, ceilDiv(p.size, p.tile)))
	}
	for k, p := range d.along {
		shape = append(shape, tir.IntConst(d.axes[2+k].Var.Type, p.tile))
	}
	to := map[*tir.Var]tir.Expr{d.reduce[0].Var: zeroOf(d.reduce[0])}
	var window []*tir.IterVar
	for _, a := range d.reduce[1:] {
		axis := te.ReduceAxis(a.Min, a.Extent, a.Var.Name)
		to[a.Var] = axis.Var
		window = append(window, axis)
	}
	return te.Compute(shape, d.result.ProducerName()+".sums", func(i ...tir.Expr) tir.Expr {
		to[d.axes[0].Var], to[d.axes[1].Var] = i[0], i[1]
		at := []tir.Expr{i[0], i[1]}
		for k, p := range d.along {
			axis := d.axes[2+k]
			to[axis.Var] = tir.Add(tir.Mul(i[2+k], tir.IntConst(axis.Var.Type, p.tile)), i[4+k])
			from := tir.Mul(to[axis.Var], tir.IntConst(axis.Var.Type, p.stride))
			offset := tir.Mul(window[k].Var, tir.IntConst(window[k].Var.Type, p.dilation))
			at = append(at, simplified(tir.Add(from, tir.NewCast(axis.Var.Type, offset))))
		}
		filter := make([]tir.Expr, len(d.filters.Indices))
		for k, x := range d.filters.Indices {
			filter[k] = simplified(tir.Substitute(x, to))
		}
		return te.Sum(tir.Mul(image.At(at...), d.filters.Producer.(*te.Tensor).At(filter...)), window...)
	})
}

// scheduleSums keeps a tile in registers.
func (d *depthwise) scheduleSums(sums *te.Stage) {
	axes, window := sums.Axes(), sums.ReduceAxes()
	sums.Reorder(append(slices.Clone(window), axes[4], axes[5])...)
	sums.Unroll(window[0])
	sums.Unroll(window[1])
	sums.Unroll(axes[4])
	sums.Vectorize(axes[5])
	sums.SetScope("local")
}
