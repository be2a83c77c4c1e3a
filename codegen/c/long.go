package c

import (
	"strconv"
	"strings"
)

// longPiece is how many bytes a piece of code may have before a mark stands for it.
const longPiece = 2000

// Marks begin and end with what no code contains. The space makes them an expression, not a name, to what looks at
// code.
const (
	markBegin = "\x01 "
	markEnd   = "\x02"
)

// longPieces are pieces of code that marks stand for until the file is whole. Without them, an expression is copied
// once for each expression around it.
type longPieces struct {
	all   []string // which contain marks of earlier ones
	known map[string]int
}

// shorten gives a mark for a long piece of code; equal pieces have equal marks.
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

// whole is a text with the pieces in the place of their marks.
func (l *longPieces) whole(text string) string {
	if len(l.all) == 0 {
		return text
	}
	var out strings.Builder
	rest := []string{text} // the next last: pieces may be within each other as deep as expressions are
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
