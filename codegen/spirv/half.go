package spirv

import (
	"tvmgo/dlpack"
	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// native reports whether a float of 16 bits is computed as it is.
func (s scalar) native() bool { return s.class == floating && s.bits == 16 }

// single is float32, in which the functions of float16 are computed.
var single = scalar{class: floating, bits: 32, signed: true, of: tir.Float32}

// widely computes a function of native floats of 16 bits as float32, and rounds its result once: sums, differences and
// products alone are exact to the last bit on every device.
func (w *writer) widely(s scalar, x values, of func(s scalar, x values) id) id {
	if !s.native() {
		return of(s, x)
	}
	wide := make(values, len(x))
	for i := range x {
		wide[i] = w.widened(s, x[i])
	}
	return w.toNative(of(single, wide))
}

// widened returns a float of 16 bits as float32, and others as they are.
func (w *writer) widened(s scalar, x id) id {
	if s.native() {
		return w.op(spv.OpFConvert, w.m.float(32), x)
	}
	return x
}

// toNative rounds a float32 to float16, ties to even. The conversion of a device that has no mode for this may round in
// another direction, so that it gets a float32 that has been rounded.
func (w *writer) toNative(x id) id {
	if !w.has.roundEven16 {
		x = w.round16(tir.Float16, x)
	}
	return w.op(spv.OpFConvert, w.typeOf(scalar{class: floating, bits: 16}), x)
}

// pair is the vector of two native floats of 16 bits.
func (w *writer) pair() id { return w.lanes(scalar{class: floating, bits: 16}) }

// bitsOfNative returns the bits of a native float of 16 bits in a word whose other bits are 0.
func (w *writer) bitsOfNative(x id) id {
	zero := w.m.real(16, 0)
	return w.op(spv.OpBitcast, w.m.integer(32), w.op(spv.OpCompositeConstruct, w.pair(), x, zero))
}

// constant16 is a constant of a native float of 16 bits.
func (w *writer) constant16(v float64) id { return w.m.real(16, uint64(dlpack.Float16Of(v))) }
