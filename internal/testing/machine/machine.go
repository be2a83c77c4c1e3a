// Package machine skips tests that need a processor of another architecture than the one that they run on.
package machine

import (
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Need skips a test on another machine than x86-64 if one of these programs and libraries is for x86-64, as those in
// testdata/artifacts are. Files that are no ELF files are passed over.
func Need(t testing.TB, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if !Fits(path) {
			t.Skipf("%s is for x86-64, and this process for %s", filepath.Base(path), runtime.GOARCH)
		}
	}
}

// Fits reports whether Need would not skip a test of the file.
func Fits(path string) bool {
	if runtime.GOARCH == "amd64" {
		return true
	}
	f, err := elf.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	return f.Machine != elf.EM_X86_64
}

// NeedX86 skips a test of x86 CPUs on other machines.
func NeedX86(t testing.TB) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skipf("it is for x86-64, and this process for %s", runtime.GOARCH)
	}
}

// NeedNative skips a test of what programs for another architecture cannot do here: build/scripts/arm64.sh runs them
// under qemu-user, and compiles them with cross-compilers.
func NeedNative(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("TVMGO_ARM64") != "" {
		t.Skip(why)
	}
}

// Env returns the environment variables that programs for another architecture need under qemu-user, for commands that
// do not get the variables of this process.
func Env() (env []string) {
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "QEMU_") || strings.HasPrefix(v, "TVMGO_ARM64=") {
			env = append(env, v)
		}
	}
	return env
}

// Oldest returns the value of -march for the oldest CPU of this process's architecture: a processor that is not the
// default, and whose code runs everywhere.
func Oldest() string {
	return map[string]string{"amd64": "x86-64", "arm64": "armv8-a"}[runtime.GOARCH]
}
