//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tvmgo/te"
	"tvmgo/tir"
)

// sampledBy reads x at a position of its last dimensions by the definition; index returns the element that stands for
// one outside, -1 for none.
func sampledBy(x *nd, lead []int, position []float64, kernel func(d float64) float64,
	index func(i, n int) int) float64 {
	if len(position) == 0 {
		return x.at(lead...)
	}
	sum := 0.0
	for i := int(math.Floor(position[0])) - 2; i <= int(math.Floor(position[0]))+3; i++ {
		w := kernel(float64(i) - position[0])
		if n := index(i, x.shape[len(lead)]); w != 0 && n >= 0 {
			sum += w * sampledBy(x, append(slices.Clone(lead), n), position[1:], kernel, index)
		}
	}
	return sum
}

func linearKernel(d float64) float64 { return math.Max(0, 1-math.Abs(d)) }

func zerosOutside(i, n int) int {
	if i < 0 || i >= n {
		return -1
	}
	return i
}

// gridSampleBy is GridSample by its definition.
func gridSampleBy(x, grid *nd, a GridSampleAttrs) *nd {
	spatial := len(x.shape) - 2
	kernel := linearKernel
	if a.Mode == "cubic" {
		kernel = func(d float64) float64 {
			switch d = math.Abs(d); {
			case d <= 1:
				return 1.25*d*d*d - 2.25*d*d + 1
			case d < 2:
				return -0.75*d*d*d + 3.75*d*d - 6*d + 3
			}
			return 0
		}
	}
	mirror := func(p float64, n int) float64 {
		first, last := -0.5, float64(n)-0.5
		if a.AlignCorners {
			first, last = 0, float64(n-1)
		}
		for p < first || p > last {
			if first == last {
				return first
			}
			if p < first {
				p = 2*first - p
			} else {
				p = 2*last - p
			}
		}
		return p
	}
	index := zerosOutside
	switch a.Padding {
	case "border":
		index = func(i, n int) int { return min(max(i, 0), n-1) }
	case "reflection":
		index = func(i, n int) int { return int(mirror(float64(i), n)) }
	}
	shape := append(slices.Clone(x.shape[:2]), grid.shape[1:spatial+1]...)
	return each(x.t, shape, func(i []int) float64 {
		var position []float64
		for d := range spatial {
			n := x.shape[2+d]
			g := grid.at(append(append([]int{i[0]}, i[2:]...), spatial-1-d)...)
			p := ((g+1)*float64(n) - 1) / 2
			if a.AlignCorners {
				p = (g + 1) / 2 * float64(n-1)
			}
			if a.Mode == "nearest" {
				p = math.RoundToEven(p)
			}
			if edge := mirror(p, n); edge != p && a.Padding == "reflection" {
				p = edge
			} else if edge != p && a.Padding == "border" {
				p = min(max(p, 0), float64(n-1))
			}
			position = append(position, p)
		}
		v := sampledBy(x, i[:2], position, kernel, index)
		if tir.IsInt(x.t) {
			v = math.RoundToEven(v)
		}
		return rounded16(x.t, v)
	})
}

var _ = valueCases("gridsample", gridsampleCases)

