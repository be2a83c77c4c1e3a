//go:build cgo

package passes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/graph/passes"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/target"
	"tvmgo/tir"
)

// block runs the pass for a target, and folds the weights that it changes.
func block(t testing.TB, f *graph.Function, to string, o passes.Options) *graph.Function {
	t.Helper()
	f = f.Clone()
	tg := must.Get(target.New(to))(t)
	for _, name := range []string{"blocked", "constants", "last"} {
		require.NoError(t, pass(t, name).Run(context.Background(), f, tg, o), name)
	}
	return f
}

// operators counts the operators of a function.
func operators(f *graph.Function) map[string]int {
	n := map[string]int{}
	for _, node := range f.Nodes {
		n[node.Op.Name]++
	}
	return n
}

func (b *builder) conv(r *rand.Rand, x *graph.Value, out, kernel, groups int64, attrs graph.Attrs) *graph.Value {
	b.t.Helper()
	channels, _ := tir.IntValue(x.Shape[1])
	all := graph.Attrs{"group": groups}
	for k, v := range attrs {
		all[k] = v
	}
	return b.with("conv", all, x, b.weights(r, out, channels/groups, kernel, kernel), b.weights(r, out))
}

// Images stay in blocks between convolutions, pools and elementwise operators, whatever their numbers of channels.
func TestBlocked(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	b := newBuilder(t)
	x := b.input("x", -1, 3, 13, 15)
	same := graph.Attrs{"pads": []int64{1, 1, 1, 1}}
	a := b.op("relu", b.conv(r, x, 24, 3, 1, graph.Attrs{"strides": []int64{2, 2}}))
	p := b.with("max_pool", graph.Attrs{"kernel_shape": []int64{3, 3}, "pads": []int64{1, 1, 1, 1}}, a)
	c := b.op("relu", b.op("sum", b.conv(r, p, 24, 3, 1, same), p))
	d := b.op("tanh", b.conv(r, c, 24, 3, 24, same)) // each channel with a filter of its own
	e := b.op("clip", b.conv(r, d, 32, 1, 2, nil), b.scalar(-1), b.scalar(3))
	e = b.op("mul", e, b.weights(r, 32, 1, 1))
	y := b.op("global_average_pool", b.conv(r, e, 24, 1, 1, nil))
	y.Name = "y"
	b.Return(y)
	want := run(t, b.Function, 4)
	lanes := map[string]string{"c": "4"}
	if goruntime.GOARCH == "amd64" {
		lanes["c -march=x86-64-v3"], lanes["c -march=x86-64-v4"] = "8", "16"
	}
	for to, dims := range lanes {
		f := block(t, b.Function, to, passes.Options{Evaluate: evaluate(t)})
		ops := operators(f)
		require.Zero(t, ops["conv"], to)
		require.Equal(t, 5, ops["blocked_conv"], to)
		last := f.Nodes[0].Outputs[0].Shape[4]
		require.Equal(t, dims, fmt.Sprint(last.(*tir.IntImm).Value), to)
		if to == "c" {
			require.Zero(t, ops["transpose"], "whole blocks need no conversion")
		}
		equal(t, want, run(t, f, 4), to)
	}
	for name, f := range map[string]*graph.Function{
		"another device":     block(t, b.Function, "opencl", passes.Options{Evaluate: evaluate(t)}),
		"several targets":    block(t, b.Function, "c", passes.Options{Evaluate: evaluate(t), Portable: true}),
		"no compiler of C":   block(t, b.Function, "c", passes.Options{}),
		"weights of the run": block(t, unknownWeights(t), "c", passes.Options{Evaluate: evaluate(t)}),
	} {
		require.Zero(t, operators(f)["blocked_conv"], name)
	}
}

// Convolutions of 3×3 in large images become those by Winograd's algorithm; others do not.
func TestBlocked_Winograd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	same := graph.Attrs{"pads": []int64{1, 1, 1, 1}}
	none := graph.Attrs{}
	network := func(batch int32, size, channels int32, out, kernel, groups int64, attrs graph.Attrs) *graph.Function {
		b := newBuilder(t)
		x := b.op("relu", b.conv(r, b.input("x", batch, channels, size, size+1), 28, 1, 1, none))
		y := b.op("relu", b.op("mul", b.conv(r, x, out, kernel, groups, attrs), b.scalar(0.01)))
		y.Name = "y"
		b.Return(y)
		return b.Function
	}
	for _, c := range []struct {
		name  string
		f     *graph.Function
		count int
	}{
		{"pads", network(1, 18, 17, 24, 3, 1, same), 1},
		{"no pads", network(2, 21, 3, 29, 3, 1, none), 1},
		{"any batch", network(-1, 18, 17, 24, 3, 1, same), 1},
		{"one-sided pads", network(1, 17, 17, 24, 3, 1, graph.Attrs{"pads": []int64{2, 0, 1, 3}}), 1},
		{"auto_pad", network(1, 17, 17, 24, 3, 1, graph.Attrs{"auto_pad": "SAME_LOWER"}), 1},
		{"few results", network(1, 7, 17, 24, 3, 1, same), 0},
		{"a large batch of few results", network(9, 7, 17, 24, 3, 1, same), 1},
		{"5×5", network(1, 18, 17, 24, 5, 1, same), 0},
		{"strides", network(1, 18, 17, 24, 3, 1, graph.Attrs{"strides": []int64{1, 2}}), 0},
		{"dilations", network(1, 18, 17, 24, 3, 1, graph.Attrs{"dilations": []int64{2, 1}}), 0},
		{"groups", network(1, 18, 17, 28, 3, 2, same), 0},
		{"few filters", network(1, 18, 17, 3, 3, 1, same), 0},
	} {
		want := run(t, c.f, 4)
		for _, to := range []string{"c", "c -march=x86-64-v3", "c -march=x86-64-v4"} {
			f := block(t, c.f, to, passes.Options{Evaluate: evaluate(t)})
			require.Equal(t, c.count, operators(f)["winograd_conv"], "%s, %s", c.name, to)
			equal(t, want, run(t, f, 4), c.name, to)
			direct := block(t, c.f, to, passes.Options{Evaluate: evaluate(t), Direct: true})
			require.Zero(t, operators(direct)["winograd_conv"])
		}
	}
}

