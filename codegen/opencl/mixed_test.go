package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir/text"
)

// mixed has a function with threads, one without, and a host function that calls both: with a tensor on the device, and
// with one on the CPU.
const mixed = `
func scale(A: handle, n: int32) {
  buffer a: float32[n], param A
  thread block in range(n / 4), thread "blockIdx.x" {
    thread i in range(4), thread "threadIdx.x" { a[block * 4 + i] = a[block * 4 + i] * 3.0 }
  }
}
func add(A: handle, n: int32) {
  buffer a: float32[n], param A
  for i in range(n) { a[i] = a[i] + 1.0 }
}
func both(D: handle, H: handle, n: int32) {
  buffer d: float32[n], param D
  buffer h: float32[n], param H
  packed scale(D, n)
  func add(H, n)
  packed scale(D, n)
}
`

func TestComposite_BadInput(t *testing.T) {
	for _, c := range []struct{ soc, old, new, want string }{
		{`{"kind": "composite", "devices": ["opencl"]}`, "", "",
			`no member accepts operation "add" (function) (and 1 more): opencl (member 0): ` +
				"it has no loop over threads: bind one"},
		{`{"kind": "composite", "devices": ["c"]}`, "", "",
			`no member accepts operation "scale" (function): c (member 0): it has loops over threads, which only a ` +
				"device has"},
		{`{"kind": "composite", "devices": ["c", "opencl"]}`, "func add(H, n)", "func add(D, n)",
			"function both passes tensor d to scale, which takes it on opencl, and to add, which takes it on cpu: copy it in " +
				"between"},
		{`{"kind": "composite", "devices": ["c", "opencl"]}`, "func add(H, n)", "d[0] = 1.0",
			"function both reads or writes tensor d, and passes it to scale, which takes it on opencl: the host cannot see " +
				"the device's memory"},
	} {
		m := must.Get(text.Parse(strings.Replace(mixed, c.old, c.new, 1)))(t)
		to := must.Get(target.New(c.soc))(t)
		require.ErrorContains(t, must.Fail(codegen.Build(m, to)), c.want)
	}
}
