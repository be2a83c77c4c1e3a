package package_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/atomicfile"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/version"
)

// older is a Debian release with an older glibc than this project is developed with: 2.31.
const older = "bullseye"

// olderRoot returns a copy of an older Debian's root file system: with its C library alone, or with all packages that
// Debian calls essential, dpkg among them.
func olderRoot(t *testing.T, essential bool) string {
	t.Helper()
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh installs mmdebstrap")
		t.Skip("no mmdebstrap: build/scripts/deps.sh installs it")
	}
	cache := must.Get(filepath.Abs(filepath.Join(root, "build", ".cache")))(t)
	kept := filepath.Join(cache, older+"-"+arch)
	packages := []string{"--variant=extract", "--include=libc6"}
	if essential {
		kept += "-essential"
		packages = []string{"--variant=essential", "--include=libc6-dev"}
	}
	if _, err := os.Stat(kept); err != nil {
		partial := must.Get(os.MkdirTemp(cache, older))(t)
		defer os.RemoveAll(partial)
		args := append(packages, "--quiet", "--architectures="+arch, older, filepath.Join(partial, "root"),
			"http://deb.debian.org/debian")
		if os.Geteuid() != 0 {
			args = append([]string{"--mode=unshare"}, args...)
		}
		run(t, "", nil, "mmdebstrap", args...)
		if err := os.Rename(filepath.Join(partial, "root"), kept); err != nil { // another process was faster
			require.DirExists(t, kept)
		}
	}
	dir := filepath.Join(t.TempDir(), "root")
	run(t, "", nil, "cp", "-a", kept, dir)
	return dir
}

// The C library of Ubuntu 18.04, 2.27. It is older than what is promised: Debian 10 and RHEL 8 have 2.28.
const (
	oldestLibc = "http://archive.ubuntu.com/ubuntu/pool/main/g/glibc/libc6_2.27-3ubuntu1_amd64.deb"
	oldestHash = "1e1eb86fd646aa68f7144ec692b837b6b352d215880c6a2d0c92c19d36938427"
)

// oldestRoot returns a root file system with the C library of Ubuntu 18.04 and nothing else.
func oldestRoot(t *testing.T) string {
	t.Helper()
	if arch != "amd64" {
		t.Skip("Ubuntu's archive has packages for amd64 alone")
	}
	kept := must.Get(filepath.Abs(filepath.Join(root, "build", ".cache", path.Base(oldestLibc))))(t)
	if _, err := os.Stat(kept); err != nil {
		response := must.Get(http.Get(oldestLibc))(t)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode, oldestLibc)
		data := must.Get(io.ReadAll(response.Body))(t)
		require.Equal(t, oldestHash, fmt.Sprintf("%x", sha256.Sum256(data)), oldestLibc)
		require.NoError(t, atomicfile.Write(kept, data, 0o644, atomicfile.ReplaceLinks))
	}
	dir := filepath.Join(t.TempDir(), "root")
	run(t, "", nil, "dpkg-deb", "--extract", kept, dir)
	for _, name := range []string{"dev", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dev", "null"), nil, 0o666)) // a device is not needed
	return dir
}

