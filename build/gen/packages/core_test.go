package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// corePackage describes a package of the C core by its C files.
type corePackage struct {
	Header  string          // its contract: NAME/NAME.h; "" if there is none
	Imports map[string]bool // packages of the core whose headers it includes
	Files   map[string]int  // lines of each .c, .h and .go file that is not a test
}

var (
	coreInclude = regexp.MustCompile(`(?m)^\s*#\s*include\s+"([^"]+)"`)
	coreImport  = regexp.MustCompile(`"tvmgo/internal/core/([^"]+)"`)
)

// corePackages reads the folders below internal/core that have C files. Folders named ctest have tests.
func corePackages(core fs.FS) (map[string]*corePackage, error) {
	all := map[string]*corePackage{}
	err := fs.WalkDir(core, ".", func(file string, d fs.DirEntry, err error) error {
		dir := path.Dir(file)
		if err != nil || d.IsDir() || dir == "." || path.Base(dir) == "ctest" {
			return err
		}
		if ext := path.Ext(file); ext != ".c" && ext != ".h" {
			return nil
		}
		text, err := fs.ReadFile(core, file)
		if err != nil {
			return err
		}
		p := all[dir]
		if p == nil {
			p = &corePackage{Imports: map[string]bool{}, Files: map[string]int{}}
			all[dir] = p
		}
		p.Files[path.Base(file)] = strings.Count(string(text), "\n")
		if path.Base(file) == path.Base(dir)+".h" {
			p.Header = string(text)
		}
		for _, m := range coreInclude.FindAllStringSubmatch(string(text), -1) {
			if to := path.Dir(m[1]); to != dir {
				p.Imports[to] = true
			}
		}
		return nil
	})
	return all, err
}

// coreMistakes returns the mistakes of the packages: a missing contract, an include of a folder that is not a package,
// a cycle.
func coreMistakes(all map[string]*corePackage) []string {
	var found []string
	const begun, done = 1, 2
	state := map[string]int{}
	var visit func(dir string, way []string)
	visit = func(dir string, way []string) {
		if state[dir] == begun {
			found = append(found, "cycle: "+strings.Join(append(way[slices.Index(way, dir):], dir), " -> "))
		}
		if state[dir] != 0 {
			return
		}
		state[dir] = begun
		for _, to := range slices.Sorted(maps.Keys(all[dir].Imports)) {
			if all[to] == nil {
				found = append(found, fmt.Sprintf("%s includes a header of %s, which is no package of the core", dir, to))
				continue
			}
			visit(to, append(slices.Clone(way), dir))
		}
		state[dir] = done
	}
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		visit(dir, nil)
		if want := "/* Package " + path.Base(dir) + ": "; !strings.HasPrefix(all[dir].Header, want) {
			found = append(found,
				fmt.Sprintf("%s has no %s.h that begins with %q and states its contract", dir, path.Base(dir), want))
		}
	}
	slices.Sort(found)
	return found
}

func TestCore_PackagesDependInOneDirection(t *testing.T) {
	dir := filepath.Join(root, "internal", "core")
	all := must.Get(corePackages(os.DirFS(dir)))(t)
	require.Greater(t, len(all), 8, "packages were not found")
	require.Empty(t, coreMistakes(all))
	imported := "" // by package core, with and without the tag noreflect
	for _, file := range []string{"core.go", "reflection.go", "noreflection.go"} {
		text := must.Get(os.ReadFile(filepath.Join(dir, file)))(t)
		imported += string(text)
	}
	for name, p := range all {
		// The Go file imports the packages whose headers the C files include, so that a program links them.
		files := must.Get(filepath.Glob(filepath.Join(dir, name, "*.go")))(t)
		goImports := map[string]bool{}
		for _, file := range files {
			text := must.Get(os.ReadFile(file))(t)
			p.Files[filepath.Base(file)] = strings.Count(string(text), "\n")
			for _, m := range coreImport.FindAllStringSubmatch(string(text), -1) {
				goImports[m[1]] = true
			}
		}
		require.Equal(t, p.Imports, goImports,
			"package %s: its Go file must import the packages whose headers its C files include", name)
		if name != "reflect/names" { // for reflect and its replacement
			require.Contains(t, imported, `"tvmgo/internal/core/`+name+`"`, "package core must import all of the core")
		}
	}
}

// A package of the core can be read in a day, a file in one sitting.
func TestCore_PackagesAreSmall(t *testing.T) {
	all := must.Get(corePackages(os.DirFS(filepath.Join(root, "internal", "core"))))(t)
	for name, p := range all {
		sum := 0
		for file, lines := range p.Files {
			sum += lines
			require.LessOrEqual(t, lines, 500, "%s/%s", name, file)
		}
		require.LessOrEqual(t, len(p.Files), 44, "files of %s, beside its Go file", name)
		require.LessOrEqual(t, sum, 8000, "lines of %s", name)
	}
}

func TestCoreMistakes(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	all := must.Get(corePackages(fstest.MapFS{
		"core.h":            file("#include \"high/high.h\"\n"),
		"low/low.h":         file("/* Package low: everything. */\n#include <stdint.h>\n"),
		"low/hidden.c":      file("#include \"low/low.h\"\n  #  include \"high/high.h\"\n"),
		"low/ctest/a.c":     file("#include \"top/top.h\"\n"),
		"high/high.h":       file("/* Package high: the rest. */\n#include \"low/low.h\"\n"),
		"high/ctest/test.h": file("#include \"elsewhere/a.h\"\n"),
		"top/top.c":         file("#include \"high/high.h\"\n#include \"local.h\"\n"),
	}))(t)
	require.Equal(t, []string{
		"cycle: high -> low -> high",
		"top has no top.h that begins with \"/* Package top: \" and states its contract",
		"top includes a header of ., which is no package of the core",
	}, coreMistakes(all))
}
