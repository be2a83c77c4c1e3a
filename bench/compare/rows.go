package main

import (
	"fmt"
	"slices"
)

// A row of the table compares two measures. It may have a target.
type row struct {
	ID    string
	What  string
	Ours  string // a measure
	Base  string // the measure that Ours is compared with
	Limit float64
	// Limit is the target for Ours/Base or Ours-Base; without it the row is only recorded.
	Relation relation
}

type relation int

const (
	ratio relation = iota
	difference
	record
	absolute // Limit is the target for Ours alone
)

// The table of rows. Measures are "program.row"; bench/program describes them.
var table = []row{
	{"call", "TVMFFIFunctionCall, C function, 2 ints", "ours.call", "peer.call", 1, ratio},
	{"call-64", "  of 64 functions in turn", "ours.call-64", "peer.call-64", 1, ratio},
	{"call-null", "  the same, made without self", "ours.call-null", "peer.call-null", 0, record},
	{"call-direct", "  the same called directly", "ours.call-direct", "peer.call-direct", 0, record},
	{"call-classic", "classic TVMFuncCall of the same", "ours.call-classic", "peer.call", 1.5, ratio},
	{"call-classic-callback", "  TVMFuncCall of a classic callback", "ours.call-classic-callback", "peer.call", 0, record},
	{"addone", "addone of addone_llvm.so, n=1, 2 tensors", "ours.addone", "peer.addone", 0.8, ratio},
	{"addone-direct", "  the same called directly", "ours.addone-direct", "peer.addone-direct", 0, record},
	{"vadd-serial", "  vadd of multi_c.so, n=1, 3 tensors", "ours.vadd-serial", "peer.vadd-serial", 0, record},
	{"vadd-parallel", "vadd of multi_llvm.so, n=1, 3 tensors", "ours.vadd-parallel", "peer.vadd-parallel", 0.8, ratio},
	{"fat", "fat library, n=1, 3 tensors (base: the variant by its name)", "ours.fat", "ours.fat-variant", 1.05, ratio},
	{"go-bound", "Go bound call of addone (base: empty cgo call)", "go.bound", "go.empty", 10, difference},
	{"lookup-global", "global lookup, hit", "ours.lookup-global", "peer.lookup-global", 0.3, ratio},
	{"lookup-module", "module function lookup, hit", "ours.lookup-module", "peer.lookup-module", 0.5, ratio},
	{"lookup-module-classic", "  TVMModGetFunction", "ours.lookup-module-classic", "peer.lookup-module", 0.5, ratio},
	{"load", "load addone_llvm.so + function + free", "ours.load", "peer.load", 1.25, ratio},
	{"load-libm", "load multi_llvm.so (needs libm) + function + free", "ours.load-libm", "peer.load-libm", 1.25, ratio},
	{"load-classic", "  TVMModLoadFromFile of addone_llvm.so", "ours.load-classic", "peer.load", 1.25, ratio},
	{"load-blob", "load with a 64 MiB blob (base: ours with 1 KiB)", "ours.load-blob-64m", "ours.load-blob-1k", 100e3,
		difference},
	{"load-blob-peer", "  against the peer", "ours.load-blob-64m", "peer.load-blob-64m", 0, record},
	{"tensor", "tensor alloc + free, 1 KiB", "ours.tensor", "peer.tensor", 0.75, ratio},
	{"tensor-classic", "  TVMArrayAlloc + TVMArrayFree", "ours.tensor-classic", "peer.tensor", 0.75, ratio},
	{"workspaces", "4 nested workspaces, alloc + free", "ours.workspaces", "peer.workspaces", 0.35, ratio},
	{"workspaces-device", "  4 of a device without its own (base: the CPU's)", "ours.workspaces-device", "ours.workspaces",
		4 * 50, difference},
	{"vm-forward", "relax_mlp.so, batch 1, by the virtual machine", "ours.vm-forward", "peer.vm-forward", 0.7, ratio},
	{"vm-chain", "virtual machine, 1000 moves through tuples", "ours.vm-chain", "peer.vm-chain", 0.5, ratio},
	{"vm-profile", "100 × relax_mlp.so, batch 4096, with a profile (base: without)", "ours.vm-profile", "ours.vm-batch",
		1.03, ratio},
	{"vm-profile-1", "  one, batch 1", "ours.vm-profile-1", "ours.vm-forward", 0, record},
	{"vm-threads", "relax_mlp.so by 2 threads, one session (base: one thread)", "ours.vm-threads", "ours.vm-forward",
		1 / 1.8, ratio},
	{"vm-threads-peer", "  against the peer, a session for each", "ours.vm-threads", "peer.vm-threads-own", 0, record},
	{"weights-load", "load of 256 MiB of weights in a Relax executable (base: mapping the file)", "ours.weights-load",
		"ours.weights-map", 5e6, difference},
	{"weights-load-peer", "  against the peer", "ours.weights-load", "peer.weights-load", 0, record},
	{"weights-first", "  the first call, which reads them", "ours.weights-first", "peer.weights-first", 0, record},
	{"weights-resident", "  memory after it (base: the weights)", "ours.weights-resident", "ours.weights-bytes", 1.05,
		ratio},
	{"weights-peak", "  most memory until then (base: the peer's)", "ours.weights-peak", "peer.weights-peak", 0, record},
	{"map-str-4", "ffi.MapGetItem, str key, 4 entries", "ours.map-str-4", "peer.map-str-4", 1, ratio},
	{"map-str-1000", "  str key, 1000 entries", "ours.map-str-1000", "peer.map-str-1000", 1, ratio},
	{"map-str-100000", "  str key, 100 000 entries", "ours.map-str-100000", "peer.map-str-100000", 1, ratio},
	{"map-int-4", "  int key, 4 entries", "ours.map-int-4", "peer.map-int-4", 1, ratio},
	{"map-int-1000", "  int key, 1000 entries", "ours.map-int-1000", "peer.map-int-1000", 1, ratio},
	{"map-int-100000", "  int key, 100 000 entries", "ours.map-int-100000", "peer.map-int-100000", 1, ratio},
	{"map-miss-str-4", "ffi.MapCount of an absent str key, 4 entries", "ours.map-miss-str-4",
		"peer.map-miss-str-4", 1, ratio},
	{"map-miss-str-1000", "  absent str key, 1000 entries", "ours.map-miss-str-1000", "peer.map-miss-str-1000", 1, ratio},
	{"map-miss-str-100000", "  absent str key, 100 000 entries", "ours.map-miss-str-100000",
		"peer.map-miss-str-100000", 1, ratio},
	{"map-miss-int-4", "  absent int key, 4 entries", "ours.map-miss-int-4", "peer.map-miss-int-4", 1, ratio},
	{"map-miss-int-1000", "  absent int key, 1000 entries", "ours.map-miss-int-1000", "peer.map-miss-int-1000", 1, ratio},
	{"map-miss-int-100000", "  absent int key, 100 000 entries", "ours.map-miss-int-100000",
		"peer.map-miss-int-100000", 1, ratio},
	{"map-walk", "ffi.MapForwardIterFunctor, 1000 entries", "ours.map-walk", "peer.map-walk", 1, ratio},
	{"map-make-str", "ffi.Map of 1000 str keys + free", "ours.map-make-str", "peer.map-make-str", 1, ratio},
	{"map-make-int", "  of 1000 int keys", "ours.map-make-int", "peer.map-make-int", 1, ratio},
	{"string-5", "string of 5 bytes, made + freed", "ours.string-5", "peer.string-5", 1, ratio},
	{"string-32", "  of 32 bytes", "ours.string-32", "peer.string-32", 1, ratio},
	{"string-4k", "  of 4 KiB", "ours.string-4k", "peer.string-4k", 1, ratio},
	{"bytes-5", "bytes object of 5 bytes, made + freed", "ours.bytes-5", "peer.bytes-5", 1, ratio},
	{"bytes-32", "  of 32 bytes", "ours.bytes-32", "peer.bytes-32", 1, ratio},
	{"bytes-4k", "  of 4 KiB", "ours.bytes-4k", "peer.bytes-4k", 1, ratio},
	{"error", "error raised and caught", "ours.error", "peer.error", 1, ratio},
	{"error-make", "  TVMFFIErrorCreate + free", "ours.error-make", "peer.error-make", 1, ratio},
	{"error-make-backtrace", "  the same with a backtrace", "ours.error-make-backtrace", "peer.error-make-backtrace", 1,
		ratio},
	{"error-call", "  raised in a function, caught by its caller", "ours.error-call", "peer.error-call", 1, ratio},
	{"error-call-object", "  the same, raised as an object", "ours.error-call-object", "peer.error-call-object", 1, ratio},
	{"error-throw", "  thrown and caught in C++, through a call", "ours.error-throw", "peer.error-throw", 1, ratio},
	{"launch", "ParallelLaunch, empty, 2 workers", "ours.launch", "peer.launch", 0.4, ratio},
	{"launch-floor", "  two threads that hand a word over and back", "ours.handover", "peer.launch", 0, record},
	{"launch-busy", "  with a spinning process on each core, median", "busy-ours.launch-median",
		"busy-peer.launch-median", 1, ratio},
	{"launch-busy-p99", "  the 99th percentile", "busy-ours.launch-p99", "busy-peer.launch-p99", 1, ratio},
	{"cl-launch", "OpenCL launch through a module function (base: raw)", "ours.cl-launch", "ours.cl-launch-raw",
		1.05, ratio},
	{"cl-launch-host", "  the same by its generated host function", "ours.cl-launch-host",
		"ours.cl-launch-raw", 0, record},
	{"cl-launch-go", "  the same bound in Go (base: from C)", "go.cl-launch", "ours.cl-launch", 0, record},
	{"cl-workspace", "workspace of OpenCL, hit: alloc + free", "ours.cl-workspace", "ours.cl-workspace", 50, absolute},
	{"cu-launch", "CUDA launch through a module function (base: raw)", "ours.cu-launch", "ours.cu-launch-raw", 60,
		difference},
	{"cu-launch-host", "  the same by its generated host function", "ours.cu-launch-host",
		"ours.cu-launch-raw", 0, record},
	{"cu-launch-go", "  the same bound in Go (base: from C)", "go.cu-launch", "ours.cu-launch", 0, record},
	{"vk-chain", "Vulkan dispatch of 1000 in a chain (base: raw, recorded at once)", "ours.vk-chain", "ours.vk-chain-raw",
		1.15, ratio},
	{"vk-copy-to", "16 MiB to a Vulkan device (base: memcpy to its memory)", "ours.vk-copy-to", "ours.vk-copy-to-raw",
		1 / 0.95, ratio},
	{"vk-copy-from", "  and back", "ours.vk-copy-from", "ours.vk-copy-from-raw", 1 / 0.95, ratio},
	{"vk-copy-small-to", "4 KiB to a Vulkan device (base: memcpy)", "ours.vk-copy-small-to", "ours.vk-copy-small-to-raw",
		1.3, ratio},
	{"vk-copy-small-from", "  and back", "ours.vk-copy-small-from", "ours.vk-copy-small-from-raw", 1.3, ratio},
	{"target-new", "Go target.New of JSON, cuda with a host", "go.target-new", "go.target-new", 20e3, absolute},
	{"target-read", "  against encoding/json reading the same", "go.target-new", "go.target-read", 0, record},
	{"target-get", "Go target.Get of an int", "go.target-get", "go.target-get", 20, absolute},
	{"target-first", "first target of a process, by a tag", "go.target-first", "go.target-first", 1e6, absolute},
	{"start", "C process: start, load, call, exit", "ours.start", "peer.start", 0.8, ratio},
	{"open", "dlopen of the library", "ours.open", "peer.open", 0.5, ratio},
	{"open-ffi", "  against libtvm_ffi.so alone", "ours.open", "peer.open-ffi", 0, record},
	{"size", "library to ship, stripped", "ours.size", "peer.size", 0.6, ratio},
	{"size-runtime", "  libtvmgo_runtime.so", "runtime.size", "runtime.size", 3.6e6, absolute},
	{"size-floor", "  an empty library in Go, built alike (base: with fmt and os)", "floor.size", "floor-fmt.size", 0,
		record},
	{"te-matmul", "generated matmul, 1024³ (base: NumPy's OpenBLAS)", "te.matmul", "numpy.matmul", 1 / 0.8, ratio},
	{"te-matmul-1000", "  1000³", "te.matmul-1000", "numpy.matmul-1000", 0, record},
	{"te-conv2d", "generated conv2d 3×3, 64→64, 56² (base: im2col and OpenBLAS)", "te.conv2d", "numpy.conv2d",
		1 / 0.6, ratio},
	{"te-vadd", "generated vector addition, 16 Mi (base: by hand)", "te.vadd", "te.vadd-hand", 1 / 0.97, ratio},
	{"te-softmax", "generated softmax, 4096×1024 (base: by hand)", "te.softmax", "te.softmax-hand", 1.05, ratio},
	{"te-layernorm", "generated layernorm, 4096×1024 (base: by hand)", "te.layernorm", "te.layernorm-hand",
		1.05, ratio},
	{"build-relu", "library of 100 relu(x+y) (base: 100 libraries)", "te.build-relu", "te.build-relu-apart", 0, record},
	{"build-relu-vary", "  of different sizes", "te.build-relu-vary", "te.build-relu-vary-apart", 0, record},
	{"build-matmuls", "library of 10 matmuls (base: 10 libraries)", "te.build-matmuls",
		"te.build-matmuls-apart", 0, record},
	{"build-softmaxes", "library of 10 softmax, transposed (base: 10 libraries)", "te.build-softmaxes",
		"te.build-softmaxes-apart", 0, record},
	{"build-50", "library of 50 different functions (base: a run of the C compiler for each, in turn)",
		"te.build-mixed", "te.build-mixed-cc", 0.5, ratio},
	{"emit-cuda", "CUDA C of a kernel, after the passes", "te.emit-cuda", "te.emit-cuda", 1e6, absolute},
	{"emit-vulkan", "SPIR-V of a kernel, after the passes", "te.emit-vulkan", "te.emit-vulkan", 1e6, absolute},
	{"te-c", "formulas of the demo's kernels to C", "te.te-c", "te.te-c", 20e6, absolute},
}

