package model

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modelcall"
	"tvmgo/runtime"
)

// plainFunction is a function that writes into its arguments.
type plainFunction struct {
	op       string
	fn       *runtime.Function
	dev      dlpack.Device
	args     []slot
	outputs  []port
	returns  bool // the last output is the number that the function returns
	checks   *modelcall.Function
	params   []int
	ports    []port
	left     modelcall.Left
	limit    int64
	mu       sync.Mutex // guards counts
	counts   runtime.ModelMemory
	isClosed atomic.Bool
}

// slot says where an argument comes from: an input, an output, both (a copy of the input), or neither (the value of a
// symbol).
type slot struct {
	input, output int // -1: none
	symbol        int // of a number that is no input: the number of its result in checks
}

func loadPlain(file *runtime.Module, o *Options) (_ *Model, err error) {
	if o.Params != "" {
		return nil, wrong("parameters %s: only whole models have parameters: leave them out", o.Params)
	}
	name, err := choosePlain(file, o.Function)
	if err != nil {
		return nil, err
	}
	s, err := readSignature(file, name)
	if err != nil {
		return nil, err
	}
	if err := s.setOutputs(o.Outputs); err != nil {
		return nil, fmt.Errorf("function %s: %w", name, err)
	}
	f := &plainFunction{op: "run " + name, limit: o.Memory}
	m := &Model{function: name, platform: "tvmgo_packed", impl: f}
	if err := f.describe(m, s); err != nil {
		return nil, fmt.Errorf("function %s: %w", name, err)
	}
	if f.dev, err = chooseDevice(file, s, o.Device); err != nil {
		return nil, err
	}
	f.fn, err = file.Function(name)
	return m, err
}

// choosePlain returns the function of a name; without one, main or the only one that has a signature.
func choosePlain(file *runtime.Module, name string) (string, error) {
	list := file.Functions()
	if len(list) == 0 || name != "" && !slices.Contains(list, name) {
		list = file.AllFunctions()
	}
	list = slices.DeleteFunc(list, func(name string) bool { return strings.HasPrefix(name, "_") })
	if name == "" && len(list) > 1 {
		described := slices.DeleteFunc(slices.Clone(list), func(name string) bool {
			_, err := file.Metadata(name)
			return errors.Is(err, runtime.ErrNotFound)
		})
		if len(described) > 0 {
			list = described
		}
	}
	return choose(list, name)
}

// chooseDevice returns the device that was asked for, or else the first one that the file has kernels for and that
// exists; kernels for a device go before those for the CPU.
func chooseDevice(file *runtime.Module, s *plainSignature, asked dlpack.Device) (dlpack.Device, error) {
	if asked != (dlpack.Device{}) {
		if !runtime.DeviceExists(asked) {
			return asked, fault.New("", runtime.ErrDeviceUnavailable, "there is no device %v: list those that there are "+
				"with tvmgo devices, and import their packages", asked)
		}
		return asked, nil
	}
	types := s.devices
	if len(types) == 0 {
		err := walk(file, map[uintptr]bool{}, func(m *runtime.Module) bool {
			if d, err := dlpack.ParseDeviceType(m.Kind()); err == nil {
				types = append(types, d)
			}
			return false
		})
		if err != nil {
			return runtime.CPU, err
		}
	}
	onCPU := len(types) == 0
	for _, t := range types {
		if t == dlpack.CPU {
			onCPU = true
		} else if dev := (dlpack.Device{Type: t}); runtime.DeviceExists(dev) {
			return dev, nil
		}
	}
	if !onCPU {
		return runtime.CPU, fault.New("", runtime.ErrDeviceUnavailable, "it has kernels for %v, and there is no such "+
			"device here: install its driver, import its package, and see tvmgo doctor", types[0])
	}
	return runtime.CPU, nil
}

// describe sets the inputs and the outputs.
func (f *plainFunction) describe(m *Model, s *plainSignature) error {
	in, out := names{}, names{}
	var params []modelcall.Parameter
	result := modelcall.Type{Kind: modelcall.Tuple}
	sizes := s.sizes()
	var hidden []*slot
	var symbols []string
	f.args = make([]slot, len(s.args))
	for i := range s.args {
		a, to := &s.args[i], &f.args[i]
		*to = slot{-1, -1, -1}
		name := a.name
		if name == "" {
			name = strconv.Itoa(i)
		}
		if a.handles != "" || !a.tensor && !canBeNumber(a.dtype) {
			what := a.handles
			if what == "" {
				what = a.dtype.String()
			}
			return wrong("argument %s is %s, which the protocol cannot describe: give it a dtype and dimensions in the "+
				"signature", name, what)
		}
		t := modelcall.Type{Kind: modelcall.Number, DType: a.dtype}
		if a.tensor {
			t = modelcall.Type{Kind: modelcall.Tensor, DType: a.dtype, NDim: len(a.dims), Dims: a.dims}
		} else if isSize := a.isSize(); isSize && sizes[a.name] {
			hidden, symbols = append(hidden, to), append(symbols, a.name)
			continue
		} else if isSize {
			t = modelcall.Type{Kind: modelcall.Shape, NDim: 1, Dims: []string{a.name}}
		}
		if a.isIn {
			p := a.port(in.pick(a.name, "input", i))
			to.input = len(m.inputs)
			m.inputs = append(m.inputs, p)
			params = append(params, modelcall.Parameter{Name: p.Name, Type: t})
		}
		if a.isOut {
			to.output = len(m.outputs)
			m.outputs = append(m.outputs, a.port(out.pick(a.name, "output", i)))
			result.Fields = append(result.Fields, t)
		}
	}
	for i, to := range hidden {
		to.symbol = len(result.Fields)
		result.Fields = append(result.Fields, modelcall.Type{Kind: modelcall.Shape, NDim: 1, Dims: []string{symbols[i]}})
	}
	if s.result != (dlpack.DataType{}) {
		f.returns = true
		m.outputs = append(m.outputs, numberPort(out.pick("", "output", len(s.args)), s.result))
	}
	m.finish(params, result)
	f.checks, f.params, f.ports, f.outputs = m.checks, m.params, m.inputs, m.outputs
	if i, err := m.checks.Determines(m.params); err != nil {
		return wrong("output %s: %v: add it to the dimensions of an input, or as an integer argument",
			m.outputs[min(i, len(m.outputs)-1)].Name, err)
	}
	return nil
}

// sizes returns the symbols that are dimensions of input tensors.
func (s *plainSignature) sizes() map[string]bool {
	known := map[string]bool{}
	for _, a := range s.args {
		for _, d := range a.dims {
			known[d] = known[d] || a.isIn
		}
	}
	return known
}

// isSize reports whether an argument can be the size of a dimension.
func (a *argument) isSize() bool {
	return !a.tensor && a.name != "" && (a.dtype.Code == dlpack.CodeInt || a.dtype.Code == dlpack.CodeUInt) &&
		!a.dtype.IsBool()
}

func (a *argument) port(name string) port {
	if !a.tensor {
		return numberPort(name, a.dtype)
	}
	shape := make([]int64, len(a.dims))
	for i, d := range a.dims {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			n = -1
		}
		shape[i] = n
	}
	return tensorPort(name, a.dtype, shape, a.dims)
}
