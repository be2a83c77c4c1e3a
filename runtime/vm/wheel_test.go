package vm_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tracetest"
	"tvmgo/internal/testing/wheelmodels"
	"tvmgo/runtime"

	_ "tvmgo/runtime/opencl"
)

// registerGlobals registers the packed functions that package wheelmodels describes, until the end of the test.
func registerGlobals(t *testing.T) {
	t.Helper()
	elements := func(v any) []float32 { return must.Get(runtime.ToSlice[float32](v.(*runtime.Tensor)))(t) }
	for name, f := range map[string]runtime.PackedFunc{
		"twice": func(args ...any) (any, error) {
			x := elements(args[0])
			for i := range x {
				x[i] *= 2
			}
			return runtime.FromSlice(x, args[0].(*runtime.Tensor).Shape()...)
		},
		"add": func(args ...any) (any, error) {
			x, y := elements(args[0]), elements(args[1])
			for i := range x {
				x[i] += y[i]
			}
			return nil, runtime.CopyFrom(args[2].(*runtime.Tensor), x)
		},
		"describe": func(args ...any) (any, error) {
			shape := strings.ReplaceAll(fmt.Sprint([]int64(args[2].(runtime.Shape))), " ", ", ")
			return fmt.Sprint(args[0], " ", args[1], " ", shape, " ", args[3], " ", args[4]), nil
		},
		"plus": func(args ...any) (any, error) {
			if len(args) != 2 {
				return nil, runtime.Errorf(runtime.ErrInvalidArgument, "plus: %d arguments", len(args))
			}
			return args[0].(int64) + args[1].(int64), nil
		},
		"less": func(args ...any) (any, error) {
			if args[0].(int64) < args[1].(int64) {
				return int64(1), nil
			}
			return int64(0), nil
		},
		"apply": func(args ...any) (any, error) { return args[0].(*runtime.Function).Call(args[1:]...) },
		"count": func(args ...any) (any, error) { return int64(len(args)), nil },
	} {
		function := must.Open(runtime.NewFunction(f))(t)
		require.NoError(t, runtime.RegisterGlobal("wheelmodels."+name, function, false))
		t.Cleanup(func() { runtime.RemoveGlobal("wheelmodels." + name) })
	}
}

// argument converts a value; tensors are on a device, and closed at the end of the test.
func argument(t *testing.T, v wheelmodels.Value, dev dlpack.Device) any {
	t.Helper()
	switch {
	case v.Tensor != nil:
		x := must.Open(runtime.NewTensor(v.Tensor.DType, v.Tensor.Shape, dev))(t)
		if len(v.Tensor.Data) > 0 {
			require.NoError(t, x.CopyFromBytes(v.Tensor.Data))
		}
		return x
	case v.Tuple != nil:
		all := []any{}
		for _, x := range v.Tuple {
			all = append(all, argument(t, x, dev))
		}
		return all
	case v.Shape != nil:
		return runtime.Shape(v.Shape)
	case v.Int != nil:
		return *v.Int
	case v.Float != nil:
		return *v.Float
	case v.Bool != nil:
		return *v.Bool
	case v.String != nil:
		return *v.String
	case v.DType != nil:
		return *v.DType
	}
	return nil
}

// requireValue compares a result and closes it.
func requireValue(t *testing.T, want wheelmodels.Value, got any) {
	t.Helper()
	switch {
	case want.Tensor != nil:
		x, ok := got.(*runtime.Tensor)
		require.True(t, ok, "%T", got)
		requireTensor(t, want.Tensor, x)
		x.Close()
	case want.Tuple != nil:
		all, ok := got.([]any)
		require.True(t, ok, "%T", got)
		require.Len(t, all, len(want.Tuple))
		for i := range all {
			requireValue(t, want.Tuple[i], all[i])
		}
	case want.Object != "":
		switch x := got.(type) {
		case *runtime.Object:
			x.Close()
		case *runtime.Function:
			x.Close()
		default:
			require.Fail(t, "no object", "%T instead of %s", got, want.Object)
		}
	default:
		require.Equal(t, argument(t, want, runtime.CPU), got)
	}
}

// requireTensor compares tensors: numbers of floating point may differ a little, because kernels for devices add in
// another order.
func requireTensor(t *testing.T, want *wheelmodels.Tensor, got *runtime.Tensor) {
	t.Helper()
	require.Equal(t, want.DType, got.DType())
	require.Equal(t, want.Shape, append([]int64{}, got.Shape()...))
	data := make([]byte, len(want.Data))
	if len(data) > 0 {
		require.NoError(t, got.CopyToBytes(data))
	}
	if want.DType != dlpack.Float32 {
		require.Equal(t, want.Data, data)
		return
	}
	for i := 0; i < len(data); i += 4 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(want.Data[i:]))
		y := math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))
		require.InDelta(t, x, y, 1e-4, "element %d", i/4)
	}
}

