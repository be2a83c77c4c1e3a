package codegen_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/codegen/explain"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir/text"
)

// warps32 is a target without a table of multiprocessors, whose warps have 32 threads.
const warps32 = `{"kind": "opencl", "thread_warp_size": 32, "max_threads_per_block": 1024,
  "max_shared_memory_per_block": 49152}`

// explained returns the report of a program.
func explained(t *testing.T, program, to string, sizes map[string]int64) *explain.Report {
	t.Helper()
	if strings.HasPrefix(to, "cuda") {
		to += " -code-format=source" // the registers depend on this machine's NVRTC
	}
	r, err := codegen.Explain(must.Get(text.Parse(program))(t), must.Get(target.New(to))(t), codegen.WithSizes(sizes))
	require.NoError(t, err)
	return r
}

// threads returns a function of A and B, whose body is executed by 64 blocks of 256 threads.
func threads(body string) string {
	return `func f(a: handle, b: handle, i: handle) {
  buffer A: float32[65536], param a
  buffer B: float32[65536], param b
  buffer I: int32[65536], param i
  thread bx in range(64), thread "blockIdx.x" {
    thread tx in range(256), thread "threadIdx.x" {
` + body + "\n    }\n  }\n}\n"
}

func TestExplain_Accesses(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string // scope, operation, bytes, average and worst of sectors or ways
	}{
		{"coalesced", `B[bx * 256 + tx] = A[bx * 256 + tx]`, []string{"global load 4: 4 4", "global store 4: 4 4"}},
		{"vectors of 16 bytes", `vectorized v in range(4) { B[bx * 1024 + tx * 4 + v] = A[bx * 1024 + tx * 4 + v] }`,
			[]string{"global load 16: 16 16", "global store 16: 16 16"}},
		{"vectors of 32 bytes", `vectorized v in range(8) { B[tx * 8 + v] = A[tx * 8 + v] }`,
			[]string{"global load 16: 32 32", "global store 16: 32 32"}},
		{"a vector that is not aligned", `vectorized v in range(4) { B[tx * 4 + v] = A[tx * 4 + v + 1] }`,
			[]string{"global load 4: 16.25 17", "global store 16: 16 16"}},
		{"not aligned", `B[bx * 256 + tx] = A[bx * 256 + tx + 1]`, []string{"global load 4: 5 5", "global store 4: 4 4"}},
		{"strided", `B[tx * 32 + bx] = A[tx * 32 + bx]`, []string{"global load 4: 32 32", "global store 4: 32 32"}},
		{"broadcast", `B[bx * 256 + tx] = A[bx]`, []string{"global load 4: 1 1", "global store 4: 4 4"}},
		{"half of the threads", `if tx < 16 { B[tx] = A[tx] }`, []string{"global load 4: 2 2", "global store 4: 2 2"}},
		{"gather", `B[bx * 256 + tx] = A[cast(int32, A[bx * 256 + tx])]`,
			[]string{"global load 4: 4 4", "global load 4: 32 32 depends", "global store 4: 4 4"}},
		{"rows of a table that floats select", `vectorized v in range(4) {
  B[bx * 1024 + tx * 4 + v] = A[cast(int32, A[bx]) * 256 + floormod(tx * 4 + v, 256)]
}`, []string{"global load 4: 1 1", "global load 16: 32 32 depends", "global store 16: 16 16"}},
		{"rows of a table", `let row: int64 = cast(int64, I[bx])
vectorized v in range(4) { B[bx * 1024 + tx * 4 + v] = A[row * cast(int64, 256) + cast(int64, tx * 4 + v)] }`,
			[]string{"global load 4: 1 1", "global load 16: 16 16 depends", "global store 16: 16 16"}},
		{"runs that begin anywhere", `B[bx * 256 + tx] = A[I[bx] + tx]`,
			[]string{"global load 4: 1 1", "global load 4: 5 5 depends", "global store 4: 4 4"}},
		{"vectors, each at its own place", `vectorized v in range(4) { B[tx * 4 + v] = A[I[tx] * 4 + v] }`,
			[]string{"global load 4: 4 4", "global load 16: 32 32 depends", "global store 16: 16 16"}},
		{"reads that only some threads execute",
			`B[tx] = if_then_else[float32](bx * 256 + tx < 8, A[bx * 256 + tx], cast(float32, 0))`,
			[]string{"global load 4: 1 1", "global store 4: 4 4"}},
		{"shared", `alloc S: float32[256], scope "shared"
S[tx] = A[tx]
eval storage_sync[void]("shared")
B[tx] = S[255 - tx]`, []string{"global load 4: 4 4", "shared store 4: 1 1", "shared load 4: 1 1",
			"global store 4: 4 4"}},
		{"columns of a tile", `alloc S: float32[32, 32], scope "shared"
for j in range(4) { S[floordiv(tx, 32) + j * 8, floormod(tx, 32)] = A[tx] }
eval storage_sync[void]("shared")
B[tx] = S[floormod(tx, 32), floordiv(tx, 32)]`,
			[]string{"global load 4: 4 4", "shared store 4: 1 1", "shared load 4: 32 32", "global store 4: 4 4"}},
		{"columns of a padded tile", `alloc S: float32[32, 33], scope "shared"
for j in range(4) { S[floordiv(tx, 32) + j * 8, floormod(tx, 32)] = A[tx] }
eval storage_sync[void]("shared")
B[tx] = S[floormod(tx, 32), floordiv(tx, 32)]`,
			[]string{"global load 4: 4 4", "shared store 4: 1 1", "shared load 4: 1 1", "global store 4: 4 4"}},
		{"columns of a swizzled tile", `alloc S: float32[32, 32], scope "shared"
for j in range(4) {
  S[floordiv(tx, 32) + j * 8, bitwise_xor[int32](floormod(tx, 32), floordiv(tx, 32) + j * 8)] = A[tx]
}
eval storage_sync[void]("shared")
B[tx] = S[floormod(tx, 32), bitwise_xor[int32](floordiv(tx, 32), floormod(tx, 32))]`,
			[]string{"global load 4: 4 4", "shared store 4: 1 1", "shared load 4: 1 1", "global store 4: 4 4"}},
	} {
		r := explained(t, threads(c.body), warps32, nil)
		var got []string
		for _, a := range r.Kernels[0].Accesses {
			f := a.Sectors
			if a.Scope == "shared" {
				f = a.Ways
			}
			row := fmt.Sprintf("%s %s %d: %v %v", a.Scope, a.Op, a.Bytes, f.Average, f.Worst)
			if a.DataDependent {
				row += " depends"
			}
			got = append(got, row)
			require.NotEmpty(t, a.Path)
			require.Contains(t, a.Index, a.Buffer+"[")
		}
		require.Equal(t, c.want, got, c.name)
	}
}

