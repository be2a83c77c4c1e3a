//go:build cuda

package cuda_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/cuda" // enables CUDA
)

// Work that a stream does repeatedly is captured once and launched as often as needed. scale(x, by, n) multiplies n
// elements.
func Example_capture() {
	code, err := os.ReadFile("testdata/kernels.ptx")
	if err != nil {
		log.Fatal(err)
	}
	m, err := runtime.NewDeviceModule("cuda", "ptx", code, runtime.KernelType{
		Name: "scale", Args: []dlpack.DataType{dlpack.Handle, dlpack.Float32, dlpack.Int32}})
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

	dev := dlpack.Device{Type: dlpack.CUDA}
	if runtime.DeviceExists(dev) {
		values, err := capture(scale, dev) // [8 16 24]
		if err != nil {
			log.Fatal(err)
		}
		if values[2] != 24 {
			log.Fatal(values)
		}
	}
	// Output: cuda [scale]
}

// capture captures a graph of one kernel and launches it three times.
func capture(scale *runtime.Kernel, dev dlpack.Device) ([]float32, error) {
	s, err := runtime.NewStream(dev)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	x, err := runtime.NewTensor(dlpack.Float32, []int64{3}, dev)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	if err := runtime.CopyFrom(x, []float32{1, 2, 3}); err != nil {
		return nil, err
	}
	g, err := s.Capture(func() error { return scale.Launch(s, runtime.Dim3{1}, runtime.Dim3{3}, x, 2, 3) })
	if err != nil {
		return nil, err
	}
	defer g.Close()
	for range 3 {
		if err := g.Launch(s); err != nil {
			return nil, err
		}
	}
	if err := s.Sync(context.Background()); err != nil {
		return nil, err
	}
	return runtime.ToSlice[float32](x)
}
