//go:build cgo

package ops

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/codegen/explain"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// figuresTarget is the target of the figures: source, so that they do not depend on whether NVRTC is found. Registers,
// and the occupancy that they allow, are those of TestResourcesOnDevices.
const figuresTarget = "cuda -arch=sm_90 -code-format=source"

// family is an operator with sizes at which a device is busy, and what its kernels must achieve.
type family struct {
	name  string
	ins   []*te.Tensor
	out   *te.Tensor
	bound string // of the kernel that takes longest
	once  bool   // each input is read once: threads load no more bytes than it has
	wide  width  // what has 16 bytes
}

// width says which accesses to global memory have 16 bytes.
type width int

const (
	anyWidth width = iota
	inputs         // all loads of the inputs; results may be narrower
	all            // all loads and stores of the first kernel, except those of positions
)

func families() []family {
	x := placeholder("x", 4096, 4096)
	v := placeholder("v", 4096)
	tensor := func(name string, t tir.Type, sizes ...int32) *te.Tensor {
		return te.Placeholder(te.Dims(sizes...), t, name)
	}
	image, channels := placeholder("x", 32, 64, 64, 64), placeholder("x", 32, 64, 64, 64)
	layer := placeholder("x", 32, 64, 56, 56)
	huge := placeholder("x", 1<<22, 1024) // more than 2^31 elements
	half, table, at := tensor("x", tir.Float16, 4096, 4096), placeholder("x", 50000, 1024), tensor("at", tir.Int32, 8192)
	bytes, truths := tensor("x", tir.Int8, 4096, 4096), tensor("x", tir.Bool, 4096, 4096)
	long := placeholder("x", 64, 1<<18)
	a, b := placeholder("a", 4096, 4096), placeholder("b", 4096, 4096)
	w, own := placeholder("w", 64, 64, 3, 3), placeholder("w", 64, 1, 3, 3)
	var qkv []*te.Tensor
	for _, name := range []string{"q", "k", "v"} {
		qkv = append(qkv, placeholder(name, 8, 16, 1024, 64))
	}
	scale, halves := placeholder("g", 64), tensor("h", tir.Float16, 4096, 4096)
	left, right := placeholder("a", 64, 512, 512), placeholder("b", 64, 512, 512)
	grouped, mask := placeholder("w", 64, 16, 3, 3), tensor("m", tir.Bool, 1024, 1024)
	halfImage, halfFilters := tensor("x", tir.Float16, 32, 64, 56, 56), tensor("w", tir.Float16, 64, 64, 3, 3)
	last, lastFilters := placeholder("x", 32, 56, 56, 64), placeholder("w", 3, 3, 64, 64)
	halfLast, halfLastFilters := tensor("x", tir.Float16, 32, 56, 56, 64), tensor("w", tir.Float16, 3, 3, 64, 64)
	points := tensor("w", tir.Float16, 256, 64, 1, 1)
	in := func(x ...*te.Tensor) []*te.Tensor { return x }
	memory, compute := explain.BoundMemory, explain.BoundCompute
	return []family{
		{"elementwise", in(a, b), Relu(Add(a, b, "s"), "y"), memory, true, all},
		{"elementwise of float16", in(half, halves), Relu(Add(half, halves, "s"), "y"), memory, true, all},
		{"broadcast", in(x, v), Add(x, v, "y"), memory, false, all},
		{"cast", in(half), Cast(half, tir.Float32, "y"), memory, true, anyWidth},
		{"concat", in(a, b), Concat("y", 1, a, b), memory, true, all},
		{"slice", in(x), Slice(x, "y", Range{Axis: 1, Begin: 8, End: 4088}), memory, true, all},
		{"gather", in(table, at), Take(table, at, "y", 0, Clamp), memory, false, all},
		{"gather of a large table", in(huge, at), Take(huge, at, "y", 0, Zero), memory, false, all},
		{"pooling", in(channels), MaxPool2D(channels, "y", Window{Kernel: [2]int{2, 2}, Layout: "NHWC"}), memory,
			true, all},
		{"average pooling, NCHW", in(image), AvgPool2D(image, "y", Window{Kernel: [2]int{2, 2}}), memory, true,
			anyWidth},
		{"transpose", in(x), Transpose(x, "y"), memory, true, all},
		{"transpose of float16", in(half), Transpose(half, "y"), memory, true, all},
		{"NCHW to NHWC", in(image), Transpose(image, "y", 0, 2, 3, 1), memory, true, all},
		{"NHWC to NCHW", in(channels), Transpose(channels, "y", 0, 3, 1, 2), memory, true, all},
		{"NCHW to blocks", in(image), Transpose(Reshape(image, "r", te.Dims(32, 2, 32, 64, 64)...), "y", 0, 1, 3, 4, 2),
			memory, true, all},
		{"sum over rows", in(x), Sum(x, "y", []int{1}, false), memory, true, inputs},
		{"sum over columns", in(x), Sum(x, "y", []int{0}, false), memory, true, all},
		{"sum over everything", in(x), Sum(x, "y", nil, false), memory, true, inputs},
		{"sum over a middle axis", in(image), Sum(image, "y", []int{1}, false), memory, true, all},
		{"sum per channel", in(image), Sum(image, "y", []int{0, 2, 3}, false), memory, true, inputs},
		{"sum of float16 over rows", in(half), Sum(half, "y", []int{1}, false), memory, true, inputs},
		{"mean of float16 over columns", in(half), Mean(half, "y", []int{0}, false), memory, true, inputs},
		{"maximum of int8", in(bytes), Max(bytes, "y", []int{1}, false), memory, true, inputs},
		{"any", in(truths), Any(truths, "y", []int{0}, false), memory, true, inputs},
		{"softmax", in(x), Softmax(x, "y"), memory, true, all},
		{"long rows of softmax", in(long), Softmax(long, "y"), memory, false, inputs},
		{"softmax of float16", in(half), Softmax(half, "y"), memory, true, inputs},
		{"layernorm", in(x, v), LayerNorm(x, v, v, "y", 1, 1e-5), memory, false, all},
		{"group norm", in(image, scale), GroupNorm(image, scale, scale, "y", 8, 1e-5), memory, false, anyWidth},
		{"argmax", in(x), ArgMax(x, "y", []int{1}, false), memory, true, inputs},
		{"argmax over columns", in(x), ArgMax(x, "y", []int{0}, false), memory, true, inputs},
		{"variance", in(x), Variance(x, "y", []int{1}, false), memory, true, inputs},
		{"matmul", in(a, b), Matmul(a, b, "y"), compute, false, anyWidth},
		{"matmul with bias and relu", in(a, b, v), Relu(Add(Matmul(a, b, "p"), v, "s"), "y"), compute, false,
			anyWidth},
		{"batched matmul", in(left, right), Matmul(left, right, "y"), compute, false, anyWidth},
		{"conv2d", in(layer, w), Conv2D(layer, w, "y", 1, 1), explain.BoundCache, false, anyWidth},
		{"strided conv2d", in(layer, w), Conv2D(layer, w, "y", 2, 1), explain.BoundCache, false, anyWidth},
		{"grouped conv2d", in(layer, grouped), Conv2D(layer, grouped, "y", 1, 1, Groups(4)), explain.BoundCache, false,
			anyWidth},
		{"conv2d of float16", in(halfImage, halfFilters), Conv2D(halfImage, halfFilters, "y", 1, 1), memory, false,
			anyWidth},
		{"conv2d, NHWC", in(last, lastFilters), Conv2D(last, lastFilters, "y", 1, 1, Layout("NHWC")),
			compute, false, anyWidth},
		{"conv2d of float16, NHWC", in(halfLast, halfLastFilters), Conv2D(halfLast, halfLastFilters, "y", 1, 1,
			Layout("NHWC")), memory, false, anyWidth},
		{"conv2d of float16, 1 x 1", in(halfImage, points), Conv2D(halfImage, points, "y", 1, 0), memory, false,
			anyWidth},
		{"depthwise", in(layer, own), Conv2D(layer, own, "y", 1, 1, Groups(64)), memory, false, anyWidth},
		{"attention", qkv, Attention(qkv[0], qkv[1], qkv[2], "y"), explain.BoundCache, false, anyWidth},
		{"masked attention", append(qkv[:3:3], mask), Attention(qkv[0], qkv[1], qkv[2], "y", Mask(mask)),
			explain.BoundCache, false, anyWidth},
	}
}

