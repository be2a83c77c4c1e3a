package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// BenchmarkUnroll unrolls two loops into 256 copies of a body with shared expressions.
func BenchmarkUnroll(b *testing.B) {
	m, err := text.Parse(`func f(A: handle, B: handle, n: int32) {
	  buffer A: float32[4096, 64], param A
	  buffer B: float32[4096, 64], param B
	  unrolled i in range(16) {
	    unrolled j in range(16) {
	      let x = A[n * 8 + i, j * 4 + i % 4] * 2.0 + max(A[n * 8 + i, j], 0.0)
	      if i + j < n {
	        B[n * 8 + i, j] = x + B[n * 8 + i, j]
	      }
	    }
	  }
	}`)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := transform.Unroll(m, nil); err != nil {
			b.Fatal(err)
		}
	}
}
