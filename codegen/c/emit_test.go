package c_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/tir"
)

var update = flag.Bool("update", false, "write the golden files")

func emit(t testing.TB, e c.Emitter, m *tir.IRModule) string {
	t.Helper()
	code, err := e.Emit(m, nil)
	require.NoError(t, err)
	return code
}

// all are the programs, as one module.
func all(t testing.TB) *tir.IRModule {
	funcs := []*tir.PrimFunc{vadd("vadd", tir.Float32, tir.Serial), vadd("vadd_parallel", tir.Float32, tir.Parallel), vaddVectors("vadd_vectors", tir.Float32, 8),
		vaddVectors("vadd_six", tir.Float64, 6), vadd("vadd_half", tir.Float16, tir.Serial), vaddVectors("vadd_bfloat", tir.BFloat16, 4), matmul(), softmax(), gather(),
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
			out, err := exec.Command(compiler, "-std=c11", level, "-Wall", "-Wextra", "-Werror", "-fPIC", "-I../../include", "-c", path, "-o", path+".o").CombinedOutput()
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
