package cuda

import (
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// dynamicScope is the scope of shared memory whose size a launch specifies.
const dynamicScope = "shared.dyn"

const endsWithLast = "a kernel ends where its last thread ends: put what follows in an if statement"

// Language is CUDA C, as transform.ForDevice lowers kernels for it.
var Language = transform.Language{
	Name:  "CUDA C",
	Lanes: []int{2, 4, 8, 16},
	Elements: []tir.Type{tir.Int8, tir.Int16, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16, tir.UInt32, tir.UInt64,
		tir.Float16, tir.BFloat16, tir.Float32, tir.Float64, dlpack.Float8E4M3FN, dlpack.Float8E5M2},
	Native: func(*target.Target) []tir.Type {
		return []tir.Type{tir.Float16, tir.BFloat16, dlpack.Float8E4M3FN, dlpack.Float8E5M2}
	},
	StaticShared: 48 << 10,
	VectorBits:   128,
	Aligned:      true,
	Scopes: []string{"global", "local", "shared", dynamicScope, tir.ScopeFragmentA, tir.ScopeFragmentB,
		tir.ScopeFragmentAcc},
	Fragments: fragments,
	Lacks:     map[string]string{"ret": endsWithLast, "ret_none": endsWithLast},
}

// alloc declares fragments, and dynamic shared memory: one array of the kernel, in which buffers have the places that
// transform.SplitHostDevice counts with.
func alloc(f *tir.PrimFunc, b *tir.Buffer, element, name string) string {
	if tir.IsFragment(b.StorageScope()) {
		return declareFragments(b, name)
	}
	if b.StorageScope() != dynamicScope {
		return ""
	}
	at, found := int64(0), false
	tir.Walk(f.Body, func(node any) bool {
		s, ok := node.(*tir.Alloc)
		if !ok || found || s.Buffer.StorageScope() != dynamicScope {
			return !found
		}
		at = (at + 15) / 16 * 16
		if found = s.Buffer.Data == b.Data; !found {
			at += bytesOf(s.Buffer)
		}
		return !found
	})
	text := fmt.Sprintf("%s* const %s = (%s*)(tvmgo_shared + %d);", element, name, element, at)
	if at == 0 {
		text = "extern __shared__ __align__(16) unsigned char tvmgo_shared[];\n" + "  " + text
	}
	return text
}

// bytesOf returns the size of a buffer of constant shape.
func bytesOf(b *tir.Buffer) int64 {
	size := int64(b.DType.Bits+7) / 8 * int64(b.DType.Lanes)
	for i, n := range b.Shape {
		if b.Strides != nil {
			if i > 0 {
				break
			}
			step, _ := b.Strides[0].(*tir.IntImm)
			if step != nil {
				size *= step.Value
			}
		}
		if extent, ok := n.(*tir.IntImm); ok {
			size *= extent.Value
		}
	}
	return size
}
