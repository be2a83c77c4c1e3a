//go:build cgo

package ops

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/testseed"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// everyCase is the environment variable with which tests run all cases, not a random part of them.
const everyCase = "TVMGO_TEST_ALL"

// deviceKinds are the kinds of devices that are not the CPU.
var deviceKinds = []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan, dlpack.CUDA}

// operatorsOn are the names of the operators that are tested on a kind of device: all of them if everyCase is set.
// Otherwise the kinds share the operators, because their compilers take most of the time of a normal run.
func operatorsOn(kind dlpack.DeviceType) (names []string) {
	for n, name := range slices.Sorted(maps.Keys(values)) {
		if os.Getenv(everyCase) != "" || deviceKinds[n%len(deviceKinds)] == kind {
			names = append(names, name)
		}
	}
	return names
}

// deviceTargets are targets whose kernels run here: with the schedules for a GPU, also on a driver that uses the CPU,
// and with the schedules for the device as it reports itself.
func deviceTargets(t *testing.T, kind dlpack.DeviceType) (all []*target.Target) {
	dev := dlpack.Device{Type: kind}
	if kind == dlpack.CUDA {
		cudarun.Use(t)
		return []*target.Target{must.Get(target.New(`{"kind": "cuda", "arch": "sm_90", "host": "c"}`))(t)}
	}
	if !runtime.DeviceExists(dev) {
		gputest.Missing(t, kind, fmt.Sprintf("there is no device %v", dev))
	}
	reported := must.Get(runtime.DetectTarget(dev))(t)
	config := reported.Export()
	delete(config, "device_type")
	return []*target.Target{must.Get(target.New(config))(t), reported}
}

// sampled returns a random part of cases in the normal run, and all of them if everyCase is set.
func sampled[T any](t *testing.T, cases []T, part int) []T {
	if os.Getenv(everyCase) != "" || len(cases) <= part {
		return cases
	}
	rng := testseed.Rand(t)
	var some []T
	for _, n := range rng.Perm(len(cases))[:part] {
		some = append(some, cases[n])
	}
	return some
}

// TestValuesOnDevices compares the cases of TestValues on devices: with the schedules of the device's target, and with
// those of a GPU with the same limits.
func TestValuesOnDevices(t *testing.T) {
	for _, kind := range deviceKinds {
		t.Run(kind.String(), func(t *testing.T) {
			targets := deviceTargets(t, kind)
			for _, name := range operatorsOn(kind) {
				t.Run(name, func(t *testing.T) {
					cases := sampled(t, values[name](), 2)
					for n, to := range targets {
						var own []opCase
						for i, c := range cases {
							if os.Getenv(everyCase) != "" || i%len(targets) == n {
								own = append(own, c)
							}
						}
						for part := range slices.Chunk(own, 40) {
							runOnDevice(t, part, to)
						}
					}
				})
			}
		})
	}
}

// runOnDevice computes cases with their schedules for a target, on the first device of its kind.
func runOnDevice(t *testing.T, cases []opCase, to *target.Target) {
	t.Helper()
	runScheduled(t, cases, to, func(int, *te.Tensor) *Config { return nil })
}

// loweredCase returns the function of a case with its schedule for a target. A config of nil is the default.
func loweredCase(t *testing.T, c *opCase, to *target.Target, name string,
	config func(*te.Tensor) *Config) *tir.PrimFunc {
	t.Helper()
	x := c.placeholders()
	out := c.make(x)
	s, err := Schedule(to, out)
	if own := config(out); own != nil {
		s, err = ScheduleWith(to, own, out)
	}
	require.NoError(t, err, c.name)
	var args []any
	for _, x := range append(x, out) {
		args = append(args, x)
	}
	m, err := te.Lower(s, args, name)
	require.NoError(t, err, c.name)
	return m.Funcs[0]
}

// runScheduled is runOnDevice with parameters for the schedule of each case; nil: the default.
func runScheduled(t *testing.T, cases []opCase, to *target.Target, config func(n int, out *te.Tensor) *Config) {
	t.Helper()
	dev := dlpack.Device{Type: to.DeviceType()}
	var funcs []*tir.PrimFunc
	for n := range cases {
		funcs = append(funcs, loweredCase(t, &cases[n], to, fmt.Sprintf("f%d", n),
			func(out *te.Tensor) *Config { return config(n, out) }))
	}
	lib := must.Get(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
	defer lib.Close()
	if dev.Type == dlpack.Vulkan {
		for _, m := range must.Get(lib.Imports())(t) {
			spirvtest.ValidateModule(t, m)
			require.NoError(t, m.Close())
		}
	}
	for n := range cases {
		c := &cases[n]
		f := must.Get(lib.Function(funcs[n].Name))(t)
		var args []any
		for _, a := range append(slices.Clone(c.ins), &nd{c.want.t, c.want.shape, make([]float64, len(c.want.v))}) {
			array := memory(t, a, false)
			x := must.Get(runtime.NewTensor(dlpack.DataType(array.DType), array.Shape, dev))(t)
			if len(array.Data) > 0 {
				require.NoError(t, x.CopyFromBytes(array.Data))
			}
			args = append(args, x)
		}
		_, err := f.Call(args...)
		require.NoError(t, err, c.name)
		f.Close()
		out := memory(t, &nd{c.want.t, c.want.shape, make([]float64, len(c.want.v))}, false)
		if len(out.Data) > 0 {
			require.NoError(t, args[len(args)-1].(*runtime.Tensor).CopyToBytes(out.Data), c.name)
		}
		c.check(t, "on "+to.String(), out)
		for _, x := range args {
			require.NoError(t, x.(*runtime.Tensor).Close())
		}
	}
}
