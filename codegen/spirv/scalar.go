package spirv

import (
	"math"

	"tvmgo/dlpack"
	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// class is a class of scalars.
type class uint8

const (
	boolean class = iota
	integer
	floating
)

// scalar is how values of a type are computed. Integers of a width that the target lacks are computed in 32 bits, and
// are sign- or zero-extended after each operation. So are bfloat16, for which SPIR-V has no arithmetic, and float16 on
// targets that lack it: they are computed as float32, and rounded after each operation.
type scalar struct {
	class  class
	bits   int // in which it is computed; 0 for bool
	signed bool
	of     tir.Type // of one lane
}

// narrow reports whether a value has more bits than its type.
func (s scalar) narrow() bool { return s.class == integer && s.bits > int(s.of.Bits) }

// half reports whether a float is rounded to 16 bits after each operation.
func (s scalar) half() bool { return s.class == floating && s.bits > int(s.of.Bits) }

// scalar returns how a type is computed; it fails for a type that the target lacks.
func (w *writer) scalar(t tir.Type) scalar {
	t = tir.Element(t)
	s := scalar{of: t, bits: int(t.Bits), signed: tir.IsSigned(t)}
	switch {
	case tir.IsBool(t):
		s.bits = 0
	case tir.IsInt(t):
		s.class = integer
		switch {
		case t.Bits == 8 && !w.has.int8, t.Bits == 16 && !w.has.int16:
			s.bits = 32
		case t.Bits == 64 && !w.has.int64:
			w.fail("type %s: %w", t, lacks("a 64-bit integer", "supports_int64"))
		}
	case tir.IsFloat(t):
		s.class = floating
		switch {
		case t == tir.BFloat16, t.Bits == 16 && !w.has.float16:
			s.bits = 32
		case t.Bits == 64 && !w.has.float64:
			w.fail("type %s: %w", t, lacks("a 64-bit float", "supports_float64"))
		}
	default:
		w.fail("a value of type %s: kernels compute with numbers and truth values", t)
	}
	return s
}

// typeOf is the SPIR-V type of a scalar. It declares the capability that arithmetic needs.
func (w *writer) typeOf(s scalar) id {
	switch s.class {
	case boolean:
		return w.m.boolean()
	case integer:
		switch s.bits {
		case 8:
			w.m.need(spv.Int8)
		case 16:
			w.m.need(spv.Int16)
		case 64:
			w.m.need(spv.Int64)
		}
		return w.m.integer(s.bits)
	}
	switch s.bits {
	case 16:
		w.m.need(spv.Float16)
	case 64:
		w.m.need(spv.Float64)
	}
	return w.m.float(s.bits)
}

// number is an integer constant of a scalar's type.
func (w *writer) number(s scalar, v int64) id {
	w.typeOf(s)
	if s.class == boolean {
		return w.m.truth(v != 0)
	}
	if s.narrow() {
		v = wrapped(s.of, v)
	}
	return w.m.int(s.bits, v)
}

// wrapped returns an integer modulo the width of a type.
func wrapped(t tir.Type, v int64) int64 {
	shift := 64 - uint(t.Bits)
	if tir.IsSigned(t) {
		return v << shift >> shift
	}
	return int64(uint64(v) << shift >> shift)
}

// real is a float constant of a scalar's type.
func (w *writer) real(s scalar, v float64) id {
	w.typeOf(s)
	switch {
	case s.native():
		return w.constant16(v)
	case s.of == tir.BFloat16:
		v = float64(dlpack.BFloat16Of(v).Float32())
	case s.of == tir.Float16:
		v = float64(dlpack.Float16Of(v).Float32())
	}
	if s.bits == 64 {
		return w.m.f64(v)
	}
	return w.m.f32(float32(v))
}

// zero is 0 of a scalar's type, or false.
func (w *writer) zero(s scalar) id {
	if s.class == floating {
		return w.real(s, 0)
	}
	return w.number(s, 0)
}

// fit converts the result of an operation to its type: integers wrap, and 16-bit floats are rounded.
func (w *writer) fit(s scalar, x id) id {
	switch {
	case s.half():
		return w.round16(s.of, x)
	case !s.narrow():
		return x
	}
	if known, constant := w.m.numbers[x]; constant {
		return w.m.int(32, wrapped(s.of, known))
	}
	t := w.m.integer(32)
	if s.signed {
		by := w.m.int(32, int64(32-s.of.Bits))
		return w.op(spv.OpShiftRightArithmetic, t, w.op(spv.OpShiftLeftLogical, t, x, by), by)
	}
	return w.op(spv.OpBitwiseAnd, t, x, w.m.int(32, 1<<s.of.Bits-1))
}

// round16 rounds a float32 to a type of 16 bits.
func (w *writer) round16(t tir.Type, x id) id { return w.from16(t, w.to16(t, x)) }

// to16 returns the 16 bits of a float of a type, in an integer of 32 bits: rounded to nearest, ties to even. Values
// that are too large become infinity.
func (w *writer) to16(t tir.Type, x id) id {
	u := w.m.integer(32)
	return w.helper("to_"+t.String(), u, []id{w.m.float(32)}, values{x}, func(args values) id {
		c := func(v int64) id { return w.m.int(32, v) }
		bits := w.op(spv.OpBitcast, u, args[0])
		add := func(a, b id) id { return w.op(spv.OpIAdd, u, a, b) }
		and := func(a id, v int64) id { return w.op(spv.OpBitwiseAnd, u, a, c(v)) }
		right := func(a id, by int64) id { return w.op(spv.OpShiftRightLogical, u, a, c(by)) }
		if t == tir.BFloat16 {
			rounded := right(add(bits, add(c(0x7fff), and(right(bits, 16), 1))), 16)
			none := w.op(spv.OpBitwiseOr, u, right(bits, 16), c(0x40))
			isNaN := w.compare(spv.OpUGreaterThan, and(bits, math.MaxInt32), c(0x7f800000))
			return w.op(spv.OpSelect, u, isNaN, none, rounded)
		}
		sign, size := and(right(bits, 16), 0x8000), and(bits, math.MaxInt32)
		normal := right(add(add(size, c(0xfff-0x38000000)), and(right(size, 13), 1)), 13)
		f := w.m.float(32)
		half := w.m.f32(0.5) // one unit in its last place is the least float16
		tiny := w.op(spv.OpISub, u, w.op(spv.OpBitcast, u, w.op(spv.OpFAdd, f, w.op(spv.OpBitcast, f, size), half)),
			c(0x3f000000))
		r := w.op(spv.OpSelect, u, w.compare(spv.OpULessThan, size, c(0x38800000)), tiny, normal)
		r = w.op(spv.OpSelect, u, w.compare(spv.OpUGreaterThanEqual, size, c(0x47800000)), c(0x7c00), r)
		r = w.op(spv.OpSelect, u, w.compare(spv.OpUGreaterThan, size, c(0x7f800000)), c(0x7e00), r)
		return w.op(spv.OpBitwiseOr, u, r, sign)
	})
}

// from16 returns the float32 of 16 bits of a type, which are in the low half of an integer.
func (w *writer) from16(t tir.Type, x id) id {
	u, f := w.m.integer(32), w.m.float(32)
	c := func(v int64) id { return w.m.int(32, v) }
	if t == tir.BFloat16 {
		return w.op(spv.OpBitcast, f, w.op(spv.OpShiftLeftLogical, u, x, c(16)))
	}
	return w.helper("from_"+t.String(), f, []id{u}, values{x}, func(args values) id {
		x := args[0]
		size := w.op(spv.OpShiftLeftLogical, u, w.op(spv.OpBitwiseAnd, u, x, c(0x7fff)), c(13))
		sign := w.op(spv.OpShiftLeftLogical, u, w.op(spv.OpBitwiseAnd, u, x, c(0x8000)), c(16))
		normal := w.op(spv.OpIAdd, u, size, c(112<<23))
		large := w.op(spv.OpIAdd, u, size, c(224<<23))
		tiny := w.op(spv.OpBitcast, u, w.op(spv.OpFSub, f, w.op(spv.OpBitcast, f,
			w.op(spv.OpIAdd, u, size, c(113<<23))), w.m.f32(float32(math.Ldexp(1, -14)))))
		r := w.op(spv.OpSelect, u, w.compare(spv.OpULessThan, size, c(1<<23)), tiny, normal)
		r = w.op(spv.OpSelect, u, w.compare(spv.OpUGreaterThanEqual, size, c(0x0f800000)), large, r)
		return w.op(spv.OpBitcast, f, w.op(spv.OpBitwiseOr, u, r, sign))
	})
}

// compare is a comparison of two scalars.
func (w *writer) compare(op uint16, a, b id) id { return w.op(op, w.m.boolean(), a, b) }

// extended is a function of GLSL.std.450.
func (w *writer) extended(t id, function uint32, args ...id) id {
	return w.op(spv.OpExtInst, t, append(values{w.m.extended(), function}, args...)...)
}
