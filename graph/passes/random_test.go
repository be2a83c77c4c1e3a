//go:build cgo

package passes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/graph/passes"
	"tvmgo/internal/testing/graphtext"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/target"
	"tvmgo/tir"
)

// generator makes random functions.
type generator struct {
	*builder
	r      *rand.Rand
	values []*graph.Value // of float32
}

var sizes = []int32{0, 1, 1, 2, 3, 3, 4, 5, -1}

func (g *generator) size() int32 { return sizes[g.r.IntN(len(sizes))] }

func (g *generator) pick() *graph.Value { return g.values[g.r.IntN(len(g.values))] }

// oneOf returns one of several names.
func (g *generator) oneOf(names ...string) string { return names[g.r.IntN(len(names))] }

// try adds a node if the operator takes the operands.
func (g *generator) try(op string, attrs graph.Attrs, in ...*graph.Value) *graph.Value {
	outs, err := g.Add(op, attrs, in...)
	if err != nil {
		return nil
	}
	return outs[0]
}

// fixed returns the sizes of a value, with 1 for those that are not constant.
func fixed(v *graph.Value) []int64 {
	out := make([]int64, len(v.Shape))
	for d, e := range v.Shape {
		if n, ok := tir.IntValue(e); ok {
			out[d] = n
		} else {
			out[d] = 1
		}
	}
	return out
}

// constant makes a constant that can be broadcast with a value; often it has no effect in one of the operators.
func (g *generator) constant(x *graph.Value) *graph.Value {
	shape := fixed(x)
	for d := range shape {
		if g.r.IntN(2) == 0 {
			shape[d] = 1
		}
	}
	for len(shape) > 0 && g.r.IntN(3) == 0 {
		shape = shape[1:]
	}
	switch g.r.IntN(4) {
	case 0:
		return g.scalar(float64(g.r.IntN(3)))
	case 1:
		return g.op("relu", g.weights(g.r, shape...)) // is computed by pass fold
	}
	return g.weights(g.r, shape...)
}

func (g *generator) permutation(rank int) graph.Attrs {
	axes := []int64{}
	for _, p := range g.r.Perm(rank) {
		axes = append(axes, int64(p))
	}
	return graph.Attrs{"perm": axes}
}

