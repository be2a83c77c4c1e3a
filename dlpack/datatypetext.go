package dlpack

import (
	"fmt"
	"strconv"
	"strings"
)

// modernNames are the names of types by code. Up to CodeBool the number of bits follows the name; the others contain
// it. Complex numbers have no name in either generation.
var modernNames = [...]string{
	CodeInt: "int", CodeUInt: "uint", CodeFloat: "float", CodeHandle: "handle", CodeBFloat: "bfloat", CodeBool: "bool",
	CodeFloat8E3M4: "float8_e3m4", CodeFloat8E4M3: "float8_e4m3", CodeFloat8E4M3B11FNUZ: "float8_e4m3b11fnuz",
	CodeFloat8E4M3FN: "float8_e4m3fn", CodeFloat8E4M3FNUZ: "float8_e4m3fnuz", CodeFloat8E5M2: "float8_e5m2",
	CodeFloat8E5M2FNUZ: "float8_e5m2fnuz", CodeFloat8E8M0FNU: "float8_e8m0fnu", CodeFloat6E2M3FN: "float6_e2m3fn",
	CodeFloat6E3M2FN: "float6_e3m2fn", CodeFloat4E2M1FN: "float4_e2m1fn",
}

// String returns the type's name in the modern generation: "float32", "int8x4", "float32xvscalex4", "bool", "" for
// void. A type without a name (complex, an unknown code) is printed as "dtype(code=5,bits=64,lanes=1)", which no parser
// accepts; [DataType.MarshalText] returns an error for it.
func (t DataType) String() string {
	s, err := t.modernText()
	if err != nil {
		return fmt.Sprintf("dtype(code=%d,bits=%d,lanes=%d)", t.Code, t.Bits, t.Lanes)
	}
	return s
}

// MarshalText returns the type's name in the modern generation, or an error if the type has none.
func (t DataType) MarshalText() ([]byte, error) {
	s, err := t.modernText()
	return []byte(s), err
}

// UnmarshalText parses a name as [ParseDataType] does.
func (t *DataType) UnmarshalText(text []byte) error {
	parsed, err := ParseDataType(string(text))
	if err == nil {
		*t = parsed
	}
	return err
}

func (t DataType) modernText() (string, error) {
	if t == Void {
		return "", nil
	}
	name, width := "", strconv.Itoa(int(t.Bits))
	switch {
	case t.Code >= CodeCustomBegin:
		name = customTypeName(t.Code)
		if name == "" {
			return "", fmt.Errorf("print data type: no custom type has code %d: register it with dlpack.RegisterCustomType",
				t.Code)
		}
		name = "custom[" + name + "]"
		if t.Bits == 32 { // the default width of the parsers
			width = ""
		}
	case int(t.Code) >= len(modernNames) || modernNames[t.Code] == "":
		return "", fmt.Errorf("print data type: type code %d has no name", t.Code)
	default:
		name = modernNames[t.Code]
		if t.Code == CodeHandle {
			return name, nil
		}
		if t.Code >= CodeFloat8E3M4 || t.Code == CodeBool && t.Bits == 8 {
			width = ""
		}
	}
	return name + width + lanesText(t.Lanes), nil
}

func lanesText(lanes uint16) string {
	switch n := int(int16(lanes)); {
	case n > 1:
		return "x" + strconv.Itoa(n)
	case n < -1:
		return "xvscalex" + strconv.Itoa(-n)
	}
	return ""
}

