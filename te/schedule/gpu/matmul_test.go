package gpu_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

func matrix(name string, t tir.Type, sizes ...int32) *te.Tensor {
	return te.Placeholder(te.Dims(sizes...), t, name)
}

// The kernel of a large product has the tiles of a fast one: operands in padded shared memory, in two copies; sums and
// the operands of one product of each in registers; 16-byte accesses; and no condition around products, whatever the
// sizes are.
func TestMatmul_Tiles(t *testing.T) {
	for name, c := range map[string]struct {
		x, y     *te.Tensor
		vectors  bool // of 16 bytes, in global memory
		contains []string
	}{
		"divisible": {matrix("A", tir.Float32, 4096, 4096), matrix("B", tir.Float32, 4096, 4096), true, []string{
			`alloc C.left.shared: float32[1, 1, 16, 128], strides [2112, 2112, 132, 1], scope "shared"`,
			`alloc C.right.shared: float32[1, 1, 16, 128], strides [2112, 2112, 132, 1], scope "shared"`,
			`alloc C.sums: float32[1, 1, 2, 1, 4, 2, 1, 4], scope "local"`,
			`alloc C.left: float32[1, 1, 1, 2, 1, 4], scope "local"`,
			`alloc C.right: float32[1, 1, 1, 2, 1, 4], scope "local"`,
		}},
		"multiples of a vector": {matrix("A", tir.Float32, 2052, 2052), matrix("B", tir.Float32, 2052, 2052), true, nil},
		"odd":                   {matrix("A", tir.Float32, 2053, 2051), matrix("B", tir.Float32, 2051, 2053), false, nil},
	} {
		text := lowered(t, ofGPU, []*te.Tensor{ops.Matmul(c.x, c.y, "C")}, c.x, c.y)
		for _, want := range c.contains {
			require.Contains(t, text, want, name)
		}
		require.Equal(t, 2, strings.Count(text, "double_buffer_scope"), name)
		_, products, _ := strings.Cut(text, "unrolled k in range(16)")
		products, _, _ = strings.Cut(products, "unrolled i0.inner.outer")
		require.NotContains(t, products, "if ", name)
		require.NotContains(t, products, "likely", name)
		_, global, _ := strings.Cut(text, "for step in")
		global, _, _ = strings.Cut(global, "unrolled k in range(16)")
		require.Equal(t, c.vectors, strings.Contains(global, "vectorized"), "%s: %s", name, global)
	}
}

// So has the kernel of a product of open sizes: nothing that blocks repeat is in the way of products.
func TestMatmul_OpenTiles(t *testing.T) {
	a, b, c, n := te.Var("a"), te.Var("b"), te.Var("c"), te.Var("n")
	open := func(name string, sizes ...tir.Expr) *te.Tensor { return te.Placeholder(sizes, tir.Float32, name) }
	size := tir.I32(4096)
	for name, in := range map[string][2]*te.Tensor{
		"all":     {open("A", a, b), open("B", b, c)},
		"rows":    {open("A", a, size), open("B", size, size)},
		"columns": {open("A", size, size), open("B", size, c)},
		"sums":    {open("A", size, b), open("B", b, size)},
		"batches": {open("A", n, a, b), open("B", n, b, c)},
	} {
		for _, to := range []string{ofGPU, "opencl"} {
			text := lowered(t, to, []*te.Tensor{ops.Relu(ops.Matmul(in[0], in[1], "C"), "D")}, in[0], in[1])
			require.Contains(t, text, `2, 1, 4, 2, 1, 4], scope "local"`, name)
			_, products, found := strings.Cut(text, "unrolled k in range(")
			require.True(t, found, name)
			products, _, found = strings.Cut(products, " = C.sums[")
			require.True(t, found, name)
			require.NotContains(t, products, "if ", name)
			require.NotContains(t, products, "likely", name)
		}
	}
}

// The long sums of a small product are divided between blocks, and a second kernel adds their parts. Those of a large
// product are not, and a product with a vector is a reduction.
func TestMatmul_ThinShapes(t *testing.T) {
	for name, c := range map[string]struct {
		m, n, k      int32
		parts, tiles bool // those of reductions are others
	}{
		"long sums":   {16, 16, 65536, true, true},
		"one block":   {64, 64, 4096, true, true},
		"short sums":  {16, 16, 512, false, true},
		"large":       {4096, 4096, 4096, false, true},
		"row vector":  {1, 4096, 4096, false, false},
		"column":      {4096, 1, 4096, false, false},
		"thin matrix": {4, 128, 65536, true, true},
	} {
		x, y := matrix("A", tir.Float32, c.m, c.k), matrix("B", tir.Float32, c.k, c.n)
		text := lowered(t, ofGPU, []*te.Tensor{ops.Matmul(x, y, "C")}, x, y)
		require.Equal(t, c.tiles, strings.Contains(text, "C.left.shared"), name)
		require.Equal(t, c.parts, c.tiles && strings.Contains(text, "C.parts"), name)
		if c.parts {
			require.Equal(t, 2, strings.Count(text, `thread "threadIdx.x"`), name)
		}
	}
}

// The rows of batches of variable size are tiled for each batch, also for the rows of an operator that reads them.
func TestMatmul_RowsOfBatches(t *testing.T) {
	for _, to := range []string{ofGPU, "opencl", "vulkan"} {
		n := te.Var("n")
		x := te.Placeholder([]tir.Expr{tir.I32(3), tir.I32(2), n, tir.I32(4)}, tir.Float32, "x")
		y := te.Placeholder([]tir.Expr{tir.I32(4), n}, tir.Float32, "y")
		p := lowered(t, to, []*te.Tensor{ops.Softmax(ops.Matmul(x, y, "p"), "z")}, x, y)
		require.Regexp(t, `alloc p.sums: float32\[[0-9, ]*\], scope "local"`, p)
	}
}
