package export_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func packed(t *testing.T) (*runtime.Module, []byte) {
	t.Helper()
	m := importing(t, constant(t, "f", 1), newData(t, []byte("some \"bytes\" \\41 of\x00 all \xff kinds")))
	data := must.Get(export.ImportsToBytes(m, blob.Modern))(t)
	b := must.Get(blob.Parse(data, blob.Modern, nil))(t)
	require.Equal(t, []string{"_lib", dataKind}, []string{b.Entries[0].Kind, b.Entries[1].Kind})
	return m, data
}

// printer is linked with a packed source, prints the block, and reports what registers itself.
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
		text := must.Get(export.ImportsToC(m, system, prefix))(t)
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
	f := must.Open(runtime.Global("runtime.ModulePackImportsToLLVM"))(t)
	for prefix, system := range map[string]bool{"": false, "pre_": true} {
		v := must.Get(f.Call(m, system, "llvm", prefix))(t)
		defer v.(*runtime.Module).Close()
		object := filepath.Join(t.TempDir(), "devc.o")
		require.NoError(t, v.(*runtime.Module).SaveToFile(object, ""))
		require.Equal(t, []string{"devc.o"}, names(t, filepath.Dir(object)))
		require.Equal(t, data, printed(t, object, prefix, system, len(data)))
	}
	text := must.Get(export.ImportsToLLVM(m, false, "aarch64-linux-gnu", ""))(t)
	require.Contains(t, text, "target triple = \"aarch64-linux-gnu\"\n")
}

func TestImports_WrongArguments(t *testing.T) {
	m, _ := packed(t)
	require.ErrorContains(t, must.Fail(export.ImportsToC(m, false, "1x")), `prefix "1x"`)
	require.ErrorContains(t, must.Fail(export.ImportsToLLVM(m, false, "a\"b", "")), "no target triple")
	require.ErrorIs(t, must.Fail(export.ImportsToBytes(nil, blob.Modern)), runtime.ErrClosed)
	require.ErrorIs(t, must.Fail(export.ImportsToBytes(m, blob.LegacyFFI)), runtime.ErrInvalidArgument)
	unsaved := importing(t, constant(t, "g", 1),
		must.Open(runtime.NewModule("test.unsaved", runtime.Runnable, &data{}))(t))
	_, err := export.ImportsToC(unsaved, false, "")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, `module root.imports[0] (kind "test.unsaved")`)
}

// The same through the global functions with TVM's names, as C and Python call them.
func TestImports_GlobalFunctions(t *testing.T) {
	m, data := packed(t)
	global := func(name string, args ...any) (any, error) {
		f := must.Get(runtime.Global(name))(t)
		defer f.Close()
		return f.Call(args...)
	}
	want := must.Get(export.ImportsToC(m, true, "p_"))(t)
	require.Equal(t, want, must.Get(global("runtime.ModulePackImportsToC", m, true, "p_"))(t))

	for _, name := range []string{"runtime.ModulePackImportsToTensor", "runtime.ModulePackImportsToNDArray"} {
		v := must.Get(global(name, m))(t)
		require.Equal(t, data, must.Get(runtime.ToSlice[uint8](v.(*runtime.Tensor)))(t))
		v.(*runtime.Tensor).Close()
	}
	require.Equal(t, "__tvm_ffi__library_bin", must.Get(global("runtime.ModuleImportsBlobName"))(t))

	for target, triple := range map[string]string{"llvm": "",
		"llvm -mtriple=aarch64-linux-gnu -mcpu=x":       "aarch64-linux-gnu",
		`{"kind":"llvm","mtriple":"riscv64-linux-gnu"}`: "riscv64-linux-gnu"} {
		v := must.Get(global("runtime.ModulePackImportsToLLVM", m, false, target, ""))(t)
		ir := v.(*runtime.Module)
		defer ir.Close()
		require.Equal(t, "llvm", ir.Kind())
		require.Equal(t, must.Get(export.ImportsToLLVM(m, false, triple, ""))(t), must.Get(ir.GetSource("ll"))(t))
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

// The module that ModulePackImportsToLLVM returns can be linked like any other.
func TestImports_LLVMModule(t *testing.T) {
	needs(t, "clang", "LLVM IR is compiled")
	m, _ := packed(t)
	f := must.Get(runtime.Global("runtime.ModulePackImportsToLLVM"))(t)
	defer f.Close()
	v := must.Get(f.Call(m, false, "llvm", "in_"))(t)
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
