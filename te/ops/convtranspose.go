package ops

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// OutputPadding makes the result of ConvTranspose longer by some elements behind each spatial dimension.
func OutputPadding(each ...int) ConvOption { return func(a *ConvAttrs) { a.extra = each } }

// ConvTranspose is the transpose of Conv as a linear map, also called deconvolution: element i of x, times element k of
// a filter, is added to element i·stride + k·dilation - pad of the result, in each spatial dimension. x is [batch,
// channel, spatial dimensions…]; w is [channel, out of the group, kernel…], of constant size. The result has
// (size-1)·stride + (kernel-1)·dilation + 1 elements in a dimension, less those that Pads cuts off, and those that
// OutputPadding adds. Other options are as for Conv; channels are first.
//
// It is computed as a convolution. Where the stride divides the result into phases, each phase has filters of its own,
// which are every stride-th element of w. Where they are filled up with zeros, infinite elements of x give NaN.
func ConvTranspose(x, w *te.Tensor, name string, options ...ConvOption) *te.Tensor {
	spatial, bad := spatialDims(name, x)
	if bad != nil {
		return bad
	}
	if bad := check(name, spatial+2, w); bad != nil {
		return bad
	}
	a := &ConvAttrs{}
	if bad := a.set(name, "convtranspose", spatial, options); bad != nil {
		return bad
	}
	if l, err := layoutOf(a.Layout, spatial); err != nil {
		return failed(name, "%w", err)
	} else if l.last {
		return failed(name, "layout %q: want %q for transposed convolutions", a.Layout, layouts[spatial][0])
	}
	result, bad := accumulation(name, &a.Accumulate, x, w)
	if bad != nil {
		return bad
	}
	t := &transposed{x: x, w: w, name: name, attrs: a}
	if bad := t.measure(); bad != nil {
		return bad
	}
	all := []ConvOption{Dilations(t.distances()...), Groups(a.Groups), ConvAccumulateIn(a.Accumulate)}
	if !t.phased() { // the convolution is the result
		if b := a.bias; b != nil && b.Err() == nil && b.ProducerDType() == a.Accumulate {
			return Conv(t.image(), t.filters(), name, append(all, Bias(b))...)
		}
		y := Conv(t.image(), t.filters(), name+".conv", all...)
		return a.finish(y, name, result, t.out, 1)
	}
	y := Conv(t.image(), t.filters(), name+".phases", all...)
	if y.Err() != nil {
		return y
	}
	shape := []tir.Expr{x.ProducerShape()[0], t.out}
	for _, s := range t.sides {
		shape = append(shape, s.out)
	}
	last := name
	if a.bias != nil || result != a.Accumulate {
		last = name + ".sum"
	}
	sum := te.Compute(shape, last, func(i ...tir.Expr) tir.Expr {
		at := []tir.Expr{i[0], i[1]}
		for d, s := range t.sides {
			if s.phases == 1 {
				at = append(at, i[2+d])
				continue
			}
			position := plus(i[2+d], s.before-s.before/s.phases*s.phases)
			at[1] = tir.Add(tir.Mul(at[1], like(at[1], s.phases)), castIndex(at[1], tir.FloorMod(position,
				like(position, s.phases))))
			at = append(at, simplified(tir.FloorDiv(position, like(position, s.phases))))
		}
		at[1] = simplified(at[1])
		return y.At(at...)
	})
	return a.finish(sum, name, result, t.out, 1)
}

// transposed is a transposed convolution. In each spatial dimension, position o of the result (with the padding before
// it) is number q of phase r: o = q·phases + r. It is the sum over taps t of x[q - t·distance], where x has zeros
// between its elements if spread is more than 1, times w[t·phases + r].
type transposed struct {
	x, w  *te.Tensor
	name  string
	attrs *ConvAttrs
	out   tir.Expr // the number of filters
	sides []transposedSide
}

type transposedSide struct {
	size, out                      tir.Expr // of x, and of the result
	kernel                         int
	phases, taps, distance, spread int
	before                         int
	count                          tir.Expr // results of a phase
}

