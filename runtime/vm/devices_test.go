package vm_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"

	_ "tvmgo/runtime/all"
)

const width = 100 // elements of the vectors of twoDevices

func number(n int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.Immediate, Value: n} }

// twoDevices is a program for a device and the host, as TVM's compiler makes them:
//
//	main(x on the host, w on the device) = (a, b)
//
// where a = 5 · (3x + w), of which 3x is computed on the host and copied to the device, and a is copied back; b = 5w.
func twoDevices(kind dlpack.DeviceType) *vmcode.Executable {
	e := annotated(map[string][][2]string{"main": {
		{"x", `R.Tensor((100,), dtype="float32", vdevice="c:0:global")`},
		{"w", `R.Tensor((100,), dtype="float32", vdevice="` + kind.String() + `:0:global")`},
	}}, "main")
	packed := func(name string) int {
		e.Functions = append(e.Functions, vmcode.Function{Kind: vmcode.Packed, Name: name})
		return len(e.Functions) - 1
	}
	constant := func(c vmcode.Constant) vmcode.Operand {
		e.Constants = append(e.Constants, c)
		return vmcode.Operand{Kind: vmcode.InConstant, Value: int64(len(e.Constants) - 1)}
	}
	storage, tensor := packed("vm.builtin.alloc_storage"), packed("vm.builtin.alloc_tensor")
	move, triple, add, five := packed("vm.builtin.to_device"), packed("triple"), packed("add"), packed("five")
	bytes := constant(vmcode.Constant{Kind: vmcode.ShapeConstant, Shape: []int64{4 * width}})
	shape := constant(vmcode.Constant{Kind: vmcode.ShapeConstant, Shape: []int64{width}})
	u8 := constant(vmcode.Constant{Kind: vmcode.DTypeConstant, DType: dlpack.UInt8})
	f32 := constant(vmcode.Constant{Kind: vmcode.DTypeConstant, DType: dlpack.Float32})
	scope := constant(vmcode.Constant{Kind: vmcode.StringConstant, Text: "global"})
	machine := reg(int64(vmcode.Context))

	next := int64(2) // register
	e.Code = nil
	emit := func(callee int, args ...vmcode.Operand) vmcode.Operand {
		e.Code = append(e.Code, invoke(next, callee, args...))
		next++
		return reg(next - 1)
	}
	empty := func(device int64) vmcode.Operand {
		s := emit(storage, machine, bytes, number(device), u8, scope)
		return emit(tensor, s, number(0), shape, f32)
	}
	device := func(x vmcode.Operand, kind dlpack.DeviceType) vmcode.Operand {
		return emit(move, x, number(int64(kind)), number(0))
	}
	x, w := reg(0), reg(1)
	tripled := empty(1)
	emit(triple, x, tripled)
	there := device(tripled, kind)
	sum, a, b := empty(0), empty(0), empty(0)
	emit(add, there, w, sum)
	emit(five, sum, a)
	emit(five, w, b)
	back := device(a, dlpack.CPU)
	emit(0, back, b)
	e.Code = append(e.Code, ret(next-1))
	for i := range e.Functions {
		if f := &e.Functions[i]; f.Name == "main" {
			f.Begin, f.End, f.Registers = 0, len(e.Code), int(next)
		}
	}
	return e
}

// twoDevicesModule has the functions of twoDevices as generated code.
func twoDevicesModule(t testing.TB, kind dlpack.DeviceType) *runtime.Module {
	t.Helper()
	m := loaded(t, twoDevices(kind))
	require.NoError(t, m.Import(gpuprograms.Scaled(t, "c", "triple", width, 3)))
	require.NoError(t, m.Import(gpuprograms.Scaled(t, kind.String(), "five", width, 5)))
	require.NoError(t, m.Import(gpuprograms.Sum(t, kind.String(), "add", width)))
	return m
}

// Executables for two devices run on them: inputs go where the parameters are, from any device, functions run on both,
// and copies between them wait for each other. The same holds for the exported library.
func TestDevices_Heterogeneous(t *testing.T) {
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan} {
		t.Run(kind.String(), func(t *testing.T) {
			dev := dlpack.Device{Type: kind}
			if !runtime.DeviceExists(dev) {
				gputest.Missing(t, kind, "there is no device of type "+kind.String())
			}
			made := twoDevicesModule(t, kind)
			path := filepath.Join(t.TempDir(), "model.so")
			require.NoError(t, export.Library(context.Background(), made, path))
			for _, source := range []any{made, path} {
				m := must.Open(runtime.OpenModel(context.Background(), source, []dlpack.Device{dev, runtime.CPU}, nil))(t)
				checkTwoDevices(t, m, dev)
			}
			chosen := must.Open(runtime.OpenModel(context.Background(), path, nil, nil))(t) // on the devices of its kernels
			checkTwoDevices(t, chosen, dev)
		})
	}
}

func checkTwoDevices(t *testing.T, m *runtime.Module, dev dlpack.Device) {
	t.Helper()
	var group sync.WaitGroup
	differences := make([]string, 8)
	for g := range differences {
		x, w, a, b := make([]float32, width), make([]float32, width), make([]float32, width), make([]float32, width)
		for i := range x {
			x[i], w[i] = float32(i+g), float32(2*i-g)
			a[i], b[i] = 5*(3*x[i]+w[i]), 5*w[i]
		}
		places := [2]dlpack.Device{runtime.CPU, dev}
		inputs := []any{gputest.Tensor(t, places[g&1], x), gputest.Tensor(t, places[g>>1&1], w)}
		group.Go(func() {
			for range 10 {
				differences[g] += twoDevicesCall(m, dev, inputs, a, b)
			}
		})
	}
	group.Wait()
	for g, d := range differences {
		require.Empty(t, d, g)
	}

	x, w := gputest.Tensor(t, dev, make([]float32, width)), modules.Empty(t, dlpack.Float32, width)
	must.Get(modules.Call(t, m, "set_input", "main", x, w))(t) // both are moved
	must.Get(modules.Call(t, m, "invoke_stateful", "main"))(t)
	out := must.Get(modules.Call(t, m, "get_output", "main", 1))(t).(*runtime.Tensor)
	defer out.Close()
	require.Equal(t, dev, out.Device())
}

// twoDevicesCall calls main and returns what is wrong with its results.
func twoDevicesCall(m *runtime.Module, dev dlpack.Device, inputs []any, wantA, wantB []float32) string {
	f, err := m.Function("main")
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	out, err := f.Call(inputs...)
	if err != nil {
		return err.Error()
	}
	for i, v := range out.([]any) {
		x := v.(*runtime.Tensor)
		defer x.Close()
		want, place := wantA, runtime.CPU
		if i == 1 {
			want, place = wantB, dev
		}
		got, err := runtime.ToSlice[float32](x)
		if err != nil {
			return err.Error()
		}
		if x.Device() != place {
			return "result on " + x.Device().String()
		}
		for k := range want {
			if got[k] != want[k] {
				return "wrong elements"
			}
		}
	}
	return ""
}
