//go:build cgo

package c_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirgen"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// passed returns a module after the passes that run before C is generated.
func passed(t testing.TB, m *tir.IRModule) *tir.IRModule {
	t.Helper()
	m = must.Get(transform.ForHost().Run(m, nil))(t)
	return m
}

// The results of the passes compile without warnings, too.
func TestEmit_AfterPasses(t *testing.T) {
	var funcs []*tir.PrimFunc
	for k := range uint64(20) {
		funcs = append(funcs, tirgen.Function(fmt.Sprintf("f%d", k), 1000+k))
	}
	code := emit(t, c.Emitter{}, passed(t, module(t, funcs...)))
	require.Contains(t, code, "_in_memory*)&", "vectors")
	compile(t, "passed", code, "-O1")
}

// Loops whose unrolling a pass has left to the compiler.
func TestEmit_UnrollByCompiler(t *testing.T) {
	n, i, j := i64("n"), i64("i"), i64("j")
	a := tir.NewBuffer("A", tir.Float32, n, tir.I64(8))
	inner := &tir.For{Kind: tir.Unrolled, Var: j, Min: tir.I64(0), Extent: tir.I64(8), Body: store(a, tir.F32(1), i, j)}
	f := tensors("ones", &tir.For{Var: i, Min: tir.I64(0), Extent: n,
		Annotations: map[string]any{"unroll_explicit": int64(0)}, Body: inner}, a)
	m := passed(t, module(t, f))
	code := emit(t, c.Emitter{}, m)
	require.Contains(t, code, "    tvmgo_unroll(8)\n    for (int64_t j = 0; j < 8; ++j) {")
	compile(t, "unroll", code, "-O0", "-O2")
	out := modules.Empty(t, tir.Float32, 2, 8)
	must.Get(modules.Call(t, loaded(t, c.Emitter{}, m), "ones", out))(t)
	for _, v := range modules.Slice[float32](t, out) {
		require.Equal(t, float32(1), v)
	}
}
