package ops

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// ConvAttrs holds the options of a convolution.
type ConvAttrs struct {
	Strides, Dilations []int // along each spatial dimension, outermost first
	Pads               []int // before each spatial dimension, then behind each
	Groups             int
	Layout             string // "NCHW", "NHWC", or that of another number of spatial dimensions
	Accumulate         tir.Type

	bias  *te.Tensor
	extra []int // what ConvTranspose adds behind each spatial dimension

	offsetGroups int // of DeformConv
}

// ConvOption is an option of Conv, Conv2D and ConvTranspose.
type ConvOption func(*ConvAttrs)

// Strides sets the stride along each spatial dimension, outermost first: height and width of an image.
func Strides(each ...int) ConvOption { return func(a *ConvAttrs) { a.Strides = each } }

// Dilations sets the distance between the elements of a filter along each spatial dimension; the default is 1.
func Dilations(each ...int) ConvOption { return func(a *ConvAttrs) { a.Dilations = each } }

// Pads sets the number of zeros on each side, in elements: before each spatial dimension, then behind each. For an
// image: above, left, below, right.
func Pads(all ...int) ConvOption { return func(a *ConvAttrs) { a.Pads = all } }

// Groups divides channels and filters into n groups that are convolved separately. With one group per channel the
// convolution is depthwise.
func Groups(n int) ConvOption { return func(a *ConvAttrs) { a.Groups = n } }

// Bias adds one number per filter: b is a vector with one element per filter.
func Bias(b *te.Tensor) ConvOption { return func(a *ConvAttrs) { a.bias = b } }

// Layout sets the order of the dimensions: channels first, the default ("NCW", "NCHW" or "NCDHW", by the number of
// spatial dimensions), or last ("NWC", "NHWC" or "NDHWC"), with filters of [kernel height, kernel width, channel, out].
func Layout(layout string) ConvOption { return func(a *ConvAttrs) { a.Layout = layout } }

// ConvAccumulateIn is AccumulateIn for convolutions; the bias has that type, too.
func ConvAccumulateIn(t tir.Type) ConvOption { return func(a *ConvAttrs) { a.Accumulate = t } }

// Conv2D is Conv of images. stride and padding apply to both directions unless options say otherwise.
func Conv2D(x, w *te.Tensor, name string, stride, padding int, options ...ConvOption) *te.Tensor {
	if bad := check(name, 4, x, w); bad != nil {
		return bad
	}
	return convolve("conv2d", x, w, name, &ConvAttrs{Strides: repeated(2, stride), Pads: repeated(4, padding)}, options)
}

// Conv convolves [batch, channel, spatial dimensions…] with filters [out, channel of the group, kernel…], of one to
// three spatial dimensions. Strides and dilations are 1 and pads are 0 unless options say otherwise. Types are as for
// Matmul. A window larger than the padded tensor is an error.
func Conv(x, w *te.Tensor, name string, options ...ConvOption) *te.Tensor {
	return convolve("conv", x, w, name, &ConvAttrs{}, options)
}

// repeated returns n equal numbers.
func repeated(n, v int) []int { return slices.Repeat([]int{v}, n) }

// set applies the options for a kind of operator, and sets what is missing to the defaults of a number of spatial
// dimensions.
func (a *ConvAttrs) set(name, kind string, spatial int, options []ConvOption) *te.Tensor {
	a.Groups = 1
	for _, o := range options {
		if o == nil {
			return failed(name, "an option is nil")
		}
		o(a)
	}
	switch {
	case a.extra != nil && kind != "convtranspose":
		return failed(name, "output padding: only ConvTranspose has it")
	case a.offsetGroups != 0 && kind != "deformconv":
		return failed(name, "groups of offsets: only DeformConv has them")
	}
	for _, f := range []struct {
		what    string
		numbers *[]int
		want    int
		missing int
	}{{"strides", &a.Strides, spatial, 1}, {"dilations", &a.Dilations, spatial, 1}, {"pads", &a.Pads, 2 * spatial, 0},
		{"sizes of output padding", &a.extra, spatial, 0}} {
		if *f.numbers == nil {
			*f.numbers = repeated(f.want, f.missing)
		}
		if n := len(*f.numbers); n != f.want {
			return failed(name, "%d %s for %d spatial dimensions: want %d", n, f.what, spatial, f.want)
		}
	}
	return nil
}

