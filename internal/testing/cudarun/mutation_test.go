package cudarun

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mutation replaces the n-th occurrence of a text (from 0) in the kernels.
type mutation struct {
	kernel, old, new string
	n                int
	want             string // in the error; "" if only the result is wrong
}

func (m mutation) apply(t *testing.T, source string) string {
	t.Helper()
	at := -1
	for range m.n + 1 {
		next := strings.Index(source[at+1:], m.old)
		require.GreaterOrEqual(t, next, 0, "%s: %s", m.kernel, m.old)
		at += 1 + next
	}
	return source[:at] + m.new + source[at+len(m.old):]
}

const waitOne = `asm volatile("cp.async.wait_group %0;" :: "n"(1) : "memory");`

var mutations = []mutation{
	// a barrier is missing, or not all threads reach it
	{"gemm", "__syncthreads();", "", 0, "reads shared memory "},
	{"gemm", "__syncthreads();", "", 1, "reads shared memory As"},
	{"gemm", "__syncthreads();", "__syncwarp();", 0, "reads shared memory Bs"},
	{"gemm", "__syncthreads();", "if (row < M) __syncthreads();", 1, "shared memory"},
	{"histogram", "__syncthreads();", "if (threadIdx.x < 100) __syncthreads();", 0, "shared memory own"},
	{"histogram", "  if (threadIdx.x < 16) atomicAdd(&counts",
		"if (threadIdx.x < 16) __syncthreads();\n  if (threadIdx.x < 16) atomicAdd(&counts", 0,
		"is not reached by thread ("},
	{"row_sum", "__syncthreads();", "if (threadIdx.x % 32 == 0) __syncthreads();", 0, "shared memory partial"},
	{"gemm", "__syncthreads();\n  int", "if (y < 8) __syncthreads();\nelse __syncthreads();\n  int", 0,
		"which waits at __syncthreads in line"},
	{"row_sum", "__syncthreads();", "", 0, "shared memory partial"},
	{"histogram", "__syncthreads();", "", 0, "shared memory own"},
	{"histogram", "__syncthreads();", "", 1, "shared memory own"},
	{"tensor_f16", "__syncwarp();", "", 0, "shared memory"},
	// masks and lanes
	{"row_sum", "0xffffffffu", "0xfffffff7u", 0, "with mask 0xfffffff7, which lacks lane 3 that executes it"},
	{"row_sum", "0xffffffffu", "0xffffu", 0, "__shfl_xor_sync "},
	{"row_sum", "threadIdx.x < 32", "threadIdx.x < 16", 0, "waits for lane 16, which has ended"},
	{"row_sum", "sum += __shfl_xor_sync(0xffffffffu, sum, step)",
		"if (threadIdx.x < 64) sum += __shfl_xor_sync(threadIdx.x & 1 ? 0xffffffffu : 0xfffffffeu, sum, step)", 0, "mask"},
	{"row_sum", "sum, step)", "sum, step / 2)", 0, ""},
	{"row_sum", "int step = 16", "int step = 8", 0, ""},
	// an index is off by one
	{"gemm", "A[row * K + x]", "A[row * K + x + 1]", 0, ""},
	{"gemm", "As[0][y][x]", "As[0][y][x + 1]", 0, ""},
	{"gemm", "As[0][y][x]", "As[0][y + 1][x]", 0, "index 16 is outside of the array"},
	{"gemm", "row < M && column < N) C", "row <= M && column < N) C", 0, "of an allocation of"},
	{"gemm", "C[row * N + column]", "C[row * N + column + 1]", 0, ""},
	{"row_sum", "i < columns", "i <= columns", 0, ""},
	{"row_sum", "threadIdx.x / 32]", "threadIdx.x / 32 + 1]", 0, "index 4 is outside of the array"},
	{"pipeline", "s * 64 + t] = a", "s * 64 + t + 1] = a", 0, "an allocation of 1792 bytes"},
	{"pipeline", "(s + 2) % 3", "(s + 2) % 4", 0, "dynamic shared memory"},
	{"tensor_f16", "C + t / 4 * 8 + t % 4 * 2)", "C + t / 4 * 8 + t % 4 * 2 + 1)", 0, "needs an alignment of 8 bytes"},
	{"tensor_f16", "As + t % 16 * 16 + t / 16 * 8", "As + t % 16 * 16 + t / 16 * 4", 0, "no multiple of 16"},
	{"tensor_f16", "As + t % 16 * 16 + t / 16 * 8", "As + t % 8 * 16 + t / 16 * 8", 0, ""},
	// a wait is late, missing or too weak
	{"pipeline", waitOne, "", 0, "an asynchronous copy is in flight"},
	{"pipeline", waitOne, strings.Replace(waitOne, "(1)", "(2)", 1), 0, "an asynchronous copy is in flight"},
	{"pipeline", waitOne + "\n    __syncthreads();", "__syncthreads();\n    " + waitOne, 0, "shared memory"},
	{"pipeline", "__syncthreads();", "", 0, "shared memory"},
	{"pipeline", "(s + 2) % 3", "(s + 1) % 3", 0, "shared memory"},
	{"pipeline", `asm volatile("cp.async.commit_group;" ::: "memory");`, "", 1, "in flight"},
	// operands of a product are in the wrong registers
	{"tensor_tf32", "g + i % 2 * 8) * 8 + t + i / 2 * 4", "g + i / 2 * 8) * 8 + t + i % 2 * 4", 0, ""},
	{"tensor_tf32", "t + i * 4) * 8 + g", "t * 2 + i) * 8 + g", 0, ""},
	{"tensor_f16", "x2.trans", "x2", 0, ""},
	{"tensor_f16", `"r"(b[0]), "r"(b[1])`, `"r"(b[1]), "r"(b[0])`, 0, ""},
	// others
	{"gemm", "= row < M && x < K ? A[row * K + x] : 0.0f;", "= 0; if (x < 8) As[0][y][x] = A[0];", 0, ""},
	{"histogram", "if (threadIdx.x < 16) own[threadIdx.x] = 0;", "", 0, "nothing in this block has written"},
	{"histogram", "atomicAdd(&own[values[i]], 1)", "own[values[i]] += 1", 0, "shared memory own"},
	{"histogram", "atomicAdd(&counts[threadIdx.x], own[threadIdx.x])", "counts[threadIdx.x] += own[threadIdx.x]", 0,
		"blocks have no order"},
}

// TestMutations expects each mistake to give an error or wrong numbers, in every order of threads.
func TestMutations(t *testing.T) {
	libraries, errs := make([]*Library, len(mutations)), make([]error, len(mutations))
	var group sync.WaitGroup
	for i, m := range mutations {
		code := m.apply(t, source(t, m.kernel))
		group.Go(func() { libraries[i], errs[i] = Compile(code, Options{}) })
	}
	group.Wait()
	for i, m := range mutations {
		require.NoError(t, errs[i], "%+v", m)
		for _, seed := range []string{"0", "1", "2"} {
			t.Setenv("CUDARUN_SEED", seed)
			right, err := checks[m.kernel](t, libraries[i])
			if err != nil {
				assert.ErrorContains(t, err, m.want, "%+v", m)
			} else {
				assert.False(t, right || m.want != "", "seed %s: %+v: no error, and the result is right: %v", seed, m, right)
			}
		}
	}
}
