package file

import (
	"errors"
	"fmt"

	"tvmgo/blob"
)

// FormatError is an error about the content of a file. It matches [blob.ErrCorrupt] in errors.Is.
type FormatError struct {
	Place   string // where, from the outside to the inside: `graph: node 3 "conv1" (Conv): attribute "pads"`
	Offset  int64  // in bytes from the start of the input; -1 if the error is not about single bytes
	Problem string // with a remedy
}

// Error returns the place, the problem and the offset.
func (e *FormatError) Error() string {
	text := "onnx: "
	if n := len(e.Place); n > 800 { // graphs within graphs
		text += e.Place[:400] + " … " + e.Place[n-400:] + ": "
	} else if n > 0 {
		text += e.Place + ": "
	}
	text += e.Problem
	if e.Offset >= 0 {
		text += fmt.Sprintf(" (byte %d)", e.Offset)
	}
	return text
}

// Is reports true for [blob.ErrCorrupt].
func (e *FormatError) Is(target error) bool { return target == blob.ErrCorrupt }

// within puts a place in front of that of a FormatError.
func within(place string, err error) error {
	var e *FormatError
	if errors.As(err, &e) {
		outer := *e
		if place == "" || e.Place == "" {
			outer.Place += place
		} else {
			outer.Place = place + ": " + e.Place
		}
		return &outer
	}
	return err
}

// corruptf is an error about the values of a message.
func corruptf(place, format string, args ...any) error {
	return &FormatError{Place: place, Offset: -1, Problem: fmt.Sprintf(format, args...)}
}

// numbered is the place of an element of a list: `initializer 3 "w"`.
func numbered(what string, i int, name string) string {
	if name == "" {
		return fmt.Sprintf("%s %d", what, i)
	}
	return fmt.Sprintf("%s %d %s", what, i, quoted(name))
}

// quoted quotes a name of a file for a message, and shortens it if it is very long.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		return fmt.Sprintf("%q…", name[:most])
	}
	return fmt.Sprintf("%q", name)
}
