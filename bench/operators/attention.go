package operators

import (
	"fmt"
	"math"

	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Heads has the sizes of self-attention: q, k and v have the shape [heads, tokens, size].
type Heads struct {
	Heads, Tokens, Size int
	Causal              bool
	Type                tir.Type
}

// probeTokens is the length of the sequences of probes.
const probeTokens = 256

// Attentions returns the attention of well-known networks for a sequence, with and without a causal mask.
func Attentions() (list []*Operator) {
	gpt2, llama := Heads{12, 1024, 64, false, tir.Float32}, Heads{32, 2048, 128, false, tir.Float16}
	for _, c := range []struct {
		Heads
		name string
	}{{gpt2, "attention-f32-gpt2"}, {llama, "attention-f16-llama7b"}} {
		list = append(list, c.Operator(c.name))
		c.Causal = true
		list = append(list, c.Operator(c.name+"-causal"))
	}
	return list
}

// Operator returns the attention.
func (h Heads) Operator(name string) *Operator {
	n, d := h.Tokens, h.Size
	o := &Operator{Name: name, Type: h.Type, scale: [3]float64{4, 1, 1},
		Doc: fmt.Sprintf("attention of %d heads of %d tokens and size %d, %v", h.Heads, n, d, h.Type),
		build: func() ([]*te.Tensor, *te.Tensor) {
			q, k, v := input("q", h.Type, h.Heads, n, d), input("k", h.Type, h.Heads, n, d),
				input("v", h.Type, h.Heads, n, d)
			var options []ops.AttentionOption
			if h.Causal {
				options = append(options, ops.Causal())
			}
			return []*te.Tensor{q, k, v}, ops.Attention(q, k, v, "y", options...)
		},
	}
	pairs := float64(n) * float64(n) // of a query and a key
	if h.Causal {
		o.Doc += ", causal"
		pairs = float64(n) * float64(n+1) / 2
	}
	o.Ops = 4 * pairs * float64(d) * float64(h.Heads)
	o.Work = o.Ops
	if h.Tokens > probeTokens {
		small := Heads{h.Heads, probeTokens, h.Size, h.Causal, h.Type}
		o.probe = small.Operator(name + "-probe")
	}
	o.rounded = &rounded{span: d, cost: 4 * float64(n*d),
		compute: func(in func(input, at int) float64, from int, want, tolerance []float64) {
			query := from / d
			first, keys := query/n*n, n // of the head
			if h.Causal {
				keys = query%n + 1
			}
			q := make([]float64, d)
			for i := range q {
				q[i] = in(0, from+i)
			}
			total, largest, sizes := 0.0, 0.0, make([]float64, d)
			for key := first; key < first+keys; key++ {
				score, size := 0.0, 0.0
				for i := range q {
					p := q[i] * in(1, key*d+i)
					score += p
					size += math.Abs(p)
				}
				weight := math.Exp(score / math.Sqrt(float64(d)))
				largest = max(largest, size/math.Sqrt(float64(d)))
				total += weight
				for i := range want {
					v := in(2, key*d+i)
					want[i] += weight * v
					sizes[i] += weight * math.Abs(v)
				}
			}
			// relative errors of a weight: of the function and the sum of weights, of the score, of its type
			e := functionError(keys) + 4*math.Sqrt(float64(d))*0x1p-24*largest
			if h.Type != tir.Float32 {
				e += unit(h.Type)
			}
			for i := range want {
				want[i] /= total
				tolerance[i] = e*sizes[i]/total + Tolerance(h.Type, keys, sizes[i]/total, want[i])
			}
		}}
	return o
}
