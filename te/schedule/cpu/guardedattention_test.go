//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tvmgo/internal/testing/errbound"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// attentionCases returns attention with fixed and with open sizes; the numbers of queries, keys and elements have every
// size up to 40 in some case.
func attentionCases(r *rand.Rand, all bool) (cases []guarded) {
	n, m := te.Var("n"), te.Var("m")
	var open [][3]int
	p, q := r.Perm(upTo), r.Perm(upTo)
	for i := range upTo {
		open = append(open, [3]int{1 + r.IntN(3), i + 1, p[i] + 1})
	}
	open = append(open, [][3]int{{2, 70, 300}, {1, 3, 1}, {1, 33, 128}, {1, 65, 129}, {2, 5, 0}, {2, 0, 5}, {0, 4, 4}}...)
	for _, kind := range []int{0, causalScores, maskedScores} {
		cases = append(cases, attentionCase("attention of any size", []tir.Expr{te.Var("h"), n, m}, 24, 20, kind, open))
	}
	fixed := [][5]int{{2, 128, 128, 64, 64}, {1, 70, 600, 16, 48}, {3, 33, 257, 8, 33}, {1, 4, 544, 32, 16},
		{1, 40, 300, 40, 80}}
	if all {
		for range 40 {
			fixed = append(fixed, [5]int{1 + r.IntN(3), 1 + r.IntN(100), 1 + r.IntN(700), 1 + r.IntN(upTo), 1 + r.IntN(100)})
		}
	}
	for i := range upTo {
		fixed = append(fixed, [5]int{1 + r.IntN(3), i + 1, p[i] + 1, q[i] + 1, 1 + r.IntN(upTo)})
	}
	for i, s := range fixed {
		sizes := []tir.Expr{tir.I32(int32(s[0])), tir.I32(int32(s[1])), tir.I32(int32(s[2]))}
		cases = append(cases, attentionCase("attention", sizes, s[3], s[4], i%5, [][3]int{{s[0], s[1], s[2]}}))
	}
	return cases
}

const (
	causalScores = 1 + iota
	maskedScores // by floats that are added
	transposedKeys
	transposedValues
)

// attentionCase is an attention of sizes heads, queries and keys; keys have d elements, and values e.
func attentionCase(name string, sizes []tir.Expr, d, e, kind int, calls [][3]int) guarded {
	last := func(n int) tir.Expr { return tir.I32(int32(n)) }
	h, n, m := sizes[0], sizes[1], sizes[2]
	q := te.Placeholder([]tir.Expr{h, n, last(d)}, tir.Float32, "Q")
	k := te.Placeholder([]tir.Expr{h, m, last(d)}, tir.Float32, "K")
	v := te.Placeholder([]tir.Expr{h, m, last(e)}, tir.Float32, "V")
	keys, values := k, v
	if kind == transposedKeys {
		k = te.Placeholder([]tir.Expr{h, last(d), m}, tir.Float32, "K")
		keys = ops.Transpose(k, "T", 0, 2, 1)
	}
	if kind == transposedValues {
		v = te.Placeholder([]tir.Expr{h, last(e), m}, tir.Float32, "V")
		values = ops.Transpose(v, "T", 0, 2, 1)
	}
	c := guarded{name: fmt.Sprintf("%s, kind %d", name, kind), ins: []*te.Tensor{q, k, v}, finite: []int{0, 1, 2}}
	var options []ops.AttentionOption
	switch kind {
	case causalScores:
		options = append(options, ops.Causal())
	case maskedScores:
		mask := te.Placeholder([]tir.Expr{n, m}, tir.Float32, "M")
		c.ins, options = append(c.ins, mask), append(options, ops.Mask(mask))
	}
	c.out = ops.Relu(ops.Attention(q, keys, values, "A", options...), "R")
	for _, s := range calls {
		call := [][]int{{s[0], s[1], d}, {s[0], s[2], d}, {s[0], s[2], e}}
		if kind == transposedKeys {
			call[1] = []int{s[0], d, s[2]}
		}
		if kind == transposedValues {
			call[2] = []int{s[0], e, s[2]}
		}
		if kind == maskedScores {
			call = append(call, []int{s[1], s[2]})
		}
		c.calls = append(c.calls, append(call, []int{s[0], s[1], e}))
	}
	c.want = func(shapes [][]int, in [][]errbound.Number) (all []errbound.Number) {
		heads, n, m := shapes[0][0], shapes[0][1], shapes[1][1]
		if kind == transposedKeys {
			m = shapes[1][2]
		}
		scale := errbound.Exact(1 / math.Sqrt(float64(d)))[0]
		scale.Error = scale.Value * 0x1p-24
		for h := range heads {
			keys, values := in[1][h*m*d:(h+1)*m*d], in[2][h*m*e:(h+1)*m*e]
			if kind == transposedKeys {
				keys = transposed(keys, d, m)
			}
			if kind == transposedValues {
				values = transposed(values, e, m)
			}
			for i := range n {
				scores := make([]errbound.Number, m)
				for j := range m {
					scores[j] = f32.Mul(f32.Dot(in[0][(h*n+i)*d:(h*n+i+1)*d], keys[j*d:(j+1)*d]), scale)
					switch {
					case kind == causalScores && j > i:
						scores[j] = errbound.Exact(math.Inf(-1))[0]
					case kind == maskedScores:
						scores[j] = f32.Add(scores[j], in[3][i*m+j])
					}
				}
				all = append(all, weighted(scores, values, e)...)
			}
		}
		return all
	}
	return c
}

// weighted returns max(softmax(scores)·values, 0). The exponentials of chunks are rescaled once for each chunk, which
// adds the error of an exponential and of two products.
func weighted(scores, values []errbound.Number, e int) []errbound.Number {
	top := greatestOf(scores) // NaN if one is
	for _, s := range scores {
		top.Error = max(top.Error, s.Error)
	}
	weights := make([]errbound.Number, len(scores))
	for j, s := range scores {
		if math.IsInf(s.Value, -1) {
			continue // exp(-inf) is exactly 0
		}
		weights[j] = f32.Exp(f32.Sub(s, top))
		for range (len(scores) + 63) / 64 {
			weights[j] = f32.Mul(weights[j], f32.Exp(errbound.Number{Error: top.Error}))
		}
	}
	sum := f32.Sum(weights)
	out := make([]errbound.Number, e)
	column := make([]errbound.Number, len(scores))
	for c := range out {
		for j := range column {
			column[j] = values[j*e+c]
		}
		if sum.Value != 0 {
			out[c] = f32.Div(f32.Dot(weights, column), sum)
		}
		out[c] = relu(out[c])
	}
	return out
}
