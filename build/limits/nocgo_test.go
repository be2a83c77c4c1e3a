package limits

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// needsCgo is the package that fails to compile without cgo. What imports it needs C.
const needsCgo = "tvmgo/internal/needscgo"

// systems are those for which everything that needs no C is built: one architecture of each, because a second one takes
// as long and nothing here depends on it. A normal run compiles for the one that differs most, which is Windows; with
// TVMGO_TEST_ALL for all of them.
var systems = []string{"linux/amd64", "windows/amd64", "darwin/arm64"}

// withoutC are packages that need no C and stay so. A name that ends in /... includes the packages below it, without
// those in folders named testing.
var withoutC = []string{"blob/...", "dlpack", "target/...", "tir/...", "te/...", "cmd/tvmgo/...", "graph/...",
	"weights", "trust", "profile", "codegen/abi", "codegen/c", "codegen/explain", "internal/inspect", "internal/version",
	"serve/oip/...", "serve/page", "serve/queue", "bench/stats", "build/env"}

// goCommand runs a go command in the root of the repository for a system, with or without cgo.
func goCommand(t *testing.T, system, cgo string, args ...string) string {
	t.Helper()
	goos, arch, _ := strings.Cut(system, "/")
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED="+cgo, "CGO_CFLAGS=",
		"GOFLAGS=-mod=readonly")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s: go %s\n%s", system, args[0], errs.String())
	return string(out)
}

// listed is a package of this module, as one build sees it.
type listed struct {
	problem string // the error of loading it
	files   bool   // it has files other than tests
	needsC  bool
}

// packagesOf lists the packages of this module for a system without cgo.
func packagesOf(t *testing.T, system string) map[string]listed {
	t.Helper()
	all := map[string]listed{}
	for line := range strings.Lines(goCommand(t, system, "0", "list", "-e", "-f",
		`{{.ImportPath}}|{{if .Error}}{{printf "%q" .Error.Err}}{{end}}|{{len .GoFiles}}|{{join .Deps " "}}`, "./...")) {
		part := strings.SplitN(strings.TrimSpace(line), "|", 4)
		require.Len(t, part, 4, line)
		all[part[0]] = listed{part[1], part[2] != "0",
			part[0] == needsCgo || slices.Contains(strings.Fields(part[3]), needsCgo)}
	}
	require.Greater(t, len(all), 150)
	return all
}

// Without cgo, everything that needs no C builds on each system, with its tests, and the rest fails because of package
// needscgo, whose error says what to do.
func TestWithoutCgo(t *testing.T) {
	usesC := packagesWithC(t)
	for _, system := range systems {
		all := packagesOf(t, system)
		for name := range usesC {
			require.Contains(t, all, name, "%s: without cgo, it has no files: one must import %s", system, needsCgo)
		}
		var free []string
		for name, p := range all {
			switch {
			case p.needsC:
				require.Empty(t, p.problem, "%s %s", system, name)
			case p.files:
				free = append(free, name)
				require.Empty(t, p.problem, "%s %s", system, name)
				require.False(t, usesC[name] && name != "tvmgo/cmd/tvmgo",
					"%s: %s uses C: import %s where it is built without cgo", system, name, needsCgo)
			}
		}
		slices.Sort(free)
		require.Empty(t, lost(all, free), "%s: these packages need C now", system)
		if os.Getenv("TVMGO_TEST_ALL") == "" && system != "windows/amd64" {
			continue
		}
		goCommand(t, system, "0", append([]string{"vet"}, free...)...)
		goCommand(t, system, "0", append([]string{"build", "-o", t.TempDir() + "/"}, free...)...)
	}
}

// packagesWithC are the packages of this module of which a build with cgo has C, or which depend on such ones.
func packagesWithC(t *testing.T) map[string]bool {
	t.Helper()
	has, deps := map[string]bool{}, map[string][]string{}
	for line := range strings.Lines(goCommand(t, "linux/amd64", "1", "list", "-tags", "cuda,opencl", "-f",
		`{{.ImportPath}}|{{len .CgoFiles}}|{{join .Deps " "}}`, "./...")) {
		part := strings.Split(strings.TrimSpace(line), "|")
		has[part[0]], deps[part[0]] = part[1] != "0", strings.Fields(part[2])
	}
	all := map[string]bool{}
	for name := range has {
		all[name] = has[name] || slices.ContainsFunc(deps[name], func(d string) bool { return has[d] })
	}
	require.True(t, all["tvmgo/runtime"])
	return all
}

// lost returns the packages of withoutC that are not in the list.
func lost(all map[string]listed, free []string) (names []string) {
	for name, p := range all {
		short := strings.TrimPrefix(name, "tvmgo/")
		if !p.files || slices.Contains(free, name) {
			continue
		}
		for _, pattern := range withoutC {
			dir, below := strings.CutSuffix(pattern, "/...")
			if short == dir || below && strings.HasPrefix(short, dir+"/") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// importing is a program that imports only packages without C.
const importing = `package main

import (
	"fmt"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

func main() {
	_, err := blob.Parse(nil, blob.Modern, blob.NewKinds())
	fmt.Println(dlpack.Float32, err != nil, target.Kinds()[0] != "", te.Var("n"), tir.Int64)
}
`

// A program that imports only blob, dlpack, target, tir and te has no cgo, also if it is enabled: not even a package of
// the standard library brings it in.
func TestImporting_HasNoCgo(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte(importing), 0o600))
	for _, cgo := range []string{"0", "1"} {
		require.Empty(t, strings.TrimSpace(goCommand(t, "linux/amd64", cgo, "list", "-deps", "-f",
			"{{if .CgoFiles}}{{.ImportPath}} {{end}}", source)))
		deps := strings.Fields(goCommand(t, "linux/amd64", cgo, "list", "-deps", source))
		require.Contains(t, deps, "tvmgo/te")
		require.NotContains(t, deps, "runtime/cgo")
		program := filepath.Join(dir, "program"+cgo)
		goCommand(t, "linux/amd64", cgo, "build", "-o", program, source)
		image := must.Open(elf.Open(program))(t)
		require.Empty(t, must.Get(image.ImportedLibraries())(t))
		require.Nil(t, image.Section(".interp"), "it is static")
	}
}
