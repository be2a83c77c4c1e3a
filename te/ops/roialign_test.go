//go:build cgo

package ops

import (
	"fmt"
	"math"
	"testing"

	"tvmgo/te"
	"tvmgo/tir"
)

// roiAlignBy is RoiAlign by its definition.
func roiAlignBy(x, rois, batches *nd, a RoiAlignAttrs) *nd {
	if a.Scale == 0 {
		a.Scale = 1
	}
	bins := [2]int{a.Height, a.Width}
	return each(x.t, []int{rois.shape[0], x.shape[1], a.Height, a.Width}, func(i []int) float64 {
		var positions [2][]float64
		for d := range 2 {
			begin, end := rois.at(i[0], 1-d)*a.Scale, rois.at(i[0], 3-d)*a.Scale
			length := end - begin
			if a.HalfPixel {
				begin -= 0.5
			} else {
				length = math.Max(length, 1)
			}
			size := length / float64(bins[d])
			count := a.Samples
			if count == 0 {
				count = int(math.Ceil(size))
			}
			for k := range max(0, count) {
				positions[d] = append(positions[d], begin+float64(i[2+d])*size+(float64(k)+0.5)*size/float64(count))
			}
		}
		sum, best := 0.0, math.Inf(-1)
		for _, y := range positions[0] {
			for _, z := range positions[1] {
				var corners [4]float64
				if p := [2]float64{y, z}; y >= -1 && z >= -1 && y <= float64(x.shape[2]) && z <= float64(x.shape[3]) {
					for n := range corners {
						w, at := 1.0, []int{int(batches.v[i[0]]), i[1], 0, 0}
						for d := range 2 {
							last := x.shape[2+d] - 1
							v := math.Min(math.Max(p[d], 0), float64(last))
							low := min(int(v), last)
							at[2+d] = min(low+n>>(1-d)&1, last)
							if n>>(1-d)&1 == 1 {
								w *= v - float64(low)
							} else {
								w *= 1 - (v - float64(low))
							}
						}
						corners[n] = w * x.at(at...)
					}
				}
				sum += total(corners[:])
				best = max(best, corners[0], corners[1], corners[2], corners[3])
			}
		}
		if a.Maximum {
			return rounded16(x.t, best)
		}
		return rounded16(x.t, sum/math.Max(1, float64(len(positions[0])*len(positions[1]))))
	})
}

// roiAlignCase makes a case with regions inside, beyond and around the images, and an empty one.
func roiAlignCase(t tir.Type, shape []int, a RoiAlignAttrs) opCase {
	x := sample(t, shape...)
	h, w := float64(shape[2]), float64(shape[3])
	rois := &nd{t, []int{5, 4}, []float64{0.5, 0.25, w - 1, h - 1.5, 1, 2, 1.5, 2.25, -3, -2.5, w + 4, h + 2, 2, 1, 1, 0.5,
		w - 2, -5, w + 2.5, 1.5}}
	batches := filled(tir.Int64, []int{5}, func(i int) float64 { return float64(i % shape[0]) })
	tol := 16 * tolerance(t)
	if t == tir.Float32 {
		tol = 1e-4
	}
	return opCase{name: fmt.Sprintf("%+v of %v of %s", a, shape, t), ins: []*nd{x, rois, batches}, tol: tol,
		want: roiAlignBy(x, rois, batches, a),
		make: func(x []*te.Tensor) *te.Tensor { return RoiAlign(x[0], x[1], x[2], "Y", a) }}
}

var _ = valueCases("roialign", roialignCases)

func roialignCases() (cases []opCase) {
	image := []int{2, 3, 7, 9}
	for _, half := range []bool{false, true} {
		cases = append(cases, roiAlignCase(tir.Float32, image, RoiAlignAttrs{Height: 3, Width: 2, HalfPixel: half}),
			roiAlignCase(tir.Float32, image, RoiAlignAttrs{Height: 1, Width: 1, HalfPixel: half, Scale: 0.5}),
			roiAlignCase(tir.Float32, image, RoiAlignAttrs{Height: 2, Width: 4, Samples: 2, HalfPixel: half}),
			roiAlignCase(tir.Float32, image, RoiAlignAttrs{Height: 3, Width: 2, Samples: 3, HalfPixel: half, Maximum: true}))
	}
	return append(cases, roiAlignCase(tir.Float64, image, RoiAlignAttrs{Height: 2, Width: 2, Scale: 1.5}),
		roiAlignCase(tir.Float16, image, RoiAlignAttrs{Height: 2, Width: 2, Samples: 1, HalfPixel: true}),
		roiAlignCase(tir.Float32, []int{1, 2, 40, 1}, RoiAlignAttrs{Height: 2, Width: 2}))
}

var _ = anySizeCase("roialign", func() openCase {
	o := openCase{sizes: []string{"n _ h w", "r _", "r"}}
	for _, s := range [][3]int{{2, 6, 5}, {1, 3, 4}, {3, 20, 33}} {
		shape := []int{s[0], 2, s[1], s[2]}
		o.calls = append(o.calls, roiAlignCase(tir.Float32, shape, RoiAlignAttrs{Height: 2, Width: 3}))
	}
	return o
})

func TestRoiAlign_Errors(t *testing.T) {
	x, rois := placeholder("x", 2, 3, 4, 5), placeholder("rois", 6, 4)
	batches := te.Placeholder(te.Dims(6), tir.Int32, "b")
	two := RoiAlignAttrs{Height: 2, Width: 2}
	refused(t, []refusal{
		{RoiAlign(x, placeholder("r", 6, 5), batches, "y", two), "the regions r have shape [6, 5], and the indices of " +
			"their images b have [6]: want [n, 4] and [n]"},
		{RoiAlign(x, placeholder("r", 5, 4), batches, "y", two), "the regions r have shape [5, 4]"},
		{RoiAlign(x, rois, placeholder("f", 6), "y", two), "tensor f has type float32: want integers"},
		{RoiAlign(x, rois, batches, "y", RoiAlignAttrs{Width: 2}), "0 by 2 bins with 0 samples: want 1 to 32768"},
		{RoiAlign(x, rois, batches, "y", RoiAlignAttrs{Height: 1, Width: 1, Maximum: true}), "the maximum of bins with 0 " +
			"samples: want 1 or more; only averages choose their number"},
		{RoiAlign(x, rois, batches, "y", RoiAlignAttrs{Height: 1, Width: 1, Scale: math.Inf(1)}), "the scale is +Inf"},
		{RoiAlign(placeholder("z", 0, 3, 4, 5), rois, batches, "y", two), "tensor z has shape [0, 3, 4, 5]: there"},
		{RoiAlign(x, te.Placeholder(te.Dims(6, 4), tir.Float64, "d"), batches, "y", two), "cast one of them"},
	})
}
