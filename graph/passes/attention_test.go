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

// Attention becomes products on CPUs, unless they would have another meaning.
func TestAttention(t *testing.T) {
	for _, c := range []struct {
		name  string
		mask  []int32
		heads int32
		attrs graph.Attrs
		want  []string
	}{
		{"plain", nil, 2, nil, []string{"transpose k perm=[0,1,3,2] = v1", "matmul q v1 = v2", "mul v2 const[] = v3",
			"softmax v3 = v4", "matmul v4 v = y"}},
		{"mask and scale", []int32{4, 5}, 2, graph.Attrs{"scale": 0.25}, []string{"transpose k perm=[0,1,3,2] = v1",
			"matmul q v1 = v2", "mul v2 const[] = v3", "add v3 m = v4", "softmax v4 = v5", "matmul v5 v = y"}},
		{"mask of fewer keys", []int32{4, 3}, 2, nil, []string{"attention q k v m = y"}},
		{"causal", nil, 2, graph.Attrs{"is_causal": int64(1)}, []string{"attention q k v is_causal=1 = y"}},
		{"shared keys", nil, 1, nil, []string{"attention q k v = y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			in := []*graph.Value{b.input("q", -1, 2, 4, 3), b.input("k", -1, c.heads, 5, 3), b.input("v", -1, c.heads, 5, 6)}
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
