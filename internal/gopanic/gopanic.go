// Package gopanic converts panics of Go functions that C called into errors.
package gopanic

import (
	"fmt"
	"runtime"
	"strings"
)

// Panic is a panic as an error: the message is one line, and the stack is beside it.
type Panic struct {
	Value any    // what was given to panic
	Stack string // who called whom, the innermost first, as lines that Python's tracebacks have
}

// maxFrames bounds a stack, as the Go runtime bounds those that it prints.
const maxFrames = 100

// New makes an error of what recover returned. It is called by the deferred function that recovered.
func New(value any) *Panic { return &Panic{Value: value, Stack: stack()} }

// Error returns one line.
func (p *Panic) Error() string { return "panic: " + oneLine(fmt.Sprint(p.Value)) }

// Unwrap returns the panic's value when it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// oneLine puts the lines of a text behind each other.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// stack is the stack of the goroutine from the function that panicked on. Frames of the Go runtime say nothing of the
// cause.
func stack() string {
	pcs := make([]uintptr, 8*maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // without Callers, stack and New
	var b strings.Builder
	b.WriteString("goroutine [panicking]:\n")
	for n, begun, more := 0, false, true; more && n < maxFrames; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "_cgoexp_") || f.Function == "" {
			begun = begun || f.Function == "runtime.gopanic"
			continue
		}
		if begun {
			fmt.Fprintf(&b, "  File %q, line %d, in %s\n", f.File, f.Line, f.Function)
			n++
		}
	}
	return b.String()
}
