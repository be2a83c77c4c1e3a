package file

import (
	"fmt"
	"math"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	maxDepth    = 100 // of messages, as other implementations of protobuf have it
	freeCharge  = 1 << 20
	chargeRatio = 48 // bytes of descriptions for a byte of input
)

// decoder reads the messages of one input.
type decoder struct {
	data   []byte
	depth  int
	budget int64 // bytes that descriptions may still take
}

func newDecoder(data []byte) *decoder {
	return &decoder{data: data, budget: freeCharge + chargeRatio*int64(len(data))}
}

// field is a field of a message.
type field struct {
	d      *decoder
	num    protowire.Number
	typ    protowire.Type
	number uint64 // of a varint, fixed32 or fixed64 field
	bytes  []byte // of a bytes field
	at     []byte // the input from the field's tag on
}

// offset returns the position of a part of the input: both end where the input ends.
func (d *decoder) offset(part []byte) int64 { return int64(cap(d.data) - cap(part)) }

func (d *decoder) fail(at []byte, format string, args ...any) error {
	return &FormatError{Offset: d.offset(at), Problem: fmt.Sprintf(format, args...)}
}

// fail is an error about a field. name is that of the field.
func (f *field) fail(name, format string, args ...any) error {
	return within(name, f.d.fail(f.at, format, args...))
}

// charge counts the bytes of a description.
func (d *decoder) charge(at []byte, n uintptr) error {
	if d.budget -= int64(n); d.budget < 0 {
		return d.fail(at, "the file has more messages than its size allows: most of them are empty")
	}
	return nil
}

// made allocates a description of a message.
func made[T any](f *field) (*T, error) {
	v := new(T)
	if err := f.d.charge(f.at, unsafe.Sizeof(*v)); err != nil {
		return nil, err
	}
	return v, nil
}

// message calls each for the fields of a message. Groups, which the format does not use, are skipped.
func (d *decoder) message(data []byte, each func(f *field) error) error {
	if d.depth == maxDepth {
		return d.fail(data, "messages are nested more than %d deep", maxDepth)
	}
	d.depth++
	defer func() { d.depth-- }()
	f := field{d: d}
	for rest := data; len(rest) > 0; {
		at := rest
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return d.fail(at, "a field cannot be read: %v", protowire.ParseError(n))
		}
		rest = rest[n:]
		f = field{d: d, num: num, typ: typ, at: at}
		switch typ {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(rest)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(rest)
			f.number = uint64(v)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(rest)
		default:
			n = protowire.ConsumeFieldValue(num, typ, rest)
		}
		if n < 0 {
			return d.fail(at, "field %d cannot be read: %v: the file was cut or changed", num, protowire.ParseError(n))
		}
		rest = rest[n:]
		if typ == protowire.StartGroupType {
			continue
		}
		if err := each(&f); err != nil {
			return err
		}
	}
	return nil
}

var wireNames = map[protowire.Type]string{protowire.VarintType: "a varint", protowire.Fixed32Type: "a fixed32",
	protowire.Fixed64Type: "a fixed64", protowire.BytesType: "bytes"}

// want checks the wire type of a field.
func (f *field) want(name string, typ protowire.Type) error {
	if f.typ != typ {
		return f.fail(name, "field %d is %s, want %s: the file is damaged or of another format", f.num,
			wireNames[f.typ], wireNames[typ])
	}
	return nil
}

// view sets a value to bytes of the input. Appending to them copies.
func (f *field) view(name string, v *[]byte) error {
	if err := f.want(name, protowire.BytesType); err != nil {
		return err
	}
	*v = f.bytes[:len(f.bytes):len(f.bytes)]
	return nil
}

func (f *field) text(name string, v *string) error {
	if err := f.want(name, protowire.BytesType); err != nil {
		return err
	}
	*v = string(f.bytes)
	return nil
}

func (f *field) texts(name string, list *[]string) error {
	var v string
	if err := f.text(name, &v); err != nil {
		return err
	}
	*list = append(*list, v)
	return nil
}

func (f *field) int64(name string, v *int64) error {
	if err := f.want(name, protowire.VarintType); err != nil {
		return err
	}
	*v = int64(f.number)
	return nil
}

// int32Of reads an int32 or an enum: like other implementations, it uses the low 32 bits.
func int32Of[T ~int32](f *field, name string, v *T) error {
	if err := f.want(name, protowire.VarintType); err != nil {
		return err
	}
	*v = T(f.number)
	return nil
}

func (f *field) float(name string, v *float32) error {
	if err := f.want(name, protowire.Fixed32Type); err != nil {
		return err
	}
	*v = math.Float32frombits(uint32(f.number))
	return nil
}

