package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/signature"
	"tvmgo/runtime"
)

// argument is an argument of a plain function.
type argument struct {
	name    string
	tensor  bool // else a number
	dtype   dlpack.DataType
	dims    []string // of a tensor: numbers, symbols, expressions, or "" for any size
	isIn    bool     // the function reads it
	isOut   bool     // the function writes it
	marked  bool     // the signature says so
	handles string   // what it is if it is neither a tensor with a type nor a number; else ""
}

// plainSignature is what is known of a plain function.
type plainSignature struct {
	args    []argument
	result  dlpack.DataType // of the number that it returns; the zero value if there is none
	devices []dlpack.DeviceType
}

// jsonArgument is an argument in the metadata of packed kernels and of this compiler's functions.
type jsonArgument struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	DType  string `json:"dtype"`
	Shape  []any  `json:"shape"`
	Access string `json:"access"`
}

const howToDescribe = "pack its kernels with a signature (tvmgo pack), or compile it with Apache TVM v0.27 or newer, " +
	"or with tvmgo"

// readSignature reads the signature of a function. The error is ErrNotFound if it has none.
func readSignature(m *runtime.Module, function string) (*plainSignature, error) {
	meta, err := m.Metadata(function)
	switch {
	case errors.Is(err, runtime.ErrNotFound):
		return nil, fmt.Errorf("function %s has no signature, which the inputs and outputs come from: %s: %w", function,
			howToDescribe, err)
	case err != nil:
		return nil, err
	}
	s := &plainSignature{}
	switch {
	case meta.Values["args"] != nil:
		err = s.readJSON(meta)
	case meta.Text == "":
		err = s.readText(meta.Signature)
	default:
		err = wrong("it has no shapes (%s): %s", cmp.Or(meta.Signature, "it has no types either"), howToDescribe)
	}
	if err != nil {
		return nil, fmt.Errorf("signature of function %s: %w", function, err)
	}
	return s, nil
}

// returned are the types of numbers that functions return, in tvm-ffi's schema.
var returned = map[string]dlpack.DataType{"int": dlpack.Int64, "float": dlpack.Float64, "bool": dlpack.Bool}

func (s *plainSignature) readJSON(meta *runtime.Metadata) error {
	var args []jsonArgument
	if err := json.Unmarshal(meta.Values["args"], &args); err != nil {
		return wrong("its arguments are not what they should be: %v", err)
	}
	for i := range args {
		a, err := args[i].argument()
		if err != nil {
			return wrong("argument %d (%s): %v", i, args[i].Name, err)
		}
		s.args = append(s.args, a)
	}
	var targets []struct{ Device string }
	if data := meta.Values["targets"]; data != nil {
		if err := json.Unmarshal(data, &targets); err != nil {
			return wrong("its targets are not what they should be: %v", err)
		}
	}
	for _, t := range targets {
		if d, err := dlpack.ParseDeviceType(t.Device); err == nil {
			s.devices = append(s.devices, d)
		}
	}
	if meta.Schema != nil && meta.Schema.Return != nil {
		s.result = returned[meta.Schema.Return.Type]
	}
	return nil
}

func (j *jsonArgument) argument() (a argument, err error) {
	a = argument{name: j.Name, isIn: true}
	if j.DType != "" {
		if a.dtype, err = dlpack.ParseDataType(j.DType); err != nil {
			return a, err
		}
	}
	switch j.Kind {
	case "tensor":
		a.tensor = true
		if j.DType == "" {
			a.handles = "a tensor of any type"
		}
	case "scalar", "launch":
	default:
		a.handles = "a " + j.Kind
	}
	switch j.Access {
	case "out":
		a.isIn, a.isOut, a.marked = false, true, true
	case "inout":
		a.isOut, a.marked = true, true
	case "const":
		a.marked = true
	}
	for _, d := range j.Shape {
		switch d := d.(type) {
		case float64:
			a.dims = append(a.dims, strconv.FormatInt(int64(d), 10))
		case string:
			if d == "_" {
				d = ""
			}
			a.dims = append(a.dims, d)
		default:
			return a, fmt.Errorf("a dimension is %v", d)
		}
	}
	return a, nil
}

// readText reads a signature that Apache TVM's compiler stored.
func (s *plainSignature) readText(text string) error {
	for _, p := range signature.Parameters(text) {
		a := argument{name: p.Name, isIn: true}
		dims, dtype, isTensor := signature.Tensor(p.Type)
		if isTensor {
			a.tensor, a.dims = true, dims
		} else {
			dtype = strings.TrimPrefix(p.Type, "T.")
		}
		var err error
		if a.dtype, err = dlpack.ParseDataType(dtype); err != nil || a.dtype.Code == dlpack.CodeHandle {
			a.handles = p.Type
		}
		s.args = append(s.args, a)
	}
	return nil
}

// setOutputs decides which arguments are outputs, by their names if there are any.
func (s *plainSignature) setOutputs(names []string) error {
	for _, name := range names {
		i := slices.IndexFunc(s.args, func(a argument) bool { return a.name == name })
		if i < 0 {
			return wrong("the output %q is none of the arguments: %s", name, s.list())
		}
		if !s.args[i].tensor {
			return wrong("the output %q is a number, which a function cannot write: it must be a tensor", name)
		}
		s.args[i].isIn, s.args[i].isOut = s.args[i].isOut && s.args[i].isIn, true
	}
	if len(names) > 0 || s.result != (dlpack.DataType{}) ||
		slices.ContainsFunc(s.args, func(a argument) bool { return a.isOut }) {
		return nil
	}
	for i := len(s.args) - 1; i >= 0; i-- {
		a := &s.args[i]
		if !a.tensor {
			continue
		}
		if a.marked {
			break
		}
		a.isIn, a.isOut = false, true // outputs come last
		return nil
	}
	return wrong("no argument is an output: mark one with out in its signature, or name the outputs: %s", s.list())
}

func (s *plainSignature) list() string {
	var list []string
	for _, a := range s.args {
		list = append(list, a.name)
	}
	return listed(list)
}
