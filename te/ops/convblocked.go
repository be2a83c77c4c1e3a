package ops

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/ops/winograd"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// ConvBlocked is Conv of images whose channels are divided into blocks, so that the channels of a block are contiguous:
// x is [batch, block, height, width, channel], and the result is [batch, out block, height, width, out]. Vectors of
// CPUs then process the channels of a block, whatever the width of the image.
//
// The filters are [out block, block of the group, kernel height, kernel width, channel, out]; or
// [out block, channel, kernel height, kernel width, out] for x without blocks, [batch, channel, height, width]; or
// [block, kernel height, kernel width, channel] to convolve each channel with a filter of its own. The options are
// Strides, Dilations, Pads, and Groups for the first of these forms.
func ConvBlocked(x, w *te.Tensor, name string, options ...ConvOption) *te.Tensor {
	const kind, spatial = "convblocked", 2
	if bad := check(name, -1, x, w); bad != nil {
		return bad
	}
	a := &ConvAttrs{}
	if bad := a.set(name, kind, spatial, options); bad != nil {
		return bad
	}
	if a.bias != nil || a.Layout != "" {
		return failed(name, "a bias and a layout: blocked convolutions have none")
	}
	s, f := x.ProducerShape(), w.ProducerShape()
	blocked, each := len(s) == 5, len(f) == 4
	if want := 6 - (5 - len(s)); len(s) < 4 || len(s) > 5 || len(f) != want && !(blocked && each) {
		return failed(name, "tensor %s has %d dimensions, and the filters %s have %d: want 5 and 6, 4 and 5, or 5 and 4",
			x.ProducerName(), len(s), w.ProducerName(), len(f))
	}
	result, bad := accumulation(name, &a.Accumulate, x, w)
	if bad != nil {
		return bad
	}
	if result != a.Accumulate {
		return failed(name, "accumulation in %s for a result of %s: want the type of the result", a.Accumulate, result)
	}
	if bad := checkBlocked(name, a.Groups, s, f); bad != nil {
		return bad
	}
	kernel := f[2:4]
	shape := []tir.Expr{s[0], f[0], nil, nil, f[len(f)-1]}
	if each {
		kernel = f[1:3]
	}
	sides := make([]*side, spatial)
	before, behind, padded := make([]int, len(s)), make([]int, len(s)), false
	over := []*tir.IterVar{nil, nil}
	for d := range sides {
		v := &side{axis: 2 + d, size: s[2+d], kernel: kernel[d], stride: a.Strides[d], dilation: a.Dilations[d],
			before: a.Pads[d], behind: a.Pads[spatial+d]}
		if err := v.measure(x); err != nil {
			return failed(name, "%w", err)
		}
		sides[d], shape[v.axis] = v, v.out
		before[v.axis], behind[v.axis], padded = v.before, v.behind, padded || v.padded()
		over[d] = reduceAxis(v.kernel, windowAxes[1+d])
	}
	o := &Operator{Kind: kind, Inputs: []*te.Tensor{x, w}, Attrs: a}
	image := x
	if padded {
		image = Pad(x, name+".pad", before, behind)
		o.Parts = []*te.Tensor{image}
	}
	t := a.Accumulate
	product := func(at, weight []tir.Expr) tir.Expr {
		return tir.Mul(castTo(t, image.At(at...)), castTo(t, w.At(weight...)))
	}
	p, q := over[0].Var, over[1].Var
	y := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at := slices.Clone(i[:len(s)])
		for d, v := range sides {
			at[v.axis] = v.at(i[v.axis], over[d].Var)
		}
		if each {
			return te.Sum(product(at, []tir.Expr{i[1], p, q, i[4]}), over...)
		}
		block := reduceAxis(f[1], "c")
		at[1] = block.Var
		if a.Groups > 1 {
			group := tir.FloorDiv(i[1], simplified(tir.FloorDiv(f[0], like(f[0], a.Groups))))
			at[1] = simplified(tir.Add(tir.Mul(group, f[1]), block.Var))
		}
		if !blocked {
			return te.Sum(product(at, []tir.Expr{i[1], block.Var, p, q, i[4]}), append([]*tir.IterVar{block}, over...)...)
		}
		channel := reduceAxis(f[4], "e")
		at[4] = channel.Var
		return te.Sum(product(at, []tir.Expr{i[1], block.Var, p, q, channel.Var, i[4]}),
			append(append([]*tir.IterVar{block}, over...), channel)...)
	})
	return by(y, o)
}

