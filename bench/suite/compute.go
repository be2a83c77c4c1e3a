package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Compute returns the cases of suite compute: rates of multiply-adds, by type and by width of vectors. Names without a
// slash are vkpeak's, or made like them; those with a slash are tests and metrics of clpeak.
//
// A case of vkpeak's has independent chains, so that it reaches the peak. One of clpeak's is a single chain, as clpeak
// has it: on a CPU it measures the latency of a multiply-add.
func Compute() []*bench.Case {
	var cases []*bench.Case
	for _, p := range computePeaks() {
		cases = append(cases, &bench.Case{Suite: "compute", Name: p.name, Doc: p.doc(), Figure: p.figure, Family: p.family,
			Variants: []bench.Variant{{Open: func(ctx context.Context, on *bench.Device) (bench.Work, error) {
				return p.open(ctx, on, launchTime)
			}}}})
	}
	for _, p := range matrixPeaks {
		figure := bench.Flops
		if tir.IsInt(p.operand) {
			figure = bench.IntOps
		}
		cases = append(cases, &bench.Case{Suite: "compute", Name: p.name, Doc: p.doc, Figure: figure,
			Variants: []bench.Variant{{Open: func(ctx context.Context, on *bench.Device) (bench.Work, error) {
				to, err := Target(on)
				if err != nil {
					return nil, err
				}
				k, why := p.kernelFor(to)
				if why != "" {
					return nil, notMeasured("%s", why)
				}
				return openPeak(ctx, on, k, unit(on, to), launchTime)
			}}}})
	}
	return cases
}

// launchTime is about the time that a launch of a peak kernel takes: long compared with the launch itself, and short
// for a watchdog.
const launchTime = 4 * time.Millisecond

// peak is a case of a rate of multiply-adds.
type peak struct {
	peakType
	name, family string
	width        int
	single       bool // one chain of each work item, as clpeak
	dot          bool // dot products of int8
}

func computePeaks() (list []peak) {
	for _, t := range peakTypes {
		for _, width := range t.widths {
			name := fmt.Sprintf("%s-vec%d", t.vkpeak, width)
			if width == 1 {
				name = t.vkpeak + "-scalar"
			}
			list = append(list, peak{peakType: t, name: name, family: "compute/" + t.vkpeak, width: width})
		}
	}
	list = append(list, peak{peakType: peakType{t: tir.Int32, figure: bench.IntOps}, name: "int8-dotprod", width: 1,
		dot: true})
	for _, t := range peakTypes {
		for _, width := range []int{1, 2, 4, 8, 16} {
			name := t.test + "/" + t.clpeak
			if width > 1 {
				name = fmt.Sprintf("%s%d", name, width)
			}
			list = append(list, peak{peakType: t, name: name, width: width, single: true})
		}
	}
	return list
}

// peakTypes are the types of suite compute, with their names in vkpeak and clpeak.
var peakTypes = []peakType{
	{tir.Float32, "fp32", "single_precision_compute", "float", bench.Flops, []int{1, 4, 8, 16}},
	{tir.Float16, "fp16", "half_precision_compute", "half", bench.Flops, []int{1, 4}},
	{tir.Float64, "fp64", "double_precision_compute", "double", bench.Flops, []int{1, 4, 8}},
	{tir.Int32, "int32", "integer_compute", "int", bench.IntOps, []int{1, 4, 8, 16}},
}

type peakType struct {
	t            tir.Type
	vkpeak       string
	test, clpeak string
	figure       bench.Figure
	widths       []int // of vkpeak's cases; 8 and more are for CPUs
}

func (p peak) doc() string {
	chains := "independent chains"
	if p.single {
		chains = "one chain in each work item"
	}
	if p.dot {
		return "dot products of four int8, which are added to an int32, independent chains"
	}
	return fmt.Sprintf("multiply-adds of %s in vectors of %d, %s", tir.TypeName(p.t), p.width, chains)
}

