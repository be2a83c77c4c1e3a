//go:build opencl

package opencl_test

import (
	"context"
	"fmt"
	"log"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl" // enables OpenCL
)

// A kernel in OpenCL C becomes a module. Nothing is compiled before the kernel is first launched, so that needs no
// device.
func Example() {
	const source = `__kernel void scale(__global float* x, float by) { x[get_global_id(0)] *= by; }`
	m, err := runtime.NewDeviceModule("opencl", "cl", []byte(source), runtime.KernelType{
		Name: "scale", Args: []dlpack.DataType{dlpack.Handle, dlpack.Float32}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	scale, err := m.Kernel("scale")
	if err != nil {
		log.Fatal(err)
	}
	defer scale.Close()
	fmt.Println(m.Kind(), m.Functions())

	dev := dlpack.Device{Type: dlpack.OpenCL}
	if runtime.DeviceExists(dev) {
		values, err := launch(dev, scale)
		if err != nil {
			log.Fatal(err)
		}
		if values[255] != 2.5 {
			log.Fatal(values)
		}
	}
	// Output: opencl [scale]
}

// launch scales a vector of ones by 2.5, on a stream.
func launch(dev dlpack.Device, scale *runtime.Kernel) ([]float32, error) {
	ones := make([]float32, 256)
	for i := range ones {
		ones[i] = 1
	}
	x, err := runtime.NewTensor(dlpack.Float32, []int64{256}, dev)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	if err := runtime.CopyFrom(x, ones); err != nil {
		return nil, err
	}
	s, err := runtime.NewStream(dev)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := scale.Launch(s, runtime.Dim3{4}, runtime.Dim3{64}, x, 2.5); err != nil { // 4 blocks of 64 work items
		return nil, err
	}
	if err := s.Sync(context.Background()); err != nil {
		return nil, err
	}
	return runtime.ToSlice[float32](x)
}
