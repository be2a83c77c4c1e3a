package passes

import (
	"math"

	"tvmgo/graph"
	"tvmgo/tir"
)

// simple are the rules of nodes that do nothing, or that another one undoes. They are exact.
var simple = []rewrite{identity, sameCast, twice, neutral, views, transposes}

// identity replaces a copy.
func identity(e *edit) *graph.Value {
	if e.is("identity") || e.is("cast", "cast_like") && e.in(0).DType == e.n.Outputs[0].DType ||
		len(e.n.Inputs) == 1 && e.is("concat", "sum", "max", "min", "mean") || e.is("expand", "tile") {
		return e.in(0) // if it has the shape of the result
	}
	return nil
}

// sameCast replaces a cast of a cast to a type that has all values of the first type.
func sameCast(e *edit) *graph.Value {
	if !e.is("cast", "cast_like") {
		return nil
	}
	first := e.from(e.in(0), "cast", "cast_like")
	if first == nil || !holds(first.Inputs[0].DType, e.in(0).DType) {
		return nil
	}
	if x := first.Inputs[0]; x.DType == e.n.Outputs[0].DType {
		return x
	}
	attrs := graph.Attrs{"to": e.n.Outputs[0].DType}
	for _, name := range []string{"saturate", "round_mode"} {
		if v, given := e.n.Attrs[name]; given {
			attrs[name] = v
		}
	}
	return e.add("cast", attrs, first.Inputs[0])
}

// holds reports whether each value of a type is one of another type.
func holds(t, wide tir.Type) bool {
	switch {
	case tir.IsBool(wide) || wide.Bits < 8 || tir.IsFloat(wide) && wide.Bits <= 8: // some lack 0, 1 or -0
		return wide == t
	case tir.IsBool(t):
		return true
	case tir.IsFloat(t) && t.Bits <= 8: // float16 lacks large powers of two
		return tir.IsFloat(wide) && wide.Bits >= 32
	case tir.IsFloat(t):
		return tir.IsFloat(wide) && (wide == t || wide.Bits > t.Bits)
	case tir.IsFloat(wide):
		return wide.Bits >= 32 && int(t.Bits) <= mantissa(wide)
	case tir.IsSigned(t) == tir.IsSigned(wide):
		return wide.Bits >= t.Bits
	}
	return tir.IsSigned(wide) && wide.Bits > t.Bits
}

// mantissa returns how many bits an integer may have that is exact.
func mantissa(t tir.Type) int {
	if t.Bits == 64 {
		return 53
	}
	return 24
}

// twice replaces operators that undo themselves, or that have no effect the second time.
func twice(e *edit) *graph.Value {
	name := e.n.Op.Name
	inner := e.from(e.in(0), name)
	if inner == nil {
		return nil
	}
	switch name {
	case "neg", "not", "bitwise_not":
		return inner.Inputs[0]
	case "relu", "abs", "ceil", "floor", "round", "sign":
		return inner.Outputs[0]
	}
	return nil
}

// neutral replaces an arithmetic operator with an operand that has no effect.
func neutral(e *edit) *graph.Value {
	if len(e.n.Inputs) != 2 || e.in(0) == nil || e.in(1) == nil || e.in(0).DType != e.n.Outputs[0].DType {
		return nil
	}
	for k := range 2 {
		c, ok := uniform(e.in(1 - k))
		if !ok || k == 1 && !e.is("mul", "add", "sum") {
			continue
		}
		positive := !math.Signbit(c)
		switch x := e.in(k); {
		case e.is("mul", "div") && c == 1, e.is("pow") && c == 1 && e.in(1).DType == x.DType,
			e.is("add", "sum") && c == 0 && (!isFloat(x) || !positive), // -0 + 0 is 0
			e.is("sub") && c == 0 && (!isFloat(x) || positive):
			return x // if the other operand does not make it larger
		}
	}
	return nil
}

// views joins operators that only change the shape.
func views(e *edit) *graph.Value {
	if !e.n.Op.View {
		return nil
	}
	out := e.n.Outputs[0]
	if e.in(0).Replaces(out) {
		return e.in(0)
	}
	inner := e.in(0).Node
	if inner == nil || !inner.Op.View || inner.Function() != e.f || e.in(0).AsConst() != nil {
		return nil
	}
	x := inner.Inputs[0]
	if x.Replaces(out) {
		return x
	}
	shape, ok := out.StaticShape()
	if !ok {
		return nil
	}
	return e.reshaped(x, shape...)
}

// permutation returns the order of the axes of a transpose.
func permutation(n *graph.Node) []int64 {
	if perm := n.Attr("perm").([]int64); perm != nil {
		out := make([]int64, len(perm))
		for d, p := range perm {
			if out[d] = p; p < 0 {
				out[d] += int64(len(perm))
			}
		}
		return out
	}
	rank := len(n.Inputs[0].Shape)
	out := make([]int64, rank)
	for d := range out {
		out[d] = int64(rank - 1 - d)
	}
	return out
}

// transposes removes a transpose without effect, and joins two. One that only moves axes of size 1 becomes a reshape.
func transposes(e *edit) *graph.Value {
	if !e.is("transpose") {
		return nil
	}
	perm, x := permutation(e.n), e.in(0)
	if inner := e.from(x, "transpose"); inner != nil {
		first := permutation(inner)
		for d, p := range perm {
			perm[d] = first[p]
		}
		return e.permuted(inner.Inputs[0], perm)
	}
	last, moved := int64(-1), false
	for _, p := range perm {
		if n, ok := tir.IntValue(x.Shape[p]); ok && n == 1 {
			continue
		}
		moved = moved || p < last
		last = p
	}
	if shape, ok := e.n.Outputs[0].StaticShape(); ok && !moved {
		return e.reshaped(x, shape...)
	}
	return e.permuted(x, perm)
}

// permuted adds a transpose, unless it has no effect or the node is that transpose.
func (e *edit) permuted(x *graph.Value, perm []int64) *graph.Value {
	same := true
	for d, p := range perm {
		same = same && p == int64(d)
	}
	if same {
		return x
	}
	if e.is("transpose") && x == e.in(0) {
		return nil
	}
	return e.add("transpose", graph.Attrs{"perm": perm}, x)
}
