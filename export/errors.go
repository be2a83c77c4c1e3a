package export

import (
	"fmt"
	"strings"

	"tvmgo/runtime"
)

// CompileError is the failure of a compiler or of another tool that Library ran.
type CompileError struct {
	Command []string // as it was run
	Output  string   // its output
	Dir     string   // the folder with the sources, if the option KeepFiles names one
	Err     error    // how it ended
}

// Error returns the command, how it ended, what it printed, and where its input is.
func (e *CompileError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v", quoted(e.Command), e.Err)
	if text := strings.TrimSpace(e.Output); text != "" {
		fmt.Fprintf(&b, "\n%s", text)
	}
	if e.Dir != "" {
		fmt.Fprintf(&b, "\nwhat it was given is kept in %s", e.Dir)
	} else {
		b.WriteString("\nwhat it was given is gone: the option KeepFiles (--keep of tvmgo build and tvmgo pack) names a " +
			"folder for it")
	}
	return b.String()
}

// Unwrap returns how the command ended.
func (e *CompileError) Unwrap() error { return e.Err }

// quoted is a command as it can be pasted into a shell.
func quoted(command []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]()<>|&;#~!{}") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func invalid(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrInvalidArgument, format, args...)
}
