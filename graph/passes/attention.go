package passes

import (
	"context"
	"math"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// fewQueries is the number of queries from which a kernel for attention, which copies the keys, is faster on CPUs than
// one for each step.
const fewQueries = 4

// attention recognizes attention, which one kernel computes without storing the scores of all pairs. On CPUs it divides
// that of a few queries into products and a softmax.
func attention(ctx context.Context, f *graph.Function, t *target.Target, o Options) error {
	switch {
	case o.Portable:
		return nil
	case t.DeviceType() != dlpack.CPU:
		return rules(func(e *edit) *graph.Value { return attended(e, 0) })(ctx, f, t, o)
	}
	return rules(func(e *edit) *graph.Value {
		if e.is("attention") && fewer(e.in(0), fewQueries) {
			return divided(e)
		}
		return attended(e, fewQueries)
	})(ctx, f, t, o)
}

// fewer reports whether queries are known to be fewer than n.
func fewer(q *graph.Value, n int64) bool {
	if len(q.Shape) != 4 {
		return false
	}
	count, known := tir.IntValue(q.Shape[2])
	return known && count < n
}

// attended recognizes attention in four dimensions, with a scale and a mask that is added: the product of a softmax of
// products. It leaves that of fewer queries than least.
func attended(e *edit, least int64) *graph.Value {
	v := e.in(1)
	p := e.from(e.in(0), "softmax")
	if !e.is("matmul") || p == nil || !e.once(e.in(0)) || p.Attr("axis") != int64(-1) && p.Attr("axis") != int64(3) {
		return nil
	}
	scores := p.Inputs[0]
	if !e.once(scores) {
		return nil
	}
	if out := e.attentionOf(scores, v, nil, least); out != nil {
		return out
	}
	if n := e.from(scores, "add"); n != nil {
		for k := range 2 {
			if out := e.attentionOf(n.Inputs[k], v, n.Inputs[1-k], least); out != nil {
				return out
			}
		}
	}
	return nil
}

// attentionOf adds attention for scores that are a product of queries and transposed keys, perhaps times a constant;
// nil if they are something else.
func (e *edit) attentionOf(scores, v, mask *graph.Value, least int64) *graph.Value {
	s := e.product(scores)
	if len(s.factors) != 1 || s.c == 0 || !e.once(scores) {
		return nil
	}
	m := e.from(s.factors[0], "matmul")
	if m == nil || !e.once(s.factors[0]) {
		return nil
	}
	q, k := m.Inputs[0], m.Inputs[1]
	if fewer(q, least) {
		return nil
	}
	for _, x := range []*graph.Value{q, k, v} {
		if x.DType != tir.Float32 && x.DType != tir.Float16 || x.DType != q.DType || len(x.Shape) != 4 ||
			!arith.ProveEqual(x.Shape[0], q.Shape[0]) || !arith.ProveEqual(x.Shape[1], q.Shape[1]) {
			return nil
		}
	}
	in := []*graph.Value{q, e.add("transpose", graph.Attrs{"perm": []int64{0, 1, 3, 2}}, k), v}
	if mask != nil {
		if mask.DType != q.DType {
			return nil
		}
		in = append(in, mask)
	}
	return e.add("attention", graph.Attrs{"scale": s.c}, in...)
}

// divided computes the attention of as many heads of queries as of keys, in four dimensions.
func divided(e *edit) *graph.Value {
	if !e.is("attention") || len(e.n.Outputs) != 1 || e.n.Attr("is_causal") != int64(0) || e.n.Attr("softcap") != 0.0 ||
		operand(e.n, 4) != nil || operand(e.n, 5) != nil || operand(e.n, 6) != nil {
		return nil
	}
	q, k, v := e.in(0), e.in(1), e.in(2)
	for _, x := range []*graph.Value{q, k, v} {
		if x.DType != tir.Float32 || len(x.Shape) != 4 || !arith.ProveEqual(x.Shape[0], q.Shape[0]) ||
			!arith.ProveEqual(x.Shape[1], q.Shape[1]) {
			return nil
		}
	}
	scale := e.n.Attr("scale").(float64)
	if d, ok := tir.IntValue(q.Shape[3]); scale == 0 && ok {
		scale = 1 / math.Sqrt(float64(d))
	}
	scores := e.add("matmul", nil, q, e.add("transpose", graph.Attrs{"perm": []int64{0, 1, 3, 2}}, k))
	scores = e.add("mul", nil, scores, e.number(q.DType, scale))
	if mask := operand(e.n, 3); mask != nil {
		rank := len(mask.Shape)
		if mask.DType != q.DType || rank == 0 || !arith.ProveEqual(mask.Shape[rank-1], k.Shape[2]) {
			return nil
		}
		scores = e.add("add", nil, scores, mask)
	}
	return e.add("matmul", nil, e.add("softmax", nil, scores), v)
}
