package passes

import (
	"context"
	"fmt"
	"math"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// The limits of constants that are computed: in bytes, and relative to the operands, so that files do not grow much.
// Weights may be of any operands: code for constant weights is faster.
const (
	foldedLimit  = 64 << 20
	foldedGrowth = 4
	foldedFree   = 64 << 10  // results up to this size may be of any operands
	foldedTotal  = 256 << 20 // of all results that are stored, beyond foldedGrowth times what they are computed from
	// Steps of weights may be larger: those of Winograd's filters are in float64. If they stayed, each run would compute
	// them.
	foldedWeights     = 1 << 30
	foldedSteps       = 4 << 30 // of all results, also of those that are not stored
	foldedStepsGrowth = 32
	foldedWork        = 1 << 33 // the number of times that formulas of a node may be computed
)

// fold computes nodes whose operands are all constants. It does nothing if no code can be run.
func fold(ctx context.Context, f *graph.Function, _ *target.Target, o Options) error {
	if o.Evaluate == nil {
		return nil
	}
	c := folding{made: map[*graph.Value]bool{}, bytes: map[*graph.Value]int64{}, wanted: map[*graph.Value]bool{},
		weights: map[*graph.Value]bool{}, reads: map[*graph.Value]int{}}
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
	total  int64                  // bytes of the results that are stored
	steps  int64                  // bytes of all results
	source int64                  // bytes of the constants that they are computed from
	bytes  map[*graph.Value]int64 // their sizes
	wanted map[*graph.Value]bool  // those that other nodes read

	weights map[*graph.Value]bool // of convolutions and products, and what they are computed from
	reads   map[*graph.Value]int  // of values, by nodes that are not computed and as results
}

// find finds the weights, and counts reads.
func (c *folding) find(f *graph.Function) {
	for _, v := range f.Results {
		c.reads[v]++
	}
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		n := f.Nodes[i]
		for _, v := range n.Inputs {
			c.reads[v]++
		}
		for _, b := range n.Bodies {
			c.find(b)
		}
		in := n.Inputs
		if named(n, "conv", "conv_transpose", "blocked_conv", "winograd_conv", "matmul", "gemm") {
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
	in, source, operands := int64(0), int64(0), 0
	for _, v := range n.Inputs {
		if v == nil {
			continue
		}
		operands++
		if k := v.AsConst(); k != nil {
			in += int64(len(k.Data))
			source += int64(len(k.Data))
		} else if c.made[v] {
			in += c.bytes[v]
		} else {
			return false
		}
	}
	if operands == 0 {
		return false
	}
	total := int64(0)
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		shape, ok := v.StaticShape()
		if !ok {
			return false
		}
		limit := int64(foldedLimit)
		if c.weights[v] {
			limit = foldedWeights
		}
		size, err := dlpack.DataSize(shape, v.DType)
		if err != nil || size > limit ||
			size > foldedFree && size/foldedGrowth > in && !c.weights[v] {
			return false
		}
		c.bytes[v] = size
		total += size
	}
	last := c.lastReads(n)
	if c.total-last+total > foldedGrowth*(c.source+source)+foldedTotal ||
		c.steps+total > foldedStepsGrowth*(c.source+source)+foldedSteps || work(n) > foldedWork {
		return false
	}
	c.total, c.steps, c.source = c.total-last+total, c.steps+total, c.source+source
	for _, v := range n.Inputs {
		c.reads[v]--
	}
	for _, v := range n.Outputs {
		if v != nil {
			c.made[v] = true
		}
	}
	return true
}

// lastReads returns the bytes of the results that no other node reads, so that they need not be stored.
func (c *folding) lastReads(n *graph.Node) (bytes int64) {
	own := map[*graph.Value]int{}
	for _, v := range n.Inputs {
		if own[v]++; v != nil && c.made[v] && own[v] == c.reads[v] {
			bytes += c.bytes[v]
		}
	}
	return bytes
}

// work is the number of times that the formulas of a node are computed for its results.
func work(n *graph.Node) float64 {
	ins := make([]*te.Tensor, len(n.Inputs))
	for i, v := range n.Inputs {
		if v != nil {
			ins[i] = te.Placeholder(v.Shape, v.DType, "p")
		}
	}
	outs, err := n.Tensors(ins)
	if err != nil {
		return math.Inf(1)
	}
	seen := map[*te.Tensor]bool{}
	sum := 0.0
	var visit func(t *te.Tensor)
	visit = func(t *te.Tensor) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		times := 1.0
		for _, axis := range append(append([]*tir.IterVar{}, t.Axes()...), t.ReduceAxes()...) {
			if extent, ok := tir.IntValue(axis.Extent); ok {
				times *= float64(extent)
			}
		}
		sum += times
		for _, in := range t.Inputs() {
			visit(in)
		}
		for _, body := range t.Bodies() {
			tir.Walk(body, func(n any) bool {
				if p, ok := n.(*tir.ProducerLoad); ok {
					if in, ok := p.Producer.(*te.Tensor); ok {
						visit(in)
					}
				}
				return true
			})
		}
	}
	for _, t := range outs {
		visit(t)
	}
	return sum
}
