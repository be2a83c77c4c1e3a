package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph/onnx/file"
)

// onnxModel is a model with a subgraph, a function, and parameters in the file and beside it.
func onnxModel() *file.Model {
	float := func(name string, dims ...file.Dim) *file.ValueInfo {
		return &file.ValueInfo{Name: name, Type: file.TensorType(file.Float, dims...)}
	}
	body := &file.Graph{Name: "b", Nodes: []*file.Node{{OpType: "Relu", Inputs: []string{"x"}, Outputs: []string{"z"}}},
		Outputs: []*file.ValueInfo{float("z")}}
	return &file.Model{IRVersion: 10, ProducerName: "test", ProducerVersion: "1",
		OpsetImports: []file.Opset{{Version: 21}, {Domain: "my\x1b", Version: 1}},
		Functions:    []*file.Function{{Name: "fn", Domain: "my", Inputs: []string{"a"}, Outputs: []string{"b"}}},
		Graph: &file.Graph{Name: "g",
			Inputs: []*file.ValueInfo{float("x", file.Symbol("N"), file.Size(3)), float("w"), float("s"),
				{Name: "any", Type: &file.Type{Kind: file.TensorKind, Elem: file.Float}},
				{Name: "list", Type: &file.Type{Kind: file.SequenceKind, Of: file.TensorType(file.Int64)}}},
			Outputs: []*file.ValueInfo{float("y", file.Dim{})},
			Initializers: []*file.Tensor{
				{Name: "w", DataType: file.Float, Dims: []int64{2}, RawData: make([]byte, 8)},
				{Name: "e", DataType: file.Int4, Dims: []int64{3},
					External: &file.ExternalData{Location: "e.bin", Length: -1}}},
			Nodes: []*file.Node{
				{OpType: "If", Inputs: []string{"c"}, Outputs: []string{"t"}, Attributes: []*file.Attribute{
					{Name: "then_branch", Type: file.AttrGraph, Graph: body}}},
				{OpType: "Relu", Inputs: []string{"t"}, Outputs: []string{"u"}},
				{OpType: "fn", Domain: "my", Inputs: []string{"u"}, Outputs: []string{"y"}}}}}
}

func TestInspect_ONNX(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.bin") // recognised by its content
	data := onnxModel().Encode()
	require.NoError(t, os.WriteFile(path, data, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "e.bin"), []byte{1, 2}, 0o644))
	status, stdout, stderr := cli("inspect", path)
	require.Zero(t, status, stderr)
	require.Equal(t, path+`: ONNX model of 297 bytes, IR version 10, by test 1
opsets           ai.onnx 21
                 "my\x1b" 1
inputs           x: float32[N,3]
                 s: float32[]
                 any: float32 of any shape
                 list: seq(int64)
outputs          y: float32[?]
parameters       2 with 5 elements, 10 bytes
data in          e.bin
operators              2 Relu
                       1 If
                       1 my.fn
functions        my.fn: 1 inputs, 1 outputs, 0 nodes
`, stdout)
	status, stdout, stderr = cli("inspect", "--json", "--instructions", path)
	require.Zero(t, status, stderr)
	var report onnxReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, []onnxOperator{{"Relu", 2}, {"If", 1}, {"my.fn", 1}}, report.Operators)
	require.Equal(t, onnxParameters{2, 5, 10, []string{"e.bin"}}, report.Parameters)
	require.Contains(t, report.Nodes, "u = Relu (t)")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "e.bin"), []byte{1}, 0o644))
	status, stdout, stderr = cli("inspect", path)
	require.Equal(t, 1, status)
	require.Contains(t, stdout, `problems         onnx: tensor "e": 2 bytes at offset 0 exceed the 1 bytes of "e.bin"`)
	require.Contains(t, stderr, "1 problems, the first: onnx")

	path = filepath.Join(dir, "text.ONNX") // recognised by its name
	require.NoError(t, os.WriteFile(path, []byte("hello"), 0o644))
	status, _, stderr = cli("inspect", path)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "inspect: open model "+path+": onnx: not an ONNX model, but text")
}