// open prepares the case on a device: a launch takes about the given time.
func (p peak) open(ctx context.Context, on *bench.Device, aim time.Duration) (bench.Work, error) {
	to, err := Target(on)
	if err != nil {
		return nil, err
	}
	if why := lacksType(to, p.t); why != "" {
		return nil, notMeasured("%s", why)
	}
	if p.width >= 8 && !p.single && !hasVectors(to) {
		return nil, notMeasured("the device has no vectors of %d elements: each work item computes scalars", p.width)
	}
	k := peakKernelFor(to, p.t, p.width, p.single)
	if p.dot {
		if why := lacksDot(to); why != "" {
			return nil, notMeasured("%s", why)
		}
		k.madd = dot
	}
	w, err := openPeak(ctx, on, k, unit(on, to), aim)
	if err != nil && p.t == tir.Float64 && strings.Contains(err.Error(), "lacks extension cl_khr_fp64") {
		return nil, notMeasured("the device has no float64 (cl_khr_fp64)")
	}
	return w, err
}

// peakKernelFor returns the kernel for a target.
func peakKernelFor(to *target.Target, t tir.Type, width int, single bool) *peakKernel {
	p := &peakKernel{t: t, width: width, chains: chainsFor(to, t, width), periods: 128, unroll: 1, threads: 256,
		madd: product}
	if single { // as clpeak: 2048 multiply-adds of each work item, 1024 of integers
		p.single, p.chains, p.periods = true, 1, 128/width
		if tir.IsInt(t) {
			p.periods /= 2
		}
	}
	if t == tir.Float16 && !single {
		p.periods = 64 // so that all sums are integers of float16
		p.unroll = 4   // registers hold pairs, which an iteration of the loop packs and unpacks
	}
	if to.Attrs()["device_type"] == "cpu" {
		p.threads = 64
	}
	switch to.Kind().Name() {
	case "llvm", "c":
		if p.threads = 0; to.HasCPUFeature("fma") || to.HasCPUFeature("neon") {
			p.madd = fused
		}
		p.periods *= 16 // an iteration of a parallel loop takes some microseconds
	case "cuda":
		p.madd = fused
	case "opencl":
		if single {
			p.madd = mad
		}
	}
	if tir.IsInt(t) {
		p.madd = product
	}
	return p
}

// hasVectors reports whether vectors of a kernel are vectors of the device: those of a CPU, also behind OpenCL. Drivers
// of Vulkan make vectors of neighboring work items, and GPUs have scalar registers in each.
func hasVectors(to *target.Target) bool {
	return forHost(to) || to.Kind().Name() == "opencl" && to.Attrs()["device_type"] == "cpu"
}

// unit returns a number of groups that occupies a device: its multiprocessors, with 2048 work items each.
func unit(on *bench.Device, to *target.Target) int {
	n := 1
	if v, err := runtime.DeviceAttr(on.Handle, runtime.AttrMultiProcessorCount); err == nil {
		if count, ok := v.(int64); ok && count > 0 && count < 4096 {
			n = int(count)
		}
	}
	if on.Handle.Type == dlpack.CPU {
		return 4 * n
	}
	if to.Attrs()["device_type"] == "cpu" {
		return n
	}
	return 8 * n
}

// lacksType says why kernels for a target cannot compute with a type; "" if they can. OpenCL's devices report float64
// when the kernel is compiled.
func lacksType(to *target.Target, t tir.Type) string {
	attrs := to.Attrs()
	switch kind := to.Kind().Name(); {
	case t == tir.Float16 && forHost(to):
		return "generated code for CPUs computes float16 as float32"
	case t == tir.Float16 && kind == "opencl":
		return "generated OpenCL C computes float16 as float32"
	case t == tir.Float16 && kind == "vulkan" && attrs["supports_float16"] != true:
		return "the device has no float16 (shaderFloat16)"
	case t == tir.Float64 && kind == "vulkan" && attrs["supports_float64"] != true:
		return "the device has no float64 (shaderFloat64)"
	}
	return ""
}

// lacksDot says why kernels for a target have no dot products of int8; "" if they have.
func lacksDot(to *target.Target) string {
	if kind := to.Kind().Name(); kind != "cuda" {
		return "generated code for " + kind + " has no dot products of int8"
	}
	if arch := archOf(to); arch != 0 && arch < 61 {
		return fmt.Sprintf("the device has sm_%d, and dot products of int8 (dp4a) begin with sm_61", arch)
	}
	return ""
}

// archOf returns the architecture of a target for CUDA, 90 for sm_90; 0 if it is unknown.
func archOf(to *target.Target) (number int) {
	if name, err := target.Get[string](to, "arch"); err == nil {
		if _, err := fmt.Sscanf(name, "sm_%d", &number); err != nil {
			return 0
		}
	}
	return number
}
