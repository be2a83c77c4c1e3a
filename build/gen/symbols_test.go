package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// bindings are the Go packages that link with the generated functions, and the names of the functions that they call.
var bindings = map[string]struct {
	pkg     string
	symbols *regexp.Regexp
}{
	"cuda":   {"gorgonia.org/cu", regexp.MustCompile(`^cu[A-Z]|^tvmgo_cu_`)},
	"opencl": {"github.com/go-gl/cl/v1.2/cl", regexp.MustCompile(`^cl[A-Z]`)},
	"vulkan": {"github.com/vulkan-go/vulkan", regexp.MustCompile(`^vkGet`)},
}

// archive compiles a package with the headers of this module and returns the path of the archive.
func archive(t *testing.T, tag, pkg string) string {
	t.Helper()
	include := must.Get(filepath.Abs(filepath.Join(root, "build/include")))(t)
	c := exec.Command("go", "list", "-export", "-tags", tag, "-f", "{{.Export}}", pkg)
	// the flags of the Makefile, so that its build cache is used
	c.Env = append(os.Environ(), "CGO_CFLAGS=-I"+include+" -O2 -g")
	c.Stderr = os.Stderr
	out := must.Get(c.Output())(t)
	return strings.TrimSpace(string(out))
}

// symbols returns the symbols of a package's archive that match a pattern.
func symbols(t *testing.T, file string, like *regexp.Regexp, flag string) []string {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("ar", "x", file)
	c.Dir = dir
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	objects := must.Get(filepath.Glob(filepath.Join(dir, "*.o")))(t)
	require.NotEmpty(t, objects)
	var list []string
	for _, o := range objects {
		if filepath.Base(o) == "_go_.o" {
			continue // in Go's own format
		}
		out := must.Get(exec.Command("nm", "-P", flag, o).Output())(t)
		for _, line := range strings.Split(string(out), "\n") {
			if name, _, _ := strings.Cut(line, " "); like.MatchString(name) {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// The generated functions are those that the binding or this project needs, and no others.
func TestSymbols_AreThoseOfTheBinding(t *testing.T) {
	for _, name := range specs {
		s := must.Get(readSpec(name))(t)
		t.Run(s.driver, func(t *testing.T) {
			var need, own []string
			for _, f := range s.funcs {
				if f.own {
					own = append(own, f.name)
				} else {
					need = append(need, f.name)
				}
			}
			b := bindings[s.driver]
			for _, f := range s.hidden { // C functions of the binding that its Go code calls
				if b.symbols.MatchString(f.name) {
					need = append(need, f.name)
				}
			}
			refers := symbols(t, archive(t, s.driver, b.pkg), b.symbols, "-u")
			slices.Sort(need)
			require.Equal(t, refers, need, "functions of the description that are not marked as our own")
			for _, f := range s.hidden {
				need = slices.DeleteFunc(need, func(n string) bool { return n == f.name })
			}
			all := slices.Sorted(slices.Values(append(need, own...)))
			defines := symbols(t, archive(t, s.driver, "tvmgo/internal/dl"), b.symbols, "-g")
			require.Equal(t, all, defines)
		})
	}
}
