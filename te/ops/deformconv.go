package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

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
