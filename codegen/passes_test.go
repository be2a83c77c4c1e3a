package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirgen/gentest"
	"tvmgo/runtime"
	"tvmgo/target"
)

// source returns the C code of a module.
func source(t testing.TB, m *runtime.Module) string {
	t.Helper()
	return must.Get(m.GetSource(""))(t)
}

// The kinds of loops are visible in the generated C: vectors, guards only for the remaining iterations, and unrolled
// iterations.
func TestBuild_PassesOfKindC(t *testing.T) {
	code := source(t, built(t, dense(t, 13, 7, 29), kind(t, "c")))
	require.Contains(t, code, "typedef float float32x8 __attribute__((vector_size(32)));")
	require.Contains(t, code, "*(float32x8_in_memory*)&out[")
	require.Contains(t, code, "*(float32x4_in_memory*)&out[", "of the 29th column's five a vector of four")
	require.NotContains(t, code, "likely")
	passes, ok := target.Attr[any](kind(t, "c").Kind(), codegen.ColumnPasses)
	require.True(t, ok)
	require.NotEmpty(t, passes.([]codegen.Pass))
}

// Random programs compute in C, after the passes of kind c, what the interpreter computes before the passes.
func TestBuild_RandomLikeInterpreter(t *testing.T) {
	const functions = 48
	p := gentest.New(t, functions, 0)
	b := built(t, p.Module, kind(t, "c"))
	require.Greater(t, strings.Count(source(t, b), "_in_memory*)&"), functions/2, "vectors")
	p.Compare(t, b, "kind c")
}
