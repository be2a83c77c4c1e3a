package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"tvmgo/graph/onnx/file"
)

// modelWriter writes the graph of a model in ONNX's format, with random weights from a fixed seed.
type modelWriter struct {
	graph  *file.Graph
	random *rand.Rand
}

func newModelWriter(name string) *modelWriter {
	return &modelWriter{graph: &file.Graph{Name: name}, random: rand.New(rand.NewPCG(3, 4))}
}

// open is a dimension that each call decides.
const open = -1

func typeOf(of file.DataType, shape []int64) *file.Type {
	var dims []file.Dim
	for _, n := range shape {
		if n == open {
			dims = append(dims, file.Dim{Name: "n"})
		} else {
			dims = append(dims, file.Size(n))
		}
	}
	return file.TensorType(of, dims...)
}

// input adds an input of float32.
func (w *modelWriter) input(name string, shape ...int64) string {
	return w.inputOf(file.Float, name, shape...)
}

func (w *modelWriter) inputOf(of file.DataType, name string, shape ...int64) string {
	w.graph.Inputs = append(w.graph.Inputs, &file.ValueInfo{Name: name, Type: typeOf(of, shape)})
	return name
}

// model ends the graph with its output of float32.
func (w *modelWriter) model(output string, shape ...int64) *file.Model {
	return w.modelOf(file.Float, output, shape...)
}

func (w *modelWriter) modelOf(of file.DataType, output string, shape ...int64) *file.Model {
	w.graph.Outputs = []*file.ValueInfo{{Name: output, Type: typeOf(of, shape)}}
	return &file.Model{IRVersion: 8, ProducerName: "tvmgo bench", OpsetImports: []file.Opset{{Version: 17}},
		Graph: w.graph}
}

func (w *modelWriter) constant(of file.DataType, data []byte, shape []int64) string {
	name := fmt.Sprintf("c%d", len(w.graph.Initializers))
	w.graph.Initializers = append(w.graph.Initializers, &file.Tensor{Name: name, DataType: of, Dims: shape, RawData: data})
	return name
}

// floats adds a constant of float32, whose elements f returns.
func (w *modelWriter) floats(f func() float64, shape ...int64) string {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	var data []byte
	for range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(f())))
	}
	return w.constant(file.Float, data, shape)
}

func (w *modelWriter) scalar(v float64) string {
	return w.floats(func() float64 { return v })
}

// weights adds a matrix for inputs of n elements: results have about the size of the inputs.
func (w *modelWriter) weights(n, m int64) string {
	scale := 1 / math.Sqrt(float64(n))
	return w.floats(func() float64 { return scale * w.random.NormFloat64() }, n, m)
}

func (w *modelWriter) bias(n int64) string {
	return w.floats(func() float64 { return 0.1 * w.random.NormFloat64() }, n)
}

func (w *modelWriter) ints(values ...int64) string {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return w.constant(file.Int64, data, []int64{int64(len(values))})
}

// node adds a call of an operator, and returns its result.
func (w *modelWriter) node(op string, inputs ...string) string {
	out := fmt.Sprintf("v%d", len(w.graph.Nodes))
	w.graph.Nodes = append(w.graph.Nodes, &file.Node{Name: out, OpType: op, Inputs: inputs, Outputs: []string{out}})
	return out
}

// with adds attributes to the last node.
func (w *modelWriter) with(out string, attributes ...*file.Attribute) string {
	w.graph.Nodes[len(w.graph.Nodes)-1].Attributes = attributes
	return out
}

func (w *modelWriter) transpose(x string, order ...int64) string {
	return w.with(w.node("Transpose", x), &file.Attribute{Name: "perm", Type: file.AttrInts, Ints: order})
}

func (w *modelWriter) onLastAxis() *file.Attribute {
	return &file.Attribute{Name: "axis", Type: file.AttrInt, Int: -1}
}

func (w *modelWriter) linear(x string, n, m int64) string {
	return w.node("Add", w.node("MatMul", x, w.weights(n, m)), w.bias(m))
}

// layerNorm adds the normalization of rows of n elements.
func (w *modelWriter) layerNorm(x string, n int64) string {
	scale := w.floats(func() float64 { return 1 + 0.1*w.random.NormFloat64() }, n)
	return w.with(w.node("LayerNormalization", x, scale, w.bias(n)), w.onLastAxis(),
		&file.Attribute{Name: "epsilon", Type: file.AttrFloat, Float: 1e-12})
}

