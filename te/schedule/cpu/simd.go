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
	dots      bool // of bytes, by some instructions
	oneDot    bool // by a single one
}

// forDots returns the vectors that tiles can use if products of bytes are added: without an instruction for that, some
// hold parts of the operands.
func (v simd) forDots() simd {
	if !v.oneDot {
		v.registers -= 4
	}
	return v
}

// simdOf returns the vectors of a CPU target: those of the features that mcpu, mattr or march imply, else those of
// every CPU of the architecture.
func simdOf(t *target.Target) simd {
	text := func(option string) string {
		v, _ := t.Attrs()[option].(string)
		return v
	}
	attrs, _ := target.Get[[]string](t, "mattr")
	triple := text("mtriple")
	if triple == "" {
		triple = cpufeatures.HostTriple()
	}
	has := t.HasCPUFeature
	for _, option := range []string{"march", "mcpu"} {
		cpu := text(option)
		if cpu == "" {
			continue
		}
		if set, known := cpufeatures.Features(triple, strings.ReplaceAll(cpu, "_", "-"), attrs); known &&
			(option == "march" || !t.HasCPUFeature("avx")) {
			has = set.Has
		}
		break
	}
	v := simdWith(has, triple)
	v.dots = has("sse2") || has("neon") // others have no short vectors
	v.oneDot = has("avx512vnni") || has("avxvnni") && v.bytes <= 32 || has("i8mm")
	return v
}

// simdWith returns the vectors of a CPU with some features.
func simdWith(has func(feature string) bool, triple string) simd {
	arm := strings.HasPrefix(triple, "aarch64") || strings.HasPrefix(triple, "arm64")
	switch {
	case has("avx512f"):
		return simd{bytes: 64, registers: 32}
	case has("avx"):
		return simd{bytes: 32, registers: 16}
	case arm:
		return simd{bytes: 16, registers: 32}
	}
	return simd{bytes: 16, registers: 16}
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
