package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// The README stays short enough to be read.
func TestReadme_Length(t *testing.T) {
	text := must.Get(os.ReadFile("../README.md"))(t)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 170)
}

// figures maps the rows of the README's comparison to rows of `make bench`.
var figures = map[string]string{
	"Load a kernel library and look up its function": "load",
	"The same with an embedded module of 64 MiB":     "load-blob-peer",
	"Call a C function with 2 integers":              "call",
	"Allocate and free a tensor of 1 KiB":            "tensor",
	"Parallel launch, 2 threads":                     "launch",
	"Start a C process, load, call, exit":            "start",
	"Library, stripped":                              "size",
}

// The README's figures equal those of the newest result of `make bench`, to two digits.
func TestReadme_Figures(t *testing.T) {
	paths := must.Get(filepath.Glob("../bench/results/*-cpu.json"))(t)
	require.NotEmpty(t, paths)
	text, err := os.ReadFile(paths[len(paths)-1]) // file names begin with the date
	require.NoError(t, err)
	var result struct {
		Rows []struct {
			ID         string
			Ours, Base float64
		}
	}
	require.NoError(t, json.Unmarshal(text, &result))
	readme := must.Get(os.ReadFile("../README.md"))(t)
	for title, id := range figures {
		line := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(title) + ` \| ([^|]*) \| ([^|]*) \|`).FindStringSubmatch(
			string(readme))
		require.NotNil(t, line, "the README has no row %q", title)
		found := false
		for _, r := range result.Rows {
			if r.ID == id {
				found = true
				require.True(t, strings.HasPrefix(line[1], figure(id, r.Ours)), "%s: %s, measured %s", title, line[1],
					figure(id, r.Ours))
				require.True(t, strings.HasPrefix(line[2], figure(id, r.Base)), "%s: %s, measured %s", title, line[2],
					figure(id, r.Base))
			}
		}
		require.True(t, found, "%s has no row %q", paths[len(paths)-1], id)
	}
}

// figure formats a result with its unit: two digits below 10, integers above.
func figure(id string, v float64) string {
	unit := "ns"
	switch {
	case id == "size":
		v, unit = v/1e6, "MB"
	case v >= float64(time.Millisecond):
		v, unit = v/1e6, "ms"
	case v >= float64(time.Microsecond):
		v, unit = v/1e3, "µs"
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

var (
	comment      = regexp.MustCompile(`//.*\n`)
	citedFile    = regexp.MustCompile(`[$\w./-]*\w\.md\b`)
	citedSection = regexp.MustCompile(`docs/abi\.md ((?:[A-J](?:\.\d+)?(?:, | and )?)+)`)
	section      = regexp.MustCompile(`[A-J](\.\d+)?`)
	abiHeading   = regexp.MustCompile(`(?m)^##+ ([A-J](\.\d+)?)[. ]`)
)

// Comments refer only to existing documents and sections of the ABI reference.
func TestCitations(t *testing.T) {
	abi := must.Get(os.ReadFile("abi.md"))(t)
	sections := map[string]bool{}
	for _, m := range abiHeading.FindAllStringSubmatch(string(abi), -1) {
		sections[m[1]] = true
	}
	require.Greater(t, len(sections), 40)

	cited := 0
	for _, path := range sources(t) {
		text := must.Get(os.ReadFile(path))(t)
		if strings.HasSuffix(path, "literate_test.go") {
			continue // it has separate documents
		}
		if strings.HasSuffix(path, "_test.go") { // whose strings name files that tests write
			text = bytes.Join(comment.FindAll(text, -1), nil)
		}
		for _, name := range citedFile.FindAllString(string(text), -1) {
			if strings.Contains(name, "//") || strings.HasPrefix(name, "$") {
				continue // a link to another site, or an output of a script
			}
			candidates := []string{filepath.Join("..", name), filepath.Join(filepath.Dir(path), name),
				filepath.Join(filepath.Dir(path), "testdata", name), name}
			require.True(t, anyExists(candidates), "%s cites %s, which is not there", path, name)
		}
		for _, m := range citedSection.FindAllStringSubmatch(string(text), -1) {
			for _, s := range section.FindAllString(m[1], -1) {
				require.True(t, sections[s], "%s cites section %s of docs/abi.md, which it lacks", path, s)
				cited++
			}
		}
	}
	require.Greater(t, cited, 50)
}

// sources lists the source files of the repository, without build outputs.
func sources(t *testing.T) (paths []string) {
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{".git", ".cache", "dist"}, d.Name()) ||
			strings.HasPrefix(d.Name(), "dist-")):
			return filepath.SkipDir
		case slices.Contains([]string{".go", ".c", ".h", ".cc", ".hpp", ".sh", ".mk", ".py"}, filepath.Ext(path)):
			paths = append(paths, path)
		}
		return nil
	}))
	require.NotEmpty(t, paths)
	return paths
}

func anyExists(paths []string) bool {
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return true
		}
	}
	return false
}

// Lines of documents have at most 120 characters, except tables, links and output of programs.
func TestLines(t *testing.T) {
	var long []string
	for _, d := range documents(t) {
		for i, line := range d.Prose {
			if len([]rune(line)) <= 120 || strings.HasPrefix(strings.TrimSpace(line), "|") || strings.Contains(line, "](") {
				continue
			}
			long = append(long, fmt.Sprintf("%s:%d has %d characters", d.Path, i+1, len([]rune(line))))
		}
	}
	require.Empty(t, long)
}
