package pack

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SignatureError is an error in the text of a signature, with its position.
type SignatureError struct {
	Text    string
	Column  int // of the first wrong character, from 1, in characters
	Message string
}

// Error returns the message, and the text with a mark below the wrong character.
func (e *SignatureError) Error() string {
	line := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' ' // keeps the mark below in the right column
		}
		return r
	}, e.Text)
	return fmt.Sprintf("signature, column %d: %s\n  %s\n  %s^", e.Column, e.Message, line, strings.Repeat(" ", e.Column-1))
}

type tokenKind int

const (
	endToken tokenKind = iota
	wordToken
	numberToken
	signToken
)

// token is a piece of a signature. A word may have dots inside: "blockIdx.x".
type token struct {
	kind tokenKind
	text string
	at   int // byte offset
}

func (t token) String() string {
	if t.kind == endToken {
		return "the end"
	}
	return fmt.Sprintf("%q", t.text)
}

// lexer divides a signature into tokens, with one token of look-ahead.
type lexer struct {
	text string
	next token
}

func newLexer(text string) (*lexer, error) {
	l := &lexer{text: text}
	return l, l.advance(0)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// advance reads the token at or after an offset as the next one.
func (l *lexer) advance(at int) error {
	for at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[at]) >= 0 {
		at++
	}
	l.next = token{at: at}
	if at == len(l.text) {
		return nil
	}
	end := at + 1
	switch c := l.text[at]; {
	case isLetter(c):
		l.next.kind = wordToken
		for end < len(l.text) && (isLetter(l.text[end]) || isDigit(l.text[end]) ||
			l.text[end] == '.' && end+1 < len(l.text) && isLetter(l.text[end+1])) {
			end++
		}
	case isDigit(c):
		l.next.kind = numberToken
		for end < len(l.text) && (isDigit(l.text[end]) || isLetter(l.text[end])) {
			end++
		}
	case strings.IndexByte("()[],:=+-*/%", c) >= 0:
		l.next.kind = signToken
	default:
		r, _ := utf8.DecodeRuneInString(l.text[at:])
		return l.failAt(at, "%q has no meaning here", r)
	}
	l.next.text = l.text[at:end]
	return nil
}

// take returns the next token and reads the one after it.
func (l *lexer) take() (token, error) {
	t := l.next
	return t, l.advance(t.at + len(t.text))
}

// is reports whether the next token is a word or a sign with this text.
func (l *lexer) is(text string) bool { return l.next.text == text && l.next.kind != endToken }

// accept consumes the next token if it has this text.
func (l *lexer) accept(text string) (bool, error) {
	if !l.is(text) {
		return false, nil
	}
	_, err := l.take()
	return true, err
}

// expect consumes a required sign.
func (l *lexer) expect(sign, why string) error {
	if !l.is(sign) {
		return l.fail("expected %q %s, got %v", sign, why, l.next)
	}
	_, err := l.take()
	return err
}

func (l *lexer) fail(format string, args ...any) error { return l.failAt(l.next.at, format, args...) }

func (l *lexer) failAt(at int, format string, args ...any) error {
	return &SignatureError{Text: l.text, Column: utf8.RuneCountInString(l.text[:at]) + 1,
		Message: fmt.Sprintf(format, args...)}
}
