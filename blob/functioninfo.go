package blob

import (
	"fmt"

	"tvmgo/dlpack"
)

// FunctionInfo describes one kernel of a device module.
type FunctionInfo struct {
	Name            string
	ArgTypes        []dlpack.DataType
	LaunchParamTags []string // "blockIdx.x", …: the launch parameters that the arguments after ArgTypes set
	ArgExtraTags    []int32  // per argument: [ExtraTagNone], …; empty before v0.21
}

// Values of FunctionInfo.ArgExtraTags.
const (
	ExtraTagNone      int32 = 0
	ExtraTagTensorMap int32 = 1 // the argument is the address of a 128-byte tensor map
)

// Function is an entry of a function table. Callers look it up by its key. If the description has no name of its own,
// as in blobs of v0.17, FunctionInfo.Name is the key.
type Function struct {
	Key string
	FunctionInfo
}

// FunctionInfo reads a description in binary form, which has three or four fields depending on the layout.
func (r *Reader) FunctionInfo(layout Layout) FunctionInfo {
	at := r.Offset()
	info := FunctionInfo{
		Name:            r.Str("function name"),
		ArgTypes:        r.DTypes("argument types"),
		LaunchParamTags: r.Strs("launch parameter tags"),
	}
	if layout.hasExtraTags() {
		info.ArgExtraTags = r.I32s("extra argument tags")
	}
	if r.err == nil {
		if err := info.check(); err != nil {
			r.failAt(at, "function info", "%v", err)
		}
	}
	if r.err != nil {
		return FunctionInfo{}
	}
	return info
}

func (info *FunctionInfo) check() error {
	if tags, args := len(info.ArgExtraTags), len(info.ArgTypes); tags != 0 && tags != args {
		return fmt.Errorf("%d extra tags for %d arguments", tags, args)
	}
	return nil
}

// Functions reads a function table, in the order of the file: a count, then keys and descriptions. A repeated key is an
// error.
func (r *Reader) Functions(layout Layout) []Function {
	least := 4 * 8 // key, name, argument types, tags
	if layout.hasExtraTags() {
		least += 8
	}
	list := make([]Function, 0, r.Count(least, "function table"))
	seen := make(map[string]bool, cap(list))
	for range cap(list) {
		at := r.Offset()
		f := Function{Key: r.Str("function key"), FunctionInfo: r.FunctionInfo(layout)}
		if seen[f.Key] {
			r.failAt(at, "function table", "%q occurs twice", f.Key)
		}
		if r.err != nil {
			return nil
		}
		seen[f.Key] = true
		f.nameByKey()
		list = append(list, f)
	}
	return list
}

func (f *Function) nameByKey() {
	if f.Name == "" {
		f.Name = f.Key
	}
}

// ParseFunctionInfo reads one description in binary form, which must span all of data.
func ParseFunctionInfo(data []byte, layout Layout) (FunctionInfo, error) {
	r := NewReader(data)
	info := r.FunctionInfo(layout)
	if err := r.Finish("end of the function info"); err != nil {
		return FunctionInfo{}, err
	}
	return info, nil
}

// FunctionInfo writes a description in the binary form of a layout. The legacy layout has no extra tags: it is an error
// if one is not zero there.
func (w *Writer) FunctionInfo(info FunctionInfo, layout Layout) error {
	tags := info.ArgExtraTags
	if err := info.check(); err != nil {
		return fmt.Errorf("blob: write function %q: %w", info.Name, err)
	}
	w.Str(info.Name)
	w.DTypes(info.ArgTypes)
	w.Strs(info.LaunchParamTags)
	if layout.hasExtraTags() {
		if len(tags) == 0 {
			tags = make([]int32, len(info.ArgTypes)) // as the producers of these layouts write it
		}
		w.I32s(tags)
		return nil
	}
	for i, tag := range tags {
		if tag != ExtraTagNone {
			return fmt.Errorf("blob: write function %q: argument %d has extra tag %d, which the legacy layout does not support",
				info.Name, i, tag)
		}
	}
	return nil
}

// Functions writes a function table. A repeated key is an error.
func (w *Writer) Functions(list []Function, layout Layout) error {
	w.Count(len(list))
	seen := make(map[string]bool, len(list))
	for _, f := range list {
		if seen[f.Key] {
			return fmt.Errorf("blob: write functions: %q occurs twice", f.Key)
		}
		seen[f.Key] = true
		w.Str(f.Key)
		if err := w.FunctionInfo(f.FunctionInfo, layout); err != nil {
			return err
		}
	}
	return nil
}

// OffsetAlignment returns the name of a global function that returns the alignment in bytes that the byte_offset of a
// kernel's tensor arguments must have for device modules of the given kind. Its argument is the index of a device.
// Other runtimes do not register such a function.
func OffsetAlignment(kind string) string { return "tvmgo." + kind + ".offset_alignment" }
