package facts

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"tvmgo/bench"
	"tvmgo/internal/nearest"
)

// The facts of a device.
const (
	Processor        = "processor"
	Architecture     = "architecture"
	DriverName       = "driver"
	DriverVersion    = "driver version"
	APIVersion       = "API version"
	Library          = "library"
	MemoryType       = "memory type"
	MemoryHeap       = "memory heap"
	Memory           = "memory"
	FreeMemory       = "free memory"
	AllocationLimit  = "allocation limit"
	MemoryClock      = "memory clock"
	MemoryBus        = "memory bus"
	SubgroupSize     = "subgroup size"
	SharedLimit      = "shared-memory limit"
	SharedLimitOptIn = "shared-memory limit with opt-in"
	SharedPerUnit    = "shared memory of a compute unit"
	RegistersLimit   = "registers of a block"
	ThreadsLimit     = "threads of a block"
	ThreadsPerUnit   = "threads of a compute unit"
	ComputeUnits     = "compute units"
	MaximumClock     = "maximum clock"
	L1Cache          = "L1 cache"
	L2Cache          = "L2 cache"
	L3Cache          = "L3 cache"
	DeviceTimer      = "device timer"
	TimerResolution  = "timer resolution"
	PCIAddress       = "PCI address"
	UUID             = "UUID"
	PCIeLink         = "PCIe link"
	Cores            = "cores"
	LogicalCPUs      = "logical CPUs"
	Threads          = "threads"
	SIMD             = "SIMD"
	Governor         = "governor"
	MinimumClock     = "minimum clock"
	Turbo            = "turbo"
	SensorName       = "sensor"
)

// The facts of a row.
const (
	KernelName         = "kernel"
	KernelCount        = "kernels"
	ThreadsPerBlock    = "threads per block"
	BlockCount         = "blocks"
	Registers          = "registers"
	Spills             = "spills"
	LocalMemory        = "local memory"
	SharedMemory       = "shared memory"
	ConstantMemory     = "constant memory"
	BlockLimit         = "largest block"
	BlockMultiple      = "block multiple"
	ResourcesFrom      = "resources from"
	Occupancy          = "occupancy"
	BlocksPerUnit      = "blocks per compute unit"
	Instructions       = "instructions"
	InstructionMix     = "instruction mix"
	InstructionsFrom   = "instructions from"
	EstimatedOccupancy = "estimated occupancy"
	EstimatedLimit     = "estimated occupancy limit"
	EstimatedMoved     = "estimated bytes moved"
	EstimatedNeeded    = "estimated bytes needed"
	EstimatedOps       = "estimated operations"
	EstimatedIntensity = "estimated intensity"
	EstimatedBound     = "estimated bound"
)

// Fact describes a fact.
type Fact struct {
	Name    string
	Unit    string // "bytes", "MHz", "ns", "share" (of 1); "" for a count, a text or a boolean
	Of      string // "device" or "row"
	Meaning string
	Source  string // what reports it, for each API
}

// Table returns all facts, in the order in which they are shown.
func Table() []Fact { return append([]Fact{}, table...) }

const device, row = "device", "row"

