//go:build cgo

package passes_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/graph/lower"
	_ "tvmgo/graph/operators"
	"tvmgo/graph/passes"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/runtime/vm"
	"tvmgo/target"
	"tvmgo/tir"
)

// builder adds nodes to a function, and fails the test on errors.
type builder struct {
	*graph.Function
	t testing.TB
}

func newBuilder(t testing.TB) *builder { return &builder{graph.NewFunction("main"), t} }

func (b *builder) op(name string, in ...*graph.Value) *graph.Value { return b.with(name, nil, in...) }

func (b *builder) with(name string, attrs graph.Attrs, in ...*graph.Value) *graph.Value {
	b.t.Helper()
	return must.Get(b.Add(name, attrs, in...))(b.t)[0]
}

func (b *builder) scalar(v float64) *graph.Value {
	b.t.Helper()
	return must.Get(b.Scalar(tir.Float32, v))(b.t)
}

// floats makes a constant of float32.
func (b *builder) floats(shape []int64, values ...float64) *graph.Value {
	b.t.Helper()
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return must.Get(b.Const("w", tir.Float32, shape, data))(b.t)
}

// weights makes a constant of float32 with random elements between 0.5 and 1.5.
func (b *builder) weights(r *rand.Rand, shape ...int64) *graph.Value {
	b.t.Helper()
	values := make([]float64, must.Get(dlpack.NumElements(shape))(b.t))
	for i := range values {
		values[i] = 0.5 + r.Float64()
	}
	return b.floats(shape, values...)
}

// input adds a parameter of float32; a size of -1 is the variable n.
func (b *builder) input(name string, shape ...int32) *graph.Value {
	dims := make([]tir.Expr, len(shape))
	for d, n := range shape {
		if dims[d] = tir.I32(n); n < 0 {
			dims[d] = b.Symbol("n")
		}
	}
	return b.Param(name, tir.Float32, dims...)
}

func (b *builder) body(f *graph.Function) *builder { return &builder{f, b.t} }

// listing returns the nodes of a function as text, those of bodies indented.
func listing(f *graph.Function) []string {
	names, unnamed := map[*graph.Value]string{}, 0
	name := func(v *graph.Value) string {
		switch {
		case v == nil:
			return "-"
		case v.Const != nil:
			shape, _ := v.StaticShape()
			return strings.ReplaceAll(fmt.Sprint("const", shape), " ", ",")
		}
		if names[v] == "" {
			if names[v] = v.Name; v.Name == "" {
				unnamed++
				names[v] = fmt.Sprintf("v%d", unnamed)
			}
		}
		return names[v]
	}
	list := func(values []*graph.Value) string {
		var words []string
		for _, v := range values {
			words = append(words, name(v))
		}
		return strings.Join(words, " ")
	}
	var lines []string
	var visit func(f *graph.Function, indent string)
	visit = func(f *graph.Function, indent string) {
		for _, p := range f.Params {
			name(p)
		}
		for _, n := range f.Nodes {
			line := indent + n.Op.Name + " " + list(n.Inputs)
			var attrs []string
			for k, v := range n.Attrs {
				attrs = append(attrs, strings.ReplaceAll(fmt.Sprintf("%s=%v", k, v), " ", ","))
			}
			slices.Sort(attrs)
			lines = append(lines, strings.TrimSpace(strings.Join(append([]string{line}, attrs...), " "))+" = "+list(n.Outputs))
			for _, body := range n.Bodies {
				visit(body, indent+"  ")
			}
		}
		lines = append(lines, indent+"return "+list(f.Results))
	}
	visit(f, "")
	return lines
}

// build makes a model of a function as it is.
func build(t testing.TB, f *graph.Function) *runtime.Model {
	t.Helper()
	tg := must.Get(target.New("c"))(t)
	p := must.Get(lower.Model([]*target.Target{tg}, f))(t)
	m := must.Get(vm.New(p.Code))(t)
	defer m.Close()
	if len(p.Kernels[0].Funcs) > 0 {
		kernels := must.Get(codegen.Build(p.Kernels[0], tg))(t)
		defer kernels.Close()
		require.NoError(t, m.Import(kernels))
	}
	return must.Get(runtime.NewModel(m))(t)
}

