package c

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/compare"
)

// vectorIntCall returns an intrinsic on whole vectors of integers, if C has it; otherwise false.
func (w *writer) vectorIntCall(e *tir.Call) (code, bool) {
	if w.kernels || w.hooks.Intrinsic != nil || e.Kind != tir.CallIntrinsic || !w.isNative(e.Type) {
		return code{}, false
	}
	for _, a := range e.Args {
		if a.DType() != e.Type {
			return code{}, false
		}
	}
	switch e.Name {
	case "dot4":
		return w.vectorDot(e.Type, w.broadcast(e.Type, atom("0")), e), true
	case "bitwise_and", "bitwise_or", "bitwise_xor":
		op := map[string]string{"bitwise_and": " & ", "bitwise_or": " | ", "bitwise_xor": " ^ "}[e.Name]
		a, b := w.vec(e.Args[0]), w.vec(e.Args[1])
		return code{a.in(precUnary) + op + b.in(precUnary), precBits}, true
	case "shift_left":
		all, ok := e.Args[1].(*tir.Broadcast)
		if !ok {
			break
		}
		if n, known := tir.IntValue(all.Value); known && n >= 0 && n < int64(e.Type.Bits) {
			u := w.vectorType(tir.Vector(unsignedType(e.Type), int(e.Type.Lanes)))
			return code{fmt.Sprintf("(%s)((%s)%s << %d)", w.vectorType(e.Type), u, w.vec(e.Args[0]).in(precUnary), n),
				precUnary}, true
		}
	}
	return code{}, false
}

// addsDot reports whether vectors are added of which one is the result of dot4.
func (w *writer) addsDot(e *tir.Binary) (sum tir.Expr, dot *tir.Call, ok bool) {
	if e.Op != tir.OpAdd || w.kernels || w.hooks.Intrinsic != nil || w.hooks.Vectors != nil {
		return nil, nil, false
	}
	for _, terms := range [][2]tir.Expr{{e.A, e.B}, {e.B, e.A}} {
		if c, is := terms[1].(*tir.Call); is && c.Kind == tir.CallIntrinsic && c.Name == "dot4" {
			return terms[0], c, true
		}
	}
	return nil, nil, false
}

// vectorDot adds the result of dot4 to a vector.
func (w *writer) vectorDot(t tir.Type, sum code, dot *tir.Call) code {
	a, b := w.keep(t, w.vec(dot.Args[0])), w.keep(t, w.vec(dot.Args[1]))
	to := w.temp("value")
	w.line("%s %s = %s;", w.vectorType(t), to, sum.text)
	w.line("%s(&%s, &%s, &%s);", w.vectorDotName(t), to, a.text, b.text)
	return atom(to)
}

// vectorDotName defines a function that adds the result of dot4 to a vector. The instruction is chosen when the code is
// compiled. Instructions are written as such because the names of compilers' functions for them differ.
func (w *writer) vectorDotName(t tir.Type) string {
	vector, n := w.vectorType(t), int(t.Lanes)
	name := "tvmgo_dot4_" + vector
	u, halves := w.vectorType(tir.Vector(tir.UInt32, n)), w.vectorType(tir.Vector(tir.Int16, 2*n))
	unsigned := w.vectorType(tir.Vector(tir.UInt16, 2*n))
	forms := ""
	switch n * int(t.Bits) {
	case 512:
		forms = fmt.Sprintf(dotIntel, "defined(__AVX512VNNI__)", "0", "defined(__AVX512BW__)", "v", "0")
	case 256:
		forms = fmt.Sprintf(dotIntel, "defined(__AVX512VNNI__) && defined(__AVX512VL__)", "defined(__AVXVNNI__)",
			"defined(__AVX2__)", "x", "0")
	case 128:
		forms = fmt.Sprintf(dotIntel, "defined(__AVX512VNNI__) && defined(__AVX512VL__)", "defined(__AVXVNNI__)",
			"defined(__AVX__)", "x", "defined(__SSE2__)") + dotArm
	}
	forms = strings.TrimPrefix(forms+dotPlain, "#else\n") // nothing to choose from
	text := fmt.Sprintf(dotBegin, vector, name) + strings.NewReplacer("VECTOR", vector, "UNSIGNED", u, "HALVES", halves,
		"UHALVES", unsigned).Replace(forms)
	if strings.Contains(text, "#if") {
		text += "#endif\n"
	}
	w.snippetText(name, text+"}\n")
	return name
}

// wordText reads four bytes as a number, the first in its lowest bits.
const wordText = `static inline int32_t tvmgo_word(const void* bytes) {
  int32_t word;
  memcpy(&word, bytes, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = (int32_t)__builtin_bswap32((uint32_t)word);
#endif
  return word;
}
`

// wordOf returns the load of the first of four consecutive bytes that an expression combines to a word, the first in
// its lowest bits; nil if it is none. Compilers do not see that one load is enough if indices have 32 bits.
func (w *writer) wordOf(e *tir.Call) *tir.BufferLoad {
	if w.kernels || w.hooks.Intrinsic != nil || e.Type != tir.Int32 {
		return nil
	}
	var loads [4]*tir.BufferLoad
	rest := tir.Expr(e)
	for n := 3; n >= 0; n-- {
		b := rest
		if n > 0 {
			or, ok := rest.(*tir.Call)
			if !ok || or.Kind != tir.CallIntrinsic || or.Name != "bitwise_or" {
				return nil
			}
			shift, ok := or.Args[1].(*tir.Call)
			if !ok || shift.Kind != tir.CallIntrinsic || shift.Name != "shift_left" {
				return nil
			}
			if by, known := tir.IntValue(shift.Args[1]); !known || by != int64(8*n) {
				return nil
			}
			rest, b = or.Args[0], shift.Args[0]
		}
		if loads[n] = byteLoad(b); loads[n] == nil {
			return nil
		}
	}
	for n := 1; n < 4; n++ {
		last := len(loads[0].Indices) - 1
		if loads[n].Buffer != loads[0].Buffer || len(loads[n].Indices) != last+1 ||
			!slices.EqualFunc(loads[n].Indices[:last], loads[0].Indices[:last],
				func(a, b tir.Expr) bool { return compare.Equal(a, b) }) {
			return nil
		}
		far := arith.NewAnalyzer().Simplify(tir.Sub(loads[n].Indices[last], loads[0].Indices[last]))
		if by, known := tir.IntValue(far); !known || by != int64(n) {
			return nil
		}
	}
	return loads[0]
}

