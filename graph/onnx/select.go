package onnx

import (
	"tvmgo/graph"
)

func init() {
	add("NonZero", func(c *conv) error {
		outs, err := c.several("nonzero", nil, c.in[0])
		if err != nil {
			return err
		}
		return c.result("prefix", graph.Attrs{"axis": int64(1)}, outs[0], outs[1])
	})
	add("Compress", func(c *conv) error {
		x, axis := c.in[0], c.integer("axis", 0)
		if c.attrs["axis"] == nil {
			var err error
			if x, err = c.add("reshape", nil, x, c.scope.fn.Ints("shape", -1)); err != nil {
				return err
			}
		}
		outs, err := c.several("compress", graph.Attrs{"axis": axis}, x, c.in[1])
		if err != nil {
			return err
		}
		return c.result("prefix", graph.Attrs{"axis": axis}, outs[0], outs[1])
	})
	add("NonMaxSuppression", func(c *conv) error {
		attrs, err := c.graphAttrs(graph.LookupOp("non_max_suppression"))
		if err != nil {
			return err
		}
		in := c.operands(5)
		if in[2] == nil { // no limit for package te/ops; here, no box
			in[2] = c.scope.fn.Ints("max_output_boxes_per_class", 0)
		}
		outs, err := c.several("non_max_suppression", attrs, in...)
		if err != nil {
			return err
		}
		return c.result("prefix", nil, outs[0], outs[1])
	})
	add("Unique", unique)
	add("TopK", topK)
	add("DFT", dft)
}

// several adds a node with several results.
func (c *conv) several(op string, attrs graph.Attrs, in ...*graph.Value) ([]*graph.Value, error) {
	return c.scope.fn.AddNode(&graph.Node{Op: graph.LookupOp(op), Attrs: attrs, Inputs: in, Source: c.source}, op)
}

// unique selects the different slices along an axis, or without one the different elements.
func unique(c *conv) error {
	x := c.in[0]
	axis := c.integer("axis", 0)
	rank := int64(len(x.Shape))
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= max(rank, 1) {
		return c.fail("the operand has no axis %d", c.integer("axis", 0))
	}
	var err error
	perm := []int64{axis} // the axis first, and its own inverse: axes are exchanged
	switch {
	case c.attrs["axis"] == nil:
		x, err = c.add("reshape", nil, x, c.scope.fn.Ints("shape", -1))
	case axis != 0:
		for d := range rank {
			switch d {
			case 0:
			case axis:
				perm = append(perm, 0)
			default:
				perm = append(perm, d)
			}
		}
		x, err = c.add("transpose", graph.Attrs{"perm": perm}, x)
	}
	if err != nil {
		return err
	}
	all, err := c.several("unique", graph.Attrs{"sorted": c.integer("sorted", 1)}, x)
	if err != nil {
		return err
	}
	outs := make([]*graph.Value, 4)
	for k, from := range []int{0, 1, 3} { // values, first indices, counts
		v, err := c.add("prefix", nil, all[from], all[4])
		if err != nil {
			return err
		}
		outs[[]int{0, 1, 3}[k]] = v
	}
	outs[2] = all[2]
	if len(perm) > 1 {
		if outs[0], err = c.add("transpose", graph.Attrs{"perm": perm}, outs[0]); err != nil {
			return err
		}
	}
	c.bind(outs)
	return nil
}

// topK has its number of elements as an attribute before operator set 10.
func topK(c *conv) error {
	k := c.operand(1)
	if a := c.attrs["k"]; a != nil {
		k = c.scope.fn.Ints("k", a.Int)
	}
	attrs, err := c.graphAttrs(graph.LookupOp("top_k"), "k")
	if err != nil {
		return err
	}
	outs, err := c.several("top_k", attrs, c.in[0], k)
	if err != nil {
		return err
	}
	c.bind(outs)
	return nil
}

// dft has its axis as an attribute before operator set 20.
func dft(c *conv) error {
	in := c.operands(3)
	if c.opset < 20 {
		in[2] = c.scope.fn.Ints("axis", c.integer("axis", 1))
	}
	attrs, err := c.graphAttrs(graph.LookupOp("dft"), "axis")
	if err != nil {
		return err
	}
	return c.result("dft", attrs, in...)
}