// gelu adds x·(1 + erf(x/√2))/2.
func (w *modelWriter) gelu(x string) string {
	erf := w.node("Erf", w.node("Div", x, w.scalar(math.Sqrt2)))
	return w.node("Mul", w.node("Mul", x, w.node("Add", erf, w.scalar(1))), w.scalar(0.5))
}

// mlp returns a multi-layer perceptron: layers of these sizes, the first of which is that of an input row, with a ReLU
// between them.
func mlp(batch int64, sizes ...int64) *file.Model {
	w := newModelWriter("mlp")
	x := w.input("x", batch, sizes[0])
	for i, n := range sizes[1:] {
		if i > 0 {
			x = w.node("Relu", x)
		}
		x = w.node("Gemm", x, w.weights(sizes[i], n), w.bias(n))
	}
	return w.model(x, batch, sizes[len(sizes)-1])
}

// bertLayer returns an encoder layer of BERT with batch 1: attention with a mask that is added, and a network of two
// layers with hidden elements between them, both with a sum and a normalization.
func bertLayer(sequence, heads, headSize, hidden int64) *file.Model {
	width := heads * headSize
	w := newModelWriter("bert")
	x := w.input("x", 1, sequence, width)
	mask := w.input("mask", 1, 1, 1, sequence)
	apart, together := w.ints(0, 0, heads, headSize), w.ints(0, 0, width)
	project := func() string { return w.node("Reshape", w.linear(x, width, width), apart) }
	query := w.transpose(project(), 0, 2, 1, 3)
	key := w.transpose(project(), 0, 2, 3, 1)
	value := w.transpose(project(), 0, 2, 1, 3)
	scores := w.node("Div", w.node("MatMul", query, key), w.scalar(math.Sqrt(float64(headSize))))
	attention := w.with(w.node("Softmax", w.node("Add", scores, mask)), w.onLastAxis())
	mixed := w.node("Reshape", w.transpose(w.node("MatMul", attention, value), 0, 2, 1, 3), together)
	first := w.layerNorm(w.node("Add", w.linear(mixed, width, width), x), width)
	inner := w.gelu(w.linear(first, width, hidden))
	second := w.layerNorm(w.node("Add", w.linear(inner, hidden, width), first), width)
	return w.model(second, 1, sequence, width)
}

// writeApart writes a model again, with initializers in place of the nodes that make its weights (ConstantOfShape of a
// constant shape), so that they can be in a file of their own.
func writeApart(in, out string) error {
	f, err := file.Open(in)
	if err != nil {
		return err
	}
	defer f.Close()
	g := f.Model.Graph
	f.Model.IRVersion = max(f.Model.IRVersion, 4) // from which on initializers are no inputs
	nodes := g.Nodes
	g.Nodes = nil
	for _, n := range nodes {
		value, shape := n.Attribute("value"), initializer(g, n.Inputs)
		if n.OpType != "ConstantOfShape" || value == nil || shape == nil {
			g.Nodes = append(g.Nodes, n)
			continue
		}
		t, err := filled(n.Outputs[0], value.Tensor, shape)
		if err != nil {
			return err
		}
		g.Initializers = append(g.Initializers, t)
	}
	return os.WriteFile(out, f.Model.Encode(), 0o666)
}

// initializer returns the initializer that is the first of these values, or nil.
func initializer(g *file.Graph, names []string) *file.Tensor {
	for _, t := range g.Initializers {
		if len(names) > 0 && t.Name == names[0] {
			return t
		}
	}
	return nil
}

// filled returns a tensor whose elements all are that of value, with the sizes that shape has.
func filled(name string, value, shape *file.Tensor) (*file.Tensor, error) {
	element, err := value.Bytes(nil)
	if err != nil {
		return nil, err
	}
	sizes, err := shape.Bytes(nil)
	if err != nil {
		return nil, err
	}
	t := &file.Tensor{Name: name, DataType: value.DataType, Dims: make([]int64, len(sizes)/8)}
	if _, err := binary.Decode(sizes, binary.LittleEndian, t.Dims); err != nil {
		return nil, err
	}
	n := 1
	for _, d := range t.Dims {
		n *= int(d)
	}
	t.RawData = bytes.Repeat(element, n)
	return t, nil
}
