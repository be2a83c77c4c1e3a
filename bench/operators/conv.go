package operators

import (
	"fmt"
	"math"

	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Conv has the sizes of a convolution of images in NCHW with square filters and a stride of 1; the result is as large
// as the images.
type Conv struct {
	Batch, Channels, Height, Width int
	Out                            int // channels of the result
	Kernel                         int // height and width of a filter: odd
	Depthwise                      bool
}

// Convolutions returns layers of well-known networks, for a batch of 8 images.
func Convolutions() []*Operator {
	return []*Operator{
		Conv{8, 64, 56, 56, 64, 3, false}.Operator("conv2d-resnet50-3x3"),
		Conv{8, 256, 56, 56, 64, 1, false}.Operator("conv2d-resnet50-1x1"),
		Conv{8, 144, 56, 56, 144, 3, true}.Operator("conv2d-mobilenetv2-depthwise"),
	}
}

// Operator returns the convolution in float32.
func (c Conv) Operator(name string) *Operator {
	in := c.Channels // of a filter
	kind := "convolution"
	if c.Depthwise {
		in, c.Out, kind = 1, c.Channels, "depthwise convolution"
	}
	image, taps := c.Height*c.Width, c.Kernel*c.Kernel
	o := &Operator{Name: name, Type: tir.Float32, limit: [2]int64{4095, 2}, scale: [3]float64{1, 1},
		Doc: fmt.Sprintf("%s of %d images of %d x %d x %d by %d filters of %d x %d, float32", kind, c.Batch, c.Channels,
			c.Height, c.Width, c.Out, c.Kernel, c.Kernel),
		build: func() ([]*te.Tensor, *te.Tensor) {
			x, w := input("x", tir.Float32, c.Batch, c.Channels, c.Height, c.Width),
				input("w", tir.Float32, c.Out, in, c.Kernel, c.Kernel)
			var options []ops.ConvOption
			if c.Depthwise {
				options = append(options, ops.Groups(c.Channels))
			}
			return []*te.Tensor{x, w}, ops.Conv2D(x, w, "y", 1, c.Kernel/2, options...)
		},
		exact: func(r *run) error {
			if c.Depthwise {
				return r.elements(func(at int) int64 { return convolve(c, in, at, r.in) })
			}
			// The sum over the filters, each times its element of v, is the convolution by the sum of the filters. A row
			// is a pixel of an image.
			at := func(row, f int) int { return (row/image*c.Out+f)*image + row%image }
			return r.projected(c.Batch*image, c.Out, at,
				func(v func(int) int64) (func(row int) int64, error) {
					filter := make([]int64, in*taps)
					for i := range filter {
						for f := range c.Out {
							filter[i] += r.in(1, f*in*taps+i) * v(f)
						}
					}
					one := c
					one.Out = 1
					return func(row int) int64 {
						return convolve(one, in, row, func(input, at int) int64 {
							if input == 1 {
								return filter[at]
							}
							return r.in(input, at)
						})
					}, nil
				}, func(at int) int64 { return convolve(c, in, at, r.in) })
		},
		rounded: &rounded{span: 1, cost: float64(4 * in * taps),
			compute: func(in3 func(input, at int) float64, at int, want, tolerance []float64) {
				size := 0.0
				convolve(c, in, at, func(input, at int) float64 { return in3(input, at) }, func(p float64) {
					want[0] += p
					size += math.Abs(p)
				})
				tolerance[0] = Tolerance(tir.Float32, in*taps, size, want[0])
			}},
	}
	o.Ops = 2 * float64(c.Batch*image*c.Out) * float64(in*taps)
	o.Work = o.Ops
	return o
}

// convolve returns the element of a result at a position. in is the number of channels of a filter, and get returns an
// element of the images or the filters.
func convolve[T int64 | float64](c Conv, in, at int, get func(input, at int) T, each ...func(T)) (total T) {
	x, y, f := at%c.Width, at/c.Width%c.Height, at/(c.Width*c.Height)%c.Out
	image, half := at/(c.Width*c.Height*c.Out), c.Kernel/2
	first := 0
	if c.Depthwise {
		first = f
	}
	for k := range in {
		for i := range c.Kernel {
			for j := range c.Kernel {
				h, w := y+i-half, x+j-half
				if h < 0 || h >= c.Height || w < 0 || w >= c.Width {
					continue
				}
				p := get(0, ((image*c.Channels+first+k)*c.Height+h)*c.Width+w) * get(1, ((f*in+k)*c.Kernel+i)*c.Kernel+j)
				total += p
				for _, e := range each {
					e(p)
				}
			}
		}
	}
	return total
}