// ParseDataType parses a type's name of the modern generation (tvm-ffi): the names that String returns, the short forms
// i8, u8, f32, bf16, fp8_… and f8_…, names with default widths (int, uint, float and custom 32, bfloat 16, bool 8,
// handle 64), "void" and "" for void, and `_x2` for lanes of float4.
//
// Text that the reference implementation misreads (zero bits, a scalable factor that is missing or above 32768) is an
// error here. As in the reference, 32768 to 65535 plain lanes are accepted, and are the representation of scalable
// vectors.
func ParseDataType(s string) (DataType, error) {
	fail := func(format string, args ...any) (DataType, error) {
		return DataType{}, fmt.Errorf("parse data type %q: %w", s, fmt.Errorf(format, args...))
	}
	if s == "" || s == "void" {
		return Void, nil
	}
	var t DataType
	var rest string
	switch family, tail := splitFamily(s); family {
	case "int", "uint", "float":
		t, rest = DataType{map[string]uint8{"int": CodeInt, "uint": CodeUInt, "float": CodeFloat}[family], 32, 1}, tail
	case "i", "u", "f", "bf":
		if tail != "" && !isDigit(tail[0]) { // a longer word: "flat32"
			return fail("unknown type name")
		}
		if tail == "" {
			return fail("the short form %q needs a width, for instance %s16", family, family)
		}
		t, rest = DataType{map[string]uint8{"i": CodeInt, "u": CodeUInt, "f": CodeFloat, "bf": CodeBFloat}[family], 0,
			1}, tail
	case "bfloat":
		t, rest = BFloat16, tail
	case "bool":
		t, rest = Bool, tail
	case "handle":
		t, rest = Handle, tail
	case "small float":
		code, after, ok := cutSmallFloat(tail)
		if !ok {
			return fail("unknown small float: the known ones are %s", strings.Join(modernNames[CodeFloat8E3M4:], ", "))
		}
		t = DataType{code, tail[0] - '0', 1}
		if code == CodeFloat4E2M1FN && strings.HasPrefix(after, "_x") {
			after = after[1:]
		}
		if err := parseLanes(after, &t); err != nil {
			return fail("%w", err)
		}
		return t, nil
	case "custom":
		code, after, err := cutCustom(tail)
		if err != nil {
			return fail("%w", err)
		}
		t, rest = DataType{code, 32, 1}, after
	case "complex":
		return fail("complex types have no name in either generation")
	default:
		return fail("unknown type name")
	}
	if err := parseWidthAndLanes(rest, &t); err != nil {
		return fail("%w", err)
	}
	return t, nil
}

// splitFamily splits off the leading type name. For floats of less than 8 bits the rest starts with the width
// ("8_e4m3").
func splitFamily(s string) (family, tail string) {
	for _, prefix := range []string{"float", "fp", "f"} {
		tail, ok := strings.CutPrefix(s, prefix)
		if ok && len(tail) >= 2 && tail[1] == '_' && (tail[0] == '8' || tail[0] == '6' || tail[0] == '4') {
			return "small float", tail
		}
	}
	for _, family := range []string{"int", "uint", "float", "bfloat", "bool", "handle", "custom", "complex", "bf", "i",
		"u", "f"} {
		if tail, ok := strings.CutPrefix(s, family); ok {
			return family, tail
		}
	}
	return "", s
}

// cutSmallFloat finds the longest name of a small float that is a prefix of "float"+tail.
func cutSmallFloat(tail string) (code uint8, after string, ok bool) {
	longest := 0
	for c := CodeFloat8E3M4; c <= CodeFloat4E2M1FN; c++ {
		name := strings.TrimPrefix(modernNames[c], "float")
		if len(name) > longest && strings.HasPrefix(tail, name) {
			code, longest = c, len(name)
		}
	}
	return code, tail[longest:], longest > 0
}

// parseWidthAndLanes parses `[bits][xL|xvscalexL]` up to the end of s; without bits the default in t is kept.
func parseWidthAndLanes(s string, t *DataType) error {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	if end > 0 {
		n, err := parseIndex(s[:end], 255)
		if err != nil {
			return fmt.Errorf("bits: %w", err)
		}
		if n == 0 {
			return fmt.Errorf("bits: a type of zero bits")
		}
		t.Bits = uint8(n)
	}
	return parseLanes(s[end:], t)
}

func parseLanes(s string, t *DataType) error {
	if s == "" {
		return nil
	}
	if number, ok := strings.CutPrefix(s, "xvscalex"); ok {
		n, err := parseIndex(number, 1<<15)
		if err != nil {
			return fmt.Errorf("vscale factor: %w", err)
		}
		if n == 0 {
			return fmt.Errorf("vscale factor: want at least 1")
		}
		t.Lanes = uint16(-n)
		return nil
	}
	number, ok := strings.CutPrefix(s, "x")
	if !ok {
		return fmt.Errorf("unexpected %q: lanes are written x4 or xvscalex4", s)
	}
	n, err := parseIndex(number, 1<<16-1)
	if err != nil {
		return fmt.Errorf("lanes: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("lanes: want at least 1")
	}
	t.Lanes = uint16(n)
	return nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
