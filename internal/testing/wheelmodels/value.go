package wheelmodels

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbinet/npyio/npy"

	"tvmgo/dlpack"
	"tvmgo/internal/npyfile"
)

// jsonValue is a value in the manifest: an object with one key, or with tensor and typed.
type jsonValue struct {
	Tensor *string
	Typed  string // of a tensor: its type, where .npy files have none for it; the file has integers of its width
	Tuple  *[]jsonValue
	Shape  *[]int64
	Int    *int64
	Float  *float64
	Bool   *bool
	String *string
	DType  *string
	Object string
}

// value converts a value, and reads tensors from their files. The first error goes to err.
func (v jsonValue) value(dir string, err *error) Value {
	out := Value{Int: v.Int, Float: v.Float, Bool: v.Bool, String: v.String, Object: v.Object}
	fail := func(e error) {
		if e != nil && *err == nil {
			*err = e
		}
	}
	if v.Tensor != nil {
		x, e := readTensor(filepath.Join(dir, *v.Tensor))
		fail(e)
		if x != nil && v.Typed != "" {
			x.DType, e = dlpack.ParseDataType(v.Typed)
			fail(e)
		}
		out.Tensor = x
	}
	if v.Tuple != nil {
		out.Tuple = []Value{}
		for _, x := range *v.Tuple {
			out.Tuple = append(out.Tuple, x.value(dir, err))
		}
	}
	if v.Shape != nil {
		out.Shape = append([]int64{}, *v.Shape...)
	}
	if v.DType != nil {
		t, e := dlpack.ParseDataType(*v.DType)
		fail(e)
		out.DType = &t
	}
	return out
}

// readTensor reads a .npy file.
func readTensor(path string) (*Tensor, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file := bytes.NewReader(text)
	r, err := npy.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	code := strings.TrimLeft(r.Header.Descr.Type, "<|")
	dtype, ok := npyfile.Find(code)
	if !ok || r.Header.Descr.Fortran && len(r.Header.Descr.Shape) > 1 {
		return nil, fmt.Errorf("%s: unexpected type %s or order", path, code)
	}
	x := &Tensor{DType: dtype, Shape: []int64{}}
	for _, n := range r.Header.Descr.Shape {
		x.Shape = append(x.Shape, int64(n))
	}
	if x.Data, err = io.ReadAll(file); err != nil {
		return nil, err
	}
	size := int64(dtype.Bits) / 8
	for _, n := range x.Shape {
		size *= n
	}
	if int64(len(x.Data)) != size {
		return nil, fmt.Errorf("%s: %d bytes of data; the shape needs %d", path, len(x.Data), size)
	}
	return x, nil
}
