package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Each case is a change of order with the tile in shared memory that a GPU uses: rows of a power of two of vectors are
// swizzled, others have gaps.
func TestTranspose_Tiles(t *testing.T) {
	for name, c := range map[string]struct {
		x    *te.Tensor
		op   func(x *te.Tensor) *te.Tensor
		tile string
	}{
		"float32": {array(tir.Float32, 4096, 4096), func(x *te.Tensor) *te.Tensor { return ops.Transpose(x, "y") },
			`alloc X.shared: float32[32, 64], scope "shared"`},
		"int8": {array(tir.Int8, 4096, 4096), func(x *te.Tensor) *te.Tensor { return ops.Transpose(x, "y") },
			`alloc X.shared: int8[128, 128], scope "shared"`},
		"float64": {array(tir.Float64, 4096, 4096), func(x *te.Tensor) *te.Tensor { return ops.Transpose(x, "y") },
			`alloc X.shared: float64[16, 64], scope "shared"`},
		"odd sizes": {array(tir.Float32, 4097, 4095), func(x *te.Tensor) *te.Tensor { return ops.Transpose(x, "y") },
			`alloc X.shared: float32[32, 64], scope "shared"`},
		"variable sizes": {symbolic("n", "m"), func(x *te.Tensor) *te.Tensor { return ops.Transpose(x, "y") },
			`alloc X.shared: float32[32, 64], scope "shared"`},
		"keys of heads": {array(tir.Float16, 16, 128, 8, 64), func(x *te.Tensor) *te.Tensor {
			return ops.Transpose(x, "y", 0, 2, 3, 1)
		}, `alloc X.shared: float16[1, 64, 1, 64], scope "shared"`},
		"few channels": {array(tir.Float32, 32, 3, 224, 224), func(x *te.Tensor) *te.Tensor {
			return ops.Transpose(x, "y", 0, 2, 3, 1)
		}, `alloc X.shared: float32[1, 3, 2, 224]`},
		"what is computed inline": {array(tir.Float32, 1024, 1024), func(x *te.Tensor) *te.Tensor {
			return ops.Relu(ops.Transpose(ops.Add(x, x, "sum"), "t"), "y")
		}, `alloc sum.shared: float32[32, 64], scope "shared"`},
	} {
		y := c.op(c.x)
		require.NoError(t, y.Err(), name)
		got := lowered(t, ofGPU, []*te.Tensor{y}, c.x)
		require.Contains(t, got, c.tile, name)
		require.NotContains(t, lowered(t, ofCPU, []*te.Tensor{y}, c.x), `scope "shared"`, name)
	}
}

// Elements that stay consecutive are copied as vectors, without a tile.
func TestTranspose_Copies(t *testing.T) {
	x := array(tir.Float32, 16, 128, 8, 64)
	for _, y := range []*te.Tensor{
		ops.Transpose(x, "y", 0, 2, 1, 3), ops.Transpose(x, "y", 2, 1, 0, 3),
		ops.Transpose(ops.Relu(ops.Transpose(x, "t"), "r"), "y"),
		ops.Slice(x, "y", ops.Range{Axis: 3, End: ops.ToEnd, Step: 2}),
	} {
		require.NotContains(t, lowered(t, ofGPU, []*te.Tensor{y}, x), `scope "shared"`)
	}
}

// A grid with more blocks than one dimension has uses two; with more than these have, blocks repeat their work.
func TestTranspose_GridLimit(t *testing.T) {
	x := array(tir.Int8, 1<<16, 1<<16)
	got := lowered(t, "vulkan -max_num_threads=64", []*te.Tensor{ops.Transpose(x, "y")}, x)
	require.Contains(t, got, `in range(512), thread "blockIdx.y"`)
	require.Contains(t, got, `in range(512), thread "blockIdx.x"`)
	x = symbolic("n", "m")
	got = lowered(t, "vulkan -max_num_threads=64", []*te.Tensor{ops.Transpose(x, "y")}, x)
	require.Regexp(t, `in range\(min\(.*65535.*\)\), thread "blockIdx.x"`, got)
}