// checkBlocked checks the numbers of channels and filters of a blocked convolution.
func checkBlocked(name string, groups int, s, f []tir.Expr) *te.Tensor {
	if len(f) == 4 {
		if !arith.ProveEqual(s[1], f[0]) || !arith.ProveEqual(s[4], f[3]) || groups != 1 {
			return failed(name, "the image has shape %s, and the filters of single channels %s: want as many channels, and "+
				"no groups", shapeText(s), shapeText(f))
		}
		return nil
	}
	out, known := constSize(f[0])
	switch {
	case groups < 1 || groups > 1 && (len(s) != 5 || !known || out%int64(groups) != 0):
		return failed(name, "%s blocks of filters cannot be divided into %d groups", text.Print(f[0]), groups)
	case !arith.ProveEqual(s[1], simplified(tir.Mul(f[1], like(f[1], groups)))),
		len(s) == 5 && !arith.ProveEqual(s[4], f[4]):
		return failed(name, "the image has shape %s, and the filters %s in %d groups: want as many channels", shapeText(s),
			shapeText(f), groups)
	}
	return nil
}

// ConvWinograd is ConvBlocked for filters of 3×3, stride 1 and one group, by Winograd's algorithm, which multiplies 4
// times less: the results are computed in tiles of 4×4. x is [batch, block, height, width, channel]; w holds filters
// that are transformed by winograd.Filters, G·g·Gᵀ, [out block, 6, 6, block, channel, out]; the result is [batch, out
// block, height, width, out]. The only option is Pads. The type is float32 or float64.
//
// The error of a result is at most 820·c·(c+30)·u·max|x|·max|g| for c channels, with u = 2⁻²⁴ for float32, and 2⁻⁵³ for
// float64; at the mean it is two to three times that of a direct convolution. An infinity or NaN in the image may make
// all results of the tiles that read it infinite or NaN.
func ConvWinograd(x, w *te.Tensor, name string, options ...ConvOption) *te.Tensor {
	if bad := check(name, 5, x); bad != nil {
		return bad
	}
	if bad := check(name, 6, w); bad != nil {
		return bad
	}
	a := &ConvAttrs{}
	if bad := a.set(name, "convwinograd", 2, options); bad != nil {
		return bad
	}
	if a.bias != nil || a.Layout != "" || a.Groups != 1 ||
		slices.ContainsFunc(slices.Concat(a.Strides, a.Dilations), func(n int) bool { return n != 1 }) {
		return failed(name, "a bias, a layout, groups, strides or dilations: the only option is Pads")
	}
	result, bad := accumulation(name, &a.Accumulate, x, w)
	if bad != nil {
		return bad
	}
	if result != tir.Float32 && result != tir.Float64 || a.Accumulate != result || x.ProducerDType() != result {
		return failed(name, "tensor %s of %s, and sums in %s: want float32 or float64 for both", x.ProducerName(),
			x.ProducerDType(), a.Accumulate)
	}
	s, f := x.ProducerShape(), w.ProducerShape()
	if !isConst(f[1], winograd.Tile) || !isConst(f[2], winograd.Tile) {
		return failed(name, "the filters %s have shape %s: want [out block, 6, 6, block, channel, out]",
			w.ProducerName(), shapeText(f))
	}
	if !arith.ProveEqual(s[1], f[3]) || !arith.ProveEqual(s[4], f[4]) {
		return failed(name, "the image has shape %s, and the filters %s: want as many blocks and channels", shapeText(s),
			shapeText(f))
	}
	var out [2]tir.Expr
	for d := range out {
		v := &side{axis: 2 + d, size: s[2+d], kernel: like(s[2+d], 3), stride: a.Strides[d], dilation: a.Dilations[d],
			before: a.Pads[d], behind: a.Pads[2+d]}
		if err := v.measure(x); err != nil {
			return failed(name, "%w", err)
		}
		out[d] = v.out
	}
	y, parts := winograd.Conv(x, w, name, [2]int{a.Pads[0], a.Pads[1]}, out)
	return by(y, &Operator{Kind: "convwinograd", Inputs: []*te.Tensor{x, w}, Attrs: a, Parts: parts})
}
