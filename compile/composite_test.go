package compile_test

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// products is a code generator of another producer: it takes matrix products of float32, and runs them in Go.
type products struct {
	sync.Mutex
	built []string // the operators
	calls int
}

func (p *products) build(m *tir.IRModule, _ *target.Target) (*runtime.Module, error) {
	g := &productModule{of: p}
	for _, f := range m.Funcs {
		g.names = append(g.names, f.Name)
		p.built = append(p.built, f.Attrs[codegen.AttrOp].(string))
	}
	return runtime.NewModule("products", runtime.Runnable, g)
}

type productModule struct {
	runtime.ModuleBase
	of    *products
	names []string
}

func (g *productModule) Functions() []string { return g.names }

func (g *productModule) Function(name string) (*runtime.Function, error) {
	if !slices.Contains(g.names, name) {
		return nil, runtime.ErrNotFound
	}
	return runtime.NewFunction(func(args ...any) (any, error) {
		g.of.Lock()
		defer g.of.Unlock()
		g.of.calls++
		a, b, out := args[0].(*runtime.Tensor), args[1].(*runtime.Tensor), args[2].(*runtime.Tensor)
		x, err := runtime.ToSlice[float32](a)
		if err != nil {
			return nil, err
		}
		w, err := runtime.ToSlice[float32](b)
		if err != nil {
			return nil, err
		}
		rows, inner, columns := int(out.Shape()[0]), int(a.Shape()[1]), int(out.Shape()[1])
		var data []byte
		for i := range rows * columns {
			sum := float32(0)
			for k := range inner {
				sum += x[i/columns*inner+k] * w[k*columns+i%columns]
			}
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(sum))
		}
		return nil, out.CopyFromBytes(data)
	})
}

// The members of a composite target take the operators that they support, and the CPU the others.
func TestFunction_Composite(t *testing.T) {
	p := &products{}
	must.Get(target.RegisterKind("products", dlpack.CPU, target.DefaultKeys("cpu"),
		target.WithAttr(codegen.ColumnExternal, codegen.BuildFunc(p.build)),
		target.WithAttr(target.ColumnPartitioner, func(_ *target.Target, op *target.Op) (bool, string) {
			return op.Kind == "matmul" && op.Attrs["dtype"] == "float32", "it multiplies matrices of float32"
		})))(t)
	soc := must.Get(target.New(`{"kind": "composite", "targets": ["products", "c"]}`))(t)
	f := graph.NewFunction("main")
	add := func(op string, in ...*graph.Value) *graph.Value { return must.Get(f.Add(op, nil, in...))(t)[0] }
	x := f.Param("x", tir.Float32, f.Symbol("n"), tir.I32(2))
	w := must.Get(f.Const("w", tir.Float32, []int64{2, 2}, floats(1, 2, 3, 4)))(t)
	y := add("relu", add("add", add("matmul", add("neg", x), w), must.Get(f.Const("b", tir.Float32, []int64{2},
		floats(10, -20)))(t)))
	f.Return(add("matmul", y, w))
	c := must.Get(compile.Function(t.Context(), f, compile.Options{Targets: []*target.Target{soc}}))(t)
	defer c.Close()
	require.Equal(t, []string{"matmul"}, p.built, "both products are one function")
	model := must.Get(runtime.NewModel(c.Module))(t)
	defer model.Close()
	in := must.Get(runtime.FromSlice([]float32{1, 1, -2, -5}, 2, 2))(t)
	out := must.Get(model.Run(t.Context(), runtime.Ordered{in}))(t)
	defer out.Close()
	// -x·w + b = [[6, -26], [27, 4]]
	require.Equal(t, []float32{6, 12, 39, 70}, must.Get(runtime.ToSlice[float32](must.Get(out.Tensor(0))(t)))(t))
	require.Equal(t, 2, p.calls)

	for text, want := range map[string]string{
		`{"kind": "composite", "targets": ["cuda -arch=sm_80", "c"]}`: `member "cuda" of target "composite" has ` +
			"memory of its own",
		`{"kind": "composite", "targets": ["products"]}`: "has no member of kind c or llvm",
	} {
		_, err := compile.Function(t.Context(), f, compile.Options{Targets: []*target.Target{must.Get(target.New(text))(t)}})
		require.ErrorContains(t, err, want)
	}
	both := []*target.Target{soc, must.Get(target.New("c"))(t)}
	_, err := compile.Function(t.Context(), f, compile.Options{Targets: both})
	require.ErrorContains(t, err, "give one composite target, or several others")
}

func floats(values ...float32) (data []byte) {
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}
