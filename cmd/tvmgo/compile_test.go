//go:build cgo

package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/graph/onnx/file"
	"tvmgo/internal/testing/must"
	"tvmgo/weights"
)

// layerModel is y = relu(x·w), for x of n rows.
func layerModel() *file.Model {
	var data []byte
	for i := range 6 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i)-2))
	}
	return &file.Model{IRVersion: 9, OpsetImports: []file.Opset{{Version: 17}}, Graph: &file.Graph{
		Name: "layer",
		Nodes: []*file.Node{
			{Name: "product", OpType: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"product"}},
			{Name: "result", OpType: "Relu", Inputs: []string{"product"}, Outputs: []string{"y"}},
		},
		Initializers: []*file.Tensor{{Name: "w", DataType: file.Float, Dims: []int64{2, 3}, RawData: data}},
		Inputs:       []*file.ValueInfo{{Name: "x", Type: file.TensorType(file.Float, file.Symbol("n"), file.Size(2))}},
		Outputs:      []*file.ValueInfo{{Name: "y", Type: file.TensorType(file.Float, file.Symbol("n"), file.Size(3))}},
	}}
}

// writeModel writes a model into a new folder, and returns its path.
func writeModel(t *testing.T, m *file.Model) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(path, m.Encode(), 0o600))
	return path
}

// A compiled model is a library that tvmgo inspect and tvmgo run read.
func TestCompile(t *testing.T) {
	path := writeModel(t, layerModel())
	lib := filepath.Join(t.TempDir(), "model.so")
	out := outputOf(t, 0, "compile", path, "-o", lib)
	require.Contains(t, out, "wrote "+lib)
	require.Contains(t, outputOf(t, 0, "inspect", lib), `x: R.Tensor((n, 2), dtype="float32")
        result y: R.Tensor((n, 3), dtype="float32")`)
	out = outputOf(t, 0, "compile", path, "--emit", "graph", "--dim", "n=4")
	require.Contains(t, out, "y: float32[4, 3] = relu(product)")
	out = outputOf(t, 0, "compile", path, "--emit", "graph", "--dim", "n=1..64")
	require.Contains(t, out, "func main(x: float32[n, 2]) where n in 1..64 {")
	out = outputOf(t, 0, "compile", path, "--emit", "graph", "--input", "x=float32[rows,2]")
	require.Contains(t, out, "y: float32[rows, 3]")
	require.Contains(t, outputOf(t, 0, "compile", path, "--emit", "tir"), "func fused_matmul_relu(")
	require.Contains(t, outputOf(t, 0, "compile", path, "--emit", "c"), "fused_matmul_relu")
}

// The text of a graph is a model, too, and the sizes of its symbols are kept.
func TestCompile_Text(t *testing.T) {
	dir := t.TempDir()
	text, lib := filepath.Join(dir, "model.graph"), filepath.Join(dir, "model.so")
	outputOf(t, 0, "compile", writeModel(t, layerModel()), "--emit", "graph-full", "-o", text)
	require.Equal(t, string(must.Get(os.ReadFile(text))(t)), outputOf(t, 0, "compile", text, "--emit", "graph"))
	outputOf(t, 0, "compile", text, "-o", lib)
	require.Contains(t, outputOf(t, 0, "inspect", lib), `x: R.Tensor((n, 2), dtype="float32")`)
}

