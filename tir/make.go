package tir

import (
	"fmt"
	"math"
	"strconv"
)

// What follows makes nodes of what was read, so that they are what was said, and says why they can't.

func checkLanes(n int) error {
	if n < 1 || n > MaxLanes {
		return fmt.Errorf("%d lanes: want 1 to %d", n, MaxLanes)
	}
	return nil
}

// makeRamp is a ramp whose base and stride are scalars of one type.
func makeRamp(base, stride Expr, lanes int) (Expr, error) {
	if err := checkLanes(lanes); err != nil {
		return nil, fmt.Errorf("ramp: %w", err)
	}
	base, stride, err := match(base, stride)
	if err != nil {
		return nil, fmt.Errorf("ramp: %w", err)
	}
	if t := base.DType(); t.Lanes != 1 || !IsInt(t) && !IsFloat(t) {
		return nil, fmt.Errorf("ramp of type %s: want a number of one lane", typeText(t))
	}
	return &Ramp{base, stride, lanes}, nil
}

func makeBroadcast(value Expr, lanes int) (Expr, error) {
	if err := checkLanes(lanes); err != nil {
		return nil, fmt.Errorf("broadcast: %w", err)
	}
	if t := value.DType(); t.Lanes != 1 || IsHandle(t) {
		return nil, fmt.Errorf("broadcast of type %s: want one lane", typeText(t))
	}
	return &Broadcast{value, lanes}, nil
}

func makeShuffle(vectors []Expr, indices []int) (Expr, error) {
	if len(vectors) == 0 {
		return nil, fmt.Errorf("shuffle of no vectors")
	}
	if err := checkLanes(len(indices)); err != nil {
		return nil, fmt.Errorf("shuffle: %w", err)
	}
	lanes, element := 0, Element(vectors[0].DType())
	for i, v := range vectors {
		t := v.DType()
		if t == Void || IsHandle(t) || Element(t) != element {
			return nil, fmt.Errorf("shuffle: vector %d is of type %s: want lanes of type %s", i, typeText(t), element)
		}
		lanes += int(t.Lanes)
	}
	for _, x := range indices {
		if x < 0 || x >= lanes {
			return nil, fmt.Errorf("shuffle: index %d: the vectors have %d lanes", x, lanes)
		}
	}
	return &Shuffle{vectors, indices}, nil
}

// makeCast is a cast, even to the type that the value has.
func makeCast(t Type, value Expr) (Expr, error) {
	r := NewCast(t, value)
	if b, isBad := r.(*Bad); isBad {
		return nil, trimmed(b.Err)
	}
	if r == value {
		return &Cast{value.DType(), value}, nil
	}
	return r, nil
}

// made is an expression that a constructor gave, or its error.
func made(e Expr) (Expr, error) {
	if b, isBad := e.(*Bad); isBad {
		return nil, trimmed(b.Err)
	}
	return e, nil
}

// trimmed is an error without the package's name, which the caller's begins with.
func trimmed(err error) error {
	const prefix = "tir: "
	if s := err.Error(); len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return fmt.Errorf("%s", s[len(prefix):])
	}
	return err
}

// makeConst is a constant of a type, written as a number, which may have a sign. Numbers of ints may be hexadecimal, and those of
// uint64 go to 2^64-1.
func makeConst(t Type, text string) (Expr, error) {
	switch {
	case IsInt(t) && IsSigned(t), IsBool(t):
		v, err := strconv.ParseInt(digitsOf(text))
		if err != nil {
			return nil, fmt.Errorf("%s is no constant of type %s", text, t)
		}
		return made(IntConst(t, v))
	case IsInt(t):
		v, err := strconv.ParseUint(digitsOf(text))
		if err != nil {
			return nil, fmt.Errorf("%s is no constant of type %s", text, t)
		}
		if t.Bits == 64 && v > math.MaxInt64 {
			return spread(&IntImm{Element(t), int64(v)}, int(t.Lanes)), checkType(t)
		}
		return made(IntConst(t, int64(v)))
	case IsFloat(t):
		v, err := readFloat(text, 64)
		if err != nil {
			return nil, err
		}
		return made(Const(t, v))
	}
	return nil, fmt.Errorf("type %s has no constants", typeText(t))
}

// makeFloat is a constant of a type of floats that has the very value.
func makeFloat(t Type, v float64) (Expr, error) {
	e, err := made(Const(Element(t), v))
	if err != nil {
		return nil, err
	}
	c, ok := e.(*FloatImm)
	if !ok || math.Float64bits(c.Value) != math.Float64bits(v) {
		return nil, fmt.Errorf("%s is no value of type %s", number(v, 64), typeText(t))
	}
	return spread(e, int(t.Lanes)), nil
}

// digitsOf is a whole number's text as strconv takes it: without 0x, and the base. A leading 0 alone is decimal.
func digitsOf(text string) (digits string, base, bits int) {
	sign, rest := "", text
	if text != "" && text[0] == '-' {
		sign, rest = "-", text[1:]
	}
	if len(rest) > 2 && (rest[:2] == "0x" || rest[:2] == "0X") {
		return sign + rest[2:], 16, 64
	}
	return text, 10, 64
}

// readFloat reads a decimal number, rounded to so many bits. Too large a one is an error, not an infinity.
func readFloat(text string, bits int) (float64, error) {
	switch text {
	case "inf":
		return math.Inf(1), nil
	case "-inf":
		return math.Inf(-1), nil
	case "nan":
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, bits)
	if err != nil {
		if v > 1 || v < -1 {
			return 0, fmt.Errorf("%s is beyond the floats of %d bits", clip(text), bits)
		}
		return 0, fmt.Errorf("%s is no number", clip(text))
	}
	return v, nil
}

// asType is a value as another type if it is a constant that can be had in it; of a scalar constant a vector is made.
func asType(e Expr, t Type) Expr {
	if e.DType() == t {
		return e
	}
	if c := constantAs(e, t); c != nil {
		return c
	}
	return e
}

// nanOf is the NaN of bits in hexadecimal, without 0x.
func nanOf(hex string) (float64, bool) {
	bits, err := strconv.ParseUint(hex, 16, 64)
	v := math.Float64frombits(bits)
	return v, err == nil && math.IsNaN(v)
}
