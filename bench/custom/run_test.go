package custom_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/bench/suite"
	"tvmgo/codegen"
	"tvmgo/export"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	tirjson "tvmgo/tir/json"
	"tvmgo/tir/text"
)

const (
	cpuTIR = `func add(x: handle, y: handle, z: handle) {
  var n: int32
  buffer x: float32[n], param x
  buffer y: float32[n], param y
  buffer z: float32[n], param z
  parallel i in range(n) { z[i] = x[i] + y[i] }
}
`
	gpuTIR = `func add(x: handle, y: handle, z: handle) {
  var n: int32
  buffer x: float32[n], param x
  buffer y: float32[n], param y
  buffer z: float32[n], param z
  thread b in range((n + 63) / 64), thread "blockIdx.x" {
    thread t in range(64), thread "threadIdx.x" {
      if b * 64 + t < n { z[b * 64 + t] = x[b * 64 + t] + y[b * 64 + t] }
    }
  }
}
`
)

// fat writes a library with variants for the CPU, OpenCL and Vulkan.
func fat(t *testing.T) string {
	t.Helper()
	var variants []codegen.Variant
	for kind, program := range map[string]string{"c": cpuTIR, "opencl": gpuTIR, "vulkan": gpuTIR} {
		variants = append(variants, codegen.Variant{Target: must.Get(target.New(kind))(t),
			Program: must.Get(text.Parse(program))(t)})
	}
	m := must.Get(codegen.BuildVariants(variants))(t)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "add.so")
	require.NoError(t, export.Library(t.Context(), m, path))
	return path
}

// One library runs on each device that it has a variant for, and each result is compared with the CPU's: also if the
// CPU is not among the devices.
func TestLibrary_Fat(t *testing.T) {
	file := fat(t)
	k, err := custom.Case([]string{file}, custom.Options{Function: "add", In: []any{float32s(1000), float32s(1000)},
		Out: []*custom.Array{float32s(1000)}})
	require.NoError(t, err)
	rows := run(t, k, "opencl:0", "vulkan:0", "cpu:0")
	measured(t, rows)
	require.Equal(t, "3 arrays with 3000 elements, compared with cpu:0", rows[0].Checked)
	require.Equal(t, rows[0].Checked, rows[1].Checked)
	require.Equal(t, "not verified: it is what other devices are compared with", rows[2].Checked)
	require.Equal(t, bench.Time, rows[0].Figure)

	// The library has the signature of the function: a call with wrong arguments is not made.
	k, err = custom.Case([]string{file}, custom.Options{Function: "add",
		In: []any{float32s(10), float32s(9), float32s(10)}})
	require.NoError(t, err)
	row := run(t, k, "opencl:0")[0]
	require.Equal(t, bench.Failed, row.Status)
	require.Contains(t, row.Reason, "argument 1 (y) of add")
}

// Kernels that tvmgo pack put into a library are called with their signature, which the library has.
func TestLibrary_Packed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "add.so")
	require.NoError(t, pack.Library(t.Context(), pack.Kernels{
		Inputs:    []pack.Input{{Path: write(t, "add.c", addC)}, {Path: write(t, "add.cl", addCL)}},
		Functions: []pack.Function{{Signature: addSignature}}}, file))
	k, err := custom.Case([]string{file}, custom.Options{
		In: []any{float32s(10), float32s(10), custom.Output(0), int64(10)}, Out: []*custom.Array{float32s(10)}})
	require.NoError(t, err)
	rows := run(t, k, "opencl:0", "cpu:0", "vulkan:0")
	measured(t, rows[:2])
	require.Equal(t, "3 arrays with 30 elements, compared with cpu:0", rows[0].Checked)
	require.Equal(t, bench.NotMeasured, rows[2].Status)
	require.Contains(t, rows[2].Reason, "add of "+file+" has code for opencl")

	k, err = custom.Case([]string{file}, custom.Options{In: []any{float32s(10), float32s(10), custom.Output(0), int64(9)},
		Out: []*custom.Array{float32s(10)}})
	require.NoError(t, err)
	rows = run(t, k, "opencl:0")
	require.Equal(t, bench.Failed, rows[0].Status)
	require.Contains(t, rows[0].Reason, "got float32[10], expected float32[n] with n = 9 of argument 3 (n)")
}

// Libraries of Apache TVM with kernels run on their kind of device; elsewhere the error names the kinds that it has.
func TestLibrary_OfTVM(t *testing.T) {
	for _, file := range []string{"modern/gpu_opencl.so", "classic/gpu_opencl.so"} {
		k, err := custom.Case([]string{artifacts + file}, custom.Options{Function: "vadd",
			In: []any{float32s(1001), float32s(1001)}, Out: []*custom.Array{float32s(1001)}})
		require.NoError(t, err)
		rows := run(t, k, "opencl:0", "vulkan:0", "cpu:0")
		measured(t, rows[:1])
		require.Contains(t, rows[0].Checked, "not verified: no file runs on the CPU")
		require.Equal(t, bench.NotMeasured, rows[1].Status)
		require.Contains(t, rows[1].Reason, "has code for opencl")
		require.Equal(t, bench.NotMeasured, rows[2].Status, rows[2].Reason)
		require.Contains(t, rows[2].Reason, "may have no code for the CPU")
	}
}

