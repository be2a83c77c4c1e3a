package custom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/memory"
	"tvmgo/runtime"
)

// argument is an argument of a call: a value, or an array.
type argument struct {
	name  string
	value any // int64, uint64, float64, string
	array *Array
	out   bool // filled with zeros, instead of synthetic elements

	elements []byte // the synthetic ones
}

// String returns the argument as it stands on a command line: "float32[8,8]", "i:3".
func (a *argument) String() string {
	if a.array != nil {
		return arguments.TypeText(a.array.DType, a.array.Shape)
	}
	switch v := a.value.(type) {
	case float64:
		return "f:" + strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return "s:" + v
	}
	return fmt.Sprintf("i:%v", a.value)
}

// valid checks the type and the size of an array.
func (a *argument) valid() error {
	if a.array == nil {
		return nil
	}
	n, err := dlpack.DataSize(a.array.Shape, a.array.DType)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", a, err)
	case a.array.Data != nil && int64(len(a.array.Data)) != n:
		return fmt.Errorf("%s takes %d bytes, not %d", a, n, len(a.array.Data))
	case a.array.Data == nil && !a.out && synthetic(a.array.DType) == nil:
		return fmt.Errorf("%s: there are no synthetic elements of this type: give a .npy file, or an array of %s", a,
			syntheticTypes)
	}
	return nil
}

func (a *argument) size() int64 {
	n, _ := dlpack.DataSize(a.array.Shape, a.array.DType)
	return n
}

// content returns the elements of an array before a call.
func (a *argument) content() ([]byte, error) {
	switch {
	case a.array.Data != nil:
		return a.array.Data, nil
	case a.elements != nil:
		return a.elements, nil
	}
	if err := memory.Check(a.size()); err != nil {
		return nil, notMeasured("%s: %v", a, err)
	}
	data := make([]byte, a.size())
	if !a.out {
		fill := synthetic(a.array.DType)
		each := (int(a.array.DType.Bits) + 7) / 8
		for i := 0; i < len(data); i += each {
			fill(data[i:i+each], random(i/each))
		}
		a.elements = data
	}
	return data, nil
}

// random returns a number from 1 to 1024 for an index: always the same.
func random(i int) int {
	h := uint64(i)*0x9e3779b97f4a7c15 + 0x243f6a8885a308d3
	h ^= h >> 31
	h *= 0xd6e8feb86659fd93
	return int(h>>40&1023) + 1
}

const syntheticTypes = "bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64"

// synthetic returns a function that writes a synthetic element of a type, nil if there is none: n/1024 for numbers, and
// 1 to 16 for integers.
func synthetic(t dlpack.DataType) func(to []byte, n int) {
	if t.Lanes != 1 {
		return nil
	}
	little := binary.LittleEndian
	switch {
	case t.IsBool():
		return func(to []byte, n int) { to[0] = byte(n & 1) }
	case t == dlpack.Float32:
		return func(to []byte, n int) { little.PutUint32(to, math.Float32bits(float32(n)/1024)) }
	case t == dlpack.Float64:
		return func(to []byte, n int) { little.PutUint64(to, math.Float64bits(float64(n)/1024)) }
	case t == dlpack.Float16:
		return func(to []byte, n int) { little.PutUint16(to, uint16(dlpack.Float16Of(float64(n)/1024))) }
	case t == dlpack.BFloat16:
		return func(to []byte, n int) { little.PutUint16(to, uint16(math.Float32bits(float32(n)/1024)>>16)) }
	case (t.Code == dlpack.CodeInt || t.Code == dlpack.CodeUInt) && t.Bits >= 8 && t.Bits <= 64 && t.Bits%8 == 0:
		return func(to []byte, n int) { to[0] = byte(n&15 + 1) }
	}
	return nil
}

// ParseArray reads a type and a shape: "float32[8,8]", "bfloat16[]".
func ParseArray(text string) (*Array, error) {
	near := append(arguments.LikeNames(), "bfloat16[")
	a, err := arguments.ParseType(text, near)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return (*Array)(a), nil
}

// looksLikeArray reports whether a text is no path: it ends in brackets around numbers.
func looksLikeArray(text string) bool {
	name, dims, found := strings.Cut(text, "[")
	dims, closed := strings.CutSuffix(dims, "]")
	return found && closed && name != "" && !strings.ContainsAny(name, "./\\") && strings.Trim(dims, "-0123456789, ") == ""
}

// bytesOf returns the size of all arrays.
func bytesOf(list []*argument) (total int64) {
	for _, a := range list {
		if a.array != nil {
			if total += a.size(); total < 0 {
				return math.MaxInt64
			}
		}
	}
	return total
}

// fits returns an error if arrays with a number of bytes do not fit into the memory of a device.
func fits(on *bench.Device, need int64) error {
	if on.Handle.Type == dlpack.CPU {
		if err := memory.Check(need); err != nil {
			return fmt.Errorf("%w: the memory of %s: the arrays do not fit: %v", bench.ErrNotMeasured, on.Name, err)
		}
		return nil
	}
	if s, err := runtime.DeviceMemory(on.Handle); err == nil {
		have, which := s.Total, "has"
		if s.Free > 0 {
			have, which = s.Free, "has free"
		}
		if have > 0 && need > have {
			return fmt.Errorf("%w: the arrays take %s, and the memory of %s %s %s of %s", bench.ErrNotMeasured,
				memory.Text(need), on.Name, which, memory.Text(have), memory.Text(s.Total))
		}
	}
	return nil
}

// tensors makes the arguments on a device, and frees them all after an error.
func tensors(list []*argument, on dlpack.Device, classic bool) (args []any, err error) {
	defer func() {
		if err != nil {
			closeAll(args)
			args = nil
		}
	}()
	for i, a := range list {
		if a.array == nil {
			args = append(args, a.value)
			continue
		}
		dtype := a.array.DType
		if dtype == dlpack.Bool && classic {
			dtype = dlpack.ClassicBool
		}
		t, err := runtime.NewTensor(dtype, a.array.Shape, on)
		if err != nil {
			return args, fmt.Errorf("%s, %s: %w", title(i, a.name), a, err)
		}
		args = append(args, t)
		if err := reset(t, a); err != nil {
			return args, fmt.Errorf("%s, %s: %w", title(i, a.name), a, err)
		}
	}
	return args, nil
}

func reset(t *runtime.Tensor, a *argument) error {
	data, err := a.content()
	if err != nil || len(data) == 0 {
		return err
	}
	return t.CopyFromBytes(data)
}

func closeAll(args []any) {
	for _, v := range args {
		if t, ok := v.(*runtime.Tensor); ok {
			t.Close()
		}
	}
}

// contents copies the arrays of a call to the host; nil for other arguments.
func contents(args []any) ([][]byte, error) {
	list := make([][]byte, len(args))
	for i, v := range args {
		t, ok := v.(*runtime.Tensor)
		if !ok {
			continue
		}
		if err := memory.Check(t.Size()); err != nil {
			return nil, notMeasured("copy argument %d: %v", i, err)
		}
		if list[i] = make([]byte, t.Size()); t.Size() > 0 {
			if err := t.CopyToBytes(list[i]); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// equal reports whether two copies are the same.
func equal(a, b [][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
