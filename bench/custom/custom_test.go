package custom_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
)

const artifacts = "../../testdata/artifacts/"

// short measures as little as possible.
var short = bench.Config{Rounds: bench.LeastRounds, Sample: time.Microsecond, WarmUp: time.Microsecond}

// devices returns devices by name. One that does not exist skips the test, except on CI.
func devices(t *testing.T, names ...string) (list []*bench.Device) {
	t.Helper()
	for _, name := range names {
		d := must.Get(dlpack.ParseDevice(name))(t)
		if !runtime.DeviceExists(d) {
			gputest.Missing(t, d.Type, "there is no "+name)
		}
		list = append(list, &bench.Device{Name: name, Handle: d})
	}
	return list
}

// run measures a case, and checks that nothing stays alive.
func run(t *testing.T, k *bench.Case, on ...string) []*bench.Row {
	t.Helper()
	list := devices(t, on...)
	before := leaks.Settled(runtime.Live)
	r, err := bench.Run(t.Context(), short, []*bench.Case{k}, list)
	require.NoError(t, err)
	require.Len(t, r.Rows, len(on))
	require.Equal(t, before, runtime.Live(), "closing frees everything: the garbage collector does not have to")
	return r.Rows
}

func measured(t *testing.T, rows []*bench.Row) {
	t.Helper()
	for _, r := range rows {
		require.Equal(t, bench.Measured, r.Status, "%s: %s", r.ID(), r.Reason)
		require.NotEmpty(t, r.Samples)
	}
}

func npy(t *testing.T, name string) *custom.Array {
	t.Helper()
	return must.Get(custom.ParseArgument(artifacts + name))(t).(*custom.Array)
}

// Libraries of both generations are called with given arrays, and with those that follow from their signatures.
func TestLibraries(t *testing.T) {
	for _, file := range []string{"modern/multi_llvm.so", "modern/multi_c.so", "classic/multi_llvm.so"} {
		k, err := custom.Case([]string{artifacts + file}, custom.Options{Function: "vadd",
			In:     []any{npy(t, "vadd_in0.npy"), npy(t, "vadd_in1.npy")},
			Out:    []*custom.Array{{DType: dlpack.Float32, Shape: []int64{1001}}},
			Expect: []*custom.Array{npy(t, "vadd_out.npy")}})
		require.NoError(t, err, file)
		rows := run(t, k, "cpu:0")
		measured(t, rows)
		require.Equal(t, "1 array with 1001 elements, compared with those expected", rows[0].Checked)
		require.Equal(t, 3*4*1001.0, rows[0].Amount.Bytes)
		require.Equal(t, "custom", rows[0].Suite)
		require.Equal(t, "vadd", rows[0].Case)
	}
}

// A kernel in two languages is one case, whose rows are compared with each other.
func TestKernels_TwoLanguages(t *testing.T) {
	k, err := custom.Case([]string{"../../examples/kernel/add.cl", "../../examples/kernel/add.spv"}, custom.Options{
		Signature: "add(a: const float32[n], b: const float32[n], c: out float32[n]) launch blockIdx.x=n",
		Sizes:     map[string]int64{"n": 1000}})
	require.NoError(t, err)
	rows := run(t, k, "opencl:0", "vulkan:0", "cpu:0")
	measured(t, rows[:2])
	require.Contains(t, rows[0].Checked, "not verified")
	require.Equal(t, "3 arrays with 3000 elements, compared with opencl:0, which nothing verified", rows[1].Checked)
	require.Equal(t, bench.NotMeasured, rows[2].Status)
	require.Contains(t, rows[2].Reason, "add.cl has code for opencl")
}
