package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// RoiAlignAttrs holds the options of RoiAlign.
type RoiAlignAttrs struct {
	Height, Width int     // of the result
	Samples       int     // of each bin along height, and along width; 0: its size, rounded up, for averages only
	Scale         float64 // from the coordinates of regions to those of x; 0: 1
	Maximum       bool    // the greatest weighted element of a bin's samples; otherwise the mean of the samples
	HalfPixel     bool    // elements of x are at their centers; otherwise regions are at least one element large
}

// RoiAlign reads regions of images x, [batch, channel, height, width]: each is divided into Height·Width bins, which
// are sampled at regular positions by linear interpolation, as ONNX's operator of that name does. rois is [regions, 4],
// with the left, upper, right and lower end of each region; batches has the index of its image, an integer that is
// limited to those of x. The result is [regions, channel, Height, Width]. rois has the type of x, a float; floats of 16
// bits are computed in float32.
func RoiAlign(x, rois, batches *te.Tensor, name string, a RoiAlignAttrs) *te.Tensor {
	if bad := check(name, 4, x); bad != nil {
		return bad
	}
	if bad := check(name, 2, rois); bad != nil {
		return bad
	}
	if bad := check(name, 1, batches); bad != nil {
		return bad
	}
	if bad := floats.of(name, x); bad != nil {
		return bad
	}
	if bad := sameType(name, x, rois); bad != nil {
		return bad
	}
	if bad := indexes.of(name, batches); bad != nil {
		return bad
	}
	s, r := x.ProducerShape(), rois.ProducerShape()
	if a.Scale == 0 {
		a.Scale = 1
	}
	const most = 1 << 15
	switch {
	case !isConst(r[1], 4) || !arith.ProveEqual(r[0], batches.ProducerShape()[0]):
		return failed(name, "the regions %s have shape %s, and the indices of their images %s have %s: want [n, 4] and [n]",
			rois.ProducerName(), shapeText(r), batches.ProducerName(), shapeText(batches.ProducerShape()))
	case min(a.Height, a.Width) < 1 || a.Samples < 0 || max(a.Height, a.Width, a.Samples) > most:
		return failed(name, "%d by %d bins with %d samples: want 1 to %d, and 0 or more samples", a.Height, a.Width,
			a.Samples, most)
	case a.Maximum && a.Samples == 0:
		return failed(name, "the maximum of bins with 0 samples: want 1 or more; only averages choose their number")
	case math.IsNaN(a.Scale) || math.IsInf(a.Scale, 0):
		return failed(name, "the scale is %v: want a finite number", a.Scale)
	case isConst(s[0], 0) || empty(s[2:]):
		return failed(name, "tensor %s has shape %s: there are no elements to sample", x.ProducerName(), shapeText(s))
	}
	v := &regions{x: x, rois: rois, batches: batches, name: name, attrs: &a, work: workType(x.ProducerDType())}
	v.bins = v.measured()
	var y *te.Tensor
	if a.Samples > 0 {
		y = v.sampled()
	} else {
		y = v.averaged()
	}
	t := x.ProducerDType()
	out := Map(y, name, func(e tir.Expr) tir.Expr {
		if a.Samples > 0 && !a.Maximum {
			e = tir.Mul(e, tir.Const(v.work, 1/float64(a.Samples*a.Samples)))
		}
		return castTo(t, e)
	})
	return by(out, &Operator{Kind: "roialign", Inputs: []*te.Tensor{x, rois, batches}, Attrs: &a})
}

// regions is the state of RoiAlign. Of two numbers, the first is that of the height.
type regions struct {
	x, rois, batches *te.Tensor
	name             string
	attrs            *RoiAlignAttrs
	work             tir.Type
	bins             *te.Tensor // [regions, height or width, 2]: the begin of the region and the size of a bin
}

