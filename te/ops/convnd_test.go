//go:build cgo

package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

// points calls f with all indices of a shape.
func points(shape []int, f func(i []int)) {
	each(tir.Float64, shape, func(i []int) float64 {
		f(i)
		return 0
	})
}

// inside returns the element at indices, and false if they are outside of the tensor.
func (a *nd) inside(i []int) (float64, bool) {
	for d, x := range i {
		if x < 0 || x >= a.shape[d] {
			return 0, false
		}
	}
	return a.at(i...), true
}

// convND describes a convolution of any number of spatial dimensions, or a transposed one.
type convND struct {
	name            string
	x, w            []int // the shapes
	strides, dilate []int // nil: 1
	pads            []int // nil: 0
	extra           []int // output padding
	groups          int
	bias            bool
}

// full sets what is missing.
func (c convND) full() convND {
	spatial := len(c.x) - 2
	for _, f := range []struct {
		at       *[]int
		count, v int
	}{{&c.strides, spatial, 1}, {&c.dilate, spatial, 1}, {&c.pads, 2 * spatial, 0}, {&c.extra, spatial, 0}} {
		if *f.at == nil {
			*f.at = repeated(f.count, f.v)
		}
	}
	c.groups = max(c.groups, 1)
	return c
}

func (c convND) inputs(t, result tir.Type, filters int) []*nd {
	x, w := sample(t, c.x...), sample(t, c.w...)
	for i := range w.v { // another pattern than that of x
		w.v[i] = rounded16(t, w.v[i]*float64(i%3))
	}
	if c.bias {
		return []*nd{x, w, sample(result, filters)}
	}
	return []*nd{x, w}
}

func (c convND) options(x []*te.Tensor, t, result tir.Type) (options []ConvOption) {
	if c.bias {
		options = append(options, Bias(x[2]))
	}
	if t != result {
		options = append(options, ConvAccumulateIn(result))
	}
	if c.groups > 0 {
		options = append(options, Groups(c.groups))
	}
	for _, o := range []struct {
		numbers []int
		option  func(...int) ConvOption
	}{{c.strides, Strides}, {c.dilate, Dilations}, {c.pads, Pads}, {c.extra, OutputPadding}} {
		if o.numbers != nil {
			options = append(options, o.option(o.numbers...))
		}
	}
	return options
}

// conv makes a case of Conv for a type of the operands and of the result.
func (c convND) conv(t, result tir.Type) opCase {
	f, spatial := c.full(), len(c.x)-2
	ins := c.inputs(t, result, c.w[0])
	shape := []int{c.x[0], c.w[0]}
	for d, n := range c.x[2:] {
		shape = append(shape, (n+f.pads[d]+f.pads[spatial+d]-(c.w[2+d]-1)*f.dilate[d]-1)/f.strides[d]+1)
	}
	each := each(result, shape, func(i []int) float64 {
		sum := 0.0
		points(c.w[1:], func(k []int) {
			at := []int{i[0], i[1]/(c.w[0]/f.groups)*c.w[1] + k[0]}
			for d := range spatial {
				at = append(at, i[2+d]*f.strides[d]+k[1+d]*f.dilate[d]-f.pads[d])
			}
			e, _ := ins[0].inside(at)
			sum += e * ins[1].at(append([]int{i[1]}, k...)...)
		})
		if c.bias {
			sum += ins[2].v[i[1]]
		}
		return rounded16(result, sum)
	})
	return opCase{name: fmt.Sprintf("%s of %s", c.name, t), ins: ins, want: each,
		make: func(x []*te.Tensor) *te.Tensor { return Conv(x[0], x[1], "Y", c.options(x, t, result)...) }}
}

// transposed makes a case of ConvTranspose: each element is added to the results that it contributes to.
func (c convND) transposed(t, result tir.Type) opCase {
	f, spatial := c.full(), len(c.x)-2
	filters := c.w[1] * f.groups
	ins := c.inputs(t, result, filters)
	shape := []int{c.x[0], filters}
	for d, n := range c.x[2:] {
		shape = append(shape, (n-1)*f.strides[d]+f.extra[d]+(c.w[2+d]-1)*f.dilate[d]+1-f.pads[d]-f.pads[spatial+d])
	}
	want := each(result, shape, func(i []int) float64 {
		if c.bias {
			return ins[2].v[i[1]]
		}
		return 0
	})
	points(c.x, func(i []int) {
		points(c.w[1:], func(k []int) {
			to := []int{i[0], i[1]/(c.x[1]/f.groups)*c.w[1] + k[0]}
			for d := range spatial {
				to = append(to, i[2+d]*f.strides[d]+k[1+d]*f.dilate[d]-f.pads[d])
			}
			if _, ok := want.inside(to); ok {
				want.v[want.position(to)] += ins[0].at(i...) * ins[1].at(append([]int{i[1]}, k...)...)
			}
		})
	})
	for i, v := range want.v {
		want.v[i] = rounded16(result, v)
	}
	return opCase{name: fmt.Sprintf("transposed, %s of %s", c.name, t), ins: ins, want: want,
		make: func(x []*te.Tensor) *te.Tensor { return ConvTranspose(x[0], x[1], "Y", c.options(x, t, result)...) }}
}

