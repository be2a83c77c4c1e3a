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

// figuresTarget is the target of the figures.
const figuresTarget = "cuda -arch=sm_90"

// family is an operator with sizes at which a device is busy, and what its kernels must achieve.
type family struct {
	name  string
	ins   []*te.Tensor
	out   *te.Tensor
	bound string // of the kernel that takes longest
	once  bool   // each input is read once: threads load no more bytes than it has
	wide  bool   // all accesses to global memory have 16 bytes
}

func families() []family {
	x := placeholder("x", 4096, 4096)
	v := placeholder("v", 4096)
	tensor := func(name string, t tir.Type, sizes ...int32) *te.Tensor {
		return te.Placeholder(te.Dims(sizes...), t, name)
	}
	image, channels := placeholder("x", 32, 64, 64, 64), placeholder("x", 32, 64, 64, 64)
	layer := placeholder("x", 32, 64, 56, 56)
	long := placeholder("x", 1<<22, 1024) // more than 2^31 elements
	half, table, at := tensor("x", tir.Float16, 4096, 4096), placeholder("x", 50000, 1024), tensor("at", tir.Int32, 8192)
	a, b := placeholder("a", 4096, 4096), placeholder("b", 4096, 4096)
	w, own := placeholder("w", 64, 64, 3, 3), placeholder("w", 64, 1, 3, 3)
	var qkv []*te.Tensor
	for _, name := range []string{"q", "k", "v"} {
		qkv = append(qkv, placeholder(name, 8, 16, 1024, 64))
	}
	in := func(x ...*te.Tensor) []*te.Tensor { return x }
	memory, compute := explain.BoundMemory, explain.BoundCompute
	return []family{
		{"elementwise", in(a, b), Relu(Add(a, b, "s"), "y"), memory, true, true},
		{"broadcast", in(x, v), Add(x, v, "y"), memory, false, true},
		{"cast", in(half), Cast(half, tir.Float32, "y"), memory, true, false},
		{"concat", in(a, b), Concat("y", 1, a, b), memory, true, true},
		{"slice", in(x), Slice(x, "y", Range{Axis: 1, Begin: 8, End: 4088}), memory, true, true},
		{"gather", in(table, at), Take(table, at, "y", 0, Clamp), memory, false, true},
		{"gather of a large table", in(long, at), Take(long, at, "y", 0, Zero), memory, false, true},
		{"pooling", in(channels), MaxPool2D(channels, "y", Window{Kernel: [2]int{2, 2}, Layout: "NHWC"}), memory,
			true, true},
		{"transpose", in(x), Transpose(x, "y"), memory, true, true},
		{"transpose of float16", in(half), Transpose(half, "y"), memory, true, true},
		{"NCHW to NHWC", in(image), Transpose(image, "y", 0, 2, 3, 1), memory, true, true},
		{"NHWC to NCHW", in(channels), Transpose(channels, "y", 0, 3, 1, 2), memory, true, true},
		{"NCHW to blocks", in(image), Transpose(Reshape(image, "r", te.Dims(32, 2, 32, 64, 64)...), "y", 0, 1, 3, 4, 2),
			memory, true, true},
		{"sum over rows", in(x), Sum(x, "y", []int{1}, false), memory, true, false},
		{"sum over columns", in(x), Sum(x, "y", []int{0}, false), memory, true, false},
		{"sum over everything", in(x), Sum(x, "y", nil, false), memory, true, false},
		{"softmax", in(x), Softmax(x, "y"), memory, true, false},
		{"layernorm", in(x, v), LayerNorm(x, v, v, "y", 1, 1e-5), memory, false, false},
		{"argmax", in(x), ArgMax(x, "y", []int{1}, false), memory, true, false},
		{"variance", in(x), Variance(x, "y", []int{1}, false), memory, true, false},
		{"matmul", in(a, b), Matmul(a, b, "y"), compute, false, false},
		{"conv2d", in(layer, w), Conv2D(layer, w, "y", 1, 1), explain.BoundCache, false, false},
		{"depthwise", in(layer, own), Conv2D(layer, own, "y", 1, 1, Groups(64)), memory, false, false},
		{"attention", qkv, Attention(qkv[0], qkv[1], qkv[2], "y"), explain.BoundCache, false, false},
	}
}

// unmet are the requirements that a family does not meet yet, with the reason.
var unmet = map[string]map[string]string{
	"conv2d": {"sectors": "the filters at the end of the reduction are loaded element by element"},
}

// problems lists the requirements that kernels of a family do not meet: its name, and the figure.
func (f *family) problems(r *explain.Report) map[string]string {
	all := map[string]string{}
	longest, read, size, reads := r.Kernels[0], 0.0, 0.0, 0.0
	for n, k := range r.Kernels {
		if k.Work.AtLeastSeconds > longest.Work.AtLeastSeconds {
			longest = k
		}
		if k.Occupancy.Fraction < 0.25 {
			all["occupancy"] = fmt.Sprintf("%s: %v", k.Name, k.Occupancy.Fraction)
		}
		for _, a := range k.Accesses {
			name := fmt.Sprintf("%s of %s", a.Op, a.Buffer)
			if !a.MinimalSectors() {
				all["sectors"] = fmt.Sprintf("%s: %.3g, at least %.3g", name, a.Sectors.Average, a.Sectors.Minimal)
			}
			if !a.ConflictFree() {
				all["banks"] = fmt.Sprintf("%s: %v ways", name, a.Ways.Worst)
			}
			if f.wide && a.Scope == "global" && a.Bytes < 16 && n == 0 && !strings.HasPrefix(a.Buffer, "at") {
				all["vectors"] = fmt.Sprintf("%s: %d bytes", name, a.Bytes)
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
		all["read once"] = fmt.Sprintf("%g bytes of %g", read, size+reads)
	}
	if longest.Work.Bound != f.bound {
		all["bound"] = longest.Work.Bound
	}
	return all
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
