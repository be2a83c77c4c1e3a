// Command packages writes the generated parts of docs/architecture.md: a diagram of the imports, a table of forbidden
// imports, and a table with one line for each package. It makes them from the output of go list, and replaces the
// text between comments in the document.
//
//	go run ./build/gen/packages
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"tvmgo/build/gen/internal/output"
)

// document is the path of the document from the root of the repository.
const document = "docs/architecture.md"

// sections are the generated parts of the document, by the name in the comments around them.
var sections = map[string]func(*graph) string{"diagram": diagram, "rules": ruleTable, "table": table}

// rewritten returns a document with new generated parts.
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

// rendered returns the text of the document.
func rendered(root string) (map[string][]byte, error) {
	g, err := load(root)
	if err != nil {
		return nil, err
	}
	old, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(document)))
	if err != nil {
		return nil, err
	}
	text, err := rewritten(old, g)
	return map[string][]byte{document: text}, err
}

func main() { output.Main("packages", ".", rendered) }
