package abi

import (
	"fmt"
	"math"
	"strings"
)

// Literal returns a string literal of C.
func Literal(s string) string { return literal(s, math.MaxInt) }

// lineWidth is the approximate number of characters in a line of a long literal.
const lineWidth = 110

// literal starts a new line after this number of characters.
func literal(s string, width int) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	column := 0
	for i := range len(s) {
		if column >= width {
			b.WriteString("\"\n      \"")
			column = 0
		}
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
			column += 2
		case c >= ' ' && c < 0x7f && c != '?': // two question marks begin a trigraph
			b.WriteByte(c)
			column++
		default:
			fmt.Fprintf(&b, "\\%03o", c)
			column += 4
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Constant returns an exported function that returns a constant: with snippet "text" a string, with "bytes" bytes.
func Constant(symbol, snippet, content string) string {
	return fmt.Sprintf(`TVMGO_EXPORT int %s(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static const char text[] =
      %s;
  (void)self, (void)args, (void)num_args;
  return tvmgo_%s(text, sizeof text - 1, result);
}
`, symbol, literal(content, lineWidth), snippet)
}