// node adds a random node, and returns its result; nil if it did not fit.
func (g *generator) node() *graph.Value {
	x := g.pick()
	rank, shape := len(x.Shape), fixed(x)
	switch g.r.IntN(16) {
	case 0, 1:
		return g.try(g.oneOf("relu", "neg", "abs", "tanh", "sigmoid", "identity", "softplus", "erf"), nil, x)
	case 2:
		return g.try(g.oneOf("add", "mul", "sub", "max", "min"), nil, x, g.pick())
	case 3, 4:
		c := g.constant(x)
		if op := g.oneOf("add", "mul", "sub", "div", "max"); op == "div" || g.r.IntN(2) == 0 {
			return g.try(op, nil, x, g.try("max", nil, c, g.scalar(0.5)))
		} else {
			return g.try(op, nil, c, x)
		}
	case 5:
		if rank == 0 {
			return nil
		}
		return g.try(g.oneOf("reduce_sum", "reduce_mean", "reduce_max"), graph.Attrs{"keepdims": int64(g.r.IntN(2))}, x,
			g.Ints("axes", int64(g.r.IntN(rank))))
	case 6:
		if rank < 1 {
			return nil
		}
		return g.try("matmul", nil, x, g.weights(g.r, shape[rank-1], int64(1+g.r.IntN(4))))
	case 7, 8:
		if rank < 3 {
			return g.try("unsqueeze", nil, x, g.Ints("axes", int64(g.r.IntN(rank+1))))
		}
		attrs := graph.Attrs{}
		w := []int64{int64(1 + g.r.IntN(4)), shape[1]}
		for range rank - 2 {
			w = append(w, int64(1+g.r.IntN(2)))
		}
		if g.r.IntN(2) == 0 {
			pads := []int64{}
			for range 2 * (rank - 2) {
				pads = append(pads, int64(g.r.IntN(2)))
			}
			attrs["pads"] = pads
		}
		if g.r.IntN(3) == 0 {
			return g.try("average_pool", graph.Attrs{"kernel_shape": w[2:], "pads": attrs["pads"]}, x)
		}
		return g.try("conv", attrs, x, g.weights(g.r, w...))
	case 9:
		if rank < 2 {
			return nil
		}
		c := shape[1]
		return g.try("batch_normalization", nil, x, g.weights(g.r, c), g.weights(g.r, c), g.weights(g.r, c),
			g.weights(g.r, c))
	case 10:
		if rank == 0 {
			return nil
		}
		pads := make([]int64, 2*rank)
		for d := range pads {
			if (d%rank > 1 || g.r.IntN(4) == 0) && g.r.IntN(2) == 0 {
				pads[d] = 1
			}
		}
		return g.try("pad", nil, x, g.Ints("pads", pads...))
	case 11:
		return g.try("transpose", g.permutation(rank), x)
	case 12:
		if g.r.IntN(2) == 0 {
			return g.try("unsqueeze", nil, x, g.Ints("axes", int64(g.r.IntN(rank+1))))
		}
		to := append([]int64{}, shape...)
		g.r.Shuffle(rank, func(i, j int) { to[i], to[j] = to[j], to[i] })
		return g.try("reshape", nil, x, g.Ints("shape", to...))
	case 13:
		if rank == 0 {
			return nil
		}
		axis := int64(g.r.IntN(rank))
		if g.r.IntN(2) == 0 {
			return g.try("concat", graph.Attrs{"axis": axis}, x, g.pick())
		}
		return g.try("slice", nil, x, g.Ints("starts", int64(g.r.IntN(2))), g.Ints("ends", int64(1+g.r.IntN(5))),
			g.Ints("axes", axis))
	case 14:
		wide := g.with("cast", to(tir.Float64), x)
		return g.try("cast", to(tir.Float32), wide)
	default:
		if flat := g.try("reshape", nil, x, g.Ints("flat", -1)); flat != nil {
			return g.try("reshape", nil, flat, g.try("shape", nil, x))
		}
		return nil
	}
}

// random makes a function with 5 to 30 nodes.
func random(t testing.TB, r *rand.Rand) *graph.Function {
	g := &generator{builder: newBuilder(t), r: r}
	for k := range 1 + r.IntN(3) {
		var shape []int32
		for range r.IntN(5) {
			shape = append(shape, g.size())
		}
		g.values = append(g.values, g.input(fmt.Sprintf("x%d", k), shape...))
	}
	inputs, most := len(g.values), 5+r.IntN(26)
	for tries := 0; len(g.Nodes) < most && tries < 200; tries++ {
		if v := g.node(); v != nil && v.DType == tir.Float32 && len(v.Shape) < 6 {
			g.values = append(g.values, v)
		}
	}
	for k := range 1 + r.IntN(3) {
		if at := len(g.values) - 1 - 2*k; at >= inputs {
			if v := g.values[at]; v.Name == "" {
				v.Name = fmt.Sprintf("y%d", k)
				g.Results = append(g.Results, v)
			}
		}
	}
	return g.Function
}

// Random functions compute the same after each pass, and after all of them.
func TestRun_Random(t *testing.T) {
	seed := testseed.Of(t)
	tg := must.Get(target.New("c"))(t)
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			f := random(t, r)
			if len(f.Results) == 0 {
				return
			}
			want := run(t, f, seed)
			p := passes.Pipeline[i%len(passes.Pipeline)]
			for name, pass := range map[string]func(context.Context, *graph.Function, *target.Target, passes.Options) error{
				p.Name: p.Run, "all": passes.Run} {
				g := f.Clone()
				require.NoError(t, pass(context.Background(), g, tg, passes.Options{Evaluate: evaluate(t)}))
				text := fmt.Sprintf("%s\nafter pass %s\n%s", strings.Join(listing(f), "\n"), name, strings.Join(listing(g), "\n"))
				require.Len(t, g.Results, len(f.Results))
				for k, v := range g.Results {
					require.Equal(t, f.Results[k].Name, v.Name, text)
				}
				require.Equal(t, len(f.Params), len(g.Params))
				require.NoError(t, graphtext.RoundTrip(g))
				equal(t, want, run(t, g, seed), text)
			}
		})
	}
}
