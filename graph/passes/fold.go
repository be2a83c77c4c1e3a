package passes

import (
	"context"
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/target"
)

// The limits of constants that are computed: in bytes, and relative to the operands, so that files do not grow much.
// Weights may be of any operands: code for constant weights is faster.
const (
	foldedLimit  = 64 << 20
	foldedGrowth = 4
	foldedFree   = 64 << 10 // results up to this size may be of any operands
)

// fold computes nodes whose operands are all constants. It does nothing if no code can be run.
func fold(ctx context.Context, f *graph.Function, _ *target.Target, o Options) error {
	if o.Evaluate == nil {
		return nil
	}
	c := folding{made: map[*graph.Value]bool{}, bytes: map[*graph.Value]int64{}, wanted: map[*graph.Value]bool{},
		weights: map[*graph.Value]bool{}}
	c.find(f)
	c.function(f)
	var results []*graph.Value
	for _, n := range c.nodes {
		for _, v := range n.Outputs {
			if v != nil && c.wanted[v] {
				results = append(results, v)
			}
		}
	}
	if len(results) == 0 {
		return nil
	}
	data, err := o.Evaluate(ctx, graph.Part("constants", c.nodes, results))
	if err != nil {
		return err
	}
	if len(data) != len(results) {
		return fmt.Errorf("%d constants are computed: want %d", len(data), len(results))
	}
	for i, v := range results {
		if int64(len(data[i])) != c.bytes[v] {
			return fmt.Errorf("constant %s has %d bytes: want %d", v, len(data[i]), c.bytes[v])
		}
	}
	for i, v := range results {
		v.SetConst(data[i])
	}
	return dead(ctx, f, nil, o)
}

// folding collects the nodes that can be computed.
type folding struct {
	nodes  []*graph.Node
	made   map[*graph.Value]bool  // results of nodes
	bytes  map[*graph.Value]int64 // their sizes
	wanted map[*graph.Value]bool  // those that other nodes read

	weights map[*graph.Value]bool // of convolutions and products, and what they are computed from
}

// find finds the weights.
func (c *folding) find(f *graph.Function) {
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		n := f.Nodes[i]
		for _, b := range n.Bodies {
			c.find(b)
		}
		in := n.Inputs
		if named(n, "conv", "conv_transpose", "blocked_conv", "matmul", "gemm") {
			in = in[1:]
		} else if len(n.Outputs) == 0 || !c.weights[n.Outputs[0]] {
			continue
		}
		for _, v := range in {
			c.weights[v] = true
		}
	}
}

func (c *folding) function(f *graph.Function) {
	for _, n := range f.Nodes {
		if n.Op.Control == graph.Formula && c.fits(n) {
			c.nodes = append(c.nodes, n)
			continue
		}
		c.read(n.Inputs)
		for _, b := range n.Bodies {
			c.function(b)
		}
	}
	c.read(f.Results)
}

func (c *folding) read(values []*graph.Value) {
	for _, v := range values {
		if v != nil && c.made[v] && v.AsConst() == nil {
			c.wanted[v] = true
		}
	}
}

// fits reports whether the results of a node are constant, and not too large.
func (c *folding) fits(n *graph.Node) bool {
	in, operands := int64(0), 0
	for _, v := range n.Inputs {
		if v == nil {
			continue
		}
		operands++
		if k := v.AsConst(); k != nil {
			in += int64(len(k.Data))
		} else if c.made[v] {
			in += c.bytes[v]
		} else {
			return false
		}
	}
	if operands == 0 {
		return false
	}
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		shape, ok := v.StaticShape()
		if !ok {
			return false
		}
		size, err := dlpack.DataSize(shape, v.DType)
		if err != nil || size > foldedLimit ||
			size > foldedFree && size/foldedGrowth > in && !c.weights[v] {
			return false
		}
		c.bytes[v] = size
	}
	for _, v := range n.Outputs {
		if v != nil {
			c.made[v] = true
		}
	}
	return true
}