// matmul multiplies matrices of n × n by tiles of 16 × 16 in shared memory, or without, in which case each thread loads
// 2n values.
func matmul(shared bool) string {
	body := `for k in range(n) { acc[0] = acc[0] + A[y, k] * B[k, x] }`
	if shared {
		body = `for ko in range(floordiv(n, 16)) {
        eval storage_sync[void]("shared")
        S[ty, tx] = A[y, ko * 16 + tx]
        T[ty, tx] = B[ko * 16 + ty, x]
        eval storage_sync[void]("shared")
        for ki in range(16) { acc[0] = acc[0] + S[ty, ki] * T[ki, tx] }
      }`
	}
	return `func f(a: handle, b: handle, c: handle, n: int32) {
  buffer A: float32[n, n], param a
  buffer B: float32[n, n], param b
  buffer C: float32[n, n], param c
  thread by in range(floordiv(n, 16)), thread "blockIdx.y" {
   thread bx in range(floordiv(n, 16)), thread "blockIdx.x" {
    alloc S: float32[16, 16], scope "shared"
    alloc T: float32[16, 16], scope "shared"
    thread ty in range(16), thread "threadIdx.y" {
     thread tx in range(16), thread "threadIdx.x" {
      let y: int32 = by * 16 + ty
      let x: int32 = bx * 16 + tx
      alloc acc: float32[1], scope "local"
      acc[0] = cast(float32, 0)
      ` + body + `
      C[y, x] = acc[0]
     }
    }
   }
  }
}
`
}

