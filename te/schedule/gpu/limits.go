package gpu

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/tir"
)

// Limits are the properties of a target that schedules derive from.
type Limits struct {
	Threads  int    // of a block: the lesser of max_threads_per_block and max_num_threads
	Shared   int    // bytes of shared memory of a block: max_shared_memory_per_block
	Dynamic  int    // those of a block that asks for more: of CUDA's arch; Shared if max_shared_memory_per_block is set
	Resident int    // bytes of shared memory of a multiprocessor, at least: of CUDA's arch; 0 if it is not known
	Warp     int    // threads of a warp, or subgroup: thread_warp_size; 1 if the target has no warps
	Grid     [3]int // blocks in the dimensions x, y and z
	Lanes    int    // elements of 4 bytes of the longest vectors of the device's language

	// Shuffles says that the threads of a warp can exchange values.
	Shuffles bool

	// OnCPU says that a driver runs the kernels on a CPU, as PoCL and lavapipe do: device_type is "cpu". There shared
	// memory is not faster than global memory, and a block is a loop of one CPU thread.
	OnCPU bool

	// AsyncCopies says that threads copy from global to shared memory without waiting.
	AsyncCopies bool

	// Fragments are the products of fragments that a warp computes; none without tensor cores.
	Fragments []Fragment

	// ThreadLanes says that such a driver runs adjacent threads as the lanes of vectors, as lavapipe does. PoCL runs the
	// threads of a block one after another, and its compiler finds vectors within a thread.
	ThreadLanes bool
}

// LimitsOf returns the limits of a target. Options that are not set have the values that every device of the kind
// supports.
func LimitsOf(t *target.Target) Limits {
	l := Limits{Threads: math.MaxInt, Shared: 16 << 10, Warp: 1, Lanes: 4}
	most := math.MaxInt32
	l.Grid = [3]int{most, most, most} // OpenCL's limit is the address space
	switch t.DeviceType() {
	case dlpack.OpenCL:
		l.Lanes = 16
	case dlpack.CUDA, dlpack.ROCM:
		l.Shared, l.Grid = 48<<10, [3]int{most, 65535, 65535}
	case dlpack.Vulkan, dlpack.WebGPU:
		l.Grid = [3]int{65535, 65535, 65535}
	}
	attrs := t.Attrs()
	number := func(option string) (int, bool) {
		n, ok := attrs[option].(int64)
		return int(min(n, math.MaxInt32)), ok && n > 0
	}
	for _, option := range []string{"max_num_threads", "max_threads_per_block"} {
		if n, ok := number(option); ok {
			l.Threads = min(l.Threads, n)
		}
	}
	if l.Threads == math.MaxInt {
		l.Threads = 64
	}
	if n, ok := number("max_shared_memory_per_block"); ok {
		l.Shared = n
	}
	if n, ok := number("thread_warp_size"); ok {
		l.Warp = n
	}
	arch := archOf(t)
	if l.Dynamic = l.Shared; attrs["max_shared_memory_per_block"] == nil {
		l.Dynamic = max(l.Shared, int(target.SharedPerBlock(arch)))
	}
	l.Resident = int(target.SharedPerBlock(arch))
	l.AsyncCopies = arch >= 80
	l.Fragments = fragmentsOf(t, arch)
	l.OnCPU = attrs["device_type"] == "cpu"
	l.ThreadLanes = l.OnCPU && t.DeviceType() == dlpack.Vulkan
	l.Shuffles = l.Warp > 1 && hasShuffles(t)
	return l
}

// archOf returns the compute capability of CUDA that a target is for, such as 90; 0 if there is none.
func archOf(t *target.Target) int {
	if t.DeviceType() != dlpack.CUDA {
		return 0
	}
	name, err := target.Get[string](t, "arch")
	if err != nil {
		name, _ = target.Get[string](t, "mcpu") // of kind nvptx
	}
	arch, _ := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(name, "sm_"), "af"))
	return arch
}

// fragmentsOf returns the products of fragments that the warps of a target compute: those of tensor cores, by the
// architecture of CUDA, or of cooperative matrices.
func fragmentsOf(t *target.Target, arch int) []Fragment {
	half := Fragment{tir.Float16, tir.Float32, 16, 16, 16}
	switch t.DeviceType() {
	case dlpack.CUDA:
	case dlpack.Vulkan: // this shape is the one that most devices have
		matrices, _ := target.Get[bool](t, "supports_cooperative_matrix")
		warp, _ := target.Get[int64](t, "thread_warp_size")
		if matrices && warp > 1 {
			return []Fragment{half}
		}
		return nil
	default:
		return nil
	}
	var all []Fragment
	if arch >= 75 {
		all = append(all, half, Fragment{tir.Int8, tir.Int32, 16, 16, 32}, Fragment{tir.UInt8, tir.Int32, 16, 16, 32})
	}
	if arch >= 80 {
		all = append(all, Fragment{tir.BFloat16, tir.Float32, 16, 16, 16}, Fragment{tir.Float32, tir.Float32, 16, 16, 8})
	}
	return all
}

// shuffleBit is VK_SUBGROUP_FEATURE_SHUFFLE_BIT.
const shuffleBit = 0x10

// hasShuffles reports whether kernels of a target can exchange values between the threads of a warp.
func hasShuffles(t *target.Target) bool {
	switch t.DeviceType() {
	case dlpack.CUDA:
		return true
	case dlpack.OpenCL:
		list, _ := t.Attrs()["extensions"].([]string)
		return slices.Contains(list, "cl_khr_subgroup_shuffle") || slices.Contains(list, "cl_intel_subgroups")
	case dlpack.Vulkan:
		operations, _ := t.Attrs()["supported_subgroup_operations"].(int64)
		return operations&shuffleBit != 0
	}
	return false
}
