package spirv_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// allShuffles are the operations of subgroups that a target has, as VkSubgroupFeatureFlags.
const allShuffles = `"supported_subgroup_operations": 63, `

func warpTarget(t testing.TB, threads int, options string) *target.Target {
	t.Helper()
	return device(t, fmt.Sprintf(`{"kind": "vulkan", "host": "c", "thread_warp_size": %d, %s}`, threads, allShuffles+
		options))
}

// subgroupSize returns the subgroup size of the device.
func subgroupSize(t testing.TB) int {
	need(t)
	n, ok := must.Get(runtime.TargetProperty(devices[0], "subgroup_size"))(t).(int64)
	require.True(t, ok)
	return int(n)
}

// Values of all types move between the threads of a warp, whose order is that of thread indices, x first. A warp is a
// subgroup, or a part of one. The threads of a block are in the order of their indices, whatever it is of the loops.
func TestRun_Shuffles(t *testing.T) {
	size := subgroupSize(t)
	types := []tir.Type{tir.Bool, tir.Int8, tir.UInt8, tir.Int16, tir.UInt16, tir.Int32, tir.UInt32, tir.Int64,
		tir.UInt64, tir.Float16, tir.BFloat16, tir.Float32, tir.Float64}
	for _, warp := range []int{size, max(size/2, 2)} {
		for _, options := range []string{features, halves} {
			source := ""
			for n, typ := range types {
				call := func(name, operand string) string { // te reduces truth values as integers
					return fmt.Sprintf("%s[%s](A[y * 12 + x], %s)", name, typ, operand)
				}
				source += fmt.Sprintf(`
func f%d(a: handle, b: handle) {
  buffer A: %[2]s[48], param a
  buffer B: %[2]s[3, 48], param b
  thread y in range(4), thread "threadIdx.y" {
    thread x in range(12), thread "threadIdx.x" {
      B[0, y * 12 + x] = %[3]s
      B[1, y * 12 + x] = %[4]s
      B[2, y * 12 + x] = %[5]s
    }
  }
}
`, n, typ, call("warp_shuffle", "1"), call("warp_shuffle_xor", "1"), call("warp_shuffle_down", "1"))
			}
			m := gpuprograms.Parsed(t, source)
			lib := harness.LibraryFor(t, m, warpTarget(t, warp, options))
			for n, typ := range types {
				v := make([]float64, 48)
				for i := range v {
					if v[i] = float64(i*7%23) + 1; tir.IsBool(typ) {
						v[i] = float64(i * 7 % 23 % 2)
					}
				}
				a := must.Get(tirrun.From(typ, v, 48))(t)
				out := gpuprograms.OnDevice(t, must.Get(tirrun.New(typ, 3, 48))(t), devices[0])
				must.Get(gputest.Function(t, lib, fmt.Sprint("f", n)).Call(gpuprograms.OnDevice(t, a, devices[0]), out))(t)
				result := must.Get(tirrun.New(typ, 3, 48))(t)
				require.NoError(t, out.CopyToBytes(result.Data))
				got := must.Get(tirrun.Values[float64](result))(t)
				for i := range v {
					require.Equal(t, v[i/warp*warp+1], got[i], "%s, thread %d of warps of %d", typ, i, warp)
					require.Equal(t, v[i^1], got[48+i], "xor, %s, thread %d", typ, i)
					if i%warp < warp-1 { // beyond the warp, the value is undefined
						require.Equal(t, v[i+1], got[96+i], "down, %s, thread %d", typ, i)
					}
				}
			}
		}
	}
}

// Integers of 64 bits move as two words, which devices without shaderSubgroupExtendedTypes move, too.
func TestEmit_ShuffleOfWords(t *testing.T) {
	m := gpuprograms.Parsed(t, `
func f(a: handle) {
  buffer A: int64[8], param a
  thread i in range(8), thread "threadIdx.x" { A[i] = warp_shuffle_xor[int64](A[i], 1) }
}
`)
	text := spirvtest.Disassemble(t, shaders(t, m, warpTarget(t, 8, features))[0].Code)
	require.Contains(t, text, "OpGroupNonUniformShuffleXor %v2uint")
}