// A Relax module in Apache TVM's JSON is compiled like a model in ONNX's format.
func TestCompile_Module(t *testing.T) {
	path := filepath.Join(t.TempDir(), "module.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"root_index":7,"nodes":[{"type":"None"},{"type":"ffi.Array","data":[]},
{"type":"ffi.String","data":"main"},{"type":"ir.GlobalVar","data":{"name_hint":2}},
{"type":"relax.expr.SeqExpr","data":{"blocks":1,"body":5}},{"type":"ir.Call","data":{"op":9,"args":10}},
{"type":"ffi.Map","data":[3,8]},{"type":"ir.IRModule","data":{"functions":6}},
{"type":"relax.expr.Function","data":{"params":10,"body":4,"is_pure":true}},
{"type":"ir.Op","data":"relax.abs"},{"type":"ffi.Array","data":[11]},
{"type":"relax.expr.Var","data":{"name":12,"ty":13}},{"type":"ffi.String","data":"x"},
{"type":"relax.TensorType","data":{"ndim":1,"dtype":"float32"}}]}`), 0o600))
	require.Contains(t, outputOf(t, 0, "compile", path, "--emit", "graph"), "func main(x: float32[x_0]) {")
	require.Contains(t, outputOf(t, 0, "compile", path, "--emit", "graph", "--dim", "x_0=4"), ": float32[4] = abs(x)")
	lib := filepath.Join(t.TempDir(), "model.so")
	require.Contains(t, outputOf(t, 0, "compile", path, "-o", lib), "wrote "+lib)
	require.NoError(t, os.WriteFile(path, []byte(`{"root_index":7,"nodes":[{"type":"None"}]}`), 0o600))
	outputOf(t, 1, "compile", path, "-o", lib)
}

// Weights in a file of their own are parameters, which tvmgo run binds. Small tensors stay in the library.
func TestCompile_Params(t *testing.T) {
	m := layerModel()
	data := make([]byte, 0, 4*300)
	for i := range 300 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i)))
	}
	m.Graph.Initializers[0].Dims, m.Graph.Initializers[0].RawData = []int64{2, 150}, data
	m.Graph.Outputs[0].Type.Shape[1] = file.Size(150)
	dir := t.TempDir()
	lib, params, in, out := filepath.Join(dir, "m.so"), filepath.Join(dir, "w.safetensors"), filepath.Join(dir, "x.npy"),
		filepath.Join(dir, "y.npy")
	outputOf(t, 0, "compile", writeModel(t, m), "-o", lib, "--params", params)
	require.Contains(t, outputOf(t, 0, "inspect", lib), "main(x, w)")
	require.Contains(t, outputOf(t, 0, "inspect", params), "w float32[2,150]")
	x := weights.Array{DType: dlpack.Float32, Shape: []int64{1, 2}, Data: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}} // 1, 2
	require.NoError(t, weights.Write(in, "npy", []weights.Array{x}, nil))
	outputOf(t, 0, "run", lib, "--params", params, "--in", "x="+in, "--out", out)
	set := must.Get(weights.Open(out))(t)
	defer set.Close()
	y := must.Get(set.Tensors()[0].Data())(t)
	for i := range 150 {
		require.Equal(t, float32(i+2*(i+150)), math.Float32frombits(binary.LittleEndian.Uint32(y[4*i:])))
	}
}

// Errors say what is wrong, and leave no file.
func TestCompile_Errors(t *testing.T) {
	unsupported := layerModel()
	unsupported.Graph.Nodes[0].OpType, unsupported.Graph.Nodes[1].OpType = "Nothing", "Neither"
	newer := layerModel()
	newer.OpsetImports[0].Version = 99
	shapeless := layerModel()
	shapeless.Graph.Inputs[0].Type.Shape = nil
	text := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(text, []byte("hello, this is a text"), 0o600))
	graph := filepath.Join(t.TempDir(), "wrong.graph")
	require.NoError(t, os.WriteFile(graph, []byte("func main(x: float32[2]) {\n  y = relo(x)\n  return y\n}\n"), 0o600))
	dir := t.TempDir()
	lib := filepath.Join(dir, "model.so")
	for _, c := range []struct {
		status int
		args   []string
		want   []string
	}{
		{2, []string{"compile"}, []string{"name one file"}},
		{2, []string{"compile", "a.onnx"}, []string{"-o"}},
		{2, []string{"compile", "a.onnx", "-o", "a.txt"}, []string{".so"}},
		{2, []string{"compile", "a.onnx", "-o", lib, "--dim", "n"}, []string{"NAME=SIZE"}},
		{2, []string{"compile", "a.onnx", "-o", lib, "--dim", "n=x..y"}, []string{"--dim n=x..y: want a size, such as 4"}},
		{2, []string{"compile", "a.onnx", "-o", lib, "--dim", "n=5..1"}, []string{"want the least size first, 1..5"}},
		{2, []string{"compile", "a.onnx", "-o", lib, "--dim", "n=-1..4"}, []string{"want sizes from 0 to"}},
		{2, []string{"compile", "a.onnx", "-o", lib, "--input", "x"}, []string{"x=float32[batch,3,224,224]"}},
		{2, []string{"compile", "a.onnx", "-o", lib, "--params", "w.txt"}, []string{"--params", ".safetensors"}},
		{2, []string{"compile", "a.onnx", "--emit", "graph", "--params", "w.npz"}, []string{"-o which library"}},
		{2, []string{"compile", "a.onnx", "-o", lib, "--target", "nothing"}, []string{"nothing"}},
		{1, []string{"compile", "absent.onnx", "-o", lib}, []string{"absent.onnx"}},
		{1, []string{"compile", text, "-o", lib}, []string{"text"}},
		{1, []string{"compile", graph, "-o", lib}, []string{"wrong.graph: ", "line 2, column 3", "did you mean relu?"}},
		{2, []string{"compile", graph, "-o", lib, "--dim", "n=3"}, []string{"edit the text instead"}},
		{1, []string{"compile", writeModel(t, unsupported), "-o", lib}, []string{"Nothing", "Neither", "operator set 17"}},
		{1, []string{"compile", writeModel(t, newer), "-o", lib}, []string{"operator set 99", "27"}},
		{1, []string{"compile", writeModel(t, shapeless), "-o", lib}, []string{`"x"`, "--input x=float32["}},
		{1, []string{"compile", writeModel(t, layerModel()), "-o", lib, "--input", "x=float32[3,3]"},
			[]string{`node "product" (MatMul)`}},
		{1, []string{"compile", writeModel(t, layerModel()), "-o", lib, "--dim", "m=3"},
			[]string{`no dimension "m"`, "it has n"}},
		{1, []string{"compile", writeModel(t, layerModel()), "-o", lib, "--dim", "m=3..5"}, []string{`no dimension "m"`}},
		{1, []string{"compile", writeModel(t, layerModel()), "-o", lib, "--input", "z=float32[3,3]"},
			[]string{`no input "z"`, "it has x"}},
	} {
		out := outputOf(t, c.status, c.args...)
		for _, w := range c.want {
			require.Contains(t, out, w, c.args)
		}
	}
	require.Empty(t, must.Get(os.ReadDir(dir))(t))
}

// The tests of a folder give a line each, and the status says whether one failed.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"right", "wrong"} {
		set := filepath.Join(dir, name, "test_data_set_0")
		require.NoError(t, os.MkdirAll(set, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "model.onnx"), layerModel().Encode(), 0o600))
		in := &file.Tensor{Name: "x", DataType: file.Float, Dims: []int64{1, 2}, FloatData: []float32{1, 2}}
		want := &file.Tensor{Name: "y", DataType: file.Float, Dims: []int64{1, 3}, FloatData: []float32{0, 3, 6}}
		if name == "wrong" {
			want.FloatData[2] = 7
		}
		require.NoError(t, os.WriteFile(filepath.Join(set, "input_0.pb"), in.Encode(), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(set, "output_0.pb"), want.Encode(), 0o600))
	}
	require.Equal(t, "ok right\n1 passed, 0 failed\n", outputOf(t, 0, "check", filepath.Join(dir, "right")))
	out := outputOf(t, 1, "check", dir)
	require.Contains(t, out, "ok right\nFAIL wrong: output \"y\" differs at element 2 of 3: it is 6, want 7\n")
	require.Contains(t, out, "1 passed, 1 failed\n")
	require.Contains(t, outputOf(t, 1, "check", t.TempDir()), "no model.onnx")
	outputOf(t, 2, "check")
}

// outputOf runs a command line, checks its status, and returns what it prints.
func outputOf(t *testing.T, status int, args ...string) string {
	t.Helper()
	got, stdout, stderr := cli(args...)
	require.Equal(t, status, got, "%q: %s", args, stderr)
	if status == 0 {
		return stdout
	}
	return stdout + stderr
}
