package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/operators"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// Operators of which a thread executes more iterations than lavapipe does are not measured there, and say why. They are
// measured on devices of other drivers.
func TestKernels_LoopLimit(t *testing.T) {
	on := &bench.Device{Name: "vulkan:0"}
	lavapipe := must.Get(target.New(`{"kind": "vulkan", "device_type": "cpu", "driver_name": "llvmpipe", "host": "c"}`))(t)
	other := must.Get(target.New(`{"kind": "vulkan", "device_type": "cpu", "driver_name": "SwiftShader", "host": "c"}`))(t)
	opencl := must.Get(target.New(`{"kind": "opencl", "device_type": "cpu", "host": "c"}`))(t)
	for _, op := range operators.All() {
		program := must.Get(op.Lower(lavapipe))(t)
		err := needLoops(on, lavapipe, program)
		if strings.HasPrefix(op.Name, "attention") {
			require.ErrorIs(t, err, bench.ErrNotMeasured, op.Name)
			require.Regexp(t, `a thread of attention_\w+ executes \d{6,7} iterations of loops, and the driver of vulkan:0, `+
				`lavapipe, ends the loops of a thread after 65535 without an error`, err.Error())
		} else {
			require.NoError(t, err, op.Name)
		}
		require.NoError(t, needLoops(on, other, program), op.Name)
		require.NoError(t, needLoops(on, opencl, program), op.Name)
	}
}

// The driver's name is that which lavapipe reports, and the reason reaches the row.
func TestKernels_LoopLimitOfLavapipe(t *testing.T) {
	on := testDevice(t, dlpack.Vulkan)
	if must.Get(Target(on))(t).Attrs()["driver_name"] != "llvmpipe" {
		t.Skip("the device is not lavapipe")
	}
	op := operators.Heads{Heads: 1, Tokens: 1024, Size: 64, Type: tir.Float32}.Operator("attention")
	k := kernelsOf([]*operators.Operator{op}, Options{Longest: 24 * time.Hour})[0]
	_, err := k.Variants[0].Open(t.Context(), on)
	require.ErrorIs(t, err, bench.ErrNotMeasured)
	require.ErrorContains(t, err, "ends the loops of a thread after 65535")
}

// Iterations of loops count that a thread executes in any case.
func TestIterations(t *testing.T) {
	for body, want := range map[string]int64{
		"A[0] = 1.0":                        0,
		"for i in range(10) { A[i] = 1.0 }": 10,
		"for i in range(10) { for j in range(5) { A[i] = 1.0 } for k in range(4) { A[i] = 2.0 } }":     100,
		"for i in range(n) { for j in range(5) { A[i] = 1.0 } }":                                       0,
		"for i in range(10) { if i < n { for j in range(5) { A[i] = 1.0 } } }":                         10,
		"unrolled i in range(10) { for j in range(5) { A[i] = 1.0 } }":                                 50,
		"for i in range(65535) { A[i] = 1.0 }":                                                         65535,
		"thread i in range(10), thread \"threadIdx.x\" { for j in range(5) { A[i] = 1.0 } }":           5,
		"thread i in range(9), thread \"threadIdx.x\" { A[i] = 1.0 } for j in range(7) { A[j] = 1.0 }": 7,
	} {
		m := must.Get(text.Parse("func f(a: handle, n: int32) {\nbuffer A: float32[65535], param a\n" +
			strings.NewReplacer("{ ", "{\n", " }", "\n}\n").Replace(body) + "\n}\n"))(t)
		require.Equal(t, want, iterations(m.Funcs[0].Body), body)
	}
}
