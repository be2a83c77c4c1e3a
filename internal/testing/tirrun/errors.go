package tirrun

import (
	"errors"
	"fmt"
	"strings"
)

// What programs do wrong. [Fault] wraps one of them.
var (
	ErrInvalid       = errors.New("invalid program")           // it can't be run: found before it is
	ErrArgument      = errors.New("invalid argument")          // of Run, or of a call in the program
	ErrBounds        = errors.New("out of bounds")             // an index, or an address
	ErrUninitialized = errors.New("read before it is written") // of memory that the program allocates
	ErrRace          = errors.New("race")                      // between turns of a parallel loop, or threads
	ErrSync          = errors.New("divergent barrier")         // a barrier that some threads do not reach
	ErrArithmetic    = errors.New("undefined arithmetic")      // division by zero, shifts beyond the width
	ErrLimit         = errors.New("limit exceeded")            // Options.MaxSteps, Options.MaxBytes, depth of calls
	ErrCall          = errors.New("call failed")               // of a function that Options.Funcs has, or has not
	ErrAssert        = errors.New("assertion failed")          // see AssertError
)

// Fault says what went wrong where.
type Fault struct {
	Func string // the function of the module that was run
	Sort error  // one of the variables above
	Text string
	Path string // the loops around, outermost first, with their values: "i=3, j=0"
	Err  error  // what a function of Options.Funcs answered, or an *AssertError; nil: nothing more
}

func (e *Fault) Error() string {
	s := "run " + e.Func + ": " + e.Text
	if e.Path != "" {
		s += " (at " + e.Path + ")"
	}
	return s
}

// Unwrap gives the sort, and the error below.
func (e *Fault) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Sort}
	}
	return []error{e.Sort, e.Err}
}

// AssertError is an Assert that did not hold.
type AssertError struct{ Kind, Message string }

func (e *AssertError) Error() string { return e.Kind + ": " + e.Message }

// place is where a piece of the program stands: the loop around it, and the ones around that.
type place struct {
	up   *place
	name string
	slot int
}

// path is the loops around with their values, also those around the calls that lead here.
func (p *place) path(f *frame) string {
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

// fail leaves the program: Call recovers it. A closure that hands errors up would be twice as slow.
func (f *frame) fail(at *place, sort error, format string, args ...any) {
	panic(&Fault{Func: f.name, Sort: sort, Text: fmt.Sprintf(format, args...), Path: at.path(f)})
}

// caught turns what was panicked into an error.
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
