package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// AttentionAttrs holds the options of Attention.
type AttentionAttrs struct {
	Causal bool       // query i sees the keys 0 to i
	Mask   *te.Tensor // nil: none
	Scale  float64    // the factor of the scores; 0: 1/√d
	Chunk  int        // keys whose scores are kept at a time
	First  tir.Expr   // with Causal: the number of keys before that of query 0; nil: 0
	Cap    float64    // scores s become Cap·tanh(s/Cap); 0: they stay as they are
}

// AttentionOption is an option of Attention.
type AttentionOption func(*AttentionAttrs)

// Causal lets query i see the keys 0 to i only.
func Causal() AttentionOption { return func(a *AttentionAttrs) { a.Causal = true } }

// CausalFrom lets query i see the keys 0 to first + i only: the first ones are those of earlier queries.
func CausalFrom(first tir.Expr) AttentionOption {
	return func(a *AttentionAttrs) { a.Causal, a.First = true, first }
}

// ScoreCap limits the scaled scores s to the range from -limit to limit: they become limit·tanh(s/limit), before a mask
// is added.
func ScoreCap(limit float64) AttentionOption { return func(a *AttentionAttrs) { a.Cap = limit } }

// Mask restricts the keys that a query sees. mask is broadcast to [..., n, m]: a bool, false for keys that are not
// seen; or of floats, which are added to the scores.
func Mask(mask *te.Tensor) AttentionOption { return func(a *AttentionAttrs) { a.Mask = mask } }

// ScoreScale multiplies the scores by a factor instead of 1/√d.
func ScoreScale(factor float64) AttentionOption { return func(a *AttentionAttrs) { a.Scale = factor } }

// KeyChunk computes the scores of n keys at a time, 32 by default.
func KeyChunk(n int) AttentionOption { return func(a *AttentionAttrs) { a.Chunk = n } }

// Attention is softmax(q·kᵀ·scale + mask)·v over the keys, for q of shape [..., n, d], k of [..., m, d] and v of
// [..., m, e]; the result has shape [..., n, e]. Leading dimensions are batches and heads, which are broadcast as by
// Zip: one head of k and v may serve several of q. If q has a multiple of the heads of k and v, the dimension before
// the last two, then as many adjacent heads of q share one of k and v. All operands have one type of floats; 16-bit
// floats are computed in float32. A query that sees no key gives zeros.
//
// The softmax is computed in one pass over chunks of keys: a chunk gives the greatest score, the sum of the
// exponentials relative to it, and their products with v, and chunks are combined by rescaling. Schedules keep the
// scores of one chunk only.
func Attention(q, k, v *te.Tensor, name string, options ...AttentionOption) *te.Tensor {
	attrs := &AttentionAttrs{Chunk: 32}
	for _, o := range options {
		if o == nil {
			return failed(name, "an option is nil")
		}
		o(attrs)
	}
	a, bad := newAttention(q, k, v, name, attrs)
	if bad != nil {
		return bad
	}
	scores := a.scores()
	shown := a.shown(scores)
	top, weights, sums, products := a.chunk(shown)
	all := a.combined(top, sums, products)
	t := q.ProducerDType()
	out := te.Compute(a.shape(a.n, a.e), name, func(i ...tir.Expr) tir.Expr {
		sum := all[1].At(i...)
		none := tir.EQ(sum, tir.Const(a.work, 0))
		return castTo(t, tir.NewSelect(none, tir.Const(a.work, 0), tir.Div(all[2].At(i...),
			tir.NewSelect(none, tir.Const(a.work, 1), sum))))
	})
	inputs := []*te.Tensor{q, k, v}
	if attrs.Mask != nil {
		inputs = append(inputs, attrs.Mask)
	}
	return by(out, &Operator{Kind: "attention", Inputs: inputs, Attrs: attrs,
		Parts: []*te.Tensor{scores, shown, top, weights, sums, products, all[0]}})
}

// attention is the state of Attention. The indices of its tensors are those of the batches, the query, then the chunk
// and the key within it.
type attention struct {
	q, k, v    *te.Tensor
	name       string
	attrs      *AttentionAttrs
	batch      []tir.Expr
	n, m, d, e tir.Expr
	chunks     tir.Expr
	size       tir.Expr // of a chunk
	even       bool     // chunks divide the keys
	work       tir.Type
	least      tir.Expr             // less than every score that is seen
	heads      map[*te.Tensor]int64 // adjacent heads of q that share one of k or v, if more than one
}

