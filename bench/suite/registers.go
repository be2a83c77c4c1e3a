package suite

import (
	"tvmgo/internal/cpufeatures"
	"tvmgo/target"
	"tvmgo/tir"
)

// mostChains are enough independent multiply-adds for each device: two units that begin one in each cycle, with a
// latency of four to six.
const mostChains = 12

// chainsFor returns the chains of a work item of which the registers of a device hold all vectors.
func chainsFor(to *target.Target, t tir.Type, width int) int {
	if !hasVectors(to) {
		return max(8/width, 4)
	}
	count, bits := vectorRegisters(to)
	parts := (width*int(t.Bits) + bits - 1) / bits // registers of a vector
	const others = 4                               // the coefficients, and one of an intermediate result
	return min(max((count-others)/parts, 1), mostChains)
}

// vectorRegisters returns the number of the vector registers of a CPU, and how many bits of each compilers use: of
// AVX-512's they prefer to use 256.
func vectorRegisters(to *target.Target) (count, bits int) {
	if !forHost(to) { // OpenCL on this machine
		cpu, more := cpufeatures.HostCPU()
		host, err := target.New(map[string]any{"kind": "llvm", "mtriple": cpufeatures.HostTriple(), "mcpu": cpu,
			"mattr": more})
		if err != nil {
			return 16, 128
		}
		to = host
	}
	switch {
	case to.HasCPUFeature("avx512vl"):
		return 32, 256
	case to.HasCPUFeature("avx"):
		return 16, 256
	case to.HasCPUFeature("neon"):
		return 32, 128
	}
	return 16, 128
}
