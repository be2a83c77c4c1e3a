package main_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// The library without code generators, and its name in programs that are linked with it.
const (
	runtimeLibrary = "libtvmgo_runtime.so"
	runtimeSoname  = runtimeLibrary + ".0"
)

// libtvmgo_runtime.so has the same ABI as libtvmgo.so, and no code generators; it is much smaller.
func TestRuntimeLibrary(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	linked := []string{"-L" + l.path("lib"), "-ltvmgo_runtime", "-Wl,-rpath," + l.path("lib")}
	l.runOK(t, nil, l.compile(t, "runtime_test", "runtime_test.c", linked...))
	program := l.compile(t, "artifact_runtime_test", "artifact_test.c", linked...)
	for _, file := range []string{l.modern("addone_llvm"), l.classic("addone_llvm")} {
		l.runOK(t, nil, program, file, l.path("artifacts"), "addone")
	}
	model := filepath.Join(t.TempDir(), "model.so")
	out, err := exec.Command(filepath.Join(l.dist, "bin", "tvmgo"), "compile", filepath.Join(graphs(t), "model.graph"),
		"-o", model).CombinedOutput()
	require.NoError(t, err, "%s", out)
	l.runOK(t, nil, l.compile(t, "compile_runtime_test", "compile_test.c", linked...), "run", model)
	r := l.run(t, nil, l.path("bin", "compile_runtime_test"), graphs(t))
	require.Contains(t, r.out, "no global function tvmgo.compile")
	object := filepath.Join(filepath.Dir(model), "object.o")
	shell(t, filepath.Dir(model), "", "echo 'int x;' | cc -x c -c - -o object.o")
	r = l.run(t, nil, l.path("bin", "compile_runtime_test"), "run", object)
	require.Contains(t, r.out, "libtvmgo_runtime.so does not link objects: use libtvmgo.so")
	f := must.Open(elf.Open(l.path("lib", runtimeLibrary)))(t)
	require.Equal(t, exportedVersions(t), exportsOf(t, f))
	require.Equal(t, []string{runtimeSoname}, must.Get(f.DynString(elf.DT_SONAME))(t))
	whole, small := must.Get(os.Stat(l.library()))(t), must.Get(os.Stat(l.path("lib", runtimeLibrary)))(t)
	require.Less(t, small.Size(), whole.Size()*3/5)
}

// Programs link the library without code generators by pkg-config and CMake.
func TestRuntimeLibrary_Package(t *testing.T) {
	src, prefix := project(t)
	shell(t, src, prefix, `cc app.c -I"$2/include" -L"$2/lib" -ltvmgo_runtime -o plain`)
	works(t, filepath.Join(src, "plain"), prefix, runtimeSoname)
	shell(t, src, prefix, `cc app.c -I"$2/include" "$2/lib/libtvmgo_runtime.a" -lpthread -ldl -lm -o static`)
	works(t, filepath.Join(src, "static"), prefix, noLibrary)
	tool(t, "pkg-config")
	shell(t, src, prefix, `cc app.c $(pkg-config --cflags --libs tvmgo_runtime) -o packaged`)
	works(t, filepath.Join(src, "packaged"), prefix, runtimeSoname)
	// With the static library alone.
	shell(t, src, prefix, `rm "$2"/lib/*.so*
cc $(pkg-config --cflags tvmgo_runtime) app.c $(pkg-config --static --libs tvmgo_runtime) -o alone`)
	works(t, filepath.Join(src, "alone"), prefix, noLibrary)
}