func newAttention(q, k, v *te.Tensor, name string, attrs *AttentionAttrs) (*attention, *te.Tensor) {
	if bad := check(name, -1, q, k, v); bad != nil {
		return nil, bad
	}
	for _, t := range []*te.Tensor{q, k, v} {
		if r := len(t.ProducerShape()); r < 2 {
			return nil, failed(name, "tensor %s has %d dimensions: want 2 or more", t.ProducerName(), r)
		}
	}
	if bad := floats.of(name, q, k, v); bad != nil {
		return nil, bad
	}
	if bad := sameType(name, q, k, v); bad != nil {
		return nil, bad
	}
	sizes := func(t *te.Tensor) (x, y tir.Expr) {
		s := t.ProducerShape()
		return s[len(s)-2], s[len(s)-1]
	}
	a := &attention{q: q, k: k, v: v, name: name, attrs: attrs, work: workType(q.ProducerDType())}
	a.n, a.d = sizes(q)
	rows, depth := sizes(k)
	if !arith.ProveEqual(a.d, depth) {
		return nil, failed(name, "the queries in tensor %s have %s elements, and the keys in tensor %s have %s: want equal "+
			"numbers", q.ProducerName(), text.Print(a.d), k.ProducerName(), text.Print(depth))
	}
	a.m, a.e = sizes(v)
	if !arith.ProveEqual(a.m, rows) {
		return nil, failed(name, "there are %s keys in tensor %s, and %s values in tensor %s: want equal numbers",
			text.Print(rows), k.ProducerName(), text.Print(a.m), v.ProducerName())
	}
	if attrs.Chunk < 1 || attrs.Chunk > 1<<16 {
		return nil, failed(name, "a chunk of %d keys: want 1 to 65536", attrs.Chunk)
	}
	if math.IsNaN(attrs.Scale) || math.IsInf(attrs.Scale, 0) {
		return nil, failed(name, "the scale is %v: want a number", attrs.Scale)
	}
	if !(attrs.Cap >= 0) || math.IsInf(attrs.Cap, 0) {
		return nil, failed(name, "the limit of the scores is %v: want 0, for none, or a positive number", attrs.Cap)
	}
	chunk := int64(attrs.Chunk)
	a.even = false
	if c, ok := a.m.(*tir.IntImm); ok {
		chunk = max(1, min(chunk, c.Value))
		a.even = c.Value%chunk == 0
	}
	a.size = tir.IntConst(a.m.DType(), chunk)
	a.chunks = simplified(tir.FloorDiv(tir.Add(a.m, tir.IntConst(a.m.DType(), chunk-1)), a.size))
	a.least = tir.Const(a.work, -math.MaxFloat32)
	if a.work == tir.Float64 {
		a.least = tir.Const(a.work, -math.MaxFloat64)
	}
	var bad *te.Tensor
	leading := func(t *te.Tensor) *te.Tensor {
		s := t.ProducerShape()
		s = append([]tir.Expr{}, s[:len(s)-2]...)
		if a.heads[t] > 1 {
			s[len(s)-1] = like(s[len(s)-1], 1)
		}
		return te.Placeholder(s, t.ProducerDType(), t.ProducerName())
	}
	a.shareHeads()
	list := []*te.Tensor{leading(q), leading(k), leading(v)}
	if attrs.Mask != nil {
		if bad = a.checkMask(); bad != nil {
			return nil, bad
		}
		if len(attrs.Mask.ProducerShape()) > 2 {
			list = append(list, leading(attrs.Mask))
		}
	}
	a.batch, bad = broadcast(name, list...)
	return a, bad
}

// shareHeads finds the heads of k and v that serve several of q.
func (a *attention) shareHeads() {
	a.heads = map[*te.Tensor]int64{}
	count := func(t *te.Tensor) int64 {
		if s := t.ProducerShape(); len(s) > 2 {
			if n, ok := constSize(s[len(s)-3]); ok {
				return n
			}
		}
		return 1
	}
	for _, t := range []*te.Tensor{a.k, a.v} {
		if all, own := count(a.q), count(t); own > 1 && all > own && all%own == 0 {
			a.heads[t] = all / own
		}
	}
}

