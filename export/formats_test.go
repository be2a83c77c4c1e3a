package export_test

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func exportedAs(t *testing.T, m *runtime.Module, name string, options ...export.Option) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, export.Library(ctx, m, path, options...))
	require.Equal(t, []string{name}, names(t, filepath.Dir(path)))
	return path
}

func TestTar_ObjectsForLaterLink(t *testing.T) {
	root := importing(t, constant(t, "f", 1), constant(t, "g", 2), newData(t, []byte("x")))
	path := exportedAs(t, root, "deploy.tar")
	require.Equal(t, readFile(t, path), readFile(t, exportedAs(t, root, "deploy.tar")), "the same bytes")
	dir := t.TempDir()
	objects := untar(t, path, dir)
	require.Len(t, objects, 3)
	lib := filepath.Join(dir, "late.so")
	out, err := exec.Command("cc", append([]string{"-shared", "-o", lib}, objects...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	got := modules.Load(t, lib)
	require.EqualValues(t, 2, call(t, got, "g"))
	require.Equal(t, graphOf(t, root), graphOf(t, got))
}

func untar(t *testing.T, path, dir string) (files []string) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(readFile(t, path)))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content := must.Get(io.ReadAll(r))(t)
		files = append(files, filepath.Join(dir, h.Name))
		require.NoError(t, os.WriteFile(files[len(files)-1], content, 0o600))
	}
}

// Two system libraries with functions of the same names are linked into one program, which finds each function by its
// prefix.
func TestArchive_SystemLibraries(t *testing.T) {
	program := `
#include <stdio.h>
#include <string.h>
struct { char name[100]; char* address; } known[50];
int count;
int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* p) {
  strcpy(known[count].name, name);
  known[count++].address = p;
  return 0;
}
int main(void) {
  for (int i = 0; i < count; i++) {
    printf("%s", known[i].name);
    if (strstr(known[i].name, "_five") || strstr(known[i].name, "_six")) {
      long result[2] = {0};
      ((int (*)(void*, void*, int, void*))known[i].address)(0, 0, 0, result);
      printf("=%ld", result[1]);
    }
    printf("\n");
  }
}
`
	one := exportedAs(t, importing(t, constant(t, "five", 5), constant(t, "six", 6), newData(t, []byte("x"))), "one.a",
		export.SystemLibrary("one_"))
	two := exportedAs(t, importing(t, constant(t, "five", 55), newData(t, []byte("y"))), "two.a",
		export.SystemLibrary("two_"))
	bare := exportedAs(t, constant(t, "five", 555), "bare.a")
	require.Equal(t, readFile(t, one),
		readFile(t, exportedAs(t, importing(t, constant(t, "five", 5), constant(t, "six", 6), newData(t, []byte("x"))),
			"one.a", export.SystemLibrary("one_"))), "the same bytes")
	exe := filepath.Join(t.TempDir(), "program")
	compileC(t, program, exe, "-Wl,--whole-archive", one, two, bare, "-Wl,--no-whole-archive")
	out := must.Get(exec.Command(exe).Output())(t)
	got := bytes.Fields(out)
	slices.SortFunc(got, bytes.Compare)
	require.Equal(t, "__tvm_ffi__library_ctx __tvm_ffi_five=555 __tvm_ffi_one_five=5 __tvm_ffi_one_six=6 "+
		"__tvm_ffi_two_five=55 "+
		"one___tvm_ffi__library_bin one___tvm_ffi__library_ctx two___tvm_ffi__library_bin two___tvm_ffi__library_ctx",
		string(bytes.Join(got, []byte(" "))))
}

func TestArchive_Classic(t *testing.T) {
	m := importing(t, classicConstant(t, "five", 5), newData(t, nil))
	path := exportedAs(t, m, "c.a", export.Layout(blob.Legacy), export.SystemLibrary("p_"))
	text := string(readFile(t, path))
	for _, s := range []string{"p_five", "p___tvm_dev_mblob", "p___tvm_module_ctx", "TVMBackendRegisterSystemLibSymbol"} {
		require.Contains(t, text, s)
	}
}

func TestArchive_RefusesWhatIsNoObject(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libx.a")
	require.NoError(t, os.WriteFile(path, []byte("!<arch>\n"), 0o600))
	for _, name := range []string{"o.a", "o.tar"} {
		err := export.Library(ctx, constant(t, "f", 1), filepath.Join(t.TempDir(), name), export.Objects(path))
		require.ErrorContains(t, err, "only objects (.o) can")
	}
}

// A library for another machine is read back, although it is never loaded.
func TestCrossCompiler(t *testing.T) {
	cc := needs(t, "aarch64-linux-gnu-gcc", "a library for another machine is built")
	root := importing(t, constant(t, "f", 1), constant(t, "g", 2), newData(t, []byte("x")))
	path := exported(t, root, export.Compiler(cc, "-O1"))
	f := must.Open(elf.Open(path))(t)
	require.Equal(t, elf.EM_AARCH64, f.Machine)
	data := must.Get(export.ImportsToBytes(root, blob.Modern))(t)
	require.Equal(t, 1, bytes.Count(readFile(t, path), data))
	exportedAs(t, root, "x.a", export.Compiler(cc), export.SystemLibrary("x_"))

	err := export.Library(ctx, cSource(t, "static int f(void) { return 0; }", "f"), filepath.Join(t.TempDir(), "x.so"),
		export.Compiler(cc))
	require.ErrorContains(t, err, `lists the function "f"`, "it is read back nevertheless")
}

