package c

import (
	"fmt"
	"strings"

	"tvmgo/tir"
)

// vectorCall returns an intrinsic on whole vectors, if that is faster than a call for each lane; otherwise false.
func (w *writer) vectorCall(e *tir.Call) (code, bool) {
	if tir.IsInt(e.Type) {
		return w.vectorIntCall(e)
	}
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
	case "erf", "tanh":
		return w.vectorOdd(e.Name, e.Type, w.vec(e.Args[0])), true
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
	return w.vectorFunction(w.vectorExpName(t), t, x)
}

// vectorFunction calls a function on a vector.
func (w *writer) vectorFunction(name string, t tir.Type, x code) code {
	from, to := w.keep(t, x), w.temp("value")
	w.line("%s %s;", w.vectorType(t), to)
	w.line("%s(&%s, &%s);", name, to, from.text)
	return atom(to)
}

// vectorOdd computes erf or tanh of a vector, within two ulps; NaN of NaN.
func (w *writer) vectorOdd(function string, t tir.Type, x code) code {
	f := w.vectorType(t)
	name := "tvmgo_" + function + "_" + f
	i := w.vectorType(tir.Vector(tir.Int32, int(t.Lanes)))
	text := ""
	if function == "erf" {
		text = fmt.Sprintf(erfText, f, name, i, w.vectorType(tir.Vector(tir.UInt32, int(t.Lanes))), w.extreme(tir.OpMin, t),
			repeatedIn("4.0f", int(t.Lanes)))
	} else {
		text = fmt.Sprintf(tanhText, f, name, i, w.vectorExpName(t))
	}
	w.snippetText(name, text)
	return w.vectorFunction(name, t, x)
}

// repeatedIn is the initializer of a vector of equal elements.
func repeatedIn(element string, n int) string {
	return "{" + strings.TrimSuffix(strings.Repeat(element+", ", n), ", ") + "}"
}

// oddText begins and ends a function that is odd: up to 1 or another limit it is a + a·p(a²), where a is the absolute
// value, and beyond it a formula with exp. Its arguments: the vector type of floats, the function's name, the type of
// integers, and for erf the type of unsigned integers, the lesser of two vectors, and a limit; for tanh exp.
const (
	oddBegin = `static inline void %[2]s(%[1]s* result, const %[1]s* from) {
  const %[1]s a = (%[1]s)((%[3]s)*from & 0x7fffffff), z = a * a;
`
	oddEnd = `  const %[3]s large = (%[3]s)(a >= limit); /* false for NaN */
  *result = (%[1]s)(((large & (%[3]s)far) | (~large & (%[3]s)near)) | ((%[3]s)*from ^ (%[3]s)a));
}
`
)

// erfText uses polynomials that minimize the largest relative error of erf: of erf(a)/a - 1 in a² up to 1, and of
// log(1 - erf(a)) in a up to 4, from where erf rounds to 1.
const erfText = oddBegin + `  %[1]s p = z * 7.88911930e-5f - 8.02084105e-4f;
  p = p * z + 5.18953521e-3f;
  p = p * z - 2.68544443e-2f;
  p = p * z + 1.12836003e-1f;
  p = p * z - 3.76126260e-1f;
  p = p * z + 1.28379166e-1f;
  const %[1]s near = p * a + a, four = %[6]s;
  %[1]s m;
  %[5]s(&m, &a, &four);
  %[1]s q = m * 2.12085960e-7f - 2.47542393e-5f;
  q = q * m + 4.60357842e-4f;
  q = q * m - 4.27063648e-3f;
  q = q * m + 2.53489260e-2f;
  q = q * m - 1.08606599e-1f;
  q = q * m - 6.33065760e-1f;
  q = q * m - 1.12964940f;
  q = q * m + 2.02065450e-4f;
  /* exp(q) as in tvmgo_exp, but q is between -19 and -1.8, and errors of the result are small beside 1. */
  const %[1]s shifted = q * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f, r = q - whole * 0.693147181f;
  %[1]s tail = r * 8.31252113e-3f + 4.18901555e-2f;
  tail = tail * r + 1.66671135e-1f;
  tail = tail * r + 4.99992311e-1f;
  tail = tail * (r * r) + r + 1.0f;
  const %[1]s far = 1.0f - tail * (%[1]s)(((%[4]s)shifted - (0x4b400000u - 127u)) << 23);
  const float limit = 1.0f;
` + oddEnd

// tanhText is a polynomial of tanh(a)/a - 1 in a² up to 0.65, and 1 - 2/(exp(2·a) + 1) beyond.
const tanhText = oddBegin + `  %[1]s p = z * -5.52862463e-3f + 2.04833057e-2f;
  p = p * z - 5.36929630e-2f;
  p = p * z + 1.33308992e-1f;
  p = p * z - 3.33332628e-1f;
  const %[1]s near = p * z * a + a, twice = a + a;
  %[1]s e;
  %[4]s(&e, &twice); /* which may be infinite: 2/infinity is 0 */
  const %[1]s far = 1.0f - 2.0f / (e + 1.0f);
  const float limit = 0.65f;
` + oddEnd

// vectorExpName defines exp on vectors of a type.
func (w *writer) vectorExpName(t tir.Type) string {
	n := int(t.Lanes)
	f, i, u := w.vectorType(t), w.vectorType(tir.Vector(tir.Int32, n)), w.vectorType(tir.Vector(tir.UInt32, n))
	name := "tvmgo_exp_" + f
	least, most := w.extreme(tir.OpMin, t), w.extreme(tir.OpMax, t)
	text := fmt.Sprintf(expText, f, name, repeatedIn("89.0f", n), repeatedIn("-104.0f", n), least, most)
	scale := fmt.Sprintf(scaleText, f, i, u)
	if n*int(t.Bits) == 512 {
		scale = "#if defined(__AVX512F__) && !defined(__clang__)\n  *result = __builtin_ia32_scalefps512_mask(p, whole, p, " +
			"-1, 4);\n#else\n" + scale + "#endif\n"
	}
	w.snippetText(name, text+scale+"}\n")
	return name
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
