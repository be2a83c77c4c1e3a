package cuda

import (
	"fmt"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// vectors are CUDA's vectors, and those that package vectors.c defines with as many bytes. Their lanes are computed one
// by one, except for sums, differences and products of 16-bit floats, which the GPU computes in pairs.
type vectors struct{}

// bases are the names of vector types without their lanes. CUDA C has those with up to 4 lanes.
var bases = map[tir.Type]string{tir.Int8: "char", tir.Int16: "short", tir.Int32: "int", tir.Int64: "longlong",
	tir.UInt8: "uchar", tir.UInt16: "ushort", tir.UInt32: "uint", tir.UInt64: "ulonglong",
	tir.Float32: "float", tir.Float64: "double", tir.Float16: "half", tir.BFloat16: "bfloat16_",
	dlpack.Float8E4M3FN: "float8_e4m3_", dlpack.Float8E5M2: "float8_e5m2_"}

func (vectors) Type(t tir.Type) (string, bool) {
	if !Language.HasVector(t) {
		return "", false
	}
	return fmt.Sprintf("%s%d", bases[tir.Element(t)], t.Lanes), true
}

// isOwn reports whether CUDA C lacks a vector type.
func isOwn(t tir.Type) bool {
	_, isClass := class(tir.Element(t))
	return isClass || t.Lanes > 4
}

func (vectors) Snippet(t tir.Type) string {
	name, isClass := class(tir.Element(t))
	switch {
	case isClass:
		return name + "_vectors"
	case isOwn(t):
		return "vectors"
	}
	return ""
}

func (v vectors) name(t tir.Type) string {
	name, _ := v.Type(t)
	return name
}

// word is CUDA's type with the bytes of a vector of its own.
func word(t tir.Type) string {
	return map[int]string{2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"}[int(t.Lanes)*int(t.Bits)/8]
}

func (v vectors) List(t tir.Type, lanes []string) string {
	name := v.name(t)
	if !isOwn(t) {
		return fmt.Sprintf("make_%s(%s)", name, strings.Join(lanes, ", "))
	}
	if _, isClass := class(tir.Element(t)); isClass { // numbers are converted in pairs
		if plain, ok := converted(types[tir.Element(t)], lanes); ok {
			return fmt.Sprintf("tvmgo_to<%s>(%s)", name, strings.Join(plain, ", "))
		}
	}
	return fmt.Sprintf("tvmgo_make<%s>(%s)", name, strings.Join(lanes, ", "))
}

// converted returns the numbers of which lanes are conversions to a class; false if one is not.
func converted(class string, lanes []string) (plain []string, ok bool) {
	for _, x := range lanes {
		inner, ok := strings.CutPrefix(x, class+"(")
		if inner, ok = strings.CutSuffix(inner, ")"); !ok || !balanced(inner) {
			return nil, false
		}
		plain = append(plain, inner)
	}
	return plain, true
}

// balanced reports whether no parenthesis of a text closes one outside of it.
func balanced(text string) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

func (v vectors) Load(t tir.Type, address string) string {
	if isOwn(t) {
		return fmt.Sprintf("%s{*(const %s*)%s}", v.name(t), word(t), address)
	}
	return fmt.Sprintf("*(const %s*)%s", v.name(t), address)
}

func (v vectors) Store(t tir.Type, address, value string) string {
	if isOwn(t) {
		return fmt.Sprintf("*(%s*)%s = (%s).all", word(t), address, value)
	}
	return fmt.Sprintf("*(%s*)%s = %s", v.name(t), address, value)
}

func (vectors) Lane(t tir.Type, vector string, lane int) string {
	if isOwn(t) {
		return fmt.Sprintf("%s.lane[%d]", vector, lane)
	}
	return fmt.Sprintf("%s.%c", vector, "xyzw"[lane])
}

func (vectors) Widest(b *tir.Buffer, indices []tir.Expr, m *arith.Multiples) int {
	return Language.Widest(b, indices, m)
}

func (vectors) Operator(op tir.BinaryOp, t tir.Type) bool {
	e := tir.Element(t)
	return (e == tir.Float16 || e == tir.BFloat16) && (op == tir.OpAdd || op == tir.OpSub || op == tir.OpMul)
}

// Has reports whether a call is that of a function of pairs.
func (vectors) Has(call *tir.Call) bool {
	return call.Kind == tir.CallIntrinsic && call.Name == "fma" && tir.Element(call.Type) == tir.Float16
}

func (vectors) Call(call *tir.Call, args []string) string {
	return "tvmgo_fma(" + strings.Join(args, ", ") + ")"
}

// The emitter asks for none of these of vectors that have components.

func (vectors) Convert(tir.Type, string) string               { return "" }
func (vectors) Blend(tir.Type, string, string, string) string { return "" }
