package spirv

import (
	"cmp"
	"slices"
)

// FloatMode asks for a behaviour of arithmetic in an entry point.
type FloatMode struct {
	Of   Capability // that it belongs to: DenormPreserve … RoundingModeRTZ
	Bits uint32     // of the floats that it is for
}

// FloatAtomic is an atomic operation on floats.
type FloatAtomic struct {
	Of     Capability // that it belongs to, AtomicFloat32AddEXT …; 0 for a width that has none
	Buffer bool       // on a buffer; where neither this nor Shared is set, on something whose place is not seen
	Shared bool       // on the memory of a block
}

// Execution modes have the numbers of their capabilities, less five.
const (
	modeDenormPreserve  = 4459
	modeRoundingModeRTZ = 4463
	modeToCapability    = uint32(DenormPreserve) - modeDenormPreserve
)

// Atomic operations on floats, and instructions with pointers for results.
const (
	opAtomicFMin           = 5614
	opAtomicFMax           = 5615
	opAtomicFAdd           = 6035
	opPtrAccessChain       = 67
	opInBoundsPtrAccess    = 70
	opCopyObject           = 83
	operandsOfAtomicFloats = 6
)

// floatAtomic is an operation as it stands in a function's body.
type floatAtomic struct {
	op            uint16
	kind, pointer id
}

// floatMode notes a mode of an entry point's arithmetic.
func (r *reader) floatMode(w []uint32) error {
	if w[1] < modeDenormPreserve || w[1] > modeRoundingModeRTZ {
		return nil
	}
	if len(w) < 3 {
		return r.damaged("an execution mode of floats without their width")
	}
	r.floatModes[w[0]] = append(r.floatModes[w[0]], FloatMode{Capability(w[1] + modeToCapability), w[2]})
	return nil
}

// floatAtomic notes an operation in the function that is read, and the types of pointers.
func (r *reader) floatAtomic(op uint16, w []uint32) {
	switch op {
	case opFunctionParameter, opAccessChain, opInBoundsAccessChain, opPtrAccessChain, opInBoundsPtrAccess, opCopyObject:
		if len(w) > 1 {
			r.pointers[w[1]] = w[0]
		}
	case opAtomicFMin, opAtomicFMax, opAtomicFAdd:
		if len(w) >= operandsOfAtomicFloats {
			r.current.atomics = append(r.current.atomics, floatAtomic{op, w[0], w[2]})
		}
	}
}

// describe says what an operation needs.
func (r *reader) describe(a floatAtomic) FloatAtomic {
	var of FloatAtomic
	if t := r.values[a.kind]; t.op == opTypeFloat {
		list := map[uint32]Capability{16: AtomicFloat16MinMaxEXT, 32: AtomicFloat32MinMaxEXT, 64: AtomicFloat64MinMaxEXT}
		if a.op == opAtomicFAdd {
			list = map[uint32]Capability{16: AtomicFloat16AddEXT, 32: AtomicFloat32AddEXT, 64: AtomicFloat64AddEXT}
		}
		of.Of = list[t.words[0]]
	}
	pointer, ok := r.pointers[a.pointer]
	if v, global := r.vars[a.pointer]; !ok && global {
		pointer = v.pointer
	}
	if t := r.values[pointer]; t.op == opTypePointer {
		of.Shared = t.words[0] == classWorkgroup
		of.Buffer = t.words[0] == classStorageBuffer || t.words[0] == classUniform || t.words[0] == classPhysicalStorageBuffer
	}
	return of
}

// floats adds what an entry point asks of floats, each once.
func (r *reader) floats(e *entry, functions []*function, p *EntryPoint) {
	p.FloatModes = slices.Clone(r.floatModes[e.function])
	for _, f := range functions {
		for _, a := range f.atomics {
			if of := r.describe(a); !slices.Contains(p.FloatAtomics, of) {
				p.FloatAtomics = append(p.FloatAtomics, of)
			}
		}
	}
	slices.SortFunc(p.FloatAtomics, func(a, b FloatAtomic) int {
		place := func(of FloatAtomic) int {
			switch {
			case of.Buffer:
				return 0
			case of.Shared:
				return 1
			}
			return 2
		}
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(place(a), place(b)))
	})
}