func TestExplain_Work(t *testing.T) {
	const n = 512.0
	for _, c := range []struct {
		name, program, to string
		read, operations  float64
		intensity         float64
		bound             string
	}{
		{"naive", matmul(false), "cuda -arch=sm_80", 2 * 4 * n * n * n, 2 * n * n * n, 0.25, explain.BoundCache},
		{"tiles", matmul(true), "cuda -arch=sm_80", 2 * 4 * n * n * n / 16, 2 * n * n * n, 4, explain.BoundCache},
		{"another target", matmul(true), warps32, 2 * 4 * n * n * n / 16, 2 * n * n * n, 4, ""},
	} {
		r := explained(t, c.program, c.to, map[string]int64{"n": n})
		w := r.Kernels[0].Work
		require.Equal(t, c.read, w.BytesRead, c.name)
		require.Equal(t, 4*n*n, w.BytesWritten, c.name)
		require.Equal(t, []float64{8 * n * n, 4 * n * n}, []float64{w.FootprintRead, w.FootprintWrite}, c.name)
		require.Equal(t, c.operations, w.Operations, c.name)
		require.Equal(t, map[string]float64{"float32": c.operations}, w.ByType)
		require.InDelta(t, c.intensity, w.Intensity, 0.03*c.intensity, c.name)
		require.InDelta(t, n/6, w.Reuse, 1e-9)
		require.Equal(t, c.bound, w.Bound)
		require.False(t, w.Estimated)
	}
	// exp of each element is bound by memory, 4096 multiplications of each by arithmetic
	r := explained(t, threads(`B[bx * 256 + tx] = exp[float32](A[bx * 256 + tx]) + A[bx * 256 + tx]`),
		"cuda -arch=sm_90", nil)
	w := r.Kernels[0].Work
	require.Equal(t, []float64{2 * 16384, explain16384(3)}, []float64{w.Operations, w.BytesRead + w.BytesWritten})
	require.Equal(t, explain.BoundMemory, w.Bound)
	require.Equal(t, "H100 SXM", r.Machine)
	r = explained(t, threads(`alloc v: float32[1], scope "local"
v[0] = A[bx * 256 + tx]
for i in range(4096) { v[0] = v[0] * v[0] }
B[bx * 256 + tx] = v[0]`), "cuda -arch=sm_90", nil)
	require.Equal(t, explain.BoundCompute, r.Kernels[0].Work.Bound)
	require.InDelta(t, 4096*16384/66.9e12, r.Kernels[0].Work.AtLeastSeconds, 1e-12)
}

// explain16384 is the size of 16384 float32, n times.
func explain16384(n float64) float64 { return n * 4 * 16384 }

// Edges: the last block and the last warp have fewer threads, and the totals are exact.
func TestExplain_Edges(t *testing.T) {
	program := `func f(a: handle, b: handle, n: int32) {
  buffer A: float32[n], param a
  buffer B: float32[n], param b
  thread bx in range(floordiv(n + 255, 256)), thread "blockIdx.x" {
    thread tx in range(256), thread "threadIdx.x" {
      if bx * 256 + tx < n {
        B[bx * 256 + tx] = A[bx * 256 + tx] * A[bx * 256 + tx]
      }
    }
  }
}
`
	for _, n := range []int64{1, 31, 256, 257, 1000, 12345} {
		k := explained(t, program, "cuda -arch=sm_80", map[string]int64{"n": n}).Kernels[0]
		require.Equal(t, []int64{(n + 255) / 256, 1, 1}, k.Grid)
		require.Equal(t, [3]string{"floordiv(n + 255, 256)", "1", "1"}, k.GridText)
		require.Equal(t, float64(n), k.Work.Operations)
		require.Equal(t, 4*float64(n), k.Work.BytesWritten)
	}
}

func TestExplain_Launch(t *testing.T) {
	r := explained(t, matmul(true), "cuda -arch=sm_80", map[string]int64{"n": 4096})
	k := r.Kernels[0]
	require.Equal(t, []any{[]int64{256, 256, 1}, []int64{16, 16, 1}, int64(256), int64(2048)},
		[]any{k.Grid, k.Block, k.ThreadsPerBlock, k.SharedBytes})
	require.Equal(t, int64(8), k.Occupancy.Blocks)
	require.InDelta(t, 65536.0/(8*108), k.Occupancy.Waves, 1e-9)
	require.False(t, k.Occupancy.Registers)
	k = explained(t, matmul(true), warps32, map[string]int64{"n": 4096}).Kernels[0]
	require.Nil(t, k.Occupancy)
	require.Contains(t, k.Limits, explain.Limit{Name: "max_shared_memory_per_block", Used: 2048, Limit: 49152})
}