// measured computes the bins of the regions.
func (v *regions) measured() *te.Tensor {
	n := v.rois.ProducerShape()
	number := func(f float64) tir.Expr { return tir.Const(v.work, f) }
	return te.Compute([]tir.Expr{n[0], like(n[1], 2), like(n[1], 2)}, v.name+".bins", func(i ...tir.Expr) tir.Expr {
		end := func(which int) tir.Expr { // coordinates of the height are 1 and 3
			at := tir.Sub(like(i[1], which), i[1])
			e := tir.Mul(castTo(v.work, v.rois.At(i[0], castIndex(n[1], at))), number(v.attrs.Scale))
			if v.attrs.HalfPixel {
				e = tir.Sub(e, number(0.5))
			}
			return e
		}
		begin := end(1)
		length := tir.Sub(end(3), begin)
		if !v.attrs.HalfPixel {
			length = tir.Max(length, number(1))
		}
		count := tir.NewSelect(tir.EQ(i[1], like(i[1], 0)), number(float64(v.attrs.Height)), number(float64(v.attrs.Width)))
		return tir.NewSelect(tir.EQ(i[2], like(i[2], 0)), begin, tir.Div(length, count))
	})
}

// bin returns the begin and the size of a bin along the height (0) or the width (1).
func (v *regions) bin(region tir.Expr, d int, at tir.Expr) (begin, size tir.Expr) {
	n := v.rois.ProducerShape()[1]
	size = v.bins.At(region, like(n, d), like(n, 1))
	return tir.Add(v.bins.At(region, like(n, d), like(n, 0)), tir.Mul(tir.NewCast(v.work, at), size)), size
}

// element returns an element of the image of a region; 0 if there are no images, or they have no elements.
func (v *regions) element(region, channel, h, w tir.Expr) tir.Expr {
	s := v.x.ProducerShape()
	var some []tir.Expr
	for _, d := range []int{0, 2, 3} {
		if _, known := constSize(s[d]); !known {
			some = append(some, tir.GT(s[d], like(s[d], 0)))
		}
	}
	image := clampIndex(tir.NewCast(tir.Int64, v.batches.At(region)), s[0])
	return where(some, castTo(v.work, v.x.At(castIndex(s[0], image), channel, h, w)), tir.Const(v.work, 0))
}

// limits returns the position limited to a dimension, and whether it is outside.
func (v *regions) limits(p, size tir.Expr) (limited, outside tir.Expr) {
	zero, one, n := tir.Const(v.work, 0), tir.Const(v.work, 1), tir.NewCast(v.work, size)
	inside := tir.And(tir.GE(p, tir.Const(v.work, -1)), tir.LE(p, n))
	return tir.Max(zero, tir.Min(p, tir.Sub(n, one))), tir.NewNot(inside)
}

// sampled reduces a fixed number of samples.
func (v *regions) sampled() *te.Tensor {
	s, a := v.x.ProducerShape(), v.attrs
	zero, one := tir.Const(v.work, 0), tir.Const(v.work, 1)
	samples := [2]*tir.IterVar{reduceAxis(like(s[2], a.Samples), "y"), reduceAxis(like(s[3], a.Samples), "x")}
	shape := []tir.Expr{v.rois.ProducerShape()[0], s[1], like(s[2], a.Height), like(s[3], a.Width)}
	return te.Compute(shape, v.name+".samples", func(i ...tir.Expr) tir.Expr {
		var index, weight [2][2]tir.Expr // of the elements before and behind the sample
		var outside [2]tir.Expr
		for d := range 2 {
			begin, size := v.bin(i[0], d, i[2+d])
			at := tir.Add(tir.NewCast(v.work, samples[d].Var), tir.Const(v.work, 0.5))
			p := tir.Add(begin, tir.Div(tir.Mul(at, size), tir.Const(v.work, float64(a.Samples))))
			p, outside[d] = v.limits(p, s[2+d])
			low := clampIndex(castTo(tir.Int32, p), s[2+d])
			f := tir.Sub(p, tir.NewCast(v.work, low))
			index[d] = [2]tir.Expr{castIndex(s[2+d], low), castIndex(s[2+d], clampIndex(plus(low, 1), s[2+d]))}
			weight[d] = [2]tir.Expr{tir.Sub(one, f), f}
		}
		var sum tir.Expr
		for n := range 4 {
			y, x := n/2, n%2
			e := tir.Mul(tir.Mul(weight[0][y], weight[1][x]), v.element(i[0], i[1], index[0][y], index[1][x]))
			switch {
			case sum == nil:
				sum = e
			case a.Maximum:
				sum = tir.Max(sum, e)
			default:
				sum = tir.Add(sum, e)
			}
		}
		sum = tir.NewSelect(tir.Or(outside[0], outside[1]), zero, sum)
		if a.Maximum {
			return maxOver(sum, samples[:]...)
		}
		return te.Sum(sum, samples[:]...)
	})
}

