package onnx

import (
	"tvmgo/graph"
)

// Operators that broadcast differently before operator set 7.
func init() {
	for name, op := range map[string]string{"Add": "add", "And": "and", "Div": "div", "Equal": "equal",
		"Greater": "greater", "Less": "less", "Mul": "mul", "Or": "or", "Pow": "pow", "Sub": "sub", "Xor": "xor"} {
		add(name, func(c *conv) error {
			y, err := c.placed(c.operand(1))
			if err != nil {
				return err
			}
			in := append([]*graph.Value{}, c.in...)
			if len(in) > 1 {
				in[1] = y
			}
			attrs, err := c.graphAttrs(graph.LookupOp(op), "broadcast", "axis")
			if err != nil {
				return err
			}
			return c.result(op, attrs, in...)
		})
	}
	add("Gemm", func(c *conv) error {
		attrs, err := c.graphAttrs(graph.LookupOp("gemm"), "broadcast")
		if err != nil {
			return err
		}
		return c.result("gemm", attrs, c.in...)
	})
	add("PRelu", func(c *conv) error {
		slope := c.operand(1)
		if c.opset < 7 && slope != nil && len(slope.Shape) == 1 && len(c.in[0].Shape) > 2 {
			var err error // one slope per channel
			if slope, err = c.trailing(slope, len(c.in[0].Shape)-2); err != nil {
				return err
			}
		}
		return c.result("prelu", nil, c.in[0], slope)
	})
}

// placed returns the second operand so that its dimensions begin at the attribute axis of the first one. Without that
// attribute they are the last ones.
func (c *conv) placed(y *graph.Value) (*graph.Value, error) {
	if c.attrs["axis"] == nil || y == nil || c.opset >= 7 {
		return y, nil
	}
	axis := c.integer("axis", 0)
	rank := int64(len(c.in[0].Shape))
	if axis < 0 {
		axis += rank
	}
	behind := rank - axis - int64(len(y.Shape))
	if axis < 0 || behind < 0 {
		return nil, c.fail("the second operand has %d dimensions, which do not fit at axis %d of %d", len(y.Shape), axis,
			rank)
	}
	return c.trailing(y, int(behind))
}

// trailing adds dimensions of size 1 at the end.
func (c *conv) trailing(v *graph.Value, n int) (*graph.Value, error) {
	var axes []int64
	for k := range n {
		axes = append(axes, int64(len(v.Shape)+k))
	}
	if n == 0 {
		return v, nil
	}
	return c.add("unsqueeze", nil, v, c.scope.fn.Ints("axes", axes...))
}
