//go:build cgo

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/must"
)

// fatPrograms writes add for the CPU (cpu.tir) and for devices (gpu.tir), and inputs, into a folder.
func fatPrograms(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	const loop = "  parallel i in range(n) {\n    c[i] = a[i] + b[i]\n  }\n"
	const threads = "  thread i in range((n + 31) / 32), thread \"blockIdx.x\" {\n" +
		"    thread j in range(32), thread \"threadIdx.x\" {\n" +
		"      if i * 32 + j < n { c[i * 32 + j] = a[i * 32 + j] + b[i * 32 + j] }\n    }\n  }\n"
	require.Contains(t, addProgram, loop)
	for name, text := range map[string]string{"cpu.tir": addProgram,
		"gpu.tir":  strings.Replace(addProgram, loop, threads, 1),
		"half.tir": strings.ReplaceAll(addProgram, "b: float32", "b: float16"),
		"more.tir": addProgram + mulProgram} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// Variants are listed without running code of the file, also those of objects.
func TestBuild_FatIsInspected(t *testing.T) {
	dir := fatPrograms(t)
	build := func(out string) {
		status, stdout, stderr := builtWith(t, dir, nil, "build", "cpu.tir", "gpu.tir", "gpu.tir", "-o", out, "--target", "c",
			"--target", "opencl", "--target", "opencl -max_threads_per_block=512", "-v")
		require.Zero(t, status, stderr)
		require.Equal(t, "wrote "+out+"\n", stdout)
		require.Contains(t, stderr, "generate code for kinds c, opencl of 1 function")
	}
	want := []inspect.Variant{{Device: "cpu", Target: "c", Function: "add__c"},
		{Device: "opencl", Target: "opencl -max_threads_per_block=512", Function: "add__opencl_2",
			Needs: []string{"max_threads_per_block 512 or more"}},
		{Device: "opencl", Target: "opencl", Function: "add__opencl", Needs: []string{"max_threads_per_block 256 or more"}}}
	for _, out := range []string{"add.so", "add.o", "add.tar"} {
		build(out)
		status, stdout, stderr := builtWith(t, dir, nil, "inspect", "--json", out)
		require.Zero(t, status, stderr)
		var report inspect.Report
		require.NoError(t, json.Unmarshal([]byte(stdout), &report))
		require.Equal(t, "add", report.Functions[0].Name)
		require.Equal(t, want, report.Functions[0].Variants)
		status, text, _ := builtWith(t, dir, nil, "inspect", out)
		require.Zero(t, status)
		require.Contains(t, text, "functions        add (safe_call, metadata)\n                   on cpu: add__c (c)\n"+
			"                   on opencl: add__opencl_2 (opencl -max_threads_per_block=512, max_threads_per_block 512 or "+
			"more)\n")
	}
	status, stdout, stderr := builtWith(t, dir, nil, "inspect", "--load", "add.so")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, `"function":"add__opencl_2"`)

	// a damaged list
	data := must.Get(os.ReadFile(filepath.Join(dir, "add.so")))(t)
	at := strings.Index(string(data), `"function":"add__opencl_2","device":4`)
	require.Positive(t, at)
	data[at+len(`"function":"add__opencl_2","device":`)] = '2'
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.so"), data, 0o600))
	status, stdout, stderr = builtWith(t, dir, nil, "inspect", "bad.so")
	require.Equal(t, 1, status)
	require.Contains(t, stdout, "PROBLEM          the list of the variants of function add (__tvmgo_variants_add) is "+
		"damaged: its checksum differs: copy or export it again")
	require.Contains(t, stderr, "1 problems")
}

func TestBuild_FatBadInput(t *testing.T) {
	dir := fatPrograms(t)
	for _, row := range []struct {
		args   string
		status int
		want   string
	}{
		{"cpu.tir gpu.tir gpu.tir --target c --target opencl", 2, "3 programs for 2 targets: name one file for all targets"},
		{"cpu.tir gpu.tir", 2, "2 programs for 1 target"},
		{"cpu.tir gpu.tir --target c --target opencl --emit tir", 2, "--emit tir: name one program"},
		{"cpu.tir gpu.tir --target c --target opencx", 2, `no target kind and no tag "opencx"`},
		{"cpu.tir gpu.tir --target c --target metal", 1, `build for kind "metal": no code generator`},
		{"cpu.tir cpu.tir --target c --target c", 1, "target c is in the list twice (0 and 1)"},
		{"cpu.tir cpu.tir --target c --target llvm", 1, "are both for the CPU"},
		{"cpu.tir half.tir --target c --target opencl", 1,
			"function add: argument 1 (b) is float32[n0] for c, and float16[n0] for opencl"},
		{"cpu.tir more.tir --target c --target opencl", 1,
			"function mul is in the program for opencl, and not in that for c"},
		{"cpu.tir gpu.tir --target c --target opencl --check-bounds --emit ll", 1,
			"the code for kinds c, opencl has no such text"},
	} {
		before := len(must.Get(os.ReadDir(dir))(t))
		status, stdout, stderr := builtWith(t, dir, nil, append(append([]string{"build"}, strings.Fields(row.args)...), "-o",
			"x.so")...)
		require.Equal(t, row.status, status, "%s: %s%s", row.args, stdout, stderr)
		require.Contains(t, stderr, row.want, row.args)
		require.Len(t, must.Get(os.ReadDir(dir))(t), before, "%s left a file", row.args)
	}
}

// The host of all variants may be another machine.
func TestBuild_FatForAnotherMachine(t *testing.T) {
	needLLVM(t)
	dir := fatPrograms(t)
	status, _, stderr := builtWith(t, dir, nil, "build", "cpu.tir", "gpu.tir", "-o", "add.so", "--target",
		"llvm -mtriple=aarch64-linux-gnu", "--target", "opencl")
	require.Zero(t, status, stderr)
	report := must.Get(inspect.File(filepath.Join(dir, "add.so")))(t)
	require.Equal(t, "aarch64", report.Architecture)
	require.Equal(t, []inspect.Variant{{Device: "cpu", Target: "llvm -mtriple=aarch64-linux-gnu", Function: "add__llvm"},
		{Device: "opencl", Target: "opencl", Function: "add__opencl"}}, report.Functions[0].Variants)
	status, _, stderr = builtWith(t, dir, nil, "build", "cpu.tir", "gpu.tir", "-o", "two.so", "--target",
		"llvm -mtriple=aarch64-linux-gnu", "--target", "opencl -host='llvm -mtriple=riscv64-linux-gnu'")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "needs host code for llvm -mtriple=aarch64-linux-gnu, and target opencl for "+
		"llvm -mtriple=riscv64-linux-gnu")
}
