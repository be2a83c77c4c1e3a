package export_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// failing exports to an existing file. The file must not change, no other file may appear beside it, and no temporary
// files may be left, except a failed compiler's input if the caller keeps it.
func failing(t *testing.T, m *runtime.Module, kind error, options ...export.Option) error {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "deploy.so")
	require.NoError(t, os.WriteFile(path, []byte("older"), 0o600))
	err := export.Library(ctx, m, path, options...)
	require.Error(t, err)
	if kind != nil {
		require.ErrorIs(t, err, kind, "%v", err)
	}
	var e *runtime.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Code)
	require.ErrorContains(t, err, "export "+path+": ")
	require.Equal(t, "older", string(readFile(t, path)))
	require.Equal(t, []string{"deploy.so"}, names(t, filepath.Dir(path)))
	var failed *export.CompileError
	if errors.As(err, &failed) && failed.Dir != "" {
		require.ErrorContains(t, err, "kept in "+failed.Dir)
		require.DirExists(t, failed.Dir)
	} else if failed != nil {
		require.ErrorContains(t, err, "the option KeepFiles (--keep of tvmgo build and tvmgo pack) names a folder")
	}
	require.Empty(t, names(t, os.TempDir()), "%v", err)
	return err
}

func TestLibrary_Modules(t *testing.T) {
	twoModules := func(first, second *runtime.Module) *runtime.Module { return importing(t, first, second) }
	unsaved := func() *runtime.Module {
		return must.Open(runtime.NewModule("test.unsaved", runtime.Runnable, &data{}))(t)
	}
	closed := must.Open(runtime.NewCSource("", "c", nil, nil))(t)
	closed.Close()
	for name, c := range map[string]struct {
		m    *runtime.Module
		kind error
		says []string
	}{
		"nil":    {nil, runtime.ErrClosed, []string{"closed, or nil"}},
		"closed": {closed, runtime.ErrClosed, []string{"closed, or nil"}},
		"no identifier": {cSource(t, "", "add one"), runtime.ErrInvalidArgument,
			[]string{`module root (kind "c")`, `"add one" is no C identifier`}},
		"two of a name": {twoModules(constant(t, "f", 1), twoModules(newData(t, nil), constant(t, "f", 2))),
			runtime.ErrInvalidArgument,
			[]string{`module root (kind "c") and module root.imports[0].imports[0] (kind "c") both have a function "f"`}},
		"spelled two ways": {twoModules(constant(t, "f", 1), cSource(t, "", "__tvm_ffi_f")), runtime.ErrInvalidArgument,
			[]string{"both have a function"}},
		"not saved": {twoModules(constant(t, "f", 1), twoModules(newData(t, nil), unsaved())), runtime.ErrNotSupported,
			[]string{`module root.imports[0].imports[0] (kind "test.unsaved")`, "neither linked nor saved"}},
		"saving fails": {twoModules(newData(t, nil),
			must.Open(runtime.NewModule("test.base", runtime.Serializable, base{}))(t)),
			runtime.ErrNotSupported,
			[]string{`module root.imports[0] (kind "test.base")`}},
		"no format": {must.Open(runtime.NewModule("test.base", runtime.Exportable, base{}))(t), runtime.ErrNotSupported,
			[]string{`module root (kind "test.base")`}},
		"unknown format": {must.Open(runtime.NewModule("test.base", runtime.Exportable, odd{}))(t), runtime.ErrNotSupported,
			[]string{`module root (kind "test.base")`, "saved only as docx"}},
		"merge closes a circle": {twoModules(constant(t, "f", 1),
			twoModules(newData(t, nil), twoModules(newData(t, []byte("x")), constant(t, "g", 2)))),
			runtime.ErrInvalidArgument, []string{
				`module root (kind "c") and module root.imports[0].imports[0].imports[0] (kind "c") are both linked, ` +
					`and become one library. It would import itself: ` +
					`the first imports module root.imports[0] (kind "test.data")`}},
		"function is missing": {cSource(t, "static int __tvm_ffi_f(void) { return 0; }", "f"), runtime.ErrInvalidArgument,
			[]string{`module root (kind "c") lists the function "f", but the library has neither __tvm_ffi_f nor f`}},
		"generations mixed": {twoModules(classicConstant(t, "f", 1), newData(t, nil)), runtime.ErrInvalidArgument,
			[]string{"choose the other Layout"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := failing(t, c.m, c.kind)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
		})
	}
}

