package cuda_test

import (
	"strings"
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

// A loop of one iteration has nothing to load ahead: its copies are loads and stores, for which a barrier is enough.
func TestEmit_AsyncSingleIteration(t *testing.T) {
	program := `
func single(a: handle, b: handle) {
  buffer A: float32[N, 32], param a
  buffer B: float32[N, 32], param b
  thread t in range(32), thread "threadIdx.x" {
    for i in range(N) {
      alloc S: float32[32], scope "shared"
      attr "double_buffer_scope" buffer S = 1 {
        attr "async" buffer S = 1 {
          S[t] = A[i, t]
          B[i, t] = S[31 - t]
        }
      }
    }
  }
}
`
	require.Contains(t, source(t, parsed(t, strings.ReplaceAll(program, "N", "2"))), "tvmgo_cp_async_4(")
	code := source(t, parsed(t, strings.ReplaceAll(program, "N", "1")))
	require.NotContains(t, code, "tvmgo_cp_async")
	require.Contains(t, code, "__syncthreads();")
}
