package inference

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"tvmgo/serve/oip"
)

// wireField is a field of a message as it is sent: the bytes of a text, a message or a packed list, or a number.
type wireField struct {
	number protowire.Number
	kind   protowire.Type
	bytes  []byte // of BytesType; memory of the message
	bits   uint64 // of the other types
}

// eachField calls do for the fields of a message in their order, without groups, until there is an error.
func eachField(b []byte, do func(f wireField) *oip.Error) *oip.Error {
	for len(b) > 0 {
		var f wireField
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return malformed(protowire.ParseError(n))
		}
		if number > protowire.MaxValidNumber {
			return oip.Errorf(oip.InvalidArgument, "the message is malformed: it has a field with the number %d", number)
		}
		b = b[n:]
		f.number, f.kind = number, kind
		switch kind {
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(b)
			f.bits = uint64(bits)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return malformed(protowire.ParseError(n))
		}
		b = b[n:]
		if kind == protowire.StartGroupType {
			continue
		}
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

func malformed(err error) *oip.Error {
	return oip.Errorf(oip.InvalidArgument, "the message is malformed: %w", err)
}

// is reports whether a field has this number and type. As in every reader of Protocol Buffers, a field of another type
// is ignored.
func (f wireField) is(number protowire.Number, kind protowire.Type) bool {
	return f.number == number && f.kind == kind
}

// text copies the text of a field.
func (f wireField) text(to *string) *oip.Error {
	if err := f.checkText(); err != nil {
		return err
	}
	*to = string(f.bytes)
	return nil
}

// checkText checks that a field is text.
func (f wireField) checkText() *oip.Error {
	if !utf8.Valid(f.bytes) {
		return oip.Errorf(oip.InvalidArgument, "a text is not UTF-8: send names and ids in UTF-8")
	}
	return nil
}

// numbers calls do for each varint of a list: one, or as many as are packed.
func (f wireField) numbers(do func(v uint64) *oip.Error) *oip.Error {
	switch f.kind {
	case protowire.VarintType:
		return do(f.bits)
	case protowire.BytesType:
		for b := f.bytes; len(b) > 0; {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return malformed(protowire.ParseError(n))
			}
			if err := do(v); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	return nil
}
