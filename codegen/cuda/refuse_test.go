package cuda_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Kernels that do not fit an architecture are errors that say which limit they exceed, by how much, and what to do.
func TestBuild_Refuses(t *testing.T) {
	body := func(text string) string {
		return "func f(a: handle, n: int32) {\n  buffer A: float32[100000], param a\n" + text + "\n}\n"
	}
	shared := func(bytes int) string {
		return body(fmt.Sprintf(`
  thread t in range(8), thread "threadIdx.x" {
    alloc S: float32[%d], scope "shared"
    alloc R: float32[4], scope "shared"
    S[t] = 1.0
    R[floormod(t, 4)] = S[7 - t]
    A[t] = R[0]
  }`, bytes/4))
	}
	grid := func(n int64, axis string) string {
		return body(fmt.Sprintf(`
  thread b in range(%d), thread "%s" {
    thread t in range(8), thread "threadIdx.%s" { A[t] = 1.0 }
  }`, n, axis, map[bool]string{true: "y", false: "x"}[axis == "threadIdx.x"]))
	}
	for _, c := range []struct{ to, want, text string }{
		{"cuda -arch=sm_60", "kernel f_kernel: a block uses 49168 bytes of shared memory, most of it for buffer S: 16 more " +
			"than sm_60 has (49152): compute smaller tiles, or build for an arch that has more: sm_70 (98304), ",
			shared(48 << 10)},
		{"cuda -arch=sm_75", "", shared(48 << 10)},
		{"cuda -arch=sm_75", "65552 bytes of shared memory, most of it for buffer S: 16 more than sm_75 has (65536)",
			shared(64 << 10)},
		{"cuda -arch=sm_86", "than sm_86 has (101376): compute smaller tiles, or build for an arch that has more: sm_80 " +
			"(166912), ", shared(160 << 10)},
		{"nvptx -mcpu=sm_90", "16 more than sm_90 has (232448): compute smaller tiles", shared(227 << 10)},
		{"cuda -arch=sm_90", "", shared(227<<10 - 16)},
		{"nvidia/nvidia-h100", "16 more than max_shared_memory_per_block of target cuda allows (49152): compute smaller " +
			`tiles, or build for a target that has more, as in {"kind": "cuda", "max_shared_memory_per_block": 49168}`,
			shared(48 << 10)},
		{"cuda -arch=sm_90", "a block has 16384 threads (threadIdx.x 2048, threadIdx.y 8), 15360 more than " +
			"max_num_threads of target cuda allows (1024): bind shorter loops to threads", grid(2048, "threadIdx.x")},
		{"cuda -arch=sm_90", "threadIdx.z has 65 threads, 1 more than CUDA allows (64): bind a longer loop to threadIdx.x",
			grid(65, "threadIdx.z")},
		{"cuda -arch=sm_90", "blockIdx.y has 65536 blocks, 1 more than CUDA allows (65535): bind the longest loop to " +
			"blockIdx.x", grid(65536, "blockIdx.y")},
		{"cuda -arch=sm_90", "", grid(65535, "blockIdx.z")},
		{"cuda -arch=sm_90", "", grid(1<<31-1, "blockIdx.x")},
		{"cuda -arch=sm_60", "kernel f_kernel takes 257 arguments, 1 more than a launch can pass (256): read and write " +
			"fewer tensors", manyTensors(256)},
		{"cuda -arch=sm_60", "", manyTensors(255)},
		{"cuda -arch=sm_90", "below the condition t < n, which is not the same for all threads of a block", body(`
  thread t in range(8), thread "threadIdx.x" {
    if t < n { storage_sync[void]("shared") }
  }`)},
		{"cuda -arch=sm_90", `the size of buffer R in scope "local" is not constant: it is part of a kernel: compute tiles`,
			body(`
  thread t in range(8), thread "threadIdx.x" {
    alloc R: float32[n], scope "local"
    R[0] = 1.0
    A[t] = R[0]
  }`)},
		{"cuda -arch=sm_90", "intrinsic ret_none: a kernel ends where its last thread ends", body(`
  thread t in range(8), thread "threadIdx.x" {
    if n < t { intrin ret_none() }
    A[t] = 1.0
  }`)},
	} {
		to := must.Get(target.New(c.to))(t)
		if to.Kind().Name() == "cuda" {
			to = must.Get(target.New(c.to + " -code-format=source"))(t)
		}
		m, err := codegen.Build(parsed(t, c.text), to)
		if c.want == "" {
			require.NoError(t, err, c.to)
			m.Close()
			continue
		}
		require.ErrorContains(t, err, c.want, c.to)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	}
}

// manyTensors is a kernel with many arguments.
func manyTensors(n int) string {
	var params, buffers, sums []string
	for i := range n {
		params = append(params, fmt.Sprintf("a%d: handle", i))
		buffers = append(buffers, fmt.Sprintf("  buffer A%d: float32[8], param a%[1]d\n", i))
		sums = append(sums, fmt.Sprintf("  C[t] = C[t] + A%d[t]\n", i))
	}
	return "func f(c: handle, " + strings.Join(params, ", ") + ") {\n  buffer C: float32[8], param c\n" +
		strings.Join(buffers, "") + "  thread t in range(8), thread \"threadIdx.x\" {\n" + strings.Join(sums, "") + "}\n}\n"
}

// 16-bit and 8-bit floats are computed on every architecture: by instructions where it has them, else as float.
func TestBuild_SmallFloatsOnOldArchitectures(t *testing.T) {
	for _, typ := range []tir.Type{tir.Float16, tir.BFloat16, tir.Float64, tir.Int64} {
		for _, arch := range []string{"sm_50", "sm_53", "sm_60", "sm_70"} {
			compiled(t, source(t, gpuprograms.VAdd(t, typ, 128)), arch)
			lanes := 128 / int(typ.Bits)
			compiled(t, source(t, vectorized(t, "X * Y + X - Y", typ, typ, lanes)), arch)
		}
	}
}
