//go:build cgo

package passes_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
)

// Formulas that exporters write become operators. x is float32[n, 3, 8].
func TestFormulas(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	last := graph.Attrs{"keepdims": int64(1)}
	mean := func(b *builder, x *graph.Value) *graph.Value {
		return b.with("reduce_mean", last, x, b.Ints("axes", -1))
	}
	sum := func(b *builder, x *graph.Value, eps float64) *graph.Value {
		return b.op("add", mean(b, b.op("pow", x, b.scalar(2))), b.scalar(eps))
	}
	for _, c := range []struct {
		name string
		make func(b *builder, x *graph.Value) *graph.Value
		want []string
	}{
		{"gelu of PyTorch", func(b *builder, x *graph.Value) *graph.Value {
			h := b.op("add", b.op("erf", b.op("div", x, b.scalar(math.Sqrt2))), b.scalar(1))
			return b.op("mul", b.op("mul", x, h), b.scalar(0.5))
		}, []string{"gelu x = y"}},
		{"gelu in another order", func(b *builder, x *graph.Value) *graph.Value {
			h := b.op("add", b.scalar(1), b.op("erf", b.op("mul", b.scalar(0.70710677), x)))
			return b.op("mul", h, b.op("div", x, b.scalar(2)))
		}, []string{"gelu x = y"}},
		{"gelu with tanh", func(b *builder, x *graph.Value) *graph.Value {
			in := b.op("add", x, b.op("mul", b.op("pow", x, b.scalar(3)), b.scalar(0.044715)))
			h := b.op("add", b.op("tanh", b.op("mul", in, b.scalar(0.7978845608))), b.scalar(1))
			return b.op("mul", b.op("mul", b.scalar(0.5), x), h)
		}, []string{"gelu x approximate=tanh = y"}},
		{"gelu with tanh, factored", func(b *builder, x *graph.Value) *graph.Value {
			in := b.op("add", b.scalar(1), b.op("mul", b.op("mul", x, b.scalar(0.044715)), x))
			h := b.op("add", b.op("tanh", b.op("mul", b.op("mul", x, b.scalar(0.7978845608)), in)), b.scalar(1))
			return b.op("mul", h, b.op("mul", b.scalar(0.5), x))
		}, []string{"gelu x approximate=tanh = y"}},
		{"not gelu", func(b *builder, x *graph.Value) *graph.Value {
			h := b.op("add", b.op("erf", b.op("div", x, b.scalar(1.5))), b.scalar(1))
			return b.op("mul", b.op("mul", x, h), b.scalar(0.5))
		}, []string{"div x const[] = v1", "erf v1 = v2", "add v2 const[] = v3", "mul x v3 = v4", "mul v4 const[] = y"}},
		{"swish", func(b *builder, x *graph.Value) *graph.Value { return b.op("mul", x, b.op("sigmoid", x)) },
			[]string{"swish x alpha=1 = y"}},
		{"quick gelu", func(b *builder, x *graph.Value) *graph.Value {
			return b.op("mul", b.op("sigmoid", b.op("mul", x, b.scalar(1.75))), x)
		}, []string{"swish x alpha=1.75 = y"}},
		{"hard swish", func(b *builder, x *graph.Value) *graph.Value {
			return b.op("div", b.op("mul", x, b.op("clip", b.op("add", x, b.scalar(3)), b.scalar(0), b.scalar(6))), b.scalar(6))
		}, []string{"hard_swish x = y"}},
		{"hard swish of hard sigmoid", func(b *builder, x *graph.Value) *graph.Value {
			return b.op("mul", x, b.with("hard_sigmoid", graph.Attrs{"alpha": 1.0 / 6, "beta": 0.5}, x))
		}, []string{"hard_swish x = y"}},
		{"mish", func(b *builder, x *graph.Value) *graph.Value {
			return b.op("mul", b.op("tanh", b.op("softplus", x)), x)
		}, []string{"mish x = y"}},
		{"mish with log", func(b *builder, x *graph.Value) *graph.Value {
			return b.op("mul", x, b.op("tanh", b.op("log", b.op("add", b.op("exp", x), b.scalar(1)))))
		}, []string{"mish x = y"}},
		{"layer norm", func(b *builder, x *graph.Value) *graph.Value {
			d := b.op("sub", x, mean(b, x))
			y := b.op("div", d, b.op("sqrt", sum(b, d, 0.25)))
			return b.op("add", b.op("mul", y, b.weights(r, 8)), b.weights(r, 8))
		}, []string{"layer_normalization x const[8] const[8] axis=2 epsilon=0.25 = y"}},
		{"layer norm of two axes, computed twice", func(b *builder, x *graph.Value) *graph.Value {
			m := func(v *graph.Value) *graph.Value { return b.with("reduce_mean", last, v, b.Ints("axes", 2, -2)) }
			d, again := b.op("sub", x, m(x)), b.op("sub", x, m(x))
			s := b.op("add", b.scalar(0.25), m(b.op("mul", again, again)))
			y := b.op("mul", b.op("reciprocal", b.op("sqrt", s)), d)
			return b.op("exp", b.op("mul", b.weights(r, 3, 8), y))
		}, []string{"layer_normalization x const[3,8] axis=1 epsilon=0.25 = v1", "exp v1 = y"}},
		{"RMS norm", func(b *builder, x *graph.Value) *graph.Value {
			y := b.op("mul", x, b.op("div", b.scalar(1), b.op("sqrt", sum(b, x, 0.5))))
			return b.op("mul", b.weights(r, 8), y)
		}, []string{"rms_normalization x const[8] axis=2 epsilon=0.5 = y"}},
		{"RMS norm with powers", func(b *builder, x *graph.Value) *graph.Value {
			return b.op("mul", b.op("pow", sum(b, x, 0.5), b.scalar(-0.5)), x)
		}, []string{"rms_normalization x const[8] axis=2 epsilon=0.5 = y"}},
		{"multiplied by the root", func(b *builder, x *graph.Value) *graph.Value {
			return b.op("mul", b.op("reciprocal", b.op("pow", sum(b, x, 0.5), b.scalar(-0.5))), x)
		}, []string{"pow x const[] = v1", "reduce_mean v1 const[1] keepdims=1 = v2", "add v2 const[] = v3",
			"pow v3 const[] = v4", "reciprocal v4 = v5", "mul v5 x = y"}},
		{"norm of other axes", func(b *builder, x *graph.Value) *graph.Value {
			m := b.with("reduce_mean", last, b.op("mul", x, x), b.Ints("axes", 1))
			return b.op("div", x, b.op("sqrt", b.op("add", m, b.scalar(1))))
		}, []string{"mul x x = v1", "reduce_mean v1 const[1] keepdims=1 = v2", "add v2 const[] = v3", "sqrt v3 = v4",
			"div x v4 = y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			y := c.make(b, b.input("x", -1, 3, 8))
			y.Name = "y"
			b.Return(y)
			require.Equal(t, append(c.want, "return y"), changed(t, b.Function, "common", "formulas"))
		})
	}
}
