package main_test

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// cppHeaders returns the folder of tvm-ffi's public C++ headers, and the environment in which programs in the lab see
// it.
func cppHeaders(t *testing.T, l *lab) (include string, env []string) {
	t.Helper()
	python, env := withPython(t, l)
	r := l.run(t, env, python, "-c", `import sysconfig; print(sysconfig.get_path("purelib"))`)
	require.True(t, r.ok, r.out)
	return filepath.Join(strings.TrimSpace(r.out), "tvm_ffi", "include"), env
}

// cppCompile makes bin/<program> for the named files of testdata/cpp, in parallel.
func (l *lab) cppCompile(t *testing.T, program string, files []string, flags ...string) string {
	t.Helper()
	include, env := cppHeaders(t, l)
	flags = append([]string{"g++", "-std=c++17", "-g1", "-Wall", "-Wextra", "-Werror", "-Wno-sign-compare",
		"-isystem", include, "-pthread"}, flags...)
	objects := make([]string, len(files))
	outputs := make([]result, len(files))
	var tasks sync.WaitGroup
	limit := make(chan struct{}, 2)
	for i, file := range files {
		objects[i] = l.path("bin", program+"-"+file+".o")
		tasks.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			outputs[i] = l.run(t, env, append(slices.Clone(flags), "-c", "-o", objects[i], l.path("src", "cpp", file+".cc"))...)
		})
	}
	tasks.Wait()
	for i, r := range outputs {
		require.True(t, r.ok, "%s:\n%s", files[i], r.out)
	}
	out := l.path("bin", program)
	r := l.run(t, env, slices.Concat(flags, []string{"-o", out}, objects, l.linked())...)
	require.True(t, r.ok, r.out)
	return out
}

// C++ programs that use tvm-ffi's public headers need only our library.
func TestCpp(t *testing.T) {
	l := newLab(t)
	sources := must.Get(filepath.Glob(l.path("src", "cpp", "*.cc")))(t)
	var files []string
	for _, source := range sources {
		if name := strings.TrimSuffix(filepath.Base(source), ".cc"); name != "stress" {
			files = append(files, name)
		}
	}
	program := l.cppCompile(t, "cpp_areas", files)
	f := must.Open(elf.Open(program))(t)
	libraries := must.Get(f.ImportedLibraries())(t)
	require.Contains(t, libraries, "libtvmgo.so.0")
	require.NotContains(t, libraries, "libtvm_ffi.so")
	r := l.run(t, nil, program, "areas")
	require.True(t, r.ok, r.out)
	areas := strings.Fields(r.out)
	slices.Sort(areas)
	areas = slices.Compact(areas)
	require.NotEmpty(t, areas)
	for _, area := range areas {
		t.Run(area, func(t *testing.T) { l.runOK(t, nil, program, area) })
	}
	t.Run("all of them in one process", func(t *testing.T) {
		l.runOK(t, []string{"LD_BIND_NOW=1"}, program)
	})
}

// Threads that share a library, under the sanitizers of the C++ compiler. ThreadSanitizer does not see the
// synchronization inside the library, so calls from inside it are not checked; it does not model the fences of the
// headers either, but these are next to atomic counters, which it does.
func TestCpp_StressUnderSanitizers(t *testing.T) {
	l := newLab(t)
	suppressions := l.path("home", "tsan.txt")
	require.NoError(t, os.WriteFile(suppressions, []byte("called_from_lib:libtvmgo.so\n"), 0o644))
	for _, c := range []struct {
		name  string
		flags []string
		env   []string
	}{
		{"address", []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"}, nil},
		{"thread", []string{"-fsanitize=thread", "-Wno-tsan"},
			[]string{"TSAN_OPTIONS=suppressions='" + suppressions + "'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "thread" {
				machine.NeedNative(t, "the thread sanitizer does not work under qemu-user")
			}
			t.Parallel()
			program := l.cppCompile(t, "cpp_stress_"+c.name, []string{"stress"}, c.flags...)
			l.runOK(t, c.env, program, "50")
		})
	}
}