func TestCompilers(t *testing.T) {
	root := importing(t, constant(t, "f", 1), newData(t, []byte("x")))
	for _, c := range [][]string{{"gcc"}, {"gcc", "-Wl,-z,now"}, {"clang"}, {"g++"}} {
		t.Run(c[0], func(t *testing.T) {
			needs(t, c[0], "a library is built")
			got := modules.Load(t, exported(t, root, export.Compiler(c[0], c[1:]...)))
			require.EqualValues(t, 1, call(t, got, "f"))
			require.Equal(t, graphOf(t, root), graphOf(t, got))
		})
	}
}

func TestCompile_GoFunction(t *testing.T) {
	root := importing(t, constant(t, "f", 4), newData(t, []byte("x")))
	var seen []string
	build := func(ctx context.Context, output string, files []string, o export.CompileOptions) error {
		for _, f := range files {
			seen = append(seen, filepath.Base(f))
		}
		return compileByCC(ctx, output, files, o)
	}
	got := modules.Load(t, exported(t, root, export.Compile(build)))
	require.Equal(t, []string{"lib0.c", "devc.s"}, seen)
	require.Equal(t, graphOf(t, root), graphOf(t, got))

	seen = nil
	path := exportedAs(t, root, "deploy.dylib", export.Compile(build), export.Pack(export.PackC))
	require.Equal(t, []string{"lib0.c", "devc.c"}, seen)
	require.True(t, bytes.HasPrefix(readFile(t, path), []byte("\x7fELF")))

	trouble := errors.New("trouble")
	fails := func(context.Context, string, []string, export.CompileOptions) error { return trouble }
	require.ErrorIs(t, failing(t, root, runtime.ErrFailed, export.Compile(fails)), trouble)
	idle := func(context.Context, string, []string, export.CompileOptions) error { return nil }
	require.ErrorContains(t, failing(t, root, runtime.ErrFailed, export.Compile(idle)), "wrote nothing")
	wrong := func(ctx context.Context, output string, files []string, o export.CompileOptions) error {
		return build(ctx, output, files[:1], o) // without the imports
	}
	require.ErrorContains(t, failing(t, root, nil, export.Compile(wrong)), "__tvm_ffi__library_bin")
}

// TestCompile_Damage uses a compiler that changes one byte of the imported modules, in each of the chunks in which they
// are compared.
func TestCompile_Damage(t *testing.T) {
	const size, piece = 3<<18 + 1000, 1 << 18
	root := importing(t, constant(t, "f", 4), newData(t, make([]byte, size)))
	for _, at := range []int{0, piece - 1, piece, 2*piece + 5, size - 1} {
		damaging := func(ctx context.Context, output string, files []string, o export.CompileOptions) error {
			file := filepath.Join(o.Dir, "devc.bin")
			content := readFile(t, file)
			damaged := bytes.Clone(content)
			damaged[at] ^= 0x40
			require.NoError(t, os.WriteFile(file, damaged, 0o600))
			err := compileByCC(ctx, output, files, o)
			require.NoError(t, os.WriteFile(file, content, 0o600))
			return err
		}
		require.ErrorContains(t, failing(t, root, nil, export.Compile(damaging), export.StaticCheck()), "changed on its way",
			"byte %d", at)
	}
}

// compileByCC is a function that builds a library, for the option Compile.
func compileByCC(ctx context.Context, output string, files []string, o export.CompileOptions) error {
	args := []string{"-shared", "-fPIC", "-o", output}
	for _, dir := range o.Includes {
		args = append(args, "-I"+dir)
	}
	cmd := exec.CommandContext(ctx, "cc", append(append(args, o.Flags...), files...)...)
	cmd.Dir = o.Dir
	return cmd.Run()
}

// nvcc is another kind of driver: it must get only arguments that it supports.
func TestCUDASource(t *testing.T) {
	dir := t.TempDir()
	// replaces nvcc: rejects arguments that nvcc doesn't know, and compiles as C
	script := `#!/bin/bash
args=()
for a in "$@"; do
  case $a in
    -Xcompiler=*|-Xlinker=*) v=${a#*=}; [[ $a == -Xlinker* ]] && v=-Wl,$v; args+=("$v") ;;
    -f*|-Wl,*|-x|-w|*.s) echo "nvcc fatal: Unknown option '$a'" >&2; exit 1 ;;
    *.cu) args+=(-x c "$a" -x none) ;;
    *) args+=("$a") ;;
  esac
done
exec cc "${args[@]}"
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nvcc"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	m := importing(t, must.Open(runtime.NewCSource(string(readFile(t, "testdata/kernels.c")), "cu", []string{"add_one"},
		nil))(t), newData(t, []byte("x")))
	require.EqualValues(t, 3, call(t, modules.Load(t, exported(t, m)), "add_one", 2))
}
