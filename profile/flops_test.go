package profile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func f32(shape ...int64) Tensor { return Tensor{DType: "float32", Bits: 32, Float: true, Shape: shape} }

func i8(shape ...int64) Tensor { return Tensor{DType: "int8", Bits: 8, Shape: shape} }

func TestFLOPs(t *testing.T) {
	const unknown = -1
	for _, c := range []struct {
		what, name string
		tensors    []Tensor
		want       int64
	}{
		{"product", "matmul", []Tensor{f32(4, 16), f32(16, 32), f32(4, 32)}, 2 * 4 * 16 * 32},
		{"transposed weights", "fused_NT_matmul5_add1_relu",
			[]Tensor{f32(4, 16), f32(32, 16), f32(32), f32(4, 32)}, 2 * 4 * 16 * 32},
		{"square", "matmul3", []Tensor{f32(8, 8), f32(8, 8), f32(8, 8)}, 2 * 8 * 8 * 8},
		{"batches", "batch_matmul", []Tensor{f32(3, 4, 5), f32(3, 5, 6), f32(3, 4, 6)}, 2 * 3 * 4 * 5 * 6},
		{"one matrix for all batches", "fused_matmul_add",
			[]Tensor{f32(3, 4, 5), f32(5, 6), f32(6), f32(3, 4, 6)}, 2 * 3 * 4 * 5 * 6},
		{"reshaped result", "fused_matmul_reshape_transpose",
			[]Tensor{f32(7, 8), f32(8, 12), f32(1, 3, 7, 4)}, 2 * 7 * 8 * 12},
		{"packed weights", "tvmgen_default_fused_nn_contrib_dense_pack_add",
			[]Tensor{f32(4, 16), f32(4, 16, 8), f32(32), f32(4, 32)}, 2 * 4 * 16 * 32},
		{"two products in one kernel", "fused_matmul_matmul1", []Tensor{f32(4, 4), f32(4, 4), f32(4, 4)}, unknown},
		{"a sum over the product", "fused_matmul_sum", []Tensor{f32(4, 16), f32(16, 32), f32(4)}, unknown},
		{"inner dimensions differ", "matmul", []Tensor{f32(4, 16), f32(15, 32), f32(4, 32)}, unknown},
		{"two answers", "fused_matmul_add", []Tensor{f32(4, 4), f32(4, 4), f32(8, 2), f32(2, 2), f32(4, 4)}, unknown},
		{"integers", "matmul", []Tensor{i8(4, 16), i8(16, 32), i8(4, 32)}, unknown},
		{"no result", "matmul", []Tensor{f32(4, 4)}, unknown},
		{"nothing", "matmul", nil, unknown},
		{"conv, channels first", "fused_conv2d1_add_relu",
			[]Tensor{f32(1, 3, 8, 8), f32(16, 3, 3, 3), f32(1, 16, 1, 1), f32(1, 16, 6, 6)},
			2 * 16 * 6 * 6 * 3 * 3 * 3},
		{"conv, channels last", "conv2d",
			[]Tensor{f32(1, 8, 8, 3), f32(3, 3, 3, 16), f32(1, 6, 6, 16)}, 2 * 16 * 6 * 6 * 3 * 3 * 3},
		{"depthwise", "conv2d",
			[]Tensor{f32(1, 12, 8, 8), f32(12, 1, 3, 3), f32(1, 12, 6, 6)}, 2 * 12 * 6 * 6 * 3 * 3},
		{"conv over a line", "conv1d", []Tensor{f32(2, 5, 9), f32(7, 5, 3), f32(2, 7, 7)}, 2 * 2 * 7 * 7 * 5 * 3},
		{"transposed conv", "conv2d_transpose",
			[]Tensor{f32(1, 3, 8, 8), f32(3, 16, 3, 3), f32(1, 16, 10, 10)}, unknown},
		{"by element", "add", []Tensor{f32(4, 8), f32(8), f32(4, 8)}, 32},
		{"two by element", "fused_multiply_add1", []Tensor{f32(4, 8), f32(8), f32(4, 1), f32(4, 8)}, 64},
		{"a sum that repeats", "fused_add_tanh", []Tensor{f32(4, 8), f32(8), f32(4, 8)}, unknown},
		{"larger input", "add", []Tensor{f32(4, 8), f32(8), f32(8)}, unknown},
		{"pool", "avg_pool2d", []Tensor{f32(1, 3, 8, 8), f32(1, 3, 4, 4)}, unknown},
		{"softmax", "softmax", []Tensor{f32(4, 8), f32(4, 8)}, unknown},
		{"names of parts of words", "addition", []Tensor{f32(4), f32(4), f32(4)}, unknown},
		{"empty", "matmul", []Tensor{f32(0, 16), f32(16, 32), f32(0, 32)}, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			n, ok := FLOPs(c.name, c.tensors)
			if !ok {
				n = unknown
			}
			require.Equal(t, c.want, n)
		})
	}
}
