package spirv

import (
	"math/bits"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// comparisons are the instructions for signed integers, unsigned integers, and floats.
var comparisons = map[tir.BinaryOp][3]uint16{
	tir.OpEQ: {spv.OpIEqual, spv.OpIEqual, spv.OpFOrdEqual},
	tir.OpNE: {spv.OpINotEqual, spv.OpINotEqual, spv.OpFUnordNotEqual},
	tir.OpLT: {spv.OpSLessThan, spv.OpULessThan, spv.OpFOrdLessThan},
	tir.OpLE: {spv.OpSLessThanEqual, spv.OpULessThanEqual, spv.OpFOrdLessThanEqual},
	tir.OpGT: {spv.OpSGreaterThan, spv.OpUGreaterThan, spv.OpFOrdGreaterThan},
	tir.OpGE: {spv.OpSGreaterThanEqual, spv.OpUGreaterThanEqual, spv.OpFOrdGreaterThanEqual},
}

// comparison returns the instruction of a comparison.
func comparison(op tir.BinaryOp, s scalar) uint16 {
	list := comparisons[op]
	switch {
	case s.class == floating:
		return list[2]
	case s.signed:
		return list[0]
	}
	return list[1]
}

// binary returns an operation on two scalars. nonNegative says that neither is negative.
func (w *writer) binary(op tir.BinaryOp, s scalar, a, b id, nonNegative bool) id {
	switch {
	case s.class == boolean:
		return w.binaryBool(op, a, b)
	case op.IsComparison():
		return w.compare(comparison(op, s), a, b)
	case op == tir.OpMin:
		return w.op(spv.OpSelect, w.typeOf(s), w.compare(comparison(tir.OpLT, s), a, b), a, b)
	case op == tir.OpMax:
		return w.op(spv.OpSelect, w.typeOf(s), w.compare(comparison(tir.OpGT, s), a, b), a, b)
	case s.class == floating:
		return w.binaryFloat(op, s, a, b)
	case op >= tir.OpDiv:
		return w.divide(op, s, a, b, nonNegative)
	}
	x, constX := w.m.numbers[a]
	y, constY := w.m.numbers[b]
	switch {
	case constX && constY && s.bits <= 32: // wraps below
		v := map[tir.BinaryOp]int64{tir.OpAdd: x + y, tir.OpSub: x - y, tir.OpMul: x * y}[op]
		return w.fit(s, w.m.int(s.bits, v))
	case constY && y == 0 && op != tir.OpMul, constY && y == 1 && op == tir.OpMul:
		return a
	case constX && x == 0 && op == tir.OpAdd, constX && x == 1 && op == tir.OpMul:
		return b
	}
	instruction := map[tir.BinaryOp]uint16{tir.OpAdd: spv.OpIAdd, tir.OpSub: spv.OpISub, tir.OpMul: spv.OpIMul}[op]
	return w.fit(s, w.op(instruction, w.typeOf(s), a, b))
}

func (w *writer) binaryBool(op tir.BinaryOp, a, b id) id {
	t := w.m.boolean()
	switch op {
	case tir.OpEQ:
		return w.op(spv.OpLogicalEqual, t, a, b)
	case tir.OpNE:
		return w.op(spv.OpLogicalNotEqual, t, a, b)
	case tir.OpMin:
		return w.op(spv.OpLogicalAnd, t, a, b)
	case tir.OpMax:
		return w.op(spv.OpLogicalOr, t, a, b)
	case tir.OpLT, tir.OpLE, tir.OpGT, tir.OpGE:
		u, s := w.m.integer(32), scalar{class: integer, bits: 32, of: tir.UInt32}
		one, zero := w.m.int(32, 1), w.m.int(32, 0)
		return w.binary(op, s, w.op(spv.OpSelect, u, a, one, zero), w.op(spv.OpSelect, u, b, one, zero), false)
	}
	w.fail("operation %v of truth values", op)
	return 0
}

// unsignedDivision reports whether the operands of a division are proved not to be negative.
func (w *writer) unsignedDivision(e *tir.Binary) bool {
	if e.Op < tir.OpDiv || e.Op > tir.OpFloorMod || !tir.IsSigned(e.A.DType()) {
		return false
	}
	low, _, ok := w.a.Bounds(e.B)
	if !ok || low < 1 {
		return false
	}
	low, _, ok = w.a.Bounds(e.A)
	return ok && low >= 0
}

// divide returns a quotient or a remainder. Division by 0 gives 0, and the dividend as the remainder. Remainders are
// computed from the quotient, because Vulkan defines OpSRem for operands that are not negative alone.
func (w *writer) divide(op tir.BinaryOp, s scalar, a, b id, nonNegative bool) id {
	t := w.typeOf(s)
	by, constant := w.m.numbers[b]
	floor := op == tir.OpFloorDiv || op == tir.OpFloorMod
	quotient := op == tir.OpDiv || op == tir.OpFloorDiv
	if !s.signed || nonNegative {
		switch {
		case constant && by > 0 && bits.OnesCount64(uint64(by)) == 1 && quotient:
			return w.op(spv.OpShiftRightLogical, t, a, w.m.int(s.bits, int64(bits.TrailingZeros64(uint64(by)))))
		case constant && by > 0 && bits.OnesCount64(uint64(by)) == 1:
			return w.op(spv.OpBitwiseAnd, t, a, w.m.int(s.bits, by-1))
		case constant && by != 0 || nonNegative:
			return w.plain(quotient, s, a, b)
		}
		name := "mod_" + s.of.String()
		if quotient {
			name = "div_" + s.of.String()
		}
		return w.helper(name, t, []id{t, t}, values{a, b}, func(args values) id {
			zero := w.compare(spv.OpIEqual, args[1], w.number(s, 0))
			r := w.plain(quotient, s, args[0], w.op(spv.OpSelect, t, zero, w.number(s, 1), args[1]))
			if quotient {
				return w.op(spv.OpSelect, t, zero, w.number(s, 0), r)
			}
			return w.op(spv.OpSelect, t, zero, args[0], r)
		})
	}
	if constant && by > 0 && floor {
		if bits.OnesCount64(uint64(by)) == 1 {
			if quotient {
				return w.op(spv.OpShiftRightArithmetic, t, a, w.m.int(s.bits, int64(bits.TrailingZeros64(uint64(by)))))
			}
			return w.op(spv.OpBitwiseAnd, t, a, w.m.int(s.bits, by-1))
		}
	}
	name := op.String() + "_" + s.of.String()
	switch op {
	case tir.OpDiv:
		name = "div_" + s.of.String()
	case tir.OpMod:
		name = "mod_" + s.of.String()
	}
	if constant && by > 0 {
		return w.signedDivision(floor, quotient, s, a, b)
	}
	return w.helper(name, t, []id{t, t}, values{a, b}, func(args values) id {
		a, b := args[0], args[1]
		zero := w.compare(spv.OpIEqual, b, w.number(s, 0))
		minus := w.compare(spv.OpIEqual, b, w.number(s, -1))
		unsafe := w.op(spv.OpLogicalOr, w.m.boolean(), zero, minus)
		r := w.signedDivision(floor, quotient, s, a, w.op(spv.OpSelect, t, unsafe, w.number(s, 1), b))
		if quotient {
			r = w.op(spv.OpSelect, t, minus, w.fit(s, w.op(spv.OpSNegate, t, a)), r)
			return w.op(spv.OpSelect, t, zero, w.number(s, 0), r)
		}
		r = w.op(spv.OpSelect, t, minus, w.number(s, 0), r)
		return w.op(spv.OpSelect, t, zero, a, r)
	})
}

// plain divides unsigned numbers by one that is not 0.
func (w *writer) plain(quotient bool, s scalar, a, b id) id {
	if quotient {
		return w.op(spv.OpUDiv, w.typeOf(s), a, b)
	}
	return w.op(spv.OpUMod, w.typeOf(s), a, b)
}

// signedDivision divides signed numbers by one that is neither 0 nor -1.
func (w *writer) signedDivision(floor, quotient bool, s scalar, a, b id) id {
	t := w.typeOf(s)
	q := w.op(spv.OpSDiv, t, a, b)
	if quotient && !floor {
		return q
	}
	r := w.op(spv.OpISub, t, a, w.op(spv.OpIMul, t, q, b))
	if !floor {
		return r
	}
	zero := w.number(s, 0)
	// the remainder has the sign of the dividend
	off := w.op(spv.OpLogicalAnd, w.m.boolean(), w.compare(spv.OpINotEqual, r, zero),
		w.compare(spv.OpSLessThan, w.op(spv.OpBitwiseXor, t, r, b), zero))
	if quotient {
		return w.op(spv.OpSelect, t, off, w.op(spv.OpISub, t, q, w.number(s, 1)), q)
	}
	return w.op(spv.OpSelect, t, off, w.op(spv.OpIAdd, t, r, b), r)
}

// shift returns a shift by any number of bits: a negative count, or one of at least the width, shifts all bits out.
func (w *writer) shift(left bool, s scalar, a, b id) id {
	t := w.typeOf(s)
	op := uint16(spv.OpShiftRightLogical)
	switch {
	case left:
		op = spv.OpShiftLeftLogical
	case s.signed:
		op = spv.OpShiftRightArithmetic
	}
	width := int64(s.of.Bits)
	if n, constant := w.m.numbers[b]; constant && n >= 0 && n < width {
		return w.fit(s, w.op(op, t, a, b))
	}
	beyond := w.compare(spv.OpUGreaterThanEqual, b, w.m.int(s.bits, width))
	if !left && s.signed { // only copies of the sign remain
		return w.op(op, t, a, w.op(spv.OpSelect, t, beyond, w.m.int(s.bits, width-1), b))
	}
	r := w.op(op, t, a, w.op(spv.OpSelect, t, beyond, w.m.int(s.bits, 0), b))
	return w.op(spv.OpSelect, t, beyond, w.number(s, 0), w.fit(s, r))
}

// unsignedBits returns an integer as an unsigned one of at least 32 bits, with zeros before the bits of its type.
func (w *writer) unsignedBits(s scalar, x id) (u scalar, bits id) {
	u = scalar{class: integer, bits: 32, of: tir.UInt32}
	if s.bits == 64 {
		u = scalar{class: integer, bits: 64, of: tir.UInt64}
	}
	if s.bits < 32 {
		return u, w.op(spv.OpUConvert, w.typeOf(u), x)
	}
	if s.narrow() && s.signed {
		x = w.op(spv.OpBitwiseAnd, w.typeOf(u), x, w.m.int(32, 1<<s.of.Bits-1))
	}
	return u, x
}

// halves returns the low and the high half of an integer of 64 bits.
func (w *writer) halves(x id) (low, high id) {
	u, wide := w.m.integer(32), w.m.integer(64)
	return w.op(spv.OpUConvert, u, x), w.op(spv.OpUConvert, u, w.op(spv.OpShiftRightLogical, wide, x, w.m.int(64, 32)))
}

// popcount counts bits; Vulkan's OpBitCount takes 32 bits.
func (w *writer) popcount(s scalar, x id) id {
	u, bits := w.unsignedBits(s, x)
	word := w.m.integer(32)
	n := bits
	if u.bits == 64 {
		low, high := w.halves(bits)
		n = w.op(spv.OpIAdd, word, w.op(spv.OpBitCount, word, low), w.op(spv.OpBitCount, word, high))
	} else {
		n = w.op(spv.OpBitCount, word, bits)
	}
	return w.castInteger(s, scalar{class: integer, bits: 32, of: tir.UInt32}, n)
}

// leadingZeros counts the zeros before the highest bit; the width for 0.
func (w *writer) leadingZeros(s scalar, x id) id {
	u, bits := w.unsignedBits(s, x)
	word := w.m.integer(32)
	highest := func(x id) id { return w.extended(word, spv.GLSLFindUMsb, x) } // -1 for 0
	var top id
	if u.bits == 64 {
		low, high := w.halves(bits)
		top = w.op(spv.OpSelect, word, w.compare(spv.OpIEqual, high, w.m.int(32, 0)), highest(low),
			w.op(spv.OpIAdd, word, highest(high), w.m.int(32, 32)))
	} else {
		top = highest(bits)
	}
	n := w.op(spv.OpISub, word, w.m.int(32, int64(s.of.Bits)-1), top)
	return w.castInteger(s, scalar{class: integer, bits: 32, of: tir.UInt32}, n)
}
