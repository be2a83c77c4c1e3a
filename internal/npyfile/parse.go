package npyfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
)

// Magic is what a file begins with.
const Magic = "\x93NUMPY"

// MaxHeader is the most bytes before the elements that Parse accepts.
const MaxHeader = 1 << 16

// TypeNames says in messages which types arrays have.
const TypeNames = "bool, int8 to int64, uint8 to uint64, float16, float32, float64, and in inputs complex"

// Header describes the elements of a file.
type Header struct {
	DType   dlpack.DataType
	Shape   []int64
	Columns bool  // the elements are in column-major order
	Swap    int   // the bytes of each unit of this size are in big-endian order; 0: they are little-endian
	Begin   int   // offset of the elements in the file
	Size    int64 // bytes of the elements
}

var errNotNPY = errors.New("not a .npy file: save it with numpy.save")

// Parse reads the header of a file that begins with data; [MaxHeader] bytes of it suffice.
func Parse(data []byte) (h Header, err error) {
	if len(data) < 12 || string(data[:6]) != Magic {
		return h, errNotNPY
	}
	length, begin := int(binary.LittleEndian.Uint16(data[8:])), 10
	switch data[6] {
	case 1:
	case 2, 3:
		if n := binary.LittleEndian.Uint32(data[8:]); n > MaxHeader {
			length = MaxHeader
		} else {
			length = int(n)
		}
		begin = 12
	default:
		return h, fmt.Errorf("version %d.%d of the format is unknown: save it again", data[6], data[7])
	}
	h.Begin = begin + length
	if h.Begin > MaxHeader {
		return h, fmt.Errorf("a header of more than %d bytes is too long: save it as an array of numbers",
			MaxHeader-begin-1)
	}
	if h.Begin > len(data) {
		return h, errors.New("the file ends in its header: save it again")
	}
	descr, err := h.dictionary(string(data[begin:h.Begin]))
	if err != nil {
		return h, err
	}
	if err := h.setType(descr); err != nil {
		return h, err
	}
	h.Size, err = dlpack.DataSize(h.Shape, h.DType)
	return h, err
}

func (h *Header) setType(descr string) error {
	order, code := byte('|'), descr
	if code != "" && strings.IndexByte("<>|=", code[0]) >= 0 {
		order, code = code[0], code[1:]
	}
	t, known := Find(code)
	if !known {
		return fmt.Errorf("elements of NumPy's type %q are not supported: save it as one of %s", descr, TypeNames)
	}
	h.DType = t
	if order == '>' && t.Bits > 8 {
		h.Swap = int(t.Bits) / 8
		if t.Code == dlpack.CodeComplex {
			h.Swap /= 2
		}
	}
	return nil
}

// dictionary reads the header's Python dictionary and returns the element type's text.
func (h *Header) dictionary(text string) (descr string, err error) {
	p := &literal{rest: text}
	found := map[string]bool{}
	p.expect("{")
	for p.ok() && !p.has("}") {
		key := p.quoted()
		p.expect(":")
		if found[key] {
			p.failed = true
		}
		found[key] = true
		switch key {
		case "descr":
			if p.peek() == '[' || p.peek() == '(' {
				return "", fmt.Errorf("elements with fields are not supported: save each field as an array of its own")
			}
			descr = p.quoted()
		case "fortran_order":
			if h.Columns = p.has("True"); !h.Columns {
				p.expect("False")
			}
		case "shape":
			h.Shape = p.tuple()
		default:
			p.failed = true
		}
		if !p.has(",") && p.peek() != '}' {
			p.failed = true
		}
	}
	if p.space(); !p.ok() || p.rest != "" || len(found) != 3 {
		return "", errors.New("an invalid header: save it again")
	}
	return descr, nil
}

// literal reads the few forms of Python that a header has. After the first mistake failed is set.
type literal struct {
	rest   string
	failed bool
}

func (p *literal) ok() bool { return !p.failed }

func (p *literal) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n\v\f") }

func (p *literal) peek() byte {
	if p.space(); p.failed || p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// has skips a text if it is next.
func (p *literal) has(text string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, text)
	if ok = ok && !p.failed; ok {
		p.rest = rest
	}
	return ok
}

func (p *literal) expect(text string) {
	if !p.has(text) {
		p.failed = true
	}
}

func (p *literal) quoted() string {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		p.failed = true
		return ""
	}
	text, rest, closed := strings.Cut(p.rest[1:], string(quote))
	if !closed || strings.Contains(text, `\`) {
		p.failed = true
		return ""
	}
	p.rest = rest
	return text
}

func (p *literal) tuple() []int64 {
	shape := []int64{}
	p.expect("(")
	for p.ok() && !p.has(")") {
		p.space()
		end := len(p.rest) - len(strings.TrimLeft(p.rest, "-0123456789"))
		n, err := strconv.ParseInt(p.rest[:end], 10, 64)
		if err != nil {
			p.failed = true
			return nil
		}
		shape = append(shape, n)
		p.rest = strings.TrimPrefix(p.rest[end:], "L") // Python 2 wrote it behind long integers
		comma := p.has(",")
		if !comma && (p.peek() != ')' || len(shape) == 1) { // (3) is no tuple
			p.failed = true
		}
	}
	return shape
}

// Plain reports whether the elements are little-endian and row-major already.
func (h *Header) Plain() bool {
	return h.Swap <= 1 && (!h.Columns || len(h.Shape) < 2 || h.Size == 0)
}

// Convert writes the elements of a file to out, little-endian and in row-major order. Both have Size bytes, and they
// must not overlap.
func (h *Header) Convert(out, data []byte) {
	if h.Columns && len(h.Shape) > 1 {
		rowMajor(out, data, h.Shape, int(h.DType.Bits)/8)
	} else {
		copy(out, data)
	}
	for unit, rest := h.Swap, out; unit > 1 && len(rest) >= unit; rest = rest[unit:] {
		slices.Reverse(rest[:unit])
	}
}

// rowMajor copies elements of each bytes from column-major into row-major order.
func rowMajor(out, data []byte, shape []int64, each int) {
	out = out[:0]
	index := make([]int64, len(shape))
	steps := make([]int64, len(shape)) // from an element to the next along each dimension, in bytes
	step := int64(each)
	for i, d := range shape {
		steps[i] = step
		step *= d
	}
	for at := int64(0); len(out) < len(data); {
		out = append(out, data[at:at+int64(each)]...)
		for i := len(shape) - 1; i >= 0; i-- {
			index[i]++
			at += steps[i]
			if index[i] < shape[i] {
				break
			}
			at -= steps[i] * shape[i]
			index[i] = 0
		}
	}
}
