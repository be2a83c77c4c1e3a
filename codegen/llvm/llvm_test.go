package llvm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/llvm"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// TestMain disables the cache, except for tests of the cache, and implements the second process of tests that need one.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(child(role))
	}
	os.Setenv("TVMGO_CACHE_DIR", "off")
	os.Exit(m.Run())
}

// addProgram adds vectors, in a loop that a compiler can vectorize.
const addProgram = `func add(a_handle: handle, b_handle: handle, c_handle: handle) {
  var n: int64
  buffer a: float32[n], param a_handle
  buffer b: float32[n], param b_handle
  buffer c: float32[n], param c_handle
  for i in range(n) {
    c[i] = a[i] + b[i]
  }
}
`

// dotProgram multiplies and adds, divides, and calls exp.
const dotProgram = `func dot(a_handle: handle, b_handle: handle, c_handle: handle) {
  var n: int64
  buffer a: float32[n], param a_handle
  buffer b: float32[n], param b_handle
  buffer c: float32[1], param c_handle
  c[0] = 0.0
  for i in range(n) {
    c[0] = c[0] + a[i] * b[i] / 3.0
  }
  c[0] = exp(c[0])
}
`

func parsed(t testing.TB, source string) *tir.IRModule {
	t.Helper()
	m := must.Get(text.Parse(source))(t)
	require.NoError(t, tir.Check(m))
	return m
}

func targetOf(t testing.TB, description any) *target.Target {
	t.Helper()
	return must.Get(target.New(description))(t)
}

// built builds a program for a target. It skips the test if there is no clang.
func built(t testing.TB, m *tir.IRModule, description any) *runtime.Module {
	t.Helper()
	needClang(t)
	return must.Open(codegen.Build(m, targetOf(t, description)))(t)
}

// pathAtStart is the PATH before tests change it.
var pathAtStart = os.Getenv("PATH")

func needClang(t testing.TB) {
	t.Helper()
	if err := clangAtStart; err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("build/scripts/deps.sh installs clang: %v", err)
		}
		t.Skipf("no clang: build/scripts/deps.sh installs it: %v", err)
	}
}

var _, clangAtStart = exec.LookPath("clang")

// buildError returns the error of building for a target.
func buildError(t testing.TB, description any) error {
	t.Helper()
	m, err := codegen.Build(parsed(t, addProgram), targetOf(t, description))
	if err == nil {
		m.Close()
	}
	require.Error(t, err, "%v", description)
	return err
}

func source(t testing.TB, m *runtime.Module, format string) string {
	t.Helper()
	return must.Get(m.GetSource(format))(t)
}

func call(t testing.TB, m *runtime.Module, name string, args ...any) error {
	t.Helper()
	f := must.Get(m.Function(name))(t)
	defer f.Close()
	_, err := f.Call(args...)
	return err
}

// requireAdds calls add.
func requireAdds(t testing.TB, m *runtime.Module) {
	t.Helper()
	c := modules.Empty(t, dlpack.Float32, 3)
	require.NoError(t, call(t, m, "add", modules.Tensor(t, []float32{1, 2, 3}), modules.Tensor(t, []float32{10, 20, 30}),
		c))
	require.Equal(t, []float32{11, 22, 33}, modules.Slice[float32](t, c))
}

// script writes a shell script with these lines, in a separate folder.
func script(t testing.TB, name, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+lines), 0o777))
	return path
}
