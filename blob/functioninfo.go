package blob

import (
	"fmt"

	"tvmgo/dlpack"
)

// FunctionInfo describes one kernel of a device module.
type FunctionInfo struct {
	Name            string
	ArgTypes        []dlpack.DataType
	LaunchParamTags []string // "blockIdx.x", …: what the arguments after ArgTypes set
	ArgExtraTags    []int32  // per argument: [ExtraTagNone], …; empty before v0.21
}

// Values of FunctionInfo.ArgExtraTags.
const (
	ExtraTagNone      int32 = 0
	ExtraTagTensorMap int32 = 1 // the argument is the address of a 128-byte tensor map
)

// Function is an entry of a function table: the key is what callers look up. Where the description has no name of its
// own (so in blobs of v0.17), FunctionInfo.Name is the key.
type Function struct {
	Key string
	FunctionInfo
}

// FunctionInfo reads the binary form; the layout decides whether it has three fields or four.
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

// Functions reads a function table in file order: a count, then keys and descriptions. A repeated key is an
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
			r.failAt(at, "function table", "%q comes twice", f.Key)
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

// ParseFunctionInfo reads one binary description that fills data.
func ParseFunctionInfo(data []byte, layout Layout) (FunctionInfo, error) {
	r := NewReader(data)
	info := r.FunctionInfo(layout)
	if err := r.Finish("end of the function info"); err != nil {
		return FunctionInfo{}, err
	}
	return info, nil
}

// FunctionInfo writes the binary form of a layout. Layouts before v0.21 have no extra tags: one that says
// something is an error there.
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
			return fmt.Errorf("blob: write function %q: argument %d has extra tag %d, which the legacy layout cannot hold",
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
			return fmt.Errorf("blob: write functions: %q comes twice", f.Key)
		}
		seen[f.Key] = true
		w.Str(f.Key)
		if err := w.FunctionInfo(f.FunctionInfo, layout); err != nil {
			return err
		}
	}
	return nil
}

// OffsetAlignment is the name of the function by which the device modules of a kind say what the byte_offset of a
// kernel's tensor arguments must be a multiple of, given the number of a device. Modules of other runtimes, which know
// nothing of offsets, do not have it.
func OffsetAlignment(kind string) string { return "tvmgo." + kind + ".offset_alignment" }
