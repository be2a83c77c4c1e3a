package c

import (
	"fmt"
	"math/bits"

	"tvmgo/dlpack"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// scalarTypes are the C types of values with one lane.
var scalarTypes = map[tir.Type]string{
	tir.Int8: "int8_t", tir.Int16: "int16_t", tir.Int32: "int32_t", tir.Int64: "int64_t",
	tir.UInt8: "uint8_t", tir.UInt16: "uint16_t", tir.UInt32: "uint32_t", tir.UInt64: "uint64_t",
	tir.Float16: "float", tir.BFloat16: "float", tir.Float32: "float", tir.Float64: "double",
	tir.Bool: "bool", tir.Handle: "void*", tir.Void: "void",
}

// isNarrow reports whether a value of t is a float in C, and 16 bits in memory.
func isNarrow(t tir.Type) bool {
	t = tir.Element(t)
	return t == tir.Float16 || t == tir.BFloat16
}

// isClass reports whether a type is a class of the language, which is a float of at most 16 bits.
func (g *generator) isClass(t tir.Type) bool {
	if g.hooks.Class == nil {
		return false
	}
	_, ok := g.hooks.Class(tir.Element(t))
	return ok
}

// isNarrow is isNarrow for types that are no classes.
func (g *generator) isNarrow(t tir.Type) bool { return isNarrow(t) && !g.isClass(t) }

// narrowName names the helpers of a narrow type.
func narrowName(t tir.Type) string {
	if tir.Element(t) == tir.BFloat16 {
		return "bfloat16"
	}
	return "float16"
}

// valueType returns the C type of a scalar.
func (g *generator) valueType(t tir.Type) string {
	if t != tir.Void {
		t = tir.Element(t)
	}
	if g.hooks.TypeName != nil {
		if s, ok := g.hooks.TypeName(t); ok {
			if g.hooks.Class != nil {
				if name, is := g.hooks.Class(t); is {
					g.snippet(name)
				}
			}
			return s
		}
	}
	s, ok := scalarTypes[t]
	if !ok {
		g.fail("type %s has no counterpart in %s: cast it to a wider one, of 8 bits at least for integers and 16 for "+
			"floats, or run transform.LegalizeTypes before", t, g.hooks.language())
		return "int"
	}
	return s
}

// nameable reports an error if C has no such type; what names its use.
func (g *generator) nameable(what string, t tir.Type) {
	if g.hooks.TypeName != nil {
		return // it reports the error itself
	}
	if _, ok := scalarTypes[tir.Element(t)]; !ok {
		g.fail("%s: type %s has no counterpart in C: cast it to a wider one, of 8 bits at least for integers and 16 for "+
			"floats", what, t)
	}
}

// storageType returns the type of a buffer's element in memory.
func (g *generator) storageType(t tir.Type) string {
	switch {
	case tir.IsBool(t):
		return g.valueType(tir.UInt8) // others may have written any byte
	case g.isNarrow(t):
		return g.valueType(tir.UInt16)
	case !transform.IsLegal(t) && !g.isClass(t):
		return g.valueType(tir.UInt8) // views access it as bytes
	}
	return g.valueType(t)
}

// pointerType returns the type of a buffer's address.
func (g *generator) pointerType(b *tir.Buffer) string {
	element := g.storageType(b.DType)
	if g.hooks.Pointer != nil {
		return g.hooks.Pointer(b, element)
	}
	return element + "*"
}

// isNative reports whether the compiler has vectors of this type. Bools are lanes of int8_t, 0 or 1.
func (g *generator) isNative(t tir.Type) bool {
	n := int(t.Lanes)
	if v := g.hooks.Vectors; v != nil {
		_, known := v.Type(vectorOf(t))
		return n > 1 && known && !g.isNarrow(t)
	}
	if g.noVectors || n < 2 || bits.OnesCount(uint(n)) != 1 || n*int(t.Bits)/8 > 64 || g.isNarrow(t) {
		return false
	}
	_, known := scalarTypes[tir.Element(t)]
	return known && !tir.IsHandle(t)
}

// vectorOf returns the vector type in which lanes are stored: bools as int8.
func vectorOf(t tir.Type) tir.Type {
	if tir.IsBool(t) {
		return tir.Vector(tir.Int8, int(t.Lanes))
	}
	return t
}

// vectorType returns the name of a vector type, which is defined at its first use.
func (g *generator) vectorType(t tir.Type) string {
	t = vectorOf(t)
	if g.hooks.Vectors != nil {
		name, _ := g.hooks.Vectors.Type(t)
		if v, ok := g.hooks.Vectors.(Components); ok {
			if own := v.Snippet(t); own != "" {
				g.snippet(own)
			}
		}
		return name
	}
	name := fmt.Sprintf("%sx%d", tir.Element(t), t.Lanes)
	if !g.typedefs[name] {
		g.typedefs[name] = true
		g.types.line("typedef %s %s __attribute__((vector_size(%d)));", scalarTypes[tir.Element(t)], name,
			int(t.Lanes)*int(t.Bits)/8)
	}
	return name
}

// memoryVector returns a vector type with the alignment of one element.
func (g *generator) memoryVector(t tir.Type) string {
	base := g.vectorType(t)
	name := base + "_in_memory"
	if !g.typedefs[name] {
		g.typedefs[name] = true
		g.types.line("typedef %s %s __attribute__((aligned(%d), may_alias));", base, name, int(t.Bits)/8)
	}
	return name
}

// aliasType returns a type whose values may alias memory of another type.
func (g *generator) aliasType(storage string) string {
	name := "tvmgo_any_" + storage
	if !g.typedefs[name] {
		g.typedefs[name] = true
		g.types.line("typedef %s %s __attribute__((may_alias));", storage, name)
	}
	return name
}

// signedMask returns the type of a comparison of vectors of t.
func signedMask(t tir.Type) tir.Type {
	return tir.Type{Code: dlpack.CodeInt, Bits: t.Bits, Lanes: t.Lanes}
}
