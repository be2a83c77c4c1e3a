package passes

import (
	"context"

	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// blocked divides the channels of images between convolutions into blocks of a vector of the CPU, as ops.ConvBlocked
// describes it: [batch, channel, height, width] becomes [batch, block, height, width, channel]. Images are converted
// where another operator reads them. The last block is padded by channels whose filters are zero.
func blocked(ctx context.Context, f *graph.Function, t *target.Target, o Options) error {
	width := int64(ops.ChannelBlock(t, tir.Float32))
	if o.Evaluate == nil || o.Portable || width == 0 {
		return nil
	}
	b := blocking{width: width, direct: o.Direct, forms: map[*graph.Value]form{},
		readers: map[*graph.Value][]*graph.Node{}}
	b.read(f)
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
	width   int64                          // of a block
	direct  bool                           // see Options
	forms   map[*graph.Value]form          // of images
	readers map[*graph.Value][]*graph.Node // of values, before the pass
}

// form is the blocked form of an image. Its channels are divided into groups, and the last block of each is padded.
type form struct {
	v      *graph.Value
	groups int64
}

func (b *blocking) read(f *graph.Function) {
	for _, n := range f.Nodes {
		for _, v := range n.Inputs {
			b.readers[v] = append(b.readers[v], n)
		}
		for _, body := range n.Bodies {
			b.read(body)
		}
	}
}

// rounded returns a number of channels with the padding of each group.
func (b *blocking) rounded(channels, groups int64) int64 {
	return (channels/groups + b.width - 1) / b.width * b.width * groups
}

// fits reports whether channels are divided into blocks without much padding: half of them, or in groups, for which
// there is no other fast code, three times as many.
func (b *blocking) fits(channels, groups int64) bool {
	most := channels / 2
	if groups > 1 {
		most = channels * 3
	}
	return channels > 0 && channels%groups == 0 && b.rounded(channels, groups)-channels <= most
}

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
	out := form{groups: 1}
	switch {
	case e.is("conv"):
		out = b.conv(e, size[0])
	case e.is("max_pool", "average_pool", "lp_pool"):
		out = b.pool(e)
	case e.is("global_average_pool"):
		if x := b.forms[e.in(0)]; x.v != nil {
			out = form{e.add("reduce_mean", nil, x.v, e.f.Ints("axes", 2, 3)), x.groups}
		}
	case e.is("concat"):
		out.v = b.concat(e)
	case e.is(perElement...):
		out = b.mapped(e, size[0])
	}
	if out.v == nil {
		return nil
	}
	plain := b.plain(e, out, size)
	if plain != nil {
		b.forms[plain] = out
	}
	return plain
}

// channelsLast and channelsFirst are the transpositions from a shape with a divided dimension of channels, and back.
var (
	channelsLast  = graph.Attrs{"perm": []int64{0, 1, 3, 4, 2}}
	channelsFirst = graph.Attrs{"perm": []int64{0, 1, 4, 2, 3}}
)

// sized adds a reshape to sizes. The first one is kept if it is 0.
func (e *edit) sized(v *graph.Value, sizes ...int64) *graph.Value {
	return e.add("reshape", nil, v, e.f.Ints("shape", sizes...))
}

// plain adds the conversion of a blocked image to one of the sizes.
func (b *blocking) plain(e *edit, x form, size [3]int64) *graph.Value {
	v, padded := x.v, b.rounded(size[0], x.groups)
	if size[1] != 1 || size[2] != 1 {
		v = e.add("transpose", channelsFirst, v)
	}
	if padded == size[0] {
		return e.sized(v, 0, padded, size[1], size[2])
	}
	v = e.sized(v, 0, x.groups, padded/x.groups, size[1], size[2])
	v = e.add("slice", nil, v, e.f.Ints("starts", 0), e.f.Ints("ends", size[0]/x.groups), e.f.Ints("axes", 2))
	return e.sized(v, 0, size[0], size[1], size[2])
}

// divided returns a blocked form of an image, which it adds if there is none: one for groups, unless there is another.
func (b *blocking) divided(e *edit, v *graph.Value, groups int64) form {
	size, ok := image(v)
	if x := b.forms[v]; x.v != nil || !ok || !b.fits(size[0], groups) {
		return x
	}
	padded := b.rounded(size[0], groups)
	x := b.widened(e, v, 1, groups)
	if size[1] != 1 || size[2] != 1 {
		x = e.add("transpose", channelsLast, e.sized(x, 0, padded/b.width, b.width, size[1], size[2]))
	} else {
		x = e.sized(x, 0, padded/b.width, 1, 1, b.width)
	}
	if x == nil {
		return form{}
	}
	b.forms[v] = form{x, groups}
	return b.forms[v]
}

