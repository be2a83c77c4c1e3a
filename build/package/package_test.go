// Package package_test has tests of what `make release` makes: the tarball, the Debian packages, the bill of materials
// and the checksums. `make test-release` runs them. The environment variable TVMGO_RELEASE names the folder, and
// TVMGO_RELEASE_GOARCH the architecture, if it is not this machine's: its programs then run under qemu-user.
package package_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/version"
)

const root = "../.."

// arch is the architecture of what is shipped.
var arch = cmp.Or(os.Getenv("TVMGO_RELEASE_GOARCH"), goruntime.GOARCH)

// runOnArch is run for a program of what is shipped, or for a compiler for it.
func runOnArch(t *testing.T, dir string, env []string, command ...string) string {
	t.Helper()
	if arch != goruntime.GOARCH {
		require.Equal(t, "arm64", arch, "build/scripts/arm64.sh runs programs for arm64 alone")
		command = append([]string{must.Get(filepath.Abs(filepath.Join(root, "build", "scripts", "arm64.sh")))(t)}, command...)
	}
	return run(t, dir, env, command[0], command[1:]...)
}

// addOf compiles the kernel of the examples into a library.
func addOf(t *testing.T) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "add.so")
	runOnArch(t, root, nil, "cc", "-O3", "-shared", "-fPIC", "-Iinclude", "examples/kernel/add.c", "-o", library)
	return library
}

// glibc is the oldest glibc that what is shipped runs with.
var glibc = [2]int{2, 28}

// run runs a command, which must succeed, and returns its standard output.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, failed.Stderr)
	}
	require.NoError(t, err)
	return string(out)
}

// release returns the folder of what is shipped.
func release(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TVMGO_RELEASE")
	if dir == "" {
		t.Skip("make test-release makes what is shipped, and runs this test")
	}
	return must.Get(filepath.Abs(dir))(t)
}

func name() string { return "tvmgo-" + version.Number() + "-linux-" + arch }

// unpacked returns the folder of the unpacked tarball.
func unpacked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run(t, "", nil, "tar", "-xzf", filepath.Join(release(t), name()+".tar.gz"), "-C", dir)
	return filepath.Join(dir, name())
}

// binaries are the ELF files of a release, below its folder.
func binaries() []string {
	v := version.Number()
	return []string{"bin/tvmgo", "lib/libtvmgo.so." + v, "lib/libtvmgo_runtime.so." + v}
}

// What is shipped needs no symbol of a glibc newer than 2.28 and no library beside glibc, has no debug information, and
// does not name the folder that it was built in.
func TestBinaries(t *testing.T) {
	dir := unpacked(t)
	folder := must.Get(filepath.Abs(root))(t)
	for _, file := range binaries() {
		f := must.Get(elf.Open(filepath.Join(dir, file)))(t)
		defer f.Close()
		newest := [2]int{}
		for _, needed := range must.Get(f.DynamicVersionNeeds())(t) {
			for _, dep := range needed.Needs {
				n := regexp.MustCompile(`^GLIBC_(\d+)\.(\d+)(\.\d+)?$`).FindStringSubmatch(dep.Dep)
				require.NotNil(t, n, "%s needs %s of %s", file, dep.Dep, needed.Name)
				v := [2]int{must.Get(strconv.Atoi(n[1]))(t), must.Get(strconv.Atoi(n[2]))(t)}
				assert.LessOrEqual(t, slices.Compare(v[:], glibc[:]), 0, "%s needs %s of %s", file, dep.Dep, needed.Name)
				if slices.Compare(newest[:], v[:]) < 0 {
					newest = v
				}
			}
		}
		assert.Greater(t, slices.Compare(newest[:], []int{2, 1}), 0, "no versions were found")
		for _, library := range must.Get(f.ImportedLibraries())(t) {
			assert.Regexp(t, `^(lib(c|m|dl|pthread|resolv|rt)\.so\.\d|ld-linux.*\.so\.\d)$`, library, file)
		}
		// Tags of packed relocations, which glibc reads from 2.36 on.
		assert.Empty(t, must.Get(f.DynValue(elf.DynTag(36)))(t), "%s has DT_RELR", file)
		for _, s := range f.Sections {
			assert.False(t, strings.HasPrefix(s.Name, ".debug") || s.Name == ".symtab", "%s has %s", file, s.Name)
		}
		text := must.Get(os.ReadFile(filepath.Join(dir, file)))(t)
		assert.False(t, bytes.Contains(text, []byte(folder+"/")), "%s names %s", file, folder)
	}
}

