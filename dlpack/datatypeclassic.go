package dlpack

import (
	"fmt"
	"strconv"
	"strings"
)

// ClassicString returns the type's name in the classic generation (TVM v0.18): "bool" is {1,1,1}, void is "", and the
// two 8-bit floats of that generation are e4m3_float8 (here float8_e4m3fn) and e5m2_float8. A type that the classic
// grammar cannot express is an error; {6,8,1}, the modern bool, is one.
func (t DataType) ClassicString() (string, error) {
	if t == Void {
		return "", nil
	}
	if t == ClassicBool {
		return "bool", nil
	}
	name := ""
	switch {
	case t.Code == CodeBool:
		return "", fmt.Errorf("print %s for the classic ABI: it has no such type: a classic bool is dlpack.ClassicBool "+
			"{1,1,1}", t)
	case t.Code == CodeHandle:
		return "handle", nil
	case t.Code <= CodeBFloat:
		name = modernNames[t.Code]
	case t.Code == CodeFloat8E4M3FN:
		name = "e4m3_float"
	case t.Code == CodeFloat8E5M2:
		name = "e5m2_float"
	case t.Code >= CodeCustomBegin && customTypeName(t.Code) != "":
		name = "custom[" + customTypeName(t.Code) + "]"
	default:
		return "", fmt.Errorf("print %s for the classic ABI: type code %d has no classic name", t, t.Code)
	}
	if t.Bits == 0 {
		return "", fmt.Errorf("print %s for the classic ABI: zero bits would read as void", t)
	}
	return name + strconv.Itoa(int(t.Bits)) + lanesText(t.Lanes), nil
}

// ParseDataTypeClassic parses a type's name of the classic generation: int, uint, float, handle, bfloat, e4m3_float,
// e5m2_float or custom[name], followed by bits and lanes; bool is {1,1,1} and has neither; "" and "void" are void. The
// codes of the 8-bit floats are the modern ones; classic memory used 6 and 7 for them.
func ParseDataTypeClassic(s string) (DataType, error) {
	fail := func(err error) (DataType, error) {
		return DataType{}, fmt.Errorf("parse classic data type %q: %w", s, err)
	}
	switch s {
	case "", "void":
		return Void, nil
	case "bool":
		return ClassicBool, nil
	}
	for _, family := range []struct {
		name string
		t    DataType
	}{
		{"int", Int32}, {"uint", UInt32}, {"float", Float32}, {"handle", Handle}, {"bfloat", BFloat16},
		{"e4m3_float", Float8E4M3FN}, {"e5m2_float", Float8E5M2}, {"custom", DataType{CodeCustomBegin, 32, 1}},
	} {
		rest, ok := strings.CutPrefix(s, family.name)
		if !ok {
			continue
		}
		t := family.t
		if family.name == "custom" {
			var err error
			if t.Code, rest, err = cutCustom(rest); err != nil {
				return fail(err)
			}
		}
		if err := parseWidthAndLanes(rest, &t); err != nil {
			return fail(err)
		}
		return t, nil
	}
	return fail(fmt.Errorf("unknown type name"))
}
