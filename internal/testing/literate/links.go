package literate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CheckLinks returns a line for each broken link of the documents: to a missing file, or to a missing heading. Links to
// other sites are not checked.
func CheckLinks(docs []*Document) (broken []string) {
	byPath := map[string]*Document{}
	for _, d := range docs {
		byPath[absolute(d.Path)] = d
	}
	for _, d := range docs {
		for _, l := range d.Links {
			if strings.Contains(l.Target, "://") || strings.HasPrefix(l.Target, "mailto:") {
				continue
			}
			path, anchor, _ := strings.Cut(l.Target, "#")
			to := filepath.Clean(d.Path)
			if path != "" {
				to = filepath.Join(filepath.Dir(d.Path), path)
			}
			if _, err := os.Stat(to); err != nil {
				broken = append(broken, fmt.Sprintf("%s:%d: there is no %s", d.Path, l.Line, to))
				continue
			}
			if anchor == "" {
				continue
			}
			other := byPath[absolute(to)]
			if other == nil {
				broken = append(broken, fmt.Sprintf("%s:%d: %s is not one of the checked documents", d.Path, l.Line, to))
			} else if !other.Anchors[anchor] {
				broken = append(broken, fmt.Sprintf("%s:%d: %s has no heading #%s", d.Path, l.Line, to, anchor))
			}
		}
	}
	return broken
}

// absolute normalizes the path of a document.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return abs
}
