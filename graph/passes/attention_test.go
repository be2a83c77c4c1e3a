//go:build cgo

package passes_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/graph/passes"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// Attention of few queries becomes products on CPUs, unless they would have another meaning; that of more stays.
func TestAttention(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int32 // queries
		mask  []int32
		heads int32
		attrs graph.Attrs
		want  []string
	}{
		{"many queries", 4, nil, 2, nil, []string{"attention q k v = y"}},
		{"plain", 3, nil, 2, nil, []string{"transpose k perm=[0,1,3,2] = v1", "matmul q v1 = v2", "mul v2 const[] = v3",
			"softmax v3 = v4", "matmul v4 v = y"}},
		{"mask and scale", 3, []int32{3, 5}, 2, graph.Attrs{"scale": 0.25}, []string{"transpose k perm=[0,1,3,2] = v1",
			"matmul q v1 = v2", "mul v2 const[] = v3", "add v3 m = v4", "softmax v4 = v5", "matmul v5 v = y"}},
		{"mask of fewer keys", 3, []int32{3, 3}, 2, nil, []string{"attention q k v m = y"}},
		{"causal", 3, nil, 2, graph.Attrs{"is_causal": int64(1)}, []string{"attention q k v is_causal=1 = y"}},
		{"shared keys", 3, nil, 1, nil, []string{"attention q k v = y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			in := []*graph.Value{b.input("q", -1, 2, c.n, 3), b.input("k", -1, c.heads, 5, 3), b.input("v", -1, c.heads, 5, 6)}
			if c.mask != nil {
				in = append(in, b.input("m", c.mask...))
			}
			n := &graph.Node{Op: graph.LookupOp("attention"), Attrs: c.attrs, Inputs: in, Outputs: []*graph.Value{{Name: "y"}}}
			b.Return(must.Get(b.AddNode(n, "attention"))(t)...)
			gpu := b.Clone()
			cuda := must.Get(target.New("cuda -arch=sm_80"))(t)
			require.NoError(t, passes.Run(context.Background(), gpu, cuda, passes.Options{}))
			require.Len(t, gpu.Nodes, 1)
			require.Equal(t, append(c.want, "return y"), changed(t, b.Function, "attention"))
		})
	}
}

// Products and a softmax become attention, and compute the same.
func TestAttention_OfProducts(t *testing.T) {
	perm := graph.Attrs{"perm": []int64{0, 2, 3, 1}}
	for _, c := range []struct {
		name  string
		build func(b *builder, scores *graph.Value) *graph.Value
		twice bool // the scores are a result, too
		want  []string
	}{
		{"plain", func(_ *builder, s *graph.Value) *graph.Value { return s }, false,
			[]string{"attention q v1 v scale=1 = y"}},
		{"scale and mask", func(b *builder, s *graph.Value) *graph.Value {
			return b.op("add", b.Params[3], b.op("div", s, b.scalar(4)))
		}, false, []string{"attention q v1 v m scale=0.25 = y"}},
		{"another function", func(b *builder, s *graph.Value) *graph.Value { return b.op("exp", s) }, false, nil},
		{"scores are read", func(_ *builder, s *graph.Value) *graph.Value { return s }, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			q, k, v := b.input("q", -1, 2, 4, 3), b.input("k", -1, 5, 2, 3), b.input("v", -1, 2, 5, 6)
			b.input("m", 4, 5)
			s := b.op("matmul", q, b.with("transpose", perm, k))
			y := b.op("matmul", b.op("softmax", c.build(b, s)), v)
			y.Name = "y"
			b.Return(y)
			if c.twice {
				b.Return(y, s)
			}
			want := run(t, b.Function, 2)
			for _, to := range []string{"opencl", "c"} {
				f := b.Clone()
				for _, name := range []string{"attention", "transposes", "dead"} {
					require.NoError(t, pass(t, name).Run(context.Background(), f, must.Get(target.New(to))(t), passes.Options{}))
				}
				equal(t, want, run(t, f, 2))
				lines := listing(f)
				if c.want == nil {
					require.NotContains(t, lines[len(lines)-2], "attention")
					continue
				}
				require.Equal(t, append([]string{"transpose k perm=[0,2,1,3] = v1"}, c.want...), lines[:len(lines)-1])
			}
		})
	}
}
