// Package graphjson reads the JSON of TVM's graph executor (docs/abi.md G.4), and plans the memory of its data.
//
// [Parse] checks everything that an executor relies on: indexes, the order of nodes, the lengths of all lists, names,
// data types and storage ids. An error names the node and the attribute. Like package blob, this package needs no
// runtime.
package graphjson

import (
	"fmt"

	"tvmgo/dlpack"
)

// Functions with a meaning of their own, which no module has.
const (
	Nop  = "__nop"  // the output is the input with another shape, in the same storage
	Copy = "__copy" // the output is a copy of the input, possibly on another device
)

// Graph is a checked graph. It must not be changed.
type Graph struct {
	Nodes   []Node
	Inputs  []int // nodes without a function, in the order of the executor's inputs
	Outputs []Ref
	Data    []Data // of all outputs of all nodes
}

// Node is an input of the graph, or a call of a function.
type Node struct {
	Name string
	// Func is the name of the function, "" for an input.
	Func string
	// Args are the inputs of the function. Its other arguments are the node's outputs.
	Args []Ref
	// First is the index in Graph.Data of the first output; Outputs is the number of outputs, 1 for an input.
	First, Outputs int
	// Flatten is true if the function takes all its arguments as vectors.
	Flatten bool
	// Attrs has every other attribute, such as the layout of weights.
	Attrs map[string]string
}

// Ref is an output of a node.
type Ref struct{ Node, Index int }

// Data describes the memory of an output.
type Data struct {
	Shape   []int64
	DType   dlpack.DataType
	Storage int // data with one storage id share memory
	// Device is the type of the device; 0 means the first device of the executor.
	Device dlpack.DeviceType
	// Scope is the storage scope of the memory; "" for ordinary memory.
	Scope string
	Bytes int64
}

// DataOf returns the index in Data of an output.
func (g *Graph) DataOf(r Ref) int { return g.Nodes[r.Node].First + r.Index }

// InputNames returns the names of the inputs, in their order.
func (g *Graph) InputNames() []string {
	names := make([]string, len(g.Inputs))
	for i, n := range g.Inputs {
		names[i] = g.Nodes[n].Name
	}
	return names
}

// OutputNames returns the names of the nodes of the outputs, in their order. A name can occur more than once.
func (g *Graph) OutputNames() []string {
	names := make([]string, len(g.Outputs))
	for i, r := range g.Outputs {
		names[i] = g.Nodes[r.Node].Name
	}
	return names
}

// title names a node in errors.
func (n *Node) title(index int) string { return fmt.Sprintf("node %d %q", index, n.Name) }

// Title names a node in errors: its index and its name.
func (g *Graph) Title(node int) string { return g.Nodes[node].title(node) }