var table = []Fact{
	{Processor, "", device, "CPU, GPU, discrete GPU, integrated GPU, virtual GPU, accelerator or other",
		"CUDA, OpenCL, Vulkan"},
	{Architecture, "", device, "the instruction set or generation for which code is compiled", "CUDA, CPU"},
	{DriverName, "", device, "the driver; for OpenCL the platform", "CUDA, OpenCL, Vulkan"},
	{DriverVersion, "", device, "the version of the driver, in its maker's form",
		"CUDA: `/proc/driver/nvidia/version`; OpenCL, Vulkan"},
	{APIVersion, "", device, "the newest version of the API that the device has", "CUDA, OpenCL, Vulkan"},
	{Library, "", device, "the file of the driver or of the loader that was opened", "CUDA, OpenCL, Vulkan"},
	{MemoryType, "", device, "where arrays are: device-local; shared with the host, which has the same memory; host",
		"CUDA, OpenCL, Vulkan; calculated for the CPU"},
	{MemoryHeap, "", device, "memory type and heap of arrays, with their properties", "Vulkan"},
	{Memory, "bytes", device, "memory of the device; for Vulkan, of the heap of arrays", "all"},
	{FreeMemory, "bytes", device, "free memory when the device was opened, for all processes", "CUDA, Vulkan, CPU"},
	{AllocationLimit, "bytes", device, "the largest array that the driver allocates", "OpenCL, Vulkan"},
	{MemoryClock, "MHz", device, "the highest clock of the memory", "CUDA"},
	{MemoryBus, "bits", device, "width of the bus to the memory", "CUDA"},
	{SubgroupSize, "", device, "threads that execute an instruction together: a warp, wave or subgroup",
		"CUDA, Vulkan; OpenCL by extensions of NVIDIA, AMD and Intel"},
	{SharedLimit, "bytes", device, "shared memory that a block can have", "CUDA, OpenCL, Vulkan"},
	{SharedLimitOptIn, "bytes", device, "shared memory that a block can have if its kernel asks for it", "CUDA"},
	{SharedPerUnit, "bytes", device, "shared memory of all blocks on a compute unit", "CUDA"},
	{RegistersLimit, "", device, "32-bit registers that a block can have",
		"CUDA; OpenCL by an extension of NVIDIA"},
	{ThreadsLimit, "", device, "threads that a block can have", "CUDA, OpenCL, Vulkan"},
	{ThreadsPerUnit, "", device, "threads of all blocks on a compute unit", "CUDA"},
	{ComputeUnits, "", device, "multiprocessors, compute units or, of a CPU behind OpenCL, cores", "CUDA, OpenCL"},
	{MaximumClock, "MHz", device, "the highest clock of the processor", "CUDA, OpenCL; CPU: cpufreq"},
	{L1Cache, "bytes", device, "data cache of the first core", "CPU"},
	{L2Cache, "bytes", device, "the GPU's cache in front of its memory; for `cpu`, the cache of the first core",
		"CUDA, OpenCL, CPU"},
	{L3Cache, "bytes", device, "the cache that the first core shares with others", "CPU"},
	{DeviceTimer, "", device, "whether the device measures times itself; otherwise the wall clock does",
		"all, by making a timer"},
	{TimerResolution, "ns", device, "the smallest difference of the device's timer", "OpenCL, Vulkan"},
	{PCIAddress, "", device, "domain, bus, device and function", "CUDA, Vulkan; OpenCL by extensions"},
	{UUID, "", device, "identifies the device, as `nvidia-smi -L` shows it", "CUDA, Vulkan; OpenCL by an extension"},
	{PCIeLink, "", device, "speed and width of the link at present, and the highest ones",
		"sysfs, by the PCI address"},
	{Cores, "", device, "physical cores of the machine", "CPU: sysfs"},
	{LogicalCPUs, "", device, "hardware threads of the machine", "CPU: sysfs"},
	{Threads, "", device, "threads that a parallel kernel uses", "CPU: `runtime.NumThreads`"},
	{SIMD, "", device, "vector instructions that code can use", "CPU: `/proc/cpuinfo`"},
	{Governor, "", device, "policy by which the system selects the clock", "CPU: cpufreq"},
	{MinimumClock, "MHz", device, "the lowest clock of the processor", "CPU: cpufreq"},
	{Turbo, "", device, "whether clocks above the nominal one are permitted", "CPU: cpufreq"},
	{SensorName, "", device, "what reads clock, temperature and power during the run", "NVML, sysfs"},

	{"target", "", row, "the target for which a program was built", "`tvmgo bench` of a `.tir` file"},
	{"calls between restores", "", row, "calls after which arrays that the function changes are restored",
		"`tvmgo bench` of a function"},
	{"vector width", "", row, "elements of the vectors that a kernel computes with, reads or writes",
		"suites compute, bandwidth"},
	{"matrix", "", row, "rows, columns and length of the sums of the products that a warp computes", "suite compute"},
	{"sums", "", row, "type of the sums of these products", "suite compute"},
	{"array", "bytes", row, "size of each large array that a kernel reads or writes", "suite bandwidth"},
	{"group size", "", row, "work items of a group", "suite bandwidth"},
	{"chains", "", row, "independent sequences of multiply-adds in a thread", "suite compute"},
	{"multiply-adds", "", row, "multiply-adds of a thread in each chain", "suite compute"},
	{"groups", "", row, "blocks of a launch", "suites compute, bandwidth"},
	{KernelName, "", row, "the kernel that the facts below are of: the one that moves most bytes", "program"},
	{KernelCount, "", row, "kernels that a call launches", "program"},
	{ThreadsPerBlock, "", row, "threads of a block in a launch", "program; SPIR-V"},
	{BlockCount, "", row, "blocks of the grid", "program"},
	{Registers, "", row, "32-bit registers of a thread", "CUDA: driver, else compiler"},
	{Spills, "bytes", row, "that a thread stores to memory because it has too few registers", "CUDA: compiler"},
	{LocalMemory, "bytes", row, "memory of a thread: its arrays and spilled registers",
		"CUDA: driver, else compiler; OpenCL: driver (private memory)"},
	{SharedMemory, "bytes", row, "shared memory of a block, with what the launch adds",
		"CUDA: driver, else compiler; OpenCL: driver; Vulkan: SPIR-V"},
	{ConstantMemory, "bytes", row, "constant memory of the kernel", "CUDA: driver, else compiler"},
	{BlockLimit, "", row, "threads that a block of this kernel can have", "CUDA, OpenCL: driver"},
	{BlockMultiple, "", row, "of which the threads of a block should be a multiple", "OpenCL: driver"},
	{ResourcesFrom, "", row, "what reports registers and memory: driver, compiler or SPIR-V", "all"},
	{BlocksPerUnit, "", row, "blocks that a compute unit executes at the same time", "CUDA: driver"},
	{Occupancy, "share", row, "threads on a compute unit, of those that it can have", "CUDA: driver"},
	{Instructions, "", row, "instructions of the kernel's code; each counts once, in however many iterations it runs",
		"as `instructions from`"},
	{InstructionMix, "", row, "their number by class, the most frequent first", "as `instructions from`"},
	{InstructionsFrom, "", row, "the code in which instructions are counted: SPIR-V; PTX; PTX by NVRTC, which an " +
		"assembler still changes; OpenCL C, where operators and calls are counted", "all but the CPU"},
	{EstimatedOccupancy, "share", row, "occupancy by the limits of the GPU's generation", "estimate: `codegen.Explain`"},
	{EstimatedLimit, "", row, "what limits it: warps, blocks, registers, shared memory", "estimate: `codegen.Explain`"},
	{EstimatedMoved, "bytes", row, "32 for each sector of each request to global memory, without caches; of all kernels",
		"estimate: `codegen.Explain`"},
	{EstimatedNeeded, "bytes", row, "read or written if each byte of an array is accessed once; of all kernels",
		"estimate: `codegen.Explain`"},
	{EstimatedOps, "", row, "operations on values, without those on indices; of all kernels",
		"estimate: `codegen.Explain`"},
	{EstimatedIntensity, "", row, "estimated operations per byte that is needed", "estimate: `codegen.Explain`"},
	{EstimatedBound, "", row, "memory, compute or cache: what the kernel should wait for, by the peak figures of the " +
		"target's GPU", "estimate: `codegen.Explain`"},
}

