package passes

import (
	"bytes"

	"tvmgo/graph"
	"tvmgo/tir"
)

// normalization finds layer and RMS normalization without scale: (x - mean) / sqrt(mean((x - mean)²) + epsilon), with
// or without the means that are subtracted.
func normalization(e *edit) *graph.Value {
	if !e.is("mul", "div") || !isFloat(e.n.Outputs[0]) {
		return nil
	}
	for k := range 2 {
		x, sum := e.in(k), e.overRoot(e.in(1-k))
		if e.is("div") {
			if k == 1 {
				break
			}
			sum = e.root(e.in(1))
		}
		if sum == nil {
			continue
		}
		for j := range 2 {
			epsilon, ok := number(sum.Inputs[1-j])
			axis, squares := e.mean(sum.Inputs[j])
			if !ok || epsilon < 0 || squares == nil || !e.product(squares).is(1, x, 2) {
				continue
			}
			attrs := graph.Attrs{"axis": int64(axis), "epsilon": epsilon}
			if d := e.from(x, "sub"); d != nil {
				if at, of := e.mean(d.Inputs[1]); of == d.Inputs[0] && at == axis {
					return e.add("layer_normalization", attrs, of, e.ones(of, axis))
				}
			}
			return e.add("rms_normalization", attrs, x, e.ones(x, axis))
		}
	}
	return nil
}

// overRoot returns the sum s for a value that is 1/sqrt(s).
func (e *edit) overRoot(v *graph.Value) *graph.Node {
	n := e.from(v, "reciprocal", "div", "pow")
	switch {
	case n == nil:
		return nil
	case n.Op.Name == "reciprocal":
		return e.root(n.Inputs[0])
	case n.Op.Name == "div" && isNumber(n.Inputs[0], 1):
		return e.root(n.Inputs[1])
	case n.Op.Name == "pow" && isNumber(n.Inputs[1], -0.5):
		return e.from(n.Inputs[0], "add")
	}
	return nil
}

// root returns the sum s for a value that is sqrt(s).
func (e *edit) root(v *graph.Value) *graph.Node {
	n := e.from(v, "sqrt", "pow")
	if n == nil || n.Op.Name == "pow" && !isNumber(n.Inputs[1], 0.5) {
		return nil
	}
	return e.from(n.Inputs[0], "add")
}

// mean returns what a value is the mean of, over the dimensions from an axis on; nil if it is none.
func (e *edit) mean(v *graph.Value) (axis int, of *graph.Value) {
	n := e.from(v, "reduce_mean")
	if n == nil || n.Attr("keepdims") != int64(1) {
		return 0, nil
	}
	x := n.Inputs[0]
	rank := len(x.Shape)
	axes := make([]bool, rank)
	list, ok := ints(operand(n, 1))
	if !ok || len(list) == 0 || len(list) > rank {
		return 0, nil
	}
	for _, a := range list {
		if a < 0 {
			a += int64(rank)
		}
		axes[a] = true
	}
	for d := rank - len(list); d < rank; d++ {
		if !axes[d] {
			return 0, nil
		}
	}
	return rank - len(list), x
}

// onesLimit is the number of elements that a scale of ones may have.
const onesLimit = 1 << 20

// ones returns a scale of ones for the dimensions of a value from an axis on; nil if they are not constant.
func (e *edit) ones(x *graph.Value, axis int) *graph.Value {
	shape, ok := (&graph.Value{DType: x.DType, Shape: x.Shape[axis:]}).StaticShape()
	one := e.number(x.DType, 1)
	count := int64(1)
	for _, n := range shape {
		count *= n
	}
	if !ok || one == nil || count > onesLimit {
		return nil
	}
	v, err := e.f.Const("ones", x.DType, shape, bytes.Repeat(one.Const.Data, int(count)))
	if err != nil {
		return nil
	}
	return v
}

// normScale puts a multiplication into the scale of a normalization that is 1.
func normScale(e *edit) *graph.Value {
	if !e.is("mul") {
		return nil
	}
	for k := range 2 {
		n := e.from(e.in(k), "layer_normalization", "rms_normalization")
		if n == nil || len(n.Outputs) != 1 || !e.once(e.in(k)) || operand(n, 2) != nil || !fits(e.in(1-k), n) {
			continue
		}
		if c, ok := uniform(n.Inputs[1]); ok && c == 1 {
			return e.add(n.Op.Name, n.Attrs, n.Inputs[0], e.in(1-k))
		}
	}
	return nil
}

// normBias puts an addition into a layer normalization.
func normBias(e *edit) *graph.Value {
	if !e.is("add") {
		return nil
	}
	for k := range 2 {
		n := e.from(e.in(k), "layer_normalization")
		if n == nil || len(n.Outputs) != 1 || !e.once(e.in(k)) || operand(n, 2) != nil || !fits(e.in(1-k), n) {
			continue
		}
		return e.add(n.Op.Name, n.Attrs, n.Inputs[0], n.Inputs[1], e.in(1-k))
	}
	return nil
}

// fits reports whether a value is broadcast to the dimensions that a normalization normalizes.
func fits(v *graph.Value, n *graph.Node) bool {
	x := n.Inputs[0]
	axis := int(n.Attr("axis").(int64))
	if axis < 0 {
		axis += len(x.Shape)
	}
	inner := x.Shape[axis:]
	if v.DType != x.DType || len(v.Shape) == 0 || len(v.Shape) > len(inner) {
		return false
	}
	for d := range v.Shape {
		own, ok := tir.IntValue(v.Shape[d])
		size, known := tir.IntValue(inner[len(inner)-len(v.Shape)+d])
		if !ok || !known || own != 1 && own != size {
			return false
		}
	}
	return true
}
