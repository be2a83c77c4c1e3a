package transform

import (
	"math/bits"

	"tvmgo/internal/cpufeatures"
	"tvmgo/target"
	"tvmgo/tir"
)

// maxVectorBits is the longest vector that C's compilers keep in registers.
const maxVectorBits = 512

// vectorBits is how many bits of data a vector has at most: what the target's option vector-width says, or else a register of its CPU (march of kind c, mcpu
// with mattr of llvm), since compilers are bad at cutting vectors that are longer. Of a CPU that is not known, as native, the schedule is trusted.
func vectorBits(t *target.Target) int {
	if t == nil {
		return maxVectorBits
	}
	if n, err := target.Get[int64](t, "vector-width"); err == nil && n >= 64 && n <= maxVectorBits && bits.OnesCount64(uint64(n)) == 1 {
		return int(n)
	}
	triple, _ := target.Get[string](t, "mtriple")
	cpu, err := target.Get[string](t, "march")
	if err != nil || cpu == "" {
		cpu, _ = target.Get[string](t, "mcpu")
		if t.Kind().Name() == "c" { // it only says for which CPU code is tuned
			cpu = ""
		}
	}
	attrs, _ := target.Get[[]string](t, "mattr")
	if !cpufeatures.ValidCPU(triple, cpu) {
		return maxVectorBits
	}
	set, _ := cpufeatures.Features(triple, cpu, attrs)
	switch {
	case set.Has("avx512f"):
		return 512
	case set.Has("avx"):
		return 256
	case set.Has("sse2"), set.Has("neon"):
		return 128
	}
	return maxVectorBits
}

// widestBits is how wide the data are that a loop computes with, without its indices.
func widestBits(body tir.Stmt) int {
	widest := 8
	see := func(t tir.Type) {
		if t != tir.Void && !tir.IsHandle(t) {
			widest = max(widest, int(t.Bits))
		}
	}
	seen := map[any]bool{}
	tir.Walk(body, func(node any) bool {
		if seen[node] {
			return false
		}
		seen[node] = true
		switch n := node.(type) {
		case *tir.BufferStore:
			see(n.Buffer.DType)
		case *tir.BufferLoad:
			see(n.Buffer.DType)
			return false
		case *tir.Cast:
			if tir.IsFloat(n.Type) {
				see(n.Type)
			}
		}
		return true
	})
	return widest
}