// Rows are added by shuffles among the threads of a subgroup, and by shared memory between subgroups.
func TestRun_ReduceByShuffle(t *testing.T) {
	size := subgroupSize(t)
	for _, typ := range []tir.Type{tir.Float32, tir.Float16, tir.Int8, tir.Int64} {
		a := te.Placeholder(te.Dims(5, 64), typ, "A")
		k := te.ReduceAxis(tir.I32(0), tir.I32(64), "k")
		c := te.Compute(te.Dims(5), "C", func(i ...tir.Expr) tir.Expr { return te.Max(a.At(i[0], k.Var), k) })
		m := gpuprograms.Scheduled(t, "rows", []any{a, c}, c)(func(s *te.Schedule) {
			st := s.Stage(c)
			st.Bind(c.Axes()[0], "blockIdx.x")
			st.Bind(k, "threadIdx.x")
			st.ReduceByShuffle(size)
		})
		lib := harness.LibraryFor(t, m, warpTarget(t, size, halves))
		in := gpuprograms.Array(t, gpuprograms.Random(), typ, 5, 64)
		out := gpuprograms.OnDevice(t, must.Get(tirrun.New(typ, 5))(t), devices[0])
		must.Get(gputest.Function(t, lib, "rows").Call(gpuprograms.OnDevice(t, in, devices[0]), out))(t)
		result := must.Get(tirrun.New(typ, 5))(t)
		require.NoError(t, out.CopyToBytes(result.Data))
		v := must.Get(tirrun.Values[float64](in))(t)
		for i, got := range must.Get(tirrun.Values[float64](result))(t) {
			want := math.Inf(-1)
			for _, x := range v[i*64 : i*64+64] {
				want = max(want, x)
			}
			require.Equal(t, want, got, "%s, row %d", typ, i)
		}
	}
}

// A kernel that was built for larger subgroups than a device has is an error, not a wrong result.
func TestRun_SubgroupsLacking(t *testing.T) {
	size := 2 * subgroupSize(t)
	m := gpuprograms.Parsed(t, `
func f(a: handle) {
  buffer A: float32[64], param a
  thread x in range(64), thread "threadIdx.x" { A[x] = warp_shuffle_xor[float32](A[x], 1) }
}
`)
	lib := harness.LibraryFor(t, m, warpTarget(t, size, features))
	x := must.Open(runtime.NewTensor(dlpack.Float32, []int64{64}, devices[0]))(t)
	_, err := gputest.Function(t, lib, "f").Call(x)
	require.ErrorContains(t, err, fmt.Sprintf("kernel f_kernel needs subgroups of %d threads, and vulkan:0", size))
	require.ErrorContains(t, err, "thread_warp_size")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
}

// Shuffles need options of the target. Kernels without them do not depend on subgroups.
func TestEmit_Subgroups(t *testing.T) {
	m := gpuprograms.Parsed(t, `
func f(a: handle) {
  buffer A: float32[64], param a
  thread y in range(2), thread "threadIdx.y" {
    thread x in range(32), thread "threadIdx.x" { A[y * 32 + x] = warp_shuffle[float32](A[y * 32 + x], 1) }
  }
}
`)
	for options, want := range map[string]string{`"thread_warp_size": 32`: "supported_subgroup_operations",
		`"supported_subgroup_operations": 63`:                                                     "thread_warp_size",
		`"supported_subgroup_operations": 63, "thread_warp_size": 32, "max_spirv_version": 65536`: "needs SPIR-V 1.3"} {
		_, err := codegen.Build(m, device(t, `{"kind": "vulkan", `+options+"}"))
		require.ErrorContains(t, err, want)
	}
	text := spirvtest.Disassemble(t, shaders(t, m, warpTarget(t, 32, features))[0].Code)
	for _, part := range []string{`OpModuleProcessed "tvmgo.subgroup_size=32"`, "OpCapability GroupNonUniformShuffle",
		"BuiltIn SubgroupId", "BuiltIn SubgroupSize", "OpGroupNonUniformShuffle %float"} {
		require.Contains(t, text, part)
	}
	require.False(t, strings.Contains(text, "LocalInvocationId\n") && !strings.Contains(text, "SubgroupLocal"), text)
	tiles := shaders(t, gpuprograms.Tiles(t, 13, 11, 10, tir.Float32), warpTarget(t, 32, features))[0].Code
	require.NotContains(t, spirvtest.Disassemble(t, tiles), "ubgroup")
}
