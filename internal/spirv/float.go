package spirv

import (
	"cmp"
	"slices"

	"tvmgo/internal/sorting"
)

// FloatMode is an execution mode of an entry point's floating-point arithmetic.
type FloatMode struct {
	Of   Capability // the capability of the mode: DenormPreserve … RoundingModeRTZ
	Bits uint32     // the width of the floats that the mode applies to
}

// FloatAtomic is an atomic operation on floats.
type FloatAtomic struct {
	Of     Capability // the capability of the operation, AtomicFloat32AddEXT …; 0 for a width without a capability
	Buffer bool       // the operation is on a buffer; where Buffer and Shared are false, the memory is unknown
	Shared bool       // the operation is on shared memory
}

// The number of an execution mode is the number of its capability minus five.
const modeToCapability = uint32(DenormPreserve) - ModeDenormPreserve

const operandsOfAtomicFloats = 6

// floatAtomic is an atomic operation in a function's body.
type floatAtomic struct {
	op            uint16
	kind, pointer id
}

// floatMode records an execution mode if it is one of floating-point arithmetic.
func (r *reader) floatMode(w []uint32) error {
	if w[1] < ModeDenormPreserve || w[1] > ModeRoundingModeRTZ {
		return nil
	}
	if len(w) < 3 {
		return r.damaged("an execution mode of floats has no width")
	}
	r.floatModes[w[0]] = append(r.floatModes[w[0]], FloatMode{Capability(w[1] + modeToCapability), w[2]})
	return nil
}

// floatAtomic records an atomic operation in the current function, and the types of pointers.
func (r *reader) floatAtomic(op uint16, w []uint32) {
	switch op {
	case OpFunctionParameter, OpAccessChain, OpInBoundsAccessChain, OpPtrAccessChain, OpInBoundsPtrAccess, OpCopyObject:
		if len(w) > 1 {
			r.pointers[w[1]] = w[0]
		}
	case OpAtomicFMin, OpAtomicFMax, OpAtomicFAdd:
		if len(w) >= operandsOfAtomicFloats {
			r.current.atomics = append(r.current.atomics, floatAtomic{op, w[0], w[2]})
		}
	}
}

// describe returns the capability and the memory of an atomic operation.
func (r *reader) describe(a floatAtomic) FloatAtomic {
	var of FloatAtomic
	if t := r.values[a.kind]; t.op == OpTypeFloat {
		list := map[uint32]Capability{16: AtomicFloat16MinMaxEXT, 32: AtomicFloat32MinMaxEXT, 64: AtomicFloat64MinMaxEXT}
		if a.op == OpAtomicFAdd {
			list = map[uint32]Capability{16: AtomicFloat16AddEXT, 32: AtomicFloat32AddEXT, 64: AtomicFloat64AddEXT}
		}
		of.Of = list[t.words[0]]
	}
	pointer, ok := r.pointers[a.pointer]
	if v, global := r.vars[a.pointer]; !ok && global {
		pointer = v.pointer
	}
	if t := r.values[pointer]; t.op == OpTypePointer {
		of.Shared = t.words[0] == ClassWorkgroup
		of.Buffer = t.words[0] == ClassStorageBuffer || t.words[0] == ClassUniform || t.words[0] == ClassPhysicalStorageBuffer
	}
	return of
}

// floats adds the float modes and the float atomics of an entry point, without duplicates.
func (r *reader) floats(e *entry, functions []*function, p *EntryPoint) {
	p.FloatModes = slices.Clone(r.floatModes[e.function])
	for _, f := range functions {
		for _, a := range f.atomics {
			if of := r.describe(a); !slices.Contains(p.FloatAtomics, of) {
				p.FloatAtomics = append(p.FloatAtomics, of)
			}
		}
	}
	sorting.By(p.FloatAtomics, func(a, b FloatAtomic) int {
		rank := func(of FloatAtomic) int {
			switch {
			case of.Buffer:
				return 0
			case of.Shared:
				return 1
			}
			return 2
		}
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(rank(a), rank(b)))
	})
}
