package opencl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
)

// cpuVectors are the vectors of targets that run kernels on a CPU (device_type=cpu), which loads vectors from any
// address. PoCL's vload16 and vstore16 access parts of the vector; a pointer to a vector type that is aligned to one
// element is one instruction.
type cpuVectors struct{ vectors }

func (v cpuVectors) Load(t tir.Type, address string) string {
	if !accessible(t) {
		return v.vectors.Load(t, address)
	}
	return fmt.Sprintf("tvmgo_load_%s(%s)", v.name(t), address)
}

func (v cpuVectors) Store(t tir.Type, address, value string) string {
	if !accessible(t) {
		return v.vectors.Store(t, address, value)
	}
	return fmt.Sprintf("tvmgo_store_%s(%s, %s)", v.name(t), value, address)
}

// accessible reports whether a vector type has the size of its lanes, and the type that is in memory.
func accessible(t tir.Type) bool { return !tir.IsBool(t) && t.Lanes != 3 }

// onCPU reports whether a target's driver runs kernels on a CPU.
func onCPU(t *target.Target) bool { return t != nil && t.Attrs()["device_type"] == "cpu" }

// accessFunctions returns the functions that cpuVectors calls, for the vectors that a program loads, stores and
// computes: the emitter assembles some of the latter in an array of the thread, and loads them from there.
func accessFunctions(m *tir.IRModule) string {
	used := map[string]tir.Type{}
	use := func(t tir.Type) {
		if t.Lanes > 1 && Language.HasVector(t) && accessible(t) {
			used[vectors{}.name(t)] = t
		}
	}
	tir.Walk(m, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferLoad:
			use(n.DType())
		case *tir.BufferStore:
			use(n.Value.DType())
		case *tir.Ramp, *tir.Broadcast:
		case tir.Expr:
			if t := n.DType(); tir.IsBool(t) {
				use(tir.Vector(tir.Int8, int(t.Lanes)))
			} else {
				use(t)
			}
		}
		return true
	})
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(used)) {
		t := used[name]
		element := types[tir.Element(t)]
		fmt.Fprintf(&b, "typedef %s tvmgo_any_%s __attribute__((aligned(%d)));\n", name, name, t.Bits/8)
		for _, space := range []string{"__global", "__local", "__private"} {
			fmt.Fprintf(&b, "static inline __attribute__((overloadable)) %s tvmgo_load_%s(const %s %s* p) {\n"+
				"  return *(const %s tvmgo_any_%s*)p;\n}\n", name, name, space, element, space, name)
			fmt.Fprintf(&b, "static inline __attribute__((overloadable)) void tvmgo_store_%s(%s v, %s %s* p) {\n"+
				"  *(%s tvmgo_any_%s*)p = v;\n}\n", name, name, space, element, space, name)
		}
	}
	return b.String()
}