// Programs are built for each device. Arguments follow from the program.
func TestPrograms(t *testing.T) {
	cpu, gpu := write(t, "cpu.tir", cpuTIR), write(t, "gpu.tir", gpuTIR)
	sized := custom.Options{Sizes: map[string]int64{"n": 1000}}
	k, err := custom.Case([]string{gpu, cpu}, sized)
	require.NoError(t, err)
	rows := run(t, k, "cpu:0", "opencl:0", "vulkan:0")
	measured(t, rows)
	require.Equal(t, "3 arrays with 3000 elements, compared with cpu:0", rows[1].Checked)
	for _, r := range rows {
		require.Equal(t, 1000.0, r.Amount.Ops)
	}
	require.Equal(t, append(suite.BandwidthLimits(2, 1), suite.FP32), k.Limits)
	require.Contains(t, rows[2].Facts["target"], "vulkan")

	k, err = custom.Case([]string{gpu}, sized)
	require.NoError(t, err)
	rows = run(t, k, "cpu:0", "opencl:0")
	require.Equal(t, bench.NotMeasured, rows[0].Status)
	require.Contains(t, rows[0].Reason, "has loops over threads, which only a device has")
	measured(t, rows[1:])

	// What the target lacks is said, and is no failure.
	k, err = custom.Case([]string{gpu}, custom.Options{Sizes: sized.Sizes, Target: "opencl -max_threads_per_block=32"})
	require.NoError(t, err)
	rows = run(t, k, "opencl:0")
	require.Equal(t, bench.NotMeasured, rows[0].Status)
	require.Contains(t, rows[0].Reason, "cannot be built for opencl:0")
	require.Contains(t, rows[0].Reason, "a block has 64 threads")

	sized.Target = "opencl"
	k, err = custom.Case([]string{gpu}, sized)
	require.NoError(t, err)
	rows = run(t, k, "opencl:0", "vulkan:0")
	measured(t, rows[:1])
	require.Equal(t, bench.NotMeasured, rows[1].Status)

	k, err = custom.Case([]string{cpu}, custom.Options{Sizes: map[string]int64{"n": 10}})
	require.NoError(t, err)
	rows = run(t, k, "opencl:0", "cpu:0")
	require.Equal(t, bench.NotMeasured, rows[0].Status)
	require.Contains(t, rows[0].Reason, "has no loops over threads")
	measured(t, rows[1:])
}

// C and OpenCL C are one case: the C function is the reference. A kernel that computes something else is not timed.
func TestKernels_WrongResult(t *testing.T) {
	host := write(t, "add.c", addC)
	sized := custom.Options{Sizes: map[string]int64{"n": 100}}
	good := write(t, "add.cl", addCL)
	k, err := custom.Case([]string{good, host}, sized)
	require.NoError(t, err)
	rows := run(t, k, "opencl:0", "cpu:0")
	measured(t, rows)
	require.Equal(t, "3 arrays with 300 elements, compared with cpu:0", rows[0].Checked)
	bad := write(t, "add.cl", "// "+addSignature+`
kernel void add(global const float* x, global const float* y, global float* z, int n) {
  int i = get_global_id(0);
  if (i < n) z[i] = i == 70 ? 5 : x[i] + y[i];
}
`)
	k, err = custom.Case([]string{bad, host}, sized)
	require.NoError(t, err)
	rows = run(t, k, "opencl:0", "cpu:0")
	require.Equal(t, bench.Wrong, rows[0].Status)
	require.Empty(t, rows[0].Samples)
	require.Contains(t, rows[0].Reason, "argument 2 (z), float32[100]: 1 of 100 elements differ, first at [70]: got 5, "+
		"want ")
	require.Contains(t, rows[0].Reason, "as on cpu:0")
	measured(t, rows[1:])
}

// A launch without threads is not measured.
func TestKernels_NoThreads(t *testing.T) {
	k, err := custom.Case([]string{write(t, "add.cl", addCL)}, custom.Options{Sizes: map[string]int64{"n": 0}})
	require.NoError(t, err)
	row := run(t, k, "opencl:0")[0]
	require.Equal(t, bench.NotMeasured, row.Status)
	require.Contains(t, row.Reason, "the launch of add has no threads")
}

// Programs may be in JSON, with several functions: the others need not be for the same devices.
func TestPrograms_JSON(t *testing.T) {
	m := must.Get(text.Parse(gpuTIR + strings.Replace(cpuTIR, "func add", "func host", 1)))(t)
	file := write(t, "add.json", string(must.Get(tirjson.Marshal(m))(t)))
	for function, on := range map[string]string{"add": "opencl:0", "host": "cpu:0"} {
		k, err := custom.Case([]string{file}, custom.Options{Function: function, Sizes: map[string]int64{"n": 10}})
		require.NoError(t, err)
		measured(t, run(t, k, on))
	}
	_, err := custom.Case([]string{file}, custom.Options{Function: "hots"})
	require.ErrorContains(t, err, `there is no function "hots" in it; did you mean "host"?`)
	_, err = custom.Case([]string{file}, custom.Options{})
	require.ErrorContains(t, err, "which function? It has add, host")
}

// The example's files are one case.
func TestExample(t *testing.T) {
	at := func(name string) string { return "../../examples/bench/" + name }
	o := custom.Options{Sizes: map[string]int64{"n": 1000}, Figure: bench.Bandwidth}
	for _, files := range [][]string{{at("triad.c"), at("triad.cl"), at("triad.cu")}, {at("triad.tir"), at("triad.c")}} {
		k, err := custom.Case(files, o)
		require.NoError(t, err)
		rows := run(t, k, "cpu:0", "opencl:0")
		measured(t, rows)
		require.Equal(t, "3 arrays with 3000 elements, compared with cpu:0", rows[1].Checked)
	}
}