// inside runs a program in a root file system, as its root. For another architecture the emulator, which is a program
// of this machine, looks up the C library and other files there.
func inside(t *testing.T, dir string, command ...string) string {
	t.Helper()
	const libraries = "LD_LIBRARY_PATH=/opt/tvmgo/lib"
	if arch != goruntime.GOARCH {
		command[0] = filepath.Join(dir, command[0])
		return runOnArch(t, "", nil, append([]string{"env", "QEMU_LD_PREFIX=" + dir, libraries}, command...)...)
	}
	return run(t, "", []string{libraries, "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "unshare",
		append([]string{"--user", "--map-root-user", "chroot", dir}, command...)...)
}

// What is shipped runs on older systems: the command line, and a C program with each library.
func TestOlderSystems(t *testing.T) {
	for _, system := range []struct {
		name, libc string
		root       func(*testing.T) string
	}{
		{"Debian 11", "libc-2.31.so", func(t *testing.T) string { return olderRoot(t, false) }},
		{"Ubuntu 18.04", "libc-2.27.so", oldestRoot},
	} {
		t.Run(system.name, func(t *testing.T) {
			shipped := unpacked(t)
			dir := system.root(t)
			require.FileExists(t, filepath.Join(dir, "lib", triplet, system.libc))
			runsInside(t, shipped, dir)
		})
	}
}

// runsInside copies an unpacked tarball into a root file system, and runs what it has there.
func runsInside(t *testing.T, shipped, dir string) {
	t.Helper()
	tvmgo := filepath.Join(dir, "opt", "tvmgo")
	require.NoError(t, os.MkdirAll(filepath.Dir(tvmgo), 0o755))
	run(t, "", nil, "cp", "-a", shipped, tvmgo)
	run(t, "", nil, "cp", "-r", filepath.Join(root, "testdata", "artifacts"), filepath.Join(dir, "opt", "artifacts"))
	const program = "/opt/tvmgo/bin/tvmgo"
	require.Contains(t, inside(t, dir, program, "version"), "tvmgo ")
	for _, abi := range []string{"classic", "modern"} {
		library := "/opt/artifacts/" + abi + "/multi_llvm.so"
		require.Contains(t, inside(t, dir, program, "inspect", library), "vadd")
		if arch != "amd64" { // which these libraries are for
			continue
		}
		inside(t, dir, program, "run", library, "vadd", "--in", "/opt/artifacts/vadd_in0.npy", "--in",
			"/opt/artifacts/vadd_in1.npy", "--out", "/opt/out.npy", "--like", "float32[1001]")
		require.Equal(t, must.Get(os.ReadFile(filepath.Join(root, "testdata", "artifacts", "vadd_out.npy")))(t),
			must.Get(os.ReadFile(filepath.Join(dir, "opt", "out.npy")))(t), abi)
	}

	run(t, "", nil, "cp", addOf(t), filepath.Join(dir, "opt", "add.so"))
	runsExample(t, dir, filepath.Join(tvmgo, "include"), filepath.Join(tvmgo, "lib"))
}

// runsExample compiles the C program of the examples for the glibc of what is shipped, with each library, and runs it
// in a root file system, whose /opt has the library add.so.
func runsExample(t *testing.T, dir, include, lib string) {
	t.Helper()
	cc := must.Get(filepath.Abs(filepath.Join(root, "build", "scripts", "portable-cc.sh")))(t)
	for _, library := range []string{"tvmgo", "tvmgo_runtime"} {
		// behind the folders of the compiler, which has the headers of glibc
		run(t, root, []string{"GOARCH=" + arch}, cc, "-O2", "-idirafter", include, "examples/deploy_c/main.c", "-L", lib,
			"-l"+library, "-lm", "-o", filepath.Join(dir, "opt", "deploy"))
		out := inside(t, dir, "/opt/deploy", "/opt/add.so", "add", "1000")
		require.Contains(t, out, "added 1000 elements, and all are right")
	}
}

// dpkg installs the packages on an older Debian, where their programs run, and removes them without a rest.
func TestDeb_Installed(t *testing.T) {
	all := packages(t)
	if arch != goruntime.GOARCH {
		t.Skip("Debian's packages configure themselves with programs for their own machine")
	}
	dir := olderRoot(t, true)
	files := func() string { return run(t, dir, nil, "sh", "-c", "find usr -name '*tvmgo*' | sort") }
	require.Empty(t, files())
	var debs []string
	for _, file := range all {
		run(t, "", nil, "cp", file, filepath.Join(dir, "opt"))
		debs = append(debs, "/opt/"+filepath.Base(file))
	}
	inside(t, dir, append([]string{"dpkg", "--install"}, debs...)...)
	require.NotEmpty(t, files())
	require.Empty(t, inside(t, dir, "dpkg", "--audit"))
	require.Contains(t, inside(t, dir, "tvmgo", "version"), "tvmgo "+version.Number())
	require.Contains(t, inside(t, dir, "ldconfig", "-p"), "libtvmgo.so.0 ")

	// A program that finds the library, as installed, without a path.
	run(t, "", nil, "cp", addOf(t), filepath.Join(dir, "opt", "add.so"))
	runsExample(t, dir, filepath.Join(dir, "usr", "include"), filepath.Join(dir, "usr", "lib", triplet))

	names := slices.Sorted(maps.Keys(all))
	inside(t, dir, append([]string{"dpkg", "--purge"}, names...)...)
	require.Empty(t, files())
}