// unmet are the requirements that a family does not meet yet, with the reason.
var unmet = map[string]map[string]string{
	"average pooling, NCHW":        {"sectors": "threads load the elements of their windows one by one"},
	"strided conv2d":               {"sectors": "windows are two elements apart"},
	"mean of float16 over columns": {"sectors": "parts of 8 float32 are stored by two instructions"},
}

// problems lists the requirements that kernels of a family do not meet: its name, and the figure.
func (f *family) problems(r *explain.Report) map[string]string {
	found := map[string]string{}
	longest, read, size, reads := r.Kernels[0], 0.0, 0.0, 0.0
	for n, k := range r.Kernels {
		if k.Work.AtLeastSeconds > longest.Work.AtLeastSeconds {
			longest = k
		}
		if k.Occupancy.Fraction < 0.25 {
			found["occupancy"] = fmt.Sprintf("%s: %v", k.Name, k.Occupancy.Fraction)
		}
		for _, a := range k.Accesses {
			name := fmt.Sprintf("%s of %s", a.Op, a.Buffer)
			if !a.MinimalSectors() {
				found["sectors"] = fmt.Sprintf("%s: %.3g, at least %.3g", name, a.Sectors.Average, a.Sectors.Minimal)
			}
			if !a.ConflictFree() {
				found["banks"] = fmt.Sprintf("%s: %v ways", name, a.Ways.Worst)
			}
			input := a.Op == "load" && slices.ContainsFunc(f.ins, func(t *te.Tensor) bool {
				return t.ProducerName() == a.Buffer
			})
			demanded := f.wide == inputs && input || f.wide == all && n == 0 && !strings.HasPrefix(a.Buffer, "at")
			if demanded && a.Scope == "global" && a.Bytes < 16 {
				found["vectors"] = fmt.Sprintf("%s: %d bytes", name, a.Bytes)
			}
		}
		read += k.Work.BytesRead
		if reads += k.Work.BytesWritten; n == len(r.Kernels)-1 { // what others leave to the last is read, too
			reads -= k.Work.BytesWritten
		}
	}
	for _, x := range f.ins {
		n := float64(x.ProducerDType().Bits) / 8
		for _, d := range x.ProducerShape() {
			n *= float64(d.(*tir.IntImm).Value)
		}
		size += n
	}
	if f.once && read > 1.001*(size+reads) {
		found["read once"] = fmt.Sprintf("%g bytes of %g", read, size+reads)
	}
	if longest.Work.Bound != f.bound {
		found["bound"] = longest.Work.Bound
	}
	return found
}