func gridsampleCases() (cases []opCase) {
	add := func(t, g tir.Type, shape, out []int, a GridSampleAttrs) {
		x := sample(t, shape...)
		spatial := len(shape) - 2
		// positions a little beyond the ends, in steps that are exact in every type, and far away
		grid := filled(g, append(append([]int{shape[0]}, out...), spatial), func(i int) float64 {
			if i == 7 {
				return 6.25
			}
			return float64((i*11+5)%27-13) / 8
		})
		tol := 8 * tolerance(t)
		if t == tir.Float32 {
			tol = 2e-5
		}
		cases = append(cases, opCase{name: fmt.Sprintf("%+v of %v of %s at %v of %s", a, shape, t, out, g),
			ins: []*nd{x, grid}, tol: tol, want: gridSampleBy(x, grid, a),
			make: func(x []*te.Tensor) *te.Tensor { return GridSample(x[0], x[1], "Y", a) }})
	}
	f := tir.Float32
	for _, mode := range []string{"linear", "nearest", "cubic"} {
		for _, padding := range []string{"zeros", "border", "reflection"} {
			for _, corners := range []bool{false, true} {
				add(f, f, []int{2, 3, 5, 4}, []int{3, 6}, GridSampleAttrs{mode, padding, corners})
			}
		}
	}
	add(f, f, []int{2, 2, 3, 4, 5}, []int{2, 3, 2}, GridSampleAttrs{"", "", false})
	add(f, f, []int{1, 2, 3, 4, 2}, []int{2, 3, 2}, GridSampleAttrs{"nearest", "border", true})
	add(f, f, []int{1, 2, 7}, []int{9}, GridSampleAttrs{"cubic", "reflection", true})
	add(f, f, []int{1, 2, 1, 2}, []int{3, 3}, GridSampleAttrs{"linear", "reflection", true})
	add(tir.Float64, f, []int{1, 2, 3, 4}, []int{3, 3}, GridSampleAttrs{"linear", "border", false})
	add(tir.Float16, f, []int{1, 2, 3, 4}, []int{3, 3}, GridSampleAttrs{"linear", "zeros", false})
	add(tir.Float16, tir.Float16, []int{1, 2, 3, 4}, []int{3, 3}, GridSampleAttrs{"linear", "zeros", true})
	add(tir.Int32, f, []int{1, 2, 3, 4}, []int{3, 3}, GridSampleAttrs{"nearest", "zeros", false})
	return cases
}

var _ = valueCases("deformconv", deformconvCases)

func deformconvCases() (cases []opCase) {
	add := func(c convND, offsetGroups int, masked bool, t tir.Type) {
		f := c.full()
		ins := c.inputs(t, t, c.w[0])
		shape := []int{c.x[0], c.w[0]}
		for d, n := range c.x[2:] {
			shape = append(shape, (n+f.pads[d]+f.pads[2+d]-(c.w[2+d]-1)*f.dilate[d]-1)/f.strides[d]+1)
		}
		elements := offsetGroups * c.w[2] * c.w[3]
		offset := filled(t, []int{c.x[0], 2 * elements, shape[2], shape[3]}, func(i int) float64 {
			return float64((i*7+3)%13-6) / 4
		})
		mask := filled(t, []int{c.x[0], elements, shape[2], shape[3]}, func(i int) float64 {
			return float64(i%5) / 4
		})
		ins = append(ins, offset)
		if masked {
			ins = append(ins, mask)
		}
		want := each(t, shape, func(i []int) float64 {
			sum := 0.0
			points(c.w[1:], func(k []int) {
				channel := i[1]/(c.w[0]/f.groups)*c.w[1] + k[0]
				element := (channel/(c.x[1]/offsetGroups)*c.w[2]+k[1])*c.w[3] + k[2]
				var at []float64
				for d := range 2 {
					at = append(at, float64(i[2+d]*f.strides[d]+k[1+d]*f.dilate[d]-f.pads[d])+
						offset.at(i[0], 2*element+d, i[2], i[3]))
				}
				v := sampledBy(ins[0], []int{i[0], channel}, at, linearKernel, zerosOutside)
				if masked {
					v *= mask.at(i[0], element, i[2], i[3])
				}
				sum += v * ins[1].at(append([]int{i[1]}, k...)...)
			})
			if c.bias {
				sum += ins[2].v[i[1]]
			}
			return rounded16(t, sum)
		})
		at := 2
		if c.bias {
			at = 3
		}
		tol := 16 * tolerance(t)
		cases = append(cases, opCase{name: fmt.Sprintf("%s of %s", c.name, t), ins: ins, want: want, tol: tol,
			make: func(x []*te.Tensor) *te.Tensor {
				options := c.options(x, t, t)
				if offsetGroups > 1 {
					options = append(options, OffsetGroups(offsetGroups))
				}
				if masked {
					return DeformConv(x[0], x[1], x[at], x[at+1], "Y", options...)
				}
				return DeformConv(x[0], x[1], x[at], nil, "Y", options...)
			}})
	}
	plain := convND{name: "plain", x: []int{2, 3, 5, 6}, w: []int{4, 3, 3, 2}}
	all := convND{name: "all options", x: []int{1, 4, 7, 8}, w: []int{6, 2, 2, 3}, strides: []int{2, 1},
		dilate: []int{1, 2}, pads: []int{1, 0, 2, 1}, groups: 2, bias: true}
	add(plain, 1, false, tir.Float32)
	add(plain, 3, true, tir.Float64)
	add(all, 2, true, tir.Float32)
	add(all, 4, false, tir.Float16)
	return cases
}