// checkMask returns an error if the mask cannot be broadcast to the scores.
func (a *attention) checkMask() *te.Tensor {
	mask := a.attrs.Mask
	if bad := check(a.name, -1, mask); bad != nil {
		return bad
	}
	if t := mask.ProducerDType(); !tir.IsBool(t) && !floats.has(t) {
		return failed(a.name, "mask %s has type %s: want bool, or a type of floats", mask.ProducerName(), t)
	}
	s := mask.ProducerShape()
	for i, want := range []tir.Expr{a.m, a.n} {
		d := len(s) - 1 - i
		if d < 0 {
			break
		}
		if one, ok := s[d].(*tir.IntImm); (!ok || one.Value != 1) && !arith.ProveEqual(s[d], want) {
			return failed(a.name, "dimension %d of mask %s is %s: want %s or 1", d, mask.ProducerName(), text.Print(s[d]),
				text.Print(want))
		}
	}
	return nil
}

// shape appends sizes to those of the batches.
func (a *attention) shape(sizes ...tir.Expr) []tir.Expr {
	return append(append([]tir.Expr{}, a.batch...), sizes...)
}

// at reads an operand at indices of the batches and of its last two dimensions.
func (a *attention) at(t *te.Tensor, batch []tir.Expr, x, y tir.Expr) tir.Expr {
	s := t.ProducerShape()
	at := pickAt(s[:len(s)-2], batch)
	if n := a.heads[t]; n > 1 {
		head := batch[len(batch)-1]
		at[len(at)-1] = tir.FloorDiv(head, tir.IntConst(head.DType(), n))
	}
	return castTo(a.work, t.At(append(at, x, y)...))
}

// key returns the key at a position within a chunk, and whether there is one; nil if there always is.
func (a *attention) key(chunk, i tir.Expr) (key, exists tir.Expr) {
	key = tir.Add(tir.Mul(chunk, a.size), i)
	if !a.even {
		exists = tir.LT(key, a.m)
	}
	return key, exists
}

// onlyIf is e, or 0 where the condition does not hold; e is not evaluated there.
func (a *attention) onlyIf(exists, e tir.Expr) tir.Expr {
	if exists == nil {
		return e
	}
	return tir.Intrin("if_then_else", exists, e, tir.Const(a.work, 0))
}

// scores are the products of queries and keys.
func (a *attention) scores() *te.Tensor {
	b := len(a.batch)
	k := reduceAxis(a.d, "k")
	return te.Compute(a.shape(a.n, a.chunks, a.size), a.name+".scores", func(i ...tir.Expr) tir.Expr {
		key, exists := a.key(i[b+1], i[b+2])
		return te.Sum(tir.Mul(a.at(a.q, i[:b], i[b], k.Var), a.onlyIf(exists, a.at(a.k, i[:b], key, k.Var))), k)
	})
}

// shown are the scaled scores, -inf for keys that a query does not see.
func (a *attention) shown(scores *te.Tensor) *te.Tensor {
	b := len(a.batch)
	scale := tir.Const(a.work, a.attrs.Scale)
	if a.attrs.Scale == 0 {
		scale = tir.Intrin("rsqrt", tir.NewCast(a.work, a.d))
		if d, ok := a.d.(*tir.IntImm); ok {
			scale = tir.Const(a.work, 1/math.Sqrt(math.Max(1, float64(d.Value))))
		}
	}
	return te.Compute(scores.ProducerShape(), a.name+".shown", func(i ...tir.Expr) tir.Expr {
		key, seen := a.key(i[b+1], i[b+2])
		also := func(c tir.Expr) {
			if seen == nil {
				seen = c
			} else {
				seen = tir.And(seen, c)
			}
		}
		score := tir.Mul(scores.At(i...), scale)
		if limit := a.attrs.Cap; limit != 0 {
			score = tir.Mul(tir.Const(a.work, limit), tir.Intrin("tanh", tir.Mul(score, tir.Const(a.work, 1/limit))))
		}
		exists := seen
		if a.attrs.Causal {
			last := castTo(tir.Int64, i[b])
			if a.attrs.First != nil {
				last = tir.Add(last, castTo(tir.Int64, a.attrs.First))
			}
			also(tir.LE(castTo(tir.Int64, key), last))
		}
		if m := a.attrs.Mask; m != nil {
			s := m.ProducerShape()
			full := append(append([]tir.Expr{}, i[:b]...), i[b], key)
			value := m.At(pickAt(s, full)...)
			if tir.IsBool(m.ProducerDType()) {
				if exists != nil {
					value = tir.Intrin("if_then_else", exists, value, tir.BoolConst(false))
				}
				also(value)
			} else {
				score = tir.Add(score, a.onlyIf(exists, castTo(a.work, value)))
			}
		}
		if seen == nil {
			return score
		}
		return tir.NewSelect(seen, score, tir.Const(a.work, math.Inf(-1)))
	})
}

