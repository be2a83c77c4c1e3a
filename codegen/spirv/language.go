package spirv

import (
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

const noAsync = "SPIR-V has no copies of single threads: copy by a load and a store"

// Language is SPIR-V for Vulkan, as transform.ForDevice lowers kernels for it.
var Language = transform.Language{
	Name:       "SPIR-V",
	Lanes:      []int{2, 3, 4, 8, 16}, // more than 4 for elements that share words
	VectorBits: 128,
	Elements: []tir.Type{tir.Int8, tir.Int16, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16, tir.UInt32, tir.UInt64,
		tir.Float16, tir.BFloat16, tir.Float32, tir.Float64},
	Native: func(t *target.Target) []tir.Type {
		if t != nil && featuresOf(t).float16 {
			return []tir.Type{tir.Float16}
		}
		return nil
	},
	Scopes: []string{"global", "local", "shared", tir.ScopeFragmentA, tir.ScopeFragmentB,
		tir.ScopeFragmentAcc},
	Fragments:   matrices,
	FixedShared: true, // variables have types
	Lacks: map[string]string{
		"ret":      "a kernel ends where its last thread ends: put what follows in an if statement",
		"ret_none": "a kernel ends where its last thread ends: put what follows in an if statement",
		"prefetch": "SPIR-V has none for memory of kernels",

		"async_copy":   noAsync,
		"async_commit": noAsync,
		"async_wait":   noAsync,
	},
}
