package c

import (
	"fmt"
	"strings"

	"tvmgo/tir"
)

// vectorCall returns an intrinsic on whole vectors, if that is faster than a call for each lane; otherwise false.
func (w *writer) vectorCall(e *tir.Call) (code, bool) {
	if _, ok := builtins[int(e.Type.Lanes)*32]; !ok || w.kernels || e.Kind != tir.CallIntrinsic ||
		tir.Element(e.Type) != tir.Float32 || w.hooks.Intrinsic != nil {
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
		return code{fmt.Sprintf("%s / (%s + %s)", one, one, w.vectorExp(e.Type, code{"-" + x.in(precUnary), precUnary}).text),
			precMul}, true
	}
	return code{}, false
}

// vectorExp computes exp of a vector, within one ulp; 0 at and below -104, infinity from 89 on, NaN of NaN.
func (w *writer) vectorExp(t tir.Type, x code) code {
	n := int(t.Lanes)
	f, i, u := w.vectorType(t), w.vectorType(tir.Vector(tir.Int32, n)), w.vectorType(tir.Vector(tir.UInt32, n))
	name := "tvmgo_exp_" + f
	least, most := w.extreme(tir.OpMin, t), w.extreme(tir.OpMax, t)
	all := func(c string) string { return "{" + strings.TrimSuffix(strings.Repeat(c+", ", n), ", ") + "}" }
	text := fmt.Sprintf(expText, f, name, all("89.0f"), all("-104.0f"), least, most)
	scale := fmt.Sprintf(scaleText, f, i, u)
	if n*int(t.Bits) == 512 {
		scale = "#if defined(__AVX512F__) && !defined(__clang__)\n  *result = __builtin_ia32_scalefps512_mask(p, whole, p, " +
			"-1, 4);\n#else\n" + scale + "#endif\n"
	}
	w.snippetText(name, text+scale+"}\n")
	from, to := w.keep(t, x), w.temp("value")
	w.line("%s %s;", f, to)
	w.line("%s(&%s, &%s);", name, to, from.text)
	return atom(to)
}

// expText computes exp(x) = 2^n · exp(r), where n is an integer and |r| at most half of log 2. Its arguments: the
// vector type of floats, the function's name, the two limits, and the lesser and the greater of two. Vectors are passed
// by address, because their calling convention depends on the CPU.
const expText = `static inline void %[2]s(%[1]s* result, const %[1]s* from) {
  %[1]s x = *from;
  /* Beyond these it is infinite, and 0. */
  const %[1]s most = %[3]s, least = %[4]s;
  %[5]s(&x, &most, &x);
  %[6]s(&x, &least, &x);
  /* Adding 1.5 · 2^23 rounds to an integer. */
  const %[1]s shifted = x * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f;
  const %[1]s r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  %[1]s p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
`

// scaleText multiplies with 2^n. Its arguments: the vectors of floats, of ints and of unsigned ints.
const scaleText = `  /* n is the exponent plus 254, twice the bias of a float's exponent. Multiplying by two
     factors keeps each of them within the range of floats. */
  const %[2]s n = (%[2]s)((%[3]s)shifted - (0x4b400000u - 254u)), half = n >> 1;
  *result = p * (%[1]s)((%[3]s)half << 23) * (%[1]s)((%[3]s)(n - half) << 23);
`

// builtins are GCC's functions for the minimum and maximum of two float vectors, by their bits.
var builtins = map[int]struct{ condition, call string }{
	128: {"defined(__SSE2__)", "__builtin_ia32_%s(*a, *b)"},
	256: {"defined(__AVX__)", "__builtin_ia32_%s256(*a, *b)"},
	512: {"defined(__AVX512F__)", "__builtin_ia32_%s512_mask(*a, *b, *a, -1, 4)"},
}

// extreme returns a function for the lesser or the greater of two float vectors: the second operand if one is NaN. From
// plain C, GCC generates several instructions instead of the single one of x86. It returns "" for other types.
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
	w.snippetText(name, fmt.Sprintf(extremeText, f, name, m, sign, b.condition, fmt.Sprintf(b.call, op.String()+element),
		w.extremeOfHalves(op, t)))
	return name
}

// extremeOfHalves processes a vector that is too long for the CPU as vectors of 128 bits, which compile much faster
// than the general code.
func (w *writer) extremeOfHalves(op tir.BinaryOp, t tir.Type) string {
	bits := int(t.Lanes) * int(t.Bits)
	if bits <= 128 {
		return ""
	}
	element := map[tir.Type]string{tir.Float32: "ps", tir.Float64: "pd"}[tir.Element(t)]
	part := w.memoryVector(tir.Vector(tir.Element(t), 128/int(t.Bits)))
	return fmt.Sprintf(`#elif defined(__SSE2__) && !defined(__clang__)
  for (int k = 0; k < %d; ++k) ((%[2]s*)result)[k] = __builtin_ia32_%[3]s(((%[2]s const*)a)[k], ((%[2]s const*)b)[k]);
`, bits/128, part, op.String()+element)
}

const extremeText = `static inline void %[2]s(%[1]s* result, const %[1]s* a, const %[1]s* b) {
#if %[5]s && !defined(__clang__)
  *result = %[6]s;
%[7]s#else
  const %[3]s first = (%[3]s)(*a %[4]s *b);
  *result = (%[1]s)((first & (%[3]s)*a) | (~first & (%[3]s)*b));
#endif
}
`
