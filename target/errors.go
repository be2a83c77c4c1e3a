package target

import (
	"errors"
	"fmt"
	"strings"
)

// What is wrong with a target, for errors.Is.
var (
	ErrSyntax    = errors.New("malformed target")   // not JSON, not a command line, invalid text
	ErrUnknown   = errors.New("unknown name")       // a kind, tag or option that is not there
	ErrType      = errors.New("wrong type")         // a value of another type than the option's
	ErrRange     = errors.New("value out of range") // of the right type, and yet not allowed
	ErrDuplicate = errors.New("defined twice")      // a key, a kind, a tag, an alias
	// more levels than MaxDepth, a map that holds itself, or too large
	ErrTooDeep = errors.New("nested too deeply")
	ErrScope   = errors.New("not part of a target")   // it does not change the generated module
	ErrDevice  = errors.New("device cannot be asked") // from_device names one that is not there
	ErrNotSet  = errors.New("option is not set")      // Get: known, and without a value
	// package target/partition: for example no member takes an operation
	ErrPartition = errors.New("graph cannot be partitioned")
	ErrRegister  = errors.New("registration is not possible") // a kind, an attribute or a tag that contradicts itself
)

// Error is an error in a target, with its position. errors.Is finds the Err variable.
type Error struct {
	Path     string // JSON path of the value, "$.host.mcpu"; "" when there is none
	Err      error  // one of the Err variables above; with the own error of a parser or a strategy, if it was that
	Expected string // what would be right: a type, a range; "" when Message says it
	Found    string // what stands there
	Nearest  string // the most similar name that is known; "" if none is
	Message  string // the rest
}

// Error returns the path of the value and what is wrong with it.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("target")
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else {
		b.WriteString(": " + e.Err.Error())
	}
	switch {
	case e.Expected != "" && e.Found != "":
		fmt.Fprintf(&b, ": expected %s, found %s", e.Expected, e.Found)
	case e.Expected != "":
		fmt.Fprintf(&b, ": expected %s", e.Expected)
	case e.Found != "":
		fmt.Fprintf(&b, ": found %s", e.Found)
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Nearest)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// under puts a prefix before the path of an error, which names a part of what is at the prefix.
func under(path string, err error) error {
	var e *Error
	if path == "" || !errors.As(err, &e) {
		return err
	}
	moved := *e
	moved.Path = path + strings.TrimPrefix(e.Path, "$")
	return &moved
}

func wrong(path string, sort error, format string, args ...any) *Error {
	return &Error{Path: path, Err: sort, Message: fmt.Sprintf(format, args...)}
}
