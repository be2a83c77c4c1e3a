// Package blas computes products of square matrices with the libraries of vendors, for comparison with generated
// kernels: cuBLAS, CLBlast and OpenBLAS. A library is opened when it is first used.
//
//	p, err := blas.CLBlast(x, y, z)   // ErrMissing, with advice, if it is not installed
//	err = p.Call()                    // queues z = x·y on the default stream of the device
//
// Matrices are tensors of shape [n, n] in row-major order, float32 or float16.
package blas

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"tvmgo/dlpack"
	"tvmgo/internal/dl"
	"tvmgo/runtime"
)

// ErrMissing says that a library is not installed, or lacks what is needed. The message says what to do.
var ErrMissing = errors.New("library not usable")

// Product is the product of two matrices by a library.
type Product struct {
	Library string             // the file
	Sums    dlpack.DataType    // the type in which products are added, at least
	Call    func() error       // queues a product on the default stream of the device; of a CPU, computes it
	close   func() error       // nil if nothing is to be freed
	all     [3]*runtime.Tensor // which stay reachable
}

// Close frees what the library has allocated. The matrices stay those of the caller.
func (p *Product) Close() error {
	if p.close == nil {
		return nil
	}
	f := p.close
	p.close = nil
	return f()
}

// vendor is a library.
type vendor struct {
	title, variable string
	names           []string
	cure            string
}

// open opens the library that the environment variable names, or else the first that the linker finds. Libraries stay
// open: some of them do not survive to be closed.
func (v vendor) open() (*dl.Handle, error) {
	names := v.names
	if name := os.Getenv(v.variable); name != "" {
		names = []string{name}
	}
	var missing error
	for _, name := range names {
		h, err := dl.OpenFile(name)
		if err == nil {
			return h, nil
		}
		missing = err
	}
	return nil, fmt.Errorf("%w: there is no %s: %s, or set %s to its file (%w)", ErrMissing, v.title, v.cure, v.variable,
		missing)
}

// lacks returns the error for a library without a function.
func (v vendor) lacks(h *dl.Handle, name string) error {
	return fmt.Errorf("%w: %s has no function %s: %s", ErrMissing, h.Path(), name, v.cure)
}

// check returns the number of rows of three matrices of a type.
func check(v vendor, device dlpack.DeviceType, x, y, z *runtime.Tensor, types ...dlpack.DataType) (n int, err error) {
	for _, t := range []*runtime.Tensor{x, y, z} {
		switch s := t.Shape(); {
		case t.Device() != x.Device() || t.Device().Type != device:
			return 0, fmt.Errorf("%w: %s computes on %v, and a matrix is on %v", ErrMissing, v.title, device, t.Device())
		case len(s) != 2 || s[0] != s[1] || s[0] != x.Shape()[0] || !t.IsContiguous() || t.DType() != x.DType():
			return 0, fmt.Errorf("a product by %s: want square matrices of one size and type, have %v", v.title, t)
		}
	}
	if !slices.Contains(types, x.DType()) {
		return 0, fmt.Errorf("%w: %s has no product of %v", ErrMissing, v.title, x.DType())
	}
	return int(x.Shape()[0]), nil
}

func address(t *runtime.Tensor) uint64 { return uint64(t.Data()) + t.ByteOffset() }
