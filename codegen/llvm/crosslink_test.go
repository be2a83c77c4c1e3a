package llvm_test

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// helloConstant returns a module without code.
func helloConstant(t testing.TB) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewOpaque("hello", []byte("some bytes of data")))(t)
}

// A library for another machine is linked by GCC for that machine, or by clang and lld without libraries of it.
func TestCross_Library(t *testing.T) {
	for _, row := range []struct {
		target  string
		machine elf.Machine
		linker  string
	}{
		{"llvm -mtriple=aarch64-linux-gnu", elf.EM_AARCH64, "aarch64-linux-gnu-gcc"},
		{"llvm -mtriple=aarch64-linux-gnu", elf.EM_AARCH64, "lld"},
		{"llvm -mtriple=riscv64-linux-gnu", elf.EM_RISCV, "lld"},
		{"llvm -mtriple=armv7-linux-gnueabihf", elf.EM_ARM, "lld"},
		{"llvm -mtriple=i686-linux-gnu", elf.EM_386, "lld"},
	} {
		if row.machine == hostMachine(t) {
			continue
		}
		if _, err := exec.LookPath(strings.ReplaceAll(row.linker, "lld", "ld.lld")); err != nil {
			require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh installs %s", row.linker)
			t.Skipf("no %s: build/scripts/deps.sh installs it", row.linker)
		}
		m := built(t, parsed(t, addProgram+dotProgram), row.target)
		require.NoError(t, m.Import(helloConstant(t)))
		if row.linker == "lld" {
			onlyTools(t, "clang", "ld.lld")
		}
		path := filepath.Join(t.TempDir(), "cross.so")
		err := export.Library(context.Background(), m, path)
		t.Setenv("PATH", pathAtStart)
		require.NoError(t, err, row.target)
		f := must.Get(elf.Open(path))(t)
		symbols := must.Get(f.DynamicSymbols())(t)
		needed := must.Get(f.ImportedLibraries())(t)
		require.NoError(t, f.Close())
		require.Equal(t, row.machine, f.Machine)
		require.Equal(t, elf.ET_DYN, f.Type)
		for _, name := range []string{"__tvm_ffi_add", "__tvm_ffi_dot", "__tvm_ffi__library_bin"} {
			require.True(t, hasSymbol(symbols, name), "%s: %s", row.target, name)
		}
		require.Contains(t, needed, "libm.so.6", row.target) // for exp
		require.Error(t, must.Fail(runtime.Load(context.Background(), path)))
	}
}

// onlyTools sets PATH to a folder with these programs only.
func onlyTools(t testing.TB, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := must.Get(exec.LookPath(name))(t)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	t.Setenv("PATH", dir)
	t.Setenv("TVMGO_CLANG", "")
}

// Without a linker for the machine, the error names the package to install. An object can still be written.
func TestCross_NoLinker(t *testing.T) {
	m := built(t, parsed(t, addProgram), "llvm -mtriple=riscv64-linux-gnu")
	onlyTools(t, "clang")
	dir := t.TempDir()
	err := export.Library(context.Background(), m, filepath.Join(dir, "a.so"))
	require.ErrorIs(t, err, runtime.ErrNotFound)
	require.ErrorContains(t, err, "lib0.o is for another machine (EM_RISCV), and there is no linker for it: install "+
		"riscv64-linux-gnu-gcc (Debian: apt install gcc-riscv64-linux-gnu) or clang and lld (apt install clang lld), "+
		"name one by the option Compiler, or export the object (.o)")
	require.NoError(t, export.Library(context.Background(), m, filepath.Join(dir, "a.tar")))
	require.NoError(t, export.Library(context.Background(), m, filepath.Join(dir, "a.o")))
	saved := filepath.Join(dir, "b.o")
	require.NoError(t, m.SaveToFile(saved, ""))
	require.Equal(t, must.Get(os.ReadFile(saved))(t), must.Get(os.ReadFile(filepath.Join(dir, "a.o")))(t))

	strange := built(t, parsed(t, addProgram), "llvm -mtriple=sparcv9-linux-gnu")
	err = export.Library(context.Background(), strange, filepath.Join(dir, "s.so"))
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, "no linker for it is known here")
}

// Objects for systems without ELF files can be saved and exported, but not linked.
func TestCross_OtherSystems(t *testing.T) {
	for triple, begin := range map[string]string{"arm64-apple-macos": "\xcf\xfa\xed\xfe",
		"x86_64-pc-windows-msvc": "\x64\x86"} {
		m := built(t, parsed(t, addProgram), "llvm -mtriple="+triple)
		path := filepath.Join(t.TempDir(), "a.o")
		require.NoError(t, export.Library(context.Background(), m, path), triple)
		data := must.Get(os.ReadFile(path))(t)
		require.True(t, strings.HasPrefix(string(data), begin), triple)
		err := export.Library(context.Background(), m, filepath.Join(t.TempDir(), "a.so"))
		require.ErrorIs(t, err, runtime.ErrNotSupported)
		require.ErrorContains(t, err, "lib0.o is for a system without ELF files: export it alone as an object (.o)")
		_, err = m.Function("add")
		require.ErrorContains(t, err, "its code is for a system that has no ELF files (mtriple \""+triple+"\")")
	}
}

// Several modules are merged into one object.
func TestExport_OneObject(t *testing.T) {
	m := built(t, parsed(t, addProgram), "llvm")
	require.NoError(t, m.Import(built(t, parsed(t, dotProgram), "llvm")))
	path := filepath.Join(t.TempDir(), "all.o")
	require.NoError(t, export.Library(context.Background(), m, path))
	f := must.Open(elf.Open(path))(t)
	require.Equal(t, elf.ET_REL, f.Type)
	symbols := must.Get(f.Symbols())(t)
	for _, name := range []string{"__tvm_ffi_add", "__tvm_ffi_dot", "__tvm_ffi__library_bin"} {
		require.True(t, hasSymbol(symbols, name), name)
	}
	object := must.Get(os.ReadFile(path))(t)
	whole := must.Open(runtime.NewStaticLibrary(object, []string{"add", "dot"}))(t)
	library := filepath.Join(t.TempDir(), "all.so")
	require.NoError(t, export.Library(context.Background(), whole, library))
	l := modules.Load(t, library)
	requireAdds(t, l)
}
