package page

import (
	"strings"
	"unicode"
)

// clean returns a name without control characters, changes of direction and line breaks, each of which becomes a
// space or "�".
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r' || c == '\u2028' || c == '\u2029':
			return ' '
		case unicode.IsControl(c) || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069:
			return '�'
		}
		return c
	}, s)
}

// width returns how many columns of a terminal a text takes: two for East Asian characters and pictographs, none for
// combining ones.
func width(s string) (n int) {
	for _, c := range s {
		switch {
		case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		case c >= 0x1100 && (c <= 0x115f || c >= 0x2e80 && c <= 0xa4cf || c >= 0xac00 && c <= 0xd7a3 ||
			c >= 0xf900 && c <= 0xfaff || c >= 0xfe30 && c <= 0xfe6f || c >= 0xff00 && c <= 0xff60 ||
			c >= 0x1f300 && c <= 0x1faff || c >= 0x20000 && c <= 0x3fffd):
			n += 2
		default:
			n++
		}
	}
	return n
}

// cut shortens a text to a number of columns; the last one is an ellipsis.
func cut(s string, columns int, ellipsis string) string {
	if width(s) <= columns {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if width(b.String()+string(c))+width(ellipsis) > columns {
			break
		}
		b.WriteRune(c)
	}
	return b.String() + ellipsis
}

// shorten shortens a name to a number of columns by leaving out its middle: names often differ in the end.
func shorten(s string, columns int, ellipsis string) string {
	if width(s) <= columns {
		return s
	}
	all := []rune(s)
	head := cut(s, columns-(columns-width(ellipsis))/3, ellipsis)
	for i := range all {
		if end := string(all[i:]); width(head)+width(end) <= columns {
			return head + end
		}
	}
	return head
}

// pad fills a text with spaces up to a number of columns.
func pad(s string, columns int, right bool) string {
	space := strings.Repeat(" ", max(columns-width(s), 0))
	if right {
		return space + s
	}
	return s + space
}

// wrap breaks a text between words into lines of at most a number of columns. Longer words are broken.
func wrap(s string, columns int) (lines []string) {
	columns = max(columns, 8)
	line := ""
	for _, word := range strings.Fields(s) {
		for width(word) > columns {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := cut(word, columns, "")
			if head == "" {
				break
			}
			lines, word = append(lines, head), word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= columns:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// column is a column of a table of text.
type column struct {
	head  string
	right bool
	point bool // decimal points are below each other
	least int  // width
	cells []string
}

// align pads the cells behind the decimal point, so that the points of a column are below each other.
func (c *column) align() {
	if !c.point {
		return
	}
	most := 0
	behind := func(s string) int {
		if i := strings.IndexByte(s, '.'); i >= 0 && !strings.ContainsAny(s, "e") {
			return len(s) - i
		}
		return 0
	}
	for _, s := range c.cells {
		most = max(most, behind(s))
	}
	for i, s := range c.cells {
		if s != "" && !strings.ContainsAny(s, "e") && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') {
			c.cells[i] = s + strings.Repeat(" ", most-behind(s))
		}
	}
}

func (c *column) width() int {
	n := max(c.least, width(c.head))
	for _, s := range c.cells {
		n = max(n, width(s))
	}
	return n
}

func (c *column) empty() bool {
	for _, s := range c.cells {
		if s != "" {
			return false
		}
	}
	return true
}
