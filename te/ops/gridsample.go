package ops

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// GridSampleAttrs holds the options of GridSample.
type GridSampleAttrs struct {
	Mode         string // "linear", the default, "nearest" (ties to even) or "cubic", with the coefficient -0.75
	Padding      string // what is outside of x: "zeros", the default; "border", its nearest element; or "reflection"
	AlignCorners bool   // -1 and 1 are the centers of the outermost elements, not their outer edges
}

// GridSample reads x, [batch, channel, spatial dimensions…], at the positions in grid, [batch, sizes of the result…, 1
// to 3 coordinates]: those of the innermost dimension come first, and -1 and 1 are the ends of x. Between its elements
// it interpolates. Positions are float32, or float64 if x or grid is; floats of 16 bits and integers are computed in
// float32, and integers are rounded to nearest.
func GridSample(x, grid *te.Tensor, name string, a GridSampleAttrs) *te.Tensor {
	spatial, bad := spatialDims(name, x)
	if bad != nil {
		return bad
	}
	if bad := check(name, spatial+2, grid); bad != nil {
		return bad
	}
	if bad := numbers.of(name, x); bad != nil {
		return bad
	}
	if bad := floats.of(name, grid); bad != nil {
		return bad
	}
	for _, err := range []error{oneOf("mode", &a.Mode, "linear", "nearest", "cubic"),
		oneOf("padding", &a.Padding, "zeros", "border", "reflection")} {
		if err != nil {
			return failed(name, "%w", err)
		}
	}
	s, g := x.ProducerShape(), grid.ProducerShape()
	if !isConst(g[spatial+1], int64(spatial)) || !arith.ProveEqual(s[0], g[0]) {
		return failed(name, "the grid %s has shape %s: want %d coordinates in the last dimension, and %s in the first",
			grid.ProducerName(), shapeText(g), spatial, text.Print(s[0]))
	}
	if empty(s[2:]) {
		return failed(name, "tensor %s has shape %s: there are no elements to sample", x.ProducerName(), shapeText(s))
	}
	t := x.ProducerDType()
	work := floatIn(t)
	if grid.ProducerDType() == tir.Float64 {
		work = tir.Float64
	}
	v := &sampler{x: x, mode: a.Mode, padding: a.Padding, corners: a.AlignCorners, work: work}
	positions := te.Compute(g, name+".positions", func(i ...tir.Expr) tir.Expr {
		last := i[spatial+1]
		length := tir.NewCast(work, s[2])
		for d := 1; d < spatial; d++ { // the coordinate of the last dimension is the first
			length = tir.NewSelect(tir.EQ(last, like(last, spatial-1-d)), tir.NewCast(work, s[2+d]), length)
		}
		return v.position(tir.NewCast(work, grid.At(i...)), length)
	})
	shape := append(append([]tir.Expr{}, s[:2]...), g[1:spatial+1]...)
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at := make([]tir.Expr, spatial)
		for d := range at {
			last := like(g[spatial+1], spatial-1-d)
			at[d] = positions.At(append(append([]tir.Expr{i[0]}, i[2:]...), last)...)
		}
		return rounding(t, v.sample(i[:2], at))
	})
	return by(out, &Operator{Kind: "gridsample", Inputs: []*te.Tensor{x, grid}, Attrs: &a})
}

// sampler reads the last dimensions of a tensor at positions between its elements.
type sampler struct {
	x             *te.Tensor
	mode, padding string // as in GridSampleAttrs
	corners       bool
	work          tir.Type // of positions and values
}

