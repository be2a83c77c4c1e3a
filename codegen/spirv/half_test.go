package spirv_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
)

// Every float16 and its neighbours, with native arithmetic, give the results of float32 that are rounded once.
func TestRun_NativeHalves(t *testing.T) {
	need(t)
	const n = 1 << 16
	var bits, others []byte
	for i := range n {
		bits = append(bits, byte(i), byte(i>>8))
		k := i*40503 + 12345
		others = append(others, byte(k), byte(k>>8))
	}
	a := &tirrun.Array{DType: tir.Float16, Shape: []int64{n}, Data: bits}
	b := &tirrun.Array{DType: tir.Float16, Shape: []int64{n}, Data: others}
	wide := must.Get(tirrun.Values[float64](a))(t)
	for i := range wide { // between float16 numbers, and beyond them
		wide[i] = wide[i]*1.00024414 + float64(i%7)*1e-7
	}
	values := []string{"A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "A[i] / B[i]", "min(A[i], B[i])", "sqrt(A[i])",
		"floor(A[i])", "nearbyint(A[i])", "select(isnan(A[i]), cast(float16, 1.0), A[i])", "cast(float16, W[i])",
		"cast(float16, cast(float32, W[i]))", "cast(float16, cast(int32, A[i]) * 3)",
		"cast(float16, cast(bfloat16, A[i]))", "reinterpret[float16](reinterpret[uint16](A[i]))",
		"copysign(A[i], select(isnan(B[i]), cast(float16, -1.0), B[i]))", "cast(float16, A[i] < B[i])"}
	body := ""
	for k, v := range values {
		body += fmt.Sprintf("C[%d, i] = %s\n", k, v)
	}
	m := gpuprograms.Parsed(t, fmt.Sprintf(`
func f(a: handle, b: handle, w: handle, c: handle) {
  buffer A: float16[65536], param a
  buffer B: float16[65536], param b
  buffer W: float64[65536], param w
  buffer C: float16[%d, 65536], param c
  thread j in range(1024), thread "blockIdx.x" {
    thread k in range(64), thread "threadIdx.x" {
      let i = j * 64 + k
      %s
    }
  }
}
`, len(values), body))
	w := must.Get(tirrun.From(tir.Float64, wide, n))(t)
	c := must.Get(tirrun.New(tir.Float16, int64(len(values)), n))(t)
	must.Get(must.Get(tirrun.Compile(m, tirrun.Options{}))(t).Call("f", a, b, w, c))(t)
	want := must.Get(tirrun.Values[float64](c))(t)
	x, y := must.Get(tirrun.Values[float64](a))(t), must.Get(tirrun.Values[float64](b))(t)
	for _, options := range []string{halves, `"supports_float16": true, ` + features} {
		lib := harness.LibraryFor(t, m, device(t, `{"kind": "vulkan", "host": "c", `+options+"}"))
		out := gpuprograms.OnDevice(t, must.Get(tirrun.New(tir.Float16, int64(len(values)), n))(t), devices[0])
		must.Get(gputest.Function(t, lib, "f").Call(gpuprograms.OnDevice(t, a, devices[0]),
			gpuprograms.OnDevice(t, b, devices[0]), gpuprograms.OnDevice(t, w, devices[0]), out))(t)
		given := *c
		given.Data = make([]byte, len(c.Data))
		require.NoError(t, out.CopyToBytes(given.Data))
		wrong := map[string]string{}
		for i, got := range must.Get(tirrun.Values[float64](&given))(t) {
			if got != want[i] && !(math.IsNaN(got) && math.IsNaN(want[i])) {
				wrong[values[i/n]] = fmt.Sprintf("of %v and %v is %v, want %v", x[i%n], y[i%n], got, want[i])
			}
		}
		require.Empty(t, wrong)
	}
}

// A conversion of truth values declares no type that the kernel does not compute with.
func TestEmit_HalfOfTruth(t *testing.T) {
	m := gpuprograms.Parsed(t, `
func f(a: handle, b: handle) {
  buffer A: bool[8], param a
  buffer B: float16[8], param b
  thread i in range(8), thread "threadIdx.x" { B[i] = cast(float16, A[i]) }
}
`)
	code := shaders(t, m, device(t, `{"kind": "vulkan", `+halves+"}"))[0].Code
	require.NotContains(t, spirvtest.Disassemble(t, code), "ushort")
}
