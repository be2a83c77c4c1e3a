package codegen_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/codegen/hello"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

func TestMain(m *testing.M) {
	os.Setenv("TVMGO_CACHE_DIR", "off") // except in tests of the cache
	os.Exit(m.Run())
}

// scale is a module of one function, which multiplies a vector by a number.
func scale(t testing.TB, by float32) *tir.IRModule {
	t.Helper()
	n, i := tir.NewVar("n", tir.Int64), tir.NewVar("i", tir.Int64)
	a, b := tir.NewBuffer("A", tir.Float32, n), tir.NewBuffer("B", tir.Float32, n)
	x, y := tir.NewVar("a", tir.Handle), tir.NewVar("b", tir.Handle)
	body := &tir.For{Var: i, Min: tir.I64(0), Extent: n, Body: &tir.BufferStore{Buffer: b, Indices: []tir.Expr{i},
		Value: tir.Intrin("exp", tir.Mul(tir.BufferAt(a, i), tir.F32(by)))}}
	m := must.Get(tir.NewModule(&tir.PrimFunc{Name: "scale", Params: []*tir.Var{x, y},
		Buffers: map[*tir.Var]*tir.Buffer{x: a, y: b}, Body: body, Result: tir.Void}))(t)
	return m
}

func kind(t testing.TB, text string) *target.Target {
	t.Helper()
	return must.Get(target.New(text))(t)
}

func built(t testing.TB, m *tir.IRModule, k *target.Target) *runtime.Module {
	t.Helper()
	return must.Open(codegen.Build(m, k))(t)
}

// run calls the function scale of a module.
func run(t testing.TB, m *runtime.Module) []float32 {
	t.Helper()
	f := must.Get(m.Function("scale"))(t)
	defer f.Close()
	a := must.Get(runtime.FromSlice([]float32{0, 0, 0}))(t)
	defer a.Close()
	b := must.Get(runtime.NewTensor(dlpack.Float32, []int64{3}, runtime.CPU))(t)
	defer b.Close()
	must.Get(f.Call(a, b))(t)
	return must.Get(runtime.ToSlice[float32](b))(t)
}

func TestBuild_CallsAtOnce(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TVMGO_CACHE_DIR", cache)
	before := runtime.Live()
	m := must.Get(codegen.Build(scale(t, 2), kind(t, "c")))(t)
	require.Equal(t, "c", m.Kind())
	require.Equal(t, []float32{1, 1, 1}, run(t, m))
	require.ErrorIs(t, must.Fail(m.Function("missing")), runtime.ErrNotFound)
	require.NoError(t, m.Close())
	require.Equal(t, before, runtime.Live())

	require.Len(t, must.Get(filepath.Glob(filepath.Join(cache, "host", "*")))(t), 1)
}

func TestBuild_CompilesOnce(t *testing.T) {
	t.Setenv("TVMGO_CACHE_DIR", t.TempDir())
	log := filepath.Join(t.TempDir(), "log")
	cc := filepath.Join(t.TempDir(), "cc")
	require.NoError(t, os.WriteFile(cc, []byte("#!/bin/sh\necho run >>"+log+"\nexec gcc \"$@\"\n"), 0o777))
	t.Setenv("CC", cc)
	runs := func() int {
		b, _ := os.ReadFile(log)
		return bytes.Count(b, []byte("run"))
	}
	run(t, built(t, scale(t, 2), kind(t, "c")))
	once := runs()
	require.Positive(t, once)
	run(t, built(t, scale(t, 2), kind(t, "c")))
	require.Equal(t, once, runs(), "the same program")
	run(t, built(t, scale(t, 3), kind(t, "c")))
	require.Equal(t, 2*once, runs(), "another program")
	run(t, built(t, scale(t, 2), kind(t, "c -march="+machine.Oldest())))
	require.Equal(t, 3*once, runs(), "for another processor")
	damaged, err := filepath.Glob(filepath.Join(os.Getenv("TVMGO_CACHE_DIR"), "*", "*")) // libraries, and objects
	require.NoError(t, err)
	for _, path := range damaged {
		require.NoError(t, os.Truncate(path, 1000))
	}
	run(t, built(t, scale(t, 2), kind(t, "c")))
	require.Equal(t, 4*once, runs(), "the file was damaged")
}