// convolve makes the tensor of a convolution; kind is that of its operator.
func convolve(kind string, x, w *te.Tensor, name string, a *ConvAttrs, options []ConvOption) *te.Tensor {
	spatial, bad := spatialDims(name, x)
	if bad != nil {
		return bad
	}
	if bad := check(name, spatial+2, w); bad != nil {
		return bad
	}
	if bad := a.set(name, kind, spatial, options); bad != nil {
		return bad
	}
	l, err := layoutOf(a.Layout, spatial)
	if err != nil {
		return failed(name, "%w", err)
	}
	f, s := w.ProducerShape(), x.ProducerShape()
	out, channels, kernel := f[0], f[1], f[2:]
	if l.last {
		kernel, channels, out = f[:spatial], f[spatial], f[spatial+1]
	}
	result, bad := accumulation(name, &a.Accumulate, x, w)
	if bad != nil {
		return bad
	}
	if bad := a.groups(name, x, w, s[l.c], channels, out); bad != nil {
		return bad
	}
	sides := make([]*side, spatial)
	shape := slices.Clone(s)
	shape[l.c] = out
	kc := reduceAxis(channels, "c")
	over := []*tir.IterVar{kc}
	before, behind, padded := make([]int, len(s)), make([]int, len(s)), false
	for d := range sides {
		v := &side{axis: l.first + d, size: s[l.first+d], kernel: kernel[d], stride: a.Strides[d],
			dilation: a.Dilations[d], before: a.Pads[d], behind: a.Pads[spatial+d]}
		if err := v.measure(x); err != nil {
			return failed(name, "%w", err)
		}
		sides[d], shape[v.axis] = v, v.out
		before[v.axis], behind[v.axis], padded = v.before, v.behind, padded || v.padded()
		over = append(over, reduceAxis(v.kernel, windowAxes[3-spatial+d]))
	}
	o := &Operator{Kind: kind, Inputs: []*te.Tensor{x, w}, Attrs: a}
	image := x
	if padded {
		image = Pad(x, name+".pad", before, behind)
		o.Parts = []*te.Tensor{image}
	}
	work, t := name, a.Accumulate
	if result != t || a.bias != nil {
		work = name + ".conv"
	}
	y := te.Compute(shape, work, func(i ...tir.Expr) tir.Expr {
		filter := i[l.c]
		channel := tir.Expr(kc.Var)
		if a.Groups > 1 {
			group := tir.FloorDiv(filter, simplified(tir.FloorDiv(out, like(out, a.Groups))))
			channel = simplified(tir.Add(tir.Mul(group, channels), channel))
		}
		at := slices.Clone(i)
		at[l.c] = channel
		weight := []tir.Expr{filter, kc.Var}
		for d, v := range sides {
			at[v.axis] = v.at(i[v.axis], over[1+d].Var)
			weight = append(weight, over[1+d].Var)
		}
		if l.last {
			weight = append(slices.Clone(weight[2:]), kc.Var, filter)
		}
		return te.Sum(tir.Mul(castTo(t, image.At(at...)), castTo(t, w.At(weight...))), over...)
	})
	return a.finish(by(y, o), name, result, out, l.c)
}

// groups checks the numbers of channels and filters.
func (a *ConvAttrs) groups(name string, x, w *te.Tensor, all, each, out tir.Expr) *te.Tensor {
	switch n, known := constSize(out); {
	case a.Groups < 1:
		return failed(name, "%d groups: want 1 or more", a.Groups)
	case a.Groups == 1 && !arith.ProveEqual(all, each):
		return failed(name, "tensor %s has %s channels, and the filters %s have %s", x.ProducerName(), text.Print(all),
			w.ProducerName(), text.Print(each))
	case !arith.ProveEqual(all, simplified(tir.Mul(each, like(each, a.Groups)))):
		return failed(name, "tensor %s has %s channels, and the filters %s have %s in each of %d groups", x.ProducerName(),
			text.Print(all), w.ProducerName(), text.Print(each), a.Groups)
	case a.Groups > 1 && (!known || n%int64(a.Groups) != 0):
		return failed(name, "tensor %s has %s filters, which cannot be divided into %d groups", w.ProducerName(),
			text.Print(out), a.Groups)
	}
	return nil
}

// finish adds the bias, and converts to the type of the result.
func (a *ConvAttrs) finish(y *te.Tensor, name string, result tir.Type, out tir.Expr, channel int) *te.Tensor {
	b := a.bias
	if b == nil {
		if result != a.Accumulate {
			return Cast(y, result, name)
		}
		return y
	}
	if bad := check(name, -1, b); bad != nil {
		return bad
	}
	if s := b.ProducerShape(); len(s) != 1 || !arith.ProveEqual(s[0], out) {
		return failed(name, "the bias, tensor %s, has shape %s: want one element for each of %s filters", b.ProducerName(),
			shapeText(s), text.Print(out))
	}
	if t := b.ProducerDType(); t != result {
		return failed(name, "the bias, tensor %s, has type %s, and the result has type %s: cast it",
			b.ProducerName(), t, result)
	}
	return te.Compute(y.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		return castTo(result, tir.Add(y.At(i...), castTo(a.Accumulate, b.At(i[channel]))))
	})
}

// OffsetGroups divides the channels of DeformConv into n groups with offsets and masks of their own.
func OffsetGroups(n int) ConvOption { return func(a *ConvAttrs) { a.offsetGroups = n } }