// numbers appends one number, or those of a packed field. size is that of a number in bytes; 0 stands for varints.
func numbers[T any](f *field, name string, list *[]T, size int, convert func(uint64) T) error {
	single := protowire.VarintType
	switch size {
	case 4:
		single = protowire.Fixed32Type
	case 8:
		single = protowire.Fixed64Type
	}
	if f.typ == single {
		*list = append(*list, convert(f.number))
		return nil
	}
	if err := f.want(name, protowire.BytesType); err != nil {
		return within(name, f.d.fail(f.at, "field %d is %s, want %s or packed numbers: the file is damaged or of another "+
			"format", f.num, wireNames[f.typ], wireNames[single]))
	}
	if len(f.bytes) == 0 {
		return nil
	}
	count := 0
	switch {
	case size == 0:
		for _, b := range f.bytes {
			if b < 0x80 { // the last byte of a number
				count++
			}
		}
	case len(f.bytes)%size != 0:
		return f.fail(name, "%d bytes are no multiple of the element size, %d bytes", len(f.bytes), size)
	default:
		count = len(f.bytes) / size
	}
	if *list == nil {
		*list = make([]T, 0, count)
	}
	for rest := f.bytes; len(rest) > 0; {
		var v uint64
		n := size
		switch size {
		case 0:
			if v, n = protowire.ConsumeVarint(rest); n < 0 {
				return within(name, f.d.fail(rest, "a number cannot be read: %v", protowire.ParseError(n)))
			}
		case 4:
			w, _ := protowire.ConsumeFixed32(rest)
			v = uint64(w)
		case 8:
			v, _ = protowire.ConsumeFixed64(rest)
		}
		*list = append(*list, convert(v))
		rest = rest[n:]
	}
	return nil
}

func (f *field) int64s(name string, list *[]int64) error {
	return numbers(f, name, list, 0, func(v uint64) int64 { return int64(v) })
}

func (f *field) int32s(name string, list *[]int32) error {
	return numbers(f, name, list, 0, func(v uint64) int32 { return int32(v) })
}

func (f *field) uint64s(name string, list *[]uint64) error {
	return numbers(f, name, list, 0, func(v uint64) uint64 { return v })
}

func (f *field) floats(name string, list *[]float32) error {
	return numbers(f, name, list, 4, func(v uint64) float32 { return math.Float32frombits(uint32(v)) })
}

func (f *field) doubles(name string, list *[]float64) error {
	return numbers(f, name, list, 8, math.Float64frombits)
}

// label returns what a place says about a message beside its number, from the bytes of the message: ` "conv1"`. It is
// called only for errors, because the name can come after what is damaged.
type label func(data []byte) string

// named returns the label of messages whose name is in a field.
func named(num protowire.Number) label {
	return func(data []byte) string {
		if text := textOf(data, num); text != "" {
			return " " + quoted(text)
		}
		return ""
	}
}

// reader reads the message of a type. It adds to v what the message has.
type reader[T any] func(d *decoder, data []byte, v *T) error

// sub reads a message into v. what and the label, which can be nil, are its place in errors.
func sub[T any](f *field, what string, l label, v *T, read reader[T]) error {
	if err := f.want(what, protowire.BytesType); err != nil {
		return err
	}
	if err := read(f.d, f.bytes, v); err != nil {
		if l != nil {
			what += l(f.bytes)
		}
		return within(what, err)
	}
	return nil
}

// subs reads a message as a new element of a list.
func subs[T any](f *field, what string, l label, list *[]*T, read reader[T]) error {
	i := len(*list)
	v, err := made[T](f)
	if err == nil {
		*list = append(*list, v)
		err = sub(f, "", nil, v, read)
	}
	if err != nil {
		what = fmt.Sprintf("%s %d", what, i)
		if l != nil {
			what += l(f.bytes)
		}
	}
	return within(what, err)
}

// subOf reads a message into *v, which it allocates unless the field was there before: then protobuf joins the two.
func subOf[T any](f *field, what string, l label, v **T, read reader[T]) error {
	if *v == nil {
		n, err := made[T](f)
		if err != nil {
			return within(what, err)
		}
		*v = n
	}
	return sub(f, what, l, *v, read)
}

// textOf returns the text of a field in a message that may be damaged, "" if it is not found.
func textOf(data []byte, num protowire.Number) (text string) {
	d := newDecoder(data)
	_ = d.message(data, func(f *field) error {
		if f.num == num && f.typ == protowire.BytesType {
			text = string(f.bytes)
		}
		return nil
	})
	return text
}
