// Command packages writes the generated parts of docs/architecture.md: a diagram of the imports, a table of forbidden
// imports, and a table with one line for each package. They are made from the output of go list, and stand between
// comments in the document.
//
//	go run ./build/gen/packages
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// document is the file with the map, seen from the top of the repository.
const document = "docs/architecture.md"

// sections are the generated parts of the document, by the name in the comments around them.
var sections = map[string]func(*graph) string{"diagram": diagram, "rules": ruleTable, "table": table}

// rewritten is a document with its generated parts made anew.
func rewritten(text []byte, g *graph) ([]byte, error) {
	for name, render := range sections {
		begin, end := marks(name)
		head, rest, begun := bytes.Cut(text, []byte(begin))
		_, tail, ended := bytes.Cut(rest, []byte(end))
		if !begun || !ended {
			return nil, fmt.Errorf("%s has no line %q, or no line %q after it", document, begin, end)
		}
		text = bytes.Join([][]byte{head, []byte(begin + "\n\n" + render(g) + "\n" + end), tail}, nil)
	}
	return text, nil
}

// marks are the comments around a generated part.
func marks(name string) (begin, end string) {
	return "<!-- packages: " + name + ", written by make docs-diagram -->", "<!-- packages: end of " + name + " -->"
}

// update writes the document of a repository anew.
func update(root string) error {
	g, err := load(root)
	if err != nil {
		return err
	}
	path := filepath.Join(root, filepath.FromSlash(document))
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := rewritten(old, g)
	if err != nil || bytes.Equal(text, old) {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func main() {
	if err := update("."); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}
