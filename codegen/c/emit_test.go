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

// A parallel loop of few steps runs on the calling thread. With sizes that are known at run time only, the code
// decides; it uses threads if it does not know what an iteration costs.
func TestEmit_Grain(t *testing.T) {
	n, m, i, j := i64("n"), i64("m"), i64("i"), i64("j")
	a := tir.NewBuffer("A", tir.Float32, n, m)
	set := store(a, tir.F32(1), i, j)
	row := loop(tir.Serial, j, m, set)
	call := &tir.Evaluate{Value: &tir.Call{Kind: tir.CallExtern, Name: "f", Type: tir.Int32}}
	parallel := func(v *tir.Var, n tir.Expr, body ...tir.Stmt) tir.Stmt {
		return loop(tir.Parallel, v, n, tir.Sequence(body...))
	}
	columns := func(extent tir.Expr, s tir.Stmt) tir.Stmt { return loop(tir.Serial, j, extent, s) }
	for _, k := range []struct {
		tasks string
		body  tir.Stmt
	}{
		{"(double)n * (double)m < 16384.0 ? 1 : 0", parallel(i, n, row)},
		{"17.0 * (double)n * (double)m < 16384.0 ? 1 : 0",
			parallel(i, n, columns(m, store(a, tir.Intrin("exp", at(a, i, j)), i, j)))},
		{"8.0 * ((double)n + 3.0) < 16384.0 ? 1 : 0",
			parallel(i, tir.Add(n, tir.I64(3)), columns(tir.I64(8), set))},
		{"0.25 * (double)n * ((double)m + -2.0) < 16384.0 ? 1 : 0",
			parallel(i, tir.FloorDiv(n, tir.I64(4)), columns(tir.Sub(m, tir.I64(2)), set))},
		{"(double)n * ((double)m + 1.0) < 16384.0 ? 1 : 0",
			parallel(i, n, row, store(a, tir.F32(2), i, tir.I64(0)))},
		{"0", parallel(i, tir.I64(4), columns(tir.I64(4), set))},
		{"0", parallel(i, n, row, call)},
		{"0", parallel(i, n, columns(i, set))}, // unknown outside of the loop
	} {
		code := emit(t, c.Emitter{}, module(t, tensors("f", k.body, a)))
		require.Contains(t, code, "_args, "+k.tasks+");")
		compile(t, "grain", code, "-O1")
	}
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
