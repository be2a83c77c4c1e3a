package main

import "strings"

// A knownMiss is a row that misses its target on some machines, and why. make bench-check accepts it there, and
// bench/README.md shows the reason in the tables that are made from results.
type knownMiss struct {
	row    string
	cpu    string // part of the name of the CPU in results; "" is every machine
	reason string
}

// The rows that are known to miss their targets. This is the only list of them.
var known = []knownMiss{
	{"launch", "Xeon", "handing a word to the other core and back alone takes this long: see *Launches*"},
	{"size", "", "it contains three device APIs, targets and code generators"},
	{"size-runtime", "", "a third is Go's table of functions for backtraces; encoding/json, signatures, .npz take 1 MB"},
	{"vk-copy-small-to", "", "the memcpy takes 30 to 40 ns, and the checks around it 25"},
	{"vk-copy-small-from", "", "the same"},
	{"te-transpose", "EPYC", "measured before results of 16 MiB bypassed the caches"},
	{"te-transpose-int8", "", "squares of bytes pass through the stack, by vectors of 16 bytes"},
	{"te-transpose-nhwc", "", "56 columns are transposed by squares of 8 × 8, which are half a cache line"},
	{"te-transpose-nchw", "", "the same"},
	{"te-transpose-keys", "", "what is moved is in the second cache: shuffles and stores in strides take the time"},
	{"te-argmax-last", "", "a maximum, a comparison with NaN and a choice for each vector take longer than its read"},
	{"op-int8-1024", "Xeon", "ONNX Runtime uses AMX tiles, which generated code does not; twice the peak of VNNI"},
	{"op-int8-1024-inputs", "Xeon", "the same"},
	{"op-softmax", "", "exp of each element takes half of the time, and memory the rest"},
	{"op-attention", "", "the copy of the keys and the softmax take a third of the time"},
	{"model-shufflenet", "EPYC", "its images are converted to blocks of channels behind each shuffle of channels"},
	{"model-ship", "", "`libtvmgo_runtime.so` for all devices; `make dist RUNTIME_TAGS=cpuonly` has the CPU alone"},
}

// knownReason returns why a row is known to miss its target on a machine.
func knownReason(list []knownMiss, id, cpu string) (reason string, is bool) {
	for _, k := range list {
		if k.row == id && strings.Contains(cpu, k.cpu) {
			return k.reason, true
		}
	}
	return "", false
}
