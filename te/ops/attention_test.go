//go:build cgo

package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/tir"
)

// attentionOf computes attention by its definition; seen is nil or says which keys a query sees, added what is added to
// a score.
func attentionOf(q, k, v *nd, scale float64, seen func(batch, i, j int) bool, added func(batch, i, j int) float64) *nd {
	r := len(q.shape)
	n, d, m, e := q.shape[r-2], q.shape[r-1], v.shape[len(v.shape)-2], v.shape[len(v.shape)-1]
	batches := count(q.shape[:r-2])
	shared := max(1, batches) / max(1, count(k.shape[:len(k.shape)-2]))
	out := &nd{q.t, append(append([]int{}, q.shape[:r-2]...), n, e), make([]float64, batches*n*e)}
	for b := range batches {
		for i := range n {
			scores := make([]float64, m)
			top := math.Inf(-1)
			for j := range m {
				for x := range d {
					scores[j] += q.v[(b*n+i)*d+x] * k.v[(b/shared*m+j)*d+x]
				}
				scores[j] *= scale
				if added != nil {
					scores[j] += added(b, i, j)
				}
				if seen != nil && !seen(b, i, j) {
					scores[j] = math.Inf(-1)
				}
				top = math.Max(top, scores[j])
			}
			sum := 0.0
			for j := range m {
				if scores[j] = math.Exp(scores[j] - top); math.IsInf(top, -1) {
					scores[j] = 0
				}
				sum += scores[j]
			}
			for c := range e {
				x := 0.0
				for j := range m {
					x += scores[j] * v.v[(b/shared*m+j)*e+c]
				}
				if sum > 0 {
					x /= sum
				}
				out.v[(b*n+i)*e+c] = rounded16(q.t, x)
			}
		}
	}
	return out
}

var _ = valueCases("attention", attentionCases)

func attentionCases() []opCase {
	var cases []opCase
	add := func(what string, ins []*nd, want *nd, options func(x []*te.Tensor) []AttentionOption) {
		cases = append(cases, opCase{name: fmt.Sprintf("attention %s of %s%v", what, want.t, ins[0].shape), ins: ins,
			tol: 8 * tolerance(want.t), want: want, make: func(x []*te.Tensor) *te.Tensor {
				return Attention(x[0], x[1], x[2], "Y", options(x)...)
			}})
	}
	none := func([]*te.Tensor) []AttentionOption { return nil }
	chunk := func(n int, more ...AttentionOption) func([]*te.Tensor) []AttentionOption {
		return func([]*te.Tensor) []AttentionOption { return append(more, KeyChunk(n)) }
	}
	causal := func(_, i, j int) bool { return j <= i }
	for _, dt := range floatTypes {
		q, k, v := sample(dt, 2, 5, 8), sample(dt, 2, 7, 8), sample(dt, 2, 7, 3)
		scale := 1 / math.Sqrt(8)
		add("", []*nd{q, k, v}, attentionOf(q, k, v, scale, nil, nil), none)
		add("in chunks", []*nd{q, k, v}, attentionOf(q, k, v, scale, nil, nil), chunk(3))
		add("causal", []*nd{q, k, v}, attentionOf(q, k, v, 0.5, causal, nil), chunk(2, Causal(), ScoreScale(0.5)))
		mask := filled(tir.Bool, []int{5, 7}, func(i int) float64 { return float64(i % 3 % 2) })
		for j := range 7 {
			mask.v[2*7+j] = 0 // this query sees nothing
		}
		add("masked", []*nd{q, k, v, mask}, attentionOf(q, k, v, scale, func(_, i, j int) bool { return mask.v[i*7+j] != 0 },
			nil), func(x []*te.Tensor) []AttentionOption { return []AttentionOption{Mask(x[3]), KeyChunk(4)} })
		bias := sample(dt, 2, 1, 7)
		add("with a bias", []*nd{q, k, v, bias}, attentionOf(q, k, v, scale, nil,
			func(b, _, j int) float64 { return bias.v[b*7+j] }),
			func(x []*te.Tensor) []AttentionOption { return []AttentionOption{Mask(x[3]), KeyChunk(5)} })
	}
	// heads that share keys and values; many keys; scores that overflow exp; one query; no batch; no keys, no queries
	q, k, v := sample(tir.Float32, 2, 4, 6, 4), sample(tir.Float32, 2, 1, 9, 4), sample(tir.Float32, 2, 1, 9, 5)
	add("of shared heads", []*nd{q, k, v}, attentionOf(q, k, v, 0.5, causal, nil), chunk(4, Causal()))
	q, k, v = sample(tir.Float32, 2, 6, 5, 4), sample(tir.Float32, 2, 3, 9, 4), sample(tir.Float32, 2, 3, 9, 5)
	add("of grouped heads", []*nd{q, k, v}, attentionOf(q, k, v, 0.5, func(_, i, j int) bool { return j <= i+4 }, nil),
		chunk(4, CausalFrom(tir.I32(4))))
	bounded := alongAxis(attentionOf(q, k, v, 0, nil, nil), tir.Float32, 3, func(row []float64) []float64 { return row })
	eachIndex(q.shape[:3], func(i []int) {
		weights, sum := make([]float64, 9), 0.0
		for j := range weights {
			s := 0.0
			for x := range 4 {
				s += q.at(i[0], i[1], i[2], x) * k.at(i[0], i[1]/2, j, x)
			}
			weights[j] = math.Exp(2 * math.Tanh(s/4))
			sum += weights[j]
		}
		for e := range 5 {
			r := 0.0
			for j := range weights {
				r += weights[j] * v.at(i[0], i[1]/2, j, e) / sum
			}
			bounded.v[bounded.position([]int{i[0], i[1], i[2], e})] = r
		}
	})
	add("of limited scores", []*nd{q, k, v}, bounded, chunk(4, ScoreCap(2)))
	q, k, v = sample(tir.Float32, 40, 16), sample(tir.Float32, 70, 16), sample(tir.Float32, 70, 24)
	add("", []*nd{q, k, v}, attentionOf(q, k, v, 0.25, nil, nil), none)
	add("with large scores", []*nd{q, k, v}, attentionOf(q, k, v, 300, nil, nil), chunk(16, ScoreScale(300)))
	q, k, v = sample(tir.Float32, 1, 64), sample(tir.Float32, 33, 64), sample(tir.Float32, 33, 64)
	add("of one query", []*nd{q, k, v}, attentionOf(q, k, v, 0.125, nil, nil), none)
	for _, e := range []int{33, 64, 80, 132, 256} { // one or several vectors of a thread, also with a rest
		for _, dt := range []tir.Type{tir.Float32, tir.Float16} {
			q, k, v = sample(dt, 2, 9, 8), sample(dt, 2, 11, 8), sample(dt, 2, 11, e)
			add(fmt.Sprintf("with values of %d elements", e), []*nd{q, k, v},
				attentionOf(q, k, v, 1/math.Sqrt(8), causal, nil), chunk(4, Causal()))
		}
	}
	q, k, v = sample(tir.Float32, 3, 2), sample(tir.Float32, 0, 2), sample(tir.Float32, 0, 2)
	add("without keys", []*nd{q, k, v}, attentionOf(q, k, v, 1, nil, nil), none)
	q, k, v = sample(tir.Float32, 0, 2), sample(tir.Float32, 3, 2), sample(tir.Float32, 3, 2)
	add("without queries", []*nd{q, k, v}, attentionOf(q, k, v, 1, nil, nil), none)
	return cases
}

