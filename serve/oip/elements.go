package oip

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"tvmgo/dlpack"
)

// elements reads the data of an input: a list in JSON, flat or nested as the shape, whose elements it writes to memory.
type elements struct {
	text  string
	at    int    // in text
	to    []byte // the memory that is not written yet
	shape []int64
	dtype dlpack.DataType
	kind  kind
	size  int // of an element, in bytes
	fault string
	number
}

func (e *elements) fail(format string, args ...any) bool {
	e.fault = fmt.Sprintf(format, args...)
	return false
}

// next skips white space and returns the byte after it; 0 at the end.
func (e *elements) next() byte {
	for e.at < len(e.text) {
		switch c := e.text[e.at]; c {
		case ' ', '\n', '\t', '\r':
			e.at++
		default:
			return c
		}
	}
	return 0
}

// read reads the data of count elements. If it returns false, fault says what is wrong at the position at. The data of
// a scalar may be a number instead of a list.
func (e *elements) read(count int64) bool {
	if e.next() != '[' {
		if len(e.shape) == 0 {
			return e.element()
		}
		return e.unexpected("a list of elements")
	}
	e.at++
	if e.next() != '[' {
		return e.row(count)
	}
	if len(e.shape) < 2 {
		return e.fail("lists are nested deeper than the shape %v: send one list, or lists nested as the shape", e.shape)
	}
	return e.list(0)
}

// list reads the lists in dimension d; their opening bracket is read already.
func (e *elements) list(d int) bool {
	n := e.shape[d]
	if d == len(e.shape)-1 {
		return e.row(n)
	}
	for i := int64(0); ; i++ {
		c := e.next()
		switch {
		case c == ']' && i == n:
			e.at++
			return true
		case c == ']':
			return e.fail("%d lists in dimension %d, but the shape is %v", i, d, e.shape)
		case i == n:
			return e.fail("more than %d lists in dimension %d, but the shape is %v", n, d, e.shape)
		case i > 0 && c != ',':
			return e.unexpected("a comma or ]")
		case i > 0:
			e.at++
			c = e.next()
		}
		if c != '[' {
			return e.unexpected(fmt.Sprintf("a list, as the shape %v is nested", e.shape))
		}
		e.at++
		if !e.list(d + 1) {
			return false
		}
	}
}

// row reads n elements and the closing bracket of their list.
func (e *elements) row(n int64) bool {
	if e.next() == ']' {
		if n > 0 {
			return e.few(0, n)
		}
		e.at++
		return true
	}
	for i := int64(0); i < n; i++ {
		if !e.element() {
			return false
		}
		switch e.next() {
		case ',':
			e.at++
			e.next()
		case ']':
			if i+1 < n {
				return e.few(i+1, n)
			}
			e.at++
			return true
		default:
			return e.unexpected("a comma or ]")
		}
	}
	return e.fail("more than %d elements in a list, but the shape is %v", n, e.shape)
}

func (e *elements) few(got, want int64) bool {
	return e.fail("%d elements in a list, want %d for the shape %v", got, want, e.shape)
}

// element reads one element.
func (e *elements) element() bool {
	if e.kind == boolean {
		return e.boolean()
	}
	n := e.scan(e.text[e.at:])
	if n == 0 {
		return e.notNumber()
	}
	var ok bool
	switch e.kind {
	case single:
		var v float32
		v, ok = e.float32()
		e.put(uint64(math.Float32bits(v)))
	case double:
		var v float64
		v, ok = e.float64()
		e.put(math.Float64bits(v))
	case half:
		var v float64
		v, ok = e.float64()
		bits := dlpack.Float16Of(v)
		ok = ok && bits&0x7c00 != 0x7c00
		e.put(uint64(bits))
	case brain:
		var v float64
		v, ok = e.float64()
		bits := dlpack.BFloat16Of(v)
		ok = ok && bits&0x7f80 != 0x7f80
		e.put(uint64(bits))
	default:
		if !e.integer {
			return e.fail("want an integer, because the datatype is %s, not %s", e.datatype(), shortened(e.number.text))
		}
		var v uint64
		v, ok = e.int()
		e.put(v)
	}
	if !ok {
		return e.fail("%s is out of the range of %s", shortened(e.number.text), e.datatype())
	}
	e.at += n
	return true
}

// int returns the bits of an integer; false if it is out of the range of the type.
func (e *elements) int() (uint64, bool) {
	v, ok := e.uint64()
	limit := uint64(math.MaxUint64) >> (64 - 8*e.size)
	if e.kind == signed {
		limit >>= 1
	}
	switch {
	case !ok:
		return 0, false
	case !e.negative:
		return v, v <= limit
	case e.kind == signed:
		return -v, v <= limit+1
	}
	return 0, v == 0
}

// put writes the lower bytes of an element.
func (e *elements) put(bits uint64) {
	switch e.size {
	case 1:
		e.to[0] = byte(bits)
	case 2:
		binary.LittleEndian.PutUint16(e.to, uint16(bits))
	case 4:
		binary.LittleEndian.PutUint32(e.to, uint32(bits))
	default:
		binary.LittleEndian.PutUint64(e.to, bits)
	}
	e.to = e.to[e.size:]
}

func (e *elements) boolean() bool {
	for _, w := range [...]struct {
		text string
		bits uint64
	}{{"true", 1}, {"false", 0}, {"1", 1}, {"0", 0}} {
		if strings.HasPrefix(e.text[e.at:], w.text) {
			e.at += len(w.text)
			e.put(w.bits)
			return true
		}
	}
	return e.unexpected("true, false, 1 or 0")
}

// notNumber fails because there is no number at the current position.
func (e *elements) notNumber() bool {
	rest := strings.TrimPrefix(e.text[e.at:], "-")
	switch {
	case strings.HasPrefix(rest, "NaN"), strings.HasPrefix(rest, "Infinity"):
		return e.fail("JSON has neither NaN nor Infinity: send the input as binary data (binary_data_size)")
	case strings.HasPrefix(rest, `"`):
		return e.fail("want a number, because the datatype is %s, not text", e.datatype())
	case strings.HasPrefix(rest, "["):
		return e.fail("lists are nested deeper than the shape %v, or not everywhere", e.shape)
	case rest != "" && rest[0]-'0' <= 9:
		return e.fail("not a number of JSON: %s", shortened(numeric(rest)))
	}
	return e.unexpected("a number")
}

func (e *elements) unexpected(want string) bool {
	if e.next() == 0 && e.at == len(e.text) {
		return e.fail("the text ends early: want %s", want)
	}
	rest := e.text[e.at:]
	for i, c := range rest {
		if i > 0 && strings.ContainsRune(" ,[]{}:\"\n\r\t", c) {
			rest = rest[:i]
			break
		}
	}
	return e.fail("want %s, not %s", want, Quoted(rest))
}

func (e *elements) datatype() string {
	name, _ := DatatypeName(e.dtype)
	return name
}

// numeric returns the beginning of text that consists of the characters of numbers.
func numeric(text string) string {
	for i := range len(text) {
		if strings.IndexByte("0123456789+-.eE", text[i]) < 0 {
			return text[:i]
		}
	}
	return text
}

// shortened returns a number for an error.
func shortened(number string) string {
	if len(number) > 40 {
		return number[:40] + "…"
	}
	return number
}
