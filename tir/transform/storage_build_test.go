package transform_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
)

func TestMain(m *testing.M) {
	os.Setenv("TVMGO_CACHE_DIR", "off") // every run compiles
	os.Exit(m.Run())
}

// compiled are functions as the CPU runs them.
func compiled(t *testing.T, funcs []*tir.PrimFunc) *runtime.Module {
	t.Helper()
	m, err := tir.NewModule(funcs...)
	require.NoError(t, err)
	built, err := codegen.Build(m, targetFor(t, "c"))
	require.NoError(t, err)
	t.Cleanup(func() { built.Close() })
	return built
}

// callCompiled calls a function with arrays, which get what it writes.
func callCompiled(t *testing.T, m *runtime.Module, name string, args []any) {
	t.Helper()
	f, err := m.Function(name)
	require.NoError(t, err)
	defer f.Close()
	tensors := make([]any, len(args))
	for i, a := range args {
		a := a.(*tirrun.Array)
		x, err := runtime.NewTensor(a.DType, a.Shape, runtime.CPU)
		require.NoError(t, err)
		defer x.Close()
		require.NoError(t, x.CopyFromBytes(a.Data))
		tensors[i] = x
	}
	_, err = f.Call(tensors...)
	require.NoError(t, err)
	for i, a := range args {
		require.NoError(t, tensors[i].(*runtime.Tensor).CopyToBytes(a.(*tirrun.Array).Data))
	}
}

// Programs of narrow types give in C, built as anyone builds, what the interpreter gives for them.
func TestLegalizeTypes_Compiled(t *testing.T) {
	const functions = 24
	seed := storageSeed(t)
	p := &narrowProgram{Rand: rand.New(rand.NewPCG(seed, 7)), short: true}
	var funcs []*tir.PrimFunc
	for k := range functions {
		funcs = append(funcs, p.function(fmt.Sprintf("f%d", k)))
	}
	m := compiled(t, funcs)
	reference, err := tirrun.Compile(&tir.IRModule{Funcs: funcs}, tirrun.Options{})
	require.NoError(t, err)
	for _, f := range funcs {
		args := narrowArguments(t, f, p.Rand)
		again := cloned(args)
		_, err = reference.Call(f.Name, args...)
		require.NoError(t, err)
		callCompiled(t, m, f.Name, again)
		last := len(args) - 1
		sameNumbers(t, args[last].(*tirrun.Array), again[last].(*tirrun.Array), func() string { return tir.Print(f) })
	}
}

// Programs with allocations give in C, where they share memory, what the interpreter gives for them.
func TestReuseStorage_Compiled(t *testing.T) {
	const functions = 10
	seed := storageSeed(t)
	var funcs []*tir.PrimFunc
	for k := range functions {
		p := &storageProgram{Rand: rand.New(rand.NewPCG(seed, uint64(1000+k))), types: storageTypes, seen: map[string]int{}}
		f := p.function(fmt.Sprintf("f%d", k))
		in := f.Buffers[f.Params[0]] // a tensor of its own
		in.Strides, in.Offset = nil, nil
		funcs = append(funcs, f)
	}
	m := compiled(t, funcs)
	reference, err := tirrun.Compile(&tir.IRModule{Funcs: funcs}, tirrun.Options{})
	require.NoError(t, err)
	for _, f := range funcs {
		values := make([]float32, 20)
		for i := range values {
			values[i] = float32(i*37%91) / 4
		}
		in, err := tirrun.From(tir.Float32, values, 4, 5)
		require.NoError(t, err)
		out, err := tirrun.New(tir.Int32, 3, 4)
		require.NoError(t, err)
		args := []any{in, out}
		again := cloned(args)
		_, err = reference.Call(f.Name, args...)
		require.NoError(t, err)
		callCompiled(t, m, f.Name, again)
		require.Equal(t, args[1].(*tirrun.Array).Data, again[1].(*tirrun.Array).Data, tir.Print(f))
	}
}
