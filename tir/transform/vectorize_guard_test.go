package transform_test

import (
	"fmt"
	"strings"
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

// guardedStatements are statements of element i of 16, for i = 4*o + l with l in the lanes of a vector. whole says that
// a bound that is a multiple of 4 leaves no code for single iterations, edge that single iterations remain.
var guardedStatements = []struct {
	body        string
	whole, edge bool
}{
	{"if likely(i < n * 4) { b[i] = a[i] + 1 }", true, false},
	{"if n * 4 > i { b[i] = a[i] + 1 }", true, false},
	{"if i >= n * 4 { b[i] = a[i] + 1 }", true, false},
	{"if i >= n * 4 && i < m * 4 { b[i] = a[i] + 1 }", true, false},
	{"if i > n * 4 { b[i] = a[i] + 1 }", false, true},
	{"if i < n * 4 && i < m { b[i] = a[i] + 1 }", false, true},
	{"if i < n * 2 { b[i] = a[i] + 1 }", false, true},
	{"if i < 6 { b[i] = a[i] + 1 }", false, true},
	{"if 2 * (o * 4 + l) < n * 4 { b[i] = a[i] + 1 }", false, true},
	{"b[i] = if_then_else(i < n, a[i], 7)", false, true},
	{"b[i] = if_then_else(i < n * 4, a[i], 7)", true, false},
	{"b[i] = if_then_else(i >= n && i < m, a[i - n], 7) + 1", false, true},
	{"b[i] = if_then_else(i < n, 7, a[i])", false, true},
	{"b[15 - i] = if_then_else(i < n, a[15 - i], 7)", false, true},
	{"if i < n { if o < m { b[i] = a[i] + 1 } }", false, true},
	{"for k in range(2) { if i < n { b[i] = a[i] + k } }", false, true},
}

// In kernels, statements below bounds checks are vectors where the check holds in all lanes. Lanes that always lie on
// the same side of a bound need no other code. Loads that a check protects never run without it.
func TestVectorize_GuardedVectors(t *testing.T) {
	for _, g := range guardedStatements {
		m := must.Get(text.Parse(fmt.Sprintf(`func f(p: handle, q: handle, n: int32, m: int32) {
  buffer a: int32[16], param p
  buffer b: int32[20], param q
  for o in range(4) {
    vectorized l in range(4) {
      %s
    }
  }
}`, strings.NewReplacer("15 - i", "15 - o * 4 - l", "i <", "o * 4 + l <", "i >", "o * 4 + l >", "[i", "[o * 4 + l",
			"> i", "> o * 4 + l").Replace(g.body))))(t)
		f := *m.Funcs[0]
		f.Attrs = map[string]any{transform.AttrConvention: int64(transform.ConventionKernel)}
		kernel := must.Get(transform.Vectorize(must.Get(tir.NewModule(&f))(t), nil))(t)
		require.NoError(t, tir.Check(kernel), g.body)
		require.NotZero(t, vectorStores(kernel), "%s: %s", g.body, text.Print(kernel))
		require.Equal(t, g.edge, scalarStores(kernel) > 0, "%s: %s", g.body, text.Print(kernel))
		require.NotEqual(t, g.whole, g.edge)
		for n := int32(-1); n <= 17; n++ {
			for _, high := range []int32{-1, 0, 1, 5, 8, 16} {
				var results [2][]float64
				var errs [2]error
				for i, m := range []*tir.IRModule{m, kernel} {
					values := make([]float64, 16)
					for i := range values {
						values[i] = float64(10 * i)
					}
					a := must.Get(tirrun.From(tir.Int32, values, 16))(t)
					b := must.Get(tirrun.From(tir.Int32, make([]float64, 20), 20))(t)
					errs[i] = tirrun.Run(m, "f", a, b, n, high)
					results[i] = must.Get(tirrun.Values[float64](b))(t)
				}
				require.Equal(t, errs[0] == nil, errs[1] == nil, "%s, n = %d, m = %d: %v", g.body, n, high, errs)
				if errs[0] != nil { // the program reads out of range
					continue
				}
				require.Equal(t, results[0], results[1], "%s, n = %d, m = %d", g.body, n, high)
			}
		}
	}
}

// The loops of a kernel may still be part of host code when they are vectorized.
func TestVectorize_GuardedVectorsInThreads(t *testing.T) {
	m := must.Get(text.Parse(`func f(p: handle, n: int32) {
  buffer a: int32[16], param p
  thread o in range(4), thread "threadIdx.x" {
    vectorized l in range(4) { if o * 4 + l < n { a[o * 4 + l] = 1 } }
  }
}`))(t)
	require.NotZero(t, vectorStores(must.Get(transform.Vectorize(m, nil))(t)))
}

func scalarStores(m *tir.IRModule) (n int) {
	tir.Walk(m, func(node any) bool {
		if s, ok := node.(*tir.BufferStore); ok && s.Value.DType().Lanes == 1 {
			n++
		}
		return true
	})
	return n
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
