package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modelcall"
	"tvmgo/internal/nearest"
	"tvmgo/runtime"
)

func wrong(format string, args ...any) error {
	return fault.New("", runtime.ErrInvalidArgument, format, args...)
}

// inputNames lists the inputs for errors.
func (m *Model) inputNames() []string {
	list := make([]string, len(m.inputs))
	for i := range m.inputs {
		list[i] = m.inputs[i].Name
	}
	return list
}

// Input returns the number of the input of a name. The error is ErrInvalidArgument and suggests the nearest name.
func (m *Model) Input(name string) (int, error) {
	for i := range m.inputs {
		if m.inputs[i].Name == name {
			return i, nil
		}
	}
	list := m.inputNames()
	hint := ""
	if n := nearest.Name(name, list); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return 0, wrong("there is no input %q%s: the model has %s", name, hint, listed(list))
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return some(names)
}

// Order returns, for each input of the model, the number of its name in a list. The error is ErrInvalidArgument for an
// unknown name, for one that occurs twice, and if inputs are missing.
func (m *Model) Order(list []string) ([]int, error) {
	order := make([]int, len(m.inputs))
	for i := range order {
		order[i] = -1
	}
	for i, name := range list {
		at, err := m.Input(name)
		if err != nil {
			return nil, err
		}
		if order[at] >= 0 {
			return nil, wrong("input %q is given twice", name)
		}
		order[at] = i
	}
	var missing []string
	for i, at := range order {
		if at < 0 {
			missing = append(missing, m.inputs[i].Name)
		}
	}
	if len(missing) > 0 {
		return nil, wrong("missing inputs: %s", listed(missing))
	}
	return order, nil
}

// CheckInput compares the dtype and the shape of one input with the signature, before there are elements. Dimensions
// with symbols are compared with each other alone: Check compares them with those of the other inputs.
func (m *Model) CheckInput(i int, dtype dlpack.DataType, shape []int64) error {
	if i < 0 || i >= len(m.inputs) {
		return wrong("there is no input %d: the model has %d", i, len(m.inputs))
	}
	for d, n := range shape {
		if n < 0 {
			return wrong("input %s: dimension %d is %d: it must not be negative", m.inputs[i].Name, d, n)
		}
	}
	a := modelcall.Argument{Kind: modelcall.Tensor, DType: dtype, Dims: shape}
	if m.inputs[i].form == asTensor {
		return m.check([]int{m.params[i]}, []modelcall.Argument{a})
	}
	return m.inputs[i].check(&a)
}

func (m *Model) check(params []int, args []modelcall.Argument) error {
	if err := m.checks.Check(params, args); err != nil {
		return fault.Wrap("", runtime.ErrInvalidArgument, err)
	}
	return nil
}

// check compares a tensor with an input that is a shape or a number.
func (p *port) check(a *modelcall.Argument) error {
	want := modelcall.Argument{Kind: modelcall.Tensor, DType: p.DType, Dims: p.Shape}
	ok := plain(a.DType) == p.DType
	if p.form == asNumber {
		ok = ok && (len(a.Dims) == 0 || slices.Equal(a.Dims, p.Shape))
	} else {
		ok = ok && len(a.Dims) == 1 && (p.Shape[0] < 0 || a.Dims[0] == p.Shape[0])
	}
	if !ok {
		return wrong("input %s: expected %s, got %v", p.Name, strings.ReplaceAll(want.String(), "-1", "?"), a)
	}
	return nil
}

// Check compares the inputs of a request with the signature: their number, dtypes, shapes, and whether they agree about
// the symbols. The error is ErrInvalidArgument, and names the input, what it expects and what it got.
func (m *Model) Check(inputs []*runtime.Tensor) error {
	_, err := m.prepare(inputs)
	return err
}

// prepare describes the inputs of a request, and checks them.
func (m *Model) prepare(inputs []*runtime.Tensor) (call, error) {
	if len(inputs) != len(m.inputs) {
		return call{}, wrong("expected %d inputs (%s), got %d", len(m.inputs), listed(m.inputNames()), len(inputs))
	}
	c := call{values: make([]any, len(inputs)), arguments: make([]modelcall.Argument, len(inputs))}
	for i, t := range inputs {
		p := &m.inputs[i]
		a := modelcall.Argument{Kind: modelcall.Tensor, DType: t.DType(), Dims: t.Shape()}
		if a.Dims == nil {
			return call{}, fmt.Errorf("input %s: %w", p.Name, fault.IsClosed("", "tensor"))
		}
		if dev := t.Device(); dev.Type != dlpack.CPU || !t.IsContiguous() {
			return call{}, wrong("input %s: %v is not compact memory of the CPU", p.Name, t)
		}
		c.values[i] = t
		if p.form != asTensor {
			if err := p.check(&a); err != nil {
				return call{}, err
			}
			var err error
			if c.values[i], err = m.convert(i, t, &a); err != nil {
				return call{}, fmt.Errorf("input %s: %w", p.Name, err)
			}
		}
		c.arguments[i] = a
	}
	return c, m.check(m.params, c.arguments)
}