func unknownWeights(t testing.TB) *graph.Function {
	b := newBuilder(t)
	b.Return(b.op("conv", b.input("x", 1, 16, 5, 5), b.input("w", 16, 16, 1, 1)))
	return b.Function
}

// image adds a random operator of images.
func (g *generator) image() *graph.Value {
	x := g.pick()
	channels, _ := tir.IntValue(x.Shape[1])
	attrs := graph.Attrs{"pads": []int64{g.r.Int64N(2), g.r.Int64N(2), g.r.Int64N(2), g.r.Int64N(2)},
		"strides": []int64{1 + g.r.Int64N(2), 1 + g.r.Int64N(2)}}
	kernel := 1 + g.r.Int64N(3)
	window := graph.Attrs{"kernel_shape": []int64{kernel, kernel}, "strides": attrs["strides"]}
	switch g.r.IntN(8) {
	case 0, 1:
		attrs["dilations"] = []int64{1 + g.r.Int64N(2), 1}
		return g.tryConv(x, 1+g.r.Int64N(40), kernel, 1, attrs)
	case 2:
		return g.tryConv(x, channels, kernel, channels, attrs)
	case 3:
		groups := 2 + g.r.Int64N(3)
		return g.tryConv(x, groups*(1+g.r.Int64N(12)), kernel, groups, attrs)
	case 4:
		return g.try(g.oneOf("max_pool", "average_pool"), window, x)
	case 5:
		y := g.pick()
		return g.try(g.oneOf("add", "mul", "sum", "max", "div", "sub"), nil, x, y)
	case 6:
		if g.r.IntN(2) == 0 {
			return g.try("add", nil, x, g.weights(g.r, channels, 1, 1))
		}
		return g.try(g.oneOf("relu", "tanh", "sigmoid", "neg", "abs", "hard_swish"), nil, x)
	}
	return g.try("concat", graph.Attrs{"axis": int64(1)}, x, g.pick())
}

func (g *generator) tryConv(x *graph.Value, out, kernel, groups int64, attrs graph.Attrs) *graph.Value {
	channels, _ := tir.IntValue(x.Shape[1])
	if channels%groups != 0 {
		return nil
	}
	attrs["group"] = groups
	w := g.weights(g.r, out, channels/groups, kernel, kernel)
	y := g.try("conv", attrs, x, w, g.weights(g.r, out))
	if y == nil {
		return nil
	}
	// keeps numbers small, so that rounding does not add up
	return g.try("mul", nil, y, g.scalar(1/float64(channels/groups*kernel*kernel)))
}

// Random networks of convolutions compute the same in blocks.
func TestBlocked_Random(t *testing.T) {
	seed := testseed.Of(t)
	count := 12
	if testing.Short() {
		count = 4
	}
	blockedConvs := 0
	for n := range count {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		g := &generator{builder: newBuilder(t), r: r}
		batch := []int32{1, 2, -1}[r.IntN(3)]
		g.values = append(g.values, g.input("x", batch, 1+r.Int32N(20), 7+r.Int32N(9), 5+r.Int32N(30)))
		for tries := 0; tries < 60 && len(g.values) < 14; tries++ {
			if y := g.image(); y != nil {
				g.values = append(g.values, y)
			}
		}
		var results []*graph.Value
		for k := range 2 {
			v := g.try("identity", nil, g.values[len(g.values)-1-k])
			v.Name = fmt.Sprintf("y%d", k)
			results = append(results, v)
		}
		g.Return(results...)
		to := []string{"c", "c -march=x86-64-v3", "c -march=x86-64-v4"}[n%3]
		f := block(t, g.Function, to, passes.Options{Evaluate: evaluate(t)})
		blockedConvs += operators(f)["blocked_conv"]
		equal(t, run(t, g.Function, 5), run(t, f, 5), strings.Join(listing(g.Function), "\n"), "\nblocked:\n",
			strings.Join(listing(f), "\n"))
	}
	require.Greater(t, blockedConvs, count)
}

// A convolution with a filter for each channel is divided into blocks only between convolutions with blocks.
func TestBlocked_FilterForEachChannel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	same := graph.Attrs{"pads": []int64{1, 1, 1, 1}}
	for _, c := range []struct {
		before, behind bool
		want           int
	}{{false, false, 0}, {true, false, 2}, {false, true, 2}, {true, true, 3}} {
		b := newBuilder(t)
		x := b.input("x", 1, 32, 13, 15)
		if c.before {
			x = b.conv(r, x, 32, 1, 1, nil)
		}
		x = b.op("relu", b.conv(r, b.op("relu", x), 32, 3, 32, same))
		if c.behind {
			x = b.conv(r, x, 32, 1, 1, nil)
		}
		b.Return(x)
		f := block(t, b.Function, "c -march=x86-64-v3", passes.Options{Evaluate: evaluate(t)})
		require.Equal(t, c.want, operators(f)["blocked_conv"], "%+v", c)
		require.Equal(t, c.want == 0, operators(f)["conv"] == 1, "%+v", c)
	}
}
