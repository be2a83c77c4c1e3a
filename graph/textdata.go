package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tvmgo/tir"
)

// printedElements is the greatest number of elements that String prints.
const printedElements = 8

func (v *Value) printsElements(all bool) bool {
	_, few := v.size(printedElements)
	return all || few
}

// reference names the data in the text of a function: the beginning of its SHA-256 hash.
func (c *Const) reference() string {
	sum := sha256.Sum256(c.Data)
	return hex.EncodeToString(sum[:16])
}

// Constants returns the data that String prints as references: what Parse needs beside the text. It is shared with the
// constants.
func (f *Function) Constants() map[string][]byte {
	table := map[string][]byte{}
	add := func(values []*Value) {
		for _, v := range values {
			if v != nil && v.Const != nil && !v.printsElements(false) {
				table[v.Const.reference()] = v.Const.Data
			}
		}
	}
	var visit func(f *Function)
	visit = func(f *Function) {
		for _, n := range f.Nodes {
			add(n.Inputs)
			for _, b := range n.Bodies {
				visit(b)
			}
		}
		add(f.Results)
	}
	visit(f)
	return table
}

// writeElements writes the elements of a constant: {1, -2.5, nan}, or hex and the bytes of the data if the numbers do
// not tell all bits.
func (v *Value) writeElements(w io.StringWriter) {
	n, _ := v.size(math.MaxInt64)
	size, ok := dataSize(v.DType, int(n))
	var out strings.Builder
	used := make([]byte, size)
	out.WriteByte('{')
	for i := 0; ok && i < int(n); i++ {
		bits := bitsAt(v.Const.Data, i, int(v.DType.Bits))
		word := elementText(v.DType, bits)
		again, err := elementBits(v.DType, word)
		if ok = err == nil; !ok {
			break
		}
		setBits(used, i, int(v.DType.Bits), again)
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(word)
	}
	text := out.String() + "}"
	if !ok || string(used) != string(v.Const.Data) {
		text = "hex " + hex.EncodeToString(v.Const.Data)
	}
	_, _ = w.WriteString(text) // to memory
}

// elementText returns an element as text; "" for types that have no constants.
func elementText(t tir.Type, bits uint64) string {
	switch e := decodeOne(t, bits).(type) {
	case *tir.IntImm:
		if tir.IsBool(t) {
			return strconv.FormatBool(e.Value != 0)
		}
		if tir.IsSigned(t) {
			return strconv.FormatInt(e.Value, 10)
		}
		return strconv.FormatUint(uint64(e.Value), 10)
	case *tir.FloatImm:
		precision := 64
		if t == tir.Float32 {
			precision = 32
		}
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(e.Value, 'g', -1, precision), "+"))
	}
	return ""
}

// elementBits returns the bits of an element that is given as text.
func elementBits(t tir.Type, word string) (uint64, error) {
	want := func(what string) (uint64, error) {
		return 0, fmt.Errorf("%q is no element of type %s: want %s", clip(word), tir.TypeName(t), what)
	}
	var e tir.Expr
	switch {
	case tir.IsBool(t):
		b, err := strconv.ParseBool(word)
		if err != nil {
			return want("true or false")
		}
		e = tir.BoolConst(b)
	case tir.IsInt(t) && tir.IsSigned(t):
		n, err := strconv.ParseInt(word, 10, int(t.Bits))
		if err != nil {
			return want(fmt.Sprintf("an integer of %d bits", t.Bits))
		}
		e = &tir.IntImm{Type: t, Value: n}
	case tir.IsInt(t):
		n, err := strconv.ParseUint(word, 10, int(t.Bits))
		if err != nil {
			return want(fmt.Sprintf("an integer of %d bits that is not negative", t.Bits))
		}
		e = &tir.IntImm{Type: t, Value: int64(n)}
	default:
		precision := 64
		if t == tir.Float32 {
			precision = 32
		}
		x, err := strconv.ParseFloat(word, precision)
		if err != nil {
			return want("a number, inf or nan")
		}
		e = &tir.FloatImm{Type: t, Value: x}
	}
	bits, ok := encodeOne(t, e)
	if !ok {
		return want("a number that the type has")
	}
	return bits, nil
}

// elementsData returns the data of elements that are given as text.
func elementsData(t tir.Type, words []string) ([]byte, error) {
	size, ok := dataSize(t, len(words))
	if !ok {
		return nil, fmt.Errorf("elements of type %s are not written as numbers: write hex and their bytes", tir.TypeName(t))
	}
	data := make([]byte, size)
	for i, word := range words {
		bits, err := elementBits(t, word)
		if err != nil {
			return nil, err
		}
		setBits(data, i, int(t.Bits), bits)
	}
	return data, nil
}

// clip shortens text for an error.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
