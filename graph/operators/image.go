package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

func init() {
	register(
		with("grid_sample", 2, 2, gridSample, word("mode", "linear"), word("padding_mode", "zeros"),
			integer("align_corners", 0)),
		with("affine_grid", 2, 2, func(c *graph.Call) *te.Tensor {
			size := c.IntsOf(1)
			if len(size) != 4 && len(size) != 5 {
				c.Fail("%d sizes are given: want 4 or 5", len(size))
			}
			return ops.AffineGrid(c.In(0), c.Name, size[2:], c.Flag("align_corners"))
		}, integer("align_corners", 0)),
		with("depth_to_space", 1, 1, func(c *graph.Call) *te.Tensor {
			mode := c.Text("mode")
			if mode != "DCR" && mode != "CRD" {
				c.Fail("mode is %q: want DCR or CRD", mode)
			}
			return ops.DepthToSpace(c.In(0), c.Name, c.Int("blocksize"), mode == "CRD")
		}, integer("blocksize", 1), word("mode", "DCR")),
		with("space_to_depth", 1, 1, func(c *graph.Call) *te.Tensor {
			return ops.SpaceToDepth(c.In(0), c.Name, c.Int("blocksize"))
		}, integer("blocksize", 1)),
		with("col2im", 3, 3, func(c *graph.Call) *te.Tensor {
			n := len(c.IntsOf(1))
			return ops.Col2Im(c.In(0), c.Name, c.IntsOf(1), ops.Windows{Kernel: c.IntsOf(2),
				Strides: listAttr(c, "strides", n, 1), Dilations: listAttr(c, "dilations", n, 1),
				Pads: listAttr(c, "pads", 2*n, 0)})
		}, integers("strides"), integers("dilations"), integers("pads")),
		with("deform_conv", 3, 5, deformConv, windowAttrs(integer("group", 1), integer("offset_group", 1))...),
		with("roi_align", 3, 3, roiAlign, word("mode", "avg"), word("coordinate_transformation_mode", "half_pixel"),
			integer("output_height", 1), integer("output_width", 1), integer("sampling_ratio", 0), float("spatial_scale", 1)),
		with("dft", 1, 3, dft, integer("inverse", 0), integer("onesided", 0)),
		with("stft", 2, 4, stft, integer("onesided", 1)),
		signalWindow("hann_window", ops.HannWindow), signalWindow("hamming_window", ops.HammingWindow),
		signalWindow("blackman_window", ops.BlackmanWindow),
	)
}

func gridSample(c *graph.Call) *te.Tensor {
	a := ops.GridSampleAttrs{Mode: c.Text("mode"), Padding: c.Text("padding_mode"), AlignCorners: c.Flag("align_corners")}
	switch a.Mode {
	case "bilinear":
		a.Mode = "linear"
	case "bicubic":
		a.Mode = "cubic"
	}
	return ops.GridSample(c.In(0), c.In(1), c.Name, a)
}

// deformConv has the operands data, filters, offsets, bias and mask.
func deformConv(c *graph.Call) *te.Tensor {
	spatial(c)
	w := windowOf(c, kernelOf(c))
	options := []ops.ConvOption{ops.Strides(w.strides...), ops.Dilations(w.dilations...), ops.Pads(w.pads...),
		ops.Groups(c.Int("group")), ops.OffsetGroups(c.Int("offset_group"))}
	if c.Has(3) {
		options = append(options, ops.Bias(c.In(3)))
	}
	return ops.DeformConv(c.In(0), c.In(1), c.In(2), c.In(4), c.Name, options...)
}

// dft has the operands data, length and axis.
func dft(c *graph.Call) *te.Tensor {
	axis := -2
	if c.Has(2) {
		axis = c.IntOf(2)
	}
	a := ops.DFTAttrs{Axis: axisOf(c, axis, c.Rank(0)), Inverse: c.Flag("inverse"), OneSided: c.Flag("onesided")}
	if c.Has(1) {
		a.Length = c.IntOf(1)
	} else if a.Length = constShape(c, 0)[a.Axis]; a.Inverse && a.OneSided {
		a.Length = 2 * (a.Length - 1)
	}
	return cast(ops.DFT(exact(c, 0), c.Name, a), c.DType(0), c.Name)
}

// exact returns an operand as float64: errors of sums would be large beside frequencies that do not occur.
func exact(c *graph.Call, i int) *te.Tensor {
	if !c.Has(i) {
		return nil
	}
	return cast(c.In(i), tir.Float64, c.Name)
}

// stft has the operands data, step between frames, window and length of a frame.
func stft(c *graph.Call) *te.Tensor {
	a := ops.STFTAttrs{Step: c.IntOf(1), OneSided: c.Flag("onesided")}
	switch {
	case c.Has(3):
		a.Length = c.IntOf(3)
	case c.Has(2):
		atLeast(c, 2, 1)
		a.Length = constShape(c, 2)[0]
	default:
		c.Fail("the length of a frame is not known: give frame_length or a window")
	}
	return cast(ops.STFT(exact(c, 0), exact(c, 2), c.Name, a), c.DType(0), c.Name)
}

// signalWindow has the operand size.
func signalWindow(name string, f func(size tir.Expr, periodic bool, t tir.Type, name string) *te.Tensor) *graph.Op {
	return with(name, 1, 1, func(c *graph.Call) *te.Tensor {
		t := c.Type("output_datatype")
		if t == (tir.Type{}) {
			t = tir.Float32
		}
		return f(sizeIn(c, 0), c.Flag("periodic"), t, c.Name)
	}, integer("periodic", 1), typed("output_datatype"))
}

// roiAlign has the operands data, regions and the index of each region's image.
func roiAlign(c *graph.Call) *te.Tensor {
	a := ops.RoiAlignAttrs{Height: c.Int("output_height"), Width: c.Int("output_width"), Samples: c.Int("sampling_ratio"),
		Scale: c.Float("spatial_scale"), Maximum: c.Text("mode") == "max",
		HalfPixel: c.Text("coordinate_transformation_mode") == "half_pixel"}
	if mode := c.Text("mode"); mode != "avg" && mode != "max" {
		c.Fail("mode is %q: want avg or max", mode)
	}
	return ops.RoiAlign(c.In(0), c.In(1), c.In(2), c.Name, a)
}
