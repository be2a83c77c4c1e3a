package cpu_test

import (
	"testing"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
)

// hostModule does on the CPU what a compiled module would.
type hostModule struct{ runtime.ModuleBase }

func (hostModule) Function(name string) (*runtime.Function, error) {
	return runtime.NewFunction(func(args ...any) (any, error) {
		x, ok := args[0].(*runtime.Tensor)
		if !ok {
			return nil, &runtime.Error{Op: name, Kind: runtime.ErrInvalidArgument, Message: "the argument is no array"}
		}
		data, err := runtime.ToSlice[float32](x)
		if err != nil {
			return nil, err
		}
		for i := range data {
			data[i]++
		}
		return nil, runtime.CopyFrom(x, data)
	})
}

func TestDevice_Conforms(t *testing.T) {
	devicetest.Run(t, runtime.CPU, devicetest.Options{DataIsAddress: true,
		Second: dlpack.Device{Type: dlpack.CPU, ID: 1}, OneMemory: true, // every index is this machine
		Module: func() (*runtime.Module, error) { return runtime.NewModule("host", runtime.Runnable, hostModule{}) }})
}
