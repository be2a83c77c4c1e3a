package vulkan_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/spirv"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// demand is a kernel that needs something of a device.
type demand struct {
	program string
	options string // of the target, by which it is built
	want    string // the feature, and the device is named, too
	remedy  string // the option in the error
	without string // options with which it runs on a device without the feature; "" if none exist
}

// sums is a kernel that adds elements of a type.
func sums(typ string) string {
	return fmt.Sprintf(`
func f(a: handle) {
  buffer A: %s[64], param a
  thread i in range(64), thread "threadIdx.x" { A[i] = A[i] + A[i] }
}
`, typ)
}

// inBlocks is a kernel whose blocks have a number of threads and of bytes of shared memory.
func inBlocks(threads, bytes int, value string) string {
	return strings.NewReplacer("N", fmt.Sprint(threads), "S4", fmt.Sprint(bytes/4), "VALUE", value).Replace(`
func f(a: handle) {
  buffer A: float32[N], param a
  thread b in range(1), thread "blockIdx.x" {
    alloc S: float32[S4], scope "shared"
    thread i in range(N), thread "threadIdx.x" {
      S[i] = A[i]
      A[i] = S[i] + VALUE
    }
  }
}
`)
}

const fragments = `
func f(a: handle, c: handle) {
  buffer A: float16[16, 16], param a
  buffer C: float32[16, 16], param c
  thread b in range(1), thread "blockIdx.x" {
    thread x in range(32), thread "threadIdx.x" {
      alloc FA: float16[256], scope "fragment.a"
      alloc FB: float16[256], scope "fragment.b"
      alloc F: float32[256], scope "fragment.acc"
      fragment_load[void](address_of[handle](FA[0]), 16, 16, 16, address_of[handle](A[0, 0]), 16, "row_major")
      fragment_load[void](address_of[handle](FB[0]), 16, 16, 16, address_of[handle](A[0, 0]), 16, "row_major")
      fragment_fill[void](address_of[handle](F[0]), 16, 16, 16, cast(float32, 1))
      fragment_mma[void](address_of[handle](F[0]), 16, 16, 16, address_of[handle](FA[0]), address_of[handle](FB[0]))
      fragment_store[void](address_of[handle](F[0]), 16, 16, 16, address_of[handle](C[0, 0]), 16, "row_major")
    }
  }
}
`

// neighbor is the value of the thread with which another one exchanges values.
const neighbor = "warp_shuffle_xor[float32](A[i], 1)"

const warps = `"supported_subgroup_operations": 255, "thread_warp_size": 32, "max_threads_per_block": 1024`

const matrices = `"supports_cooperative_matrix": true, "supports_float16": true, "supports_int16": true,
	"supports_16bit_buffer": true, "thread_warp_size": 32`

// demands are kernels that a restricted device cannot run, by the restriction.
var demands = map[string][]demand{
	"SHIM_NO=shaderInt64,shaderFloat64,shaderInt8,shaderInt16,shaderFloat16,storageBuffer8BitAccess," +
		"storageBuffer16BitAccess": {
		{sums("int64"), `"supports_int64": true`, "shaderInt64 (capability Int64)", "supports_int64", ""},
		{sums("uint64"), `"supports_int64": true`, "shaderInt64 (capability Int64)", "supports_int64", ""},
		{sums("float64"), `"supports_float64": true`, "shaderFloat64 (capability Float64)", "supports_float64", ""},
		{sums("int8"), `"supports_int8": true`, "shaderInt8 (capability Int8)", "supports_int8", "-"},
		{sums("uint16"), `"supports_int16": true`, "shaderInt16 (capability Int16)", "supports_int16", "-"},
		{sums("float16"), `"supports_float16": true`, "shaderFloat16 (capability Float16)", "supports_float16", "-"},
		{sums("int8"), `"supports_8bit_buffer": true`, "storageBuffer8BitAccess (capability StorageBuffer8BitAccess)",
			"supports_8bit_buffer", "-"},
		{sums("bfloat16"), `"supports_16bit_buffer": true`,
			"storageBuffer16BitAccess (capability StorageBuffer16BitAccess)", "supports_16bit_buffer", "-"},
	},
	"SHIM_NO=cooperativeMatrix": {{fragments, matrices,
		"cooperativeMatrix (VK_KHR_cooperative_matrix) (capability CooperativeMatrixKHR)", "supports_cooperative_matrix",
		""}},
	"SHIM_NO=vulkanMemoryModel": {{fragments, matrices, "vulkanMemoryModel (capability VulkanMemoryModel)",
		"supports_cooperative_matrix", ""}},
	"SHIM_SUBGROUPS=239,32,32,64": {{inBlocks(64, 256, neighbor), warps,
		`subgroup operations of the kind "shuffle" (capability GroupNonUniformShuffle)`, "supported_subgroup_operations",
		""}},
	"SHIM_SUBGROUPS=255,16,16,64": {{inBlocks(64, 256, neighbor), warps,
		`subgroups of 32 threads, and vulkan:0`, "option thread_warp_size", ""}},
	"SHIM_SUBGROUPS=255,16,64,2": {{inBlocks(128, 512, neighbor), warps,
		`has blocks of 128 threads, and vulkan:0`, "max_threads_per_block=64", ""}},
	"SHIM_SHARED=16384": {{inBlocks(64, 20000, "1.0"), `"max_shared_memory_per_block": 32768`,
		"uses 20000 bytes of shared memory in each block, 3616 more than vulkan:0", "max_shared_memory_per_block=16384", ""}},
	"SHIM_THREADS=128": {{inBlocks(256, 1024, "1.0"), `"max_threads_per_block": 256`,
		"blocks of [256 1 1], 256 work-items; vulkan:0", "max_threads_per_block=128", ""}},
}

// A kernel that was built for features that the device lacks is an error that names the feature, the device and the
// option; without this option, it runs where a substitute exists.
func TestKernel_DeviceLacks(t *testing.T) {
	if !inChild() {
		need(t)
		library := "TVMGO_VULKAN_LIBRARY=" + shim(t)
		for restriction := range demands {
			passes(t, library, "TVMGO_VULKAN_VALIDATION=0", restriction, "TVMGO_TEST_RESTRICTION="+restriction)
		}
		return
	}
	run := func(d demand, options string) error {
		to := must.Get(target.New(`{"kind": "vulkan", "host": "c", "max_spirv_version": 67072, ` + options + `}`))(t)
		m := must.Get(text.Parse(d.program))(t)
		built := must.Open(codegen.Build(m, to))(t)
		var args []any
		for _, p := range m.Funcs[0].Params {
			b := m.Funcs[0].Buffers[p]
			shape := []int64{}
			for _, n := range b.Shape {
				shape = append(shape, n.(*tir.IntImm).Value)
			}
			x := must.Open(runtime.NewTensor(dlpack.DataType(b.DType), shape, first))(t)
			require.NoError(t, x.CopyFromBytes(make([]byte, x.Size())))
			args = append(args, x)
		}
		_, err := gputest.Function(t, built, "f").Call(args...)
		return err
	}
	for _, d := range demands[os.Getenv("TVMGO_TEST_RESTRICTION")] {
		err := run(d, d.options)
		require.Error(t, err, "%+v", d)
		for _, part := range []string{"f_kernel", d.want, "vulkan:0 (", d.remedy, "build "} {
			require.ErrorContains(t, err, part)
		}
		if d.without != "" {
			require.NoError(t, run(d, strings.Replace(d.options, "true", "false", 1)), "%+v", d)
		}
	}
}
