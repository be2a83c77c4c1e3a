package c

import (
	"strconv"
	"strings"
)

// longPiece is the size in bytes above which a placeholder replaces a piece of code.
const longPiece = 2000

// Placeholders start and end with characters that no code contains. With the space they are not mistaken for a name.
const (
	markBegin = "\x01 "
	markEnd   = "\x02"
)

// longPieces are pieces of code that placeholders replace until the file is complete. Without them, an expression would
// be copied once for each expression around it.
type longPieces struct {
	all   []string // may contain placeholders of earlier ones
	known map[string]int
}

// shorten replaces a long piece of code by a placeholder; equal pieces have equal placeholders.
func (l *longPieces) shorten(text string) string {
	if len(text) <= longPiece {
		return text
	}
	n, ok := l.known[text]
	if !ok {
		if l.known == nil {
			l.known = map[string]int{}
		}
		n = len(l.all)
		l.known[text] = n
		l.all = append(l.all, text)
	}
	return markBegin + strconv.Itoa(n) + markEnd
}

// whole replaces the placeholders in a text by their pieces.
func (l *longPieces) whole(text string) string {
	if len(l.all) == 0 {
		return text
	}
	var out strings.Builder
	rest := []string{text} // a stack: pieces may be nested as deep as expressions
	for len(rest) > 0 {
		t := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		before, after, found := strings.Cut(t, markBegin)
		out.WriteString(before)
		if !found {
			continue
		}
		number, after, _ := strings.Cut(after, markEnd)
		n, _ := strconv.Atoi(number)
		rest = append(rest, after, l.all[n])
	}
	return out.String()
}

// hasWord reports whether a text, or a piece that a placeholder in it stands for, contains an identifier.
func (l *longPieces) hasWord(text, name string) bool {
	seen := map[int]bool{}
	rest := []string{text}
	for len(rest) > 0 {
		t := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if hasWord(t, name) {
			return true
		}
		for {
			_, after, found := strings.Cut(t, markBegin)
			if !found {
				break
			}
			var number string
			number, t, _ = strings.Cut(after, markEnd)
			if n, _ := strconv.Atoi(number); !seen[n] {
				seen[n] = true
				rest = append(rest, l.all[n])
			}
		}
	}
	return false
}
