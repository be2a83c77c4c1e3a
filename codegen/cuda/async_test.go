package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
)

// pipelined copies 16 bytes per thread ahead of the loop that uses them.
func pipelined(t testing.TB) *tir.IRModule {
	return parsed(t, `
func pipelined(a: handle, b: handle, n: int32) {
  buffer A: float32[4096], param a
  buffer B: float32[128], param b
  thread t in range(32), thread "threadIdx.x" {
    alloc S: float32[128], scope "shared"
    attr "async" buffer S = 1 {
      vectorized i in range(4) {
        S[t * 4 + i] = A[t * 4 + i]
      }
    }
    attr "async" buffer S = 1 {
      S[t] = if_then_else[float32](t < n, A[t + 1], 0.0)
    }
    B[t] = S[127 - t]
  }
}
`)
}

// Marked copies to shared memory are asynchronous, and those below a condition as well.
func TestEmit_AsyncCopies(t *testing.T) {
	code := source(t, pipelined(t))
	require.Contains(t, code, "tvmgo_cp_async_16((void*)&S[t * 4], (void*)&A[t * 4]);")
	require.Contains(t, code, "if (t < n) {\n    tvmgo_cp_async_4(")
	for _, arch := range archs {
		compiled(t, code, arch)
	}
}
