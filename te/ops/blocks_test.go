//go:build cgo

package ops

import (
	"fmt"
	"testing"

	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("block", blockCases)

func blockCases() (cases []opCase) {
	for n, t := range []tir.Type{tir.Float32, tir.Int8, tir.Float16} {
		b := 2 + n%2
		x := sample(t, 2, b*b*3, 2, 5)
		for _, columns := range []bool{false, true} {
			want := each(t, []int{2, 3, 2 * b, 5 * b}, func(i []int) float64 {
				pixel := i[2]%b*b + i[3]%b
				c := pixel*3 + i[1]
				if columns {
					c = i[1]*b*b + pixel
				}
				return x.at(i[0], c, i[2]/b, i[3]/b)
			})
			cases = append(cases, opCase{name: fmt.Sprintf("depth to space, %s, columns %v", t, columns), ins: []*nd{x},
				want: want, make: func(x []*te.Tensor) *te.Tensor { return DepthToSpace(x[0], "Y", b, columns) }})
			if !columns {
				cases = append(cases, opCase{name: fmt.Sprintf("space to depth, %s", t), ins: []*nd{want}, want: x,
					make: func(x []*te.Tensor) *te.Tensor { return SpaceToDepth(x[0], "Y", b) }})
			}
		}
	}
	return cases
}

var _ = valueCases("col2im", col2imCases)

func col2imCases() (cases []opCase) {
	for _, c := range []struct {
		t    tir.Type
		size []int
		w    Windows
	}{{tir.Float32, []int{5, 6}, Windows{Kernel: []int{2, 3}}},
		{tir.Float32, []int{7, 5}, Windows{Kernel: []int{3, 2}, Strides: []int{2, 1}, Dilations: []int{1, 3},
			Pads: []int{1, 0, 2, 1}}},
		{tir.Int32, []int{6}, Windows{Kernel: []int{3}, Strides: []int{3}}},
		{tir.Float16, []int{3, 4, 2}, Windows{Kernel: []int{2, 2, 1}, Pads: []int{1, 0, 0, 0, 1, 0}}}} {
		n := len(c.size)
		f := convND{x: append([]int{0, 0}, c.size...), strides: c.w.Strides, dilate: c.w.Dilations, pads: c.w.Pads}.full()
		elements, blocks, counts := count(c.w.Kernel), 1, make([]int, n)
		for d := range counts {
			counts[d] = (c.size[d]+f.pads[d]+f.pads[n+d]-(c.w.Kernel[d]-1)*f.dilate[d]-1)/f.strides[d] + 1
			blocks *= counts[d]
		}
		x := sample(c.t, 2, 3*elements, blocks)
		want := each(c.t, append([]int{2, 3}, c.size...), func([]int) float64 { return 0 })
		points([]int{2, 3}, func(lead []int) {
			points(c.w.Kernel, func(k []int) {
				points(counts, func(block []int) {
					to := append([]int{}, lead...)
					for d := range n {
						to = append(to, block[d]*f.strides[d]+k[d]*f.dilate[d]-f.pads[d])
					}
					if _, ok := want.inside(to); ok {
						want.v[want.position(to)] += x.at(lead[0], lead[1]*elements+(&nd{shape: c.w.Kernel}).position(k),
							(&nd{shape: counts}).position(block))
					}
				})
			})
		})
		cases = append(cases, opCase{name: fmt.Sprintf("%v of %s", c.size, c.t), ins: []*nd{x}, want: want,
			make: func(x []*te.Tensor) *te.Tensor { return Col2Im(x[0], "Y", c.size, c.w) }})
	}
	return cases
}

var _ = valueCases("affinegrid", affinegridCases)

func affinegridCases() (cases []opCase) {
	for _, c := range []struct {
		t       tir.Type
		size    []int
		corners bool
	}{{tir.Float32, []int{3, 4}, false}, {tir.Float32, []int{1, 5}, true}, {tir.Float64, []int{2, 3, 4}, true},
		{tir.Float16, []int{3, 2, 4}, false}} {
		n := len(c.size)
		theta := sample(c.t, 2, n, n+1)
		want := each(c.t, append(append([]int{2}, c.size...), n), func(i []int) float64 {
			row := i[n+1]
			sum := theta.at(i[0], row, n)
			for d, size := range c.size {
				p := (2*float64(i[1+d])+1)/float64(size) - 1
				if c.corners {
					p = 0
					if size > 1 {
						p = 2*float64(i[1+d])/float64(size-1) - 1
					}
				}
				sum += theta.at(i[0], row, n-1-d) * p
			}
			return rounded16(c.t, sum)
		})
		cases = append(cases, opCase{name: fmt.Sprintf("%v of %s, corners %v", c.size, c.t, c.corners), ins: []*nd{theta},
			tol: 4 * tolerance(c.t), want: want,
			make: func(x []*te.Tensor) *te.Tensor { return AffineGrid(x[0], "Y", c.size, c.corners) }})
	}
	return cases
}

var _ = anySizeCase("depth to space", func() openCase {
	o := openCase{sizes: []string{"n _ h w"}}
	for _, s := range [][3]int{{2, 3, 4}, {0, 1, 2}, {1, 17, 20}} {
		x := sample(tir.Float32, s[0], 8, s[1], s[2])
		o.calls = append(o.calls, opCase{name: "depth to space", ins: []*nd{x}, want: each(x.t, []int{s[0], 2, 2 * s[1],
			2 * s[2]}, func(i []int) float64 { return x.at(i[0], (i[2]%2*2+i[3]%2)*2+i[1], i[2]/2, i[3]/2) }),
			make: func(x []*te.Tensor) *te.Tensor { return DepthToSpace(x[0], "Y", 2, false) }})
	}
	return o
})

func TestRearrange_Errors(t *testing.T) {
	x, open := placeholder("x", 2, 6, 4, 5), te.Placeholder([]tir.Expr{tir.I32(2), te.Var("c"), tir.I32(4), tir.I32(4)},
		tir.Float32, "open")
	cols := placeholder("cols", 2, 6, 20)
	refused(t, []refusal{
		{DepthToSpace(x, "y", 2, false), "dimension 1 of tensor x is 6, which 4 may not divide: want a size that it does"},
		{DepthToSpace(open, "y", 2, false), "dimension 1 of tensor open is c, which 4 may not divide"},
		{SpaceToDepth(x, "y", 2), "dimension 3 of tensor x is 5, which 2 may not divide"},
		{SpaceToDepth(x, "y", 0), "blocks of 0 pixels of tensor x: want 1 to 1024"},
		{Col2Im(cols, "y", []int{5, 5}, Windows{Kernel: []int{2}}), "blocks of [2] at strides [], with"},
		{Col2Im(cols, "y", []int{5, 5}, Windows{Kernel: []int{6, 2}}), "dimension 0 of the image has 5 elements with its " +
			"padding, and a block spans 6: want no more"},
		{Col2Im(cols, "y", []int{5, 5}, Windows{Kernel: []int{2, 2}}), "tensor cols has shape [2, 6, 20]: want a multiple " +
			"of 4 elements of a block, and 16 blocks"},
		{AffineGrid(cols, "y", []int{5, 5}, false), "tensor cols has shape [2, 6, 20] for images of 2 dimensions: want"},
		{AffineGrid(placeholder("t", 2, 2, 3), "y", []int{5, -5}, false), "dimension 1 of the image has size -5"},
	})
}
