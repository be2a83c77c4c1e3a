package main_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/opencl"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir/text"
)

const fatHead = `func add(a: handle, b: handle, c: handle) {
  var n: int32
  buffer A: float32[n], param a
  buffer B: float32[n], param b
  buffer C: float32[n], param c
`

// fatPrograms are add, twice and nothing for the CPU and for a device.
var fatPrograms = map[string]string{
	"c":      fatHead + "  for i in range(n) { C[i] = A[i] + B[i] }\n}\n" + fatScalars,
	"opencl": fatHead + "  thread i in range(n), thread \"blockIdx.x\" { C[i] = A[i] + B[i] }\n}\n" + fatScalars,
}

const fatScalars = "func twice(n: int32) -> int32 { ret(n * 2) }\nfunc nothing() { ret_none() }\n"

// fatLibrary writes a library with variants for targets into the lab.
func fatLibrary(t *testing.T, l *lab, name string, targets ...string) string {
	t.Helper()
	var variants []codegen.Variant
	for _, to := range targets {
		variants = append(variants, codegen.Variant{Target: must.Get(target.New(to))(t),
			Program: must.Get(text.Parse(fatPrograms[to]))(t)})
	}
	m := must.Get(codegen.BuildVariants(variants))(t)
	defer m.Close()
	path := l.path("bin", name)
	require.NoError(t, export.Library(context.Background(), m, path))
	return path
}

// C programs call fat libraries through both ABIs, on the CPU alone and on OpenCL devices.
func TestFat(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	library := fatLibrary(t, l, "fat.so", "c", "opencl")
	program := l.compile(t, "fat_test", "fat_test.c", l.linked()...)
	t.Run("cpu", func(t *testing.T) {
		l.runOK(t, []string{"POCL_DEVICES=none", "TVMGO_CACHE_DIR=off", "TMPDIR=" + l.path("bin")}, program, library, "0")
	})
	t.Run("opencl", func(t *testing.T) {
		needOpenCL(t)
		l.runOK(t, []string{twoDevices, "TVMGO_CACHE_DIR=off", "TMPDIR=" + l.path("bin")}, program, library, "2")
	})
}
