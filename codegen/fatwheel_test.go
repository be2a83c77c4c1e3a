package codegen_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
)

// Apache TVM loads a file with variants for every kind of device, and selects the CPU's: the tree has the usual layout,
// and the selection is code of the file. The wheel has the loaders of no device, so the script adds placeholders.
func TestFat_InWheel(t *testing.T) {
	wheel.NeedSameMachine(t)
	const head = "func add(a: handle, b: handle, c: handle) {\n  var n: int32\n  buffer A: float32[n], param a\n" +
		"  buffer B: float32[n], param b\n  buffer C: float32[n], param c\n"
	const twice = "func twice(n: int32) -> int32 { ret(n * 2) }\n"
	program := map[bool]string{true: head + "  for i in range(n) { C[i] = A[i] + B[i] }\n}\n" + twice,
		false: head + "  thread i in range(n), thread \"blockIdx.x\" { C[i] = A[i] + B[i] }\n}\n" + twice}
	var variants []codegen.Variant
	for _, to := range targetsOf(t, "c", "opencl", "vulkan", "cuda -arch=sm_80", "cuda -arch=sm_90") {
		variants = append(variants, codegen.Variant{Target: to, Program: parsed(t, program[to.Kind().Name() == "c"])})
	}
	m := must.Get(codegen.BuildVariants(variants))(t)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "fat.so")
	require.NoError(t, export.Library(context.Background(), m, path))
	const usage = "TypeError add: expected 3 arguments, got 2: add(A: float32[n], B: float32[n], C: float32[n])"
	require.Equal(t, strings.Join([]string{"without loaders: True", "modules: 4", "add 1.0 2.0 3.0 4.0 5.0", usage,
		"add__c 1.0 2.0 3.0 4.0 5.0", usage, "twice 42",
		"ValueError add: argument 0 (A): the tensor is on metal:0, and the " +
			"file has add for cpu (c), opencl, vulkan, cuda (cuda -arch=sm_90; cuda -arch=sm_80): copy the tensor to a device " +
			"of these, or build add for metal, too", ""}, "\n"), string(wheel.Run(t, nil, "testdata/fat.py", path)))
}
