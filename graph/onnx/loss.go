package onnx

import (
	"tvmgo/graph"
)

func init() {
	add("NegativeLogLikelihoodLoss", func(c *conv) error { return c.loss(c.in[0], false) })
	add("SoftmaxCrossEntropyLoss", func(c *conv) error {
		probs, err := c.add("log_softmax", graph.Attrs{"axis": int64(1)}, c.in[0])
		if err != nil {
			return err
		}
		return c.loss(probs, true)
	})
}

// loss takes the logarithms of probabilities, with classes in dimension 1, the class of each element, and weights of
// classes.
func (c *conv) loss(logs *graph.Value, both bool) error {
	classes, weights := c.in[1], c.operand(2)
	attrs, err := c.graphAttrs(graph.LookupOp("nll"))
	if err != nil {
		return err
	}
	n := &graph.Node{Op: graph.LookupOp("nll"), Attrs: attrs, Inputs: []*graph.Value{logs, classes, weights},
		Source: c.source}
	outs, err := c.scope.fn.AddNode(n, "nll")
	if err != nil {
		return err
	}
	values := []*graph.Value{outs[0]}
	if both {
		values = append(values, logs)
	}
	c.bind(values)
	return nil
}
