// Package limits has tests of the sizes of directories, files and lines, and of the dependencies between directories.
//
// Source files have one of the extensions below. Generated files (their first lines say "Code generated … DO NOT
// EDIT"), headers of third parties, data of tests (folders testdata) and what a build leaves (dist, .cache) do not
// count. Tests are files *_test.go and folders testing, ctest and devicetest; for them only the length of lines is
// limited. Lines of Markdown are tested in package docs.
//
// Directories and files that exceed a limit are listed in exceptions.txt. The list can only become shorter: an entry
// that is no longer needed fails the test. `go test ./build/limits -update` removes such entries; nothing adds one.
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

	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
)

const (
	root       = "../.."
	exceptions = "exceptions.txt"

	maxFiles     = 45   // source files in a directory, without those of its subdirectories
	maxLines     = 8000 // of these files together
	maxFileLines = 500
	maxColumns   = 120
)

// source is a source file.
type source struct {
	path string // from the root of the repository, with slashes
	test bool
	text string
}

var (
	extensions = []string{".go", ".c", ".h", ".cc", ".hpp", ".cpp", ".cu", ".cl", ".py", ".sh", ".mk", ".awk"}
	// of third parties, or generated from theirs
	others     = []string{"include/tvm/", "include/dlpack/", "build/include/"}
	testFolder = regexp.MustCompile(`(^|/)(testing|ctest|devicetest)/`)
	generated  = regexp.MustCompile(`Code generated .*DO NOT EDIT`)
)

func sources(t *testing.T) (all []source) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", ".cache", "dist", "testdata"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), root+"/")
		if !d.Type().IsRegular() || !slices.Contains(extensions, path.Ext(name)) ||
			slices.ContainsFunc(others, func(folder string) bool { return strings.HasPrefix(name, folder) }) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !generated.Match(text[:min(len(text), 400)]) {
			all = append(all, source{name, strings.HasSuffix(name, "_test.go") || testFolder.MatchString(name), string(text)})
		}
		return nil
	}))
	require.Greater(t, len(all), 1000)
	return all
}

// exceeded lists what exceeds a limit, in the form of exceptions.txt, with the reason: the limit ("columns" are the
// characters of a line), and the directory or the file.
func exceeded(all []source) map[string]string {
	files, lines := map[string]int{}, map[string]int{}
	found := map[string]string{}
	for _, s := range all {
		dir := path.Dir(s.path)
		n := strings.Count(s.text, "\n")
		if !s.test {
			files[dir]++
			lines[dir] += n
			if n > maxFileLines {
				found["file "+s.path] = fmt.Sprintf("has %d lines", n)
			}
		}
		for i, line := range strings.Split(s.text, "\n") {
			if c := utf8.RuneCountInString(line); c > maxColumns {
				found["columns "+dir] = fmt.Sprintf("%s:%d has %d characters", s.path, i+1, c)
				break
			}
		}
	}
	for dir, n := range files {
		if n > maxFiles {
			found["files "+dir] = fmt.Sprintf("has %d source files", n)
		}
		if lines[dir] > maxLines {
			found["lines "+dir] = fmt.Sprintf("has %d lines", lines[dir])
		}
	}
	return found
}

// unexpected compares what exceeds the limits with the exceptions: problems are not listed, unneeded entries have no
// problem. An entry about columns includes the directories below.
func unexpected(found map[string]string, list []string) (problems, unneeded []string) {
	needed := map[string]bool{}
	for what, why := range found {
		i := slices.IndexFunc(list, func(entry string) bool {
			return what == entry || strings.HasPrefix(entry, "columns ") && strings.HasPrefix(what, entry+"/")
		})
		if i < 0 {
			problems = append(problems, what+": "+why)
		} else {
			needed[list[i]] = true
		}
	}
	for _, entry := range list {
		if !needed[entry] {
			unneeded = append(unneeded, entry)
		}
	}
	slices.Sort(problems)
	return problems, unneeded
}

func TestLimits(t *testing.T) {
	text := must.Get(os.ReadFile(exceptions))(t)
	list := strings.Split(strings.TrimSpace(string(text)), "\n")
	problems, unneeded := unexpected(exceeded(sources(t)), list)
	require.Empty(t, problems, "split these directories and files, wrap these lines")
	if golden.Updating() {
		list = slices.DeleteFunc(list, func(entry string) bool { return slices.Contains(unneeded, entry) })
		require.NoError(t, os.WriteFile(exceptions, []byte(strings.Join(list, "\n")+"\n"), 0o644))
		return
	}
	require.Empty(t, unneeded, "nothing exceeds these limits any more: remove them with go test ./build/limits -update")
}

func TestLimits_AreSeen(t *testing.T) {
	line := func(n int) string { return strings.Repeat("é", n) + "\n" }
	all := []source{{"a/x.go", false, line(120)}, {"a/x_test.go", true, line(121)},
		{"b/c/x.c", false, strings.Repeat("\n", 501)},
		{"b/c/x_test.go", true, strings.Repeat("\n", 9000)}}
	for i := range 46 {
		all = append(all, source{fmt.Sprintf("d/%d.go", i), false, ""}, source{fmt.Sprintf("e/%d.go", i%45), i == 45, ""})
	}
	for i := range 17 {
		all = append(all, source{fmt.Sprintf("f/%d.go", i), false, strings.Repeat("\n", 480)})
	}
	found := exceeded(all)
	require.Equal(t, map[string]string{"columns a": "a/x_test.go:1 has 121 characters", "file b/c/x.c": "has 501 lines",
		"files d": "has 46 source files", "lines f": "has 8160 lines"}, found)
	found["columns h/i"] = "too long"
	problems, unneeded := unexpected(found, []string{"columns a", "columns h", "files d", "lines f", "lines g"})
	require.Equal(t, []string{"file b/c/x.c: has 501 lines"}, problems)
	require.Equal(t, []string{"lines g"}, unneeded)
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
