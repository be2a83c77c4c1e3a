//go:build cgo

package passes_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/tir"
)

func perm(axes ...int64) graph.Attrs { return graph.Attrs{"perm": axes} }

func to(t tir.Type) graph.Attrs { return graph.Attrs{"to": t} }

// Each case adds nodes to a function with the parameters x: float32[n, 4, 1] and i: int8[4].
func TestSimple(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(b *builder, x, i *graph.Value) *graph.Value
		want []string
	}{
		{"identity", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.op("exp", b.op("identity", b.op("identity", x)))
		}, []string{"exp x = y"}},
		{"result that is an operand", func(b *builder, x, _ *graph.Value) *graph.Value { return b.op("identity", x) },
			[]string{"identity x = y"}},
		{"wide cast", func(b *builder, _, i *graph.Value) *graph.Value {
			return b.op("neg", b.with("cast", to(tir.Int8), b.with("cast", to(tir.Float32), i)))
		}, []string{"neg i = y"}},
		{"cast of cast", func(b *builder, _, i *graph.Value) *graph.Value {
			return b.with("cast", to(tir.Float32), b.with("cast", to(tir.Int32), i))
		}, []string{"cast i to=float32 = y"}},
		{"cast of cast without saturation", func(b *builder, _, i *graph.Value) *graph.Value {
			wide := b.with("cast", to(tir.Float32), i)
			return b.with("cast", graph.Attrs{"to": dlpack.Float8E4M3FN, "saturate": int64(0)}, wide)
		}, []string{"cast i saturate=0 to=float8_e4m3fn = y"}},
		{"powers beyond float16", func(b *builder, x, _ *graph.Value) *graph.Value {
			powers := tir.Type{Code: dlpack.CodeFloat8E8M0FNU, Bits: 8, Lanes: 1}
			return b.with("cast", to(tir.Float32), b.with("cast", to(tir.Float16), b.with("cast", to(powers), x)))
		}, []string{"cast x to=float8_e8m0fnu = v1", "cast v1 to=float16 = v2", "cast v2 to=float32 = y"}},
		{"truth value as a power", func(b *builder, x, _ *graph.Value) *graph.Value {
			powers := tir.Type{Code: dlpack.CodeFloat8E8M0FNU, Bits: 8, Lanes: 1}
			return b.with("cast", to(tir.Float32), b.with("cast", to(powers), b.op("is_nan", x)))
		}, []string{"is_nan x = v1", "cast v1 to=float8_e8m0fnu = v2", "cast v2 to=float32 = y"}},
		{"narrow cast", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.with("cast", to(tir.Float32), b.with("cast", to(tir.Float16), x))
		}, []string{"cast x to=float16 = v1", "cast v1 to=float32 = y"}},
		{"twice", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.op("relu", b.op("relu", b.op("neg", b.op("neg", x))))
		}, []string{"relu x = y"}},
		{"neutral", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("sub", b.op("div", b.op("mul", b.scalar(1), x), b.scalar(1)), b.scalar(0))
			return b.op("exp", b.op("add", y, b.scalar(math.Copysign(0, -1))))
		}, []string{"exp x = y"}},
		{"not neutral", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.op("sub", b.op("add", x, b.scalar(0)), b.scalar(math.Copysign(0, -1)))
		}, []string{"add x const[] = v1", "sub v1 const[] = y"}},
		{"neutral integers", func(b *builder, _, i *graph.Value) *graph.Value {
			zero := b.with("cast", to(tir.Int8), b.Ints("zero", 0))
			return b.op("neg", b.op("add", i, zero))
		}, []string{"neg i = y"}},
		{"neutral with more elements", func(b *builder, _, i *graph.Value) *graph.Value {
			x := b.with("cast", to(tir.Float32), i)
			return b.op("mul", x, b.floats([]int64{2, 1}, 1, 1))
		}, []string{"cast i to=float32 = v1", "mul v1 const[2,1] = y"}},
		{"views", func(b *builder, _, i *graph.Value) *graph.Value {
			v := b.op("unsqueeze", b.op("reshape", i, b.Ints("shape", 2, 2)), b.Ints("axes", 0))
			return b.op("neg", b.op("squeeze", v))
		}, []string{"reshape i const[2] allowzero=1 = v1", "neg v1 = y"}},
		{"views back", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.op("exp", b.op("unsqueeze", b.op("squeeze", x, b.Ints("axes", 2)), b.Ints("axes", 2)))
		}, []string{"exp x = y"}},
		{"transposes", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.with("transpose", perm(1, 2, 0), b.with("transpose", perm(1, 2, 0), x))
		}, []string{"transpose x perm=[2,0,1] = y"}},
		{"transposes back", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.op("exp", b.op("transpose", b.op("transpose", x)))
		}, []string{"exp x = y"}},
		{"transpose of single elements", func(b *builder, _, i *graph.Value) *graph.Value {
			return b.with("transpose", perm(1, 0), b.op("unsqueeze", i, b.Ints("axes", 0)))
		}, []string{"reshape i const[2] allowzero=1 = y"}},
		{"expand", func(b *builder, _, i *graph.Value) *graph.Value {
			return b.op("neg", b.op("expand", i, b.Ints("to", 4)))
		},
			[]string{"neg i = y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			x, i := b.input("x", -1, 4, 1), b.Param("i", tir.Int8, tir.I32(4))
			y := c.make(b, x, i)
			y.Name = "y"
			b.Return(y)
			require.Equal(t, append(c.want, "return y"), changed(t, b.Function, "simple"))
		})
	}
}