// byteLoad returns the load of a byte that is converted to int32 as an unsigned one; nil if an expression is none.
func byteLoad(e tir.Expr) *tir.BufferLoad {
	c, ok := e.(*tir.Cast)
	if !ok || c.Type != tir.Int32 {
		return nil
	}
	if inner, is := c.Value.(*tir.Cast); is && inner.Type == tir.UInt8 && inner.Value.DType() == tir.Int8 {
		c = inner
	} else if c.Value.DType() != tir.UInt8 {
		return nil
	}
	load, ok := c.Value.(*tir.BufferLoad)
	if !ok || len(load.Indices) == 0 {
		return nil
	}
	if s := load.Buffer.Strides; len(s) > 0 {
		if step, known := tir.IntValue(s[len(s)-1]); !known || step != 1 {
			return nil
		}
	}
	return load
}

// dotText is dot4 of two numbers. Its arguments: the prefix of inline, and the types of 32 bits and of bytes.
const dotText = `%[1]sinline %[2]s tvmgo_dot4(%[2]s a, %[2]s b) {
  %[2]s sum = 0;
  for (int shift = 0; shift < 32; shift += 8) sum += (%[2]s)(%[3]s)(a >> shift) * (%[2]s)(%[4]s)(b >> shift);
  return sum;
}
`

const dotBegin = `static inline __attribute__((always_inline)) void %[2]s(%[1]s* to, const %[1]s* left,
                                                                const %[1]s* right) {
  const %[1]s a = *left, b = *right;
  %[1]s sum = *to;
`

// dotIntel are the forms for x86. Without the instruction for bytes, the products of bytes with even and with odd
// numbers are computed as those of 16 bits. Its arguments: the conditions of the instruction in AVX-512 and in AVX, of
// the one for 16 bits with three operands, its register class, and the condition of the one with two.
const dotIntel = `#if %[1]s
  __asm__("vpdpbusd %%2, %%1, %%0" : "+v"(sum) : "v"(a), "v"(b));
  *to = sum;
#elif %[2]s
  __asm__("%%{vex%%} vpdpbusd %%2, %%1, %%0" : "+x"(sum) : "x"(a), "x"(b));
  *to = sum;
#elif %[3]s || %[5]s
  const UNSIGNED low = (UNSIGNED)a & 0xFF00FFu, high = ((UNSIGNED)a >> 8) & 0xFF00FFu;
  const HALVES even = (HALVES)((UHALVES)b << 8) >> 8, odd = (HALVES)b >> 8;
  VECTOR x = (VECTOR)low, y = (VECTOR)high;
#if %[3]s
  __asm__("vpmaddwd %%2, %%1, %%0" : "=%[4]s"(x) : "%[4]s"(low), "%[4]s"(even));
  __asm__("vpmaddwd %%2, %%1, %%0" : "=%[4]s"(y) : "%[4]s"(high), "%[4]s"(odd));
#else
  __asm__("pmaddwd %%1, %%0" : "+x"(x) : "x"(even));
  __asm__("pmaddwd %%1, %%0" : "+x"(y) : "x"(odd));
#endif
  *to = (VECTOR)((UNSIGNED)sum + (UNSIGNED)x + (UNSIGNED)y);
`

// dotArm are the forms for 64-bit Arm: with signed bytes only, a is less by 128, and 128 times the bytes of b are
// added.
// A product of an unsigned with a signed byte has 16 bits.
const dotArm = `#elif defined(__aarch64__) && defined(__ARM_FEATURE_MATMUL_INT8)
  __asm__("usdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
  *to = sum;
#elif defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
  const UNSIGNED top = (UNSIGNED){0x80808080u, 0x80808080u, 0x80808080u, 0x80808080u}, less = (UNSIGNED)a ^ top;
  VECTOR by = {0};
  __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(by) : "w"(top), "w"(b));
  __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(less), "w"(b));
  *to = (VECTOR)((UNSIGNED)sum - (UNSIGNED)by);
#elif defined(__aarch64__) && defined(__ARM_NEON)
  const UHALVES low = (UHALVES)((UNSIGNED)a & 0xFF00FFu), high = (UHALVES)((UNSIGNED)a >> 8) & 0xFF;
  const UHALVES even = (UHALVES)((HALVES)((UHALVES)b << 8) >> 8), odd = (UHALVES)((HALVES)b >> 8);
  const UHALVES x = low * even, y = high * odd;
  __asm__("sadalp %0.4s, %1.8h" : "+w"(sum) : "w"(x));
  __asm__("sadalp %0.4s, %1.8h" : "+w"(sum) : "w"(y));
  *to = sum;
`

// dotPlain is the form for other CPUs.
const dotPlain = `#else
  UNSIGNED all = (UNSIGNED)sum;
  for (int shift = 0; shift < 32; shift += 8) {
    all += (((UNSIGNED)a >> shift) & 0xFFu) * (UNSIGNED)((VECTOR)((UNSIGNED)b << (24 - shift)) >> 24);
  }
  *to = (VECTOR)all;
`