var _ = valueCases("conv", convCases)

func convCases() (cases []opCase) {
	all := []convND{
		{name: "1-D", x: []int{2, 3, 9}, w: []int{4, 3, 3}},
		{name: "1-D, all options", x: []int{2, 4, 13}, w: []int{6, 2, 3}, strides: []int{2}, dilate: []int{3},
			pads: []int{2, 1}, groups: 2, bias: true},
		{name: "1-D, depthwise", x: []int{1, 5, 40}, w: []int{5, 1, 4}, pads: []int{3, 0}, groups: 5, bias: true},
		{name: "2-D", x: []int{1, 2, 6, 7}, w: []int{3, 2, 2, 3}, strides: []int{2, 1}, pads: []int{1, 0, 0, 1}, bias: true},
		{name: "3-D", x: []int{2, 2, 4, 5, 6}, w: []int{3, 2, 2, 3, 2}},
		{name: "3-D, all options", x: []int{1, 4, 5, 6, 7}, w: []int{4, 2, 3, 2, 2}, strides: []int{2, 1, 3},
			dilate: []int{1, 3, 2}, pads: []int{1, 0, 2, 1, 2, 0}, groups: 2, bias: true},
		{name: "1-D, large", x: []int{1, 40, 66}, w: []int{24, 40, 5}, pads: []int{2, 2}},
		{name: "3-D, large", x: []int{1, 8, 6, 9, 10}, w: []int{16, 8, 3, 3, 3}, pads: []int{1, 1, 1, 1, 1, 1}, bias: true},
		{name: "none", x: []int{0, 2, 5}, w: []int{3, 2, 2}},
	}
	for n, t := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.Int32} {
		for k, c := range all {
			if t == tir.Float32 || (n+k)%4 == 0 {
				cases = append(cases, c.conv(t, t))
			}
		}
	}
	return append(cases, all[1].conv(tir.Int8, tir.Int32), all[5].conv(tir.UInt8, tir.Int32))
}

var _ = valueCases("convtranspose", convtransposeCases)

func convtransposeCases() (cases []opCase) {
	all := []convND{
		{name: "1-D", x: []int{2, 3, 5}, w: []int{3, 4, 3}},
		{name: "1-D, strides", x: []int{1, 2, 5}, w: []int{2, 3, 4}, strides: []int{2}, pads: []int{1, 2}, bias: true},
		{name: "1-D, long strides", x: []int{1, 2, 4}, w: []int{2, 3, 2}, strides: []int{3}, extra: []int{2}},
		{name: "1-D, dilation", x: []int{1, 2, 6}, w: []int{2, 3, 3}, dilate: []int{2}, pads: []int{3, 0}},
		{name: "1-D, both", x: []int{1, 2, 4}, w: []int{2, 3, 3}, strides: []int{2}, dilate: []int{3}, bias: true},
		{name: "2-D", x: []int{2, 3, 4, 3}, w: []int{3, 2, 3, 3}, strides: []int{2, 2}, pads: []int{1, 1, 1, 1},
			extra: []int{1, 1}, bias: true},
		{name: "2-D, groups", x: []int{1, 4, 3, 5}, w: []int{4, 3, 3, 2}, strides: []int{1, 3}, pads: []int{0, 2, 1, 0},
			groups: 2, bias: true},
		{name: "2-D, depthwise", x: []int{1, 3, 5, 4}, w: []int{3, 1, 2, 2}, strides: []int{2, 2}, groups: 3},
		{name: "2-D, mixed", x: []int{1, 2, 4, 5}, w: []int{2, 3, 2, 3}, strides: []int{2, 3}, dilate: []int{2, 1},
			pads: []int{1, 2, 0, 1}, extra: []int{0, 1}},
		{name: "3-D", x: []int{1, 2, 3, 2, 4}, w: []int{2, 2, 2, 3, 3}, strides: []int{2, 1, 2}, dilate: []int{1, 2, 1},
			pads: []int{0, 1, 1, 1, 0, 2}, bias: true},
		{name: "2-D, large", x: []int{1, 16, 12, 13}, w: []int{16, 8, 4, 4}, strides: []int{2, 2}, pads: []int{1, 1, 1, 1}},
		{name: "pads beyond the filter", x: []int{1, 2, 9}, w: []int{2, 2, 2}, strides: []int{2}, pads: []int{5, 4}},
		{name: "none", x: []int{0, 2, 5}, w: []int{2, 3, 2}, strides: []int{2}},
	}
	for n, t := range []tir.Type{tir.Float32, tir.Float64, tir.BFloat16, tir.Int32} {
		for k, c := range all {
			if t == tir.Float32 || (n+k)%5 == 0 {
				cases = append(cases, c.transposed(t, t))
			}
		}
	}
	return append(cases, all[5].transposed(tir.Int8, tir.Int32))
}
