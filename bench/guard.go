package bench

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"strings"
)

// guarded calls code of a case, a sensor or the caller, and returns its panic as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v%s", p, origin())
		}
	}()
	return f()
}

// origin returns the line of the panic that is being recovered, " (work.go:12)".
func origin() string {
	pcs := make([]uintptr, 64)
	frames := goruntime.CallersFrames(pcs[:goruntime.Callers(0, pcs)])
	panicking := false
	for {
		f, more := frames.Next()
		if panicking && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		panicking = panicking || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