// like returns an image in the form of another one.
func (b *blocking) like(e *edit, v *graph.Value, to form) *graph.Value {
	x := b.forms[v]
	if size, ok := image(v); x.v != nil && ok && x.groups != to.groups &&
		max(b.rounded(size[0], x.groups), b.rounded(size[0], to.groups)) != size[0] { // padding is at other places
		delete(b.forms, v)
		defer func() { b.forms[v] = x }()
	}
	return b.divided(e, v, to.groups).v
}

// widened pads the channels of each group in a dimension with zeros.
func (b *blocking) widened(e *edit, v *graph.Value, axis int, groups int64) *graph.Value {
	if v == nil {
		return nil
	}
	n, _ := tir.IntValue(v.Shape[axis])
	padded := b.rounded(n, groups)
	if n == padded {
		return v
	}
	var parts, whole []int64
	for d, size := range v.Shape {
		known, _ := tir.IntValue(size) // 0 for a batch of unknown size
		if d == axis {
			parts, whole = append(parts, groups, n/groups), append(whole, padded)
			continue
		}
		parts, whole = append(parts, known), append(whole, known)
	}
	pads := make([]int64, 2*len(parts))
	pads[len(parts)+axis+1] = (padded - n) / groups
	return e.sized(e.add("pad", nil, e.sized(v, parts...), e.f.Ints("pads", pads...)), whole...)
}

// fewPixels is the number of weights for each element of an image from which the image is converted to blocks: the
// filters, of which blocks of channels are contiguous, take most of the time then.
const fewPixels = 4

// conv returns the blocked form of a convolution with constant filters.
func (b *blocking) conv(e *edit, filters int64) (out form) {
	x, w, bias := e.in(0), e.in(1), e.in(2)
	in, ok := image(x)
	f, known := w.StaticShape()
	if !ok || !known || w.DType != tir.Float32 || !e.constant(w) {
		return out
	}
	groups := e.n.Attr("group").(int64)
	attrs := graph.Attrs{}
	for _, name := range []string{"strides", "dilations", "pads", "auto_pad"} {
		if v, ok := e.n.Attrs[name]; ok {
			attrs[name] = v
		}
	}
	from := b.forms[x]
	each := groups == in[0] && groups == filters && f[1] == 1 // each channel has a filter of its own
	if each {
		if from.v == nil && !b.forConv(e.n.Outputs[0], 0) {
			return out // it is as fast without blocks, and the conversion would take as long
		}
		from = b.divided(e, x, b.wanted(e.n.Outputs[0], 0))
		if out.groups = from.groups; from.v == nil {
			return out
		}
		w = b.widened(e, w, 0, out.groups)
		w = e.sized(w, b.rounded(filters, out.groups)/b.width, b.width, f[2], f[3])
		w = e.add("transpose", graph.Attrs{"perm": []int64{0, 2, 3, 1}}, w)
	} else {
		out.groups = groups
		if !b.fits(filters, groups) || groups > 1 && !b.fits(in[0], groups) {
			return out
		}
		if groups > 1 {
			from = form{b.like(e, x, out), groups}
			attrs["group"] = groups
		}
		if groups == 1 && !b.direct {
			if out.v = b.winograd(e); out.v != nil {
				return b.biased(e, out, bias)
			}
		}
		w = b.widened(e, w, 0, groups)
		blocks := b.rounded(filters, groups) / b.width
		if from.v == nil && f[2]*f[3] > 1 && f[0]*f[1]*f[2]*f[3] >= fewPixels*in[0]*in[1]*in[2] && b.fits(in[0], groups) {
			from = b.divided(e, x, groups)
		}
		if from.v == nil && groups == 1 {
			from.v = x
			w = e.add("transpose", graph.Attrs{"perm": []int64{0, 2, 3, 4, 1}}, e.sized(w, blocks, b.width, f[1], f[2], f[3]))
		} else {
			w = b.widened(e, w, 1, from.groups/groups)
			w = e.sized(w, blocks, b.width, b.rounded(in[0], from.groups)/groups/b.width, b.width, f[2], f[3])
			w = e.add("transpose", graph.Attrs{"perm": []int64{0, 2, 4, 5, 3, 1}}, w)
		}
	}
	out.v = e.add("blocked_conv", attrs, from.v, w)
	return b.biased(e, out, bias)
}

// biased adds the bias of a convolution, if there is one.
func (b *blocking) biased(e *edit, out form, bias *graph.Value) form {
	if bias != nil {
		out.v = e.add("add", nil, out.v, b.vector(e, bias, out.groups))
	}
	return out
}

// mostAhead limits how far wanted looks.
const mostAhead = 8