// TestAttention_Errors names the tensor and the sizes.
func TestAttention_Errors(t *testing.T) {
	q, k, v := placeholder("q", 5, 4), placeholder("k", 7, 4), placeholder("v", 7, 3)
	for want, x := range map[string]*te.Tensor{
		"the queries in tensor q have 4 elements, and the keys in tensor v have 3": Attention(q, v, v, "Y"),
		"there are 7 keys in tensor k, and 5 values in tensor q":                   Attention(q, k, q, "Y"),
		"tensor x has 1 dimensions: want 2 or more":                                Attention(placeholder("x", 4), k, v, "Y"),
		"an option is nil":                        Attention(q, k, v, "Y", nil),
		"a chunk of 0 keys: want 1 to 65536":      Attention(q, k, v, "Y", KeyChunk(0)),
		"the scale is NaN":                        Attention(q, k, v, "Y", ScoreScale(math.NaN())),
		"the limit of the scores is -1: want 0":   Attention(q, k, v, "Y", ScoreCap(-1)),
		"dimension 1 of mask b is 3: want 7 or 1": Attention(q, k, v, "Y", Mask(placeholder("b", 5, 3))),
		"mask b has type int32: want bool": Attention(q, k, v, "Y", Mask(te.Placeholder(te.Dims(5, 7), tir.Int32,
			"b"))),
		"tensor k has type float16":        Attention(q, te.Placeholder(te.Dims(7, 4), tir.Float16, "k"), v, "Y"),
		"operand 0: te: the tensor is nil": Attention(nil, k, v, "Y"),
	} {
		require.ErrorContains(t, x.Err(), want)
	}
}

var _ = valueCases("rotary", rotaryCases)

func rotaryCases() (cases []opCase) {
	for n, dt := range floatTypes {
		for mode := range 8 {
			dims, interleaved, selected := []int{8, 4}[mode&1], mode&2 > 0, mode&4 > 0
			x := sample(dt, 2, 3, 5, 8)
			shape := []int{2, 5, dims / 2}
			if selected {
				shape = []int{7, dims / 2}
			}
			cos := filled(dt, shape, func(i int) float64 { return math.Cos(float64(i)) })
			sin := filled(dt, shape, func(i int) float64 { return math.Sin(float64(i)) })
			positions := filled(tir.Int64, []int{2, 5}, func(i int) float64 { return float64((i*3+n)%9 - 1) })
			ins := []*nd{x, cos, sin}
			if selected {
				ins = append(ins, positions)
			}
			want := each(dt, x.shape, func(i []int) float64 {
				j, own := i[3], x.at(i...)
				if j >= dims {
					return own
				}
				pair, partner, sign := j%(dims/2), (j+dims/2)%dims, 1.0
				if interleaved {
					pair, partner = j/2, j^1
				}
				if partner > j {
					sign = -1
				}
				at := []int{i[0], i[2], pair}
				if selected {
					at = []int{min(max(int(positions.at(i[0], i[2])), 0), 6), pair}
				}
				return rounded16(dt, own*cos.at(at...)+sign*x.at(i[0], i[1], i[2], partner)*sin.at(at...))
			})
			cases = append(cases, opCase{name: fmt.Sprintf("rotary %d of %s", mode, dt), ins: ins, want: want,
				tol: 2 * tolerance(dt), make: func(x []*te.Tensor) *te.Tensor {
					var p *te.Tensor
					if selected {
						p = x[3]
					}
					return RotaryEmbedding(x[0], x[1], x[2], p, "Y", dims%8, interleaved)
				}})
		}
	}
	return cases
}
