package unpack

import (
	"fmt"
	"io"
	"strings"

	"tvmgo/internal/inspect"
)

// WriteText writes the summary as text.
func (s *Summary) WriteText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %d files, %d modules\n", inspect.Shown(s.Dir), len(s.Files), s.Modules)
	for _, f := range s.Files {
		fmt.Fprintf(&text, "  %10d  %s", f.Size, f.Name)
		if f.Module != nil {
			fmt.Fprintf(&text, "  (%s of %s)", f.Role, inspect.Shown(f.Kind))
		}
		text.WriteByte('\n')
	}
	for _, p := range s.Problems {
		fmt.Fprintf(&text, "PROBLEM     %s\n", inspect.Shown(p))
	}
	_, err := io.WriteString(w, text.String())
	return err
}
