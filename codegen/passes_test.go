package codegen_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/tirgen"
	"tvmgo/internal/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// source is the C of a module.
func source(t testing.TB, m *runtime.Module) string {
	t.Helper()
	code, err := m.GetSource("")
	require.NoError(t, err)
	return code
}

// What is said of loops is seen in the C that is generated: vectors, no guards but for what is left over, and turns that are written out.
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

// Random programs give in C, after the passes of kind c, what the interpreter makes of them before.
func TestBuild_RandomLikeInterpreter(t *testing.T) {
	const functions = 48
	seed := uint64(0)
	if s := os.Getenv("TVMGO_TEST_SEED"); s != "" {
		_, err := fmt.Sscan(s, &seed)
		require.NoError(t, err)
	}
	seed *= functions
	var all []*tir.PrimFunc
	for k := range uint64(functions) {
		all = append(all, tirgen.Function(fmt.Sprintf("f%d", k), seed+k))
	}
	m, err := tir.NewModule(all...)
	require.NoError(t, err)
	reference, err := tirrun.Compile(m, tirrun.Options{})
	require.NoError(t, err)
	b := built(t, m, kind(t, "c"))
	require.Greater(t, strings.Count(source(t, b), "_in_memory*)&"), functions/2, "vectors")
	for k, f := range all {
		want, err := tirgen.Arguments(f, seed+uint64(k))
		require.NoError(t, err)
		var got []any
		for _, a := range want {
			x, err := runtime.NewTensor(a.(*tirrun.Array).DType, a.(*tirrun.Array).Shape, runtime.CPU)
			require.NoError(t, err)
			t.Cleanup(func() { x.Close() })
			require.NoError(t, x.CopyFromBytes(a.(*tirrun.Array).Data))
			got = append(got, x)
		}
		_, wantErr := reference.Call(f.Name, want...)
		compiled, err := b.Function(f.Name)
		require.NoError(t, err)
		_, err = compiled.Call(got...)
		require.NoError(t, compiled.Close())
		what := fmt.Sprintf("seed %d", seed+uint64(k))
		if wantErr != nil {
			require.ErrorContains(t, err, "an assertion", what)
			continue
		}
		require.NoError(t, err, what)
		for i := range want {
			same(t, want[i].(*tirrun.Array), got[i].(*runtime.Tensor), fmt.Sprintf("%s, b%d:\n%s", what, i, tir.Print(f)))
		}
	}
}

// same compares elements; what is no number is like any other that is none.
func same(t *testing.T, want *tirrun.Array, got *runtime.Tensor, what string) {
	t.Helper()
	b := make([]byte, len(want.Data))
	require.NoError(t, got.CopyToBytes(b))
	if string(b) == string(want.Data) {
		return
	}
	x, err := tirrun.Values[float64](want)
	require.NoError(t, err)
	y, err := tirrun.Values[float64](&tirrun.Array{DType: want.DType, Shape: want.Shape, Data: b})
	require.NoError(t, err)
	for i := range x {
		if !math.IsNaN(x[i]) || !math.IsNaN(y[i]) {
			require.Equal(t, x[i], y[i], "element %d, %s", i, what)
		}
	}
}
