package suite

import (
	"context"
	"errors"
	"fmt"

	"tvmgo/bench"
	"tvmgo/bench/blas"
	"tvmgo/bench/operators"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// vendors are the libraries that products of matrices are compared with, each on its kind of device.
var vendors = []struct {
	name    string
	device  dlpack.DeviceType
	product func(x, y, z *runtime.Tensor) (*blas.Product, error)
}{
	{"cuBLAS", dlpack.CUDA, blas.CuBLAS},
	{"CLBlast", dlpack.OpenCL, blas.CLBlast},
	{"OpenBLAS", dlpack.CPU, blas.OpenBLAS},
}

// libraries returns the variants of a product of matrices.
func (e *estimates) libraries(op *operators.Operator) (list []bench.Variant) {
	for _, v := range vendors {
		more := e.variant(v.name, op, func(_ context.Context, _ *bench.Device, a *operators.Arrays, r *resources) (
			func() error, bench.Facts, error) {
			t := a.Tensors()
			p, err := keep(v.product(t[0], t[1], t[2]))(r)
			if err != nil {
				return nil, nil, missing(err)
			}
			a.HalfSums = p.Sums == dlpack.Float16
			return func() error { return missing(p.Call()) }, nil, nil
		})
		more[0].On = func(on *bench.Device) bool { return on.Handle.Type == v.device }
		list = append(list, more...)
	}
	return list
}

// missing marks an error that means that the library or a feature of it is missing.
func missing(err error) error {
	if errors.Is(err, blas.ErrMissing) {
		return fmt.Errorf("%w: %w", bench.ErrNotMeasured, err)
	}
	return err
}
