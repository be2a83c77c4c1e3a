package graph

import (
	"errors"
	"unsafe"

	"tvmgo/blob/graphjson"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// lookUpLinked is the function of a library that contains its parameters: it takes a storage id, and returns the
// address of the parameter, or None.
const lookUpLinked = "_lookup_linked_param"

// linkedParams is the caller's own function for this: lookup(module, storage id, template, device) returns a tensor or
// None.
type linkedParams struct {
	lookup *runtime.Function
	module *runtime.Module
}

// addLinked makes an input's memory that of a parameter in the library, if it has one.
func (b *builder) addLinked(s *graphjson.Storage, dev dlpack.Device) (bool, error) {
	if s.Input < 0 || s.Scope != "" {
		return false, nil
	}
	d := &b.model.graph.Data[s.Data[0]]
	if b.linked != nil {
		return b.addOfCaller(s, d, dev)
	}
	for _, lib := range b.libs {
		f, err := lib.Function(lookUpLinked)
		if errors.Is(err, runtime.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		v, err := f.Call(s.ID)
		f.Close()
		if err != nil || v == nil {
			return false, err
		}
		return true, b.addPointer(s, v, dev, lib)
	}
	return false, nil
}

func (b *builder) addPointer(s *graphjson.Storage, v any, dev dlpack.Device, lib *runtime.Module) error {
	p, ok := v.(runtime.Ptr)
	if !ok {
		value.Close(v)
		return fault.New("", runtime.ErrInvalidArgument, "%s returned %s, not an address", lookUpLinked, kindOf(v))
	}
	if dev.Type != dlpack.CPU {
		return fault.New("", runtime.ErrNotSupported, "the library has the parameter in host memory, and the graph wants "+
			"it on %v: build the library without linked parameters", dev)
	}
	for _, i := range s.Data {
		d := &b.model.graph.Data[i]
		if _, err := b.call("__pointer", i, unsafe.Pointer(p), d.DType, runtime.Shape(d.Shape), dev,
			lib); err != nil {
			return err
		}
	}
	return nil
}

// addOfCaller asks the caller's function.
func (b *builder) addOfCaller(s *graphjson.Storage, d *graphjson.Data, dev dlpack.Device) (bool, error) {
	template, err := runtime.NewTensor(d.DType, d.Shape, runtime.CPU)
	if err != nil {
		return false, err
	}
	defer template.Close()
	v, err := b.linked.lookup.Call(b.linked.module, s.ID, template, b.devices[0])
	if err != nil || v == nil {
		return false, err
	}
	defer value.Close(v)
	t, ok := v.(*runtime.Tensor)
	if !ok {
		return false, fault.New("", runtime.ErrInvalidArgument, "the function for linked parameters returned %s, not a "+
			"tensor", kindOf(v))
	}
	if t.Device() != dev || t.Size() != d.Bytes {
		return false, fault.New("", runtime.ErrInvalidArgument,
			"the function for linked parameters returned %v: expected %v%v on %v", t, d.DType, d.Shape, dev)
	}
	return true, b.addViews(s, t, shared)
}