// A group is a set of measures that alternate round by round, in this order.
type group struct {
	measures []string
	quiet    bool // pause between samples, because worker threads spin for a while after a launch
	few      bool // a seventh of the rounds, because a sample takes seconds
	// start each round in a new process: the placement of memory and threads matters more than the code
	afresh bool
	busy   bool // another process spins on each core meanwhile
}

func (g group) isNeeded(measures map[string]bool) bool {
	return slices.ContainsFunc(g.measures, func(m string) bool { return measures[m] })
}

var groups = []group{
	{measures: []string{"ours.call", "peer.call", "ours.call-64", "peer.call-64", "ours.call-direct",
		"peer.call-direct", "ours.call-null", "peer.call-null", "ours.call-classic", "ours.call-classic-callback"}},
	{measures: []string{"ours.addone", "peer.addone", "ours.addone-direct", "peer.addone-direct"}},
	{measures: []string{"ours.vadd-serial", "peer.vadd-serial"}},
	{measures: []string{"ours.fat", "ours.fat-variant"}},
	{measures: []string{"go.bound", "go.empty"}},
	{measures: []string{"ours.lookup-global", "peer.lookup-global"}},
	{measures: []string{"ours.lookup-module", "peer.lookup-module", "ours.lookup-module-classic"}},
	{measures: []string{"ours.load", "peer.load", "ours.load-classic"}},
	{measures: []string{"ours.load-libm", "peer.load-libm"}},
	{measures: []string{"ours.load-blob-64m", "ours.load-blob-1k", "peer.load-blob-64m", "peer.load-blob-1k"}},
	{measures: []string{"ours.tensor", "peer.tensor", "ours.tensor-classic"}},
	{measures: []string{"ours.workspaces", "peer.workspaces", "ours.workspaces-device"}},
	{measures: []string{"ours.vm-forward", "peer.vm-forward", "ours.vm-chain", "peer.vm-chain",
		"ours.vm-batch", "ours.vm-profile", "ours.vm-profile-1", "ours.vm-threads", "peer.vm-threads-own"}, quiet: true},
	{measures: []string{"ours.weights-load", "ours.weights-map", "peer.weights-load", "ours.weights-first",
		"peer.weights-first", "ours.weights-resident", "ours.weights-bytes", "ours.weights-peak", "peer.weights-peak"},
		few: true},
	{measures: []string{"ours.map-str-4", "peer.map-str-4", "ours.map-int-4", "peer.map-int-4", "ours.map-miss-str-4",
		"peer.map-miss-str-4", "ours.map-miss-int-4", "peer.map-miss-int-4"}},
	{measures: []string{"ours.map-str-1000", "peer.map-str-1000", "ours.map-int-1000", "peer.map-int-1000",
		"ours.map-miss-str-1000", "peer.map-miss-str-1000", "ours.map-miss-int-1000", "peer.map-miss-int-1000"}},
	{measures: []string{"ours.map-str-100000", "peer.map-str-100000", "ours.map-int-100000", "peer.map-int-100000",
		"ours.map-miss-str-100000", "peer.map-miss-str-100000", "ours.map-miss-int-100000", "peer.map-miss-int-100000"}},
	{measures: []string{"ours.map-walk", "peer.map-walk", "ours.map-make-str", "peer.map-make-str", "ours.map-make-int",
		"peer.map-make-int"}},
	{measures: []string{"ours.string-5", "peer.string-5", "ours.string-32", "peer.string-32", "ours.string-4k",
		"peer.string-4k", "ours.bytes-5", "peer.bytes-5", "ours.bytes-32", "peer.bytes-32", "ours.bytes-4k",
		"peer.bytes-4k"}},
	{measures: []string{"ours.error", "peer.error", "ours.error-make", "peer.error-make", "ours.error-make-backtrace",
		"peer.error-make-backtrace", "ours.error-call", "peer.error-call", "ours.error-call-object", "peer.error-call-object",
		"ours.error-throw", "peer.error-throw"}},
	{measures: []string{"ours.cl-launch", "ours.cl-launch-raw", "ours.cl-launch-host", "go.cl-launch",
		"ours.cl-workspace"}},
	{measures: []string{"ours.cu-launch", "ours.cu-launch-raw", "ours.cu-launch-host", "go.cu-launch"}},
	{measures: []string{"ours.vk-chain", "ours.vk-chain-raw", "ours.vk-copy-to", "ours.vk-copy-to-raw",
		"ours.vk-copy-from", "ours.vk-copy-from-raw"}, afresh: true},
	{measures: []string{"ours.vk-copy-small-to", "ours.vk-copy-small-to-raw", "ours.vk-copy-small-from",
		"ours.vk-copy-small-from-raw"}},
	{measures: []string{"go.target-new", "go.target-read", "go.target-get", "go.target-first"}},
	{measures: []string{"ours.start", "peer.start"}},
	{measures: []string{"ours.open", "peer.open", "peer.open-ffi"}},
	{measures: []string{"ours.vadd-parallel", "peer.vadd-parallel"}, quiet: true},
	{measures: []string{"ours.launch", "peer.launch", "ours.handover"}, quiet: true},
	{measures: []string{"busy-ours.launch-median", "busy-peer.launch-median", "busy-ours.launch-p99",
		"busy-peer.launch-p99"}, busy: true},
	{measures: []string{"te.matmul", "numpy.matmul"}, quiet: true},
	{measures: []string{"te.matmul-1000", "numpy.matmul-1000"}, quiet: true},
	{measures: []string{"te.conv2d", "numpy.conv2d"}, quiet: true},
	{measures: []string{"te.vadd", "te.vadd-hand"}, quiet: true},
	{measures: []string{"te.softmax", "te.softmax-hand"}, quiet: true},
	{measures: []string{"te.layernorm", "te.layernorm-hand"}, quiet: true},
	{measures: []string{"te.te-c", "te.emit-cuda", "te.emit-vulkan"}},
	{measures: []string{"te.build-relu", "te.build-relu-apart", "te.build-relu-vary", "te.build-relu-vary-apart",
		"te.build-matmuls", "te.build-matmuls-apart", "te.build-softmaxes", "te.build-softmaxes-apart", "te.build-mixed",
		"te.build-mixed-cc"}, few: true},
}