// measure checks the options, and computes sizes.
func (t *transposed) measure() *te.Tensor {
	a, s, f := t.attrs, t.x.ProducerShape(), t.w.ProducerShape()
	channels, known := constSize(s[1])
	t.out = simplified(tir.Mul(f[1], like(f[1], a.Groups)))
	switch equal := isConst(f[0], channels) && known || f[0] == s[1]; {
	case a.Groups < 1:
		return failed(t.name, "%d groups: want 1 or more", a.Groups)
	case !equal:
		return failed(t.name, "tensor %s has %s channels, and the filters %s have %s: want equal numbers",
			t.x.ProducerName(), text.Print(s[1]), t.w.ProducerName(), text.Print(f[0]))
	case a.Groups > 1 && (!known || channels%int64(a.Groups) != 0):
		return failed(t.name, "tensor %s has %s channels, which cannot be divided into %d groups", t.x.ProducerName(),
			text.Print(s[1]), a.Groups)
	}
	for d := range a.Strides {
		k, known := constSize(f[2+d])
		stride, dilation, before, behind := a.Strides[d], a.Dilations[d], a.Pads[d], a.Pads[len(a.Strides)+d]
		const most = 1 << 20
		switch {
		case !known || k < 1 || k > most:
			return failed(t.name, "dimension %d of the filters %s is %s: want a constant of 1 or more", 2+d,
				t.w.ProducerName(), text.Print(f[2+d]))
		case stride < 1 || dilation < 1 || stride > most || dilation > most:
			return failed(t.name, "axis %d of tensor %s: stride %d and dilation %d: want 1 or more, and at most %d", 2+d,
				t.x.ProducerName(), stride, dilation, most)
		case min(before, behind, a.extra[d]) < 0 || max(before, behind, a.extra[d]) > most:
			return failed(t.name, "axis %d of tensor %s: padding %d and %d, and %d of the result: want 0 or more, and at "+
				"most %d", 2+d, t.x.ProducerName(), before, behind, a.extra[d], most)
		}
		v := transposedSide{size: s[2+d], kernel: int(k), phases: stride, distance: 1, spread: 1, before: before}
		if dilation > 1 {
			v.phases, v.distance, v.spread = 1, dilation, stride
		}
		v.taps = (v.kernel + v.phases - 1) / v.phases
		n := plus(s[2+d], -1)
		reach := a.extra[d] + (v.kernel-1)*dilation + 1 - before - behind
		v.out = simplified(tir.Max(plus(tir.Mul(n, like(n, stride)), reach), like(n, 0)))
		if sizeBad(v.out) {
			return failed(t.name, "axis %d of tensor %s has size %s, and a result of stride %d does not fit into the index "+
				"type", 2+d, t.x.ProducerName(), text.Print(s[2+d]), stride)
		}
		end := plus(v.out, before-before/v.phases*v.phases+v.phases-1)
		v.count = simplified(tir.FloorDiv(end, like(end, v.phases)))
		t.sides = append(t.sides, v)
	}
	return nil
}

// distances returns the dilations of the convolution.
func (t *transposed) distances() (all []int) {
	for _, s := range t.sides {
		all = append(all, s.distance)
	}
	return all
}

// phased reports whether the result consists of several phases.
func (t *transposed) phased() bool {
	return slices.ContainsFunc(t.sides, func(s transposedSide) bool { return s.phases > 1 })
}

// image returns x with the zeros around, and between, its elements that the convolution reads.
func (t *transposed) image() *te.Tensor {
	shape := slices.Clone(t.x.ProducerShape())
	for d, s := range t.sides {
		shape[2+d] = simplified(plus(s.count, (s.taps-1)*s.distance))
	}
	image := te.Compute(shape, t.name+".image", func(i ...tir.Expr) tir.Expr {
		at := slices.Clone(i)
		var within []tir.Expr
		for d, s := range t.sides {
			u := simplified(plus(i[2+d], s.before/s.phases-(s.taps-1)*s.distance))
			within = append(within, tir.GE(u, like(u, 0)))
			if s.spread > 1 {
				within = append(within, tir.EQ(tir.FloorMod(u, like(u, s.spread)), like(u, 0)))
				u = simplified(tir.FloorDiv(u, like(u, s.spread)))
			}
			within = append(within, tir.LT(u, s.size))
			at[2+d] = u
		}
		return where(within, t.x.At(at...), tir.Const(t.x.ProducerDType(), 0))
	})
	return by(image, &Operator{Kind: "pad", Inputs: []*te.Tensor{t.x}})
}

// filters returns the filters of the convolution: one for each filter of w and phase, the phases of the last dimension
// fastest, with the taps in the order of the image's elements.
func (t *transposed) filters() *te.Tensor {
	f := t.w.ProducerShape()
	each := f[1] // filters of a group
	channels := simplified(tir.FloorDiv(f[0], like(f[0], t.attrs.Groups)))
	phases := 1
	shape := []tir.Expr{nil, channels}
	for _, s := range t.sides {
		phases *= s.phases
		shape = append(shape, like(f[0], s.taps))
	}
	shape[0] = simplified(tir.Mul(t.out, like(t.out, phases)))
	return te.Compute(shape, t.name+".filters", func(i ...tir.Expr) tir.Expr {
		filter := i[0]
		var within []tir.Expr
		at := make([]tir.Expr, len(f))
		for d, s := range slices.Backward(t.sides) {
			k := tir.Sub(like(i[2+d], s.taps-1), i[2+d])
			if s.phases > 1 {
				r := tir.FloorMod(filter, like(filter, s.phases))
				filter = tir.FloorDiv(filter, like(filter, s.phases))
				k = tir.Add(tir.Mul(k, like(k, s.phases)), castIndex(k, r))
			}
			at[2+d] = simplified(k)
			if s.taps*s.phases > s.kernel {
				within = append(within, tir.LT(at[2+d], like(k, s.kernel)))
			}
		}
		filter = simplified(filter)
		group := simplified(tir.FloorDiv(filter, each))
		at[0] = i[1]
		if t.attrs.Groups > 1 {
			at[0] = simplified(tir.Add(tir.Mul(castIndex(i[1], group), castIndex(i[1], channels)), i[1]))
		}
		at[1] = simplified(tir.FloorMod(filter, each))
		return where(within, t.w.At(at...), tir.Const(t.w.ProducerDType(), 0))
	})
}

// castIndex returns an index in the type of another.
func castIndex(as, index tir.Expr) tir.Expr {
	if index.DType() == as.DType() {
		return index
	}
	return tir.NewCast(as.DType(), index)
}
