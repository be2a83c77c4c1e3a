//go:build cgo

package ops

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/nvrtc"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// measured are the operators whose kernels have golden figures.
var measured = []struct {
	name string
	make func() (out *te.Tensor, ins []*te.Tensor)
}{
	{"matmul of float32, 4096 x 4096 x 4096", matrixProduct(tir.Float32, 4096, 4096, 4096)},
	{"matmul of float32, 1024 x 1024 x 1024", matrixProduct(tir.Float32, 1024, 1024, 1024)},
	{"matmul of float32, 1000 x 1003 x 1001", matrixProduct(tir.Float32, 1000, 1003, 1001)},
	{"matmul of float16, 1024 x 1024 x 1024", matrixProduct(tir.Float16, 1024, 1024, 1024)},
	{"matmul of float16, 1000 x 1003 x 1001", matrixProduct(tir.Float16, 1000, 1003, 1001)},
	{"matmul of float16, n x k x m", variableProduct(tir.Float16)},
	{"matmul of bfloat16, 1000 x 1003 x 1001", matrixProduct(tir.BFloat16, 1000, 1003, 1001)},
	{"softmax of float32, 4096 x 1024", rowsOf(4096, 1024, softmaxOfRows)},
	{"softmax of float32, 64 x 65536", rowsOf(64, 65536, softmaxOfRows)},
	{"layer norm of float32, 4096 x 1024", rowsOf(4096, 1024, normalized)},
	{"layer norm of float32, 64 x 65536", rowsOf(64, 65536, normalized)},
	{"conv2d of float32, 3 x 3, 64 to 128 channels", convolved(tir.Float32, 64, 128, 3, 1)},
	{"conv2d of float32, 1 x 1, 256 to 64 channels", convolved(tir.Float32, 256, 64, 1, 1)},
	{"conv2d of float32, 3 x 3, depthwise", convolved(tir.Float32, 64, 64, 3, 64)},
	{"conv2d of float16, 3 x 3, 64 to 128 channels", convolved(tir.Float16, 64, 128, 3, 1)},
}

func matrixProduct(typ tir.Type, n, k, m int32) func() (*te.Tensor, []*te.Tensor) {
	return func() (*te.Tensor, []*te.Tensor) {
		a, b := te.Placeholder(te.Dims(n, k), typ, "a"), te.Placeholder(te.Dims(k, m), typ, "b")
		return Matmul(a, b, "c"), []*te.Tensor{a, b}
	}
}

// variableProduct is a product of matrices of unknown sizes.
func variableProduct(typ tir.Type) func() (*te.Tensor, []*te.Tensor) {
	return func() (*te.Tensor, []*te.Tensor) {
		n, k, m := te.Var("n"), te.Var("k"), te.Var("m")
		a, b := te.Placeholder([]tir.Expr{n, k}, typ, "a"), te.Placeholder([]tir.Expr{k, m}, typ, "b")
		return Matmul(a, b, "c"), []*te.Tensor{a, b}
	}
}

// softmaxOfRows is the softmax of the last dimension.
func softmaxOfRows(x *te.Tensor) (*te.Tensor, []*te.Tensor) { return Softmax(x, "y"), []*te.Tensor{x} }

func normalized(x *te.Tensor) (*te.Tensor, []*te.Tensor) {
	length := x.ProducerShape()[1:]
	gamma, beta := te.Placeholder(length, tir.Float32, "gamma"), te.Placeholder(length, tir.Float32, "beta")
	return LayerNorm(x, gamma, beta, "y", 1, 1e-5), []*te.Tensor{x, gamma, beta}
}

func rowsOf(rows, length int32, of func(*te.Tensor) (*te.Tensor, []*te.Tensor)) func() (*te.Tensor, []*te.Tensor) {
	return func() (*te.Tensor, []*te.Tensor) { return of(placeholder("x", rows, length)) }
}

func convolved(typ tir.Type, from, to, size, groups int32) func() (*te.Tensor, []*te.Tensor) {
	return func() (*te.Tensor, []*te.Tensor) {
		x := te.Placeholder(te.Dims(8, from, 56, 56), typ, "x")
		w := te.Placeholder(te.Dims(to, from/groups, size, size), typ, "w")
		return Conv2D(x, w, "y", 1, int(size/2), Groups(int(groups))), []*te.Tensor{x, w}
	}
}

// The default schedules of these operators need no more registers than there are, on any generation of GPUs: on two of
// them in the normal run. The figures are those of the wheels that build/scripts/requirements.txt names.
func TestResourcesOnDevices(t *testing.T) {
	nvrtctest.Need(t)
	pinned := true
	for arch, want := range map[int][2]int{60: {12, 9}, 90: {13, 0}} {
		major, minor := must.Get(nvrtc.FindArch(arch))(t).Version()
		pinned = pinned && [2]int{major, minor} == want
	}
	for _, arch := range testedGenerations() {
		t.Run(arch, func(t *testing.T) {
			to := must.Get(target.New("cuda -code-format=cubin -arch=" + arch))(t)
			figures := resourcesOn(t, to)
			if !pinned {
				t.Skip("the golden figures are those of other versions of NVRTC")
			}
			golden.Near(t, "testdata/resources/"+arch+".golden.txt", figures, registers, 8)
		})
	}
}

// resourcesOn compiles the operators, and returns the figures of their kernels.
func resourcesOn(t *testing.T, to *target.Target) string {
	t.Helper()
	var b strings.Builder
	for _, o := range measured {
		fmt.Fprintf(&b, "%s\n", o.name)
		out, ins := o.make()
		s := must.Get(Schedule(to, out))(t)
		var args []any
		for _, x := range append(ins, out) {
			args = append(args, x)
		}
		report := must.Get(codegen.Explain(must.Get(te.Lower(s, args, "f"))(t), to))(t)
		for _, k := range report.Kernels {
			require.NotNil(t, k.Resources, "%s: %s", o.name, k.Name)
			require.Zero(t, k.Resources.SpillStores+k.Resources.SpillLoads, "%s: %s spills", o.name, k.Name)
			fmt.Fprintf(&b, "  %-12s %3d registers, %6d bytes shared, %4d threads, %d blocks\n", k.Name,
				k.Resources.Registers, k.SharedBytes, k.ThreadsPerBlock, k.Occupancy.Blocks)
		}
	}
	return b.String()
}

// registers finds their number in the golden file. NVRTC is not deterministic: now and then the same source needs
// some registers more or less, also in one process. They are allocated in units of 8 for each thread: a difference
// within one matters only where it changes the number of blocks, which is compared as it is.
var registers = regexp.MustCompile(`( *\d+) registers`)