// Several goroutines that call one module for the first time get the same library.
func TestBuild_ConcurrentFirstCalls(t *testing.T) {
	m := built(t, scale(t, 2), kind(t, "c"))
	functions, errs := make([]*runtime.Function, 8), make([]error, 8)
	var wg sync.WaitGroup
	for k := range functions {
		wg.Go(func() { functions[k], errs[k] = m.Function("scale") })
	}
	wg.Wait()
	for k, f := range functions {
		require.NoError(t, errs[k])
		require.NoError(t, f.Close())
	}
	require.Equal(t, []float32{1, 1, 1}, run(t, m))
}

func TestBuild_Exports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scale.so")
	require.NoError(t, export.Library(context.Background(), built(t, scale(t, 2), kind(t, "c")), path))
	m := must.Open(runtime.Load(context.Background(), path))(t)
	require.Equal(t, []float32{1, 1, 1}, run(t, m))
}

func TestBuild_WithoutCompiler(t *testing.T) {
	t.Setenv("TVMGO_CACHE_DIR", "off")
	m := built(t, scale(t, 2), kind(t, "c"))
	t.Setenv("CC", "no-such-compiler")
	require.ErrorContains(t, must.Fail(m.Function("scale")), "no-such-compiler")
	t.Setenv("CC", "")
	require.Equal(t, []float32{1, 1, 1}, run(t, m), "the next call tries again")
}

func TestBuild_BadInput(t *testing.T) {
	require.ErrorContains(t, must.Fail(codegen.Build(nil, kind(t, "c"))), "build: the module is nil")
	_, err := codegen.Build(scale(t, 1), nil)
	require.ErrorContains(t, err, "build: the target is nil: make one by target.New")
	_, err = codegen.Build(scale(t, 1), kind(t, "metal"))
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, `build for kind "metal": no code generator target.build.metal is enabled: enabled are `+
		strings.Join(codegen.Kinds(), ", ")+`: no package of tvmgo generates code for metal: build for one of c, `)
	m := scale(t, 1)
	m.Funcs[0].Body = &tir.Evaluate{Value: tir.Add(tir.F32(1), tir.BoolConst(true))}
	_, err = codegen.Build(m, kind(t, "c"))
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	require.ErrorContains(t, err,
		`build for kind "c": tir: check scale.body.value: tir: +: operands of types float32 and bool: cast one`)
}

func TestRegister_BadInput(t *testing.T) {
	f := func(*tir.IRModule, *target.Target) (*runtime.Module, error) { return nil, nil }
	require.ErrorContains(t, codegen.Register("c", f), "register target.build.c: there is one already")
	require.ErrorContains(t, codegen.Register("rocm", nil), "register target.build.rocm: the function is nil")
	require.ErrorContains(t, codegen.Register("nonesuch", f), "there is no target kind")
	require.ErrorContains(t, codegen.Register("composite", f), "the kind is composite")
	require.NoError(t, codegen.AsHost("c"), "existing attributes are kept")
	err := codegen.AsHost("nonesuch")
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	require.ErrorContains(t, err, `build kind "nonesuch" as kind c: target: there is no target kind "nonesuch"`)
}

