package spirv_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	spv "tvmgo/internal/spirv"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// A kernel that exceeds a limit of its target is an error that has the limit, the need, and the option.
func TestBuild_Limits(t *testing.T) {
	block := func(threads, shared int, scope string) *tir.IRModule {
		return gpuprograms.Parsed(t, fmt.Sprintf(`
func f(a: handle) {
  buffer A: float32[%[1]d], param a
  thread b in range(1), thread "blockIdx.x" {
    alloc S: float32[%[2]d], scope "%[3]s"
    thread i in range(%[1]d), thread "threadIdx.x" {
      S[i] = A[i]
      storage_sync("shared")
      A[i] = S[%[1]d - 1 - i]
    }
  }
}
`, threads, shared, scope))
	}
	for _, c := range []struct {
		m       *tir.IRModule
		options string
		want    []string
	}{
		{block(512, 512, "shared"), "", []string{"a block has 512 threads",
			"256 more than max_threads_per_block of target vulkan allows (256)",
			`{"kind": "vulkan", "max_threads_per_block": 512}`}},
		{block(64, 5000, "shared"), ` -max_shared_memory_per_block=16384`, []string{
			"a block uses 20000 bytes of shared memory, most of it for buffer S",
			"3616 more than max_shared_memory_per_block of target vulkan allows (16384)", "compute smaller tiles"}},
	} {
		_, err := codegen.Build(c.m, device(t, "vulkan -host=c"+c.options))
		for _, part := range c.want {
			require.ErrorContains(t, err, part)
		}
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	}
}

// A grid beyond the limit of the device is an error of the call, and no thread runs. An empty one launches nothing.
func TestRun_Grid(t *testing.T) {
	need(t)
	lib := harness.Library(t, gpuprograms.Parsed(t, `
func f(a: handle, n: int32) {
  buffer A: float32[8], param a
  thread y in range(n), thread "blockIdx.y" { thread x in range(8), thread "threadIdx.x" { A[x] = 7.0 } }
}
`))
	x := gputest.Tensor(t, devices[0], make([]float32, 8))
	f := gputest.Function(t, lib, "f")
	_, err := f.Call(x, 1<<30)
	require.ErrorContains(t, err, "the limit of blockIdx.y is ")
	must.Get(f.Call(x, 0))(t)
	require.Equal(t, make([]float32, 8), gputest.Slice(t, x))
	must.Get(f.Call(x, 2))(t)
	require.Equal(t, []float32{7, 7, 7, 7, 7, 7, 7, 7}, gputest.Slice(t, x))
}

// The text of kernels, with a barrier between the threads' stores to shared memory and their loads.
func TestEmit_Golden(t *testing.T) {
	built := must.Get(codegen.Build(gpuprograms.Tiles(t, 13, 11, 10, tir.Float32), vkTarget(t)))(t)
	defer built.Close()
	imports := must.Get(built.Imports())(t)
	defer imports[0].Close()
	text := must.Get(imports[0].GetSource("spvasm"))(t)
	golden.Text(t, "testdata/tiles.spvasm", text)
	require.Regexp(t, regexp.MustCompile(`(?s)OpStore %\d+ %\d+\n[^\n]*OpBranch %\d+\n.*OpControlBarrier %uint_2 %uint_2 `+
		`%uint_264.*OpFMul`), text)
	for _, s := range shaders(t, gpuprograms.Tiles(t, 13, 11, 10, tir.Float32), vkTarget(t)) {
		require.True(t, strings.Contains(text, must.Get(spv.Disassemble(s.Code, spv.TextOptions{}))(t)))
	}
}
