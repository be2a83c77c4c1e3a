package spirv

import (
	"math"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// cast converts a value to another type: floats to integers towards 0, saturating, NaN to 0.
func (w *writer) cast(to, from scalar, x id) id {
	switch {
	case to.of == from.of:
		return x
	case to.class == boolean:
		return w.truthOf(from, x)
	case from.class == boolean:
		if to.class == floating {
			return w.op(spv.OpSelect, w.typeOf(to), x, w.real(to, 1), w.zero(to))
		}
		return w.op(spv.OpSelect, w.typeOf(to), x, w.number(to, 1), w.zero(to))
	case to.class == integer && from.class == integer:
		return w.castInteger(to, from, x)
	case to.class == integer && from.native():
		return w.saturate(to, single, w.widened(from, x))
	case to.class == integer:
		return w.saturate(to, from, x)
	case from.class == integer && to.native():
		return w.toNative(w.halfOfInteger(to, from, x))
	case from.class == integer && to.half():
		return w.round16(to.of, w.halfOfInteger(to, from, x))
	case from.class == integer && from.signed:
		return w.op(spv.OpConvertSToF, w.typeOf(to), x)
	case from.class == integer:
		return w.op(spv.OpConvertUToF, w.typeOf(to), x)
	case to.native() && from.bits == 64:
		return w.toNative(w.oddOfDouble(x))
	case to.native():
		return w.toNative(x)
	case to.half() && from.native():
		return w.round16(to.of, w.widened(from, x))
	case to.half() && from.bits == 64:
		return w.round16(to.of, w.oddOfDouble(x))
	case to.half():
		return w.round16(to.of, x)
	case to.bits == from.bits:
		return x
	}
	return w.op(spv.OpFConvert, w.typeOf(to), x)
}

// truthOf reports whether a number is not 0; NaN is not.
func (w *writer) truthOf(s scalar, x id) id {
	switch s.class {
	case boolean:
		return x
	case integer:
		return w.compare(spv.OpINotEqual, x, w.number(s, 0))
	}
	return w.compare(spv.OpFUnordNotEqual, x, w.real(s, 0))
}

// castInteger changes the width of an integer.
func (w *writer) castInteger(to, from scalar, x id) id {
	if n, constant := w.m.numbers[x]; constant {
		if !from.signed {
			n = wrapped(from.of, n)
		}
		return w.number(to, n)
	}
	switch {
	case to.bits > from.bits && from.signed:
		x = w.op(spv.OpSConvert, w.typeOf(to), x)
	case to.bits != from.bits:
		x = w.op(spv.OpUConvert, w.typeOf(to), x)
	}
	if to.narrow() && from.of.Bits < to.of.Bits && (!from.signed || to.signed) {
		return x // it has its value already
	}
	return w.fit(to, x)
}

// saturate converts a float to an integer.
func (w *writer) saturate(to, from scalar, x id) id {
	t, f := w.typeOf(to), w.typeOf(from)
	name := "saturate_" + typeName(from) + "_" + to.of.String()
	return w.helper(name, t, []id{f}, values{x}, func(args values) id {
		x := args[0]
		bits := int(to.of.Bits)
		real := func(v float64) id {
			if from.bits == 64 {
				return w.m.f64(v)
			}
			return w.m.f32(float32(v))
		}
		var most, least id
		if to.signed {
			top := math.Ldexp(1, bits-1)
			most = w.compare(spv.OpFOrdGreaterThanEqual, x, real(top))
			least = w.compare(spv.OpFOrdLessThanEqual, x, real(-top))
		} else {
			most = w.compare(spv.OpFOrdGreaterThanEqual, x, real(math.Ldexp(1, bits)))
			least = w.compare(spv.OpFOrdLessThanEqual, x, real(0))
		}
		fine := w.op(spv.OpLogicalNot, w.m.boolean(), w.op(spv.OpLogicalOr, w.m.boolean(), most, least))
		fine = w.op(spv.OpLogicalAnd, w.m.boolean(), fine, w.compare(spv.OpFOrdEqual, x, x))
		x = w.op(spv.OpSelect, f, fine, x, real(0))
		lowest, highest := int64(0), int64(-1)
		op := uint16(spv.OpConvertFToU)
		if to.signed {
			op, lowest, highest = spv.OpConvertFToS, -1<<(bits-1), 1<<(bits-1)-1
		}
		r := w.op(spv.OpSelect, t, least, w.number(to, lowest), w.op(op, t, x))
		return w.op(spv.OpSelect, t, most, w.number(to, highest), r)
	})
}

// typeName names the type in which a scalar is computed.
func typeName(s scalar) string {
	switch {
	case s.class == boolean:
		return "bool"
	case s.class == floating && s.bits == 32:
		return "float32"
	}
	return s.of.String()
}

// halfOfInteger returns a float32 that rounds to the same float of 16 bits as an integer: exactly, or with an odd last
// bit.
func (w *writer) halfOfInteger(to, from scalar, x id) id {
	f := w.m.float(32)
	if from.of.Bits <= 16 || to.of == tir.Float16 && from.of.Bits == 32 {
		// exact, or far beyond the greatest float16
		if from.signed {
			return w.op(spv.OpConvertSToF, f, x)
		}
		return w.op(spv.OpConvertUToF, f, x)
	}
	t := w.typeOf(from)
	return w.helper("odd_of_"+from.of.String(), f, []id{t}, values{x}, func(args values) id {
		x, u := args[0], w.m.integer(32)
		size := x
		var negative id
		if from.signed {
			negative = w.compare(spv.OpSLessThan, x, w.number(from, 0))
			size = w.op(spv.OpSelect, t, negative, w.op(spv.OpSNegate, t, x), x)
		}
		near := w.op(spv.OpConvertUToF, f, size)
		// 2^32 or 2^64, which does not convert back
		over := w.compare(spv.OpFOrdGreaterThanEqual, near, w.m.f32(float32(math.Ldexp(1, from.bits))))
		back := w.op(spv.OpConvertFToU, t, w.op(spv.OpSelect, f, over, w.m.f32(0), near))
		greater := w.op(spv.OpLogicalOr, w.m.boolean(), over, w.compare(spv.OpUGreaterThan, back, size))
		exact := w.op(spv.OpLogicalAnd, w.m.boolean(), w.compare(spv.OpIEqual, back, size),
			w.op(spv.OpLogicalNot, w.m.boolean(), over))
		r := w.odd(near, greater, exact)
		if from.signed {
			sign := w.op(spv.OpSelect, u, negative, w.m.int(32, math.MinInt32), w.m.int(32, 0))
			r = w.op(spv.OpBitcast, f, w.op(spv.OpBitwiseOr, u, w.op(spv.OpBitcast, u, r), sign))
		}
		return r
	})
}

// oddOfDouble rounds a float64 to float32, to an odd last bit if it is inexact: then a second rounding gives the same
// result as a single one.
func (w *writer) oddOfDouble(x id) id {
	f, d := w.m.float(32), w.m.float(64)
	return w.helper("odd_of_float64", f, []id{d}, values{x}, func(args values) id {
		x := args[0]
		near := w.op(spv.OpFConvert, f, x)
		back := w.op(spv.OpFConvert, d, near)
		greater := w.compare(spv.OpFOrdGreaterThan, w.extended(d, spv.GLSLFAbs, back), w.extended(d, spv.GLSLFAbs, x))
		exact := w.op(spv.OpLogicalOr, w.m.boolean(), w.compare(spv.OpFOrdEqual, back, x),
			w.compare(spv.OpFUnordNotEqual, x, x))
		return w.odd(near, greater, exact)
	})
}

// odd returns the float32 below near in magnitude if that is greater than the exact value, with an odd last bit unless
// near is exact.
func (w *writer) odd(near, greater, exact id) id {
	f, u := w.m.float(32), w.m.integer(32)
	bits := w.op(spv.OpBitcast, u, near)
	less := w.op(spv.OpISub, u, bits, w.op(spv.OpSelect, u, greater, w.m.int(32, 1), w.m.int(32, 0)))
	odd := w.op(spv.OpBitwiseOr, u, less, w.m.int(32, 1))
	return w.op(spv.OpBitcast, f, w.op(spv.OpSelect, u, exact, bits, odd))
}

// reinterpret reads the bits of a value as another type of as many bits.
func (w *writer) reinterpret(to, from scalar, x id) id {
	if to.of == from.of {
		return x
	}
	if to.of.Bits != from.of.Bits || to.class == boolean {
		w.fail("reinterpret of %s as %s: want numbers of as many bits", from.of, to.of)
		return x
	}
	switch {
	case from.class == boolean:
		return w.cast(to, from, x)
	case from.class == integer && to.class == integer:
		return w.castInteger(to, from, x)
	}
	bits := scalar{class: integer, bits: max(32, int(from.of.Bits)), of: tir.UInt32} // of the value, zero-extended
	if from.of.Bits == 64 {
		bits.of = tir.UInt64
	}
	switch {
	case from.native() && to.class == integer && to.bits == 16, to.native() && from.class == integer && from.bits == 16:
		return w.op(spv.OpBitcast, w.typeOf(to), x)
	case from.native():
		x = w.bitsOfNative(x)
	case from.half():
		x = w.to16(from.of, x)
	case from.class == floating:
		x = w.op(spv.OpBitcast, w.typeOf(bits), x)
	case from.of.Bits < 32: // of an integer, the low bits
		x = w.castInteger(bits, from, x)
		x = w.op(spv.OpBitwiseAnd, w.m.integer(32), x, w.m.int(32, 1<<from.of.Bits-1))
	}
	switch {
	case to.native():
		return w.laneOf(to, x, 0)
	case to.half():
		return w.from16(to.of, x)
	case to.class == floating:
		return w.op(spv.OpBitcast, w.typeOf(to), x)
	case to.bits == bits.bits:
		return w.fit(to, x)
	}
	return w.op(spv.OpUConvert, w.typeOf(to), x)
}