// chunk computes, for each chunk of keys, the greatest score, the weights exp(score - greatest), their sum, and the
// weighted sum of the values.
func (a *attention) chunk(shown *te.Tensor) (top, weights, sums, products *te.Tensor) {
	b := len(a.batch)
	greatest := te.NewReducer(func(l, r []tir.Expr) []tir.Expr { return []tir.Expr{tir.Max(l[0], r[0])} },
		func([]tir.Type) []tir.Expr { return []tir.Expr{a.least} })
	j := reduceAxis(a.size, "j")
	perChunk := a.shape(a.n, a.chunks)
	top = te.Compute(perChunk, a.name+".top", func(i ...tir.Expr) tir.Expr {
		return greatest.Over([]tir.Expr{shown.At(append(i, j.Var)...)}, j)[0]
	})
	weights = te.Compute(shown.ProducerShape(), a.name+".weights", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("exp", tir.Sub(shown.At(i...), top.At(i[:b+2]...)))
	})
	j2 := reduceAxis(a.size, "j")
	sums = te.Compute(perChunk, a.name+".sums", func(i ...tir.Expr) tir.Expr {
		return te.Sum(weights.At(append(i, j2.Var)...), j2)
	})
	j3 := reduceAxis(a.size, "j")
	products = te.Compute(a.shape(a.n, a.chunks, a.e), a.name+".products", func(i ...tir.Expr) tir.Expr {
		key, exists := a.key(i[b+1], j3.Var)
		value := a.onlyIf(exists, a.at(a.v, i[:b], key, i[b+2]))
		return te.Sum(tir.Mul(weights.At(append(append([]tir.Expr{}, i[:b+2]...), j3.Var)...), value), j3)
	})
	return top, weights, sums, products
}

// combined is, over all chunks, the greatest score, the sum of the weights, and the weighted sum of the values, the
// last two relative to the first.
func (a *attention) combined(top, sums, products *te.Tensor) []*te.Tensor {
	b := len(a.batch)
	r := te.NewReducer(func(l, r []tir.Expr) []tir.Expr {
		greatest, one := tir.Max(l[0], r[0]), tir.Const(a.work, 1)
		less := tir.Intrin("exp", tir.Sub(tir.Min(l[0], r[0]), greatest)) // the factor of the side with the lesser score
		left := tir.NewSelect(tir.LT(l[0], r[0]), less, one)
		right := tir.NewSelect(tir.LT(l[0], r[0]), one, less)
		return []tir.Expr{greatest, tir.Add(tir.Mul(l[1], left), tir.Mul(r[1], right)),
			tir.Add(tir.Mul(l[2], left), tir.Mul(r[2], right))}
	}, func([]tir.Type) []tir.Expr { return []tir.Expr{a.least, tir.Const(a.work, 0), tir.Const(a.work, 0)} })
	c := reduceAxis(a.chunks, "chunk")
	return te.ComputeMulti(a.shape(a.n, a.e), a.name+".combined", func(i ...tir.Expr) []tir.Expr {
		at := append(append([]tir.Expr{}, i[:b+1]...), c.Var)
		return r.Over([]tir.Expr{top.At(at...), sums.At(at...), products.At(append(at, i[b+1])...)}, c)
	})
}
