package spirv

import (
	"math/bits"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// storageType returns the type of a buffer's elements in a storage buffer. Elements of 8 or 16 bits are parts of words
// if the target cannot access their memory: elements of a view of 32 bits.
func (w *writer) storageType(s scalar) (v view, of id) {
	v = view{bits: int(s.of.Bits), lanes: 1}
	switch {
	case v.bits < 32 && w.inWords(s):
		v.bits = 32
	case s.native():
		w.storage(16)
		v.float = true
		return v, w.typeOf(s)
	case v.bits < 32:
		w.storage(v.bits)
	default:
		v.float = s.class == floating
		return v, w.typeOf(s)
	}
	return v, w.m.integer(v.bits)
}

// inWords reports whether the elements of a type are accessed as parts of words.
func (w *writer) inWords(s scalar) bool {
	return s.of.Bits == 8 && !w.has.storage8 || s.of.Bits == 16 && !w.has.storage16
}

// wordOf returns the index of the word that has an element of fewer than 32 bits, and the position of its lowest bit.
func (w *writer) wordOf(s scalar, index id) (word, shift id) {
	u, size := w.m.integer(32), int64(s.of.Bits)
	each := 32 / size
	word = w.op(spv.OpShiftRightLogical, u, index, w.m.int(32, int64(bits.TrailingZeros64(uint64(each)))))
	within := w.op(spv.OpBitwiseAnd, u, index, w.m.int(32, each-1))
	return word, w.op(spv.OpShiftLeftLogical, u, within, w.m.int(32, int64(bits.TrailingZeros64(uint64(size)))))
}

// loadPart reads an element of fewer than 32 bits from its word.
func (w *writer) loadPart(m *memory, s scalar, v view, of, index id) id {
	word, shift := w.wordOf(s, index)
	x := w.read(m, of, w.pointerTo(m, v, of, word))
	x = w.op(spv.OpShiftRightLogical, of, x, shift)
	return w.fromWord(s, w.op(spv.OpBitwiseAnd, of, x, w.m.int(32, 1<<s.of.Bits-1)))
}

// storePart writes an element of fewer than 32 bits to its word. Other threads may write the rest of the word at the
// same time, so that two atomic operations clear and set its bits: no thread but this one changes them.
func (w *writer) storePart(m *memory, s scalar, v view, of, index, x id) {
	word, shift := w.wordOf(s, index)
	mask := w.m.int(32, 1<<s.of.Bits-1)
	x = w.op(spv.OpShiftLeftLogical, of, w.op(spv.OpBitwiseAnd, of, w.toWord(s, x), mask), shift)
	others := w.op(spv.OpNot, of, w.op(spv.OpShiftLeftLogical, of, mask, shift))
	at := w.pointerTo(m, v, of, word)
	scope, relaxed := w.deviceScope(), w.m.int(32, 0)
	w.fresh(spv.OpAtomicAnd, of, at, scope, relaxed, others)
	w.fresh(spv.OpAtomicOr, of, at, scope, relaxed, x)
	m.written[v] = true
}

// loaded converts a number from the type of its memory.
func (w *writer) loaded(s scalar, v view, x id) id {
	if v.bits > 16 || v.float {
		return x
	}
	if s.class == integer && s.bits == v.bits {
		w.typeOf(s) // declares that the kernel computes with it
		return x
	}
	if s.class == integer && s.signed {
		return w.op(spv.OpSConvert, w.typeOf(s), x)
	}
	return w.fromWord(s, w.op(spv.OpUConvert, w.m.integer(32), x))
}

// fromWord converts a number of 8 or 16 bits from the low bits of a word, whose other bits are 0.
func (w *writer) fromWord(s scalar, x id) id {
	switch {
	case s.class == boolean:
		return w.compare(spv.OpINotEqual, x, w.m.int(32, 0))
	case s.native():
		return w.laneOf(s, x, 0)
	case s.half():
		return w.from16(s.of, x)
	case s.bits < 32:
		return w.op(spv.OpUConvert, w.typeOf(s), x)
	}
	return w.fit(s, x)
}

// stored converts a number to the type of its memory.
func (w *writer) stored(s scalar, v view, x id) id {
	if v.bits > 16 || v.float || s.class == integer && s.bits == v.bits {
		w.typeOf(s)
		return x
	}
	return w.op(spv.OpUConvert, w.m.integer(v.bits), w.toWord(s, x))
}

// toWord converts a number of 8 or 16 bits to the low bits of a word; the others are undefined.
func (w *writer) toWord(s scalar, x id) id {
	u := w.m.integer(32)
	switch {
	case s.class == boolean:
		return w.op(spv.OpSelect, u, x, w.m.int(32, 1), w.m.int(32, 0))
	case s.native():
		return w.bitsOfNative(x)
	case s.half():
		return w.to16(s.of, x)
	case s.bits < 32:
		return w.op(spv.OpUConvert, u, x)
	}
	return x
}

// vectorView returns how n contiguous elements are accessed together: as a vector, or as words that contain several
// elements each.
func (w *writer) vectorView(s scalar, n int) (v view, of id, each int) {
	if s.of.Bits >= 32 {
		v, of = w.storageType(s)
		v.lanes = n
		return v, of, 1
	}
	each = 32 / int(s.of.Bits)
	return view{bits: 32, lanes: n / each}, w.m.integer(32), each
}

// direct reports whether a type of fewer than 32 bits is computed as it is, so that a word is a vector of its values.
func (s scalar) direct() bool {
	return s.native() || s.class == integer && s.bits < 32
}

// lanes is the vector of the values of a direct type that a word contains.
func (w *writer) lanes(s scalar) id { return w.m.vector(w.typeOf(s), 32/s.bits) }

// laneOf returns a value of a direct type that a word contains, the first in the lowest bits.
func (w *writer) laneOf(s scalar, word id, lane uint32) id {
	return w.op(spv.OpCompositeExtract, w.typeOf(s), w.op(spv.OpBitcast, w.lanes(s), word), lane)
}

// loadVector reads contiguous elements as vectors of n lanes.
func (w *writer) loadVector(m *memory, e *tir.BufferLoad, s scalar, n int) values {
	v, of, each := w.vectorView(s, n)
	first := w.indices(e.Buffer, e.Indices, 0)[0]
	u := w.m.integer(32)
	var out values
	for from := 0; from < int(e.DType().Lanes); from += n {
		at := w.pointerTo(m, v, of, w.part(first, from, n))
		var words values
		if v.lanes == 1 {
			words = values{w.read(m, of, at)}
		} else {
			x := w.read(m, w.m.vector(of, v.lanes), at)
			for l := range v.lanes {
				words = append(words, w.op(spv.OpCompositeExtract, of, x, uint32(l)))
			}
		}
		for l := range n {
			x := words[l/each]
			switch {
			case s.direct():
				x = w.laneOf(s, x, uint32(l%each))
			case each > 1:
				bits := int64(s.of.Bits)
				x = w.op(spv.OpShiftRightLogical, u, x, w.m.int(32, bits*int64(l%each)))
				x = w.fromWord(s, w.op(spv.OpBitwiseAnd, u, x, w.m.int(32, 1<<bits-1)))
			}
			out = append(out, x)
		}
	}
	return out
}

// storeVector writes contiguous elements as vectors of n lanes.
func (w *writer) storeVector(m *memory, s *tir.BufferStore, of scalar, x values, n int) {
	v, element, each := w.vectorView(of, n)
	first := w.indices(s.Buffer, s.Indices, 0)[0]
	u := w.m.integer(32)
	for from := 0; from < len(x); from += n {
		words := make(values, v.lanes)
		for l := range n {
			part := x[from+l]
			switch {
			case of.direct():
				if l%each == each-1 {
					part = w.op(spv.OpBitcast, u, w.op(spv.OpCompositeConstruct, w.lanes(of), x[from+l+1-each:from+l+1]...))
				}
			case each > 1:
				bits := int64(of.of.Bits)
				part = w.op(spv.OpBitwiseAnd, u, w.toWord(of, part), w.m.int(32, 1<<bits-1))
				if part = w.op(spv.OpShiftLeftLogical, u, part, w.m.int(32, bits*int64(l%each))); l%each > 0 {
					part = w.op(spv.OpBitwiseOr, u, words[l/each], part)
				}
			}
			words[l/each] = part
		}
		value := words[0]
		if v.lanes > 1 {
			value = w.op(spv.OpCompositeConstruct, w.m.vector(element, v.lanes), words...)
		}
		w.write(m, w.pointerTo(m, v, element, w.part(first, from, n)), value)
		m.written[v] = true
	}
}

// part returns the index of a vector of n lanes that begins `from` elements after an index.
func (w *writer) part(first id, from, n int) id {
	u := scalar{class: integer, bits: 32, of: tir.UInt32}
	return w.binary(tir.OpAdd, u, w.divide(tir.OpDiv, u, first, w.m.int(32, int64(n)), true), w.m.int(32, int64(from/n)),
		true)
}
