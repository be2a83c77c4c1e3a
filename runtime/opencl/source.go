//go:build opencl

package opencl

import (
	"bytes"
	"fmt"
	"strings"
)

// marker begins the line that precedes each kernel's part of a generated source.
const marker = "// Function: "

// splitSource splits a source at its markers into one source for each function, which can be compiled alone. Each
// contains the text before the first marker. It returns nil for a source without markers.
func splitSource(source []byte) (map[string]string, error) {
	var starts []int // positions of the lines with a marker
	for at := 0; at < len(source); {
		if bytes.HasPrefix(source[at:], []byte(marker)) {
			starts = append(starts, at)
		}
		n := bytes.IndexByte(source[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	if starts == nil {
		return nil, nil
	}
	prelude := string(source[:starts[0]])
	pieces := make(map[string]string, len(starts))
	for i, at := range starts {
		end := len(source)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		piece := string(source[at:end])
		line, _, _ := strings.Cut(piece, "\n")
		name := strings.TrimSpace(strings.TrimPrefix(line, marker))
		if _, twice := pieces[name]; twice || name == "" {
			return nil, fmt.Errorf("the source of function %q occurs twice, or has no name", name)
		}
		pieces[name] = prelude + piece
	}
	return pieces, nil
}
