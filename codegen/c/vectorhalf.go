package c

import (
	"fmt"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// widened returns the load of which a value is the conversion to float32, if it loads consecutive 16-bit floats and the
// compiler has the vectors for the conversion.
func (w *writer) widened(e tir.Expr) (*tir.BufferLoad, bool) {
	cast, ok := e.(*tir.Cast)
	if !ok || !w.hasHalves(cast.Type, cast.Value.DType()) {
		return nil, false
	}
	load, ok := cast.Value.(*tir.BufferLoad)
	return load, ok && arith.Contiguous(load.Buffer, load.Indices)
}

// narrowed returns the vector of float32 of which a value is the conversion to 16-bit floats, if the compiler has the
// vectors for the conversion.
func (w *writer) narrowed(e tir.Expr) (tir.Expr, bool) {
	cast, ok := e.(*tir.Cast)
	if !ok || !w.hasHalves(cast.Value.DType(), cast.Type) || !w.nativeTree(cast.Value) {
		return nil, false
	}
	return cast.Value, true
}

// hasHalves reports whether there are functions that convert between vectors of float32 and of 16-bit floats.
func (w *writer) hasHalves(wide, narrow tir.Type) bool {
	return w.hooks.Vectors == nil && w.isNarrow(narrow) && tir.Element(wide) == tir.Float32 && w.isNative(wide) &&
		w.isNative(halvesOf(wide))
}

// halvesOf is the type in which vectors of 16-bit floats are in memory.
func halvesOf(t tir.Type) tir.Type { return tir.Vector(tir.UInt16, int(t.Lanes)) }

// widen loads 16-bit floats as a vector of float32.
func (w *writer) widen(t tir.Type, load *tir.BufferLoad) code {
	from := tir.Element(load.Buffer.DType)
	x := w.temp("halves")
	w.line("const %s %s = *(%s const*)&%s[%s];", w.vectorType(halvesOf(t)), x, w.memoryVector(halvesOf(t)),
		w.pointer(load.Buffer), w.address(load.Buffer, load.Indices, "", true).text)
	return w.convertHalves("from", from, t, t, x)
}

// storeHalves stores a vector of float32 as 16-bit floats.
func (w *writer) storeHalves(s *tir.BufferStore, wide tir.Expr) {
	t := wide.DType()
	x := w.keep(t, w.vec(wide))
	y := w.convertHalves("to", tir.Element(s.Buffer.DType), t, halvesOf(t), x.text)
	w.line("*(%s*)&%s[%s] = %s;", w.memoryVector(halvesOf(t)), w.pointer(s.Buffer),
		w.address(s.Buffer, s.Indices, "", true).text, y.text)
}

// convertHalves calls the function that converts a variable; wide is the type of its vector of float32.
func (w *writer) convertHalves(way string, narrow, wide, result tir.Type, x string) code {
	n := int(wide.Lanes)
	name := fmt.Sprintf("tvmgo_%s_%sx%d", way, narrowName(narrow), n)
	text, builtin := halvesText[way+" "+narrowName(narrow)], halvesBuiltin[way][n]
	if narrow == tir.BFloat16 {
		builtin = ""
	}
	if builtin != "" {
		text = "#if " + builtin + "#else\n" + text + "#endif\n"
	}
	vector := func(t tir.Type) string { return w.vectorType(tir.Vector(t, n)) }
	f, u, i, h := vector(tir.Float32), vector(tir.UInt32), vector(tir.Int32), vector(tir.UInt16)
	from, to := h, f
	if way == "to" {
		from, to = f, h
	}
	w.snippetText(name, fmt.Sprintf("static inline void "+name+"("+to+"* result, const "+from+"* from) {\n"+text+"}\n",
		f, u, i, h, vector(tir.Int16)))
	y := w.temp("value")
	w.line("%s %s;", w.vectorType(result), y)
	w.line("%s(&%s, &%s);", name, y, x)
	return atom(y)
}

// halvesText converts vectors as the functions for scalars do (snippets/numbers.c). Its arguments: the vectors of
// float, uint32_t, int32_t, uint16_t and int16_t.
var halvesText = map[string]string{
	"from bfloat16": `  *result = (%[1]s)(__builtin_convertvector(*from, %[2]s) << 16);
`,
	"to bfloat16": `  const %[2]s bits = (%[2]s)*from, nan = (%[2]s)((bits & 0x7fffffff) > 0x7f800000);
  const %[2]s rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  *result = __builtin_convertvector((nan & ((bits >> 16 & 0x8000) | 0x7fc0)) | (~nan & rounded), %[4]s);
`,
	"from float16": `  const %[2]s bits = __builtin_convertvector(*from, %[2]s), rest = bits & 0x7fff;
  const %[1]s small = __builtin_convertvector((%[3]s)rest, %[1]s) * 0x1p-24f;
  const %[2]s large = (rest << 13) + (112u << 23) + ((%[2]s)(rest >= 0x7c00) & (112u << 23));
  const %[2]s subnormal = (%[2]s)(rest < 0x400);
  *result = (%[1]s)((bits & 0x8000) << 16 | (subnormal & (%[2]s)small) | (~subnormal & large));
`,
	"to float16": `  const %[2]s all = (%[2]s)*from, sign = all >> 16 & 0x8000, bits = all & 0x7fffffff;
  const %[2]s small = (%[2]s)((%[1]s)bits + 0.5f) - 0x3f000000;
  const %[2]s large = (bits + 0xfff + (bits >> 13 & 1) - (112u << 23)) >> 13;
  const %[2]s subnormal = (%[2]s)(bits < 0x38800000), infinite = (%[2]s)(bits >= 0x477ff000);
  const %[2]s nan = (%[2]s)(bits > 0x7f800000);
  const %[2]s finite = (subnormal & small) | (~subnormal & large);
  const %[2]s number = (infinite & 0x7c00) | (~infinite & finite);
  *result = __builtin_convertvector(sign | (nan & 0x7e00) | (~nan & number), %[4]s);
`,
}

// halvesBuiltin converts vectors of float16 by instructions, by the number of lanes.
var halvesBuiltin = map[string]map[int]string{
	"from": {
		8: `defined(__F16C__) && defined(__AVX__)
  *result = (%[1]s)__builtin_ia32_vcvtph2ps256(*(const %[5]s*)from);
`,
		16: `defined(__AVX512F__)
  *result = (%[1]s)__builtin_ia32_vcvtph2ps512_mask(*(const %[5]s*)from, (%[1]s){0}, -1, 4);
`,
	},
	"to": {
		8: `defined(__F16C__) && defined(__AVX__)
  *(%[5]s*)result = __builtin_ia32_vcvtps2ph256(*from, 0);
`,
		16: `defined(__AVX512F__)
  *(%[5]s*)result = __builtin_ia32_vcvtps2ph512_mask(*from, 0, (%[5]s){0}, -1);
`,
	},
}
