//go:build !runtimeonly

package facts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tvmgo/bench"
	"tvmgo/codegen"
	"tvmgo/codegen/explain"
	"tvmgo/dlpack"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/nvrtc"
	"tvmgo/internal/spirv"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// OfProgram returns the facts of a program that codegen.Build made m of for a target, to be executed on a device: those
// of [OfModule] for its main kernel, and estimates from the program. sizes has the values of sizes that the program
// leaves open. What is not known is absent: on a CPU, everything. m may be nil if it was not built.
func OfProgram(program *tir.IRModule, t *target.Target, sizes map[string]int64, m *runtime.Module,
	on *bench.Device) bench.Facts {
	f := bench.Facts{}
	if t == nil || t.DeviceType() == dlpack.CPU {
		return f
	}
	r, err := codegen.Explain(program, t, codegen.WithSizes(sizes))
	if err != nil || len(r.Kernels) == 0 {
		return f
	}
	main := slices.MaxFunc(r.Kernels, func(a, b *explain.Kernel) int { return cmp.Compare(moved(a), moved(b)) })
	launch := runtime.LaunchConfig{}
	for i := range min(len(main.Block), 3) {
		launch.Block[i] = int(main.Block[i])
	}
	if m != nil {
		f = OfModule(m, main.Name, on, launch)
	}
	estimate(f, r, main)
	f[KernelCount] = len(r.Kernels)
	return f
}

func moved(k *explain.Kernel) float64 {
	if k.Work == nil {
		return 0
	}
	return k.Work.BytesMoved
}

// estimate adds what follows from the program.
func estimate(f bench.Facts, r *explain.Report, main *explain.Kernel) {
	set := func(name string, value any) { (&asked{facts: f}).set(name, value) }
	set(KernelName, main.Name)
	set(ThreadsPerBlock, main.ThreadsPerBlock)
	if len(main.Grid) > 0 {
		blocks := int64(1)
		for _, n := range main.Grid {
			blocks *= n
		}
		set(BlockCount, blocks)
	}
	if c := main.Resources; c != nil { // the assembler's; the driver's win
		if f[Registers] == nil {
			set(Registers, c.Registers)
			set(ResourcesFrom, "compiler")
		}
		f[Spills] = c.SpillStores
	}
	if f[SharedMemory] == nil && main.ThreadsPerBlock > 0 && len(main.Limits) == 0 {
		f[SharedMemory] = main.SharedBytes
	}
	if o := main.Occupancy; o != nil {
		set(EstimatedOccupancy, o.Fraction)
		set(EstimatedLimit, strings.Join(o.LimitedBy, ", "))
	}
	var bytes, needed, ops float64
	for _, k := range r.Kernels {
		if k.Work == nil {
			return
		}
		bytes += k.Work.BytesMoved
		needed += k.Work.FootprintRead + k.Work.FootprintWrite
		ops += k.Work.Operations
	}
	if r.WarpSize > 1 { // else sectors of a warp's request are not known
		set(EstimatedMoved, bytes)
	}
	set(EstimatedNeeded, needed)
	set(EstimatedOps, ops)
	if needed > 0 {
		set(EstimatedIntensity, ops/needed)
	}
	set(EstimatedBound, main.Work.Bound)
}

// OfModule returns the facts of a kernel of a loaded module on a device, for blocks and shared memory of a launch;
// zeros if they are not known. name is a kernel, or a function of the host whose kernels are named after it, as
// generated code names them; of several kernels, the first one counts. What is not known is absent.
func OfModule(m *runtime.Module, name string, on *bench.Device, c runtime.LaunchConfig) bench.Facts {
	f := bench.Facts{}
	kernels := kernelsOf(m, name, on.Handle.Type)
	if len(kernels) == 0 {
		return f
	}
	f[KernelName], f[KernelCount] = kernels[0], len(kernels)
	if code, err := m.KernelCode(kernels[0], on.Handle.Type); err == nil {
		ofCode(f, code, kernels[0])
	}
	set := func(name string, value int64) {
		if value >= 0 {
			f[name] = value
		}
	}
	threads := int64(c.Block[0])
	for _, n := range c.Block[1:] {
		threads *= int64(max(n, 1))
	}
	if threads > 0 {
		f[ThreadsPerBlock] = threads
	}
	if c.Grid[0] > 0 {
		f[BlockCount] = int64(c.Grid[0]) * int64(max(c.Grid[1], 1)) * int64(max(c.Grid[2], 1))
	}
	r, err := m.KernelResources(kernels[0], on.Handle, c)
	if err != nil {
		return f
	}
	f[ResourcesFrom] = "driver"
	set(Registers, r.Registers)
	set(LocalMemory, r.LocalBytes)
	set(ConstantMemory, r.ConstantBytes)
	set(BlockLimit, r.MaxThreads)
	set(BlockMultiple, r.Multiple)
	if r.SharedBytes >= 0 {
		f[SharedMemory] = r.SharedBytes + int64(c.SharedBytes)
	}
	set(BlocksPerUnit, r.Blocks)
	most, _ := on.Facts[ThreadsPerUnit].(int64)
	warp, _ := on.Facts[SubgroupSize].(int64)
	if r.Blocks >= 0 && most > 0 && warp > 0 && threads > 0 {
		f[Occupancy] = float64(r.Blocks*((threads+warp-1)/warp)*warp) / float64(most)
	}
	return f
}

