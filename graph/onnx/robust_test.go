package onnx_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph/lower"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	_ "tvmgo/graph/operators"
	"tvmgo/graph/passes"
	"tvmgo/internal/testing/testseed"
	"tvmgo/target"
)

func tensorType(t file.DataType, dims ...file.Dim) *file.Type {
	return &file.Type{Kind: file.TensorKind, Elem: t, Shape: append(file.Shape{}, dims...)}
}

func value(name string, t file.DataType, sizes ...int64) *file.ValueInfo {
	dims := make([]file.Dim, len(sizes))
	for d, n := range sizes {
		dims[d] = file.Dim{Known: true, Size: n}
	}
	return &file.ValueInfo{Name: name, Type: tensorType(t, dims...)}
}

func node(op string, inputs, outputs []string, attrs ...*file.Attribute) *file.Node {
	return &file.Node{OpType: op, Name: op + " " + outputs[0], Inputs: inputs, Outputs: outputs, Attributes: attrs}
}

func body(name string, g *file.Graph) *file.Attribute {
	return &file.Attribute{Name: name, Type: file.AttrGraph, Graph: g}
}

func names(s ...string) []string { return s }

func ints(name string, v ...int64) *file.Tensor {
	return &file.Tensor{Name: name, DataType: file.Int64, Dims: []int64{int64(len(v))}, Int64Data: v}
}

// same is a body that returns a value of the graph around it.
func same(of string) *file.Graph {
	return &file.Graph{Name: "same", Nodes: []*file.Node{node("Identity", names(of), names("r"))},
		Outputs: []*file.ValueInfo{value("r", file.Float, 2, 3)}}
}

// sampleModel has sizes that are known at run time, a branch, a loop, a function and constants.
func sampleModel() *file.Model {
	double := &file.Function{Name: "Double", Domain: "local", Inputs: names("a"), Outputs: names("b"),
		OpsetImports: []file.Opset{{Version: 18}}, Nodes: []*file.Node{node("Add", names("a", "a"), names("b"))}}
	step := &file.Graph{Name: "step", Inputs: []*file.ValueInfo{value("i", file.Int64), value("go", file.Bool),
		value("c", file.Float, 2, 3)}, Nodes: []*file.Node{node("Identity", names("go"), names("again")),
		node("Add", names("c", "y"), names("d"))},
		Outputs: []*file.ValueInfo{value("again", file.Bool), value("d", file.Float, 2, 3)}}
	call := node("Double", names("x"), names("y"))
	call.Domain = "local"
	g := &file.Graph{Name: "sample", Inputs: []*file.ValueInfo{value("x", file.Float, 2, 3), value("k", file.Bool),
		{Name: "z", Type: tensorType(file.Float, file.Dim{Name: "n"}, file.Dim{Known: true, Size: 4})}},
		Initializers: []*file.Tensor{ints("shape", 3, -1), ints("axes", 1), ints("trips", 2)},
		Nodes: []*file.Node{call,
			node("If", names("k"), names("w"), body("then_branch", same("x")), body("else_branch", same("y"))),
			node("Loop", names("trips", "", "w"), names("v"), body("body", step)),
			node("Reshape", names("v", "shape"), names("u")),
			node("ReduceSum", names("u", "axes"), names("t")),
			node("Transpose", names("z"), names("s"), &file.Attribute{Name: "perm", Type: file.AttrInts, Ints: []int64{1, 0}}),
			node("Softmax", names("s"), names("q"), &file.Attribute{Name: "axis", Type: file.AttrInt, Int: 0}),
		},
		Outputs: []*file.ValueInfo{value("t", file.Float, 3, 1),
			{Name: "q", Type: tensorType(file.Float, file.Dim{}, file.Dim{})}}}
	return &file.Model{IRVersion: 9, OpsetImports: []file.Opset{{Version: 18}, {Domain: "local", Version: 1}}, Graph: g,
		Functions: []*file.Function{double}}
}

// try reads data as a model, simplifies and lowers it.
func try(data []byte) error {
	m, err := file.Parse(data)
	if err != nil {
		return err
	}
	return tryModel(m)
}

func tryModel(m *file.Model) error {
	f, err := onnx.Import(m, nil, onnx.Options{})
	if err != nil {
		return err
	}
	t, err := target.New("c")
	if err != nil {
		return err
	}
	if err := passes.Run(context.Background(), f, t, passes.Options{}); err != nil {
		return err
	}
	_, err = lower.Model([]*target.Target{t}, f)
	return err
}

// Files that are cut or changed are errors, or other models.
func TestImport_Damaged(t *testing.T) {
	data := sampleModel().Encode()
	require.NoError(t, try(data))
	for n := range data {
		require.Error(t, try(data[:n]), n)
	}
	r := testseed.Rand(t)
	rounds := 1000
	if os.Getenv("TVMGO_TEST_ALL") != "" {
		rounds = 30000
	}
	for range rounds {
		changed := append([]byte{}, data...)
		for range 1 + r.IntN(3) {
			changed[r.IntN(len(changed))] ^= 1 << r.IntN(8)
		}
		_ = try(changed) // no panic
	}
}

