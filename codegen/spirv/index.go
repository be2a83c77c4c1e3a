package spirv

import (
	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
)

// indices returns the position of each element from the beginning of a buffer's memory, in 32 bits: for one lane of a
// vector of indices if only is not negative. A storage buffer has less than 4 GiB, so that positions fit an unsigned
// number of 32 bits, and wider indices are computed modulo 2^32.
func (w *writer) indices(b *tir.Buffer, indices []tir.Expr, only int) values {
	if len(indices) != len(b.Shape) || b.Strides != nil && len(b.Strides) != len(b.Shape) {
		w.fail("buffer %s has %d dimensions, %d strides, and %d indices", b.Name, len(b.Shape), len(b.Strides), len(indices))
		return nil
	}
	u := scalar{class: integer, bits: 32, of: tir.UInt32}
	add := func(x, y id) id { return w.binary(tir.OpAdd, u, x, y, true) }
	mul := func(x, y id) id { return w.binary(tir.OpMul, u, x, y, true) }
	base := w.m.int(32, 0)
	if b.Offset != nil {
		base = w.index(b.Offset, -1)[0]
	}
	row := base
	if b.Strides == nil {
		row = w.m.int(32, 0)
	}
	last := len(indices) - 1
	for d := range max(last, 0) {
		x := w.index(indices[d], -1)[0]
		if b.Strides != nil {
			row = add(row, mul(x, w.index(b.Strides[d], -1)[0]))
			continue
		}
		row = add(row, x)
		row = mul(row, w.index(b.Shape[d+1], -1)[0])
	}
	if b.Strides == nil {
		row = add(base, row)
	}
	if last < 0 {
		return values{row}
	}
	out := w.index(indices[last], only)
	all := make(values, len(out))
	for l, x := range out {
		if b.Strides != nil {
			x = mul(x, w.index(b.Strides[last], -1)[0])
		}
		all[l] = add(row, x)
	}
	return all
}

// index returns an integer modulo 2^32; wider ones are computed in 32 bits where that gives the same.
func (w *writer) index(e tir.Expr, only int) values {
	t := e.DType()
	if t.Lanes == 1 {
		only = -1
	}
	if !tir.IsInt(t) && !tir.IsBool(t) {
		w.fail("an index is of type %s", t)
		return make(values, w.count(t, only))
	}
	word := scalar{class: integer, bits: 32, of: tir.UInt32}
	if t.Bits == 64 {
		switch e := e.(type) {
		case *tir.IntImm:
			return values{w.m.int(32, int64(int32(e.Value)))}
		case *tir.Cast:
			if from := e.Value.DType(); tir.IsInt(from) {
				return w.index(e.Value, only)
			}
		case *tir.Binary:
			if e.Op <= tir.OpMul {
				a, b := w.index(e.A, only), w.index(e.B, only)
				out := make(values, w.count(t, only))
				for l := range out {
					out[l] = w.binary(e.Op, word, a[min(l, len(a)-1)], b[min(l, len(b)-1)], true)
				}
				return out
			}
		case *tir.Ramp:
			base, stride := w.index(e.Base, -1)[0], w.index(e.Stride, -1)[0]
			lane := func(l int) id {
				step := w.binary(tir.OpMul, word, stride, w.m.int(32, int64(l)), true)
				return w.binary(tir.OpAdd, word, base, step, true)
			}
			if only >= 0 {
				return values{lane(only)}
			}
			out := make(values, e.Lanes)
			for l := range out {
				out[l] = lane(l)
			}
			return out
		}
	}
	x := w.value(e, only)
	s := w.scalar(t)
	out := make(values, len(x))
	for l := range x {
		switch {
		case w.err != nil:
		case s.class == boolean:
			out[l] = w.cast(word, s, x[l])
		case s.bits == 32:
			out[l] = x[l]
		case s.bits < 32 && s.signed:
			out[l] = w.op(spv.OpSConvert, w.m.integer(32), x[l])
		default:
			out[l] = w.op(spv.OpUConvert, w.m.integer(32), x[l])
		}
	}
	return out
}

// contiguous returns how many of the contiguous elements of an access are accessed at once, in 4 to 16 bytes: 16 or 8
// of 8 or 16 bits, as words, otherwise 4 or 2; 0 if it is made by element, because the elements are not contiguous, not
// aligned, or not in a storage buffer.
func (w *writer) contiguous(m *memory, b *tir.Buffer, indices []tir.Expr) int {
	if m.variable != 0 || len(indices) == 0 || len(indices) != len(b.Shape) {
		return 0
	}
	r, ok := indices[len(indices)-1].(*tir.Ramp)
	if !ok {
		return 0
	}
	if s, ok := r.Stride.(*tir.IntImm); !ok || s.Value != 1 {
		return 0
	}
	for _, n := range []int{16, 8, 4, 2} {
		size := n * int(b.DType.Bits)
		if r.Lanes%n == 0 && size >= 32 && size <= 128 && w.aligned(b, indices, r.Base, int64(n)) {
			return n
		}
	}
	return 0
}

// aligned reports whether the first element of an access is proved to be at a multiple of n.
func (w *writer) aligned(b *tir.Buffer, indices []tir.Expr, base tir.Expr, n int64) bool {
	// the remainder of an expression: what it is a multiple of, and what remains
	mod := func(e tir.Expr) (coef, rest int64) {
		if c, ok := e.(*tir.IntImm); ok {
			return 0, c.Value
		}
		if t := e.DType(); t != tir.Int32 && t != tir.Int64 {
			return 1, 0
		}
		return w.a.Modular(e)
	}
	rest := int64(0)
	if b.Offset != nil {
		coef, r := mod(b.Offset)
		if coef%n != 0 {
			return false
		}
		rest += r
	}
	strideCoef, stride := int64(0), int64(1) // of the current dimension, compact
	for d := len(indices) - 1; d >= 0; d-- {
		if b.Strides != nil {
			strideCoef, stride = mod(b.Strides[d])
		}
		x := indices[d]
		if d == len(indices)-1 {
			if strideCoef != 0 || stride != 1 {
				return false
			}
			x = base
		}
		coef, r := mod(x)
		// (coef·i + r)·(strideCoef·j + stride)
		if coef%n*(strideCoef%n)%n != 0 || coef%n*(stride%n)%n != 0 || r%n*(strideCoef%n)%n != 0 {
			return false
		}
		rest += r % n * (stride % n)
		if b.Strides == nil && d > 0 {
			c, s := mod(b.Shape[d])
			strideCoef, stride = gcd3(strideCoef*c, strideCoef*s, stride*c)%n, stride%n*(s%n)%n
		}
	}
	return rest%n == 0
}

// gcd3 returns the greatest common divisor of three numbers.
func gcd3(a, b, c int64) int64 {
	gcd := func(a, b int64) int64 {
		for b != 0 {
			a, b = b, a%b
		}
		return max(a, -a)
	}
	return gcd(gcd(a, b), c)
}
