package nvrtc

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrInvalid is wrapped by errors about the request: the name, an option, the architecture.
	ErrInvalid = errors.New("nvrtc: invalid")
	// ErrCompile is wrapped by errors about the code.
	ErrCompile = errors.New("nvrtc: the code does not compile")
)

// Error describes a compilation that failed.
type Error struct {
	Doing string // "compile add.cu for sm_90 with NVRTC 13.0"
	Why   string
	Log   string // the compiler's messages, possibly truncated; "" when there are none
	Kind  error  // ErrInvalid, ErrCompile, or the context's error; nil when NVRTC itself failed
}

func (e *Error) Error() string {
	text := e.Doing + ": " + e.Why
	if e.Log != "" {
		text += "\n" + e.Log
	}
	return text
}

func (e *Error) Unwrap() error { return e.Kind }

// maxLog is the maximum size of the messages in an Error or a Result.
const maxLog = 16 << 10

// bounded truncates a log that is longer than maxLog, at the end of a line.
func bounded(log string) string {
	log = strings.TrimRight(log, "\n\x00")
	if len(log) <= maxLog {
		return log
	}
	cut := log[:maxLog]
	if i := strings.LastIndexByte(cut, '\n'); i > 0 {
		cut = cut[:i]
	}
	return cut + fmt.Sprintf("\n… and %d more bytes", len(log)-len(cut))
}