type base struct{ runtime.ModuleBase }

func (base) Function(string) (*runtime.Function, error) { return nil, runtime.ErrNotFound }

type odd struct{ base }

func (odd) WriteFormats() []string { return []string{"docx"} }

// A cycle of imports can't be made at all.
func TestLibrary_CircleIsRefusedBefore(t *testing.T) {
	a, b := newData(t, []byte("a")), newData(t, []byte("b"))
	importing(t, a, b)
	require.ErrorContains(t, b.Import(a), "yclic")
	exported(t, a)
}

func TestLibrary_Options(t *testing.T) {
	m := importing(t, constant(t, "f", 1), newData(t, nil))
	dir := t.TempDir()
	for name, c := range map[string]struct {
		options []export.Option
		kind    error
		says    string
	}{
		"layout of one version": {[]export.Option{export.Layout(blob.LegacyFFI)}, runtime.ErrInvalidArgument,
			"read by TVM v0.21 alone"},
		"nil":                   {[]export.Option{nil}, runtime.ErrInvalidArgument, "option 0 is nil"},
		"layout unknown":        {[]export.Option{export.Layout(77)}, runtime.ErrInvalidArgument, "layout(77)"},
		"prefix":                {[]export.Option{export.SystemLibrary("a-b")}, runtime.ErrInvalidArgument, `prefix "a-b"`},
		"shared system library": {[]export.Option{export.SystemLibrary("a_")}, runtime.ErrInvalidArgument, "export a .a"},
		"packing":               {[]export.Option{export.Pack(9)}, runtime.ErrInvalidArgument, "packing 9"},
		"zero byte":             {[]export.Option{export.Flags("-D\x00")}, runtime.ErrInvalidArgument, "zero byte"},
		"no compiler's name":    {[]export.Option{export.Compiler("")}, runtime.ErrInvalidArgument, "empty path"},
		"no such compiler": {[]export.Option{export.Compiler("no-such-cc")}, runtime.ErrNotFound,
			`"no-such-cc" of the option Compiler`},
		"no such object": {[]export.Option{export.Objects(filepath.Join(dir, "none.o"))}, runtime.ErrNotFound,
			"none.o"},
		"object is a folder": {[]export.Option{export.Objects(dir)}, runtime.ErrInvalidArgument, "no ordinary file"},
		"symbols are hidden": {[]export.Option{export.Flags("-fvisibility=hidden")}, runtime.ErrInvalidArgument,
			"hidden by a flag"},
		"compiler and flags": {[]export.Option{export.Compiler("cc -O1")}, runtime.ErrNotFound,
			"give arguments apart from it"},
		"library of no name": {[]export.Option{export.Libraries("m", "")}, runtime.ErrInvalidArgument, "an empty name"},
		"no such library": {[]export.Option{export.Libraries("no-such-library-x")}, runtime.ErrFailed,
			"no-such-library-x"},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, failing(t, m, c.kind, c.options...), c.says) })
	}
}

func TestLibrary_Paths(t *testing.T) {
	m := constant(t, "f", 1)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.so"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.so"), 0o600))
	require.NoError(t, os.Symlink("loop.so", filepath.Join(dir, "loop.so")))
	readOnly := filepath.Join(dir, "readonly")
	require.NoError(t, os.Mkdir(readOnly, 0o555))
	if os.Getuid() == 0 {
		readOnly = "/proc/self" // where no file can be created
	}
	for path, says := range map[string]string{
		"":                                     "the path is empty",
		"x":                                    `the suffix "" of the path is unknown: it must be .so`,
		"x.dll":                                `the suffix ".dll" of the path is unknown`,
		"x.so.1":                               `the suffix ".1"`,
		"a\x00b.so":                            "zero byte",
		filepath.Join(dir, "folder.so"):        "a folder of this name",
		filepath.Join(dir, "pipe.so"):          "no ordinary file",
		filepath.Join(dir, "missing", "x.so"):  "does not exist",
		filepath.Join(readOnly, "x.so"):        "in the folder",
		filepath.Join(dir, "pipe.so", "in.so"): "in the folder",
		"/dev/full":                            "suffix",
		filepath.Join(dir, "loop.so"):          "links of this name lead back",

		filepath.Join(dir, strings.Repeat("n", 253)+".so"): "longer than the file system allows",
	} {
		err := export.Library(ctx, m, path)
		require.ErrorContains(t, err, says, "%q", path)
		require.ErrorContains(t, err, "export ")
		require.False(t, strings.ContainsRune(err.Error(), 0), "%q", path)
	}
	require.Len(t, names(t, dir), 4)
}

