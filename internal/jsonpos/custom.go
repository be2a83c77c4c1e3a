package jsonpos

import (
	"strings"
	"unicode/utf8"
)

// CheckEncoding fails, at the first wrong byte, if the text is not valid UTF-8, or begins with a byte order mark.
func (r *Reader) CheckEncoding() {
	if !utf8.ValidString(r.text) {
		at := r.at
		for {
			c, n := utf8.DecodeRuneInString(r.text[at:])
			if c == utf8.RuneError && n <= 1 {
				break
			}
			at += n
		}
		r.FailAt(at, "the text is not valid UTF-8")
	}
	if strings.HasPrefix(r.text, ByteOrderMark) {
		r.Fail("the text starts with a byte order mark: save it as UTF-8 without one")
	}
}

// Err returns the error so far. Unlike [Reader.End] it accepts that text is left.
func (r *Reader) Err() error {
	if r.err != nil {
		return r.err
	}
	return nil
}

// FailAt is Fail for another position of the text.
func (r *Reader) FailAt(offset int, format string, args ...any) {
	r.fail(Syntax, offset, format, args...)
}

// Rest skips white space and returns the text that is not read yet; "" after an error. A caller that itself reads a
// value of it calls [Reader.Advance] afterwards.
func (r *Reader) Rest() string {
	if r.next(); r.err != nil {
		return ""
	}
	return r.text[r.at:]
}

// Advance skips the first n bytes of what Rest returned.
func (r *Reader) Advance(n int) {
	if r.err == nil {
		r.at += n
	}
}

// Skip reads any value as [Reader.Value] does, without building it.
func (r *Reader) Skip() {
	switch c := r.next(); {
	case r.err != nil:
	case c == '{':
		r.Object(func(string) { r.Skip() })
	case c == '[':
		r.List(r.Skip)
	case c == '"':
		r.Text()
	case c == '-' || c >= '0' && c <= '9':
		r.numeral()
	default:
		r.literal()
	}
}