// position returns the position for a normalized coordinate in a dimension of a length, both floats. Where it is
// outside of the dimension, and of the half elements at its ends unless the corners are aligned, it is moved there, by
// the rule for padding.
func (v *sampler) position(n, length tir.Expr) tir.Expr {
	c := func(f float64) tir.Expr { return tir.Const(v.work, f) }
	first, last := c(0), tir.Sub(length, c(1))
	p := tir.Mul(tir.Div(tir.Add(n, c(1)), c(2)), last)
	if !v.corners {
		p = tir.Div(tir.Sub(tir.Mul(tir.Add(n, c(1)), length), c(1)), c(2))
		first, last = c(-0.5), tir.Sub(length, c(0.5))
	}
	if v.mode == "nearest" {
		p = tir.Intrin("nearbyint", p)
	}
	outside := tir.Or(tir.LT(p, first), tir.GT(p, last))
	switch v.padding {
	case "border":
		p = tir.NewSelect(outside, tir.Max(c(0), tir.Min(p, tir.Sub(length, c(1)))), p)
	case "reflection":
		period := tir.Max(tir.Mul(tir.Sub(last, first), c(2)), c(1e-6)) // of a single element
		from := tir.Sub(p, first)
		from = tir.Sub(from, tir.Mul(tir.Intrin("floor", tir.Div(from, period)), period))
		p = tir.NewSelect(outside, tir.Add(first, tir.Min(from, tir.Sub(period, from))), p)
	}
	return v.limited(p)
}

// limited limits a position such that indices near it are of type int32; NaN stays.
func (v *sampler) limited(p tir.Expr) tir.Expr {
	far := tir.Const(v.work, 1<<30)
	near := tir.Const(v.work, -1<<30)
	return tir.NewSelect(tir.GT(p, far), far, tir.NewSelect(tir.LT(p, near), near, p))
}

// sample returns the value at positions of the last dimensions; lead are the indices of the others.
func (v *sampler) sample(lead, positions []tir.Expr) tir.Expr {
	s := v.x.ProducerShape()[len(lead):]
	var read func(at, rest, within []tir.Expr) tir.Expr
	read = func(at, rest, within []tir.Expr) tir.Expr {
		if len(rest) == 0 {
			return where(within, tir.NewCast(v.work, v.x.At(slices.Clone(at)...)), tir.Const(v.work, 0))
		}
		p, size := rest[0], s[len(at)-len(lead)]
		whole := tir.Intrin("floor", p)
		first, f := castTo(tir.Int32, whole), tir.Sub(p, whole)
		weights := []tir.Expr{nil}
		switch v.mode {
		case "linear":
			weights = []tir.Expr{tir.Sub(tir.Const(v.work, 1), f), f}
		case "cubic":
			weights = cubicWeights(f, -0.75)
		}
		var sum tir.Expr
		for n, w := range weights {
			index, inside := v.index(plus(first, n-(len(weights)-1)/2), size)
			e := read(append(slices.Clone(at), index), rest[1:], append(slices.Clone(within), inside...))
			if w != nil {
				e = tir.Mul(w, e)
			}
			if sum == nil {
				sum = e
			} else {
				sum = tir.Add(sum, e)
			}
		}
		return sum
	}
	return read(slices.Clone(lead), positions, nil)
}

// index returns the index of the element that stands for one that may be outside of a dimension, and the conditions
// under which there is one.
func (v *sampler) index(at, size tir.Expr) (index tir.Expr, within []tir.Expr) {
	n := tir.NewCast(at.DType(), size)
	switch v.padding {
	case "zeros":
		within = []tir.Expr{tir.GE(at, like(at, 0)), tir.LT(at, n)}
		return castIndex(size, at), within
	case "reflection":
		period := simplified(tir.Max(tir.Mul(n, like(at, 2)), like(at, 1)))
		mirrored := plus(tir.Sub(period, tir.FloorMod(at, period)), -1)
		if v.corners {
			period = simplified(tir.Max(plus(tir.Mul(n, like(at, 2)), -2), like(at, 1)))
			mirrored = tir.Sub(period, tir.FloorMod(at, period))
		}
		at = tir.Min(tir.FloorMod(at, period), mirrored)
	}
	return castIndex(size, clampIndex(at, size)), nil
}
