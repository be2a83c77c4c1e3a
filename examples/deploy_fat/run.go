package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
)

const rows = 33 // not a multiple of any tile

// runLibrary runs both functions on every device, and compares the results with those of the CPU.
func runLibrary(ctx context.Context, path string, w io.Writer) error {
	m, err := runtime.Load(ctx, path)
	if err != nil {
		return err
	}
	defer m.Close()
	var want []float32
	for _, d := range runtime.Devices() {
		if d.Err != nil || d.Device.Type == dlpack.CUDAHost || d.Device.Type == dlpack.CUDAManaged {
			continue
		}
		got, err := network(m, d.Device)
		if err != nil && strings.Contains(err.Error(), "the file has") { // it lists the variants that exist
			fmt.Fprintf(w, "%-10s no variant: %v\n", d.Device, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Device, err)
		}
		if want == nil { // the CPU is the first
			want = got
		}
		for i := range got {
			if math.Abs(float64(got[i]-want[i])) > 1e-5 {
				return fmt.Errorf("%s: element %d is %v, and %v on the CPU", d.Device, i, got[i], want[i])
			}
		}
		fmt.Fprintf(w, "%-10s row 0: %.5f %.5f %.5f …, all %d elements as on the CPU\n", d.Device, got[0], got[1], got[2],
			len(got))
	}
	return nil
}

// network returns softmax(relu(a·b + bias)), computed on a device.
func network(m *runtime.Module, device dlpack.Device) ([]float32, error) {
	var tensors []*runtime.Tensor
	defer func() {
		for _, t := range tensors {
			t.Close()
		}
	}()
	on := func(step int, shape ...int64) (*runtime.Tensor, error) {
		t, err := runtime.NewTensor(dlpack.Float32, shape, device)
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, t)
		n := int64(1)
		for _, extent := range shape {
			n *= extent
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32((step*i)%13-6) / 16
		}
		host, err := runtime.FromSlice(values, shape...)
		if err != nil {
			return nil, err
		}
		defer host.Close()
		return t, t.CopyFromTensor(host, nil)
	}
	var args [5]*runtime.Tensor
	for i, shape := range [][]int64{{rows, inner}, {inner, columns}, {columns}, {rows, columns}, {rows, columns}} {
		var err error
		if args[i], err = on(2*i+3, shape...); err != nil {
			return nil, err
		}
	}
	if err := call(m, "dense", args[0], args[1], args[2], args[3]); err != nil {
		return nil, err
	}
	if err := call(m, "softmax", args[3], args[4]); err != nil {
		return nil, err
	}
	return runtime.ToSlice[float32](args[4])
}

func call(m *runtime.Module, name string, args ...any) error {
	f, err := m.Function(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Call(args...)
	return err
}
