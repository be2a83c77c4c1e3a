package graph

import (
	"fmt"
	"slices"
	"sync"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// paramSet are the parameters of a factory: one tensor on each device where an executor needs it, made when that is
// first asked for. All executors share them, and none writes to them.
type paramSet struct {
	raw   map[string]blob.Tensor
	order []string

	mu     sync.Mutex
	placed map[placed]*runtime.Tensor
}

type placed struct {
	dev  dlpack.Device
	name string
}

func newParamSet(names []string, tensors []blob.Tensor) *paramSet {
	w := &paramSet{raw: map[string]blob.Tensor{}, order: slices.Clone(names), placed: map[placed]*runtime.Tensor{}}
	for i, name := range names {
		w.raw[name] = tensors[i]
	}
	return w
}

func (w *paramSet) names() []string { return w.order }

// on returns a parameter on a device; nil if there is none of this name. The weights keep the tensor.
func (w *paramSet) on(dev dlpack.Device, name string) (*runtime.Tensor, error) {
	if w == nil {
		return nil, nil
	}
	raw, ok := w.raw[name]
	if !ok {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := placed{dev, name}
	if t := w.placed[at]; t != nil {
		return t, nil
	}
	t, err := upload(raw, dev)
	if err != nil {
		return nil, fault.Wrap("parameter "+name, fault.KindOf(fault.CodeOf(err)), err)
	}
	w.placed[at] = t
	return t, nil
}

// upload makes a tensor on a device. The caller closes it.
func upload(raw blob.Tensor, dev dlpack.Device) (*runtime.Tensor, error) {
	t, err := runtime.NewTensor(raw.DType, raw.Shape, dev)
	if err != nil {
		return nil, err
	}
	// A file has a byte for each element of less than 8 bits, and the packed elements come first.
	if err := t.CopyFromBytes(raw.Data[:t.Size()]); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// all returns new tensors with the parameters on the CPU, by name.
func (w *paramSet) all() (any, error) {
	var m runtime.Map
	for _, name := range w.order {
		t, err := upload(w.raw[name], runtime.CPU)
		if err != nil {
			return nil, err
		}
		m = append(m, runtime.Entry{Key: name, Value: t})
	}
	return m, nil
}

func (w *paramSet) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, t := range w.placed {
		t.Close()
		delete(w.placed, at)
	}
}

// shareInput is the function by which an executor gives another one the memory of an input.
const shareInput = "__share_input"

// shareParams implements share_params(executor, parameters): the inputs that a parameter dictionary names become the
// memory of the other executor's inputs, without a copy. The elements in the dictionary are ignored.
func (e *executor) shareParams(args ...any) (any, error) {
	const op = "share_params"
	if err := value.CheckCount(op, args, 2, 2); err != nil {
		return nil, err
	}
	from, ok := args[0].(*runtime.Module)
	if !ok || from.Kind() != ExecutorKind {
		return nil, fault.New(op, runtime.ErrInvalidArgument, "argument 0: expected a graph executor, got %s",
			kindOf(args[0]))
	}
	names, tensors, end, err := dictionary(op, args[1])
	if err != nil {
		return nil, err
	}
	defer end()
	if err := e.checkParams(op, names, tensors); err != nil {
		return nil, err
	}
	share, err := from.Function(shareInput)
	if err != nil {
		return nil, err
	}
	defer share.Close()
	for _, name := range names {
		t, err := share.Call(name)
		if err != nil {
			return nil, fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
		}
		_, err = e.call("__use_shared", name, t)
		value.Close(t)
		if err != nil {
			return nil, fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
		}
	}
	e.addParams(names)
	return nil, nil
}

// kindOf describes an argument of a wrong type.
func kindOf(v any) string {
	if m, ok := v.(*runtime.Module); ok {
		return "a module of kind " + m.Kind()
	}
	return fmt.Sprintf("%T", v)
}

// addParams remembers that inputs are parameters.
func (e *executor) addParams(names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range names {
		e.params[name] = true
	}
}

// checkParams checks all parameters before the first is used.
func (e *executor) checkParams(op string, names []string, tensors []blob.Tensor) error {
	for i, name := range names {
		if err := e.model.checkParam(name, tensors[i].DType, tensors[i].Shape); err != nil {
			return fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
		}
	}
	return nil
}

// loadParams implements load_params(parameters): it copies a parameter dictionary to the inputs.
func (e *executor) loadParams(args ...any) (any, error) {
	const op = "load_params"
	if err := value.CheckCount(op, args, 1, 1); err != nil {
		return nil, err
	}
	names, tensors, end, err := dictionary(op, args[0])
	if err != nil {
		return nil, err
	}
	defer end()
	if err := e.checkParams(op, names, tensors); err != nil {
		return nil, err
	}
	for i, name := range names {
		v, err := e.call("get_input", name) // its own memory, if it was shared
		if err != nil {
			return nil, err
		}
		t := v.(*runtime.Tensor)
		err = t.CopyFromBytes(tensors[i].Data[:t.Size()])
		t.Close()
		if err != nil {
			return nil, fault.Wrap(op+": "+name, fault.KindOf(fault.CodeOf(err)), err)
		}
	}
	e.addParams(names)
	return nil, nil
}
