package export_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/runtime"
)

func packed(t *testing.T) (*runtime.Module, []byte) {
	t.Helper()
	m := importing(t, constant(t, "f", 1), newData(t, []byte("some \"bytes\" \\41 of\x00 all \xff kinds")))
	data, err := export.ImportsToBytes(m, blob.Modern)
	require.NoError(t, err)
	b, err := blob.Parse(data, blob.Modern, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"_lib", dataKind}, []string{b.Entries[0].Kind, b.Entries[1].Kind})
	return m, data
}

// printer links with a packed source, prints the block, and calls whoever registers itself.
const printer = `
#include <stdio.h>
#include <string.h>
extern const unsigned char SYMBOL[];
static const void* got;
#ifdef __cplusplus
extern "C"
#endif
int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* p) {
  if (strcmp(name, STRING) == 0) got = p;
  return 0;
}
int main(void) {
  fwrite(SYMBOL, 1, SIZE, stdout);
  return got == (REGISTERED ? SYMBOL : NULL) ? 0 : 1;
}
`

func TestImportsToC(t *testing.T) {
	m, data := packed(t)
	for prefix, system := range map[string]bool{"": false, "pre_": true} {
		text, err := export.ImportsToC(m, system, prefix)
		require.NoError(t, err)
		for _, suffix := range []string{".c", ".cc"} {
			source := filepath.Join(t.TempDir(), "devc"+suffix)
			require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
			require.Equal(t, data, printed(t, source, prefix, system, len(data)))
		}
	}
}

func TestImportsToLLVM(t *testing.T) {
	needs(t, "clang", "LLVM IR is compiled")
	m, data := packed(t)
	f, err := runtime.Global("runtime.ModulePackImportsToLLVM")
	require.NoError(t, err)
	defer f.Close()
	for prefix, system := range map[string]bool{"": false, "pre_": true} {
		v, err := f.Call(m, system, "llvm", prefix)
		require.NoError(t, err)
		defer v.(*runtime.Module).Close()
		object := filepath.Join(t.TempDir(), "devc.o")
		require.NoError(t, v.(*runtime.Module).SaveToFile(object, ""))
		require.Equal(t, []string{"devc.o"}, names(t, filepath.Dir(object)))
		require.Equal(t, data, printed(t, object, prefix, system, len(data)))
	}
	text, err := export.ImportsToLLVM(m, false, "aarch64-linux-gnu", "")
	require.NoError(t, err)
	require.Contains(t, text, "target triple = \"aarch64-linux-gnu\"\n")
}

func TestImports_WrongArguments(t *testing.T) {
	m, _ := packed(t)
	_, err := export.ImportsToC(m, false, "1x")
	require.ErrorContains(t, err, `prefix "1x"`)
	_, err = export.ImportsToLLVM(m, false, "a\"b", "")
	require.ErrorContains(t, err, "no target triple")
	_, err = export.ImportsToBytes(nil, blob.Modern)
	require.ErrorIs(t, err, runtime.ErrClosed)
	_, err = export.ImportsToBytes(m, blob.LegacyFFI)
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	unsaved := importing(t, constant(t, "g", 1), made(t)(runtime.NewModule("test.unsaved", runtime.Runnable, &data{})))
	_, err = export.ImportsToC(unsaved, false, "")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, `module root.imports[0] (kind "test.unsaved")`)
}

// The same under TVM's names, as C and Python call them.
func TestImports_GlobalFunctions(t *testing.T) {
	m, data := packed(t)
	global := func(name string, args ...any) (any, error) {
		f, err := runtime.Global(name)
		require.NoError(t, err)
		defer f.Close()
		return f.Call(args...)
	}
	want, err := export.ImportsToC(m, true, "p_")
	require.NoError(t, err)
	got, err := global("runtime.ModulePackImportsToC", m, true, "p_")
	require.NoError(t, err)
	require.Equal(t, want, got)

	for _, name := range []string{"runtime.ModulePackImportsToTensor", "runtime.ModulePackImportsToNDArray"} {
		v, err := global(name, m)
		require.NoError(t, err)
		bytes, err := runtime.ToSlice[uint8](v.(*runtime.Tensor))
		require.NoError(t, err)
		require.Equal(t, data, bytes)
		v.(*runtime.Tensor).Close()
	}
	name, err := global("runtime.ModuleImportsBlobName")
	require.NoError(t, err)
	require.Equal(t, "__tvm_ffi__library_bin", name)

	for target, triple := range map[string]string{"llvm": "",
		"llvm -mtriple=aarch64-linux-gnu -mcpu=x":       "aarch64-linux-gnu",
		`{"kind":"llvm","mtriple":"riscv64-linux-gnu"}`: "riscv64-linux-gnu"} {
		v, err := global("runtime.ModulePackImportsToLLVM", m, false, target, "")
		require.NoError(t, err)
		ir := v.(*runtime.Module)
		defer ir.Close()
		require.Equal(t, "llvm", ir.Kind())
		want, err := export.ImportsToLLVM(m, false, triple, "")
		require.NoError(t, err)
		source, err := ir.GetSource("ll")
		require.NoError(t, err)
		require.Equal(t, want, source)
	}

	for name, args := range map[string][]any{
		"runtime.ModulePackImportsToC": {"no module"}, "runtime.ModulePackImportsToLLVM": {},
		"runtime.ModulePackImportsToTensor": {m, 1},
		"runtime.ModuleImportsBlobName":     {m},
	} {
		_, err := global(name, args...)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument, name)
		require.ErrorContains(t, err, name)
	}
}

// The module that ModulePackImportsToLLVM gives can be linked as any other.
func TestImports_LLVMModule(t *testing.T) {
	needs(t, "clang", "LLVM IR is compiled")
	m, _ := packed(t)
	f, err := runtime.Global("runtime.ModulePackImportsToLLVM")
	require.NoError(t, err)
	defer f.Close()
	v, err := f.Call(m, false, "llvm", "in_")
	require.NoError(t, err)
	ir := v.(*runtime.Module)
	defer ir.Close()
	object := filepath.Join(t.TempDir(), "devc.o")
	require.ErrorContains(t, ir.SaveToFile(object, "so"), ".ll or .o")
	link := filepath.Join(t.TempDir(), "link.ll")
	require.NoError(t, os.Symlink("real.ll", link))
	require.NoError(t, ir.SaveToFile(link, ""))
	require.Contains(t, string(readFile(t, filepath.Join(filepath.Dir(link), "real.ll"))), "in___tvm_ffi__library_bin")

	path := exported(t, importing(t, constant(t, "g", 3), ir))
	require.Contains(t, string(readFile(t, path)), "in___tvm_ffi__library_bin")
}
