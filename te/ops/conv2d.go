package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// ConvAttrs holds the options of a convolution.
type ConvAttrs struct {
	Strides, Dilations [2]int // along height and width
	Pads               [4]int // above, left, below, right
	Groups             int
	Layout             string // "NCHW" or "NHWC"
	Accumulate         tir.Type

	bias *te.Tensor
}

// ConvOption is an option of Conv2D.
type ConvOption func(*ConvAttrs)

// Strides sets the strides along height and width separately.
func Strides(height, width int) ConvOption {
	return func(a *ConvAttrs) { a.Strides = [2]int{height, width} }
}

// Dilations sets the distance between the elements of a filter along height and width; the default is 1.
func Dilations(height, width int) ConvOption {
	return func(a *ConvAttrs) { a.Dilations = [2]int{height, width} }
}

// Pads sets the number of zeros on each side of the image, in elements.
func Pads(above, left, below, right int) ConvOption {
	return func(a *ConvAttrs) { a.Pads = [4]int{above, left, below, right} }
}

// Groups divides channels and filters into n groups that are convolved separately. With one group per channel the
// convolution is depthwise.
func Groups(n int) ConvOption { return func(a *ConvAttrs) { a.Groups = n } }

// Bias adds one number per filter: b is a vector with one element per filter.
func Bias(b *te.Tensor) ConvOption { return func(a *ConvAttrs) { a.bias = b } }

// Layout sets the order of the dimensions: "NCHW" (the default), or "NHWC", with filters of [kernel height, kernel
// width, channel, out].
func Layout(layout string) ConvOption { return func(a *ConvAttrs) { a.Layout = layout } }

// ConvAccumulateIn is AccumulateIn for convolutions; the bias has that type, too.
func ConvAccumulateIn(t tir.Type) ConvOption { return func(a *ConvAttrs) { a.Accumulate = t } }

// Conv2D convolves [batch, channel, height, width] with filters [out, channel of the group, kernel height, kernel
// width]. stride and padding apply to both directions unless options say otherwise. Types are as for Matmul. A window
// larger than the padded image is an error.
func Conv2D(x, w *te.Tensor, name string, stride, padding int, options ...ConvOption) *te.Tensor {
	a := &ConvAttrs{Strides: [2]int{stride, stride}, Dilations: [2]int{1, 1}, Pads: [4]int{padding, padding, padding,
		padding}, Groups: 1, Layout: "NCHW"}
	for _, o := range options {
		if o == nil {
			return failed(name, "an option is nil")
		}
		o(a)
	}
	if bad := check(name, 4, x, w); bad != nil {
		return bad
	}
	l, ok := layouts[a.Layout]
	if !ok || a.Layout == "" {
		return failed(name, "layout %q: want \"NCHW\" or \"NHWC\"", a.Layout)
	}
	f, s := w.ProducerShape(), x.ProducerShape()
	out, channels, p, q := f[0], f[1], f[2], f[3]
	if a.Layout == "NHWC" {
		p, q, channels, out = f[0], f[1], f[2], f[3]
	}
	result, bad := accumulation(name, &a.Accumulate, x, w)
	if bad != nil {
		return bad
	}
	if bad := a.groups(name, x, w, s[l.c], channels, out); bad != nil {
		return bad
	}
	h := &side{axis: l.h, size: s[l.h], kernel: p, stride: a.Strides[0], dilation: a.Dilations[0], before: a.Pads[0],
		behind: a.Pads[2]}
	v := &side{axis: l.w, size: s[l.w], kernel: q, stride: a.Strides[1], dilation: a.Dilations[1], before: a.Pads[1],
		behind: a.Pads[3]}
	for _, side := range []*side{h, v} {
		if err := side.measure(x); err != nil {
			return failed(name, "%w", err)
		}
	}
	o := &Operator{Kind: "conv2d", Inputs: []*te.Tensor{x, w}, Attrs: a}
	image := x
	if h.padded() || v.padded() {
		before, after := make([]int, 4), make([]int, 4)
		before[l.h], before[l.w], after[l.h], after[l.w] = h.before, v.before, h.behind, v.behind
		image = Pad(x, name+".pad", before, after)
		o.Parts = []*te.Tensor{image}
	}
	work, t := name, a.Accumulate
	if result != t || a.bias != nil {
		work = name + ".conv"
	}
	shape := []tir.Expr{s[0], out, h.out, v.out}
	if a.Layout == "NHWC" {
		shape = []tir.Expr{s[0], h.out, v.out, out}
	}
	kc, kp, kq := reduceAxis(channels, "c"), reduceAxis(p, "p"), reduceAxis(q, "q")
	y := te.Compute(shape, work, func(i ...tir.Expr) tir.Expr {
		filter := i[l.c]
		channel := tir.Expr(kc.Var)
		if a.Groups > 1 {
			group := tir.FloorDiv(filter, simplified(tir.FloorDiv(out, like(out, a.Groups))))
			channel = simplified(tir.Add(tir.Mul(group, channels), channel))
		}
		at := make([]tir.Expr, 4)
		at[0], at[l.c], at[l.h], at[l.w] = i[0], channel, h.at(i[l.h], kp.Var), v.at(i[l.w], kq.Var)
		weight := []tir.Expr{filter, kc.Var, kp.Var, kq.Var}
		if a.Layout == "NHWC" {
			weight = []tir.Expr{kp.Var, kq.Var, kc.Var, filter}
		}
		return te.Sum(tir.Mul(castTo(t, image.At(at...)), castTo(t, w.At(weight...))), kc, kp, kq)
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
