package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// hppWarnings are the warnings that a user may enable.
var hppWarnings = []string{"-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"}

// acceptsCPP lets a compiler check hpp*_test.cc without making code, with all warnings.
func (l *lab) acceptsCPP(t *testing.T, compiler, standard string) {
	t.Helper()
	r := l.run(t, nil, slices.Concat([]string{compiler, standard, "-fsyntax-only", "-I" + l.path("include")},
		hppWarnings, l.hppSources(t))...)
	require.True(t, r.ok, r.out)
}

// compileCPP builds bin/<program> of hpp*_test.cc with all warnings.
func (l *lab) compileCPP(t *testing.T, program string, flags ...string) string {
	t.Helper()
	out := l.path("bin", program)
	r := l.run(t, nil, slices.Concat([]string{"c++", "-I" + l.path("include"), "-o", out}, hppWarnings,
		l.hppSources(t), flags, l.linked(), []string{"-pthread"})...)
	require.True(t, r.ok, r.out)
	return out
}

func (l *lab) hppSources(t *testing.T) []string {
	t.Helper()
	return must.Get(filepath.Glob(l.path("src", "hpp*_test.cc")))(t)
}

// cppRuns are the tests of each build of hpp_test.cc: the classes alone, and every CPU module.
func cppRuns(t *testing.T, l *lab, program string, env ...string) {
	t.Helper()
	l.runOK(t, env, program)
	l.runOK(t, env, append([]string{program, "--model"}, l.mlpFiles()...)...)
	graph := strings.TrimSuffix(l.classic("graph_mlp"), ".so")
	l.runOK(t, env, program, "--graph", graph+".so", graph+"_in0.npy", graph+"_out.npy")
	all := []string{"addone", "vadd", "matmul", "softmax"}
	for file, functions := range map[string][]string{
		l.modern("addone_llvm"):  {"addone"},
		l.modern("multi_llvm"):   all,
		l.modern("multi_c"):      all,
		l.modern("multi_c_now"):  all,
		l.classic("addone_llvm"): {"addone"},
		l.classic("multi_llvm"):  all,
	} {
		l.runOK(t, env, append([]string{program, file, l.path("artifacts")}, functions...)...)
	}
}

// Programs run as C++17, under sanitizers and not, and both compilers accept them as C++20. With TVMGO_TEST_ALL they
// also run as C++20, optimised, and compiled by clang.
func TestHpp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := os.Getenv("TVMGO_TEST_ALL") != ""
	t.Run("c++17", func(t *testing.T) { cppRuns(t, l, l.compileCPP(t, "hpp_17", "-std=c++17")) })
	t.Run("c++20", func(t *testing.T) {
		if !all {
			l.acceptsCPP(t, "c++", "-std=c++20")
			return
		}
		l.runOK(t, nil, l.compileCPP(t, "hpp_20", "-std=c++20"))
	})
	t.Run("optimised", func(t *testing.T) {
		if !all {
			t.Skip("compiles for a minute: set TVMGO_TEST_ALL=1")
		}
		cppRuns(t, l, l.compileCPP(t, "hpp_O3", "-std=c++17", "-O3"), "TVMGO_PRIVATE_LOAD=1")
	})
	t.Run("sanitized", func(t *testing.T) {
		machine.NeedNative(t, "the address sanitizer does not work with threads under qemu-user")
		program := l.compileCPP(t, "hpp_sanitized", "-std=c++17", "-g1", "-fsanitize=address,undefined",
			"-fno-sanitize-recover=undefined")
		cppRuns(t, l, program, "ASAN_OPTIONS=detect_stack_use_after_return=1")
	})
	t.Run("clang", func(t *testing.T) {
		if _, err := exec.LookPath("clang++"); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip("no clang++ here")
		}
		if !all {
			l.acceptsCPP(t, "clang++", "-std=c++20")
			return
		}
		program := l.path("bin", "hpp_clang")
		r := l.run(t, nil, slices.Concat([]string{"clang++"}, hppWarnings, []string{"-std=c++17", "-O1",
			"-I" + l.path("include"), "-o", program, "-pthread"}, l.hppSources(t), l.linked())...)
		require.True(t, r.ok, r.out)
		cppRuns(t, l, program)
	})
}

// Invalid types of arguments and results do not compile, and the message says why.
func TestHpp_DoesNotCompile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for statement, want := range map[string]string{
		"int x = 0; f(&x);":                                   "a pointer has to be a void* or a DLTensor*",
		"f(1).as<std::string_view>();":                        "a result is owned",
		"f(1).as<DLTensor*>();":                               "a result is owned",
		"f(1).as<std::vector<float>>();":                      "no value is converted to this type",
		"tvmgo::Tensor::empty<std::string>({1});":             "tensors hold integers, float, double or bool",
		"tvmgo::Tensor::empty<float>({1}).to_vector<bool>();": "std::vector<bool> has no elements",
	} {
		source := "#include <tvmgo/tvmgo.hpp>\nvoid use(tvmgo::Function f) { (void)f; " + statement + " }\n"
		r := l.run(t, []string{"SOURCE=" + source}, "sh", "-c",
			`printf %s "$SOURCE" | c++ -std=c++17 -fsyntax-only "-I$TVMGO_INCLUDE" -xc++ -`)
		require.False(t, r.ok, statement)
		require.Contains(t, r.out, want, statement)
	}
}

// The headers define no macros except their include guards.
func TestHpp_Macros(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	macros := func(include string) map[string]bool {
		r := l.run(t, []string{"SOURCE=" + include}, "sh", "-c",
			`printf '%s\n' "$SOURCE" | c++ -std=c++17 -dM -E "-I$TVMGO_INCLUDE" -xc++ -`)
		require.True(t, r.ok, r.out)
		names := map[string]bool{}
		for line := range strings.Lines(r.out) {
			if fields := strings.Fields(line); len(fields) > 1 {
				names[fields[1]] = true
			}
		}
		return names
	}
	before := macros("#include <tvm/ffi/c_api.h>\n#include <tvm/runtime/c_runtime_api.h>")
	var ours []string
	for name := range macros("#include <tvmgo/tvmgo.hpp>") {
		if !before[name] && strings.Contains(name, "TVM") {
			ours = append(ours, name)
		}
	}
	guards := []string{"TVMGO_MODEL_H_", "TVMGO_MODEL_INLINE_H_", "TVMGO_MODEL_SIGNATURE_H_"}
	headers, err := filepath.Glob(l.path("include", "tvmgo", "*.hpp"))
	require.NoError(t, err)
	for _, header := range headers {
		name := strings.TrimSuffix(filepath.Base(header), ".hpp")
		guards = append(guards, "TVMGO_"+strings.ToUpper(name)+"_HPP_")
	}
	require.Contains(t, guards, "TVMGO_TVMGO_HPP_")
	require.ElementsMatch(t, guards, ours)
}