// forConv reports whether an image is for a convolution with blocks, perhaps behind other operators.
func (b *blocking) forConv(v *graph.Value, depth int) bool {
	for _, n := range b.readers[v] {
		if in, ok := image(v); ok && named(n, "conv") && n.Inputs[0] == v && n.Attr("group") != in[0] {
			return true
		}
		if depth < mostAhead && (named(n, perElement...) || named(n, "conv")) && b.forConv(n.Outputs[0], depth+1) {
			return true
		}
	}
	return false
}

// wanted returns the number of groups of the convolution that an image is for, perhaps behind other operators.
func (b *blocking) wanted(v *graph.Value, depth int) int64 {
	for _, n := range b.readers[v] {
		if named(n, "conv") {
			if in, ok := image(v); ok && n.Inputs[0] == v && n.Attr("group") != in[0] {
				return n.Attr("group").(int64)
			}
		}
		if depth < mostAhead && (named(n, perElement...) || named(n, "conv")) {
			if g := b.wanted(n.Outputs[0], depth+1); g > 1 {
				return g
			}
		}
	}
	return 1
}

// vector returns a constant with an element for each channel in the shape of blocks.
func (b *blocking) vector(e *edit, v *graph.Value, groups int64) *graph.Value {
	n, _ := tir.IntValue(v.Shape[0])
	return e.sized(b.widened(e, v, 0, groups), 1, b.rounded(n, groups)/b.width, 1, 1, b.width)
}

// pool returns the form of a pooling: that of an image with a third dimension, along which windows have one element.
func (b *blocking) pool(e *edit) (out form) {
	x := b.forms[e.in(0)]
	if x.v == nil || len(e.n.Outputs) > 1 && e.n.Outputs[1] != nil {
		return out
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
	return form{e.add(e.n.Op.Name, with(e.n, changed), x.v), x.groups}
}

// concat returns the form of a concatenation of channels.
func (b *blocking) concat(e *edit) *graph.Value {
	if axis := e.n.Attr("axis"); axis != int64(1) && axis != int64(-3) {
		return nil
	}
	var parts []*graph.Value
	some := false
	for _, v := range e.n.Inputs {
		some = some || b.forms[v].v != nil
		size, ok := image(v)
		if x := b.forms[v]; !ok || size[0]%b.width != 0 || x.v != nil && b.rounded(size[0], x.groups) != size[0] {
			return nil
		}
	}
	if !some {
		return nil
	}
	for _, v := range e.n.Inputs {
		parts = append(parts, b.divided(e, v, 1).v)
	}
	return e.add("concat", graph.Attrs{"axis": int64(1)}, parts...)
}

// perElement are operators that compute each element of an image from those at the same place.
var perElement = append([]string{"div", "pow", "sqrt", "log", "reciprocal"}, bounded...)

// bounded are those that make zeros, with which channels are padded, finite numbers.
var bounded = []string{"relu", "leaky_relu", "prelu", "elu", "selu", "celu", "sigmoid", "hard_sigmoid",
	"hard_swish", "tanh", "softplus", "softsign", "gelu", "mish", "swish", "erf", "clip", "abs", "neg", "add",
	"sub", "mul", "min", "max", "sum", "mean"}

// mapped returns the form of an elementwise operator of a blocked image. Its other operands are images, too, or
// constants with one element for each channel or for all.
func (b *blocking) mapped(e *edit, channels int64) (out form) {
	for _, v := range e.n.Inputs {
		if x := b.forms[v]; v != nil && x.v != nil {
			out.groups = x.groups
		}
	}
	if out.groups == 0 || b.rounded(channels, out.groups) != channels && !e.is(bounded...) {
		return out
	}
	in := make([]*graph.Value, len(e.n.Inputs))
	for i, v := range e.n.Inputs {
		switch {
		case v == nil || isSingle(v):
			in[i] = v
			continue
		case e.constant(v):
			in[i] = b.perChannel(e, v, channels, out.groups)
		case v.Replaces(e.n.Outputs[0]):
			in[i] = b.like(e, v, out)
		}
		if in[i] == nil {
			return out
		}
	}
	out.v = e.add(e.n.Op.Name, e.n.Attrs, in...)
	return out
}

// perChannel returns a constant with one element for each channel in the shape of blocks; nil if it has another shape.
func (b *blocking) perChannel(e *edit, v *graph.Value, channels, groups int64) *graph.Value {
	shape, ok := v.StaticShape()
	if !ok || len(shape) < 3 || len(shape) > 4 || shape[len(shape)-3] != channels || shape[len(shape)-1] != 1 ||
		shape[len(shape)-2] != 1 || len(shape) == 4 && shape[0] != 1 {
		return nil
	}
	return b.vector(e, e.sized(v, channels), groups)
}
