package tir_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// multiplied is a product of 16x16 matrices by a warp.
const multiplied = `
func product(a: handle, b: handle, c: handle) {
  buffer A: float16[16, 16], param a
  buffer B: float16[16, 16], param b
  buffer C: float32[16, 16], param c
  thread x in range(32), thread "threadIdx.x" {
    alloc L: float16[2, 256], scope "local"
    alloc FA: float16[2, 256], scope "fragment.a"
    alloc FB: float16[256], scope "fragment.b"
    alloc S: float32[256], scope "fragment.acc"
    fragment_fill[void](address_of[handle](S[0]), 16, 16, 16, 0.0)
    fragment_load[void](address_of[handle](FA[1, 0]), 16, 16, 16, address_of[handle](A[0, 0]), 16, "row_major")
    fragment_load[void](address_of[handle](FB[0]), 16, 16, 16, address_of[handle](B[0, 0]), 16, "col_major")
    fragment_mma[void](address_of[handle](S[0]), 16, 16, 16, address_of[handle](FA[1, 0]), address_of[handle](FB[0]))
    fragment_store[void](address_of[handle](S[0]), 16, 16, 16, address_of[handle](C[0, 0]), 16, "row_major")
  }
}
`

// A program with fragments is well formed, and printed as it is written.
func TestFragments_WellFormed(t *testing.T) {
	m, err := text.Parse(multiplied)
	require.NoError(t, err)
	require.NoError(t, tir.Check(m))
	require.Equal(t, strings.TrimSpace(multiplied), strings.TrimSpace(m.String()))
}

func TestFragments_Errors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`S[0]), 16, 16, 16, 0.0`, `S[0]), 16, 16, 16, 0`, "intrinsic fragment_fill: the value is of type " +
			"int32, and the elements of buffer S of float32"},
		{`S[0]), 16, 16, 16, 0.0`, `S[0]), 16, 0, 16, 0.0`, "argument 2 is n of the shape: want a constant from 1 to 256"},
		{`(address_of[handle](S[0]), 16, 16, 16, 0.0`, `(address_of[handle](L[0, 0]), 16, 16, 16, float16(0.0)`,
			`argument 0: want the address_of an element of a buffer in scope "fragment.a", "fragment.b" or "fragment.acc"`},
		{`address_of[handle](A[0, 0]), 16`, `address_of[handle](C[0, 0]), 16`,
			"intrinsic fragment_load: buffer C has elements of type float32, and buffer FA of float16"},
		{`address_of[handle](A[0, 0]), 16`, `address_of[handle](L[0, 0]), 16`,
			"argument 4: want the address_of an element of a buffer in memory that threads share"},
		{`address_of[handle](A[0, 0]), 16`, `address_of[handle](A[0, 0]), 15`,
			"the stride is 15, and the matrix in memory has 16 elements from one to the next"},
		{`address_of[handle](A[0, 0]), 16`, `address_of[handle](A[0, 0]), 16.0`, "the stride is of type float32"},
		{`"col_major"`, `"columns"`, `argument 6: want the layout "row_major" or "col_major"`},
		{`address_of[handle](FA[1, 0]), address_of[handle](FB[0])`, `address_of[handle](FB[0]), address_of[handle](FA[1, 0])`,
			`buffer FB is in scope "fragment.b": want "fragment.a" for the left operand`},
		{`fragment_store[void](address_of[handle](S[0]), 16, 16, 16, address_of[handle](C[0, 0])`,
			`fragment_store[void](address_of[handle](FA[0, 0]), 16, 16, 16, address_of[handle](A[0, 0])`,
			`buffer FA is in scope "fragment.a": only sums ("fragment.acc") are stored`},
		{`alloc FB: float16`, `alloc FB: bfloat16`, "buffer B has elements of type float16, and buffer FB of bfloat16"},
		{`alloc S: float32[256], scope "fragment.acc"`, `alloc S: float64[256], scope "fragment.acc"`,
			"the value is of type"},
		{`    fragment_mma`, "    L[0, 0] = FA[0, 0]\n    fragment_mma",
			`buffer FA is in scope "fragment.a", whose elements threads hold together`},
		{`    fragment_mma`, "    S[x] = 0.0\n    fragment_mma", `buffer S is in scope "fragment.acc"`},
	} {
		require.Contains(t, multiplied, c.old)
		m, err := text.Parse(strings.Replace(multiplied, c.old, c.new, 1))
		if err == nil {
			err = tir.Check(m)
		}
		require.ErrorContains(t, err, c.want)
	}
}
