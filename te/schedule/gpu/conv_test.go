package gpu_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// conv returns a convolution with filters of 3 by 3 elements, and its arguments.
func conv(typ tir.Type, layout string, channels, size, filters int32, groups, stride int) (y, x, w *te.Tensor) {
	shape, filter := te.Dims(1, channels, size, size), te.Dims(filters, channels/int32(groups), 3, 3)
	if layout == "NHWC" {
		shape, filter = te.Dims(1, size, size, channels), te.Dims(3, 3, channels/int32(groups), filters)
	}
	x, w = te.Placeholder(shape, typ, "X"), te.Placeholder(filter, typ, "W")
	return ops.Conv2D(x, w, "y", stride, 1, ops.Groups(groups), ops.Layout(layout)), x, w
}

// A thread of a depthwise convolution keeps its part of the image in registers, and its sums have no bounds checks.
func TestConvolution_DepthwiseInRegisters(t *testing.T) {
	y, x, w := conv(tir.Float32, "NCHW", 64, 112, 64, 64, 1)
	p := lowered(t, ofGPU, []*te.Tensor{y}, x, w)
	require.Contains(t, p, "alloc y.image: float32[1, 1, 10, 3], scope \"local\"")
	require.Contains(t, p, "alloc y.sums: float32[1, 1, 8, 1], scope \"local\"")
	require.NotContains(t, p, "likely(")
	y, x, w = conv(tir.Float32, "NHWC", 64, 112, 64, 64, 1)
	p = lowered(t, ofGPU, []*te.Tensor{y}, x, w)
	require.Contains(t, p, "vectorized i3 in range(4)")
	require.NotContains(t, p, "likely(")
}

// On a CPU, a thread has vectors of sums for several filters; the loops over the sum have no bounds checks.
func TestConvolution_DirectOnCPU(t *testing.T) {
	for _, c := range []struct {
		layout       string
		size, stride int
		sums, image  string
	}{
		{"NCHW", 56, 1, "[1, 8, 1, 2, 16]", "[1, 64, 58, 66]"},
		{"NCHW", 55, 2, "[1, 8, 1, 2, 16]", "[1, 64, 57, 2, 33]"}, // even columns, then odd ones
		{"NHWC", 56, 1, "[1, 1, 8, 2, 16]", "[1, 58, 58, 64]"},
	} {
		y, x, w := conv(tir.Float32, c.layout, 64, int32(c.size), 64, 1, c.stride)
		p := lowered(t, ofCPU, []*te.Tensor{y}, x, w)
		require.Contains(t, p, "alloc y.sums: float32"+c.sums+", scope \"local\"", c)
		require.Contains(t, p, "alloc y.image: float32"+c.image+"\n", c)
		_, sum, _ := strings.Cut(p, "for c in range(64)")
		sum, _, _ = strings.Cut(sum, "unrolled i1.inner")
		require.NotContains(t, sum, "if ", c)
	}
}

// Convolutions on a GPU are products of matrices. Windows are in shared memory only, sums in registers, and the loop
// over products has no condition; results are stored as vectors.
func TestConvolution_ImplicitGEMM(t *testing.T) {
	for _, c := range []struct {
		layout                  string
		size, channels, filters int32
		groups                  int
		vectors                 bool
	}{
		{"NCHW", 56, 64, 64, 1, true},
		{"NCHW", 55, 50, 70, 1, false},
		{"NCHW", 56, 64, 64, 2, true},
		{"NHWC", 56, 64, 64, 1, true},
		{"NHWC", 55, 50, 70, 2, false},
	} {
		y, x, w := conv(tir.Float32, c.layout, c.channels, c.size, c.filters, c.groups, 1)
		p := lowered(t, ofGPU, []*te.Tensor{ops.Relu(y, "z")}, x, w)
		require.Regexp(t, `alloc y.right.shared: float32\[[0-9, ]*\], strides \[[0-9, ]*\], scope "shared"`, p, c)
		require.Regexp(t, `alloc y.sums: float32\[[0-9, ]*\], scope "local"`, p, c)
		require.NotRegexp(t, `alloc [^\n]*\]\n`, p, c) // no tensor in global memory
		_, products, _ := strings.Cut(p, "unrolled k in range(16)")
		products, store, _ := strings.Cut(products, `"unroll_explicit": false`)
		require.NotContains(t, products, "if ", c)
		require.Equal(t, c.vectors, strings.Contains(store, "vectorized"), c)
	}
}
