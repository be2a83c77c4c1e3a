package opencl_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir/text"
)

// OpenCL's own functions are called without a declaration; mad also takes vectors.
func TestMad(t *testing.T) {
	const program = `
func multiply(a: handle, b: handle) {
  buffer A: float32[64], param a
  buffer B: float32[64], param b
  thread bx in range(1), thread "blockIdx.x" {
    thread t in range(1), thread "threadIdx.x" {
      B[%[1]s] = extern mad[%[2]s](A[%[1]s], A[%[1]s], A[%[1]s])
    }
  }
}
`
	for element, index := range map[string]string{"float32": "0", "float32x4": "ramp(0, 1, 4)",
		"float32x16": "ramp(0, 1, 16)"} {
		m := must.Get(text.Parse(fmt.Sprintf(program, index, element)))(t)
		lib := must.Get(codegen.Build(m, must.Get(target.New("opencl"))(t)))(t)
		code := openCLText(t, lib)
		require.NoError(t, lib.Close())
		require.Contains(t, code, "mad(", code)
		require.NotContains(t, code, "extern", code)
	}
}
