package custom_test

import (
	"context"
	"encoding/binary"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
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
		{want: values(11, 22, 34), reason: "wrong result: argument 2 (z), float32[3]: 1 of 3 elements differ, " +
			"first at [2]: got 33, want 34 as expected; the largest difference is 1"},
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
	host := write(t, "f.c", signature+"void f(const int* x, int* y) {\n"+
		"  for (int i = 0; i < 4; ++i) y[i] = x[i] * 1000000;\n}\n")
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

// If no file runs on the CPU, the first device is the reference, and rows say so.
func TestVerify_FirstDevice(t *testing.T) {
	k, err := custom.Case([]string{write(t, "add.cl", `kernel void add(global float* x, global float* y, global float* z) {
  int i = get_global_id(0);
  z[i] = x[i] - y[i];
}
`), "../../examples/kernel/add.spv"}, custom.Options{Signature: "add(x: const float32[n], y: const float32[n], " +
		"z: out float32[n]) launch blockIdx.x=n", Sizes: map[string]int64{"n": 8}})
	require.NoError(t, err)
	rows := run(t, k, "opencl:0", "vulkan:0")
	require.Equal(t, "not verified: no file runs on the CPU; other devices are compared with this one", rows[0].Checked)
	require.Equal(t, bench.Wrong, rows[1].Status)
	require.Contains(t, rows[1].Reason, "argument 2 (z), float32[8]: 8 of 8 elements differ, first at [0]")
	require.Contains(t, rows[1].Reason, "as on opencl:0")
}

// functions are those of a module by hand: what they return changes from call to call if steps is not 0.
func functions(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f.so")
	source := write(t, "f.c", `#include <tvm/ffi/c_api.h>
#define F(name, body) __attribute__((visibility("default"))) \
  int __tvm_ffi_##name(void* self, const TVMFFIAny* args, int n, TVMFFIAny* r) { body; return 0; }
static int calls;
F(integer, r->type_index = kTVMFFIInt; r->v_int64 = 7)
F(number, r->type_index = kTVMFFIFloat; r->v_float64 = args[0].v_float64 * (1 + 1e-6 * calls++))
F(counter, r->type_index = kTVMFFIInt; r->v_int64 = calls++)
F(same, *r = args[0]; TVMFFIObjectIncRef(args[0].v_obj))
`)
	out, err := exec.Command("cc", "-shared", "-fPIC", "-I../../include", "-o", file, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

// What functions return is compared, too, and freed.
func TestVerify_Results(t *testing.T) {
	file := functions(t)
	cpu := devices(t, "cpu:0")[0].Handle
	before := leaks.Settled(runtime.Live)
	for _, c := range []struct {
		name, checked, wrong string
		in                   any
	}{
		{name: "integer", checked: "the result, compared with cpu:0", in: int64(1)},
		{name: "number", checked: "the result, compared with cpu:0", in: 1.5},
		{name: "counter", wrong: "wrong result: the result is ", in: int64(1)},
		{name: "same", checked: "1 array with 3 elements and the result, compared with cpu:0", in: values(1, 2, 3)},
	} {
		k, err := custom.Case([]string{file}, custom.Options{Function: c.name, In: []any{c.in}})
		require.NoError(t, err)
		r, err := bench.Run(t.Context(), short, []*bench.Case{k}, []*bench.Device{{Name: "cpu:0", Handle: cpu},
			{Name: "again", Handle: cpu}})
		require.NoError(t, err)
		measured(t, r.Rows[:1])
		if c.wrong != "" {
			require.Equal(t, bench.Wrong, r.Rows[1].Status)
			require.Contains(t, r.Rows[1].Reason, c.wrong)
			continue
		}
		measured(t, r.Rows)
		require.Equal(t, c.checked, r.Rows[1].Checked)
	}
	require.Equal(t, before, runtime.Live())
}

// Arrays that do not fit are not measured: the row names the memory, its size and what is needed.
func TestMemory(t *testing.T) {
	for on, suffix := range map[string]string{"opencl:0": ".cl", "cpu:0": ".c", "vulkan:0": ".spv"} {
		file := map[string]string{".cl": write(t, "add.cl", addCL), ".c": write(t, "add.c", addC),
			".spv": "../../examples/kernel/add.spv"}[suffix]
		o := custom.Options{Signature: addSignature, Sizes: map[string]int64{"n": 1 << 31}}
		if suffix == ".spv" {
			o.Signature = "add(x: const float32[n], y: const float32[n], z: out float32[n]) launch blockIdx.x=64"
			o.Sizes["n"] = 1 << 40
		} else {
			o.Signature, o.Sizes["n"] = strings.Replace(addSignature, "n: int32", "n: int64", 1), 1<<40
			o.Signature = strings.Replace(o.Signature, "blockIdx.x=ceildiv(n, 64)", "blockIdx.x=64", 1)
		}
		k, err := custom.Case([]string{file}, o)
		require.NoError(t, err)
		r := run(t, k, on)[0]
		require.Equal(t, bench.NotMeasured, r.Status, r.Reason)
		require.Contains(t, r.Reason, "12.0 TiB")
		require.Contains(t, r.Reason, "memory of "+on)
	}
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
