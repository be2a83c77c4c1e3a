// Command onnx writes a small network in ONNX's format, with an input and the output that it has to give:
//
//	go run ./examples/model/onnx -o DIR      writes network.onnx, x.npy and y.npy
//	tvmgo compile DIR/network.onnx -o network.so --params network.safetensors
//	tvmgo run network.so --params network.safetensors --in x=DIR/x.npy --out y.npy
//
// The network is y = w2·relu(w1·x + b1), for any number of rows of x.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"tvmgo/dlpack"
	"tvmgo/graph/onnx/file"
	"tvmgo/weights"
)

// The sizes of the network, and the number of rows of the input that is written.
const inputs, hidden, outputs, rows = 16, 64, 10, 8

func main() {
	dir := flag.String("o", ".", "folder for the files")
	flag.Parse()
	if err := write(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "onnx:", err)
		os.Exit(1)
	}
}

// matrix makes numbers that are exact in float32, so that every order of additions gives the same sums.
func matrix(n, seed int) []float32 {
	m := make([]float32, n)
	for i := range m {
		m[i] = float32((i*7+seed)%5-2) / 4
	}
	return m
}

func bytesOf(values []float32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

func tensor(name string, values []float32, dims ...int64) *file.Tensor {
	return &file.Tensor{Name: name, DataType: file.Float, Dims: dims, RawData: bytesOf(values)}
}

// multiply returns the product of a matrix of n columns and one of m columns.
func multiply(a, b []float32, n, m int) []float32 {
	out := make([]float32, len(a)/n*m)
	for i := range out {
		for k := range n {
			out[i] += a[i/m*n+k] * b[k*m+i%m]
		}
	}
	return out
}

func write(dir string) error {
	w1, b1, w2 := matrix(inputs*hidden, 1), matrix(hidden, 2), matrix(hidden*outputs, 3)
	value := func(name string, size int64) *file.ValueInfo {
		return &file.ValueInfo{Name: name, Type: file.TensorType(file.Float, file.Symbol("batch"), file.Size(size))}
	}
	node := func(op, out string, in ...string) *file.Node {
		return &file.Node{Name: out, OpType: op, Inputs: in, Outputs: []string{out}}
	}
	model := &file.Model{IRVersion: 9, ProducerName: "tvmgo example", OpsetImports: []file.Opset{{Version: 17}},
		Graph: &file.Graph{
			Name: "network",
			Nodes: []*file.Node{
				node("MatMul", "product", "x", "w1"),
				node("Add", "sum", "product", "b1"),
				node("Relu", "activation", "sum"),
				node("MatMul", "y", "activation", "w2"),
			},
			Initializers: []*file.Tensor{tensor("w1", w1, inputs, hidden), tensor("b1", b1, hidden),
				tensor("w2", w2, hidden, outputs)},
			Inputs:  []*file.ValueInfo{value("x", inputs)},
			Outputs: []*file.ValueInfo{value("y", outputs)},
		}}
	x := matrix(rows*inputs, 4)
	activation := multiply(x, w1, inputs, hidden)
	for i := range activation {
		activation[i] = max(0, activation[i]+b1[i%hidden])
	}
	y := multiply(activation, w2, hidden, outputs)
	if err := os.WriteFile(filepath.Join(dir, "network.onnx"), model.Encode(), 0o600); err != nil {
		return err
	}
	for name, values := range map[string][]float32{"x": x, "y": y} {
		a := weights.Array{DType: dlpack.Float32, Shape: []int64{rows, int64(len(values) / rows)}, Data: bytesOf(values)}
		if err := weights.Write(filepath.Join(dir, name+".npy"), "npy", []weights.Array{a}, nil); err != nil {
			return err
		}
	}
	return nil
}