var _ = anySizeCase("gridsample", func() openCase {
	o := openCase{sizes: []string{"n _ h w", "n a b _"}}
	for _, s := range [][5]int{{2, 3, 4, 2, 3}, {1, 1, 1, 1, 1}, {0, 4, 4, 2, 2}, {1, 20, 5, 17, 9}} {
		x := sample(tir.Float32, s[0], 2, s[1], s[2])
		grid := filled(tir.Float32, []int{s[0], s[3], s[4], 2}, func(i int) float64 { return float64(i%9-4) / 4 })
		o.calls = append(o.calls, opCase{name: "gridsample", ins: []*nd{x, grid}, tol: 1e-5,
			want: gridSampleBy(x, grid, GridSampleAttrs{Padding: "reflection"}),
			make: func(x []*te.Tensor) *te.Tensor {
				return GridSample(x[0], x[1], "Y", GridSampleAttrs{Padding: "reflection"})
			}})
	}
	return o
})

func TestGridSample_Errors(t *testing.T) {
	x, grid := placeholder("x", 2, 3, 4, 5), placeholder("grid", 2, 6, 7, 2)
	ints := te.Placeholder(te.Dims(2, 6, 7, 2), tir.Int32, "i")
	deform := func(offset, mask *te.Tensor, o ...ConvOption) *te.Tensor {
		return DeformConv(x, placeholder("w", 6, 3, 2, 2), offset, mask, "y", o...)
	}
	offset := placeholder("offset", 2, 8, 3, 4)
	refused(t, []refusal{
		{GridSample(x, placeholder("g", 2, 6, 2), "y", GridSampleAttrs{}), "operand 0, tensor g, has 3 dimensions: want 4"},
		{GridSample(x, placeholder("g", 2, 6, 7, 3), "y", GridSampleAttrs{}), "the grid g has shape [2, 6, 7, 3]: want 2 " +
			"coordinates in the last dimension, and 2 in the first"},
		{GridSample(x, ints, "y", GridSampleAttrs{}), "tensor i has type int32: want floats"},
		{GridSample(x, grid, "y", GridSampleAttrs{Mode: "area"}), `mode "area": want linear, nearest, cubic`},
		{GridSample(x, grid, "y", GridSampleAttrs{Padding: "wrap"}), `padding "wrap": want zeros, border, reflection`},
		{GridSample(placeholder("n", 2, 3, 0, 5), grid, "y", GridSampleAttrs{}), "there are no elements to sample"},
		{deform(placeholder("o", 2, 8, 3, 3), nil), "tensor o has shape [2, 8, 3, 3]: want [2, 8, 3, 4]"},
		{deform(offset, placeholder("m", 2, 8, 3, 4)), "tensor m has shape [2, 8, 3, 4]: want [2, 4, 3, 4]"},
		{deform(offset, nil, OffsetGroups(2)), "tensor x has 3 channels, which cannot be divided into 2 groups of offsets"},
		{deform(offset, nil, Layout("NHWC")), `layout "NHWC": want "NCHW" for deformed convolutions`},
		{deform(te.Placeholder(te.Dims(2, 8, 3, 4), tir.Float16, "h"), nil), "tensor x has type float32, and tensor h"},
		{deform(offset, nil, OutputPadding(1, 1)), "output padding: only ConvTranspose has it"},
	})
}
