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

// Own is a pointer's target: PoCL keeps an array in memory whose address functions such as vload16 get.
func (v vectors) Own(t tir.Type, address string) string {
	return fmt.Sprintf("*(__private %s*)%s", v.name(t), address)
}

// alloc declares an array of a thread that vectors are in, aligned for them; "" stands for the usual declaration.
func alloc(f *tir.PrimFunc, b *tir.Buffer, element, name string) string {
	if b.StorageScope() != "local" || len(b.Shape) != 1 {
		return ""
	}
	n, constant := b.Shape[0].(*tir.IntImm)
	if !constant || n.Value < 2 {
		return ""
	}
	lanes := 1
	tir.Walk(f.Body, func(node any) bool {
		switch x := node.(type) {
		case *tir.BufferLoad:
			if x.Buffer.Data == b.Data {
				lanes = max(lanes, int(x.DType().Lanes))
			}
		case *tir.BufferStore:
			if x.Buffer.Data == b.Data {
				lanes = max(lanes, int(x.Value.DType().Lanes))
			}
		}
		return true
	})
	bytes := 1
	for bytes < lanes*int(b.DType.Bits)/8 {
		bytes *= 2
	}
	if lanes == 1 || bytes > 128 {
		return ""
	}
	return fmt.Sprintf("%s %s[%d] __attribute__((aligned(%d)));", element, name, n.Value, bytes)
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
	if call.Kind == tir.CallExtern {
		return call.Name == "mad" && tir.IsFloat(call.Type)
	}
	return strings.HasPrefix(call.Name, "texture2d_") || ofVectors[call.Name] != "" && tir.IsFloat(call.Type)
}

func (vectors) Call(call *tir.Call, args []string) string {
	if strings.HasPrefix(call.Name, "texture2d_") {
		return imageCall(call, args)
	}
	if call.Kind == tir.CallExtern {
		return call.Name + "(" + strings.Join(args, ", ") + ")"
	}
	return ofVectors[call.Name] + "(" + strings.Join(args, ", ") + ")"
}
