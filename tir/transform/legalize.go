package transform

import (
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform/narrow"
)

// LegalizeTypes replaces the types that no generator supports: integers of 1, 2 and 4 bits, and floats of at most
// 8 bits. [IsLegal] holds for the others; among them are float16 and bfloat16, which the generators support
// themselves.
//
// Integers are computed as int32 or uint32, and wrap at their own width after each operation. Floats are computed as
// float32 (float8_e8m0fnu as float64), and rounded to the nearest value of their type, ties to even, after each
// operation; so are casts. A value that is too large becomes infinity, NaN or the greatest value, as the format
// defines.
//
// Memory of parameters keeps its layout: one byte for types of 8 bits and for uint1; others are packed from the
// lowest bit on. The body accesses it through a view of bytes (tir.View). A parallel loop that writes packed
// elements runs serially, because two of them share a byte; a loop over several threads of a device is rejected for
// this reason. Memory that the program allocates has one byte for each element.
//
// Narrow types are rejected as arguments and results of packed and extern functions, as elements of vectors, and
// where the address of a packed element of the program's own memory is taken.
func LegalizeTypes(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	return Language{}.LegalizeTypes()(m, t)
}

// LegalizeTypes is the pass of this name for a language, whose native types it leaves as they are.
func (l Language) LegalizeTypes() Pass {
	return func(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
		return mapFuncs("legalize types", m, func(f *tir.PrimFunc) (*tir.PrimFunc, error) {
			var native []tir.Type
			if l.Native != nil {
				native = l.Native(targetOf(f, t))
			}
			return narrow.Legalize(f, native)
		})
	}
}

// IsLegal reports whether generators support a type.
func IsLegal(t tir.Type) bool { return narrow.IsLegal(t) }
