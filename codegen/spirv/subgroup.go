package spirv

import (
	"strings"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// usesWarps reports whether the threads of warps work together in a kernel: by shuffles, or by fragments.
func usesWarps(f *tir.PrimFunc) bool {
	return tir.Contains(f.Body, func(node any) bool {
		c, ok := node.(*tir.Call)
		return ok && (tir.IsFragmentCall(c) || c.Kind == tir.CallIntrinsic && strings.HasPrefix(c.Name, "warp_shuffle"))
	})
}

// needWarps declares that the kernel needs subgroups of the size of a warp, and collects the sizes of its blocks, from
// which threads get their indices.
func (w *writer) needWarps() {
	if w.warps = usesWarps(w.f) && w.has.version >= spirv13; !w.warps {
		return
	}
	w.m.need(spv.GroupNonUniform)
	instruction(&w.m.notes, spv.OpModuleProcessed, text(spv.SubgroupNote(w.has.warp))...)
	tir.Walk(w.f.Body, func(node any) bool {
		if s, ok := node.(*tir.For); ok && s.Kind == tir.ThreadBind && strings.HasPrefix(s.Thread, "threadIdx.") {
			dim := strings.IndexByte("xyz", s.Thread[len(s.Thread)-1])
			if n, constant := s.Extent.(*tir.IntImm); constant && dim >= 0 {
				w.block[dim] = max(w.block[dim], n.Value)
			}
		}
		return true
	})
}

// threadOfSubgroup returns the index of a thread in a dimension of its block. Vulkan does not define which threads form
// a subgroup, and fills subgroups along the first dimension alone. So the block has one dimension there, threads are
// counted by subgroup, and by lane within it, and their indices follow from this number: then the lanes of a subgroup
// are neighbors in the order of thread indices, as shuffles expect.
func (w *writer) threadOfSubgroup(dim int) id {
	u := scalar{class: integer, bits: 32, of: tir.UInt32}
	t := w.typeOf(u)
	n := w.op(spv.OpIMul, t, w.builtIn(spv.BuiltInSubgroupID, t), w.builtIn(spv.BuiltInSubgroupSize, t))
	n = w.op(spv.OpIAdd, t, n, w.builtIn(spv.BuiltInSubgroupLocalInvocationID, t))
	before, after := int64(1), int64(1)
	for d, extent := range w.block {
		if d < dim {
			before *= extent
		}
		if d > dim {
			after *= extent
		}
	}
	if before > 1 {
		n = w.divide(tir.OpDiv, u, n, w.m.int(32, before), true)
	}
	if after > 1 {
		n = w.divide(tir.OpMod, u, n, w.m.int(32, w.block[dim]), true)
	}
	return n
}

// subgroupShuffle is a bit of VkSubgroupFeatureFlags.
const subgroupShuffle = 1 << 4

// shuffleThreads returns the value that another thread of the warp has. A warp is the subgroup, or an aligned part of
// it.
func (w *writer) shuffleThreads(e *tir.Call) id {
	s := w.scalar(e.Type)
	switch {
	case w.has.subgroups&subgroupShuffle == 0:
		w.fail("intrinsic %s needs shuffles of a subgroup: set the option supported_subgroup_operations of target vulkan "+
			"to the device's VkSubgroupFeatureFlags, with bit 4 (shuffle)", e.Name)
		return 0
	case w.has.warp < 2:
		w.fail("intrinsic %s: thread_warp_size of target vulkan is %d: set it to the size of a subgroup", e.Name,
			w.has.warp)
		return 0
	case w.has.version < spirv13:
		w.fail("intrinsic %s needs SPIR-V 1.3: set the option max_spirv_version of target vulkan to 0x10300", e.Name)
		return 0
	}
	x, by := w.one(e.Args[0]), w.one(e.Args[1])
	if w.err != nil {
		return 0
	}
	w.m.need(spv.GroupNonUniformShuffle)
	u := w.m.integer(32)
	t, moved := w.typeOf(s), x
	switch { // other integers than those of 32 bits need the feature shaderSubgroupExtendedTypes
	case s.class == boolean || s.bits < 32:
		t = u
		moved = w.toWord(s, x)
	case s.class == integer && s.bits == 64:
		t = w.m.vector(u, 2)
		moved = w.op(spv.OpBitcast, t, x)
	}
	scope := w.m.int(32, spv.ScopeSubgroup)
	own := w.builtIn(spv.BuiltInSubgroupLocalInvocationID, u)
	switch e.Name {
	case "warp_shuffle_xor":
		moved = w.fresh(spv.OpGroupNonUniformShuffleXor, t, scope, moved, by)
	case "warp_shuffle_down":
		moved = w.fresh(spv.OpGroupNonUniformShuffle, t, scope, moved, w.op(spv.OpIAdd, u, own, by))
	default: // counted from the first thread of the warp
		first := w.op(spv.OpBitwiseAnd, u, own, w.m.int(32, -w.has.warp))
		moved = w.fresh(spv.OpGroupNonUniformShuffle, t, scope, moved, w.op(spv.OpIAdd, u, first, by))
	}
	switch {
	case s.class == boolean || s.bits < 32:
		return w.fromWord(s, moved)
	case s.class == integer && s.bits == 64:
		return w.op(spv.OpBitcast, w.typeOf(s), moved)
	}
	return moved
}
