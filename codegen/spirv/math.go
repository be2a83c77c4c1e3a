package spirv

import (
	"slices"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// binaryFloat returns an arithmetic operation on two floats.
func (w *writer) binaryFloat(op tir.BinaryOp, s scalar, a, b id) id {
	t := w.typeOf(s)
	switch op {
	case tir.OpAdd:
		return w.fit(s, w.op(spv.OpFAdd, t, a, b))
	case tir.OpSub:
		return w.fit(s, w.op(spv.OpFSub, t, a, b))
	case tir.OpMul:
		return w.fit(s, w.op(spv.OpFMul, t, a, b))
	}
	if s.native() {
		return w.widely(s, values{a, b}, func(s scalar, x values) id { return w.binaryFloat(op, s, x[0], x[1]) })
	}
	switch op {
	case tir.OpDiv:
		return w.fit(s, w.op(spv.OpFDiv, t, a, b))
	case tir.OpFloorDiv:
		return w.fit(s, w.extended(t, spv.GLSLFloor, w.op(spv.OpFDiv, t, a, b)))
	case tir.OpMod:
		return w.fit(s, w.fmod(s, a, b))
	case tir.OpFloorMod:
		r := w.fmod(s, a, b)
		zero := w.real(s, 0)
		off := w.op(spv.OpLogicalNotEqual, w.m.boolean(), w.compare(spv.OpFOrdLessThan, r, zero),
			w.compare(spv.OpFOrdLessThan, b, zero))
		off = w.op(spv.OpLogicalAnd, w.m.boolean(), w.compare(spv.OpFUnordNotEqual, r, zero), off)
		return w.fit(s, w.op(spv.OpSelect, t, off, w.op(spv.OpFAdd, t, r, b), r))
	}
	w.fail("operation %v of floats", op)
	return 0
}

// format describes the bits of floats.
type format struct {
	scalar
	word     scalar // integers of as many bits
	fraction int
}

func (w *writer) formatOf(s scalar) format {
	f := format{scalar: s, fraction: 23, word: scalar{class: integer, bits: 32, of: tir.UInt32}}
	if s.bits == 64 {
		f.fraction, f.word = 52, scalar{class: integer, bits: 64, of: tir.UInt64}
		if !w.has.int64 {
			w.fail("the bits of a float64: %w", lacks("a 64-bit integer", "supports_int64"))
		}
	}
	return f
}

func (f format) signBit() int64 { return -1 << (f.word.bits - 1) }

// bits returns a float's bits, and value the float of bits.
func (w *writer) bits(f format, x id) id  { return w.op(spv.OpBitcast, w.typeOf(f.word), x) }
func (w *writer) float(f format, x id) id { return w.op(spv.OpBitcast, w.typeOf(f.scalar), x) }

// classify reports whether a float is NaN, infinite or finite, by its bits: drivers may assume that floats are finite.
func (w *writer) classify(name string, s scalar, x id) id {
	if s.native() {
		s, x = single, w.widened(s, x)
	}
	f := w.formatOf(s)
	size := w.op(spv.OpBitwiseAnd, w.typeOf(f.word), w.bits(f, x), w.m.int(f.word.bits, ^f.signBit()))
	infinity := w.m.int(f.word.bits, exponentMask(f))
	switch name {
	case "isnan":
		return w.compare(spv.OpUGreaterThan, size, infinity)
	case "isinf":
		return w.compare(spv.OpIEqual, size, infinity)
	}
	return w.compare(spv.OpULessThan, size, infinity)
}

// exponentMask has the bits of the exponent, which are those of infinity.
func exponentMask(f format) int64 {
	if f.word.bits == 64 {
		return 0x7ff << 52
	}
	return 0xff << 23
}

// copysign returns the magnitude of one float with the sign of another.
func (w *writer) copysign(s scalar, x, sign id) id {
	f := w.formatOf(s)
	t := w.typeOf(f.word)
	mask := w.m.int(f.word.bits, f.signBit())
	rest := w.m.int(f.word.bits, ^f.signBit())
	return w.float(f, w.op(spv.OpBitwiseOr, t, w.op(spv.OpBitwiseAnd, t, w.bits(f, x), rest),
		w.op(spv.OpBitwiseAnd, t, w.bits(f, sign), mask)))
}

// roundAway rounds to an integer, halves away from zero.
func (w *writer) roundAway(s scalar, x id) id {
	t := w.typeOf(s)
	size := w.extended(t, spv.GLSLFAbs, x)
	whole := w.extended(t, spv.GLSLTrunc, size)
	up := w.compare(spv.OpFOrdGreaterThanEqual, w.op(spv.OpFSub, t, size, whole), w.real(s, 0.5))
	return w.copysign(s, w.op(spv.OpSelect, t, up, w.op(spv.OpFAdd, t, whole, w.real(s, 1)), whole), x)
}

// fmod returns the exact remainder of a division that rounds towards zero, by long division of the significands.
func (w *writer) fmod(s scalar, x, y id) id {
	t := w.typeOf(s)
	name := "fmod_" + typeName(s)
	f := w.formatOf(scalar{class: floating, bits: s.bits, of: s.of})
	return w.helper(name, t, []id{t, t}, values{x, y}, func(args values) id {
		u, b := w.typeOf(f.word), w.m.boolean()
		c := func(v int64) id { return w.m.int(f.word.bits, v) }
		op := func(op uint16, a, b id) id { return w.op(op, u, a, b) }
		x, y := w.bits(f, args[0]), w.bits(f, args[1])
		sign := op(spv.OpBitwiseAnd, x, c(f.signBit()))
		x, y = op(spv.OpBitwiseAnd, x, c(^f.signBit())), op(spv.OpBitwiseAnd, y, c(^f.signBit()))
		limit := c(exponentMask(f))
		none := w.op(spv.OpLogicalOr, b, w.compare(spv.OpIEqual, y, c(0)),
			w.op(spv.OpLogicalOr, b, w.compare(spv.OpUGreaterThan, y, limit), w.compare(spv.OpUGreaterThanEqual, x, limit)))
		return w.selection(none, []id{t}, func() values {
			return values{w.float(f, c(exponentMask(f)|1<<(f.fraction-1)))}
		}, func() values {
			return w.selection(w.compare(spv.OpULessThan, x, y), []id{t}, func() values { return values{args[0]} },
				func() values { return values{w.float(f, op(spv.OpBitwiseOr, w.remainder(f, x, y), sign))} })
		})[0]
	})
}

// remainder is fmod of the bits of two finite, positive floats, of which x is not less than y.
func (w *writer) remainder(f format, x, y id) id {
	u := w.typeOf(f.word)
	c := func(v int64) id { return w.m.int(f.word.bits, v) }
	op := func(op uint16, a, b id) id { return w.op(op, u, a, b) }
	pick := func(cond, a, b id) id { return w.op(spv.OpSelect, u, cond, a, b) }
	top := func(x id) id { // the position of the highest bit
		return op(spv.OpISub, c(int64(f.word.bits-1)), w.leadingZeros(f.word, x))
	}
	split := func(x id) (significand, exponent id) {
		e := op(spv.OpShiftRightLogical, x, c(int64(f.fraction)))
		m := op(spv.OpBitwiseAnd, x, c(1<<f.fraction-1))
		subnormal := w.compare(spv.OpIEqual, e, c(0))
		by := op(spv.OpISub, c(int64(f.fraction)), top(m))
		m = pick(subnormal, op(spv.OpShiftLeftLogical, m, by), op(spv.OpBitwiseOr, m, c(1<<f.fraction)))
		return m, pick(subnormal, op(spv.OpISub, c(1), by), e)
	}
	mx, ex := split(x)
	my, ey := split(y)
	less := func(m id) id {
		return pick(w.compare(spv.OpUGreaterThanEqual, m, my), op(spv.OpISub, m, my), m)
	}
	end := w.loop(0, []id{u, u}, values{mx, op(spv.OpISub, ex, ey)},
		func(now values) id { return w.compare(spv.OpSGreaterThan, now[1], c(0)) },
		func(now values) values {
			return values{op(spv.OpShiftLeftLogical, less(now[0]), c(1)), op(spv.OpISub, now[1], c(1))}
		})
	m := less(end[0])
	zero := w.compare(spv.OpIEqual, m, c(0))
	by := op(spv.OpISub, c(int64(f.fraction)), top(pick(zero, c(1), m)))
	e := op(spv.OpISub, ey, by)
	m = op(spv.OpShiftLeftLogical, m, by)
	normal := op(spv.OpIAdd, op(spv.OpISub, m, c(1<<f.fraction)), op(spv.OpShiftLeftLogical, e, c(int64(f.fraction))))
	isNormal := w.compare(spv.OpSGreaterThan, e, c(0))
	// The result is a multiple of the last bit of a subnormal float, so that no bit is lost.
	subnormal := op(spv.OpShiftRightLogical, m, pick(isNormal, c(0), op(spv.OpISub, c(1), e)))
	r := pick(isNormal, normal, subnormal)
	return pick(zero, c(0), r)
}

// exactFunctions are the functions of GLSL.std.450 whose results are exact.
var exactFunctions = map[string]uint32{"sqrt": spv.GLSLSqrt, "floor": spv.GLSLFloor, "ceil": spv.GLSLCeil,
	"trunc": spv.GLSLTrunc, "nearbyint": spv.GLSLRoundEven, "fabs": spv.GLSLFAbs}

// mathCall returns an intrinsic on floats.
func (w *writer) mathCall(name string, s scalar, x values) id {
	t := w.typeOf(s)
	function, exact := exactFunctions[name]
	if s.native() && (!exact || name == "sqrt") {
		return w.widely(s, x, func(s scalar, x values) id { return w.mathCall(name, s, x) })
	}
	if exact {
		return w.fit(s, w.extended(t, function, x...))
	}
	if function, ok := functions[name]; ok {
		params := slices.Repeat([]id{t}, len(x))
		return w.fit(s, w.helper(name+"_"+typeName(s), t, params, x, func(args values) id {
			return function(w.calcOf(s), args)
		}))
	}
	switch name {
	case "round":
		return w.fit(s, w.roundAway(s, x[0]))
	case "copysign":
		return w.copysign(s, x[0], x[1])
	case "fmod":
		return w.fit(s, w.fmod(s, x[0], x[1]))
	case "rsqrt":
		return w.fit(s, w.op(spv.OpFDiv, t, w.real(s, 1), w.extended(t, spv.GLSLSqrt, x[0])))
	case "fma":
		return w.fit(s, w.fma(s, x))
	}
	w.fail("intrinsic %s of type %s cannot be written in SPIR-V", name, s.of)
	return x[0]
}

// fma rounds once. GLSL.std.450 leaves open whether its function does; in float64, products of float32 are exact.
func (w *writer) fma(s scalar, x values) id {
	t := w.typeOf(s)
	if s.bits == 64 || !w.has.float64 {
		return w.extended(t, spv.GLSLFma, x...)
	}
	wide := w.typeOf(scalar{class: floating, bits: 64, of: tir.Float64})
	long := func(v id) id { return w.op(spv.OpFConvert, wide, v) }
	return w.op(spv.OpFConvert, t, w.op(spv.OpFAdd, wide, w.op(spv.OpFMul, wide, long(x[0]), long(x[1])), long(x[2])))
}
