package c

import (
	"fmt"
	"strings"

	"tvmgo/tir"
)

// vectorCall is an intrinsic on vectors, of those that are worth more than a call for each lane; false for all others.
func (w *writer) vectorCall(e *tir.Call) (code, bool) {
	if _, ok := builtins[int(e.Type.Lanes)*32]; !ok || w.kernels || e.Kind != tir.CallIntrinsic || tir.Element(e.Type) != tir.Float32 || w.hooks.Intrinsic != nil {
		return code{}, false
	}
	for _, a := range e.Args {
		if a.DType() != e.Type {
			return code{}, false
		}
	}
	switch e.Name {
	case "exp":
		return w.vectorExp(e.Type, w.vec(e.Args[0])), true
	case "sigmoid":
		x := w.vec(e.Args[0])
		one := w.broadcast(e.Type, atom("1.0f")).text
		return code{fmt.Sprintf("%s / (%s + %s)", one, one, w.vectorExp(e.Type, code{"-" + x.in(precUnary), precUnary}).text), precMul}, true
	}
	return code{}, false
}

// vectorExp is e to the power of a vector, within an ulp of the exact value; from -104 on down it is 0, from 89 on infinite, and of what is no number none.
func (w *writer) vectorExp(t tir.Type, x code) code {
	n := int(t.Lanes)
	f, i, u := w.vectorType(t), w.vectorType(tir.Vector(tir.Int32, n)), w.vectorType(tir.Vector(tir.UInt32, n))
	name := "tvmgo_exp_" + f
	least, most := w.extreme(tir.OpMin, t), w.extreme(tir.OpMax, t)
	all := func(c string) string { return "{" + strings.TrimSuffix(strings.Repeat(c+", ", n), ", ") + "}" }
	w.helperText(name, fmt.Sprintf(expText, f, name, i, u, all("89.0f"), all("-104.0f"), least, most))
	from, to := w.keep(t, x), w.temp("value")
	w.line("%s %s;", f, to)
	w.line("%s(&%s, &%s);", name, to, from.text)
	return atom(to)
}

// expText computes exp(x) = 2^n · exp(r), where n is a whole number and |r| at most half of log 2. Its arguments: the vector of floats, its name,
// the vectors of ints and of unsigned ints, the two limits, and what is the less and the greater of two. Vectors go by address, since how they are passed
// depends on the CPU.
const expText = `static inline void %[2]s(%[1]s* result, const %[1]s* from) {
  %[1]s x = *from;
  /* Beyond these it is infinite, and 0. */
  const %[1]s most = %[5]s, least = %[6]s;
  %[7]s(&x, &most, &x);
  %[8]s(&x, &least, &x);
  /* Adding 1.5 · 2^23 rounds to a whole number, which then is in the lowest bits: n is 254, twice an exponent's bias, more. */
  const %[1]s shifted = x * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f;
  const %[3]s n = (%[3]s)((%[4]s)shifted - (0x4b400000u - 254u)), half = n >> 1;
  const %[1]s r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  %[1]s p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  /* In two steps, so that neither leaves the range of floats where the result does not. */
  *result = p * (%[1]s)((%[4]s)half << 23) * (%[1]s)((%[4]s)(n - half) << 23);
}
`

// builtins are what GCC has for the less and the greater of two vectors of floats, by their bits.
var builtins = map[int]struct{ condition, call string }{
	128: {"defined(__SSE2__)", "__builtin_ia32_%s(*a, *b)"},
	256: {"defined(__AVX__)", "__builtin_ia32_%s256(*a, *b)"},
	512: {"defined(__AVX512F__)", "__builtin_ia32_%s512_mask(*a, *b, *a, -1, 4)"},
}

// extreme is a helper for the less or the greater of two vectors of floats: the second, where one is no number. GCC makes several instructions of what
// can be written for it, in place of the one that x86 has; "" of other types.
func (w *writer) extreme(op tir.BinaryOp, t tir.Type) string {
	bits := int(t.Lanes) * int(t.Bits)
	b, ok := builtins[bits]
	element := map[tir.Type]string{tir.Float32: "ps", tir.Float64: "pd"}[tir.Element(t)]
	if !ok || element == "" || w.kernels {
		return ""
	}
	f, m := w.vectorType(t), w.vectorType(signedMask(t))
	name := fmt.Sprintf("tvmgo_%s_%s", op, f)
	sign := map[tir.BinaryOp]string{tir.OpMin: "<", tir.OpMax: ">"}[op]
	w.helperText(name, fmt.Sprintf(extremeText, f, name, m, sign, b.condition, fmt.Sprintf(b.call, op.String()+element)))
	return name
}

const extremeText = `static inline void %[2]s(%[1]s* result, const %[1]s* a, const %[1]s* b) {
#if %[5]s && !defined(__clang__)
  *result = %[6]s;
#else
  const %[3]s first = (%[3]s)(*a %[4]s *b);
  *result = (%[1]s)((first & (%[3]s)*a) | (~first & (%[3]s)*b));
#endif
}
`
