package cpu

import (
	"strings"

	"tvmgo/internal/cpufeatures"
	"tvmgo/target"
	"tvmgo/tir"
)

// simd is what a CPU computes vectors with.
type simd struct {
	bytes     int // of one vector
	registers int
}

// simdOf is the vectors of a target of a CPU: of the features that mcpu, mattr or march say, and what each
// CPU of the architecture has where it says nothing.
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

// lanes is how many elements of a type a vector has; 0 of types that C has no vectors of, or that are not added up as
// they are.
func (v simd) lanes(t tir.Type) int {
	if t != tir.Float32 && t != tir.Float64 && t != tir.Int32 && t != tir.Int64 {
		return 0
	}
	return v.bytes * 8 / int(t.Bits)
}
