package operators

import (
	"math"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// attention has the operands Q, K, V, mask, past key, past value, and the number of keys per batch that are no padding.
// Its results are the output, the present key and value, and the scores, in the stage that qk_matmul_output_mode names:
// 0 products, 1 after softcap, 2 after the mask, 3 probabilities.
func init() {
	register(&graph.Op{Name: "attention", In: [2]int{3, 7}, Out: [2]int{1, 4}, Compute: attention,
		Attrs: []graph.Attr{integer("is_causal", 0), integer("q_num_heads", 0), integer("kv_num_heads", 0),
			integer("softmax_precision", 0), float("scale", 0), float("softcap", 0), integer("qk_matmul_output_mode", 0)}})
}

// heads is an attention whose operands have the dimensions batch, head, position and feature.
type heads struct {
	*graph.Call
	q, k, v *te.Tensor
	repeat  int // heads of q for each head of k and v
	scale   float64
	past    tir.Expr // the number of positions before the first query
	work    tir.Type // of scores
}

func attention(c *graph.Call) []*te.Tensor {
	for _, i := range []int{4, 5} {
		if c.Has(i) && c.Rank(i) != 4 {
			c.Fail("operand %d has %d dimensions: want 4", i, c.Rank(i))
		}
	}
	h := &heads{Call: c, past: tir.I32(0), work: c.DType(0)}
	if isNarrow(h.work) {
		h.work = tir.Float32
	}
	h.q = splitHeads(c, 0, c.Int("q_num_heads"))
	h.k = splitHeads(c, 1, c.Int("kv_num_heads"))
	h.v = splitHeads(c, 2, c.Int("kv_num_heads"))
	if c.Has(4) {
		h.past = c.Shape(4)[2]
		h.k = ops.Concat(c.Name, 2, c.In(4), h.k)
	}
	if c.Has(5) {
		h.v = ops.Concat(c.Name, 2, c.In(5), h.v)
	}
	qHeads, kHeads := sizeOf(c, h.q, 1), sizeOf(c, h.k, 1)
	if kHeads == 0 || qHeads%kHeads != 0 {
		c.Fail("%d heads of queries are no multiple of %d heads of keys", qHeads, kHeads)
	}
	h.repeat = qHeads / kHeads
	if h.scale = c.Float("scale"); h.scale == 0 {
		h.scale = 1 / math.Sqrt(float64(sizeOf(c, h.q, 3)))
	}
	out, scores := h.compute()
	if one := h.fused(); one != nil {
		out = one
	}
	if c.Rank(0) == 3 {
		out = joinHeads(out, c.Name)
	}
	return []*te.Tensor{out, h.k, h.v, scores}
}

func sizeOf(c *graph.Call, t *te.Tensor, d int) int {
	n, ok := tir.IntValue(t.ProducerShape()[d])
	if !ok {
		c.Fail("the number of heads or features is not known when the model is compiled")
	}
	return int(n)
}

// splitHeads returns an operand as [batch, head, position, feature].
func splitHeads(c *graph.Call, i, n int) *te.Tensor {
	x, s := c.In(i), c.Shape(i)
	switch c.Rank(i) {
	case 4:
		return x
	case 3:
	default:
		c.Fail("operand %d has %d dimensions: want 3 or 4", i, c.Rank(i))
	}
	hidden, ok := tir.IntValue(s[2])
	if n <= 0 || !ok || int(hidden)%n != 0 {
		c.Fail("the features of operand %d are not divided by %d heads: set q_num_heads and kv_num_heads", i, n)
	}
	each := tir.I32(int32(int(hidden) / n))
	return te.Compute([]tir.Expr{s[0], tir.I32(int32(n)), s[1], each}, c.Name, func(i ...tir.Expr) tir.Expr {
		return x.At(i[0], i[2], tir.Add(tir.Mul(i[1], each), i[3]))
	})
}

// joinHeads reshapes [batch, head, position, feature] to [batch, position, features].
func joinHeads(x *te.Tensor, name string) *te.Tensor {
	s := x.ProducerShape()
	return te.Compute([]tir.Expr{s[0], s[2], simplify(tir.Mul(s[1], s[3]))}, name, func(i ...tir.Expr) tir.Expr {
		return x.At(i[0], tir.FloorDiv(i[2], s[3]), i[1], tir.FloorMod(i[2], s[3]))
	})
}

// fused computes the output alone, without the scores of all pairs; nil if ops.Attention has another meaning: keys that
// are padding, or a mask of other sizes.
func (h *heads) fused() *te.Tensor {
	options := []ops.AttentionOption{ops.ScoreScale(h.scale), ops.ScoreCap(max(0, h.Float("softcap")))}
	if h.Has(6) {
		return nil
	}
	if h.Has(3) {
		s := h.Shape(3)
		q, k := h.q.ProducerShape(), h.k.ProducerShape()
		for d, want := range map[int]tir.Expr{1: k[2], 2: q[2], 3: q[1], 4: q[0]} {
			if d > len(s) || d > 1 && isOne(s[len(s)-d]) {
				continue
			}
			if !arith.ProveEqual(s[len(s)-d], want) {
				return nil
			}
		}
		options = append(options, ops.Mask(h.In(3)))
	}
	if h.Flag("is_causal") {
		options = append(options, ops.CausalFrom(h.past))
	}
	if out := ops.Attention(h.q, h.k, h.v, h.Name, options...); out.Err() == nil {
		return out
	}
	return nil // operands of several types
}

func (h *heads) as(e tir.Expr) tir.Expr { return tir.NewCast(h.work, e) }

// compute returns the output and the scores.
func (h *heads) compute() (out, scores *te.Tensor) {
	qs, ks, vs := h.q.ProducerShape(), h.k.ProducerShape(), h.v.ProducerShape()
	group := tir.I32(int32(h.repeat))
	root := tir.Const(h.work, math.Sqrt(h.scale))
	f := te.ReduceAxis(tir.I32(0), qs[3], "f")
	products := te.Compute([]tir.Expr{qs[0], qs[1], qs[2], ks[2]}, h.Name, func(i ...tir.Expr) tir.Expr {
		a := tir.Mul(h.as(h.q.At(i[0], i[1], i[2], f.Var)), root)
		b := tir.Mul(h.as(h.k.At(i[0], simplify(tir.FloorDiv(i[1], group)), i[3], f.Var)), root)
		return te.Sum(tir.Mul(a, b), f)
	})
	capped := products
	if s := h.Float("softcap"); s > 0 {
		capped = ops.Map(products, h.Name, func(e tir.Expr) tir.Expr {
			return tir.Mul(tir.Intrin("tanh", tir.Div(e, of(e, s))), of(e, s))
		})
	}
	masked := te.Compute(capped.ProducerShape(), h.Name, func(i ...tir.Expr) tir.Expr {
		return h.mask(capped.At(i...), i)
	})
	weights := ops.Softmax(masked, h.Name, -1)
	j := te.ReduceAxis(tir.I32(0), ks[2], "j")
	t := h.DType(0)
	sum := te.Compute([]tir.Expr{qs[0], qs[1], qs[2], vs[3]}, h.Name, func(i ...tir.Expr) tir.Expr {
		v := h.v.At(i[0], simplify(tir.FloorDiv(i[1], group)), j.Var, i[3])
		return te.Sum(tir.Mul(weights.At(i[0], i[1], i[2], j.Var), h.as(v)), j)
	})
	stages := []*te.Tensor{products, capped, masked, weights}
	mode := h.Int("qk_matmul_output_mode")
	if mode < 0 || mode >= len(stages) {
		h.Fail("qk_matmul_output_mode is %d: want 0 to 3", mode)
	}
	return cast(sum, t, h.Name), cast(stages[mode], t, h.Name)
}

// mask adds the mask to a score.
func (h *heads) mask(score tir.Expr, i []tir.Expr) tir.Expr {
	hidden := tir.Const(h.work, math.Inf(-1))
	var seen []tir.Expr
	if h.Has(3) {
		m, s := h.In(3), h.Shape(3)
		at := make([]tir.Expr, len(s))
		for d := range s {
			if at[d] = i[4-len(s)+d]; isOne(s[d]) && d < len(s)-1 {
				at[d] = tir.I32(0)
			}
		}
		short := simplify(tir.LT(i[3], s[len(s)-1])) // a mask may have fewer keys: others are not seen
		at[len(s)-1] = tir.Max(tir.Min(i[3], tir.Sub(s[len(s)-1], tir.I32(1))), tir.I32(0))
		if tir.IsBool(m.ProducerDType()) {
			seen = append(seen, m.At(at...))
		} else {
			score = tir.Add(score, h.as(m.At(at...)))
		}
		seen = append(seen, short)
	}
	if h.Flag("is_causal") {
		seen = append(seen, tir.LE(i[3], tir.Add(i[2], h.past)))
	}
	if h.Has(6) {
		seen = append(seen, tir.LT(tir.NewCast(tir.Int64, i[3]), tir.NewCast(tir.Int64, h.In(6).At(i[0]))))
	}
	for _, s := range seen {
		score = tir.NewSelect(s, score, hidden)
	}
	return score
}

func init() {
	register(with("rotary_embedding", 3, 4, func(c *graph.Call) *te.Tensor {
		if n := c.Rank(1); n != c.Rank(2) || n != 2 && n != 3 {
			c.Fail("cos and sin have %d and %d dimensions: want 2 of each, or 3", n, c.Rank(2))
		}
		x := splitHeads(c, 0, c.Int("num_heads"))
		out := ops.RotaryEmbedding(x, c.In(1), c.In(2), c.In(3), c.Name, c.Int("rotary_embedding_dim"), c.Flag("interleaved"))
		if c.Rank(0) == 3 {
			return joinHeads(out, c.Name)
		}
		return out
	}, integer("num_heads", 0), integer("rotary_embedding_dim", 0), integer("interleaved", 0)))
}
