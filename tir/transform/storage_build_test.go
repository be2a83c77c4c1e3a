//go:build cgo

package transform_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

func TestMain(m *testing.M) {
	os.Setenv("TVMGO_CACHE_DIR", "off") // every run compiles
	os.Exit(m.Run())
}

// compiled builds functions for the CPU.
func compiled(t *testing.T, funcs []*tir.PrimFunc) *runtime.Module {
	t.Helper()
	m := must.Get(tir.NewModule(funcs...))(t)
	return must.Open(codegen.Build(m, targetFor(t, "c")))(t)
}

// callCompiled calls a function with arrays, which receive the results.
func callCompiled(t *testing.T, m *runtime.Module, name string, args []any) {
	t.Helper()
	f := must.Get(m.Function(name))(t)
	defer f.Close()
	tensors := make([]any, len(args))
	for i, a := range args {
		a := a.(*tirrun.Array)
		x := must.Get(runtime.NewTensor(a.DType, a.Shape, runtime.CPU))(t)
		defer x.Close()
		require.NoError(t, x.CopyFromBytes(a.Data))
		tensors[i] = x
	}
	must.Get(f.Call(tensors...))(t)
	for i, a := range args {
		require.NoError(t, tensors[i].(*runtime.Tensor).CopyToBytes(a.(*tirrun.Array).Data))
	}
}

// Programs of narrow types, built by codegen.Build, compute in C what the interpreter computes.
func TestLegalizeTypes_Compiled(t *testing.T) {
	const functions = 12
	seed := testseed.Of(t)
	p := &narrowProgram{Rand: rand.New(rand.NewPCG(seed, 7)), short: true}
	var funcs []*tir.PrimFunc
	for k := range functions {
		funcs = append(funcs, p.function(fmt.Sprintf("f%d", k)))
	}
	m := compiled(t, funcs)
	reference := must.Get(tirrun.Compile(&tir.IRModule{Funcs: funcs}, tirrun.Options{}))(t)
	for _, f := range funcs {
		args := narrowArguments(t, f, p.Rand)
		again := cloned(args)
		must.Get(reference.Call(f.Name, args...))(t)
		callCompiled(t, m, f.Name, again)
		last := len(args) - 1
		sameNumbers(t, args[last].(*tirrun.Array), again[last].(*tirrun.Array), func() string { return text.Print(f) })
	}
}

// Programs that share memory, also by views of other types and shapes, compute in C what the interpreter computes for
// the original programs.
func TestReuseStorage_Compiled(t *testing.T) {
	use := func(b, n, value string) string { return fill(b, n, value) + take(b, n) }
	var funcs []*tir.PrimFunc
	for i, body := range []string{
		"alloc a: float32[400]\n" + use("a", "400", "cast(float32, $) / 2.0") + "alloc b: int32[400]\n" +
			use("b", "400", "$ * 3") + "alloc c: int16[20, 30]\n" +
			"for i in range(20) { for j in range(30) { c[i, j] = cast(int16, i * 40 + j) } }\nfor i in range(20) { out[i] = " +
			"out[i] + cast(int32, c[i, 29 - i]) }",
		"alloc a: int8[64]\n" + use("a", "64", "cast(int8, $)") + "alloc b: float64[8]\n" +
			use("b", "8", "cast(float64, $) * 4.0"),
		"alloc a: int32[n]\n" + use("a", "n", "$ + n") + "alloc b: float32[n]\n" +
			use("b", "n", "cast(float32, $ + 7)"),
		"parallel k in range(8) {\nalloc a: float32[500]\n" + fill("a", "500", "cast(float32, $ + k)") +
			"alloc s: float32[1] {\ns[0] = 0.0\n" +
			"for i in range(500) { s[0] = s[0] + a[i] }\nout[k] = cast(int32, s[0])\n}\nalloc b: int64[250]\n" +
			fill("b", "250", "cast(int64, $ * k)") +
			"for i in range(250) { out[k] = out[k] + cast(int32, b[i]) }\n}",
		"alloc a: float32[16] {\na[ramp(0, 1, 16)] = broadcast(1.5, 16)\n" + take("a", "16") +
			"}\nalloc b: int32[16] {\nb[ramp(0, 1, 16)] = ramp(n, 2, 16)\n" + take("b", "16") + "}",
	} {
		f := *parsed(t, body)
		f.Name = fmt.Sprint("f", i)
		g := oneFunc(t, transform.ReuseStorage, &f)
		_, _, before := allocated(f.Body)
		_, _, after := allocated(g.Body)
		require.Less(t, after, before)
		funcs = append(funcs, &f)
	}
	m := compiled(t, funcs)
	reference := must.Get(tirrun.Compile(&tir.IRModule{Funcs: funcs}, tirrun.Options{}))(t)
	for _, f := range funcs {
		want := must.Get(tirrun.New(tir.Int32, 64))(t)
		must.Get(reference.Call(f.Name, want, 40))(t)
		compute := must.Get(m.Function(f.Name))(t)
		defer compute.Close()
		x := must.Get(runtime.NewTensor(tir.Int32, []int64{64}, runtime.CPU))(t)
		defer x.Close()
		require.NoError(t, x.CopyFromBytes(make([]byte, 256)))
		must.Get(compute.Call(x, 40))(t)
		got := make([]byte, 256)
		require.NoError(t, x.CopyToBytes(got))
		require.Equal(t, want.Data, got, text.Print(f))
	}
}
