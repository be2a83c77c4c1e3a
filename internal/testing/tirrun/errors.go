package tirrun

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of mistakes. A [Fault] wraps one of them.
var (
	ErrInvalid       = errors.New("invalid program")           // found by Compile
	ErrArgument      = errors.New("invalid argument")          // of Run, or of a call in the program
	ErrBounds        = errors.New("out of bounds")             // an index or an address
	ErrUninitialized = errors.New("read before it is written") // of memory that the program allocates
	ErrRace          = errors.New("race")                      // between iterations of a parallel loop, or threads
	ErrSync          = errors.New("divergent barrier")         // a barrier that some threads do not reach
	ErrArithmetic    = errors.New("undefined arithmetic")      // division by zero, shifts beyond the width
	ErrLimit         = errors.New("limit exceeded")            // Options.MaxSteps, Options.MaxBytes, or the depth of calls
	ErrCall          = errors.New("call failed")               // a function of Options.Funcs failed, or is missing
	ErrAssert        = errors.New("assertion failed")          // see AssertError
)

// Fault describes a mistake of a program.
type Fault struct {
	Func string // the function that was called
	Sort error  // one of the variables above
	Text string
	Path string // the loops around it, outermost first, with their values: "i=3, j=0"
	Err  error  // the error of a function of Options.Funcs, or an *AssertError; else nil
}

func (e *Fault) Error() string {
	s := "run " + e.Func + ": " + e.Text
	if e.Path != "" {
		s += " (at " + e.Path + ")"
	}
	return s
}

// Unwrap returns Sort and Err.
func (e *Fault) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Sort}
	}
	return []error{e.Sort, e.Err}
}

// AssertError is the error of an Assert whose condition is false.
type AssertError struct{ Kind, Message string }

func (e *AssertError) Error() string { return e.Kind + ": " + e.Message }

// position is a point in the program: the innermost loop around it, linked to the outer ones.
type position struct {
	up   *position
	name string
	slot int
}

// path formats the loops around a point with their values, including those around the calls that led to it.
func (p *position) path(f *frame) string {
	var loops []string
	for ; f != nil; p, f = f.calledAt, f.caller {
		for q := p; q != nil; q = q.up {
			loops = append(loops, fmt.Sprintf("%s=%d", q.name, f.i[q.slot]))
		}
		if f.caller != nil {
			loops = append(loops, f.name+"()")
		}
	}
	for i, j := 0, len(loops)-1; i < j; i, j = i+1, j-1 {
		loops[i], loops[j] = loops[j], loops[i]
	}
	return strings.Join(loops, ", ")
}

// fail aborts the program; Call recovers the panic. Returning errors from closures would make them twice as slow.
func (f *frame) fail(at *position, sort error, format string, args ...any) {
	panic(&Fault{Func: f.name, Sort: sort, Text: fmt.Sprintf(format, args...), Path: at.path(f)})
}

// caught converts a recovered panic to an error.
func caught(r any, name string, err *error) {
	switch r := r.(type) {
	case nil:
	case *Fault:
		*err = r
	default:
		*err = &Fault{Func: name, Sort: ErrInvalid, Text: fmt.Sprintf("the program can't be understood: %v: check it "+
			"with tir.Check", r)}
	}
}
