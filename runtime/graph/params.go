package graph

/*
#include "executor/executor.h"
#include "loader/file_memory.h"

static uintptr_t file_params(void** data, size_t* sizes, int64_t n, uintptr_t owner) {
	return (uintptr_t)tvmgo_executor_file_params((const void* const*)data, sizes, n, (void*)owner);
}
*/
import "C"

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// paramSet are the parameters of a factory: one tensor on each device where an executor needs it, made when that is
// first asked for. All executors share them, and none writes to them. On the CPU they are views of their file, or
// copies behind which its pages are released.
type paramSet struct {
	tensors []blob.Tensor
	order   []string
	index   map[string]int   // of tensors and order, by name
	file    *runtime.Weights // that the parameters are views of; nil: there is no file of parameters
	owner   uintptr          // the object that the tensors are views of, borrowed; 0 for memory of Go

	mu     sync.Mutex
	mapped *runtime.Function // makes tensors on the CPU of the owner's memory; nil before the first
	placed map[placed]*runtime.Tensor
}

type placed struct {
	dev  dlpack.Device
	name string
}

func newParamSet(names []string, tensors []blob.Tensor) *paramSet {
	w := &paramSet{tensors: tensors, order: slices.Clone(names), index: map[string]int{},
		placed: map[placed]*runtime.Tensor{}}
	for i, name := range names {
		w.index[name] = i
	}
	return w
}

func (w *paramSet) names() []string { return w.order }

// on returns a parameter on a device; nil if there is none of this name. The weights keep the tensor.
func (w *paramSet) on(dev dlpack.Device, name string) (*runtime.Tensor, error) {
	if w == nil {
		return nil, nil
	}
	i, ok := w.index[name]
	if !ok {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := placed{dev, name}
	if t := w.placed[at]; t != nil {
		return t, nil
	}
	t, err := w.place(i, dev)
	if err != nil {
		return nil, fault.Wrap("parameter "+name, fault.KindOf(fault.CodeOf(err)), err)
	}
	w.placed[at] = t
	return t, nil
}

// place makes the tensor of a parameter on a device. The caller closes it.
func (w *paramSet) place(i int, dev dlpack.Device) (*runtime.Tensor, error) {
	if w.file != nil {
		return w.file.Tensor(w.order[i], dev)
	}
	raw := w.tensors[i]
	if w.owner == 0 {
		return upload(raw, dev)
	}
	if dev.Type != dlpack.CPU {
		t, err := upload(raw, dev)
		if err == nil && len(raw.Data) > 0 {
			C.tvmgo_file_release(unsafe.Pointer(unsafe.SliceData(raw.Data)), C.size_t(len(raw.Data)))
		}
		return t, err
	}
	if w.mapped == nil {
		var err error
		if w.mapped, err = w.mappedTensors(); err != nil {
			return nil, err
		}
	}
	t, err := w.mapped.Call(i, raw.DType, runtime.Shape(raw.Shape), dev)
	if err != nil {
		return nil, err
	}
	return t.(*runtime.Tensor), nil
}

// mappedTensors makes the function that makes tensors on the CPU of the owner's memory.
func (w *paramSet) mappedTensors() (*runtime.Function, error) {
	data := make([]unsafe.Pointer, len(w.tensors))
	sizes := make([]C.size_t, len(w.tensors))
	for i, raw := range w.tensors {
		size, err := dlpack.DataSize(raw.Shape, raw.DType) // without padding, as in upload
		if err != nil {
			return nil, err
		}
		data[i], sizes[i] = unsafe.Pointer(unsafe.SliceData(raw.Data)), C.size_t(size)
	}
	goruntime.LockOSThread()
	f := C.file_params(unsafe.SliceData(data), unsafe.SliceData(sizes), C.int64_t(len(data)), C.uintptr_t(w.owner))
	if f == 0 {
		defer goruntime.UnlockOSThread()
		return nil, raised()
	}
	goruntime.UnlockOSThread()
	return fromHandle(f)
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
		t, err := upload(w.tensors[w.index[name]], runtime.CPU)
		if err != nil {
			return nil, err
		}
		m = append(m, runtime.Entry{Key: name, Value: t})
	}
	return m, nil
}

// bytes counts the parameters on some devices, or all.
func (w *paramSet) bytes(devices []dlpack.Device) (sum int64) {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, t := range w.placed {
		if devices == nil || slices.Contains(devices, at.dev) {
			sum += t.Size()
		}
	}
	return sum
}

func (w *paramSet) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, t := range w.placed {
		t.Close()
		delete(w.placed, at)
	}
	w.mapped.Close()
	w.mapped = nil
	if w.file != nil {
		w.file.Close()
	}
}

// shareInput is the function by which an executor gives another one the memory of an input.
const shareInput = "__share_input"

// useShared is the function by which an executor uses such memory.
const useShared = "__use_shared"

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
		_, err = e.call(useShared, name, t)
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
