package cpu

import (
	"strings"

	"tvmgo/internal/cpufeatures"
	"tvmgo/target"
	"tvmgo/tir"
)

// simd describes the vector instructions of a CPU.
type simd struct {
	bytes     int // of a vector
	registers int
}

// simdOf returns the vectors of a CPU target: those of the features that mcpu, mattr or march imply, else those of
// every CPU of the architecture.
func simdOf(t *target.Target) simd {
	text := func(option string) string {
		v, _ := t.Attrs()[option].(string)
		return v
	}
	triple := text("mtriple")
	if triple == "" {
		triple = cpufeatures.HostTriple()
	}
	has := t.HasCPUFeature
	for _, cpu := range []string{text("march"), text("mcpu")} {
		switch {
		case cpu != "":
			if set, known := cpufeatures.Features(triple, strings.ReplaceAll(cpu, "_", "-"), nil); known &&
				!t.HasCPUFeature("avx") {
				has = set.Has
			}
		default:
			continue
		}
		break
	}
	arm := strings.HasPrefix(triple, "aarch64") || strings.HasPrefix(triple, "arm64")
	switch {
	case has("avx512f"):
		return simd{64, 32}
	case has("avx"):
		return simd{32, 16}
	case arm:
		return simd{16, 32}
	}
	return simd{16, 16}
}

// lanes returns the number of elements of a type in a vector; 0 for types without vectors in C, and for types that
// accumulate in another type.
func (v simd) lanes(t tir.Type) int {
	if t != tir.Float32 && t != tir.Float64 && t != tir.Int32 && t != tir.Int64 {
		return 0
	}
	return v.bytes * 8 / int(t.Bits)
}

// Lanes returns the number of elements of a type in a vector of a CPU; 0 for types without vectors.
func Lanes(t *target.Target, dtype tir.Type) int { return simdOf(t).lanes(dtype) }