// TestProfile_OpenCL runs models whose kernels are OpenCL's: each launch of a kernel is on the track of the stream, and
// the memory in use of both devices returns to zero once results are closed.
func TestProfile_OpenCL(t *testing.T) {
	registerGlobals(t)
	dev := dlpack.Device{Type: dlpack.OpenCL}
	if !runtime.DeviceExists(dev) {
		gputest.Missing(t, dev.Type, "there is no OpenCL device")
	}
	models := 0
	for _, m := range wheelmodels.Need(t) {
		if m.Devices[0] != "opencl" || m.Error != "" || m.Program == "few_arguments" {
			continue
		}
		models++
		t.Run(m.Name, func(t *testing.T) {
			s := must.Get(modules.Call(t, modules.Load(t, m.Path), "vm_load_executable"))(t).(*runtime.Module)
			defer s.Close()
			must.Get(modules.Call(t, s, "vm_initialization", int64(dev.Type), 0, 2, 1, 0, 2))(t)
			p := must.Get(runtime.NewProfile())(t)
			for i, c := range m.Cases {
				require.NoError(t, p.Do(func() error {
					runCase(t, s, fmt.Sprintf("%s, case %d", c.Function, i), c, func(param int) dlpack.Device {
						if m.Program == "heterogeneous" && param == 2 {
							return runtime.CPU
						}
						return dev
					})
					return nil
				}))
			}
			trace := tracetest.Of(t, p)
			tracetest.CheckShares(t, p)
			kernels := map[string]int{}
			for _, e := range trace.Of("kernel") {
				kernels[trace.Process[e.PID]]++
			}
			require.NotZero(t, kernels["opencl:0"])
			require.Equal(t, kernels["host"], kernels["opencl:0"])
			for _, d := range []string{"cpu:0", "opencl:0"} {
				if memory := trace.Memory(d); len(memory) > 0 {
					require.Zero(t, memory[len(memory)-1], d)
				}
			}
		})
	}
	require.NotZero(t, models)
}

// TestWheel_EveryModel runs every model that Apache TVM compiled and compares with what TVM's machine returned: also
// which calls fail, and what they change in place.
func TestWheel_EveryModel(t *testing.T) {
	registerGlobals(t)
	for _, m := range wheelmodels.Need(t) {
		t.Run(m.Name, func(t *testing.T) {
			noLeaks(t)
			dev := runtime.CPU
			switch m.Devices[0] {
			case "cuda":
				t.Skip("no device runs CUDA code of TVM's compiler in this test")
			case "opencl":
				dev = dlpack.Device{Type: dlpack.OpenCL}
				if !runtime.DeviceExists(dev) {
					gputest.Missing(t, dev.Type, "there is no OpenCL device")
				}
			}
			if m.Program == "few_arguments" { // TVM notices the mistake only when the function is called
				_, err := runtime.Load(context.Background(), m.Path)
				require.ErrorContains(t, err, `1 arguments for function "pair", which has 2 parameters`)
				return
			}
			lib := modules.Load(t, m.Path)
			s := must.Get(modules.Call(t, lib, "vm_load_executable"))(t).(*runtime.Module)
			defer s.Close()
			devices := []any{int64(dev.Type), 0, 2}
			if dev != runtime.CPU {
				devices = append(devices, 1, 0, 2)
			}
			_, err := modules.Call(t, s, "vm_initialization", devices...)
			if m.Error != "" {
				require.ErrorContains(t, err, "wheelmodels.missing")
				return
			}
			require.NoError(t, err)
			for i, c := range m.Cases {
				runCase(t, s, fmt.Sprintf("%s, case %d", c.Function, i), c, func(param int) dlpack.Device {
					if m.Program == "heterogeneous" && param == 2 {
						return runtime.CPU // the parameter belongs to the part on the host
					}
					return dev
				})
			}
		})
	}
}

func runCase(t *testing.T, s *runtime.Module, what string, c wheelmodels.Case,
	device func(param int) dlpack.Device) {
	t.Helper()
	f := must.Get(s.Function(c.Function))(t)
	defer f.Close()
	var args []any
	for i, v := range c.Inputs {
		args = append(args, argument(t, v, device(i)))
	}
	got, err := f.Call(args...)
	if c.Error != "" {
		require.Error(t, err, "%s: Apache TVM says %s", what, c.Error)
		return
	}
	require.NoError(t, err, what)
	requireValue(t, c.Output, got)
	for i, v := range c.After {
		requireTensor(t, v.Tensor, args[i].(*runtime.Tensor))
	}
}
