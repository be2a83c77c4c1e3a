package blob

import (
	"fmt"

	"tvmgo/dlpack"
)

// tensorMagic is the first word of a serialized tensor.
const tensorMagic = 0xDD5E40F096B4A13F

// minTensorSize is the size in bytes of a serialized tensor without dimensions and data.
const minTensorSize = 8 + 8 + 8 + 4 + 4 + 8

// Tensor is a serialized tensor. Data is a view without any alignment, so that generated code needs a copy of it.
type Tensor struct {
	DType dlpack.DataType
	Shape []int64
	Data  []byte
}

// Tensor reads a tensor in the form of parameter files, constants and executables: magic number, reserved word, device
// (always the CPU), rank, data type, shape, size in bytes, data. The size must be that of [dlpack.SerializedDataSize].
func (r *Reader) Tensor(what string) Tensor {
	start := r.Offset()
	magic := r.U64(what)
	r.U64(what) // reserved
	device := r.Device(what)
	rank := r.I32(what)
	t := Tensor{DType: r.DType(what)}
	switch {
	case r.err != nil:
		return Tensor{}
	case magic != tensorMagic:
		r.failAt(start, what, "a tensor begins with %#x, not %#x", uint64(tensorMagic), magic)
	case device.Type != dlpack.CPU:
		r.failAt(start, what, "a saved tensor is on the CPU, not on %s", device)
	case rank < 0 || int(rank) > r.Len()/8:
		r.failAt(start, what, "the rank is %d, but only %d bytes remain", rank, r.Len())
	}
	if r.err != nil {
		return Tensor{}
	}
	t.Shape = make([]int64, rank)
	for i := range t.Shape {
		t.Shape[i] = r.I64(what)
	}
	size := r.I64(what)
	want, err := dlpack.SerializedDataSize(t.Shape, t.DType)
	if r.err == nil && (err != nil || size != want) {
		r.failAt(start, what, "%s", sizeProblem(t, size, want, err))
	}
	t.Data = r.Take(uint64(size), what)
	if r.err != nil {
		return Tensor{}
	}
	return t
}

func sizeProblem(t Tensor, size, want int64, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("shape %v of %s takes %d bytes, not %d", t.Shape, t.DType, want, size)
}

// tensors reads a u64 number of tensors, which must be count, and the tensors.
func (r *Reader) tensors(count int, what string) []Tensor {
	at := r.Offset()
	n := r.Count(minTensorSize, what)
	if r.err == nil && n != count {
		r.failAt(at, what, "%d tensors for %d names", n, count)
	}
	list := make([]Tensor, 0, n)
	for range n {
		if r.err != nil {
			return nil
		}
		list = append(list, r.Tensor(what))
	}
	return list
}

// Tensor writes a tensor in the form that [Reader.Tensor] reads.
func (w *Writer) Tensor(t Tensor) error {
	want, err := dlpack.SerializedDataSize(t.Shape, t.DType)
	if err != nil || int64(len(t.Data)) != want {
		return fmt.Errorf("blob: write tensor: %s", sizeProblem(t, int64(len(t.Data)), want, err))
	}
	w.U64(tensorMagic)
	w.U64(0)
	w.Device(dlpack.Device{Type: dlpack.CPU})
	w.I32(int32(len(t.Shape)))
	w.DType(t.DType)
	for _, d := range t.Shape {
		w.I64(d)
	}
	w.Bytes(t.Data)
	return nil
}
