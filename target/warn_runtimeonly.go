//go:build runtimeonly

package target

import (
	"fmt"
	"os"
)

// warn writes a line: log/slog would be a part of a library whose size matters.
func warn(text string) { fmt.Fprintln(os.Stderr, "WARN "+text) }
