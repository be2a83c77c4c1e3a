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

// attention replaces attention by products and a softmax on CPUs, where a kernel for each of them is faster than one
// for all.
func attention(ctx context.Context, f *graph.Function, t *target.Target, o Options) error {
	if t.DeviceType() != dlpack.CPU {
		return nil
	}
	return rules(divided)(ctx, f, t, o)
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