// averaged computes the mean of as many samples as a region needs, which is not known before. The mean is a product of
// matrices: of the weights of rows, the image, and the weights of columns.
func (v *regions) averaged() *te.Tensor {
	s, n := v.x.ProducerShape(), v.rois.ProducerShape()[0]
	rows, columns := v.weights(0, v.attrs.Height), v.weights(1, v.attrs.Width)
	h, w := reduceAxis(s[2], "h"), reduceAxis(s[3], "w")
	halves := []tir.Expr{n, s[1], like(s[2], v.attrs.Height), s[3]}
	part := te.Compute(halves, v.name+".rows", func(i ...tir.Expr) tir.Expr {
		return te.Sum(tir.Mul(rows.At(i[0], i[2], h.Var), v.element(i[0], i[1], h.Var, i[3])), h)
	})
	shape := []tir.Expr{n, s[1], like(s[2], v.attrs.Height), like(s[3], v.attrs.Width)}
	return te.Compute(shape, v.name+".mean", func(i ...tir.Expr) tir.Expr {
		return te.Sum(tir.Mul(part.At(i[0], i[1], i[2], w.Var), columns.At(i[0], i[3], w.Var)), w)
	})
}

// nearSamples is the number of samples around an element that it may have a weight in: they are more than half an
// element apart if there are several, so that less than one element away there are at most 5. The first one is found
// with a rounding error of one.
const nearSamples = 8

// weights returns the weight of each element of a dimension in the mean of each bin: [regions, bins, elements].
func (v *regions) weights(d, bins int) *te.Tensor {
	size := v.x.ProducerShape()[2+d]
	number := func(f float64) tir.Expr { return tir.Const(v.work, f) }
	k := reduceAxis(tir.I32(nearSamples), "sample")
	shape := []tir.Expr{v.rois.ProducerShape()[0], like(size, bins), size}
	return te.Compute(shape, v.name+[]string{".y", ".x"}[d], func(i ...tir.Expr) tir.Expr {
		begin, length := v.bin(i[0], d, i[1])
		count := castTo(tir.Int32, tir.Min(tir.Intrin("ceil", length), number(1<<29)))
		samples := tir.Max(tir.NewCast(v.work, count), number(1))
		step := tir.Max(tir.Div(length, samples), number(1e-30))
		element := tir.NewCast(v.work, i[2])
		first := tir.Div(tir.Sub(tir.Sub(element, number(1)), begin), step)
		first = tir.Max(number(0), tir.Min(tir.Sub(tir.Intrin("floor", first), number(1)), samples))
		sample := tir.Add(castTo(tir.Int32, first), k.Var)
		p := tir.Add(begin, tir.Mul(tir.Add(tir.NewCast(v.work, sample), number(0.5)), step))
		p, outside := v.limits(p, size)
		w := tir.Max(number(0), tir.Sub(number(1), tir.Intrin("fabs", tir.Sub(element, p))))
		none := tir.Or(outside, tir.GE(sample, count))
		return te.Sum(tir.NewSelect(none, number(0), tir.Div(w, samples)), k)
	})
}
