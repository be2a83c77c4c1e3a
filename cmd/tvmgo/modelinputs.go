//go:build cgo

package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/runtime"
	"tvmgo/weights"
)

// inputReader makes the inputs of a function of a model. It owns their tensors.
type inputReader struct {
	info    runtime.FunctionInfo
	devices []dlpack.Device
	tensors []*runtime.Tensor
	sets    []*weights.Set
}

func (r *inputReader) close() {
	for _, t := range r.tensors {
		t.Close()
	}
	for _, s := range r.sets {
		s.Close()
	}
}

// field is a value, or a tuple of the fields that the user gave.
type field struct {
	value  any
	fields map[int]*field
	text   string // of --in, for errors
}

// read makes the inputs: by name if every parameter has one, else in order. What the function expects is checked when
// it is called.
func (r *inputReader) read(given []arguments.Input) (runtime.Inputs, error) {
	given, err := r.expand(given)
	if err != nil {
		return nil, err
	}
	named := map[string]*field{}     // names that no parameter has
	numbered := make(map[int]*field) // by the number of the parameter
	for i := range given {
		in := &given[i]
		if in.Name == "" {
			continue
		}
		index, path := r.find(in.Name)
		if index < 0 {
			named[in.Name] = &field{value: in.Value, text: in.Text}
		} else if err := place(numbered, index, path, in); err != nil {
			return nil, err
		}
	}
	next := 0
	for i := range given {
		in := &given[i]
		if in.Name != "" {
			continue
		}
		for next < len(r.info.Params) && (r.info.Params[next].Bound || numbered[next] != nil) {
			next++
		}
		if next == len(r.info.Params) {
			return nil, fmt.Errorf("--in %s: %s takes no further input: %v", in.Text, r.info.Name, r.info)
		}
		numbered[next] = &field{value: in.Value, text: in.Text}
	}
	return r.inputs(named, numbered)
}

// find returns the number of the parameter that a name is of, and the numbers of fields of tuples: x, x.1, %0, %0.1.2.
// The number of an unknown name is -1.
func (r *inputReader) find(name string) (index int, path []int) {
	for rest := name; ; {
		for i := range r.info.Params {
			if r.info.Params[i].Name == rest {
				return i, path
			}
		}
		if digits, is := strings.CutPrefix(rest, "%"); is {
			if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n < len(r.info.Params) && digits == strconv.Itoa(n) {
				return n, path
			}
		}
		dot := strings.LastIndexByte(rest, '.')
		if dot < 0 {
			return -1, nil
		}
		const most = 1 << 16 // fields of a tuple
		n, err := strconv.ParseUint(rest[dot+1:], 10, 31)
		if err != nil || n >= most {
			return -1, nil
		}
		rest, path = rest[:dot], append([]int{int(n)}, path...)
	}
}

// place stores a value as a parameter, or as a field of one.
func place(in map[int]*field, index int, path []int, v *arguments.Input) error {
	for at := in; ; index, path = path[0], path[1:] {
		f := at[index]
		switch {
		case f == nil && len(path) == 0:
			at[index] = &field{value: v.Value, text: v.Text}
			return nil
		case f == nil:
			f = &field{fields: map[int]*field{}, text: v.Text}
			at[index] = f
		case f.fields == nil || len(path) == 0:
			return fmt.Errorf("--in %s: the input is given already, by --in %s", v.Text, f.text)
		}
		at = f.fields
	}
}

// inputs makes the tensors.
func (r *inputReader) inputs(named map[string]*field, numbered map[int]*field) (runtime.Inputs, error) {
	byName := true
	seen := map[string]bool{}
	for _, p := range r.info.Params {
		byName = byName && p.Name != "" && !seen[p.Name]
		seen[p.Name] = true
	}
	all := runtime.Named{}
	for name, f := range named {
		v, err := r.value(f, 0)
		if err != nil {
			return nil, err
		}
		all[name] = v
	}
	var list runtime.Ordered
	for i, p := range r.info.Params {
		f := numbered[i]
		if f == nil {
			if !byName && !p.Bound {
				return nil, fmt.Errorf("--in: %s gets no value for parameter %d: %v", r.info.Name, i, r.info)
			}
			continue
		}
		v, err := r.value(f, p.Device)
		if err != nil {
			return nil, err
		}
		all[p.Name] = v
		list = append(list, v)
	}
	if byName {
		return all, nil
	}
	for name := range named {
		return nil, fmt.Errorf("--in %s=: %s has no parameter of this name: %v", name, r.info.Name, r.info)
	}
	return list, nil
}

// value makes the value of a parameter that lies on a device of the model.
func (r *inputReader) value(f *field, device int) (any, error) {
	if f.fields == nil {
		return r.single(f, device)
	}
	tuple := make([]any, 0, len(f.fields))
	for k, i := range slices.Sorted(maps.Keys(f.fields)) {
		if k != i {
			return nil, fmt.Errorf("--in %s: field %d of the tuple is missing", f.text, k)
		}
		v, err := r.value(f.fields[i], device)
		if err != nil {
			return nil, err
		}
		tuple = append(tuple, v)
	}
	return tuple, nil
}

func (r *inputReader) single(f *field, device int) (any, error) {
	dev := runtime.CPU
	if device >= 0 && device < len(r.devices) {
		dev = r.devices[device]
	}
	switch v := f.value.(type) {
	case arguments.Shape:
		return runtime.Shape(v), nil
	case arguments.File:
		a, err := arguments.ReadNPY(string(v))
		if err != nil {
			return nil, err
		}
		t, err := runtime.NewTensor(a.DType, a.Shape, dev)
		if err != nil {
			return nil, fmt.Errorf("--in %s: %w", f.text, err)
		}
		r.tensors = append(r.tensors, t)
		return t, t.CopyFromBytes(a.Data)
	case *weights.Tensor:
		t, err := runtime.FromWeights(v, dev)
		if err != nil {
			return nil, fmt.Errorf("--in %s: %w", f.text, err)
		}
		r.tensors = append(r.tensors, t)
		return t, nil
	}
	return f.value, nil
}

// expand replaces files of several arrays by these arrays: all of them if the file has no name, else its only one.
func (r *inputReader) expand(given []arguments.Input) (list []arguments.Input, err error) {
	for _, in := range given {
		file, isFile := in.Value.(arguments.File)
		if suffix := filepath.Ext(string(file)); !isFile || suffix == ".npy" || !isArchive(string(file)) {
			list = append(list, in)
			continue
		}
		set, err := weights.Open(string(file))
		if err != nil {
			return nil, fmt.Errorf("--in %s: %w", in.Text, err)
		}
		r.sets = append(r.sets, set)
		tensors := set.Tensors()
		switch {
		case in.Name != "" && len(tensors) != 1:
			return nil, fmt.Errorf("--in %s: the file has %d arrays: leave out %s= to give each input by its name", in.Text,
				len(tensors), in.Name)
		case in.Name != "":
			list = append(list, arguments.Input{Text: in.Text, Name: in.Name, Value: tensors[0]})
			continue
		}
		for _, t := range tensors {
			if t.Name == "" {
				return nil, errors.New("--in " + in.Text + ": an array of the file has no name")
			}
			list = append(list, arguments.Input{Text: in.Text, Name: t.Name, Value: t})
		}
	}
	return list, nil
}

// isArchive reports whether a path has the suffix of a format for several arrays.
func isArchive(path string) bool {
	format, err := weights.FormatOf(path)
	return err == nil && format != weights.NPY
}
