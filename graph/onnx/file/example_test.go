package file_test

import (
	"fmt"
	"os"
	"path/filepath"

	"tvmgo/graph/onnx/file"
)

// A model is made and written; then its file is opened, and its parameters are read.
func Example() {
	rows := file.TensorType(file.Float, file.Symbol("N"), file.Size(2))
	model := &file.Model{IRVersion: 10, OpsetImports: []file.Opset{{Version: 21}}, Graph: &file.Graph{Name: "main",
		Inputs:       []*file.ValueInfo{{Name: "x", Type: rows}},
		Outputs:      []*file.ValueInfo{{Name: "y", Type: rows}},
		Initializers: []*file.Tensor{{Name: "b", DataType: file.Float, Dims: []int64{2}, FloatData: []float32{1, 2}}},
		Nodes:        []*file.Node{{OpType: "Add", Inputs: []string{"x", "b"}, Outputs: []string{"y"}}}}}
	dir, err := os.MkdirTemp("", "onnx")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "add.onnx")
	if err := os.WriteFile(path, model.Encode(), 0o644); err != nil {
		fmt.Println(err)
		return
	}

	f, err := file.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for _, t := range f.Model.Graph.Initializers {
		data, err := t.Bytes(f.External) // little-endian, in row-major order
		fmt.Println(t.Name, t, data, err)
	}
	fmt.Print(f.Model.Text())
	// Output:
	// b float[2] [0 0 128 63 0 0 0 64] <nil>
	// <
	//    ir_version: 10,
	//    opset_import: ["" : 21]
	// >
	// main (float[N,2] x) => (float[N,2] y) {
	//    float[2] b
	//    y = Add (x, b)
	// }
}
