package main_test

import (
	"debug/elf"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

func openLibrary(t *testing.T) *elf.File {
	t.Helper()
	return must.Open(elf.Open(newLab(t).library()))(t)
}

func exportedVersions(t *testing.T) map[string]string {
	t.Helper()
	return exportsOf(t, openLibrary(t))
}

// exportsOf returns the output of nm -D --defined-only: names with their versions, such as TVMGO_1, without the symbols
// of the versions.
func exportsOf(t *testing.T, f *elf.File) map[string]string {
	t.Helper()
	versions := must.Get(f.DynamicVersions())(t)
	byIndex := map[uint16]string{}
	for _, v := range versions {
		byIndex[v.Index] = v.Name
	}
	symbols := must.Get(f.DynamicSymbols())(t)
	exported := map[string]string{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_SECTION { // GNU ld for arm64 writes one
			continue
		}
		if s.Section == elf.SHN_UNDEF || s.Section == elf.SHN_ABS && s.Name == byIndex[s.VersionIndex.Index()] {
			continue
		}
		require.True(t, s.HasVersion && !s.VersionIndex.IsHidden(), "%s is not the version that programs link with", s.Name)
		exported[s.Name] = byIndex[s.VersionIndex.Index()]
	}
	return exported
}

func exported(t *testing.T) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(exportedVersions(t)))
}

// A program that compiles with the headers also links, and every exported function is declared in a header.
func TestLibrary_ExportsWhatTheHeadersDeclare(t *testing.T) {
	declaration := regexp.MustCompile(`(?:TVM_DLL|TVM_FFI_DLL)\s[^;{(]*?\b((?:TVM|tvmgo_)\w+)\(`)
	var declared []string
	for _, header := range publicHeaders(t, ".h") {
		text := must.Get(os.ReadFile(newLab(t).path("include", header)))(t)
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			declared = append(declared, m[1])
		}
	}
	slices.Sort(declared)
	require.Equal(t, slices.Compact(declared), exported(t))
}

func TestLibrary_IsInstallable(t *testing.T) {
	f := openLibrary(t)
	require.Equal(t, []string{"libtvmgo.so.0"}, must.Get(f.DynString(elf.DT_SONAME))(t))
	l := newLab(t)
	for _, name := range []string{"libtvmgo.so", "libtvmgo.so.0"} {
		target := must.Get(os.Readlink(l.path("lib", name)))(t)
		require.False(t, filepath.IsAbs(target))
	}
	require.Empty(t, must.Get(filepath.Glob(l.path("lib", "*.h")))(t), "the header of cgo is not installed")
}

// The library only needs the C library of a machine.
func TestLibrary_StartsAnywhere(t *testing.T) {
	machine.NeedNative(t, "qemu-user needs its environment variables")
	f := openLibrary(t)
	needed := must.Get(f.ImportedLibraries())(t)
	for _, name := range needed {
		require.Contains(t, []string{"libc.so.6", "libpthread.so.0", "libdl.so.2", "libresolv.so.2", "ld-linux-x86-64.so.2",
			"ld-linux-aarch64.so.1"}, name)
	}
	for _, tag := range []elf.DynTag{elf.DT_TEXTREL, elf.DT_RPATH, elf.DT_RUNPATH} {
		require.Empty(t, must.Get(f.DynValue(tag))(t), tag)
	}
	flags := must.Get(f.DynValue(elf.DT_FLAGS))(t)
	for _, v := range flags {
		require.Zero(t, elf.DynFlag(v)&elf.DF_TEXTREL)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_GNU_STACK {
			require.Zero(t, p.Flags&elf.PF_X, "executable stack")
		}
		if p.Type == elf.PT_LOAD {
			require.NotEqual(t, elf.PF_W|elf.PF_X, p.Flags&(elf.PF_W|elf.PF_X), "writable code")
		}
	}

	// Alone in a folder, without environment variables, from another working directory.
	l := newLab(t)
	host := dlopenHost(t)
	away := filepath.Join(t.TempDir(), "an odd 'place'")
	require.NoError(t, os.Mkdir(away, 0o755))
	data := must.Get(os.ReadFile(l.library()))(t)
	require.NoError(t, os.WriteFile(filepath.Join(away, "renamed.so"), data, 0o644))
	l.runOK(t, nil, "env", "-i", "-C", "/", host, filepath.Join(away, "renamed.so"), "lookup", "ffi.Array",
		"runtime.NumThreads")
}
