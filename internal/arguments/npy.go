package arguments

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sbinet/npyio/npy"

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

const typeNames = "bool, int8 to int64, uint8 to uint64, float16, float32, float64, and in inputs complex"

// parseDescr reads a header's element type. swap is the size in bytes of the units whose byte order is reversed, 0 for
// none.
func parseDescr(descr string) (t dlpack.DataType, swap int, err error) {
	order, code := byte('|'), descr
	if code != "" && strings.IndexByte("<>|=", code[0]) >= 0 {
		order, code = code[0], code[1:]
	}
	t, known := npyfile.Find(code)
	if !known {
		return t, 0, fmt.Errorf("elements of NumPy's type %q are not supported: save it as one of %s", descr, typeNames)
	}
	if order == '>' {
		swap = int(t.Bits) / 8
		if t.Code == dlpack.CodeComplex {
			swap /= 2
		}
	}
	return t, swap, nil
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
	header, err := readHeader(f)
	if err != nil {
		return nil, err
	}
	dtype, swap, err := parseDescr(header.Descr.Type)
	if err != nil {
		return nil, err
	}
	a := &Array{DType: dtype, Shape: []int64{}}
	for _, d := range header.Descr.Shape {
		a.Shape = append(a.Shape, int64(d))
	}
	size, err := dlpack.DataSize(a.Shape, dtype)
	if err != nil {
		return nil, err
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, atomicfile.Cause(err)
	}
	if have := info.Size() - at; have != size {
		return nil, fmt.Errorf("%s takes %d bytes, the file has %d: save it again", TypeText(dtype, a.Shape), size, have)
	}
	if a.Data, err = memory.Make(size); err != nil { // never freed
		return nil, fmt.Errorf("%s: %w", TypeText(dtype, a.Shape), err)
	}
	if _, err := io.ReadFull(f, a.Data); err != nil {
		return nil, atomicfile.Cause(err)
	}
	reverse(a.Data, swap)
	if header.Descr.Fortran {
		columns := a.Data
		defer memory.Free(columns)
		if a.Data, err = memory.Make(size); err != nil {
			return nil, fmt.Errorf("%s: %w", TypeText(dtype, a.Shape), err)
		}
		rowMajor(a.Data, columns, a.Shape, int(dtype.Bits)/8)
	}
	return a, nil
}

// readHeader reads the header and leaves f at the first element. Package npy trusts the header's length and indexes
// without checks, so this function limits the length and recovers from panics.
func readHeader(f io.ReadSeeker) (h npy.Header, err error) {
	var begin [12]byte // magic, version, length of the header in 2 or 4 bytes
	if n, _ := io.ReadFull(f, begin[:]); n < len(begin) || string(begin[:6]) != string(npy.Magic[:]) {
		return h, errors.New("not a .npy file: save it with numpy.save")
	}
	length := uint32(binary.LittleEndian.Uint16(begin[8:]))
	if begin[6] > 1 {
		length = binary.LittleEndian.Uint32(begin[8:])
	}
	if length > 1<<16 {
		return h, fmt.Errorf("a header of %d bytes is too long: save it as an array of numbers", length)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return h, atomicfile.Cause(err)
	}
	defer func() {
		if recover() != nil {
			err = errors.New("an invalid header: save it again")
		}
	}()
	r, err := npy.NewReader(f)
	if err != nil {
		return h, fmt.Errorf("%w: save it again", err)
	}
	return r.Header, nil
}

// reverse reverses the bytes of each unit.
func reverse(data []byte, unit int) {
	for ; unit > 1 && len(data) >= unit; data = data[unit:] {
		slices.Reverse(data[:unit])
	}
}

// rowMajor copies elements of each bytes from column-major into row-major order.
func rowMajor(out, data []byte, shape []int64, each int) {
	out = out[:0]
	index := make([]int64, len(shape))
	steps := make([]int64, len(shape)) // from an element to the next along each dimension, in bytes
	step := int64(each)
	for i, d := range shape {
		steps[i] = step
		step *= d
	}
	for at := int64(0); len(out) < len(data); {
		out = append(out, data[at:at+int64(each)]...)
		for i := len(shape) - 1; i >= 0; i-- {
			index[i]++
			at += steps[i]
			if index[i] < shape[i] {
				break
			}
			at -= steps[i] * shape[i]
			index[i] = 0
		}
	}
}

// TypeText returns a type and a shape in the form of --like: "float32[8,8]".
func TypeText(t dlpack.DataType, shape []int64) string {
	return fmt.Sprintf("%v[%s]", t, strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ","))
}
