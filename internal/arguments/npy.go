package arguments

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/atomicfile"
	"tvmgo/internal/memory"
	"tvmgo/internal/npyfile"
)

// Array holds elements in row-major order, little-endian, without gaps.
type Array struct {
	DType dlpack.DataType
	Shape []int64
	Data  []byte // nil if only the type and the shape are given
}

// ReadNPY reads a whole file. Big-endian and column-major arrays are converted.
func ReadNPY(path string) (*Array, error) {
	a, err := readArray(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read %s: no such file: check the path (other arguments are written i:3, f:0.5, s:text, o:1)",
			path)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return a, nil
}

func readArray(path string) (*Array, error) {
	info, err := os.Stat(path) // opening a pipe would wait
	if err != nil {
		return nil, atomicfile.Cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file: give a .npy file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, atomicfile.Cause(err)
	}
	defer f.Close()
	begin := make([]byte, min(info.Size(), npyfile.MaxHeader))
	if _, err := io.ReadFull(f, begin); err != nil {
		return nil, atomicfile.Cause(err)
	}
	h, err := npyfile.Parse(begin)
	if err != nil {
		return nil, err
	}
	a := &Array{DType: h.DType, Shape: h.Shape}
	if have := info.Size() - int64(h.Begin); have != h.Size {
		return nil, fmt.Errorf("%s takes %d bytes, the file has %d: save it again", TypeText(a.DType, a.Shape), h.Size, have)
	}
	if a.Data, err = memory.Make(h.Size); err != nil { // never freed
		return nil, fmt.Errorf("%s: %w", TypeText(a.DType, a.Shape), err)
	}
	if _, err := f.ReadAt(a.Data, int64(h.Begin)); err != nil {
		return nil, atomicfile.Cause(err)
	}
	if h.Plain() {
		return a, nil
	}
	stored := a.Data
	defer memory.Free(stored)
	if a.Data, err = memory.Make(h.Size); err != nil {
		return nil, fmt.Errorf("%s: %w", TypeText(a.DType, a.Shape), err)
	}
	h.Convert(a.Data, stored)
	return a, nil
}

// TypeText returns a type and a shape in the form of --like: "float32[8,8]".
func TypeText(t dlpack.DataType, shape []int64) string {
	return fmt.Sprintf("%v[%s]", t, strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ","))
}
