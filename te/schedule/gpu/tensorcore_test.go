package gpu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// The kernel of a large product has fragments in registers, padded tiles in shared memory that asynchronous copies fill
// in several stages, and no condition in the loops over fragments, whatever the sizes are. Registers hold the elements
// of the next step where rows do not begin at 4 bytes: no asynchronous copy is as short.
func TestTensorCore_Tiles(t *testing.T) {
	for _, size := range []int32{4096, 4104, 4099} {
		x, y := matrix("A", tir.Float16, size, size), matrix("B", tir.Float16, size, size)
		text := lowered(t, ofGPU, []*te.Tensor{ops.Matmul(x, y, "C")}, x, y)
		for _, want := range []string{
			`scope "fragment.acc"`, `scope "fragment.a"`, `scope "fragment.b"`,
			`threadIdx.z`, `fragment_mma[void](`,
			`alloc C.wide.left.shared: float16[1, 1, 128, 32], strides [5120, 5120, 40, 1], scope "shared"`,
		} {
			require.Contains(t, text, want, size)
		}
		require.Equal(t, size%2 == 0, strings.Contains(text, `attr "async" buffer C.wide.left.shared`), size)
		require.Contains(t, text, `attr "double_buffer_scope" buffer C.wide.left.shared`, size)
		_, loop, _ := strings.Cut(text, "unrolled part in")
		loop, _, _ = strings.Cut(loop, "fragment_store")
		require.NotContains(t, loop, "if ", size)
		require.NotContains(t, loop, "likely", size)
		_, loads, _ := strings.Cut(text, "for step in")
		loads, _, _ = strings.Cut(loads, "unrolled part in")
		require.Equal(t, size%8 == 0, strings.Contains(loads, "vectorized"), size)
	}
}

// Convolutions are products of fragments, too, also with several groups.
func TestTensorCore_Convolutions(t *testing.T) {
	for groups := range 3 {
		channels := int32(64 / (groups + 1) * (groups + 1))
		x, w := matrix("X", tir.Float16, 2, channels, 32, 32), matrix("W", tir.Float16, 96, channels/int32(groups+1), 3, 3)
		y := ops.Conv2D(x, w, "Y", 1, 1, ops.Groups(groups+1))
		text := lowered(t, ofGPU, []*te.Tensor{y}, x, w)
		require.Contains(t, text, "fragment_mma", groups)
		require.NotContains(t, text, "alloc Y.pad", groups)
	}
}

// The long sums of a small product are divided between blocks, and a second kernel adds their parts, and applies the
// rest of the formula. Blocks of other products become smaller.
func TestTensorCore_ThinShapes(t *testing.T) {
	for name, c := range map[string]struct {
		m, n, k int32
		parts   int // 0: none
	}{
		"one block":       {64, 64, 4096, 8},
		"thin":            {16, 4096, 4096, 2},
		"no tile divides": {33, 130, 5000, 9},
		"very long sums":  {64, 64, 1 << 20, 128},
		"short sums":      {64, 64, 1000, 0},
		"large":           {4096, 4096, 4096, 0},
	} {
		x, y := matrix("A", tir.Float16, c.m, c.k), matrix("B", tir.Float16, c.k, c.n)
		text := lowered(t, ofGPU, []*te.Tensor{ops.Relu(ops.Matmul(x, y, "C"), "D")}, x, y)
		require.Contains(t, text, "fragment_mma", name)
		if c.parts == 0 {
			require.NotContains(t, text, ".parts", name)
			continue
		}
		require.Contains(t, text, fmt.Sprintf("C.wide.parts: float32[%d, %d, %d]", c.parts, c.m, c.n), name)
	}
}