// What follows a convolution or a product is put into the weights, and constants are computed.
func TestAffine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name string
		make func(b *builder, x, m *graph.Value) *graph.Value
		want []string
	}{
		{"conv", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("conv", x, b.weights(r, 3, 2, 3, 3))
			return b.op("batch_normalization", y, b.weights(r, 3), b.weights(r, 3), b.weights(r, 3), b.weights(r, 3))
		}, []string{"conv x const[3,2,3,3] const[3] = y"}},
		{"conv with everything", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.with("conv", graph.Attrs{"group": int64(2), "strides": []int64{2, 1}}, x, b.weights(r, 4, 1, 2, 1),
				b.weights(r, 4))
			y = b.op("add", b.weights(r, 1, 4, 1, 1), b.op("mul", y, b.weights(r, 4, 1, 1)))
			y = b.with("batch_normalization", graph.Attrs{"epsilon": 0.5}, y, b.weights(r, 4), b.weights(r, 4),
				b.weights(r, 4), b.weights(r, 4))
			return b.op("div", b.op("sub", y, b.scalar(2)), b.scalar(4))
		}, []string{"conv x const[4,1,2,1] const[4] group=2 strides=[2,1] = y"}},
		{"conv transpose", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("conv_transpose", x, b.weights(r, 2, 3, 2, 2), b.weights(r, 3))
			return b.op("batch_normalization", y, b.weights(r, 3), b.weights(r, 3), b.weights(r, 3), b.weights(r, 3))
		}, []string{"conv_transpose x const[2,3,2,2] const[3] = y"}},
		{"gemm", func(b *builder, _, m *graph.Value) *graph.Value {
			y := b.with("gemm", graph.Attrs{"transB": int64(1)}, m, b.weights(r, 5, 4), b.weights(r, 1, 5))
			return b.op("batch_normalization", y, b.weights(r, 5), b.weights(r, 5), b.weights(r, 5), b.weights(r, 5))
		}, []string{"gemm m const[5,4] const[1,5] transB=1 = y"}},
		{"matmul", func(b *builder, _, m *graph.Value) *graph.Value {
			y := b.op("matmul", m, b.weights(r, 4, 5))
			y = b.op("batch_normalization", y, b.weights(r, 5), b.weights(r, 5), b.weights(r, 5), b.weights(r, 5))
			return b.op("mul", y, b.scalar(2))
		}, []string{"matmul m const[4,5] = v1", "add v1 const[5] = v2", "mul v2 const[] = y"}},
		{"normalization of another value", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("batch_normalization", x, b.weights(r, 2), b.weights(r, 2), b.weights(r, 2), b.weights(r, 2))
			return b.op("conv", b.op("relu", y), b.weights(r, 3, 2, 1, 1))
		}, []string{"mul x const[2,1,1] = v1", "add v1 const[2,1,1] = v2", "relu v2 = v3", "conv v3 const[3,2,1,1] = y"}},
		{"not per channel", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("conv", x, b.weights(r, 3, 2, 1, 1))
			return b.op("add", b.op("mul", y, b.weights(r, 4)), b.weights(r, 1, 3, 5, 1))
		}, []string{"conv x const[3,2,1,1] = v1", "mul v1 const[4] = v2", "add v2 const[1,3,5,1] = y"}},
		{"also read by others", func(b *builder, _, m *graph.Value) *graph.Value {
			y := b.op("matmul", m, b.weights(r, 4, 5))
			return b.op("add", b.op("mul", y, b.scalar(3)), b.op("exp", y))
		}, []string{"matmul m const[4,5] = v1", "mul v1 const[] = v2", "exp v1 = v3", "add v2 v3 = y"}},
		{"pad", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("pad", x, b.Ints("pads", 0, 0, 1, 2, 0, 0, 3, 0), b.scalar(0))
			return b.with("conv", graph.Attrs{"pads": []int64{1, 0, 0, 0}}, y, b.weights(r, 3, 2, 3, 3))
		}, []string{"conv x const[3,2,3,3] auto_pad=NOTSET pads=[2,2,3,0] = y"}},
		{"pad before an average", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("pad", x, b.Ints("pads", 0, 0, 1, 1, 0, 0, 1, 1))
			return b.with("average_pool", graph.Attrs{"kernel_shape": []int64{3, 3}}, y)
		}, []string{"average_pool x auto_pad=NOTSET count_include_pad=1 kernel_shape=[3,3] pads=[1,1,1,1] = y"}},
		{"pad of channels", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("pad", x, b.Ints("pads", 0, 1, 0, 0, 0, 0, 0, 0))
			return b.op("conv", y, b.weights(r, 3, 3, 1, 1))
		}, []string{"pad x const[8] = v1", "conv v1 const[3,3,1,1] = y"}},
		{"pad with ones", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("pad", x, b.Ints("pads", 0, 0, 1, 0, 0, 0, 0, 0), b.scalar(1))
			return b.op("conv", y, b.weights(r, 3, 2, 1, 1))
		}, []string{"pad x const[8] const[] = v1", "conv v1 const[3,2,1,1] = y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			y := c.make(b, b.input("x", -1, 2, 5, 4), b.input("m", -1, 4))
			y.Name = "y"
			b.Return(y)
			require.Equal(t, append(c.want, "return y"), changed(t, b.Function, "affine", "constants"))
		})
	}
}
