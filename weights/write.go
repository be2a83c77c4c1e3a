package weights

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"tvmgo/dlpack"
	"tvmgo/internal/atomicfile"
	"tvmgo/internal/npyfile"
)

// FormatOf returns the format that the suffix of a path stands for: .params, .safetensors, .npz, .npy or .tensor.
func FormatOf(path string) (Format, error) {
	switch suffix := filepath.Ext(path); suffix {
	case ".params", ".safetensors", ".npz", ".npy", ".tensor":
		return Format(suffix[1:]), nil
	}
	return "", fmt.Errorf("%s: the suffix stands for no format: use .params, .safetensors, .npz or .npy", path)
}

// Write writes a file of a format that consists of one file; [WriteCache] and [WriteShards] write several. Elements are
// aligned to 64 bytes in the file where the format permits: in .npz and .npy always, in safetensors unless the size of
// a preceding tensor is no multiple of 64 (these come last), in TVM's formats never. The file appears complete, and
// replaces an older one of the same name at once, so that programs which have mapped that one keep it.
//
// metadata is written to safetensors; the other formats have no place for it. The error names an array whose type the
// format cannot hold, or whose Data has another size than its shape.
func Write(path string, format Format, arrays []Array, metadata map[string]string) error {
	f, err := atomicfile.Create(path, 0o666, atomicfile.FollowLinks)
	if err != nil {
		return fmt.Errorf("write weights %s: %w", path, atomicfile.Cause(err))
	}
	defer f.Discard()
	if err = Encode(f.File, format, arrays, metadata); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("write weights %s: %w", path, atomicfile.Cause(err))
	}
	return nil
}

// Encode is Write for any writer.
func Encode(to io.Writer, format Format, arrays []Array, metadata map[string]string) error {
	if err := check(arrays); err != nil {
		return err
	}
	if len(metadata) > 0 && format != Safetensors {
		return fmt.Errorf("the format %s has no place for metadata: write safetensors", format)
	}
	w := &writer{to: to}
	var err error
	switch format {
	case Params:
		err = encodeParams(w, arrays)
	case Safetensors:
		err = encodeSafetensors(w, arrays, metadata)
	case NPZ:
		err = encodeNPZ(w, arrays)
	case TensorFile, NPY:
		if len(arrays) != 1 {
			return fmt.Errorf("the format %s holds one tensor, not %d", format, len(arrays))
		}
		encode := encodeTensor
		if format == NPY {
			encode = encodeNPY
		}
		err = encode(w, &arrays[0])
	default:
		return fmt.Errorf("the format %q does not consist of one file", format)
	}
	return cmp.Or(err, w.err)
}

// writer counts what it writes and keeps the first error.
type writer struct {
	to  io.Writer
	n   int64
	err error
}

func (w *writer) write(b []byte) {
	for w.err == nil && len(b) > 0 {
		n, err := w.to.Write(b[:min(len(b), 1<<30)])
		w.n, w.err, b = w.n+int64(n), err, b[n:]
	}
}

func (w *writer) Write(b []byte) (int, error) {
	w.write(b)
	return len(b), w.err
}

// check checks that arrays can be written to any format.
func check(arrays []Array) error {
	seen := make(map[string]bool, len(arrays))
	for _, a := range arrays {
		t := &Tensor{Name: a.Name, DType: a.DType, Shape: a.Shape}
		if seen[a.Name] {
			return fmt.Errorf("the name %q is given to two tensors", a.Name)
		}
		seen[a.Name] = true
		if err := sized(t); err != nil {
			return err
		}
		if t.Size != int64(len(a.Data)) {
			return fmt.Errorf("tensor %q: %v%v takes %d bytes, Data has %d", a.Name, a.DType, a.Shape, t.Size, len(a.Data))
		}
	}
	return nil
}

// padding returns how many bytes lie between an offset and the next multiple of 64.
func padding(offset int64) int64 { return -offset & (dlpack.AllocAlignment - 1) }

func encodeNPY(w *writer, a *Array) error {
	if npyfile.Descr(a.DType) == "" {
		return fmt.Errorf("tensor %q: NumPy has no type for %v: write safetensors", a.Name, a.DType)
	}
	if err := npyfile.WriteHeader(w, a.DType, a.Shape); err != nil {
		return err
	}
	w.write(a.Data)
	return nil
}
