package graph

import (
	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

func init() {
	for _, name := range []string{"tvm.graph_executor.create", "tvm.graph_executor_debug.create",
		"tvm.graph_executor_cuda_graph.create"} {
		globals.Set(name, func(args ...any) (any, error) { return createFrom(name, args) })
	}
	globals.Set("tvm.graph_executor_factory.create", createFactory)
}

// owned marks a module that only the caller of a global function refers to.
func owned(m *runtime.Module, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return globals.Owned{Value: m}, nil
}

// Create makes an executor of a graph in JSON with the functions of a module, without parameters. The caller closes it,
// and may close lib before. The error is ErrCorruptModule for a graph with mistakes, and ErrNotFound for a function
// that lib and its imports do not have.
func Create(json string, lib *runtime.Module, devices ...dlpack.Device) (*runtime.Module, error) {
	m, err := newModel("create graph executor", json)
	if err != nil {
		return nil, err
	}
	return newExecutor(m, []*runtime.Module{lib}, devices, nil, nil, nil)
}

// createFrom implements tvm.graph_executor.create(json, module, [lookup,] device type, device id, ...).
func createFrom(op string, args []any) (any, error) {
	text, err := value.Text(op, args, 0)
	if err != nil {
		return nil, err
	}
	lib, err := moduleArg(op, args, 1)
	if err != nil {
		return nil, err
	}
	rest := args[2:]
	var linked *linkedParams
	if len(rest) > 0 {
		if f, ok := rest[0].(*runtime.Function); ok {
			linked, rest = &linkedParams{lookup: f, module: lib}, rest[1:]
		}
	}
	devices, err := devicePairs(op, rest, len(args)-len(rest))
	if err != nil {
		return nil, err
	}
	m, err := newModel(op, text)
	if err != nil {
		return nil, err
	}
	return owned(newExecutor(m, []*runtime.Module{lib}, devices, nil, linked, nil))
}

func moduleArg(op string, args []any, i int) (*runtime.Module, error) {
	if i >= len(args) {
		return nil, fault.New(op, runtime.ErrInvalidArgument, "%d arguments: argument %d is the module with the functions",
			len(args), i)
	}
	m, ok := args[i].(*runtime.Module)
	if !ok {
		return nil, fault.New(op, runtime.ErrInvalidArgument, "argument %d: expected a module, got %s", i, kindOf(args[i]))
	}
	return m, nil
}

// devicePairs reads pairs of a device type and a device id; the first is argument `first`.
func devicePairs(op string, args []any, first int) ([]dlpack.Device, error) {
	if len(args) == 0 || len(args)%2 != 0 {
		return nil, fault.New(op, runtime.ErrInvalidArgument, "expected pairs of a device type and a device id from "+
			"argument %d on, got %d arguments", first, len(args))
	}
	var devices []dlpack.Device
	for i := 0; i < len(args); i += 2 {
		t, ok := args[i].(int64)
		id, isInt := args[i+1].(int64)
		if !ok || !isInt || t != int64(int32(t)) || id != int64(int32(id)) {
			return nil, fault.New(op, runtime.ErrInvalidArgument, "arguments %d and %d: expected a device type and a device "+
				"id, got %v and %v", first+i, first+i+1, args[i], args[i+1])
		}
		devices = append(devices, dlpack.Device{Type: dlpack.DeviceType(t), ID: int32(id)})
	}
	return devices, nil
}

// createFactory implements tvm.graph_executor_factory.create(json, module, name, parameter name, tensor, ...).
func createFactory(args ...any) (any, error) {
	const op = "tvm.graph_executor_factory.create"
	text, err := value.Text(op, args, 0)
	if err != nil {
		return nil, err
	}
	lib, err := moduleArg(op, args, 1)
	if err != nil {
		return nil, err
	}
	of := &blob.GraphFactory{Graph: text}
	if of.Module, err = value.Text(op, args, 2); err != nil {
		return nil, err
	}
	if len(args)%2 != 1 {
		return nil, fault.New(op, runtime.ErrInvalidArgument, "%d arguments: expected pairs of a parameter's name and a "+
			"tensor from argument 3 on", len(args))
	}
	for i := 3; i < len(args); i += 2 {
		name, err := value.Text(op, args, i)
		if err != nil {
			return nil, err
		}
		t, ok := args[i+1].(*runtime.Tensor)
		if !ok {
			return nil, fault.New(op, runtime.ErrInvalidArgument, "argument %d: expected a tensor, got %s", i+1,
				kindOf(args[i+1]))
		}
		raw, err := serialised(op, t)
		if err != nil {
			return nil, err
		}
		of.Names, of.Tensors = append(of.Names, name), append(of.Tensors, raw)
	}
	return owned(newFactoryModule(op, of, []*runtime.Module{lib}))
}

// serialised returns a tensor in the form of files.
func serialised(op string, t *runtime.Tensor) (blob.Tensor, error) {
	raw := blob.Tensor{DType: t.DType(), Shape: t.Shape()}
	size, err := dlpack.SerializedDataSize(raw.Shape, raw.DType)
	if err != nil {
		return raw, fault.Wrap(op, runtime.ErrInvalidArgument, err)
	}
	raw.Data = make([]byte, max(size, t.Size()))
	if err := t.CopyToBytes(raw.Data[:t.Size()]); err != nil {
		return raw, err
	}
	return raw, nil
}
