package weights

import (
	"errors"
	"fmt"

	"tvmgo/blob"
	"tvmgo/dlpack"
)

// readParams reads a parameter dictionary (docs/abi.md G.2).
func (s *Set) readParams(f *file) error {
	s.format = Params
	r := blob.NewReader(f.data)
	r.U64("magic number")
	r.U64("reserved word")
	names := r.Strs("names of the parameters")
	count := r.U64("number of tensors")
	if r.Err() == nil && count != uint64(len(names)) {
		r.Fail("number of tensors", "%d tensors for %d names", count, len(names))
	}
	for _, name := range names {
		if r.Err() != nil {
			break
		}
		t := r.Tensor("tensor " + blobName(name))
		if err := s.addTVM(r, f, name, t); err != nil {
			return err
		}
	}
	return ofBlob(r.Finish("end of the parameters"))
}

// readTensor reads a single tensor (docs/abi.md G.1).
func (s *Set) readTensor(f *file, name string) error {
	s.format = TensorFile
	r := blob.NewReader(f.data)
	t := r.Tensor("tensor")
	if err := s.addTVM(r, f, name, t); err != nil {
		return err
	}
	return ofBlob(r.Finish("end of the tensor"))
}

func blobName(name string) string { return fmt.Sprintf("%.80q", name) }

// addTVM adds a tensor that r has read. Elements of less than 8 bits are packed in memory, but a file has a byte for
// each: TVM writes the packed ones first.
func (s *Set) addTVM(r *blob.Reader, f *file, name string, read blob.Tensor) error {
	if r.Err() != nil {
		return ofBlob(r.Err())
	}
	t := &Tensor{Name: name, DType: read.DType, Shape: read.Shape, file: f}
	if err := sized(t); err != nil {
		return err
	}
	t.stored = read.Data[:t.Size:t.Size]
	return s.append(t)
}

// ofBlob makes an error of package blob one of this package.
func ofBlob(err error) error {
	var format *blob.FormatError
	if errors.As(err, &format) {
		return corruptf("offset %d: %s: %s", format.Offset, format.What, format.Problem)
	}
	return err
}

// encodeParams writes a parameter dictionary.
func encodeParams(w *writer, arrays []Array) error {
	var b blob.Writer
	b.U64(paramsMagic)
	b.U64(0)
	b.Count(len(arrays))
	for _, a := range arrays {
		b.Str(a.Name)
	}
	b.Count(len(arrays))
	w.write(b.Data())
	for i := range arrays {
		if err := encodeTensor(w, &arrays[i]); err != nil {
			return err
		}
	}
	return nil
}

// encodeTensor writes a tensor.
func encodeTensor(w *writer, a *Array) error {
	if n, err := dlpack.SerializedDataSize(a.Shape, a.DType); err != nil || n != int64(len(a.Data)) {
		return fmt.Errorf("tensor %q: TVM's files cannot hold elements of %v: write safetensors", a.Name, a.DType)
	}
	var b blob.Writer
	b.U64(tensorMagic)
	b.U64(0)
	b.Device(dlpack.Device{Type: dlpack.CPU})
	b.I32(int32(len(a.Shape)))
	b.DType(a.DType)
	for _, d := range a.Shape {
		b.I64(d)
	}
	b.Count(len(a.Data))
	w.write(b.Data())
	w.write(a.Data)
	return nil
}