// DeformConv is Conv of images whose windows are deformed: element (p, q) of a window is read at its position plus an
// offset, by linear interpolation, with zeros outside. offset has two channels for each element of the window in each
// of the offset groups, along height and along width: [batch, groups·height·width·2, size of the result]. mask has
// one, by which the element is multiplied; nil: 1. Both have the type of x, a float, and kernels have a constant size.
func DeformConv(x, w, offset, mask *te.Tensor, name string, options ...ConvOption) *te.Tensor {
	if bad := check(name, 4, x, w, offset); bad != nil {
		return bad
	}
	if bad := floats.of(name, x); bad != nil {
		return bad
	}
	a := &ConvAttrs{offsetGroups: 1}
	if bad := a.set(name, "deformconv", 2, options); bad != nil {
		return bad
	}
	result, bad := accumulation(name, &a.Accumulate, x, w)
	if bad != nil {
		return bad
	}
	s, f := x.ProducerShape(), w.ProducerShape()
	if a.Layout != "" && a.Layout != layouts[2][0] {
		return failed(name, "layout %q: want %q for deformed convolutions", a.Layout, layouts[2][0])
	}
	if bad := a.groups(name, x, w, s[1], f[1], f[0]); bad != nil {
		return bad
	}
	channels, known := constSize(s[1])
	if n := a.offsetGroups; n < 1 || n > 1 && (!known || channels%int64(n) != 0) {
		return failed(name, "tensor %s has %s channels, which cannot be divided into %d groups of offsets",
			x.ProducerName(), text.Print(s[1]), n)
	}
	var sides []*side
	elements := a.offsetGroups // of a window, in all groups
	for d := range 2 {
		v := &side{axis: 2 + d, size: s[2+d], kernel: f[2+d], stride: a.Strides[d], dilation: a.Dilations[d],
			before: a.Pads[d], behind: a.Pads[2+d]}
		if err := v.measure(x); err != nil {
			return failed(name, "%w", err)
		}
		k, known := constSize(f[2+d])
		if !known || k > 1<<10 {
			return failed(name, "dimension %d of the filters %s is %s: want a constant of at most 1024", 2+d,
				w.ProducerName(), text.Print(f[2+d]))
		}
		elements *= int(k)
		sides = append(sides, v)
	}
	inputs := []*te.Tensor{x, w, offset}
	for n, t := range []*te.Tensor{offset, mask} {
		if t == nil && n == 1 {
			continue
		}
		if bad := check(name, 4, t); bad != nil {
			return bad
		}
		if bad := sameType(name, x, t); bad != nil {
			return bad
		}
		want := []tir.Expr{s[0], like(s[1], elements*(2-n)), sides[0].out, sides[1].out}
		for d, size := range t.ProducerShape() {
			if !arith.ProveEqual(size, want[d]) {
				return failed(name, "tensor %s has shape %s: want %s", t.ProducerName(), shapeText(t.ProducerShape()),
					shapeText(want))
			}
		}
		if n == 1 {
			inputs = append(inputs, mask)
		}
	}
	v := &sampler{x: x, mode: "linear", padding: "zeros", work: floatIn(x.ProducerDType())}
	// [batch, channel, kernel height, kernel width, height, width]
	read := te.Compute([]tir.Expr{s[0], s[1], f[2], f[3], sides[0].out, sides[1].out}, name+".read",
		func(i ...tir.Expr) tir.Expr {
			element := tir.Add(tir.Mul(castIndex(s[1], i[2]), castIndex(s[1], f[3])), castIndex(s[1], i[3]))
			if a.offsetGroups > 1 {
				group := tir.FloorDiv(i[1], like(i[1], int(channels)/a.offsetGroups))
				element = tir.Add(tir.Mul(group, like(i[1], elements/a.offsetGroups)), element)
			}
			element = simplified(element)
			var at []tir.Expr
			for d, side := range sides {
				from := tir.NewCast(v.work, plus(side.at(i[4+d], castIndex(i[4+d], i[2+d])), -side.before))
				channel := simplified(plus(tir.Mul(element, like(element, 2)), d))
				p := tir.Add(from, tir.NewCast(v.work, offset.At(i[0], channel, i[4], i[5])))
				at = append(at, v.limited(p))
			}
			e := v.sample(i[:2], at)
			if mask != nil {
				e = tir.Mul(e, tir.NewCast(v.work, mask.At(i[0], element, i[4], i[5])))
			}
			return tir.NewCast(a.Accumulate, e)
		})
	kc, kp, kq := reduceAxis(f[1], "c"), reduceAxis(f[2], "p"), reduceAxis(f[3], "q")
	last := name
	if result != a.Accumulate || a.bias != nil {
		last = name + ".conv"
	}
	y := te.Compute([]tir.Expr{s[0], f[0], sides[0].out, sides[1].out}, last, func(i ...tir.Expr) tir.Expr {
		channel := tir.Expr(kc.Var)
		if a.Groups > 1 {
			group := tir.FloorDiv(i[1], simplified(tir.FloorDiv(f[0], like(f[0], a.Groups))))
			channel = simplified(tir.Add(tir.Mul(castIndex(kc.Var, group), f[1]), channel))
		}
		return te.Sum(tir.Mul(read.At(i[0], channel, kp.Var, kq.Var, i[2], i[3]),
			castTo(a.Accumulate, w.At(i[1], kc.Var, kp.Var, kq.Var))), kc, kp, kq)
	})
	return a.finish(by(y, &Operator{Kind: "deformconv", Inputs: inputs, Attrs: a}), name, result, f[0], 1)
}
