//go:build cgo

package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	tirjson "tvmgo/tir/json"
	"tvmgo/tir/text"
)

const mulProgram = `func mul(a_handle: handle, b_handle: handle, c_handle: handle) {
  var n: int32
  buffer a: float32[n], param a_handle
  buffer b: float32[n], param b_handle
  buffer c: float32[n], param c_handle
  for i in range(n) {
    c[i] = a[i] * b[i]
  }
}
`

func needLLVM(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("clang"); err != nil {
		require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh installs clang")
		t.Skip("no clang: build/scripts/deps.sh installs it")
	}
}

// programs is a folder with two functions as text and as JSON.
func programs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	m := must.Get(text.Parse(addProgram + mulProgram))(t)
	compact := must.Get(tirjson.Marshal(m))(t)
	asJSON := &bytes.Buffer{}
	require.NoError(t, json.Indent(asJSON, compact, "", "  "))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "two.tir"), []byte(addProgram+mulProgram), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "two.json"), asJSON.Bytes(), 0o600))
	return dir
}

// called is the result of a function of a library on [1 2 3] and [10 20 30].
func called(t *testing.T, library, function string) []float32 {
	t.Helper()
	m := must.Get(runtime.Load(t.Context(), library))(t)
	defer m.Close()
	f := must.Get(m.Function(function))(t)
	defer f.Close()
	var tensors []*runtime.Tensor
	for _, values := range [][]float32{{1, 2, 3}, {10, 20, 30}, {0, 0, 0}} {
		x := must.Get(runtime.FromSlice(values))(t)
		defer x.Close()
		tensors = append(tensors, x)
	}
	must.Get(f.Call(tensors[0], tensors[1], tensors[2]))(t)
	return must.Get(runtime.ToSlice[float32](tensors[2]))(t)
}

// Every kind builds all functions of a program, from text and JSON.
func TestBuild_SeveralFunctions(t *testing.T) {
	needLLVM(t)
	dir := programs(t)
	for _, target := range []string{"c", "llvm"} {
		for _, file := range []string{"two.tir", "two.json"} {
			status, stdout, stderr := builtWith(t, dir, nil, "build", file, "-o", "two.so", "--target", target)
			require.Zero(t, status, stderr)
			require.Equal(t, "wrote two.so\n", stdout)
			require.Empty(t, stderr, "no progress without a terminal")
			require.Equal(t, []float32{11, 22, 33}, called(t, filepath.Join(dir, "two.so"), "add"))
			require.Equal(t, []float32{10, 40, 90}, called(t, filepath.Join(dir, "two.so"), "mul"))
			require.NoError(t, os.Remove(filepath.Join(dir, "two.so")))
		}
	}
}

func TestBuild_EmitLLVM(t *testing.T) {
	needLLVM(t)
	dir := programs(t)
	for emit, want := range map[string]string{"ll": `"target-cpu"="haswell"`, "s": "%ymm", "c": "int32_t add_body(",
		"tir": "parallel i in range(n)"} {
		args := []string{"build", "two.tir", "--target", "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", "--emit", emit}
		status, text, stderr := builtWith(t, dir, nil, args...)
		require.Zero(t, status, stderr)
		require.Contains(t, text, want)
		status, stdout, stderr := builtWith(t, dir, nil, append(args, "-o", "out.txt")...)
		require.Zero(t, status, stderr)
		require.Empty(t, stdout)
		require.Equal(t, text, string(must.Get(os.ReadFile(filepath.Join(dir, "out.txt")))(t)), emit)

		status, stdout, stderr = builtWith(t, dir, nil, append(args, "-o", "two.o")...) // both
		require.Zero(t, status, stderr)
		require.Equal(t, text, stdout)
		require.FileExists(t, filepath.Join(dir, "two.o"))
		require.NoError(t, os.Remove(filepath.Join(dir, "two.o")))
	}
}

// A library and an object for another machine.
func TestBuild_OtherMachine(t *testing.T) {
	needLLVM(t)
	dir := programs(t)
	for _, name := range []string{"two.so", "two.o"} {
		status, _, stderr := builtWith(t, dir, nil, "build", "two.tir", "-o", name, "--target",
			"llvm -mtriple=riscv64-linux-gnu")
		require.Zero(t, status, stderr)
		f := must.Get(elf.Open(filepath.Join(dir, name)))(t)
		require.NoError(t, f.Close())
		require.Equal(t, elf.EM_RISCV, f.Machine)
	}
}

// With system-lib, functions register themselves: the object refers to the registration function.
func TestBuild_SystemLib(t *testing.T) {
	dir := programs(t)
	for target, want := range map[string]bool{"c": false, "c -system-lib": true} {
		status, _, stderr := builtWith(t, dir, nil, "build", "two.tir", "-o", "two.o", "--target", target)
		require.Zero(t, status, stderr)
		object := must.Get(os.ReadFile(filepath.Join(dir, "two.o")))(t)
		require.Equal(t, want, strings.Contains(string(object), "TVMFFIEnvModRegisterSystemLibSymbol"), target)
	}
	status, _, stderr := builtWith(t, dir, nil, "build", "two.tir", "-o", "two.so", "--target", "c -system-lib")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "a shared library can't be a system library")
}

func TestBuild_NoClang(t *testing.T) {
	dir := programs(t)
	status, _, stderr := builtWith(t, dir, []string{"PATH=" + t.TempDir()}, "build", "two.tir", "-o", "two.so", "--target",
		"llvm")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "there is no clang in PATH: install it (Debian: apt install clang;")
	require.NoFileExists(t, filepath.Join(dir, "two.so"))
}

// -v reports the steps.
func TestBuild_Verbose(t *testing.T) {
	dir := programs(t)
	status, stdout, stderr := builtWith(t, dir, nil, "build", "two.tir", "-o", "two.so", "-v")
	require.Zero(t, status, stderr)
	require.Equal(t, "wrote two.so\n", stdout)
	require.Regexp(t, `^generate code for kind c of 2 functions: [0-9.]+ s\ncompile and link two\.so: [0-9.]+ s\n$`,
		stderr)
}