func TestExplain_UnknownSizes(t *testing.T) {
	k := explained(t, matmul(true), "cuda -arch=sm_80", nil).Kernels[0]
	require.Nil(t, k.Grid)
	require.Nil(t, k.Work)
	require.Equal(t, []string{"n"}, k.UnknownSizes)
	require.Equal(t, [3]string{"floordiv(n, 16)", "floordiv(n, 16)", "1"}, k.GridText)
	require.Equal(t, []string{"sizes are not known: sectors and conflicts are those of n=1024; for bytes and operations " +
		"give sizes, as in --sizes n=1024"}, k.Notes)
	require.Equal(t, int64(256), k.ThreadsPerBlock)
	for _, a := range k.Accesses {
		require.True(t, a.ConflictFree(), a.Index)
		require.Zero(t, a.Requests)
	}
	k = explained(t, matmul(true), "cuda -arch=sm_80", map[string]int64{"n": 0}).Kernels[0] // it is not launched
	require.Equal(t, []int64{0, 0, 1}, k.Grid)
	require.Zero(t, k.Work.Operations)
}

func TestExplain_JSON(t *testing.T) {
	r := explained(t, matmul(true), "cuda -arch=sm_80", map[string]int64{"n": 512})
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var back explain.Report
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, *r, back)
	var table strings.Builder
	require.NoError(t, r.WriteText(&table))
	var again strings.Builder
	require.NoError(t, explained(t, matmul(true), "cuda -arch=sm_80", map[string]int64{"n": 512}).WriteText(&again))
	require.Equal(t, table.String(), again.String())
}

func TestExplain_BadInput(t *testing.T) {
	program := threads(`B[bx * 256 + tx] = A[bx * 256 + tx]`)
	for _, c := range []struct {
		program, to string
		sizes       map[string]int64
		want        string
	}{
		{program, "llvm", nil, `explain: code for kind "llvm" runs on the CPU and has no kernels`},
		{program, "c", nil, "runs on the CPU"},
		{program, "cuda -arch=sm_80", map[string]int64{"n": 3}, "explain: size n=3: the kernels have no open sizes"},
		{matmul(true), "cuda -arch=sm_80", map[string]int64{"m": 3}, "size m=3: the kernels have no size of this name"},
		{matmul(true), "cuda -arch=sm_80", map[string]int64{"n": -3}, "size n=-3: it is negative"},
		{matmul(true), "cuda -arch=sm_80", map[string]int64{"n": 1 << 31},
			"size n=2147483648: it is of type int32, whose largest value is 2147483647"},
		{"func f(x: handle, n: int64) {\n  buffer X: float32[n], param x\n  thread b in range(n), thread \"blockIdx.x\" " +
			"{ X[b] = 1.0 }\n}\n", "cuda -arch=sm_80", map[string]int64{"n": 1 << 62},
			"size n=4611686018427387904: figures are for sizes up to 1099511627776"},
		{"func f(n: int32) {\n  packed g(n)\n}\n", warps32, nil,
			`explain: the program has no kernels for kind "opencl": bind loops to blockIdx and threadIdx`},
	} {
		m, err := text.Parse(c.program)
		require.NoError(t, err, c.program)
		_, err = codegen.Explain(m, must.Get(target.New(c.to))(t), codegen.WithSizes(c.sizes))
		require.ErrorContains(t, err, c.want)
	}
	_, err := codegen.Explain(nil, must.Get(target.New("cuda -arch=sm_80"))(t))
	require.ErrorContains(t, err, "the module is nil")
	m := must.Get(text.Parse(program))(t)
	_, err = codegen.Explain(m, nil)
	require.ErrorContains(t, err, "the target is nil")
	r := explained(t, program, "opencl", nil)
	require.Contains(t, r.Notes[0], "the target has thread_warp_size 1")
	r = explained(t, program, "cuda -arch=sm_50", nil)
	require.Contains(t, r.Notes[0], "there is no table of sm_50")
}
