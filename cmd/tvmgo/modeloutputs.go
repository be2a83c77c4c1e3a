//go:build cgo

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/memory"
	"tvmgo/internal/nearest"
	"tvmgo/internal/npyfile"
	"tvmgo/runtime"
	"tvmgo/weights"
)

// modelOutput is an --out of a model.
type modelOutput struct {
	name, path string         // name is "" for the next result
	all        weights.Format // of a file for all results; "" for a .npy file
}

// modelOutputs parses --out for a model.
func (f *runFlags) modelOutputs() (list []modelOutput, err error) {
	for _, text := range f.out {
		var o modelOutput
		if o.name, o.path, err = arguments.ParseOutput(text); err != nil {
			return nil, err
		}
		switch suffix := filepath.Ext(o.path); {
		case isArchive(o.path) && len(f.out) > 1:
			return nil, fmt.Errorf("--out %s: it has all results: leave out the other --out", text)
		case isArchive(o.path) && o.name != "":
			return nil, fmt.Errorf("--out %s: it has all results: leave out %s=", text, o.name)
		case isArchive(o.path):
			o.all, _ = weights.FormatOf(o.path)
		case suffix != ".npy" && suffix != "":
			return nil, fmt.Errorf("--out %s: give a .npy file, or one .npz, .safetensors or .params for all results", text)
		}
		list = append(list, o)
	}
	return list, nil
}

// leaf is a result that is no tuple.
type leaf struct {
	name  string // "result", or the numbers of the fields of tuples: "1", "0.2"
	title string // its name in the file; may be empty
	array *arguments.Array
	text  string // of a result that is no array
}

// typeLeaves lists the results that a type stands for, without values; nil if it is not known.
func typeLeaves(v *runtime.ValueInfo) []leaf {
	var list []leaf
	var visit func(v *runtime.ValueInfo, name string) bool
	visit = func(v *runtime.ValueInfo, name string) bool {
		switch v.Kind {
		case runtime.TupleValue:
			for i := range v.Fields {
				if !visit(&v.Fields[i], join(name, i)) {
					return false
				}
			}
			return true
		case runtime.AnyValue, runtime.FunctionValue:
			return false
		}
		list = append(list, leaf{name: named(name), title: v.Name})
		return true
	}
	if !visit(v, "") || len(list) == 0 {
		return nil
	}
	return list
}

func join(name string, i int) string {
	if name == "" {
		return strconv.Itoa(i)
	}
	return name + "." + strconv.Itoa(i)
}

func named(name string) string {
	if name == "" {
		return "result"
	}
	return name
}

// leaves copies the results to the host.
func (r *modelRun) leaves(out runtime.Outputs) ([]leaf, error) {
	var list []leaf
	var visit func(v any, info *runtime.ValueInfo, name string) error
	visit = func(v any, info *runtime.ValueInfo, name string) error {
		if tuple, ok := v.([]any); ok {
			for i := range tuple {
				field := &runtime.ValueInfo{}
				if i < len(info.Fields) {
					field = &info.Fields[i]
				}
				if err := visit(tuple[i], field, join(name, i)); err != nil {
					return err
				}
			}
			return nil
		}
		l := leaf{name: named(name), title: info.Name}
		if err := l.set(v); err != nil {
			return fmt.Errorf("result %s: %w", l.name, err)
		}
		list = append(list, l)
		return nil
	}
	var whole any = []any(out)
	if len(out) == 1 && r.info.Result.Kind != runtime.TupleValue {
		whole = out[0]
	}
	err := visit(whole, &r.info.Result, "")
	return list, err
}

// set takes a value. Shapes and numbers are arrays of int64 and float64.
func (l *leaf) set(v any) error {
	switch v := v.(type) {
	case *runtime.Tensor:
		data, err := memory.Make(v.Size())
		if err != nil {
			return err
		}
		if err := v.CopyToBytes(data); err != nil {
			return err
		}
		dtype := v.DType()
		if dtype.IsBool() {
			dtype = dlpack.Bool
		}
		l.array = &arguments.Array{DType: dtype, Shape: v.Shape(), Data: data}
	case runtime.Shape:
		l.array = &arguments.Array{DType: dlpack.Int64, Shape: []int64{int64(len(v))}}
		for _, n := range v {
			l.array.Data = binary.LittleEndian.AppendUint64(l.array.Data, uint64(n))
		}
		l.text = "shape " + strings.ReplaceAll(fmt.Sprint([]int64(v)), " ", ",")
	case int64:
		l.scalar(dlpack.Int64, uint64(v), strconv.FormatInt(v, 10))
	case float64:
		l.scalar(dlpack.Float64, math.Float64bits(v), strconv.FormatFloat(v, 'g', -1, 64))
	case bool:
		l.array = &arguments.Array{DType: dlpack.Bool, Shape: []int64{}, Data: []byte{0}}
		if v {
			l.array.Data[0] = 1
		}
		l.text = strconv.FormatBool(v)
	case string:
		l.text = strconv.Quote(v)
	case nil:
		l.text = "None"
	default:
		l.text = fmt.Sprintf("%T", v)
	}
	return nil
}

