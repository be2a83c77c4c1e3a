// Package output writes the files that a generator makes, and finds those that are out of date.
package output

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Render makes the text of files, by their paths in the repository at root.
type Render func(root string) (map[string][]byte, error)

// Main writes the files that have changed, and ends the command after an error.
func Main(command, root string, render Render) {
	files, err := stale(root, render)
	for path, text := range files {
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", command, err)
		os.Exit(1)
	}
}

// Stale returns the files that are not as render makes them, sorted.
func Stale(root string, render Render) ([]string, error) {
	files, err := stale(root, render)
	return slices.Sorted(maps.Keys(files)), err
}

// stale has the text of these files by their paths.
func stale(root string, render Render) (map[string][]byte, error) {
	files, err := render(root)
	changed := map[string][]byte{}
	for path, text := range files {
		path = filepath.Join(root, filepath.FromSlash(path))
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, text) {
			changed[path] = text
		}
	}
	return changed, err
}
