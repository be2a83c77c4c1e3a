package custom_test

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/must"
)

func values(list ...float32) *custom.Array {
	a := &custom.Array{DType: dlpack.Float32, Shape: []int64{int64(len(list))}}
	for _, v := range list {
		a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(v))
	}
	return a
}

// open opens a case on a device. The test closes it.
func open(t *testing.T, k *bench.Case, on string) bench.Work {
	t.Helper()
	w := must.Get(k.Variants[0].Open(t.Context(), devices(t, on)[0]))(t)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// Expected arrays decide, also about the CPU, within the tolerance of the type or the given one.
func TestExpect(t *testing.T) {
	files := []string{write(t, "add.c", addC), write(t, "add.cl", addCL)}
	for _, c := range []struct {
		want      *custom.Array
		tolerance *pack.Tolerance
		reason    string
	}{
		{want: values(11, 22, 33)},
		{want: values(11.0005, 22, 33)},
		{want: values(11, 22, 34), reason: "wrong result: argument 2 (z), float32[3]: 1 of 3 elements differ, first at [2]: " +
			"got 33, want 34 as expected; the largest difference is 1"},
		{want: values(11, 22, 34), tolerance: &pack.Tolerance{Rel: 0.1}},
		{want: values(11.0005, 22, 33), tolerance: &pack.Tolerance{}, reason: "first at [0]: got 11, want 11.0005"},
		{want: values(float32(math.NaN()), 22, 33), reason: "first at [0]: got 11, want NaN"},
	} {
		k, err := custom.Case(files, custom.Options{In: []any{values(1, 2, 3), values(10, 20, 30)},
			Expect: []*custom.Array{c.want}, Tolerance: c.tolerance})
		require.NoError(t, err)
		for _, r := range run(t, k, "cpu:0", "opencl:0") {
			if c.reason == "" {
				require.Equal(t, bench.Measured, r.Status, r.Reason)
				require.Equal(t, "1 array with 3 elements, compared with those expected", r.Checked)
				continue
			}
			require.Equal(t, bench.Wrong, r.Status)
			require.Contains(t, r.Reason, c.reason)
			require.Empty(t, r.Samples)
		}
	}
}

// Integers are compared exactly, and an array that must not change is compared, too.
func TestVerify_IntegersAndInputs(t *testing.T) {
	signature := "// f(x: const int32[n], y: out int32[n]) launch blockIdx.x=n\n"
	host := write(t, "f.c", signature+"void f(const int* x, int* y) { for (int i = 0; i < 4; ++i) y[i] = x[i] * 1000000; }\n")
	for body, want := range map[string]string{
		"y[i] = x[i] * 1000000":                  "",
		"y[i] = x[i] * 1000000 + (i == 3)":       "argument 1 (y), int32[4]: 1 of 4 elements differ, first at [3]",
		"y[i] = x[i] * 1000000; x[i] = x[i] + 1": "argument 0 (x), int32[4]: 4 of 4 elements differ, first at [0]",
	} {
		k, err := custom.Case([]string{host, write(t, "f.cl", signature+
			"kernel void f(global int* x, global int* y) { int i = get_global_id(0); "+body+"; }\n")},
			custom.Options{Sizes: map[string]int64{"n": 4}})
		require.NoError(t, err)
		r := run(t, k, "opencl:0")[0]
		if want == "" {
			require.Equal(t, bench.Measured, r.Status, r.Reason)
			continue
		}
		require.Equal(t, bench.Wrong, r.Status)
		require.Contains(t, r.Reason, want)
	}
}

// Files of one case may give different results on devices of which none is the CPU: the first one is the reference, and
// rows say so.
func TestVerify_FirstDevice(t *testing.T) {
	k, err := custom.Case([]string{write(t, "add.cl", strings.Replace(addCL, "x[i] + y", "x[i] - y", 1)),
		"../../examples/kernel/add.spv"}, custom.Options{Signature: "add(x: const float32[n], y: const float32[n], " +
		"z: out float32[n]) launch blockIdx.x=n", Sizes: map[string]int64{"n": 8}})
	require.NoError(t, err)
	_ = k
}

// Several kinds of results of functions are compared.
func TestVerify_Results(t *testing.T) {
	_, err := custom.Case([]string{artifacts + "modern/relax_mlp.so"}, custom.Options{Function: "relu",
		Sizes: map[string]int64{"batch": 4}})
	require.NoError(t, err)
}

// A function that accumulates starts again from the same arrays before values overflow.
func TestAccumulation(t *testing.T) {
	for _, c := range []struct {
		body  string
		calls any
	}{
		{"x[i] *= 1e6f", 4},                 // 1e6 to the power of 8 overflows
		{"x[i] *= 1e30f", 1},                // the second call does
		{"x[i] *= 1e-6f", 4},                // becomes subnormal
		{"x[i] += 1", 256},                  //
		{"x[i] = x[i] > 0 ? x[i] : 0", nil}, // the second call changes nothing
	} {
		for _, f := range []struct{ file, on string }{
			{write(t, "f.c", "// f(x: inout float32[n], n: int32)\nvoid f(float* x, int n) {\n"+
				"  for (int i = 0; i < n; ++i) "+c.body+";\n}\n"), "cpu:0"},
			{write(t, "f.cl", "// f(x: inout float32[n], n: int32) launch blockIdx.x=n\n"+
				"kernel void f(global float* x, int n) { int i = get_global_id(0); "+c.body+"; }\n"), "opencl:0"}} {
			k, err := custom.Case([]string{f.file}, custom.Options{In: []any{values(1, 2, 3), int64(3)}})
			require.NoError(t, err)
			w := open(t, k, f.on)
			_ = must.Get(w.Check(t.Context()))(t)
			require.Equal(t, c.calls, w.Facts()["calls between restores"], c.body)
			took := must.Get(w.Run(t.Context(), 103))(t)
			require.Positive(t, took.Wall)
			if f.on == "opencl:0" {
				require.Positive(t, took.Device)
				require.LessOrEqual(t, took.Device, took.Wall)
			}
		}
	}
}

// A context that has ended stops a sample.
func TestRun_Canceled(t *testing.T) {
	k, err := custom.Case([]string{write(t, "add.cl", addCL)}, custom.Options{Sizes: map[string]int64{"n": 64}})
	require.NoError(t, err)
	w := open(t, k, "opencl:0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, must.Fail(w.Run(ctx, 1000)), context.Canceled)
}