// Check returns an error for facts of a device or of a row that [Table] does not have, or whose values have other types
// than numbers, strings and booleans.
func Check(of string, all bench.Facts) error {
	var names []string
	for _, f := range table {
		if f.Of == of {
			names = append(names, f.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(names, name) {
			err := fmt.Errorf("fact %q of a %s is not in facts.Table", name, of)
			if near := nearest.Name(name, names); near != "" {
				err = fmt.Errorf("%w: did you mean %q?", err, near)
			}
			return err
		}
		switch v := all[name].(type) {
		case int, int64, float64, string, bool:
		default:
			return fmt.Errorf("fact %q has the type %T: use a number, a string or a boolean", name, v)
		}
	}
	return nil
}

// Text returns the value of a fact for people, with its unit: "16 GiB", "1980 MHz".
func Text(name string, value any) string {
	number, ok := asNumber(value)
	if !ok {
		if yes, isBool := value.(bool); isBool {
			return map[bool]string{true: "yes", false: "no"}[yes]
		}
		return fmt.Sprint(value)
	}
	text := strconv.FormatFloat(number, 'f', -1, 64)
	for _, f := range table {
		if f.Name != name {
			continue
		}
		switch f.Unit {
		case "bytes":
			return bytesText(number)
		case "share":
			return strconv.FormatFloat(100*number, 'f', 0, 64) + " %"
		case "":
			return text
		}
		return text + " " + f.Unit
	}
	return text
}

// bytesText returns a size with three digits: "1.44 MiB".
func bytesText(n float64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; math.Abs(n) >= 1024 && i < len(units)-1; i++ {
		n /= 1024
	}
	digits := 2
	for limit := 10.0; digits > 0 && math.Abs(n) >= limit; limit *= 10 {
		digits--
	}
	if n == math.Trunc(n) {
		digits = 0
	}
	return strconv.FormatFloat(n, 'f', digits, 64) + " " + units[i]
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
