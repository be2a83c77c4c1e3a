package c_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// The host code of a function with kernels compiles without warnings in both conventions, with and without functions
// for the CPU in the same module.
func TestEmit_HostOfKernels(t *testing.T) {
	const kernels = `
func f(a: handle, b: handle, by: float16) {
  var n: int64
  var offset: int64
  buffer A: float32[n, 4], param a
  buffer B: float32[n, 4], param b, offset offset
  alloc T: float32[n, 4]
  alloc U: float32[2]
  thread i in range(n), thread "blockIdx.x" {
    T[i, int64(0)] = A[i, int64(1)] * cast(float32, by)
    U[0] = 1.0
  }
  thread i in range(n), thread "threadIdx.x" {
    B[i, int64(2)] = T[i, int64(0)] + U[0]
  }
}
`
	const cpu = `
func g(a: handle) {
  attrs {"target": target {"kind": "c"}}
  buffer A: float32[4], param a
  A[0] = 1.0
}
`
	gpu := must.Get(target.New("opencl"))(t)
	for name, source := range map[string]string{"alone": kernels, "both": kernels + cpu} {
		m := must.Get(text.Parse(source))(t)
		split := must.Get(transform.SplitHostDevice(m, gpu))(t)
		host := &tir.IRModule{}
		for _, f := range split.Funcs {
			if !transform.IsKernel(f) {
				host.Funcs = append(host.Funcs, f)
			}
		}
		for convention, e := range map[string]c.Emitter{"modern": {}, "classic": {Classic: true}} {
			code := must.Get(e.Emit(host, nil))(t)
			require.Contains(t, code, "TVMBackendAllocWorkspace(4, device_id, U_bytes, 2, 32)",
				"memory of a device is never on the stack")
			compile(t, name+"-"+convention, code, "-O2")
		}
	}
}