// The passes of a kind run in order before its code is generated.
func TestBuild_Passes(t *testing.T) {
	var seen []string
	var got *tir.IRModule
	other := scale(t, 5)
	failing := errors.New("no way")
	declare := func(name string, passes any) {
		must.Get(target.RegisterKind(name, dlpack.CPU, target.WithAttr(codegen.ColumnPasses, passes)))(t)
		require.NoError(t, codegen.Register(name, func(m *tir.IRModule, _ *target.Target) (*runtime.Module, error) {
			got = m
			return nil, nil
		}))
	}
	declare("passes-test", []codegen.Pass{
		func(m *tir.IRModule, k *target.Target) (*tir.IRModule, error) {
			seen = append(seen, "first for "+k.Kind().Name())
			return other, nil
		},
		func(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
			require.Same(t, other, m)
			seen = append(seen, "second")
			return m, nil
		}})
	_, err := codegen.Build(scale(t, 1), kind(t, "passes-test"))
	require.ErrorContains(t, err, "the code generator returned no module")
	require.Equal(t, []string{"first for passes-test", "second"}, seen)
	require.Equal(t, other.Funcs, got.Funcs)
	require.Same(t, other.Funcs[0], got.Funcs[0])

	declare("passes-fail", []codegen.Pass{func(*tir.IRModule, *target.Target) (*tir.IRModule, error) {
		return nil,
			failing
	}})
	require.ErrorIs(t, must.Fail(codegen.Build(scale(t, 1), kind(t, "passes-fail"))), failing)
	declare("passes-none", []codegen.Pass{func(*tir.IRModule, *target.Target) (*tir.IRModule, error) { return nil, nil }})
	require.ErrorContains(t, must.Fail(codegen.Build(scale(t, 1), kind(t, "passes-none"))), "pass 0 returned no module")
	declare("passes-odd", 7)
	_, err = codegen.Build(scale(t, 1), kind(t, "passes-odd"))
	require.ErrorContains(t, err, "its column codegen.passes holds a int: want a []codegen.Pass")
}

func TestHello(t *testing.T) {
	var out bytes.Buffer
	hello.Output = &out
	defer func() { hello.Output = os.Stdout }()
	m := built(t, scale(t, 2), kind(t, "hello"))
	require.Equal(t, "hello", m.Kind())
	code := must.Get(m.GetSource(""))(t)
	require.True(t, strings.HasPrefix(code, "// hello tvm backend!\n"), code)
	require.Contains(t, code, "scale_body(float* A, float* B, int64_t n)")
	f := must.Get(m.Function("whatever"))(t)
	defer f.Close()
	must.Get(f.Call())(t)
	require.Equal(t, code, out.String())
	require.ErrorIs(t, must.Fail(m.SaveToBinary()), runtime.ErrNotSupported)
	require.ErrorIs(t, m.SaveToFile(filepath.Join(t.TempDir(), "m.c"), "c"), runtime.ErrNotSupported)

	lines := must.Get(os.ReadFile("hello/hello.go"))(t)
	require.LessOrEqual(t, bytes.Count(lines, []byte("\n")), 70)
}

// The packages that generate code import no device.
func TestImports_NoDevice(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "tvmgo/tir", "tvmgo/tir/transform", "tvmgo/te/ops", "tvmgo/target",
		"tvmgo/codegen/...").Output()
	require.NoError(t, err)
	for _, p := range strings.Fields(string(out)) {
		for _, device := range []string{"tvmgo/runtime/cuda", "tvmgo/runtime/opencl", "tvmgo/runtime/vulkan", "gorgonia.org",
			"github.com/"} {
			require.False(t, strings.HasPrefix(p, device), p)
		}
	}
	out = must.Get(exec.Command("go", "list", "-deps", "tvmgo/codegen/c").Output())(t)
	require.NotContains(t, strings.Fields(string(out)), "tvmgo/runtime")
}

// Equal targets, however they are written, make equal modules.
func TestBuild_EqualTargets(t *testing.T) {
	saved := func(text string) []byte {
		m := built(t, scale(t, 2), kind(t, text))
		path := filepath.Join(t.TempDir(), "scale.c")
		require.NoError(t, m.SaveToFile(path, "c"))
		return must.Get(os.ReadFile(path))(t)
	}
	first := saved("c -march=x86-64-v3 -keys=arm_cpu,cpu")
	require.NotEmpty(t, first)
	for _, text := range []string{"c -keys=arm_cpu,cpu -march=x86-64-v3",
		`{"march": "x86-64-v3", "kind": "c", "keys": ["arm_cpu", "cpu"]}`} {
		require.True(t, kind(t, text).Equal(kind(t, "c -march=x86-64-v3 -keys=arm_cpu,cpu")))
		require.Equal(t, string(first), string(saved(text)))
	}
}