// convert returns the value of an input that is a shape or a number, and describes it as the parameter expects it.
func (m *Model) convert(i int, t *runtime.Tensor, a *modelcall.Argument) (any, error) {
	if m.inputs[i].form == asShape {
		shape, err := integers(t)
		*a = modelcall.Argument{Kind: modelcall.Shape, Dims: shape}
		return shape, err
	}
	v, err := m.inputs[i].number(t)
	if err != nil {
		return nil, err
	}
	*a = modelcall.Argument{Kind: modelcall.Int}
	switch n := v.(type) {
	case int64:
		a.Identity[1] = uint64(n)
		if m.checks.IsShape(m.params[i]) { // an integer that is the size of a dimension
			*a = modelcall.Argument{Kind: modelcall.Shape, Dims: []int64{n}}
		}
	case bool:
		if n {
			a.Identity[1] = 1
		}
	case float64:
		a.Kind, a.Identity[1] = modelcall.Float, math.Float64bits(n)
	}
	return v, nil
}

// maxShared limits the bytes of tensors that are compared by their elements.
const maxShared = 256

// Key returns a text that is equal for requests that can run in one batch, and the number of rows of this one, along
// the first dimension. The key is "" if the request cannot run in a batch: the model does not batch, the inputs do not
// match the signature, or an input that is not stacked has more than 256 bytes.
func (m *Model) Key(inputs []*runtime.Tensor) (key string, rows int) {
	if !m.batches {
		return "", 0
	}
	c, err := m.prepare(inputs)
	if err != nil {
		return "", 0
	}
	return m.key(&c)
}

func (m *Model) key(c *call) (key string, rows int) {
	key = m.checks.StackKey(m.params, c.arguments)
	if key == "" {
		return "", 0
	}
	stacked, found := m.checks.Stacked(), false
	for i, p := range m.params {
		switch t, isTensor := c.values[i].(*runtime.Tensor); {
		case stacked[p]:
			if !found {
				rows, found = int(c.arguments[i].Dims[0]), true
			}
		case isTensor:
			b, err := t.Bytes()
			if err != nil || len(b) > maxShared {
				return "", 0
			}
			key += fmt.Sprint(c.arguments[i]) + string(b)
		}
	}
	return key, rows
}

// Warm calls the function once with zeros, so that the first requests do not wait for what happens once: kernels that
// are compiled for a device, memory. Every open dimension is 1. The error is ErrNotSupported if that says nothing about
// other requests: an input has no fixed number of dimensions, or the model has open dimensions and does not accept
// these sizes. If the library has no kernels for the device, the error says so. Otherwise it is that of the call.
func (m *Model) Warm(ctx context.Context) error {
	inputs := make([]*runtime.Tensor, len(m.inputs))
	defer func() { closeAll(inputs) }()
	for i := range m.inputs {
		p := &m.inputs[i]
		dims, ok := m.checks.Example(m.params[i])
		var err error
		switch {
		case p.form == asNumber:
			n := int64(0)
			if m.checks.IsShape(m.params[i]) {
				n = 1
			}
			inputs[i], err = p.ofNumber(n)
		case !ok:
			return fault.New("warm "+m.function, runtime.ErrNotSupported, "input %s has no fixed number of dimensions", p.Name)
		case p.form == asShape:
			inputs[i], err = runtime.FromSlice(dims)
		default:
			inputs[i], err = zeros(p.DType, dims)
		}
		if err != nil {
			return fmt.Errorf("warm %s: input %s: %w", m.function, p.Name, err)
		}
	}
	out, err := m.Run(ctx, inputs)
	closeAll(out)
	switch isOpen := slices.ContainsFunc(m.inputs, func(p port) bool { return slices.Contains(p.Shape, -1) }); {
	case err == nil:
		return nil
	case m.foreign:
		return fmt.Errorf("warm: the library has no kernels for %v: compile it for %[1]v, or choose another device: %w",
			m.Device().Type, err)
	case isOpen && (errors.Is(err, runtime.ErrInvalidArgument) || errors.Is(err, runtime.ErrFailed)):
		return fault.New("warm "+m.function, runtime.ErrNotSupported, "with open dimensions of 1: %v", err)
	}
	return fmt.Errorf("warm: %w", err)
}

// zeros allocates a tensor in CPU memory.
func zeros(dtype dlpack.DataType, shape []int64) (*runtime.Tensor, error) {
	t, err := runtime.NewTensor(dtype, shape, runtime.CPU)
	if err != nil {
		return nil, err
	}
	b, err := t.Bytes()
	if err != nil {
		t.Close()
		return nil, err
	}
	clear(b)
	return t, nil
}

func closeAll(list []*runtime.Tensor) {
	for _, t := range list {
		t.Close()
	}
}
