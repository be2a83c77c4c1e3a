// Package limits has tests of the sizes of directories, files and lines, of the dependencies between directories, and of
// the doc comments of exported names.
//
// Source files have one of the extensions below. The limits do not apply to generated files (their first lines contain
// "Code generated … DO NOT EDIT"), files of third parties, golden files (*.golden.*), and the output of builds (dist,
// .cache). Tests are files *_test.go and the folders testing, testdata, ctest and devicetest. For tests and for the tables
// of drivers' functions (*.spec), only the length of lines is limited. Lines of Markdown are tested in package docs.
package limits

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

const (
	root = "../.."

	maxFiles     = 48   // source files in a directory, without those of its subdirectories
	maxLines     = 9000 // of these files together
	maxFileLines = 500
	maxColumns   = 120
)

// source is a source file.
type source struct {
	path string // from the root of the repository, with slashes
	test bool   // or a table of a driver's functions
	text string
}

var (
	extensions = []string{".go", ".c", ".h", ".cc", ".hpp", ".cpp", ".cu", ".cl", ".s", ".spvasm", ".py", ".sh", ".awk",
		".mk", ".in", ".map", ".supp", ".spec", "Makefile"}
	// of third parties, or generated from theirs
	others    = []string{"include/tvm/", "include/dlpack/", "build/include/", "testdata/artifacts/"}
	testFile  = regexp.MustCompile(`_test\.go$|\.spec$|(^|/)(testing|testdata|ctest|devicetest)/`)
	generated = regexp.MustCompile(`Code generated .*DO NOT EDIT`)
)

func sources(t *testing.T) (all []source) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", ".cache", "dist"}, d.Name()) || strings.HasPrefix(d.Name(), "dist-") {
				return filepath.SkipDir
			}
			return nil
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), root+"/")
		if !d.Type().IsRegular() || strings.Contains(name, ".golden.") ||
			!slices.ContainsFunc(extensions, func(end string) bool { return strings.HasSuffix(name, end) }) ||
			slices.ContainsFunc(others, func(folder string) bool { return strings.HasPrefix(name, folder) }) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !generated.Match(text[:min(len(text), 400)]) {
			all = append(all, source{name, testFile.MatchString(name), string(text)})
		}
		return nil
	}))
	require.Greater(t, len(all), 1000)
	return all
}

// exceeded returns a sentence for each directory, file and line that exceeds a limit, in alphabetical order.
func exceeded(all []source) (found []string) {
	files, lines := map[string]int{}, map[string]int{}
	for _, s := range all {
		dir := path.Dir(s.path)
		n := strings.Count(s.text, "\n")
		if !s.test {
			files[dir]++
			lines[dir] += n
			if n > maxFileLines {
				found = append(found, fmt.Sprintf("%s has %d lines", s.path, n))
			}
		}
		for i, line := range strings.Split(s.text, "\n") {
			if c := utf8.RuneCountInString(line); c > maxColumns {
				found = append(found, fmt.Sprintf("%s:%d has %d characters", s.path, i+1, c))
			}
		}
	}
	for dir, n := range files {
		if n > maxFiles {
			found = append(found, fmt.Sprintf("%s has %d source files", dir, n))
		}
		if lines[dir] > maxLines {
			found = append(found, fmt.Sprintf("%s has %d lines", dir, lines[dir]))
		}
	}
	slices.Sort(found)
	return found
}

func TestLimits(t *testing.T) {
	require.Empty(t, exceeded(sources(t)), "split these directories and files, wrap these lines")
}

func TestLimits_AreSeen(t *testing.T) {
	line := func(n int) string { return strings.Repeat("é", n) + "\n" }
	all := []source{{"a/x.go", false, line(120)}, {"a/x_test.go", true, line(121)},
		{"b/c/x.c", false, strings.Repeat("\n", 501)},
		{"b/c/x_test.go", true, strings.Repeat("\n", 9000)}}
	for i := range maxFiles + 1 {
		all = append(all, source{fmt.Sprintf("d/%d.go", i), false, ""}, source{fmt.Sprintf("e/%d.go", i%maxFiles), i == maxFiles, ""})
	}
	for i := range 19 {
		all = append(all, source{fmt.Sprintf("f/%d.go", i), false, strings.Repeat("\n", 480)})
	}
	require.Equal(t, []string{"a/x_test.go:1 has 121 characters", "b/c/x.c has 501 lines", "d has 49 source files",
		"f has 9120 lines"}, exceeded(all))
}

var quotedInclude = regexp.MustCompile(`(?m)^\s*#\s*include\s+"([^"]+)"`)

// dependencies lists the directories that each directory depends on, by Go imports and by includes of C.
func dependencies(all []source, imports map[string][]string) map[string][]string {
	exists := map[string]bool{}
	for _, s := range all {
		exists[s.path] = true
	}
	graph := map[string][]string{}
	add := func(from, to string) {
		if from != to && !slices.Contains(graph[from], to) {
			graph[from] = append(graph[from], to)
		}
	}
	for from, list := range imports {
		for _, to := range list {
			add(from, to)
		}
	}
	for _, s := range all {
		if s.test {
			continue
		}
		for _, m := range quotedInclude.FindAllStringSubmatch(s.text, -1) {
			for _, base := range []string{path.Dir(s.path), "", "internal/core", "include"} {
				if file := path.Join(base, m[1]); exists[file] {
					add(path.Dir(s.path), path.Dir(file))
					break
				}
			}
		}
	}
	return graph
}

// cycle returns directories that depend on each other, in order; nil if there are none.
func cycle(graph map[string][]string) []string {
	const visiting, done = 1, 2
	state := map[string]int{}
	var way []string
	var visit func(dir string) []string
	visit = func(dir string) []string {
		switch state[dir] {
		case done:
			return nil
		case visiting:
			return append(slices.Clone(way[slices.Index(way, dir):]), dir)
		}
		state[dir] = visiting
		way = append(way, dir)
		for _, to := range graph[dir] {
			if found := visit(to); found != nil {
				return found
			}
		}
		way = way[:len(way)-1]
		state[dir] = done
		return nil
	}
	for dir := range graph {
		if found := visit(dir); found != nil {
			return found
		}
	}
	return nil
}

// goImports asks go list for the imports of each package within the module.
func goImports(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags", "cuda,opencl", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	cmd.Dir = root
	out := must.Get(cmd.Output())(t)
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		for _, to := range words[1:] {
			if to, own := strings.CutPrefix(to, "tvmgo/"); own {
				from := strings.TrimPrefix(words[0], "tvmgo/")
				imports[from] = append(imports[from], to)
			}
		}
	}
	return imports
}

// Directories depend on each other in one direction only, by Go imports and by includes of C together.
func TestDirectories_HaveNoCycle(t *testing.T) {
	graph := dependencies(sources(t), goImports(t))
	require.Contains(t, graph["runtime/cuda"], "internal/kernels")
	require.Nil(t, cycle(graph))
}

func TestCycle(t *testing.T) {
	all := []source{{"a/x.h", false, "#include \"../b/y.h\"\n#include \"own.h\"\n"}, {"a/own.h", false, ""},
		{"b/y.h", false, ""},
		{"b/y_test.go", true, "#include \"../a/x.h\""}}
	graph := dependencies(all, map[string][]string{"c": {"a"}})
	require.Equal(t, map[string][]string{"a": {"b"}, "c": {"a"}}, graph)
	require.Nil(t, cycle(graph))
	graph = dependencies(all, map[string][]string{"b": {"a"}})
	require.Len(t, cycle(graph), 3)
}
