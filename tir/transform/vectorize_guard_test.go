package transform_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// guards are conditions of a store to element i of 16, for i = 4*o + l with l in the lanes of a vector. vectors says
// whether full vectors are stored as such.
var guards = []struct {
	cond    string
	vectors bool
}{
	{"likely(o * 4 + l < n)", true},
	{"likely(o * 4 + l <= n)", true},
	{"likely(n > o * 4 + l)", true},
	{"likely(o * 4 + l >= m)", true},
	{"likely(m <= o * 4 + l)", true},
	{"likely(o * 4 + l >= m) && likely(o * 4 + l < n)", true},
	{"o < n && likely(o * 4 + l < n)", true},
	{"likely(n - o * 4 - l > m)", true},
	{"likely(m < n - o * 4 - l)", true},
	{"likely(floormod(o * 4 + l, 3) < n)", false},
	{"likely(o * 4 + l != n)", false},
	{"likely(o * 4 + l < n) || likely(o * 4 + l >= m)", false},
}

// In kernels, bounds checks that differ between lanes choose between vectors and single iterations. The result is that
// of the serial loop for all bounds.
func TestVectorize_BoundsChecksOfKernels(t *testing.T) {
	for _, g := range guards {
		m := must.Get(text.Parse(fmt.Sprintf(`func f(p: handle, q: handle, n: int32, m: int32) {
  buffer a: int32[16], param p
  buffer b: int32[16], param q
  for o in range(4) {
    vectorized l in range(4) {
      if %s {
        b[o * 4 + l] = a[o * 4 + l] + 1
      }
    }
  }
}`, g.cond)))(t)
		host := must.Get(transform.Vectorize(m, nil))(t)
		require.Zero(t, vectorStores(host), "%s: a host's loops are divided by LoopPartition", g.cond)
		f := *m.Funcs[0]
		f.Attrs = map[string]any{transform.AttrConvention: int64(transform.ConventionKernel)}
		kernel := must.Get(transform.Vectorize(must.Get(tir.NewModule(&f))(t), nil))(t)
		require.NoError(t, tir.Check(kernel), g.cond)
		require.Equal(t, g.vectors, vectorStores(kernel) > 0, "%s: %s", g.cond, text.Print(kernel))
		for n := int32(-1); n <= 17; n++ {
			for _, low := range []int32{-1, 0, 1, 5, 8, 16} {
				var results [2][]float64
				for i, m := range []*tir.IRModule{m, kernel} {
					a := must.Get(tirrun.From(tir.Int32, make([]float64, 16), 16))(t)
					b := must.Get(tirrun.From(tir.Int32, make([]float64, 16), 16))(t)
					require.NoError(t, tirrun.Run(m, "f", a, b, n, low), g.cond)
					results[i] = must.Get(tirrun.Values[float64](b))(t)
				}
				require.Equal(t, results[0], results[1], "%s, n = %d, m = %d", g.cond, n, low)
			}
		}
	}
}

func vectorStores(m *tir.IRModule) (n int) {
	tir.Walk(m, func(node any) bool {
		if s, ok := node.(*tir.BufferStore); ok && s.Value.DType().Lanes > 1 {
			n++
		}
		return true
	})
	return n
}
