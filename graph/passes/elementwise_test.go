//go:build cgo

package passes_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
)

// Transposes with elementwise operators between them disappear. x is float32[n, 3, 4, 2] with channels in the last
// dimension, as TensorFlow has them.
func TestTransposes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	first, last := perm(0, 3, 1, 2), perm(0, 2, 3, 1)
	for _, c := range []struct {
		name string
		make func(b *builder, x, z *graph.Value) *graph.Value
		want []string
	}{
		{"activation", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("relu", b.op("add", b.with("transpose", first, x), b.scalar(1)))
			return b.op("exp", b.with("transpose", last, b.with("leaky_relu", graph.Attrs{"alpha": 0.5}, y)))
		}, []string{"add x const[] = v1", "relu v1 = v2", "leaky_relu v2 alpha=0.5 = v3", "exp v3 = y"}},
		{"constant per channel", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("mul", b.with("transpose", first, x), b.weights(r, 1, 2, 1, 1))
			return b.with("transpose", last, y)
		}, []string{"mul x const[1,1,1,2] = y"}},
		{"constant of the last dimension", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("add", b.with("transpose", last, x), b.weights(r, 3))
			return b.with("transpose", first, b.op("relu", y))
		}, []string{"add x const[1,3,1,1] = v1", "relu v1 = y"}},
		{"two operands", func(b *builder, x, z *graph.Value) *graph.Value {
			y := b.op("add", b.with("transpose", first, x), b.op("neg", b.with("transpose", first, z)))
			return b.with("transpose", last, b.op("clip", y, b.scalar(0), b.scalar(6)))
		}, []string{"neg z = v1", "add x v1 = v2", "clip v2 const[] const[] = y"}},
		{"other order", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.with("transpose", first, b.op("relu", b.with("transpose", first, x)))
		}, []string{"transpose x perm=[0,2,3,1] = v1", "relu v1 = y"}},
		{"no other transpose", func(b *builder, x, z *graph.Value) *graph.Value {
			return b.with("transpose", last, b.op("relu", b.op("add", x, z)))
		}, []string{"add x z = v1", "relu v1 = v2", "transpose v2 perm=[0,2,3,1] = y"}},
		{"other operand", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.with("transpose", last, b.op("add", b.with("transpose", first, x), x))
		}, nil},
		{"not elementwise", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.with("softmax", graph.Attrs{"axis": int64(1)}, b.with("transpose", first, x))
			return b.with("transpose", last, y)
		}, []string{"transpose x perm=[0,3,1,2] = v1", "softmax v1 axis=1 = v2", "transpose v2 perm=[0,2,3,1] = y"}},
		{"depends on the indices", func(b *builder, x, _ *graph.Value) *graph.Value {
			return b.with("transpose", last, b.op("trilu", b.with("transpose", first, x)))
		}, []string{"transpose x perm=[0,3,1,2] = v1", "trilu v1 = v2", "transpose v2 perm=[0,2,3,1] = y"}},
		{"read by others", func(b *builder, x, _ *graph.Value) *graph.Value {
			y := b.op("relu", b.with("transpose", first, x))
			return b.op("add", b.op("reduce_sum", y), b.with("transpose", last, y))
		}, []string{"transpose x perm=[0,3,1,2] = v1", "relu v1 = v2", "reduce_sum v2 = v3",
			"transpose v2 perm=[0,2,3,1] = v4", "add v3 v4 = y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			shape := []int32{-1, 3, 4, 2}
			if c.want == nil {
				shape = []int32{2, 2, 2, 2}
				c.want = []string{"transpose x perm=[0,3,1,2] = v1", "add v1 x = v2", "transpose v2 perm=[0,2,3,1] = y"}
			}
			y := c.make(b, b.input("x", shape...), b.input("z", shape...))
			y.Name = "y"
			b.Return(y)
			require.Equal(t, append(c.want, "return y"), changed(t, b.Function, "transposes", "constants"))
		})
	}
}