// tensor is the type, the shape and the data of a result.
type tensor struct {
	dtype dlpack.DataType
	shape []int64
	data  []byte
}

// run computes a function for arguments that are made of a seed; the variable n is 3.
func run(t testing.TB, f *graph.Function, seed uint64) []tensor {
	t.Helper()
	model := build(t, f)
	defer model.Close()
	r := rand.New(rand.NewPCG(seed, 1))
	var args runtime.Ordered
	for _, p := range f.Params {
		shape := make([]int64, len(p.Shape))
		for d, e := range p.Shape {
			if n, ok := tir.IntValue(e); ok {
				shape[d] = n
			} else {
				shape[d] = 3
			}
		}
		data := make([]byte, must.Get(dlpack.DataSize(shape, p.DType))(t))
		fill(r, p.DType, data)
		x := must.Get(runtime.NewTensor(p.DType, shape, runtime.CPU))(t)
		defer x.Close()
		require.NoError(t, x.CopyFromBytes(data))
		args = append(args, x)
	}
	got := must.Get(model.Run(context.Background(), args))(t)
	defer got.Close()
	return results(t, got, len(f.Results))
}

func results(t testing.TB, got runtime.Outputs, n int) []tensor {
	t.Helper()
	var out []tensor
	for i := range n {
		x := must.Get(got.Tensor(i))(t)
		data := make([]byte, must.Get(dlpack.DataSize(x.Shape(), x.DType()))(t))
		require.NoError(t, x.CopyToBytes(data))
		out = append(out, tensor{x.DType(), x.Shape(), data})
	}
	return out
}

// fill makes elements between -2 and 2.
func fill(r *rand.Rand, t tir.Type, data []byte) {
	width := int(t.Bits+7) / 8
	for i := 0; i+width <= len(data); i += width {
		switch {
		case t == tir.Float32:
			binary.LittleEndian.PutUint32(data[i:], math.Float32bits(float32(4*r.Float64()-2)))
		case tir.IsBool(t):
			data[i] = byte(r.IntN(2))
		default:
			v := r.IntN(5) - 2
			for k := range width {
				data[i+k] = byte(v >> (8 * k))
			}
		}
	}
}

// equal requires equal results: floats may differ by rounding.
func equal(t testing.TB, want, got []tensor, text ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		require.Equal(t, w.dtype, g.dtype)
		require.Equal(t, w.shape, g.shape)
		if w.dtype != dlpack.Float32 {
			require.Equal(t, w.data, g.data, "result %d", i)
			continue
		}
		for k := 0; k < len(w.data); k += 4 {
			a := float64(math.Float32frombits(binary.LittleEndian.Uint32(w.data[k:])))
			b := float64(math.Float32frombits(binary.LittleEndian.Uint32(g.data[k:])))
			if a == b || math.IsNaN(a) && math.IsNaN(b) {
				continue
			}
			if !(math.Abs(a-b) <= 1e-4+1e-3*math.Abs(a)) {
				require.FailNow(t, fmt.Sprintf("result %d, element %d: it is %g, want %g", i, k/4, b, a), text...)
			}
		}
	}
}

// evaluate runs a function as compile.Function does for constants.
func evaluate(t testing.TB) func(context.Context, *graph.Function) ([][]byte, error) {
	return func(_ context.Context, f *graph.Function) ([][]byte, error) {
		var out [][]byte
		for _, x := range run(t, f, 1) {
			out = append(out, x.data)
		}
		return out, nil
	}
}

// pass returns the pass of a name.
func pass(t testing.TB, name string) passes.Pass {
	t.Helper()
	for _, p := range passes.Pipeline {
		if p.Name == name {
			return p
		}
	}
	require.Fail(t, "there is no pass "+name)
	return passes.Pass{}
}

// changed runs passes, and requires the same results as before.
func changed(t *testing.T, f *graph.Function, names ...string) []string {
	t.Helper()
	before := f.Clone()
	require.Equal(t, listing(f), listing(before))
	for _, name := range names {
		require.NoError(t, pass(t, name).Run(context.Background(), f, must.Get(target.New("c"))(t),
			passes.Options{Evaluate: evaluate(t)}))
	}
	equal(t, run(t, before, 1), run(t, f, 1))
	return listing(f)
}