// The tarball has one folder, whose files are root's and have the time of the commit.
func TestTarball(t *testing.T) {
	f := must.Get(os.Open(filepath.Join(release(t), name()+".tar.gz")))(t)
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	require.True(t, z.ModTime.IsZero())
	require.Empty(t, z.Name)
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(h.Name, name()+"/"), h.Name)
		require.Zero(t, h.Uid+h.Gid, h.Name)
		if h.Typeflag != tar.TypeSymlink {
			require.Zero(t, h.Mode&0o022, h.Name)
		}
		names = append(names, strings.TrimPrefix(h.Name, name()+"/"))
	}
	require.True(t, slices.IsSorted(names))
	for _, want := range append(binaries(), "lib/libtvmgo.so.0", "lib/libtvmgo.so", "lib/libtvmgo.a",
		"lib/libtvmgo_runtime.a", "lib/pkgconfig/tvmgo.pc", "lib/cmake/tvmgo/tvmgoConfig.cmake",
		"include/tvm/runtime/c_runtime_api.h", "include/tvmgo/tvmgo.hpp", "share/man/man1/tvmgo.1",
		"share/doc/tvmgo/LICENSE", "share/doc/tvmgo/NOTICE", "share/doc/tvmgo/tvmgo.spdx.json",
		"share/doc/tvmgo/licences/std/LICENSE", "share/doc/tvmgo/licences/github.com/spf13/cobra/LICENSE.txt") {
		require.Contains(t, names, want)
	}
}

// The tarball works wherever it is unpacked.
func TestTarball_AnyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "elsewhere", "moved")
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Rename(unpacked(t), dir))
	program := filepath.Join(t.TempDir(), "deploy_c")
	runOnArch(t, root, []string{"PKG_CONFIG_PATH=" + filepath.Join(dir, "lib", "pkgconfig")}, "sh", "-c",
		`eval "cc examples/deploy_c/main.c -o $0 $(pkg-config --cflags --libs tvmgo) -lm"`, program)
	out := runOnArch(t, "", []string{"LD_LIBRARY_PATH=" + filepath.Join(dir, "lib")}, program, addOf(t), "add", "1000")
	require.Contains(t, out, "added 1000 elements, and all are right")
	require.Contains(t, runOnArch(t, "", nil, filepath.Join(dir, "bin", "tvmgo"), "version"), "tvmgo "+version.Number())
}

// The checksums are of all files of a release.
func TestChecksums(t *testing.T) {
	dir := release(t)
	listed := map[string]string{}
	scanner := bufio.NewScanner(strings.NewReader(string(must.Get(os.ReadFile(filepath.Join(dir, "SHA256SUMS")))(t))))
	for scanner.Scan() {
		sum, file, ok := strings.Cut(scanner.Text(), "  ")
		require.True(t, ok, scanner.Text())
		listed[file] = sum
	}
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		if e.Name() == "SHA256SUMS" || e.IsDir() {
			continue
		}
		sum := sha256.Sum256(must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t))
		require.Equal(t, hex.EncodeToString(sum[:]), listed[e.Name()], e.Name())
		delete(listed, e.Name())
	}
	require.Empty(t, listed)
}

