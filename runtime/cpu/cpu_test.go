package cpu_test

import (
	"testing"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
)

// hostModule is a module for the CPU that is written in Go.
type hostModule struct{ runtime.ModuleBase }

func (hostModule) Function(name string) (*runtime.Function, error) {
	return runtime.NewFunction(func(args ...any) (any, error) {
		x, ok := args[0].(*runtime.Tensor)
		if !ok {
			return nil, &runtime.Error{Op: name, Kind: runtime.ErrInvalidArgument, Message: "the argument must be an array"}
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
		Second: dlpack.Device{Type: dlpack.CPU, ID: 1}, OneMemory: true, // every index is the same CPU
		Module: func() (*runtime.Module, error) { return runtime.NewModule("host", runtime.Runnable, hostModule{}) }})
}