// verdict compares the medians of a row. met is true for rows without a limit.
func (r row) verdict(ours, base float64) (value float64, text string, met bool) {
	switch r.Relation {
	case difference:
		value = ours - base
		return value, "+" + r.show(value), value <= r.Limit
	case absolute:
		return ours, r.show(ours), ours <= r.Limit
	default:
		value = ours / base
		return value, fmt.Sprintf("%.2f ×", value), r.Relation == record || value <= r.Limit
	}
}

// target prints the target of a row; it is "" for rows without one.
func (r row) target() string {
	switch r.Relation {
	case difference:
		return "≤ +" + r.show(r.Limit)
	case absolute:
		return "≤ " + r.show(r.Limit)
	case record:
		return ""
	default:
		return fmt.Sprintf("≤ %.2f ×", r.Limit)
	}
}

// inBytes are the rows whose measures are numbers of bytes; the others are nanoseconds.
var inBytes = []string{"size", "size-runtime", "size-floor", "weights-resident", "weights-peak", "model-peak",
	"model-peak-more", "model-ship"}

// show prints a measure of a row.
func (r row) show(v float64) string {
	if slices.Contains(inBytes, r.ID) {
		return fmt.Sprintf("%.2f MB", v/1e6)
	}
	return duration(v)
}

// duration prints nanoseconds with three digits.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	default:
		return fmt.Sprintf("%.3g s", ns/1e9)
	}
}