// The bill of materials has every module that Go records in the binaries, with a licence.
func TestBill(t *testing.T) {
	dir := unpacked(t)
	var bill struct {
		SPDXVersion string
		Packages    []struct{ Name, VersionInfo, LicenseDeclared string }
	}
	file := filepath.Join(release(t), name()+".spdx.json")
	text := must.Get(os.ReadFile(file))(t)
	require.Equal(t, string(text), string(must.Get(os.ReadFile(filepath.Join(dir, "share/doc/tvmgo/tvmgo.spdx.json")))(t)))
	require.NoError(t, json.Unmarshal(text, &bill))
	require.Equal(t, "SPDX-2.3", bill.SPDXVersion)
	versions := map[string]string{}
	for _, p := range bill.Packages {
		require.NotContains(t, []string{"", "NOASSERTION", "NONE"}, p.LicenseDeclared, p.Name)
		require.NotContains(t, versions, p.Name)
		versions[p.Name] = p.VersionInfo
	}
	known := map[string]bool{"tvmgo": true, "std": true, "glibc start files": true, "zig compiler-rt": true}
	for _, binary := range binaries() {
		info := must.Get(buildinfo.ReadFile(filepath.Join(dir, binary)))(t)
		require.Equal(t, strings.TrimPrefix(info.GoVersion, "go"), versions["std"])
		require.NotEmpty(t, info.Deps)
		for _, m := range info.Deps {
			require.Equal(t, m.Version, versions[m.Path], m.Path)
			known[m.Path] = true
			licences := filepath.Join(dir, "share/doc/tvmgo/licences", filepath.FromSlash(m.Path))
			require.NotEmpty(t, must.Get(os.ReadDir(licences))(t), m.Path)
		}
	}
	for p, v := range versions {
		require.True(t, known[p], "%s is not linked into any binary", p)
		require.NotEmpty(t, v, p)
	}
	// The validator of the SPDX project.
	env := []string{"PYTHONPATH=" + must.Get(filepath.Abs(filepath.Join(root, "build/.cache/spdx-tools")))(t)}
	python := "build/.cache/venv/bin/python" // that for which build/scripts/deps.sh installed it
	if _, err := os.Stat(filepath.Join(root, python)); err != nil {
		python = "build/.cache/pip/bin/python"
	}
	run(t, root, env, python, "-c", "import sys; from spdx_tools.spdx.parser.parse_anything import parse_file; "+
		"from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document as check; "+
		"wrong = check(parse_file(sys.argv[1])); print(*wrong, sep='\\n'); sys.exit(len(wrong) > 0)", file)
}

// The manual page has the commands of the program.
func TestManual(t *testing.T) {
	dir := unpacked(t)
	page := string(must.Get(os.ReadFile(filepath.Join(dir, "share/man/man1/tvmgo.1")))(t))
	_, help, ok := strings.Cut(runOnArch(t, "", nil, filepath.Join(dir, "bin/tvmgo"), "--help"), "Available Commands:\n")
	require.True(t, ok)
	help, _, _ = strings.Cut(help, "\n\n")
	want := ""
	for line := range strings.Lines(help + "\n") {
		command, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		want += ".TP\n.B " + command + "\n" + strings.TrimSpace(text) + "\n"
	}
	require.Contains(t, page, want)
	require.NotContains(t, page, "@")
}

// packages are the Debian packages by name.
func packages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, file := range must.Get(filepath.Glob(filepath.Join(release(t), "*.deb")))(t) {
		n, _, _ := strings.Cut(filepath.Base(file), "_")
		all[n] = file
	}
	require.Len(t, all, 4)
	return all
}

// lintian finds neither errors nor warnings.
func TestDeb_Lintian(t *testing.T) {
	args := []string{"--fail-on", "error,warning"}
	for _, file := range packages(t) {
		args = append(args, file)
	}
	if os.Geteuid() == 0 {
		args = append(args, "--allow-root")
	}
	require.Empty(t, run(t, "", nil, "lintian", args...))
}

// Every installed file is in exactly one package.
func TestDeb_Files(t *testing.T) {
	owner := map[string]string{}
	for p, file := range packages(t) {
		for line := range strings.Lines(run(t, "", []string{"LC_ALL=C"}, "dpkg-deb", "-c", file)) {
			fields := strings.Fields(line)
			require.Equal(t, "root/root", fields[1], line)
			if strings.HasSuffix(fields[5], "/") {
				continue
			}
			require.NotContains(t, owner, fields[5], "%s and %s", p, owner[fields[5]])
			owner[fields[5]] = p
		}
	}
	require.Equal(t, "tvmgo", owner["./usr/bin/tvmgo"])
	var missing []string
	dir := unpacked(t)
	require.NoError(t, filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		rel := must.Get(filepath.Rel(dir, file))(t)
		if err != nil || d.IsDir() || strings.HasPrefix(rel, "share/") {
			return err
		}
		installed := "./usr/" + rel
		if in, ok := strings.CutPrefix(rel, "lib/"); ok {
			installed = "./usr/" + path.Join("lib", triplet, in)
		}
		if owner[installed] == "" {
			missing = append(missing, rel)
		}
		return nil
	}))
	require.Empty(t, missing)
}

// triplet is the name of the folder of this machine's libraries on Debian.
var triplet = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[arch]
