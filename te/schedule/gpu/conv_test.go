package gpu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
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

// A block whose rows do not divide long groups of filters fetches two whole groups, which have to fit.
func TestConvolution_SharedMemoryOfLongGroups(t *testing.T) {
	cuda := must.Get(target.New("nvidia/h100"))(t)
	for _, size := range []int32{7, 14, 28} {
		x := te.Placeholder(te.Dims(1, 544, size, size), tir.Float32, "x")
		w := te.Placeholder(te.Dims(544, 136, 1, 1), tir.Float32, "w")
		y := ops.Conv2D(x, w, "y", 1, 0, ops.Groups(4))
		m := must.Get(te.Lower(must.Get(ops.Schedule(cuda, y))(t), []any{x, w, y}, "f"))(t)
		_, err := transform.VerifyLimits(m, cuda)
		require.NoError(t, err, size)
	}
}

// A block whose rows do not divide the filters of a group has memory for two groups, which has to fit.
func TestConvolution_SharedMemoryOfGroups(t *testing.T) {
	for _, threads := range []int{16, 64} {
		made := must.Get(target.New(fmt.Sprintf("opencl -max_num_threads=%d -max_shared_memory_per_block=2048", threads)))(t)
		for _, c := range []struct {
			typ    tir.Type
			x, w   []tir.Expr
			groups int
			o      []ops.ConvOption
		}{
			{tir.Int16, te.Dims(1, 85, 3, 17), te.Dims(238, 5, 3, 2), 17,
				[]ops.ConvOption{ops.Strides(3, 3), ops.Dilations(2, 1), ops.Pads(0, 1, 2, 0)}},
			{tir.UInt16, te.Dims(2, 136, 6, 20), te.Dims(153, 8, 2, 4), 17,
				[]ops.ConvOption{ops.Strides(2, 1), ops.Dilations(2, 2), ops.Pads(1, 2, 2, 2)}},
			{tir.Float32, te.Dims(2, 68, 17, 8), te.Dims(306, 4, 1, 1), 17,
				[]ops.ConvOption{ops.Strides(3, 1), ops.Pads(0, 2, 1, 1)}},
			{tir.Float64, te.Dims(2, 6, 30, 30), te.Dims(82, 3, 3, 3), 2, nil},
		} {
			x, w := te.Placeholder(c.x, c.typ, "x"), te.Placeholder(c.w, c.typ, "w")
			y := ops.Conv2D(x, w, "y", 1, 0, append(c.o, ops.Groups(c.groups))...)
			m := must.Get(te.Lower(must.Get(ops.Schedule(made, y))(t), []any{x, w, y}, "f"))(t)
			_, err := transform.VerifyLimits(m, made)
			require.NoError(t, err, "%v", c)
		}
	}
}

// Images of variable size, and windows whose number is not a variable but a formula of it.
func TestConvolution_VariableWindows(t *testing.T) {
	size := map[string]int64{"b": 3, "h": 9, "w": 14}
	for _, to := range rowTargets[:3] {
		made := must.Get(target.New(to))(t)
		for _, c := range []struct {
			x, w []any
			o    []ops.ConvOption
		}{
			{[]any{"b", 4, "h", "w"}, []any{5, 4, 3, 3},
				[]ops.ConvOption{ops.Strides(2, 3), ops.Dilations(2, 1), ops.Pads(2, 0, 1, 0)}},
			{[]any{2, 4, 7, "w"}, []any{3, 4, 1, 2}, []ops.ConvOption{ops.Strides(3, 2), ops.Pads(2, 0, 1, 2)}},
			{[]any{2, "h", "w", 5}, []any{2, 1, 5, 6},
				[]ops.ConvOption{ops.Strides(3, 3), ops.Pads(1, 0, 0, 1), ops.Layout("NHWC")}},
		} {
			vars := map[string]*tir.Var{}
			tensor := func(name string, dims []any) (*te.Tensor, []int64) {
				var shape []tir.Expr
				var own []int64
				for _, d := range dims {
					if v, ok := d.(string); ok {
						if vars[v] == nil {
							vars[v] = te.Var(v)
						}
						shape, own = append(shape, vars[v]), append(own, size[v])
						continue
					}
					shape, own = append(shape, tir.I32(int32(d.(int)))), append(own, int64(d.(int)))
				}
				return te.Placeholder(shape, tir.Float32, name), own
			}
			x, xs := tensor("x", c.x)
			w, ws := tensor("w", c.w)
			y := ops.Conv2D(x, w, "y", 1, 0, c.o...)
			require.NoError(t, y.Err())
			constant := ops.Conv2D(te.Placeholder(te.Dims(narrow(xs)...), tir.Float32, "x"),
				te.Placeholder(te.Dims(narrow(ws)...), tir.Float32, "w"), "y", 1, 0, c.o...)
			var out []int64
			for _, n := range constant.ProducerShape() {
				out = append(out, n.(*tir.IntImm).Value)
			}
			data := func() (given []any) {
				for _, shape := range [][]int64{xs, ws, out} {
					n := int64(1)
					for _, d := range shape {
						n *= d
					}
					values := make([]float64, n)
					for i := range values {
						values[i] = float64(i%13 - 6)
					}
					given = append(given, must.Get(tirrun.From(tir.Float32, values, shape...))(t))
				}
				return given
			}
			want := computed(t, must.Get(te.Lower(must.Get(te.NewSchedule(y))(t), []any{x, w, y}, "f"))(t), nil, data())
			m := must.Get(te.Lower(must.Get(ops.Schedule(made, y))(t), []any{x, w, y}, "f"))(t)
			p := text.Print(m)
			require.Regexp(t, `alloc y.sums: float32\[[0-9, ]*\], scope "local"`, p)
			require.Equal(t, want, computed(t, m, made, data()), p)
		}
	}
}

func narrow(sizes []int64) (all []int32) {
	for _, n := range sizes {
		all = append(all, int32(n))
	}
	return all
}
