// Package gopanic converts panics of Go functions that C called into errors.
package gopanic

import (
	"fmt"
	"runtime"
	"strings"
)

// Panic is a panic as an error with a message of one line and a stack.
type Panic struct {
	Value any    // the argument of panic
	Stack string // the calls, innermost first, formatted as in Python's tracebacks
}

// maxFrames limits a stack, as the Go runtime does.
const maxFrames = 100

// New makes an error from the result of recover. Call it in the deferred function that recovers.
func New(value any) *Panic { return &Panic{Value: value, Stack: stack()} }

// Error returns one line.
func (p *Panic) Error() string { return "panic: " + oneLine(fmt.Sprint(p.Value)) }

// Unwrap returns the panic's value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// oneLine joins the lines of a text.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// stack formats the goroutine's stack up to the function that panicked, without frames of the Go runtime.
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
