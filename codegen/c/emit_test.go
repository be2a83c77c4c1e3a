package c_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

func emit(t testing.TB, e c.Emitter, m *tir.IRModule) string {
	t.Helper()
	return must.Get(e.Emit(m, nil))(t)
}

// all returns the programs as one module.
func all(t testing.TB) *tir.IRModule {
	funcs := []*tir.PrimFunc{vadd("vadd", tir.Float32, tir.Serial), vadd("vadd_parallel", tir.Float32, tir.Parallel),
		vaddVectors("vadd_vectors", tir.Float32, 8),
		vaddVectors("vadd_six", tir.Float64, 6), vadd("vadd_half", tir.Float16, tir.Serial),
		vaddVectors("vadd_bfloat", tir.BFloat16, 4), matmul(), softmax(), gather(),
		less(1), less(8)}
	return module(t, append(funcs, twice()...)...)
}

// compile compiles code with all warnings, by both compilers.
func compile(t testing.TB, name, code string, levels ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".c")
	require.NoError(t, os.WriteFile(path, []byte(code), 0o666))
	for _, compiler := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(compiler); err != nil {
			require.Empty(t, os.Getenv("CI"), err)
			t.Logf("no %s", compiler)
			continue
		}
		for _, level := range levels {
			out, err := exec.Command(compiler, "-std=c11", level, "-Wall", "-Wextra", "-Werror", "-fPIC", "-I../../include",
				"-c", path, "-o", path+".o").CombinedOutput()
			require.NoError(t, err, "%s %s:\n%s", compiler, level, out)
			require.Empty(t, string(out))
		}
	}
}

func TestEmit_CompilesWithoutWarnings(t *testing.T) {
	for _, classic := range []bool{false, true} {
		compile(t, fmt.Sprint("classic_", classic), emit(t, c.Emitter{Classic: classic}, all(t)), "-O0", "-O2")
	}
}

// A parallel loop, and the body of a function, know the variables of long formulas, which are written only once.
func TestEmit_LongFormulasInParallelLoops(t *testing.T) {
	n, i := i64("n"), i64("i")
	a, b := tir.NewBuffer("A", tir.Float32, n), tir.NewBuffer("B", tir.Float32, n)
	e := at(a, i)
	for range 10 {
		e = tir.Intrin("exp", tir.Mul(e, e))
	}
	code := emit(t, c.Emitter{}, module(t, tensors("long", loop(tir.Parallel, i, n, store(b, e, i)), a, b)))
	require.NotContains(t, code, "(void)A;")
	compile(t, "long", code, "-O0")
}

// Under sanitizers, with a runtime that fails at each of its calls once, nothing leaks, and no access is out of bounds.
func TestEmit_UnderSanitizers(t *testing.T) {
	m := all(t)
	m = module(t, append(m.Funcs, scratch("scratch", tir.Serial), scratch("scratch_parallel", tir.Parallel))...)
	dir := t.TempDir()
	path := filepath.Join(dir, "program.c")
	require.NoError(t, os.WriteFile(path, []byte(emit(t, c.Emitter{}, m)), 0o666))
	out, err := exec.Command("gcc", "-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
		"-fno-sanitize-recover=all",
		"-I../../include", "testdata/sanitized.c", path, "-lm", "-o", filepath.Join(dir, "run")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(filepath.Join(dir, "run")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "scratch 20\nscratch_parallel 21\nmatmul 1\nsoftmax 7\nvadd_vectors 1\nvadd_six 1\nvadd_half "+
		"0\nless_vectors 0\n", string(out))
}

// The golden file contains a complete generated source.
func TestEmit_Golden(t *testing.T) {
	code := emit(t, c.Emitter{}, module(t, matmul()))
	golden.Text(t, "testdata/matmul.golden.c", code)
}
