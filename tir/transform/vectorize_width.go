package transform

import (
	"math/bits"

	"tvmgo/internal/cpufeatures"
	"tvmgo/target"
	"tvmgo/tir"
)

// maxVectorBits is the longest vector that C's compilers keep in registers.
const maxVectorBits = 512

// vectorBits is the greatest number of bits of a vector: the target's option vector-width, otherwise that of a
// register of its CPU (march of kind c, mcpu with mattr of llvm), because compilers split longer vectors badly. For
// an unknown CPU the schedule decides.
func vectorBits(t *target.Target) int {
	if t == nil {
		return maxVectorBits
	}
	if n, err := target.Get[int64](t, "vector-width"); err == nil && n >= 64 && n <= maxVectorBits &&
		bits.OnesCount64(uint64(n)) == 1 {
		return int(n)
	}
	triple, _ := target.Get[string](t, "mtriple")
	cpu, err := target.Get[string](t, "march")
	if err != nil || cpu == "" {
		cpu, _ = target.Get[string](t, "mcpu")
		if t.Kind().Name() == "c" { // it only selects the CPU for tuning
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

// widestBits is the number of bits of the widest data that a loop computes with. Indices do not count.
func widestBits(body tir.Stmt) int {
	widest := 8
	seen := map[any]bool{}
	data := func(node any) bool {
		if seen[node] {
			return false
		}
		seen[node] = true
		e := node.(tir.Expr)
		if t := e.DType(); t != tir.Void && !tir.IsHandle(t) {
			widest = max(widest, int(t.Bits))
		}
		_, load := e.(*tir.BufferLoad)
		return !load
	}
	tir.Walk(body, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferStore:
			widest = max(widest, int(n.Buffer.DType.Bits))
			tir.Walk(n.Value, data)
			return false
		case tir.Expr:
			return false
		}
		return true
	})
	return widest
}