func (l *leaf) scalar(dtype dlpack.DataType, bits uint64, text string) {
	l.array = &arguments.Array{DType: dtype, Shape: []int64{}, Data: binary.LittleEndian.AppendUint64(nil, bits)}
	l.text = text
}

// everything is the index of the leaf of an --out for all results.
const everything = -1

// assign returns the index of the result for each --out.
func assign(outputs []modelOutput, leaves []leaf) ([]int, error) {
	to := make([]int, len(outputs))
	taken := map[int]bool{}
	for i, o := range outputs {
		if o.name == "" {
			continue
		}
		var names, shown []string
		to[i] = -1
		for k := range leaves {
			names, shown = append(names, leaves[k].name, leaves[k].title), append(shown, leaves[k].both())
			if leaves[k].name == o.name || leaves[k].title == o.name {
				to[i] = k
			}
		}
		if to[i] < 0 {
			hint := ""
			if n := nearest.Name(o.name, names); n != "" {
				hint = fmt.Sprintf("; did you mean %q?", n)
			}
			return nil, fmt.Errorf("--out %s=%s: there is no result %q%s: it has %s", o.name, o.path, o.name, hint,
				strings.Join(shown, ", "))
		}
		if taken[to[i]] {
			return nil, fmt.Errorf("--out %s=%s: this result has another file already", o.name, o.path)
		}
		taken[to[i]] = true
	}
	next := 0
	for i, o := range outputs {
		if o.name != "" {
			continue
		}
		if o.all != "" {
			to[i] = everything
			continue
		}
		for taken[next] {
			next++
		}
		if next >= len(leaves) {
			return nil, fmt.Errorf("--out %s: there is no result for it: the function has %s", o.path,
				count(len(leaves), "result"))
		}
		to[i] = next
		taken[next] = true
	}
	return to, nil
}

// write writes a result, or all of them.
func (o *modelOutput) write(w io.Writer, leaves []leaf, index int) error {
	if index == everything {
		var arrays []weights.Array
		for i := range leaves {
			l := &leaves[i]
			if l.array == nil {
				return fmt.Errorf("result %s is no array but %s: name files for the others", l.name, l.text)
			}
			name := l.title
			if name == "" || slices.ContainsFunc(leaves[:i], func(l leaf) bool { return l.title == name }) {
				name = l.name
			}
			arrays = append(arrays, weights.Array{Name: name, DType: l.array.DType, Shape: l.array.Shape, Data: l.array.Data})
		}
		return weights.Encode(w, o.all, arrays, nil)
	}
	l := &leaves[index]
	if l.array == nil {
		return fmt.Errorf("result %s is no array but %s: leave out its --out", l.name, l.text)
	}
	if npyfile.Descr(l.array.DType) == "" {
		return fmt.Errorf("a .npy file cannot hold %v: write all results to a .safetensors file", l.array.DType)
	}
	if err := npyfile.WriteHeader(w, l.array.DType, l.array.Shape); err != nil {
		return err
	}
	_, err := w.Write(l.array.Data)
	return err
}

// printOutputs lists the files, and describes the results that have none.
func printOutputs(w io.Writer, outputs []modelOutput, leaves []leaf, to []int) {
	written := map[int]bool{}
	for i, o := range outputs {
		if to[i] == everything {
			fmt.Fprintf(w, "wrote %s: %s\n", o.path, count(len(leaves), "result"))
			return
		}
		written[to[i]] = true
		a := leaves[to[i]].array
		fmt.Fprintf(w, "wrote %s: %s\n", o.path, arguments.TypeText(a.DType, a.Shape))
	}
	for i := range leaves {
		if !written[i] {
			fmt.Fprintln(w, leaves[i].String())
		}
	}
}

// both is the name, with that in the file.
func (l *leaf) both() string {
	if l.title == "" {
		return l.name
	}
	return l.name + " (" + l.title + ")"
}

// String describes a result in a line.
func (l *leaf) String() string {
	text := l.both()
	if l.name != "result" {
		text = "result " + text
	}
	if l.text != "" {
		return text + ": " + l.text
	}
	text += ": " + arguments.TypeText(l.array.DType, l.array.Shape)
	if s := arguments.Summary(l.array.DType, l.array.Data); s != "" {
		text += ", " + s
	}
	return text
}