// Nodes whose operands, attributes and names are exchanged are errors, or other models.
func TestImport_Exchanged(t *testing.T) {
	r := testseed.Rand(t)
	all := names("", "x", "y", "z", "k", "w", "v", "u", "t", "shape", "axes", "trips", "nowhere")
	for range 400 {
		m := sampleModel()
		n := m.Graph.Nodes[r.IntN(len(m.Graph.Nodes))]
		change(r, n, all)
		_ = tryModel(m) // no panic
	}
}

func change(r *rand.Rand, n *file.Node, all []string) {
	ops := names("Softmax", "Clip", "Pad", "Resize", "Constant", "Split", "Scan", "Loop", "If", "TopK",
		"Dropout", "Concat", "GroupNormalization", "ConstantOfShape", "Unique", "NonZero", "Upsample", "LogSoftmax",
		"Slice", "Squeeze", "OneHot")
	switch r.IntN(4) {
	case 0:
		n.OpType, n.Domain = ops[r.IntN(len(ops))], ""
	case 1:
		n.Inputs = n.Inputs[:r.IntN(len(n.Inputs)+1)]
	case 2:
		n.Inputs = append(n.Inputs, all[r.IntN(len(all))])
	default:
		for _, a := range n.Attributes {
			*a = file.Attribute{Name: a.Name, Type: file.AttrFloat, Float: 1}
		}
	}
	if len(n.Inputs) > 0 && r.IntN(2) == 0 {
		n.Inputs[r.IntN(len(n.Inputs))] = all[r.IntN(len(all))]
	}
}

// Models that contradict themselves are errors that name the node or the value.
func TestImport_Contradictions(t *testing.T) {
	for want, edit := range map[string]func(g *file.Graph, m *file.Model){
		`node "ReduceSum t" (ReduceSum) reads "t", which is not computed, or depends on the node itself`: func(g *file.Graph,
			_ *file.Model) {
			g.Nodes[4].Inputs[0] = "t"
		},
		`node "Reshape u" (Reshape): its output "x" is the name of another value`: func(g *file.Graph, _ *file.Model) {
			g.Nodes[3].Outputs[0] = "x"
		},
		`two inputs have the name "x"`:     func(g *file.Graph, _ *file.Model) { g.Inputs[1].Name = "x" },
		`output "nothing" is not computed`: func(g *file.Graph, _ *file.Model) { g.Outputs[0].Name = "nothing" },
		`output "t" is declared with elements of type int64, and computed with float32`: func(g *file.Graph, _ *file.Model) {
			g.Outputs[0].Type.Elem = file.Int64
		},
		`input "x": dimension 0 is -2`: func(g *file.Graph, _ *file.Model) { g.Inputs[0].Type.Shape[0].Size = -2 },
		`dimension 1 is 1099511627776`: func(g *file.Graph, _ *file.Model) { g.Inputs[0].Type.Shape[1].Size = 1 << 40 },
		`functions call each other more than`: func(_ *file.Graph, m *file.Model) {
			m.Functions[0].Nodes[0] = node("Double", names("a"), names("b"))
			m.Functions[0].Nodes[0].Domain = "local"
		},
		`attribute "then_branch" is missing`: func(g *file.Graph, _ *file.Model) { g.Nodes[1].Attributes = nil },
		`node "Reshape u" (Reshape): the operand has 6 elements, and the shape 35`: func(g *file.Graph, _ *file.Model) {
			g.Initializers[0] = ints("shape", 5, 7)
		},
		`operator set 99 of the default domain is not supported`: func(_ *file.Graph, m *file.Model) {
			m.OpsetImports[0].Version = 99
		},
	} {
		m := sampleModel()
		edit(m.Graph, m)
		require.ErrorContains(t, tryModel(m), want)
	}
}

// Bodies that are nested deeper than any program needs are an error.
func TestImport_DeepBodies(t *testing.T) {
	m := sampleModel()
	for range 200 {
		inner := m.Graph.Nodes[1].Attributes[0].Graph
		m.Graph.Nodes[1].Attributes[0].Graph = &file.Graph{Name: "deep", Outputs: inner.Outputs,
			Nodes: []*file.Node{node("If", names("k"), names("r"), body("then_branch", inner), body("else_branch", same("x")))}}
	}
	require.ErrorContains(t, tryModel(m), "levels deep")
}

// Functions that call each other twice, and so on, would make more nodes than memory has room for.
func TestImport_ManyCalls(t *testing.T) {
	m := sampleModel()
	for k := range 60 {
		first, second := node("Double", names("a"), names("c")), node("Double", names("c"), names("b"))
		for _, n := range []*file.Node{first, second} {
			n.Domain = "local"
			if k > 0 {
				n.OpType = fmt.Sprintf("Twice%d", k-1)
			}
		}
		m.Functions = append(m.Functions, &file.Function{Name: fmt.Sprintf("Twice%d", k), Domain: "local", Inputs: names("a"),
			Outputs: names("b"), OpsetImports: m.OpsetImports, Nodes: []*file.Node{first, second}})
	}
	m.Graph.Nodes[0].OpType = "Twice59"
	require.ErrorContains(t, tryModel(m), "calls of functions")
}

func FuzzImport(f *testing.F) {
	f.Add(sampleModel().Encode())
	small := sampleModel()
	small.Graph.Nodes, small.Graph.Outputs = small.Graph.Nodes[5:], small.Graph.Outputs[1:]
	f.Add(small.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := try(data); err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}
