package nvrtc

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrInvalid is in the tree of errors about what was asked for: the name, an option, the architecture.
	ErrInvalid = errors.New("nvrtc: invalid")
	// ErrCompile is in the tree of errors about the code.
	ErrCompile = errors.New("nvrtc: the code does not compile")
)

// Error says why there is no result.
type Error struct {
	Doing string // "compile add.cu for sm_90 with NVRTC 13.0"
	Why   string
	Log   string // of the compiler, bounded; "" when it wrote none
	Kind  error  // ErrInvalid, ErrCompile, an error of a context; nil when NVRTC itself failed
}

func (e *Error) Error() string {
	text := e.Doing + ": " + e.Why
	if e.Log != "" {
		text += "\n" + e.Log
	}
	return text
}

func (e *Error) Unwrap() error { return e.Kind }

// maxLog bounds what is kept of the compiler's messages.
const maxLog = 16 << 10

// bounded cuts a log at the end of a line.
func bounded(log string) string {
	log = strings.TrimRight(log, "\n\x00")
	if len(log) <= maxLog {
		return log
	}
	cut := log[:maxLog]
	if i := strings.LastIndexByte(cut, '\n'); i > 0 {
		cut = cut[:i]
	}
	return cut + fmt.Sprintf("\n… and %d bytes more", len(log)-len(cut))
}
