package target

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of errors, for errors.Is.
var (
	ErrSyntax    = errors.New("malformed target")   // not JSON, not a command line, invalid text
	ErrUnknown   = errors.New("unknown name")       // a kind, tag or option that does not exist
	ErrType      = errors.New("wrong type")         // a value of another type than the option's
	ErrRange     = errors.New("value out of range") // of the right type, but not allowed
	ErrDuplicate = errors.New("defined twice")      // a key, a kind, a tag, an alias
	// more levels than MaxDepth, a map that contains itself, or too large
	ErrTooDeep = errors.New("nested too deeply")
	ErrScope   = errors.New("not part of a target")   // it does not change the generated module
	ErrDevice  = errors.New("device cannot be asked") // from_device names a device that does not exist
	ErrNotSet  = errors.New("option is not set")      // Get: a known option without a value
	// package target/partition: for example no member takes an operation
	ErrPartition = errors.New("graph cannot be partitioned")
	ErrRegister  = errors.New("registration is not possible") // an invalid or inconsistent kind, attribute or tag
)

// Error is an error about a target, with the position of the faulty value. errors.Is matches the variable in Err.
type Error struct {
	Path     string // JSON path of the value, "$.host.mcpu"; "" when there is none
	Err      error  // one of the Err variables above, joined with the error of a parser or a strategy if that is the cause
	Expected string // the expected type or range; "" if Message contains it
	Found    string // the actual value
	Nearest  string // the most similar known name; "" if none is similar
	Message  string // the other text of the message
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

// under adds a prefix to the path of an error about a part of the value at the prefix.
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