func TestLibrary_NoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, v := range []string{"CC", "CXX", "NVCC"} {
		t.Setenv(v, "")
	}
	err := failing(t, constant(t, "f", 1), runtime.ErrNotFound)
	require.ErrorContains(t, err, "none of cc, gcc, clang is in PATH: install a C compiler")
	for format, says := range map[string]string{"cc": "install a C++ compiler", "cu": "put nvcc into PATH"} {
		m := must.Open(runtime.NewCSource("", format, nil, nil))(t)
		require.ErrorContains(t, failing(t, m, runtime.ErrNotFound), says)
	}
	t.Setenv("CC", "/no/such/cc -O1")
	require.ErrorContains(t, failing(t, constant(t, "f", 1), runtime.ErrNotFound),
		`"/no/such/cc" of the environment variable CC`)
}

func TestLibrary_FailingCompiler(t *testing.T) {
	broken := cSource(t, "\nint broken(;\n", "broken")
	require.NotContains(t, failing(t, broken, runtime.ErrFailed).Error(), "kept in")
	err := failing(t, broken, runtime.ErrFailed, export.KeepFiles(t.TempDir()))
	var failed *export.CompileError
	require.ErrorAs(t, err, &failed)
	require.Contains(t, failed.Output, "lib0.c:2", "the compiler's own words")
	require.Contains(t, strings.Join(failed.Command, " "), filepath.Join(failed.Dir, "lib0.c"))
	require.Equal(t, "\nint broken(;\n", string(readFile(t, filepath.Join(failed.Dir, "lib0.c"))))
	require.ErrorContains(t, err, strings.Join(failed.Command[1:3], " "))
	require.ErrorContains(t, err, failed.Output[:20])

	// at the link: two definitions, neither of which is listed
	twice := importing(t, cSource(t, "int same(void) { return 1; }"), cSource(t, "int same(void) { return 2; }"))
	err = failing(t, twice, runtime.ErrFailed)
	require.ErrorContains(t, err, "multiple definition")
	require.ErrorContains(t, err, "-shared")
}

// A library that can't be loaded is detected before the file appears.
func TestLibrary_ChildRefuses(t *testing.T) {
	m := cSource(t, "int missing_function(void);\nint __tvm_ffi_f(void) { return missing_function(); }", "f")
	err := failing(t, m, runtime.ErrFailed)
	require.ErrorContains(t, err, "undefined symbol: missing_function")
	require.ErrorContains(t, err, "StaticCheck")
	exported(t, m, export.StaticCheck())

	crash := cSource(t, "__attribute__((constructor)) static void die(void) { __builtin_trap(); }\nint __tvm_ffi_f(void) "+
		"{ return 0; }", "f")
	require.ErrorContains(t, failing(t, crash, runtime.ErrFailed), "signal")

	leaves := cSource(t, "#include <stdlib.h>\n__attribute__((constructor)) static void leave(void) { exit(0); }\nint "+
		"__tvm_ffi_f(void) { return 0; }", "f")
	require.ErrorContains(t, failing(t, leaves, runtime.ErrFailed), "a constructor ended the process")
}

// A folder for temporary files may forbid programs.
func TestLibrary_ChildCannotRun(t *testing.T) {
	dir := mounted(t, syscall.MS_NOEXEC, "")
	t.Setenv("TMPDIR", dir)
	path := filepath.Join(t.TempDir(), "deploy.so")
	err := export.Library(ctx, constant(t, "f", 1), path)
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, "set TMPDIR to a folder in which programs may be run, or use the option StaticCheck")
	require.Empty(t, names(t, dir))
	require.NoFileExists(t, path)
	require.NoError(t, export.Library(ctx, constant(t, "f", 1), path, export.StaticCheck()))
}