// kernelsOf returns the kernels with a name, or of a function with that name.
func kernelsOf(m *runtime.Module, name string, of dlpack.DeviceType) (list []string) {
	if _, err := m.KernelCode(name, of); err == nil {
		return []string{name}
	}
	own := regexp.MustCompile(`^` + regexp.QuoteMeta(name) + `(__\w+)?_kernel(_?\d+)?$`)
	for _, other := range m.AllFunctions() {
		if !own.MatchString(other) {
			continue
		}
		if _, err := m.KernelCode(other, of); err == nil {
			list = append(list, other)
		}
	}
	return list
}

// ofCode adds what the code of a kernel says.
func ofCode(f bench.Facts, code runtime.KernelCode, kernel string) {
	var mix map[string]int
	from := ""
	switch code.Format {
	case "spv":
		mix, _ = spirv.Mix(code.Data)
		from = "SPIR-V"
		ofSPIRV(f, code.Data, kernel)
	case "ptx":
		mix, from = cudaimage.PTXMix(code.Data, kernel), "PTX"
	case "cl":
		mix, from = sourceMix(string(code.Data), kernel), "OpenCL C"
	}
	if r := compiled(code.Data, kernel); r != nil {
		f[ResourcesFrom] = "compiler"
		f[Registers], f[SharedMemory], f[ConstantMemory] = int64(r.Registers), int64(r.Shared), int64(r.Constant)
		f[LocalMemory] = int64(r.Local)
		if r.Spills != nil {
			f[Spills] = int64(r.Spills.Stores)
		}
		if mix == nil && code.Source != "" {
			mix, from = compiledMix(code.Source, r.Arch, kernel), "PTX by NVRTC"
		}
	}
	if len(mix) > 0 {
		f[InstructionMix], f[Instructions], f[InstructionsFrom] = mixText(mix), total(mix), from
	}
}

// ofSPIRV adds what the entry point of a shader declares.
func ofSPIRV(f bench.Facts, code []byte, kernel string) {
	m, err := spirv.Parse(code)
	if err != nil {
		return
	}
	names := m.Names(spirv.Compute)
	if len(names) == 0 {
		return
	}
	name := names[0]
	if slices.Contains(names, kernel) {
		name = kernel
	}
	if e, ok := m.EntryPoint(name, spirv.Compute); ok {
		f[SharedMemory], f[ResourcesFrom] = int64(e.SharedBytes), "SPIR-V"
		if n := int64(e.LocalSize[0]) * int64(e.LocalSize[1]) * int64(e.LocalSize[2]); n > 0 && !e.Adjustable {
			f[ThreadsPerBlock] = n
		}
	}
}

// compiled returns the resources that an image of CUDA states for a kernel; nil if it states none.
func compiled(image []byte, kernel string) *cudaimage.Resources {
	info, err := cudaimage.Describe(image)
	if err != nil {
		return nil
	}
	for _, p := range info.Parts {
		for _, k := range p.Kernels {
			if k.Name == kernel && k.Resources != nil {
				return k.Resources
			}
		}
	}
	return nil
}

// compiledMix counts the instructions of PTX that NVRTC makes of CUDA C; nil without NVRTC. The result of the compiler
// is kept on disk.
func compiledMix(source, arch, kernel string) map[string]int {
	c, err := nvrtc.Find()
	if err != nil {
		return nil
	}
	r, err := c.CompileCached(context.Background(), nvrtc.Source{Name: "kernels.cu", Code: source, Arch: arch,
		Want: nvrtc.PTX})
	if err != nil {
		return nil
	}
	return cudaimage.PTXMix(r.Image, kernel)
}

// mixText returns "fma 64, load global 4": the most frequent class first.
func mixText(mix map[string]int) string {
	classes := slices.SortedFunc(maps.Keys(mix), func(a, b string) int {
		return cmp.Or(cmp.Compare(mix[b], mix[a]), cmp.Compare(a, b))
	})
	for i, c := range classes {
		classes[i] = fmt.Sprintf("%s %d", c, mix[c])
	}
	return strings.Join(classes, ", ")
}

func total(mix map[string]int) (n int) {
	for _, k := range mix {
		n += k
	}
	return n
}
