package passes

import (
	"context"

	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// mostPadded limits the channels that blocks add to an image or to filters: a quarter.
const mostPadded = 4

// blocked divides the channels of images between convolutions into blocks of a vector of the CPU, as ops.ConvBlocked
// describes it: [batch, channel, height, width] becomes [batch, block, height, width, channel]. Images are converted
// where another operator reads them. The last block is padded by channels whose filters are zero.
func blocked(ctx context.Context, f *graph.Function, t *target.Target, o Options) error {
	width := int64(ops.ChannelBlock(t, tir.Float32))
	if o.Evaluate == nil || o.Portable || width == 0 {
		return nil
	}
	b := blocking{width: width, images: map[*graph.Value]*graph.Value{}}
	made := map[*graph.Value]bool{}
	changed, err := f.Rewrite(func(g *graph.Function, n *graph.Node) ([]*graph.Value, error) {
		if n.Op.Control != graph.Formula || n.Outputs[0] == nil || n.Outputs[0].DType != tir.Float32 {
			return nil, nil
		}
		v := b.node(&edit{f: g, n: n, made: made})
		if v == nil {
			return nil, nil
		}
		return []*graph.Value{v}, nil
	})
	if err != nil || !changed {
		return err
	}
	return dead(ctx, f, t, o)
}

// blocking is the state of the pass.
type blocking struct {
	width  int64                         // of a block
	images map[*graph.Value]*graph.Value // the blocked form of images
}

// fits reports whether a number of channels is divided into blocks without much padding.
func (b *blocking) fits(channels int64) bool {
	more := b.rounded(channels) - channels
	return channels > 0 && more <= channels/mostPadded
}

func (b *blocking) rounded(channels int64) int64 { return (channels + b.width - 1) / b.width * b.width }

// image returns the sizes of an image; false if channels, height or width are not constant.
func image(v *graph.Value) (sizes [3]int64, ok bool) {
	if v == nil || len(v.Shape) != 4 || v.DType != tir.Float32 {
		return sizes, false
	}
	for d := range sizes {
		if sizes[d], ok = tir.IntValue(v.Shape[1+d]); !ok || sizes[d] < 1 {
			return sizes, false
		}
	}
	return sizes, true
}

// node returns what replaces the result of a node: an image that is made of a blocked one; nil if the node stays.
func (b *blocking) node(e *edit) *graph.Value {
	size, ok := image(e.n.Outputs[0])
	if !ok {
		return nil
	}
	var out *graph.Value
	switch {
	case e.is("conv"):
		out = b.conv(e, size)
	case e.is("max_pool", "average_pool", "lp_pool"):
		out = b.pool(e)
	case e.is("global_average_pool"):
		if x := b.images[e.in(0)]; x != nil {
			out = e.add("reduce_mean", nil, x, e.f.Ints("axes", 2, 3))
		}
	case e.is("concat"):
		out = b.concat(e)
	case e.is(perElement...):
		out = b.mapped(e, size[0])
	}
	if out == nil {
		return nil
	}
	plain := e.unblocked(out, size, b.rounded(size[0]))
	if plain != nil {
		b.images[plain] = out
	}
	return plain
}

// channelsLast and channelsFirst are the transpositions from a shape with a divided dimension of channels, and back.
var (
	channelsLast  = graph.Attrs{"perm": []int64{0, 1, 3, 4, 2}}
	channelsFirst = graph.Attrs{"perm": []int64{0, 1, 4, 2, 3}}
)

// unblocked adds the conversion of a blocked image. 0 stands for the size of the batch, which need not be known.
func (e *edit) unblocked(v *graph.Value, size [3]int64, padded int64) *graph.Value {
	if size[1] != 1 || size[2] != 1 {
		v = e.add("transpose", channelsFirst, v)
	}
	v = e.add("reshape", nil, v, e.f.Ints("shape", 0, padded, size[1], size[2]))
	if padded != size[0] {
		v = e.add("slice", nil, v, e.f.Ints("starts", 0), e.f.Ints("ends", size[0]), e.f.Ints("axes", 1))
	}
	return v
}

// divided returns the blocked form of an image, which it adds if there is none; nil if its channels do not fit.
func (b *blocking) divided(e *edit, v *graph.Value) *graph.Value {
	size, ok := image(v)
	if x := b.images[v]; x != nil || !ok || !b.fits(size[0]) {
		return x
	}
	padded := b.rounded(size[0])
	x := e.widened(v, 1, padded)
	x = e.add("reshape", nil, x, e.f.Ints("shape", 0, padded/b.width, b.width, size[1], size[2]))
	if size[1] != 1 || size[2] != 1 {
		x = e.add("transpose", channelsLast, x)
	} else {
		x = e.add("reshape", nil, x, e.f.Ints("shape", 0, padded/b.width, 1, 1, b.width))
	}
	if x != nil {
		b.images[v] = x
	}
	return x
}

// widened pads a dimension with zeros to a size.
func (e *edit) widened(v *graph.Value, axis int, size int64) *graph.Value {
	n, _ := tir.IntValue(v.Shape[axis])
	if n == size {
		return v
	}
	pads := make([]int64, 2*len(v.Shape))
	pads[len(v.Shape)+axis] = size - n
	return e.add("pad", nil, v, e.f.Ints("pads", pads...))
}

// conv returns the blocked form of a convolution with constant filters.
func (b *blocking) conv(e *edit, size [3]int64) *graph.Value {
	x, w, bias := e.in(0), e.in(1), e.in(2)
	in, ok := image(x)
	f, known := w.StaticShape()
	if !ok || !known || w.DType != tir.Float32 || !e.constant(w) || !b.fits(size[0]) {
		return nil
	}
	groups := e.n.Attr("group").(int64)
	attrs := graph.Attrs{}
	for _, name := range []string{"strides", "dilations", "pads", "auto_pad"} {
		if v, ok := e.n.Attrs[name]; ok {
			attrs[name] = v
		}
	}
	padded := b.rounded(size[0])
	blocks := padded / b.width
	w = e.widened(w, 0, padded)
	image := b.images[x]
	switch {
	case groups == in[0] && groups == size[0] && f[1] == 1: // each channel has a filter of its own
		image = b.divided(e, x)
		w = e.add("transpose", graph.Attrs{"perm": []int64{0, 2, 3, 1}}, e.reshaped(w, blocks, b.width, f[2], f[3]))
	case groups > 1 && (in[0]%(groups*b.width) != 0 || size[0]%(groups*b.width) != 0):
		return nil
	case groups == 1 && image == nil:
		image = x
		w = e.add("transpose", graph.Attrs{"perm": []int64{0, 2, 3, 4, 1}}, e.reshaped(w, blocks, b.width, f[1], f[2], f[3]))
	default:
		image = b.divided(e, x)
		channels := b.rounded(f[1])
		w = e.widened(w, 1, channels)
		w = e.reshaped(w, blocks, b.width, channels/b.width, b.width, f[2], f[3])
		w = e.add("transpose", graph.Attrs{"perm": []int64{0, 2, 4, 5, 3, 1}}, w)
		attrs["group"] = groups
	}
	y := e.add("blocked_conv", attrs, image, w)
	if bias != nil {
		y = e.add("add", nil, y, e.reshaped(e.widened(bias, 0, padded), 1, blocks, 1, 1, b.width))
	}
	return y
}

// pool returns the form of a pooling: that of an image with a third dimension, along which windows have one element.
func (b *blocking) pool(e *edit) *graph.Value {
	x := b.images[e.in(0)]
	if x == nil || len(e.n.Outputs) > 1 && e.n.Outputs[1] != nil {
		return nil
	}
	changed := graph.Attrs{}
	for _, name := range []string{"kernel_shape", "strides", "dilations"} {
		if list, _ := e.n.Attr(name).([]int64); len(list) == 2 {
			changed[name] = []int64{list[0], list[1], 1}
		}
	}
	if p, _ := e.n.Attr("pads").([]int64); len(p) == 4 {
		changed["pads"] = []int64{p[0], p[1], 0, p[2], p[3], 0}
	}
	return e.add(e.n.Op.Name, with(e.n, changed), x)
}

// concat returns the form of a concatenation of channels.
func (b *blocking) concat(e *edit) *graph.Value {
	if axis := e.n.Attr("axis"); axis != int64(1) && axis != int64(-3) {
		return nil
	}
	var parts []*graph.Value
	any := false
	for _, v := range e.n.Inputs {
		any = any || b.images[v] != nil
		size, ok := image(v)
		if !ok || size[0]%b.width != 0 {
			return nil
		}
	}
	if !any {
		return nil
	}
	for _, v := range e.n.Inputs {
		parts = append(parts, b.divided(e, v))
	}
	return e.add("concat", graph.Attrs{"axis": int64(1)}, parts...)
}

// perElement are operators that compute each element of an image from those at the same place.
var perElement = append([]string{"div", "pow", "sqrt", "log", "reciprocal"}, bounded...)

// bounded are those that make zeros, with which channels are padded, finite numbers.
var bounded = []string{"relu", "leaky_relu", "prelu", "elu", "selu", "celu", "sigmoid", "hard_sigmoid", "hard_swish", "tanh",
	"softplus", "softsign", "gelu", "mish", "swish", "erf", "clip", "abs", "neg", "add", "sub", "mul", "min", "max", "sum",
	"mean"}

// mapped returns the form of an elementwise operator of a blocked image. Its other operands are images, too, or
// constants with one element for each channel or for all.
func (b *blocking) mapped(e *edit, channels int64) *graph.Value {
	padded := b.rounded(channels)
	if padded != channels && !e.is(bounded...) {
		return nil
	}
	any := false
	for _, v := range e.n.Inputs {
		any = any || v != nil && b.images[v] != nil
	}
	if !any || !b.fits(channels) {
		return nil
	}
	in := make([]*graph.Value, len(e.n.Inputs))
	for i, v := range e.n.Inputs {
		switch {
		case v == nil || isSingle(v):
			in[i] = v
			continue
		case e.constant(v):
			in[i] = b.perChannel(e, v, channels)
		case v.Replaces(e.n.Outputs[0]):
			in[i] = b.divided(e, v)
		}
		if in[i] == nil {
			return nil
		}
	}
	return e.add(e.n.Op.Name, e.n.Attrs, in...)
}

// perChannel returns a constant with one element for each channel in the shape of blocks; nil if it has another shape.
func (b *blocking) perChannel(e *edit, v *graph.Value, channels int64) *graph.Value {
	shape, ok := v.StaticShape()
	if !ok || len(shape) < 3 || len(shape) > 4 || shape[len(shape)-3] != channels || shape[len(shape)-1] != 1 ||
		shape[len(shape)-2] != 1 || len(shape) == 4 && shape[0] != 1 {
		return nil
	}
	padded := b.rounded(channels)
	return e.reshaped(e.widened(e.reshaped(v, channels), 0, padded), 1, padded/b.width, 1, 1, b.width)
}