// TestFigures holds the default schedules of a GPU to the figures of codegen.Explain: sectors per request are minimal,
// shared memory has no bank conflicts, inputs are read once, accesses are wide. All figures are in a golden table.
func TestFigures(t *testing.T) {
	to := must.Get(target.New(figuresTarget))(t)
	var table strings.Builder
	fmt.Fprintf(&table, "# Figures of the default schedules for %s: go test ./te/ops -run TestFigures -update\n",
		figuresTarget)
	for _, f := range families() {
		require.NoError(t, f.out.Err(), f.name)
		s := must.Get(Schedule(to, f.out))(t)
		var args []any
		for _, x := range slices.Concat(slices.Compact(f.ins), []*te.Tensor{f.out}) {
			args = append(args, x)
		}
		r := must.Get(codegen.Explain(must.Get(te.Lower(s, args, "f"))(t), to))(t)
		fmt.Fprintf(&table, "\n%s\n", f.name)
		for _, k := range r.Kernels {
			describe(&table, k)
		}
		got := f.problems(r)
		for what, figure := range got {
			assert.NotEmpty(t, unmet[f.name][what], "%s: %s: %s", f.name, what, figure)
		}
		for what := range unmet[f.name] {
			assert.NotEmpty(t, got[what], "%s meets the requirement %q: remove it from unmet", f.name, what)
		}
	}
	golden.Text(t, "testdata/figures.golden.txt", table.String())
}

// A schedule with an element or a row per thread does not meet the requirements.
func TestFigures_Naive(t *testing.T) {
	to := must.Get(target.New(figuresTarget))(t)
	want := map[string]string{"elementwise": "vectors", "transpose": "sectors", "sum over rows": "sectors"}
	for _, f := range families() {
		if want[f.name] == "" {
			continue
		}
		s := must.Get(te.NewSchedule(f.out))(t)
		for _, st := range s.Stages() {
			if st.IsPlaceholder() || st.Tensor() != f.out {
				if !st.IsPlaceholder() {
					st.ComputeInline()
				}
				continue
			}
			all := st.Axes()[0]
			for _, x := range st.Axes()[1:] {
				all = st.Fuse(all, x)
			}
			block, thread := st.Split(all, 256)
			st.Bind(block, "blockIdx.x")
			st.Bind(thread, "threadIdx.x")
		}
		var args []any
		for _, x := range append(f.ins, f.out) {
			args = append(args, x)
		}
		r := must.Get(codegen.Explain(must.Get(te.Lower(s, args, "f"))(t), to))(t)
		require.NotEmpty(t, f.problems(r)[want[f.name]], f.name)
	}
}

// describe writes the figures of a kernel: one line for all accesses to a tensor that are alike.
func describe(b *strings.Builder, k *explain.Kernel) {
	bound := k.Work.Bound
	if k.Work.Estimated {
		bound += ", estimated"
	}
	fmt.Fprintf(b, "  %s: grid %v, block %v, shared %d, occupancy %.3g\n", k.Name, k.Grid, k.Block, k.SharedBytes,
		k.Occupancy.Fraction)
	fmt.Fprintf(b, "    read %g, written %g, operations %g, bound %s\n", k.Work.BytesRead, k.Work.BytesWritten,
		k.Work.Operations, bound)
	var lines []string
	for _, a := range k.Accesses {
		line := fmt.Sprintf("    %s %s %s: %d bytes", a.Scope, a.Op, a.Buffer, a.Bytes)
		if a.Sectors != nil {
			line += fmt.Sprintf(", %.3g sectors of %.3g", a.Sectors.Average, a.Sectors.Minimal)
		}
		if a.Ways != nil {
			line += fmt.Sprintf(", %g ways", a.Ways.Worst)
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	fmt.Fprintln(b, strings.Join(lines, "\n"))
}
