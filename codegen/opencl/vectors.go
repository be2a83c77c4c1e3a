package opencl

import (
	"fmt"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// vectors are OpenCL's vectors.
type vectors struct{}

func (vectors) Type(t tir.Type) (string, bool) {
	if !Language.HasVector(t) {
		return "", false
	}
	return fmt.Sprintf("%s%d", types[tir.Element(t)], t.Lanes), true
}

func (v vectors) name(t tir.Type) string {
	name, _ := v.Type(t)
	return name
}

func (v vectors) List(t tir.Type, lanes []string) string {
	for _, x := range lanes {
		if x != lanes[0] {
			return fmt.Sprintf("(%s)(%s)", v.name(t), strings.Join(lanes, ", "))
		}
	}
	return fmt.Sprintf("(%s)(%s)", v.name(t), lanes[0])
}

func (vectors) Load(t tir.Type, address string) string {
	load := fmt.Sprintf("vload%d(0, %s)", t.Lanes, address)
	if tir.IsBool(t) {
		return fmt.Sprintf("as_char%d(%s)", t.Lanes, load)
	}
	return load
}

func (vectors) Store(t tir.Type, address, value string) string {
	if tir.IsBool(t) {
		value = fmt.Sprintf("as_uchar%d(%s)", t.Lanes, value)
	}
	return fmt.Sprintf("vstore%d(%s, 0, %s)", t.Lanes, value, address)
}

func (v vectors) Convert(t tir.Type, value string) string {
	return fmt.Sprintf("convert_%s(%s)", v.name(t), value)
}

func (v vectors) Blend(t tir.Type, mask, a, b string) string {
	m := tir.Type{Code: dlpack.CodeInt, Bits: t.Bits, Lanes: t.Lanes}
	return fmt.Sprintf("select(%s, %s, (%s)(%s))", b, a, v.name(m), mask)
}

// ofVectors are the intrinsics whose functions accept vectors, and compute each lane as for a scalar.
var ofVectors = func() map[string]string {
	all := map[string]string{"nearbyint": "rint"}
	for _, name := range strings.Fields(`
		exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf
		floor ceil trunc round fabs pow fmod atan2 hypot copysign fma`) {
		all[name] = name
	}
	return all
}()

func (vectors) Has(call *tir.Call) bool {
	return strings.HasPrefix(call.Name, "texture2d_") || ofVectors[call.Name] != "" && tir.IsFloat(call.Type)
}

func (vectors) Call(call *tir.Call, args []string) string {
	if strings.HasPrefix(call.Name, "texture2d_") {
		return imageCall(call, args)
	}
	return ofVectors[call.Name] + "(" + strings.Join(args, ", ") + ")"
}
