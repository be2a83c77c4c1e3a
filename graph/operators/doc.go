// Package operators registers the operators of package graph that models are made of. Their names, operands and
// attributes are those of ONNX's newest operator set, in lower case with words separated by _: what ONNX calls
// ReduceSum is reduce_sum here. Operands that determine a shape, such as that of reshape, must have elements that are
// known when the model is compiled, or are read on the host when it runs.
package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/tir"
)

func register(ops ...*graph.Op) {
	if err := graph.Register(ops...); err != nil {
		panic(err) // two operators of this package have one name
	}
}

// count is the number of operands or results.
func count(n int) [2]int { return [2]int{n, n} }

func one(t *te.Tensor) []*te.Tensor { return []*te.Tensor{t} }

// simple is an operator without attributes that returns one tensor.
func simple(name string, operands int, f func(c *graph.Call) *te.Tensor) *graph.Op {
	return &graph.Op{Name: name, In: count(operands), Out: count(1),
		Compute: func(c *graph.Call) []*te.Tensor { return one(f(c)) }}
}

// with is an operator with attributes that returns one tensor. least and most bound the number of operands.
func with(name string, least, most int, f func(c *graph.Call) *te.Tensor, attrs ...graph.Attr) *graph.Op {
	return &graph.Op{Name: name, In: [2]int{least, most}, Out: count(1), Attrs: attrs,
		Compute: func(c *graph.Call) []*te.Tensor { return one(f(c)) }}
}

func integer(name string, value int) graph.Attr { return graph.Attr{Name: name, Default: int64(value)} }

func float(name string, value float64) graph.Attr { return graph.Attr{Name: name, Default: value} }

func word(name, value string) graph.Attr { return graph.Attr{Name: name, Default: value} }

func integers(name string) graph.Attr { return graph.Attr{Name: name, Default: []int64(nil)} }

func floats(name string) graph.Attr { return graph.Attr{Name: name, Default: []float64(nil)} }

func typed(name string) graph.Attr { return graph.Attr{Name: name, Default: tir.Type{}} }

// atLeast ends the call with an error if an operand has fewer dimensions.
func atLeast(c *graph.Call, i, rank int) {
	if c.Has(i) && c.Rank(i) < rank {
		c.Fail("operand %d has %d dimensions: want at least %d", i, c.Rank(i), rank)
	}
}

// sizeIn returns the element of an operand with one integer, as a size.
func sizeIn(c *graph.Call, i int) tir.Expr {
	sizes := c.Sizes(i)
	if len(sizes) != 1 {
		c.Fail("operand %d has %d elements: want 1", i, len(sizes))
	}
	return sizes[0]
}

// axisOf returns the dimension for an axis, which counts from the end if it is negative.
func axisOf(c *graph.Call, axis, rank int) int {
	at := axis
	if at < 0 {
		at += rank
	}
	if at < 0 || at >= rank {
		c.Fail("axis %d does not exist: the operand has %d dimensions: want %d to %d", axis, rank, -rank, rank-1)
	}
	return at
}

// axesOf returns the dimensions for axes.
func axesOf(c *graph.Call, axes []int, rank int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = axisOf(c, a, rank)
		for _, b := range out[:i] {
			if b == out[i] {
				c.Fail("axis %d is given twice", a)
			}
		}
	}
	return out
}

func isNarrow(t tir.Type) bool { return tir.IsFloat(t) && t.Bits < 32 }