// The program that is named as the compiler may be any program.
func TestLibrary_OddCompilers(t *testing.T) {
	for script, says := range map[string]string{
		"exit 0": "ended without an error, and wrote nothing",
		`for a; do [ "$p" != -o ] || echo junk >"$a"; p=$a; done`: "the compiler wrote no ELF file",
		`for a; do [ "$p" != -o ] || { rm -f "$a"; mkdir "$a"; }; p=$a; done`: "ended without an error, and " +
			"wrote nothing",
		`printf 'a\377\000b' >&2; exit 1`: "a\ufffd\ufffdb",
		`echo first >&2; head -c 9000000 /dev/zero | tr '\000' x >&2; echo last >&2; exit 1`: "bytes …",
	} {
		path := filepath.Join(t.TempDir(), "my cc")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		err := failing(t, constant(t, "f", 1), runtime.ErrFailed, export.Compiler(path))
		require.ErrorContains(t, err, says)
		require.Less(t, len(err.Error()), 1<<17)
		if says == "bytes …" {
			require.ErrorContains(t, err, "first")
			require.ErrorContains(t, err, "last")
		}
	}
}

// The child defines all symbols that generated code imports from a runtime.
func TestLibrary_ChildKnowsTheRuntime(t *testing.T) {
	exports := string(readFile(t, "../capi/exports.map"))
	var calls, declarations strings.Builder
	count := 0
	for line := range strings.Lines(exports) {
		name := strings.TrimSuffix(strings.TrimSpace(line), ";")
		if strings.HasPrefix(name, "TVM") && !strings.ContainsAny(name, " {:") {
			declarations.WriteString("int " + name + "(void);\n")
			calls.WriteString("  if (n) " + name + "();\n")
			count++
		}
	}
	require.Greater(t, count, 80)
	exported(t, cSource(t, declarations.String()+"int __tvm_ffi_f(int n) {\n"+calls.String()+"  return 0;\n}\n", "f"))
}

func TestLibrary_FullDisk(t *testing.T) {
	dir := smallDisk(t)
	m := importing(t, constant(t, "f", 1), newData(t, make([]byte, 8<<20)))
	path := filepath.Join(dir, "deploy.so")
	t.Setenv("TMPDIR", t.TempDir())
	err := export.Library(ctx, m, path)
	require.EqualError(t, err, "export "+path+": write "+path+": no space left on device")
	require.Empty(t, names(t, dir))

	t.Setenv("TMPDIR", dir)
	err = export.Library(ctx, m, filepath.Join(t.TempDir(), "deploy.so"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Empty(t, names(t, dir))
}

// smallDisk returns a folder on a file system of 1 MiB.
func smallDisk(t *testing.T) string { return mounted(t, 0, "size=1m") }

// mounted returns a folder on a separate file system.
func mounted(t *testing.T, flags uintptr, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func TestLibrary_ContextStopsCompilers(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := t.TempDir()
	started := filepath.Join(dir, "started") // a pipe: a read waits until the compiler writes its process group
	require.NoError(t, syscall.Mkfifo(started, 0o600))
	compiler := filepath.Join(dir, "slow-cc")
	require.NoError(t, os.WriteFile(compiler, []byte("#!/bin/sh\nsleep 600 &\necho $$ >"+started+"\nwait\n"), 0o755))
	out := t.TempDir()
	ctx, cancel := context.WithCancel(ctx)
	said := make(chan string, 1)
	go func() {
		pipe, _ := os.Open(started)
		line, _ := bufio.NewReader(pipe).ReadString('\n')
		said <- line
		cancel()
	}()
	require.ErrorIs(t, export.Library(ctx, constant(t, "f", 1), filepath.Join(out, "deploy.so"),
		export.Compiler(compiler)), context.Canceled)
	group := must.Get(strconv.Atoi(strings.TrimSpace(<-said)))(t)
	require.Eventually(t, func() bool { return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }, 2*time.Minute,
		5*time.Millisecond,
		"what the compiler had started still runs")
	require.Empty(t, names(t, out))
	require.Empty(t, names(t, tmp))

	ended, stop := context.WithCancel(context.Background())
	stop()
	require.ErrorIs(t, export.Library(ended, constant(t, "f", 1), filepath.Join(out, "deploy.so")), context.Canceled)
}
