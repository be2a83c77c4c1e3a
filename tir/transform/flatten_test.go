package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// The single index contains the strides, the offset and the gaps. If the memory may be larger than a 32-bit index can
// address, the index has 64 bits.
func TestFlattenStorage(t *testing.T) {
	m := must.Get(text.Parse(`func f(p: handle, q: handle, n: int32) {
  var s: int32
  var o: int32
  buffer a: float32[n, 8], param p, strides [s, 2], offset o
  buffer b: float32[n, 8], param q
  alloc c: float32[4, 8], strides [9, 1], scope "shared"
  attr "double_buffer_scope" buffer c = 1
  alloc d: float32[2, n], strides [n + 3, 1]
  alloc e: float32[]
  alloc g: float32[7]
  alloc h: float32[3, 5], strides [0, 1]
  alloc i: float32[4, 4, 4], scope "texture"
  for k in range(n) {
    c[1, ramp(0, 1, 4)] = a[k, ramp(0, 1, 4)]
    d[1, k] = c[k, 3] + b[k, 7] + e[] + g[3] + i[1, 2, 3]
    b[k, 0] = d[0, k]
    h[2, 3] = b[k, 0]
  }
}`))(t)
	require.NoError(t, tir.Check(m))
	text := text.Print(oneFunc(t, transform.FlattenStorage, m.Funcs[0]))
	for _, want := range []string{
		"buffer a: float32[n, 8], param p, data a: handle, strides [s, 2], offset o\n", // as callers see it
		`attr "buffer_view" buffer a_flat = a`,
		`buffer b_flat: float32[cast(int64, n) * int64(8)], data b`,
		`alloc c: float32[35], scope "shared"`,
		`attr "double_buffer_scope" buffer c = 1`,
		`alloc e: float32[1]`,
		`alloc g: float32[7]`,
		`alloc h: float32[5]`, // all rows are the same
		`h[3] = `,
		`alloc i: float32[4, 4, 4], scope "texture"`,
		`c[ramp(9, 1, 4)] = a_flat[ramp(`,
		`int64(2), 4)]`,
		`c[k * 9 + 3]`,
		`b_flat[cast(int64, k) * int64(8) + int64(7)]`,
		`e[0] + g[3] + i[1, 2, 3]`,
		`cast(int64, s)`,
	} {
		require.Contains(t, text, want)
	}
	same := &tir.IRModule{Funcs: []*tir.PrimFunc{parsed(t, "out[3] = 1")}}
	got := must.Get(transform.FlattenStorage(same, nil))(t)
	require.True(t, same == got, "a flat function is shared")
}

// The indices of a loop over fused dimensions become that loop's variable, also if the sizes are variables. Parameters
// of kernels become flat themselves.
func TestFlattenStorage_FusedDimensionsOfKernels(t *testing.T) {
	m := must.Get(text.Parse(`func f(p: handle, q: handle, r: handle, s: handle, u: handle, n: int32, m: int32, k: int32) {
  buffer a: float32[n, m, k], param p
  buffer b: float32[n, m], param q
  buffer c: float32[n, m], param r
  buffer d: float32[n, m], param s
  buffer e: float32[n, m], param u
  for i in range(n * m * k) {
    a[floordiv(floordiv(i, k), m), floormod(floordiv(i, k), m), floormod(i, k)] = b[floordiv(i, m), floormod(i, k)]
    c[floordiv(i, k), floormod(i, m)] = d[floordiv(i + 1, m), floormod(i, m)] + e[floordiv(i, k), floormod(i, k)]
  }
}`))(t)
	m.Funcs[0].Attrs = map[string]any{transform.AttrConvention: int64(transform.ConventionKernel)}
	text := text.Print(oneFunc(t, transform.FlattenStorage, m.Funcs[0]))
	require.Contains(t, text, "buffer a: float32[cast(int64, n) * cast(int64, m) * cast(int64, k)], param p")
	require.Contains(t, text, "a[i] = b[cast(int64, ", "the divisors of b's indices differ")
	require.Contains(t, text, "c[cast(int64, ", "the divisors of c's indices differ, and only the second one is its size")
	require.Contains(t, text, "= d[cast(int64, ", "the dividends of d's indices differ")
	require.Contains(t, text, " + e[cast(int64, ", "the divisor of e's indices is not its size")
}
